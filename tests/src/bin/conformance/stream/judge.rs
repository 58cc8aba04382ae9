//! Comparison of a reply with what a stream case expects.

use integration_tests::compare::{self, Difference};
use integration_tests::server::Received;
use integration_tests::{matcher, normalise};
use serde_json::Value;

use super::case::StreamCase;
use crate::request;
use integration_tests::observe::Observation;

/// Compares events, message and error of a reply.
pub(super) fn reply(case: &StreamCase, observation: &Observation) -> Vec<String> {
    let mut differences = Vec::new();
    let mut note = |part: &str, result: Result<(), Difference>| {
        if let Err(difference) = result {
            differences.push(difference.below(part).to_string());
        }
    };
    note("message", message(case, observation));
    if !case.message_only {
        let events = Value::Array(observation.events.clone());
        note(
            "events",
            match &case.right.events {
                Some(pattern) => matcher::check(pattern, Some(&events)),
                None => compare::equal(
                    &comparable(case, case.events.clone()),
                    &comparable(case, events),
                ),
            },
        );
    }
    if let Some(pattern) = &case.right.error_kind {
        let kind = observation
            .failure
            .as_ref()
            .and_then(|failure| failure.kind)
            .map(Value::from);
        note("errorKind", matcher::check(pattern, kind.as_ref()));
    }
    differences.extend(observation.check_ids().err());
    differences
}

fn message(case: &StreamCase, observation: &Observation) -> Result<(), Difference> {
    // Matchers look at signatures as texts.
    if let Some(pattern) = &case.right.message {
        return matcher::check(pattern, Some(&observation.message));
    }
    let actual = comparable(case, observation.message.clone());
    let mut expected = comparable(case, case.message.clone());
    if case.any_error_text {
        match actual.get("errorMessage").and_then(Value::as_str) {
            Some(text) if !text.is_empty() => expected["errorMessage"] = Value::from(text),
            other => {
                let other = other.map(Value::from);
                return Err(Difference::unmet(
                    "$.errorMessage",
                    "a text",
                    other.as_ref(),
                ));
            }
        }
    }
    compare::equal(&expected, &actual)
}

/// Brings expected and observed values to a form in which only differences that count are left.
fn comparable(case: &StreamCase, mut value: Value) -> Value {
    if case.api.ends_with("-responses") {
        normalise::open_signatures(&mut value);
    }
    value
}

/// Compares what the server received.
pub(super) fn request(
    case: &StreamCase,
    observation: &Observation,
    received: &[Received],
) -> Vec<String> {
    let mut differences = Vec::new();
    let expected = &case.expected_request;
    let Some(first) = received.first() else {
        return vec!["request: nothing was sent".to_owned()];
    };
    let attempts = case.right.attempts.as_ref().or(expected.get("attempts"));
    if let Some(attempts) = attempts.filter(|_| !may_be_sent_again(case, observation)) {
        let actual = Value::from(received.len());
        if let Err(difference) = matcher::check(attempts, Some(&actual)) {
            differences.push(difference.below("request.attempts").to_string());
        }
    }
    differences.extend(request::compare(expected, None, &request::Seen::of(first)));
    differences
}

/// A 200 stream that fails before its first content event may be asked for again.
fn may_be_sent_again(case: &StreamCase, observation: &Observation) -> bool {
    observation.failure.is_some()
        && !observation.has_content()
        && case
            .responses
            .last()
            .is_some_and(|response| response.status == 200)
}
