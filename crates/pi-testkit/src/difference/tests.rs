use super::*;
use crate::assert::assert_transcript;
use crate::{ToTranscript, Transcript, TranscriptOptions};

const EXPECTED: &str = "
    one
    two
    three
    four
    five
    six
    seven
    eight
";

#[track_caller]
fn check(actual: &[&str], message: &str) {
    let expected = normalize(EXPECTED);
    let actual: Vec<String> = actual.iter().map(|&line| line.to_owned()).collect();
    let difference = Difference::between(&expected, &actual).map(|found| found.to_string());
    assert_eq!(
        normalize(&difference.unwrap_or_default()),
        normalize(message)
    );
}

#[test]
fn equal_transcripts_have_no_difference() {
    check(
        &[
            "one", "two", "three", "four", "five", "six", "seven", "eight",
        ],
        "",
    );
}

#[test]
fn a_changed_line_is_shown_with_its_surroundings_and_its_first_other_character() {
    check(
        &[
            "one", "two", "three", "four", "fire", "six", "seven", "eight",
        ],
        "
        the transcript differs in line 5 (- expected, + actual)

           2   two
           3   three
           4   four
           5 - five
           5 + fire
                 ^
           6   six
           7   seven
           8   eight
        ",
    );
}

#[test]
fn a_lacking_line_is_named() {
    check(
        &["one", "two", "four", "five", "six", "seven", "eight"],
        "
        the transcript lacks line 3 (- expected, + actual)

           1   one
           2   two
           3 - three
           3   four
           4   five
           5   six
        ",
    );
}

#[test]
fn an_additional_line_is_named() {
    check(
        &[
            "one", "two", "three", "extra", "four", "five", "six", "seven", "eight",
        ],
        "
        the transcript has an unexpected line 4 (- expected, + actual)

           1   one
           2   two
           3   three
           4 + extra
           5   four
           6   five
           7   six
        ",
    );
}

#[test]
fn lines_that_do_not_match_again_are_shown_side_by_side() {
    check(
        &["one", "other", "lines", "follow"],
        "
        the transcript differs from line 2 on (- expected, + actual)

           1   one
           2 - two
           3 - three
           4 - four
           5 - five
           2 + other
           3 + lines
           4 + follow
        ",
    );
}

#[test]
fn a_transcript_that_ends_too_early_or_too_late_is_named() {
    check(
        &["one", "two", "three", "four", "five", "six", "seven"],
        "
        the transcript ends before line 8 (- expected, + actual)

           5   five
           6   six
           7   seven
           8 - eight
        ",
    );
    check(
        &[
            "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
        ],
        "
        the transcript goes on after its last expected line, in line 9 (- expected, + actual)

           6   six
           7   seven
           8   eight
           9 + nine
        ",
    );
    check(
        &[],
        "
        the transcript is empty (- expected, + actual)

           1 - one
           2 - two
           3 - three
           4 - four
        ",
    );
}

#[test]
fn the_indentation_of_an_expected_text_does_not_count() {
    assert_eq!(
        normalize("\n    a\n      b\n\n    c  \n  "),
        ["a", "  b", "", "c"]
    );
    assert_eq!(normalize("a\nb"), ["a", "b"]);
    assert_eq!(normalize("  one line"), ["one line"]);
    assert_eq!(normalize("\n\n"), [""; 0]);
}

#[test]
#[should_panic(
    expected = "the transcript differs in line 1 (- expected, + actual)\n\n   1 - turn_start\n   1 + agent_start\n       ^\n"
)]
fn an_assertion_panics_with_the_difference() {
    assert_transcript(&vec![pi_core::AgentEvent::AgentStart], "turn_start");
}

#[test]
fn a_transcript_that_was_written_by_other_options_can_be_compared() {
    let options = TranscriptOptions::new().with_details(true);
    let transcript = Transcript::of_agent(&[pi_core::AgentEvent::AgentStart], &options);
    crate::assert_transcript!(transcript, @"agent_start");
    crate::assert_transcript!(transcript.to_transcript(), "agent_start");
}
