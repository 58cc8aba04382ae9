use std::sync::Mutex;

use futures_util::{FutureExt, stream};
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::complete::ProviderExt;
use crate::context::Context;
use crate::error::ErrorKind;
use crate::event::AssistantEvent;
use crate::model::Model;
use crate::stream::AssistantStream;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Town {
    name: String,
    inhabitants: u32,
}

/// Gives one reply behind the other, and keeps the requests.
struct Replies {
    left: Mutex<Vec<Vec<AssistantEvent>>>,
    asked: Mutex<Vec<Request>>,
}

impl Replies {
    fn new(replies: Vec<Vec<AssistantEvent>>) -> Self {
        Self {
            left: Mutex::new(replies.into_iter().rev().collect()),
            asked: Mutex::default(),
        }
    }
}

impl Provider for Replies {
    fn stream(&self, request: Request) -> AssistantStream {
        let seed = AssistantMessage::empty(&request.model, 0);
        self.asked.lock().unwrap().push(request);
        let events = self.left.lock().unwrap().pop().expect("one reply more");
        AssistantStream::new(seed, stream::iter(events))
    }
}

fn done(reason: StopReason) -> AssistantEvent {
    AssistantEvent::Done {
        reason,
        usage: Usage::new(10, 5, 0, 0),
        response_id: None,
    }
}

fn text(text: &str) -> Vec<AssistantEvent> {
    cut_text(text, StopReason::Stop)
}

fn cut_text(text: &str, reason: StopReason) -> Vec<AssistantEvent> {
    vec![
        AssistantEvent::Start,
        AssistantEvent::TextStart { content_index: 0 },
        AssistantEvent::TextDelta {
            content_index: 0,
            delta: text.to_owned(),
        },
        AssistantEvent::TextEnd {
            content_index: 0,
            content: None,
            content_signature: None,
        },
        done(reason),
    ]
}

fn call(name: &str, arguments: &str) -> Vec<AssistantEvent> {
    vec![
        AssistantEvent::Start,
        AssistantEvent::ToolCallStart {
            content_index: 0,
            id: "c1".to_owned(),
            tool_name: name.to_owned(),
        },
        AssistantEvent::ToolCallDelta {
            content_index: 0,
            delta: arguments.to_owned(),
        },
        AssistantEvent::ToolCallEnd {
            content_index: 0,
            thought_signature: None,
            tool_call: None,
        },
        done(StopReason::ToolUse),
    ]
}

fn ask(replies: &Replies) -> Result<Structured<Town>, StructuredError> {
    let context = Context::new(vec![UserMessage::new("Which?", 0).into()]);
    let request = Request::new(Model::new("m", "api", "provider", ""), context);
    let asked = replies.complete_as::<Town>(request).now_or_never();
    asked.expect("the replies never wait")
}

fn oslo() -> Town {
    Town {
        name: "Oslo".to_owned(),
        inhabitants: 709_037,
    }
}

const OSLO: &str = r#"{"name":"Oslo","inhabitants":709037}"#;

#[test]
fn a_value_comes_as_text_in_a_fence_or_as_a_call() {
    let fenced = format!("```json\n{OSLO}\n```");
    let bare = format!("```\n{OSLO}\n```\n");
    for reply in [text(OSLO), text(&fenced), text(&bare), call("Town", OSLO)] {
        let replies = Replies::new(vec![reply]);
        let structured = ask(&replies).unwrap();
        assert_eq!(structured.value, oslo());
        assert_eq!(structured.usage.total_tokens, 15);
        let asked = replies.asked.lock().unwrap();
        let output = asked[0]
            .options
            .output
            .as_ref()
            .expect("the schema is sent");
        assert_eq!(output.name, "Town");
        assert_eq!(output.schema["required"], json!(["name", "inhabitants"]));
    }
}

#[test]
fn a_reply_that_does_not_fit_is_corrected_once() {
    let wrong = r#"{"name":"Oslo"}"#;
    for (reply, roles) in [
        (text(wrong), vec!["user", "assistant", "user"]),
        (call("Town", wrong), vec!["user", "assistant", "toolResult"]),
        (
            call("other", "{}"),
            vec!["user", "assistant", "toolResult", "user"],
        ),
    ] {
        let replies = Replies::new(vec![reply, text(OSLO)]);
        let structured = ask(&replies).unwrap();
        assert_eq!(structured.value, oslo());
        assert_eq!(structured.usage.total_tokens, 30);
        let asked = replies.asked.lock().unwrap();
        let messages = &asked[1].context.messages;
        let sent: Vec<String> = messages
            .iter()
            .map(|message| json!(message)["role"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(sent, roles);
        let last = json!(messages.last());
        let is_told = last.to_string().contains("does not fit the schema");
        assert!(is_told, "{last}");
        assert!(asked[1].options.output.is_some());
    }
}

#[test]
fn a_correction_that_does_not_fit_is_a_typed_error() {
    let replies = Replies::new(vec![text("Oslo, I think."), text(r#"{"name":7}"#)]);
    let error = ask(&replies).unwrap_err();
    let StructuredError::Mismatch {
        problem,
        message,
        usage,
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(problem.contains("invalid type: integer `7`"), "{problem}");
    assert_eq!(message.text(), r#"{"name":7}"#);
    assert_eq!(usage.total_tokens, 30);
    assert!(
        error
            .to_string()
            .starts_with("the reply is not what was asked for: ")
    );
}

#[test]
fn a_reply_that_was_cut_is_not_asked_for_again() {
    let replies = Replies::new(vec![cut_text(r#"{"name":"Os"#, StopReason::Length)]);
    let error = ask(&replies).unwrap_err();
    assert!(
        error.to_string().contains("cut at the token limit"),
        "{error}"
    );
    assert_eq!(replies.asked.lock().unwrap().len(), 1);
}

#[test]
fn a_failed_reply_is_the_provider_s_error() {
    let failure = ProviderError::new(ErrorKind::Refused, "no");
    let event = AssistantEvent::from_error(&failure, Usage::default(), None);
    let replies = Replies::new(vec![vec![AssistantEvent::Start, event]]);
    match ask(&replies).unwrap_err() {
        StructuredError::Provider(error) => assert_eq!(*error.kind(), ErrorKind::Refused),
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_are_made_of_the_letters_that_services_take() {
    assert_eq!(name_of::<Vec<Town>>(), "Array_of_Town");
}
