//! The headers of a request, as far as they are the same for several protocols.

use std::collections::BTreeMap;

use pi_core::{Message, MessageContent, Request, UserContent};

/// Collects headers, names in lower case: the protocol's own, then those of the model, then those
/// of the options, each replacing the ones before.
pub(crate) fn collect<'a>(
    request: &Request,
    own: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    };
    for (name, value) in own {
        set(name, value);
    }
    for (name, value) in request.model.headers.iter().flatten() {
        set(name, value);
    }
    if request.model.provider == "github-copilot" {
        let messages = &request.context.messages;
        let is_by_user = matches!(messages.last(), None | Some(Message::User(_)));
        set("x-initiator", if is_by_user { "user" } else { "agent" });
        set("openai-intent", "conversation-edits");
        if messages.iter().any(has_image) {
            set("copilot-vision-request", "true");
        }
    }
    for (name, value) in &request.options.headers {
        set(name, value);
    }
    headers
}

fn has_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(message) => match &message.content {
            MessageContent::Blocks(blocks) => blocks,
            _ => return false,
        },
        Message::ToolResult(result) => &result.content,
        _ => return false,
    };
    blocks
        .iter()
        .any(|block| matches!(block, UserContent::Image(_)))
}

#[cfg(test)]
mod tests {
    use pi_core::{Context, Model, StreamOptions, UserMessage};

    use super::*;

    #[test]
    fn headers_of_the_options_win_whatever_their_case() {
        let mut model = Model::new("m", "api", "github-copilot", "");
        model.headers = Some([("X-A".to_owned(), "model".to_owned())].into());
        let image = UserContent::image("QUJD", "image/png");
        let context = Context::new(vec![UserMessage::new(vec![image], 0).into()]);
        let mut options = StreamOptions::default();
        options.headers.insert("x-a".into(), "options".into());
        let own = [("accept", "application/json"), ("x-a", "own")];
        let headers = collect(&Request::new(model, context).with_options(options), own);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            headers,
            [
                ("accept", "application/json"),
                ("copilot-vision-request", "true"),
                ("openai-intent", "conversation-edits"),
                ("x-a", "options"),
                ("x-initiator", "user"),
            ]
        );
    }
}
