//! `assert_transcript!` with insta: where its snapshots lie, and what its reports say.

use pi_core::AgentEvent;
use pi_testkit::assert_transcript;

#[test]
fn a_stored_transcript_is_named_after_its_test() {
    let events = vec![AgentEvent::AgentStart, AgentEvent::TurnStart];
    assert_transcript!(events);
}

#[test]
fn an_inline_transcript_stands_in_the_test() {
    let events = vec![AgentEvent::AgentStart, AgentEvent::TurnStart];
    assert_transcript!(events, @r"
    agent_start
    turn_start
    ");
}
