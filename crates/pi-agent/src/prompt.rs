//! What a run begins with.

use pi_core::{AgentMessage, ImageContent, UserContent, UserMessage};

/// The messages that a run begins with: a text with images, or messages of any role.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Prompt {
    /// A user message, dated when the run begins.
    Text {
        /// The text.
        text: String,
        /// Images behind it.
        images: Vec<ImageContent>,
    },
    /// Messages as they are.
    Messages(Vec<AgentMessage>),
}

impl Prompt {
    /// Creates a prompt from a text with images.
    pub fn with_images(text: impl Into<String>, images: Vec<ImageContent>) -> Self {
        Self::Text {
            text: text.into(),
            images,
        }
    }

    /// Returns the messages; `now` is in milliseconds since the Unix epoch.
    pub(crate) fn into_messages(self, now: u64) -> Vec<AgentMessage> {
        match self {
            Self::Messages(messages) => messages,
            Self::Text { text, images } => {
                let mut content = vec![UserContent::text(text)];
                content.extend(images.into_iter().map(UserContent::Image));
                vec![UserMessage::new(content, now).into()]
            }
        }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::Text {
            text: text.to_owned(),
            images: Vec::new(),
        }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::Text {
            text,
            images: Vec::new(),
        }
    }
}

impl From<AgentMessage> for Prompt {
    fn from(message: AgentMessage) -> Self {
        Self::Messages(vec![message])
    }
}

impl From<UserMessage> for Prompt {
    fn from(message: UserMessage) -> Self {
        Self::Messages(vec![message.into()])
    }
}

impl From<Vec<AgentMessage>> for Prompt {
    fn from(messages: Vec<AgentMessage>) -> Self {
        Self::Messages(messages)
    }
}
