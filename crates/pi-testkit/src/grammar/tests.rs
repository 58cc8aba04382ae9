use std::sync::Arc;

use pi_core::{
    AgentMessage, AssistantContent, AssistantMessage, ErrorKind, ProviderError, StopReason,
    TextContent, ToolCall, ToolOutput, ToolResultMessage, Usage, UserContent,
};

use super::*;
use crate::model;

/// Builds the events of runs from a line of words, one event each:
///
/// `A Z` agent start and end, `T t` turn start and end, `[user user]` start and end of a message,
/// `<` a reply starts, `+` it grows by "hi", `>` it ends with the calls of the story, `!` it ends
/// as failed, `>>` it ends with other text; `X1 x1 E1 S1` start, update, end and suspended end of
/// call 1, `[1 1]` the message of its result; `?` an unknown event.
struct Story {
    calls: Vec<ToolCall>,
    reply: Option<Arc<AssistantMessage>>,
    results: Vec<Arc<ToolResultMessage>>,
    messages: Vec<AgentMessage>,
    blocks: usize,
}

impl Story {
    fn tell(calls: usize, words: &str) -> Vec<AgentEvent> {
        let calls = (1..=calls).map(|n| call(&n.to_string())).collect();
        let mut story = Self {
            calls,
            reply: None,
            results: Vec::new(),
            messages: Vec::new(),
            blocks: 0,
        };
        words
            .split_whitespace()
            .flat_map(|word| story.events(word))
            .collect()
    }

    fn events(&mut self, word: &str) -> Vec<AgentEvent> {
        let event = match word {
            "A" => AgentEvent::AgentStart,
            "Z" => AgentEvent::AgentEnd {
                messages: std::mem::take(&mut self.messages).into(),
            },
            "T" => AgentEvent::TurnStart,
            "t" => AgentEvent::TurnEnd {
                message: self
                    .reply
                    .clone()
                    .unwrap_or_else(|| self.finished(false))
                    .into(),
                tool_results: std::mem::take(&mut self.results),
            },
            "<" => {
                self.blocks = 0;
                // Results before the reply are part of the prompt.
                self.results.clear();
                AgentEvent::MessageStart {
                    message: AssistantMessage::empty(&model(), 0).into(),
                }
            }
            "+" => return self.grow(),
            ">" => self.end_reply(self.finished(false)),
            "!" => self.end_reply(self.finished(true)),
            ">>" => {
                let mut other = (*self.finished(false)).clone();
                other.content.insert(0, TextContent::new("other").into());
                self.end_reply(other.into())
            }
            "?" => AgentEvent::Other(serde_json::json!({ "type": "new_event" })),
            _ if word.starts_with('[') => AgentEvent::MessageStart {
                message: self.message(&word[1..]),
            },
            _ if word.ends_with(']') => {
                let message = self.message(&word[..word.len() - 1]);
                if let AgentMessage::ToolResult(result) = &message {
                    self.results.push(Arc::clone(result));
                }
                self.messages.push(message.clone());
                AgentEvent::MessageEnd { message }
            }
            _ => tool_event(word),
        };
        vec![event]
    }

    fn grow(&mut self) -> Vec<AgentEvent> {
        let content_index = self.blocks;
        self.blocks += 1;
        [
            AssistantEvent::TextStart { content_index },
            AssistantEvent::TextDelta {
                content_index,
                delta: "hi".into(),
            },
            AssistantEvent::TextEnd {
                content_index,
                content: None,
                content_signature: None,
            },
        ]
        .map(update)
        .into()
    }

    /// The calls are told only where nothing has grown, so that every story stays short.
    fn finished(&self, failed: bool) -> Arc<AssistantMessage> {
        let mut reply = AssistantMessage::empty(&model(), 0);
        let text = std::iter::repeat_with(|| TextContent::new("hi").into()).take(self.blocks);
        reply.content = text.collect();
        if self.blocks == 0 {
            let calls = self.calls.iter().cloned();
            reply.content.extend(calls.map(AssistantContent::ToolCall));
        }
        if failed {
            reply.stop_reason = StopReason::Error;
        }
        reply.into()
    }

    fn end_reply(&mut self, reply: Arc<AssistantMessage>) -> AgentEvent {
        self.reply = Some(Arc::clone(&reply));
        self.messages.push(reply.clone().into());
        AgentEvent::MessageEnd {
            message: reply.into(),
        }
    }

    fn message(&self, word: &str) -> AgentMessage {
        match word.parse::<usize>() {
            Ok(_) => {
                let content = vec![UserContent::text("out")];
                ToolResultMessage::new(word, "tool", content, 0).into()
            }
            Err(_) => AgentMessage::user(word, 0),
        }
    }
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "tool", serde_json::Map::new())
}

fn update(event: AssistantEvent) -> AgentEvent {
    AgentEvent::MessageUpdate {
        message: AssistantMessage::empty(&model(), 0).into(),
        event,
    }
}

fn tool_event(word: &str) -> AgentEvent {
    let (kind, id) = word.split_at(1);
    let call = Arc::new(call(id));
    match kind {
        "X" => AgentEvent::ToolExecutionStart { call },
        "x" => AgentEvent::ToolExecutionUpdate {
            call,
            partial_result: ToolOutput::text("…"),
        },
        "E" | "S" => AgentEvent::ToolExecutionEnd {
            call,
            result: ToolOutput::text("out"),
            is_error: false,
            duration: None,
            suspended: kind == "S",
        },
        _ => panic!("unknown word {word}"),
    }
}

#[track_caller]
fn accept(rules: Rules, calls: usize, words: &str) {
    if let Err(error) = rules.check(&Story::tell(calls, words)) {
        panic!("{words}\n{error:?}");
    }
}

#[track_caller]
fn reject(rules: Rules, calls: usize, words: &str, expected: &str) {
    match rules.check(&Story::tell(calls, words)) {
        Ok(()) => panic!("accepted: {words}"),
        Err(error) => assert_eq!(error.to_string(), expected, "{words}"),
    }
}

#[test]
fn runs_that_follow_the_grammar_are_accepted() {
    let rules = Rules::new();
    for (calls, words) in [
        (0, ""),
        (0, "A T [hi hi] < + > t Z"),
        (
            0,
            "A T [hi hi] [more more] < + + > t Z A T [again again] < + > t Z",
        ),
        (0, "A T < + > t T [queued queued] < + > t Z"),
        (0, "? A T ? < + ? > t Z ?"),
        (0, "A T [hi hi] < ! t Z"),
        // Calls one by one and side by side.
        (2, "A T [hi hi] < > X1 x1 E1 [1 1] X2 E2 [2 2] t Z"),
        (2, "A T < > X1 X2 x2 x1 x2 E1 [1 1] x2 E2 [2 2] t Z"),
        // A call that was refused at the head.
        (3, "A T < > X1 E1 [1 1] X2 X3 E2 [2 2] E3 [3 3] t Z"),
        (2, "A T < > X1 S1 X2 E2 [2 2] t Z"),
        (2, "A T < > X1 X2 E1 [1 1] S2 t Z"),
        // A failed reply opens no calls, though it has some.
        (2, "A T < ! t Z"),
        // Resumed calls of a stored reply: all, or the rest.
        (2, "A T X1 X2 E1 [1 1] E2 [2 2] t Z"),
        (2, "A T X2 E2 [2 2] t Z"),
        // A prompt that holds a reply.
        (0, "A T [hi hi] < > [more more] < + > t Z"),
        (1, "A T [hi hi] < > [1 1] < ! t Z"),
    ] {
        accept(rules, calls, words);
    }
}

#[test]
fn what_breaks_the_order_of_a_run_is_named() {
    let rules = Rules::new();
    for (words, expected) in [
        (
            "T",
            "event 0 (turn_start) does not fit: expected agent_start",
        ),
        (
            "A Z",
            "event 1 (agent_end messages=0) does not fit: expected turn_start",
        ),
        (
            "A T t",
            "event 2 (turn_end results=0) does not fit: expected a message or the reply",
        ),
        (
            "A T < + > [hi",
            "event 7 (message_start user \"hi\") does not fit: expected turn_end",
        ),
        (
            "A T [hi ho]",
            "event 3 (message_end user \"ho\") does not fit: expected message_end of the same \
             user message",
        ),
        (
            "A T [hi [ho",
            "event 3 (message_start user \"ho\") does not fit: expected message_end of the user \
             message",
        ),
        (
            "A T < t",
            "event 3 (turn_end results=0) does not fit: expected message_update or message_end of \
             the reply",
        ),
        (
            "A T < ! t T",
            "event 5 (turn_start) does not fit: expected agent_end, since the reply failed",
        ),
        (
            "A T < + >>",
            "event 6 (message_end assistant stop) does not fit: expected the finished reply to \
             hold what its updates add up to",
        ),
        (
            "A T < + > t",
            "the events stop too early, after 8: expected turn_start or agent_end",
        ),
        (
            "A T [hi hi]",
            "the events stop too early, after 4: expected a message or the reply",
        ),
    ] {
        reject(rules, 0, words, expected);
    }
}

#[test]
fn what_breaks_the_order_of_calls_is_named() {
    let rules = Rules::new();
    for (words, expected) in [
        (
            "A T < > X2",
            "event 4 (tool_start 2 tool) does not fit: expected tool_execution_start of 1 (tool)",
        ),
        (
            "A T < > x1",
            "event 4 (tool_update 1 \"…\") does not fit: expected tool_execution_start of 1",
        ),
        (
            "A T < > X1 X2 E2",
            "event 6 (tool_end 2 ok) does not fit: expected the end of 1",
        ),
        (
            "A T < > X1 X2 E1 x2",
            "event 7 (tool_update 2 \"…\") does not fit: expected the message of the result of 1",
        ),
        (
            "A T < > X1 E1 X2",
            "event 6 (tool_start 2 tool) does not fit: expected the message of the result of 1",
        ),
        (
            "A T < > X1 E1 [2",
            "event 6 (message_start toolResult 2 \"out\") does not fit: expected the successful \
             result of 1 (tool)",
        ),
        (
            "A T < > X1 E1 [1 1] t",
            "event 8 (turn_end results=1) does not fit: expected tool_execution_start of 2",
        ),
        (
            "A T < > X1 X2 E1 [1 1] t",
            "event 9 (turn_end results=1) does not fit: expected the end of 2",
        ),
        (
            "A T < ! X1",
            "event 4 (tool_start 1 tool) does not fit: expected turn_end, since the reply ended \
             with error",
        ),
        (
            "A T X3 E3 [3 3] t",
            "event 6 (turn_end results=1) does not fit: expected turn_end with the reply that \
             made the call 3",
        ),
        (
            "A T [hi hi] X1",
            "event 4 (tool_start 1 tool) does not fit: expected a message or the reply",
        ),
    ] {
        let expected = expected.replace("toolResult", "tool_result");
        reject(rules, 2, words, &expected);
    }
}

#[test]
fn ends_in_completion_order_are_an_option() {
    let words = "A T < > X1 X2 x1 E2 x1 E1 [1 1] [2 2] t Z";
    accept(Rules::new().completion_order(), 2, words);
    reject(
        Rules::new(),
        2,
        words,
        "event 7 (tool_end 2 ok) does not fit: expected the end of 1",
    );
    reject(
        Rules::new().completion_order(),
        2,
        "A T < > X1 X2 E2 [2",
        "event 7 (message_start tool_result 2 \"out\") does not fit: expected the end of 1",
    );
}

#[test]
fn sequential_calls_do_not_overlap() {
    let rules = Rules::new().sequential();
    accept(rules, 2, "A T < > X1 E1 [1 1] X2 S2 t Z");
    reject(
        rules,
        2,
        "A T < > X1 X2",
        "event 5 (tool_start 2 tool) does not fit: expected the end of 1 or tool_execution_start \
         of 2",
    );
}

#[test]
fn an_unfinished_run_is_accepted_where_that_is_said() {
    for words in ["A", "A T [hi", "A T < +", "A T < > X1 x1"] {
        accept(Rules::new().unfinished(), 1, words);
        assert!(check(&Story::tell(1, words)).is_err(), "{words}");
    }
}

#[test]
fn ends_carry_the_messages_that_were_told() {
    let mut events = Story::tell(0, "A T [hi hi] < + > t Z");
    let [.., AgentEvent::AgentEnd { messages }] = events.as_mut_slice() else {
        panic!()
    };
    *messages = Arc::new([]);
    assert_eq!(
        check(&events).unwrap_err().to_string(),
        "event 10 (agent_end messages=0) does not fit: expected agent_end with the 2 messages of \
         the run"
    );

    let mut events = Story::tell(1, "A T < > X1 E1 [1 1] t");
    let [.., AgentEvent::TurnEnd { tool_results, .. }] = events.as_mut_slice() else {
        panic!()
    };
    tool_results.clear();
    assert_eq!(
        check(&events).unwrap_err().to_string(),
        "event 8 (turn_end results=0) does not fit: expected turn_end with the 1 results of the \
         turn"
    );
}

#[test]
fn calls_with_the_same_id_are_told_apart_by_their_place() {
    let mut events = Story::tell(2, "A T < > X1 E1 [1 1] X1 E1 [1 1] t Z");
    let mut twin = AssistantMessage::empty(&model(), 0);
    twin.content = vec![call("1").into(), call("1").into()];
    let twin = Arc::new(twin);
    for event in &mut events {
        match event {
            AgentEvent::MessageEnd { message } | AgentEvent::TurnEnd { message, .. }
                if message.as_assistant().is_some() =>
            {
                *message = Arc::clone(&twin).into();
            }
            AgentEvent::AgentEnd { messages } => {
                let rest = messages.iter().skip(1).cloned();
                *messages = std::iter::once(Arc::clone(&twin).into())
                    .chain(rest)
                    .collect();
            }
            _ => {}
        }
    }
    check(&events).unwrap();
}

#[test]
fn the_error_shows_what_came_before() {
    let error = check(&Story::tell(0, "A T [hi hi] < + t")).unwrap_err();
    assert_eq!(
        (error.index(), error.found()),
        (8, Some("turn_end results=0"))
    );
    let expected = "\
event 8 (turn_end results=0) does not fit: expected message_update or message_end of the reply
    message        user \"hi\"
    message_start  assistant
    message_update #0 text_start
    message_update #0 text_delta +\"hi\"
    message_update #0 text_end
--> turn_end       results=0";
    assert_eq!(format!("{error:?}"), expected);
}

#[test]
fn streams_are_checked_block_by_block() {
    use AssistantEvent as E;
    let start = |content_index| E::TextStart { content_index };
    let delta = |content_index| E::TextDelta {
        content_index,
        delta: "a".into(),
    };
    let end = |content_index| E::TextEnd {
        content_index,
        content: None,
        content_signature: None,
    };
    let think = |content_index| E::ThinkingDelta {
        content_index,
        delta: "a".into(),
    };
    let done = |reason| E::Done {
        reason,
        usage: Usage::default(),
        response_id: None,
    };
    let stop = || done(StopReason::Stop);
    let failed = || {
        let error = ProviderError::new(ErrorKind::Server, "no");
        E::from_error(&error, Usage::default(), None)
    };
    let ok = "";
    for (events, expected) in [
        (vec![E::Start, stop()], ok),
        (vec![failed()], ok),
        (
            vec![
                E::Start,
                start(0),
                delta(0),
                end(0),
                start(1),
                end(1),
                stop(),
            ],
            ok,
        ),
        (
            vec![start(0), start(1), delta(0), end(1), end(0), stop()],
            ok,
        ),
        (vec![E::Start, start(0), delta(0), failed()], ok),
        (
            vec![E::Start],
            "the events stop too early, after 1: expected done or error",
        ),
        (
            vec![start(0), E::Start],
            "event 1 (start) does not fit: expected start only as the first event",
        ),
        (
            vec![start(1)],
            "event 0 (#1 text_start) does not fit: expected the next block to be #0",
        ),
        (
            vec![delta(0)],
            "event 0 (#0 text_delta +\"a\") does not fit: expected the start of block #0 before",
        ),
        (
            vec![start(0), think(0)],
            "event 1 (#0 thinking_delta +\"a\") does not fit: expected an event of block #0, \
             which is text",
        ),
        (
            vec![start(0), end(0), delta(0)],
            "event 2 (#0 text_delta +\"a\") does not fit: expected nothing of block #0 after its \
             end",
        ),
        (
            vec![start(0), stop()],
            "event 1 (done stop) does not fit: expected the end of block #0",
        ),
        (
            vec![stop(), stop()],
            "event 1 (done stop) does not fit: expected nothing after the closing event",
        ),
        (
            vec![done(StopReason::Aborted)],
            "event 0 (done aborted) does not fit: expected done with a reason that is no failure",
        ),
    ] {
        let found = check_stream(&events).err().map(|error| error.to_string());
        assert_eq!(found.unwrap_or_default(), expected, "{events:?}");
    }
}
