use pi_core::{Assembler, Context, Provider, Request};

use super::*;
use crate::{ScriptedProvider, block_on, model};

#[test]
fn a_recorder_leaves_the_growing_message_to_its_owner() {
    let recorder = Recorder::new();
    let listener = recorder.listener();
    let mut assembler = Assembler::new(AssistantMessage::empty(&model(), 0));
    listener(&AgentEvent::MessageStart {
        message: Arc::clone(assembler.message()).into(),
    });

    for delta in ["Hel", "lo"] {
        let event = match delta {
            "Hel" => AssistantEvent::TextStart { content_index: 0 },
            _ => AssistantEvent::TextDelta {
                content_index: 0,
                delta: delta.into(),
            },
        };
        let before = Arc::as_ptr(assembler.message());
        assembler.push(&event).unwrap();
        let update = AgentEvent::MessageUpdate {
            message: Arc::clone(assembler.message()),
            event,
        };
        listener(&update);
        drop(update);
        assert_eq!(
            Arc::as_ptr(assembler.message()),
            before,
            "edited in place, not copied"
        );
        assert_eq!(Arc::strong_count(assembler.message()), 1);
    }

    let events = recorder.events();
    assert_eq!(events.len(), 3);
    let [.., AgentEvent::MessageUpdate { message, .. }] = events.as_slice() else {
        panic!()
    };
    assert!(message.content.is_empty() && message.model == "scripted-1");
}

#[test]
fn clones_share_the_recording_until_it_is_taken() {
    let recorder = Recorder::new();
    recorder.clone().record(&AgentEvent::AgentStart);
    assert_eq!(recorder.take(), [AgentEvent::AgentStart]);
    assert_eq!(recorder.events(), []);
    assert_eq!(recorder.transcript().to_string(), "");
}

#[test]
fn the_grammar_of_a_recording_can_be_checked() {
    let recorder = Recorder::new();
    recorder.record(&AgentEvent::TurnStart);
    assert_eq!(
        recorder.check_grammar().unwrap_err().to_string(),
        "event 0 (turn_start) does not fit: expected agent_start"
    );
}

#[test]
fn a_stream_recorder_reads_a_reply_to_its_end() {
    let provider = ScriptedProvider::new().turn(|t| t.text_deltas(["Hel", "lo"]));
    let mut reply = provider.stream(Request::new(model(), Context::default()));
    let recorder = StreamRecorder::new();
    block_on(recorder.read_to_end(&mut reply));
    assert_eq!(recorder.events().len(), 6);
    assert_eq!(
        recorder.transcript().lines(),
        ["start", "#0 text +\"Hello\"", "done stop"]
    );
}
