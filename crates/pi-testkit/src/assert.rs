//! `assert_transcript!`.

use crate::difference::{Difference, normalize};
use crate::transcript::ToTranscript;

#[cfg(feature = "insta")]
pub use insta;

/// Compares the transcript of a recorder, of events or of a reply with the expected one, and
/// panics where they differ.
///
/// - `assert_transcript!(recorder, @r#"..."#)`: the expected text stands in the test. Its common
///   indentation and the empty lines around it do not count.
/// - `assert_transcript!(recorder, expected)`: the same with any `&str`.
/// - `assert_transcript!(recorder)`: the expected text is a snapshot file named after the test
///   (feature `insta`).
///
/// With the feature `insta` the first form is an inline snapshot of insta: `cargo insta review`
/// rewrites it in place. Without the feature nothing but this crate is needed.
///
/// # Panics
/// If the transcripts differ; the message names the first line that does, with its surroundings.
///
/// # Examples
/// ```
/// use pi_core::AgentEvent;
/// use pi_testkit::assert_transcript;
///
/// let events = vec![AgentEvent::AgentStart, AgentEvent::TurnStart];
/// assert_transcript!(events, @r"
///     agent_start
///     turn_start
/// ");
/// ```
/// ```should_panic
/// # use pi_core::AgentEvent;
/// # use pi_testkit::assert_transcript;
/// assert_transcript!(vec![AgentEvent::AgentStart], "turn_start");
/// ```
#[macro_export]
macro_rules! assert_transcript {
    ($recorded:expr, @$expected:literal $(,)?) => {
        $crate::__assert_inline_transcript!($recorded, $expected)
    };
    ($recorded:expr, $expected:expr $(,)?) => {
        $crate::__private::assert_transcript(&$recorded, $expected)
    };
    ($recorded:expr $(,)?) => {
        $crate::__assert_stored_transcript!($recorded)
    };
}

#[cfg(not(feature = "insta"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_inline_transcript {
    ($recorded:expr, $expected:literal) => {
        $crate::__private::assert_transcript(&$recorded, $expected)
    };
}

#[cfg(not(feature = "insta"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_stored_transcript {
    ($recorded:expr) => {
        compile_error!("a transcript in a file needs the feature `insta` of pi-testkit")
    };
}

// insta finds the literal by the line of the outermost macro and the `@` before it.
#[cfg(feature = "insta")]
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_inline_transcript {
    ($recorded:expr, $expected:literal) => {{
        let transcript = $crate::ToTranscript::to_transcript(&$recorded);
        let _description = $crate::__private::describe(&transcript, $expected);
        $crate::__private::insta::assert_snapshot!(transcript, @$expected);
    }};
}

#[cfg(feature = "insta")]
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_stored_transcript {
    ($recorded:expr) => {{
        let transcript = $crate::ToTranscript::to_transcript(&$recorded);
        $crate::__private::insta::assert_snapshot!(
            $crate::__private::insta::_macro_support::AutoName,
            transcript,
            stringify!($recorded)
        );
    }};
}

/// Compares without insta.
#[track_caller]
pub fn assert_transcript(recorded: &(impl ToTranscript + ?Sized), expected: &str) {
    let transcript = recorded.to_transcript();
    let expected = normalize(expected);
    if let Some(difference) = Difference::between(&expected, transcript.lines()) {
        panic!("{difference}");
    }
}

/// Says in insta's report which line is the first that differs, while the guard lives.
#[cfg(feature = "insta")]
#[must_use]
pub fn describe(
    transcript: &crate::Transcript,
    expected: &str,
) -> Option<insta::internals::SettingsBindDropGuard> {
    let expected = normalize(expected);
    let difference = Difference::between(&expected, transcript.lines())?;
    let mut settings = insta::Settings::clone_current();
    settings.set_description(difference.to_string());
    Some(settings.bind_to_scope())
}
