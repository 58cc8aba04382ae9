//! What a hand-over to another model drops and changes, by the rules of its API.

use pi_core::handoff::{self, HandoffEffect, HandoffReport};
use pi_core::{Context, Message, Model};

/// Tells what a request to `target` would drop and change of a conversation, before it is sent.
///
/// For an API that has no codec here, the report holds what is the same for all.
///
/// # Examples
/// ```
/// use pi_ai_wire::handoff_report;
/// use pi_core::{AssistantMessage, Context, Model, ThinkingContent};
///
/// let mut reply = AssistantMessage::empty(&Model::new("m1", "some-api", "elsewhere", ""), 0);
/// reply.content.push(ThinkingContent::new("Hm.").into());
///
/// let target = Model::new("m2", "openai-completions", "openai", "");
/// let report = handoff_report(&Context::new(vec![reply.into()]), &target);
/// assert_eq!(report.to_string(), "message 0: the reasoning in block 0 goes on as plain text");
/// ```
#[must_use]
pub fn handoff_report(context: &Context, target: &Model) -> HandoffReport {
    let messages = &context.messages;
    let rules = Rules::of(target);
    let mut report = handoff::report(messages, target, |id, attempt| {
        (rules.call_id)(target, id, attempt)
    });
    if rules.moves_instructions {
        let is_system = |message: &&Message| matches!(message, Message::System(_));
        let first = messages.iter().take_while(is_system).count();
        let first = if rules.takes_instructions_first {
            first
        } else {
            0
        };
        for (index, message) in messages.iter().enumerate().skip(first) {
            if matches!(message, Message::System(_)) {
                report.add(index, HandoffEffect::SystemMessageMoved);
            }
        }
        report.changes.sort_by_key(|change| change.message);
    }
    report
}

/// Makes the id of a call fit the API.
type CallId = fn(&Model, &str, u32) -> String;

/// What an API asks of a conversation.
struct Rules {
    call_id: CallId,
    /// Instructions in mid-conversation go into a message of the user.
    moves_instructions: bool,
    /// Those in front of all other messages stay instructions.
    takes_instructions_first: bool,
}

impl Rules {
    fn of(target: &Model) -> Self {
        let (call_id, moves_instructions): (CallId, bool) = match target.api.as_str() {
            #[cfg(feature = "anthropic")]
            crate::anthropic_messages::API => (
                crate::anthropic_messages::call_id,
                !crate::anthropic_messages::Compat::resolve(target)
                    .supports_mid_convo_system_messages,
            ),
            #[cfg(feature = "bedrock")]
            crate::bedrock_converse_stream::API => (crate::bedrock_converse_stream::call_id, true),
            #[cfg(feature = "google")]
            crate::google_generative_ai::API | crate::google_generative_ai::VERTEX_API => {
                (crate::google_generative_ai::call_id, true)
            }
            #[cfg(feature = "mistral")]
            crate::mistral_conversations::API => (crate::mistral_conversations::call_id, true),
            #[cfg(feature = "openai")]
            crate::openai_completions::API => (crate::openai_completions::call_id, false),
            #[cfg(feature = "openai")]
            crate::openai_responses::API | crate::azure_openai_responses::API => {
                (crate::openai_responses::call_id, false)
            }
            _ => (unchanged, false),
        };
        Self {
            call_id,
            moves_instructions,
            takes_instructions_first: target.api == "mistral-conversations",
        }
    }
}

fn unchanged(_: &Model, id: &str, attempt: u32) -> String {
    match attempt {
        0 => id.to_owned(),
        _ => format!("{id}_{attempt}"),
    }
}

#[cfg(all(test, feature = "__codec"))]
mod tests {
    use pi_core::{AssistantMessage, SystemMessage, ToolCall, ToolResultMessage, UserMessage};

    use super::*;

    fn conversation() -> Context {
        let mut reply = AssistantMessage::empty(&Model::new("m", "elsewhere", "other", ""), 0);
        let call = ToolCall::new("call:1|item", "read", serde_json::Map::new());
        reply.content.push(call.into());
        Context::new(vec![
            SystemMessage::new("Be kind.", 0).into(),
            UserMessage::new("Hi", 0).into(),
            reply.into(),
            ToolResultMessage::new("call:1|item", "read", vec!["ok".into()], 0).into(),
            SystemMessage::new("Be brief.", 0).into(),
        ])
    }

    #[test]
    fn each_api_has_rules_of_its_own() {
        let moved = "the instruction goes into the prompt or a user message";
        for (api, id, lines) in [
            #[cfg(feature = "anthropic")]
            ("anthropic-messages", "call_1_item", vec![0, 4]),
            #[cfg(feature = "google")]
            ("google-generative-ai", "call:1|item", vec![0, 4]),
            #[cfg(feature = "mistral")]
            ("mistral-conversations", "call1item", vec![4]),
            #[cfg(feature = "openai")]
            ("openai-completions", "call_1", vec![]),
            ("smoke-signals", "call:1|item", vec![]),
        ] {
            let report = handoff_report(&conversation(), &Model::new("m", api, "p", ""));
            let mut expected: Vec<String> = Vec::new();
            expected.extend(lines.contains(&0).then(|| format!("message 0: {moved}")));
            if id != "call:1|item" {
                expected.push(format!("message 2: call \"call:1|item\" becomes \"{id}\""));
            }
            expected.extend(lines.contains(&4).then(|| format!("message 4: {moved}")));
            assert_eq!(report.to_string(), expected.join("\n"), "{api}");
        }
    }
}
