//! Where a request goes, and with which headers.

use std::collections::BTreeMap;

use pi_core::{Message, MessageContent, Request, UserContent};

/// Returns the address of the endpoint below `base_url`, whose query stays.
#[must_use]
pub fn url(base_url: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    format!("{}/chat/completions{query}", path.trim_end_matches('/'))
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// The key is not among them: `authorization` is the caller's.
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    };
    set("accept", "application/json");
    set("content-type", "application/json");
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
    fn the_path_is_appended_once() {
        for (base, expected) in [
            ("https://a/v1", "https://a/v1/chat/completions"),
            ("https://a/v1/", "https://a/v1/chat/completions"),
            ("https://a/v1//", "https://a/v1/chat/completions"),
            (
                "https://a/v1?version=2",
                "https://a/v1/chat/completions?version=2",
            ),
        ] {
            assert_eq!(url(base), expected);
        }
    }

    #[test]
    fn headers_of_the_options_win_whatever_their_case() {
        let mut model = Model::new("m", "openai-completions", "github-copilot", "");
        model.headers = Some([("X-A".to_owned(), "model".to_owned())].into());
        let image = UserContent::image("QUJD", "image/png");
        let context = Context::new(vec![UserMessage::new(vec![image], 0).into()]);
        let mut options = StreamOptions::default();
        options.headers.insert("x-a".into(), "options".into());
        let headers = headers(&Request::new(model, context).with_options(options));
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            headers,
            [
                ("accept", "application/json"),
                ("content-type", "application/json"),
                ("copilot-vision-request", "true"),
                ("openai-intent", "conversation-edits"),
                ("x-a", "options"),
                ("x-initiator", "user"),
            ]
        );
    }
}
