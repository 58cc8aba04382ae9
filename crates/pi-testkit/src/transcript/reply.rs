//! The events of a reply as lines, the events of a block joined where they stand side by side.

use pi_core::AssistantEvent;
use serde_json::Value;

use super::message::unknown;
use super::words::{Words, counts, ending, sentence};

/// Turns the events of one reply into lines.
pub(super) struct ReplyLines {
    open: Option<Segment>,
}

/// Events of one block that stand side by side.
struct Segment {
    index: usize,
    kind: Kind,
    /// The words between the kind and the content: id and name of a call.
    name: String,
    begun: bool,
    ended: bool,
    /// What the deltas add up to; `None` without a delta.
    deltas: Option<String>,
    /// What the end says.
    whole: Option<String>,
    redacted: bool,
    signature: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Kind {
    fn of(event: &AssistantEvent) -> Option<Self> {
        use AssistantEvent as E;
        match event {
            E::TextStart { .. } | E::TextDelta { .. } | E::TextEnd { .. } => Some(Self::Text),
            E::ThinkingStart { .. } | E::ThinkingDelta { .. } | E::ThinkingEnd { .. } => {
                Some(Self::Thinking)
            }
            E::ToolCallStart { .. } | E::ToolCallDelta { .. } | E::ToolCallEnd { .. } => {
                Some(Self::ToolCall)
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::ToolCall => "toolcall",
        }
    }
}

impl ReplyLines {
    pub(super) fn new() -> Self {
        Self { open: None }
    }

    /// Adds an event. Its line comes at once, or once its block cannot grow any more.
    pub(super) fn push(
        &mut self,
        event: &AssistantEvent,
        words: &mut Words<'_>,
        lines: &mut Vec<String>,
    ) {
        let (Some(kind), Some(index)) = (Kind::of(event), event.content_index()) else {
            self.flush(words, lines);
            lines.push(other_event(words, event));
            return;
        };
        let starts = matches!(
            event,
            AssistantEvent::TextStart { .. }
                | AssistantEvent::ThinkingStart { .. }
                | AssistantEvent::ToolCallStart { .. }
        );
        let continues = words.options.join_deltas
            && !starts
            && self
                .open
                .as_ref()
                .is_some_and(|open| open.index == index && open.kind == kind && !open.ended);
        if !continues {
            self.flush(words, lines);
        }
        let segment = self.open.get_or_insert_with(|| Segment::new(index, kind));
        segment.add(event, words);
        if !words.options.join_deltas
            && let Some(segment) = self.open.take()
        {
            lines.push(segment.single(event.type_name(), words));
        }
    }

    /// Writes the line of the block that is still open.
    pub(super) fn flush(&mut self, words: &Words<'_>, lines: &mut Vec<String>) {
        if let Some(segment) = self.open.take() {
            lines.push(segment.joined(words));
        }
    }
}

impl Segment {
    fn new(index: usize, kind: Kind) -> Self {
        Self {
            index,
            kind,
            name: String::new(),
            begun: false,
            ended: false,
            deltas: None,
            whole: None,
            redacted: false,
            signature: None,
        }
    }

    fn add(&mut self, event: &AssistantEvent, words: &mut Words<'_>) {
        match event {
            AssistantEvent::TextStart { .. } => self.begun = true,
            AssistantEvent::ThinkingStart {
                content_signature, ..
            } => {
                self.begun = true;
                self.signature.clone_from(content_signature);
            }
            AssistantEvent::ToolCallStart { id, tool_name, .. } => {
                self.begun = true;
                self.name = sentence([&words.id(id), tool_name]);
            }
            AssistantEvent::TextDelta { delta, .. }
            | AssistantEvent::ThinkingDelta { delta, .. }
            | AssistantEvent::ToolCallDelta { delta, .. } => {
                self.deltas.get_or_insert_default().push_str(delta);
            }
            AssistantEvent::TextEnd {
                content,
                content_signature,
                ..
            } => {
                self.end(content.clone(), content_signature.as_ref());
            }
            AssistantEvent::ThinkingEnd {
                content,
                content_signature,
                redacted,
                ..
            } => {
                self.redacted = *redacted;
                self.end(content.clone(), content_signature.as_ref());
            }
            AssistantEvent::ToolCallEnd {
                thought_signature,
                tool_call,
                ..
            } => {
                let whole = tool_call
                    .as_ref()
                    .map(|call| serde_json::to_string(&call.arguments).unwrap_or_default());
                self.end(whole, thought_signature.as_ref());
            }
            _ => {}
        }
    }

    fn end(&mut self, whole: Option<String>, signature: Option<&String>) {
        self.ended = true;
        self.whole = whole;
        if signature.is_some() {
            self.signature = signature.cloned();
        }
    }

    /// Returns the line of a segment that is one event.
    fn single(&self, event: &str, words: &Words<'_>) -> String {
        let delta = self
            .deltas
            .as_ref()
            .map(|text| format!("+{}", words.quoted(text)));
        let whole = self.whole.as_ref().map(|whole| match self.kind {
            Kind::ToolCall => format!("={}", compact(words, whole)),
            Kind::Text | Kind::Thinking => format!("={}", words.quoted(whole)),
        });
        sentence([
            &format!("#{}", self.index),
            event,
            &self.name,
            delta.as_deref().unwrap_or_default(),
            whole.as_deref().unwrap_or_default(),
            if self.redacted { "redacted" } else { "" },
            &self.signature(words),
        ])
    }

    /// Returns the line of a segment that is as much of its block as stands side by side.
    fn joined(&self, words: &Words<'_>) -> String {
        sentence([
            &format!("#{} {}", self.index, self.kind.name()),
            &self.name,
            if self.begun { "" } else { "..." },
            &if self.redacted {
                "redacted".to_owned()
            } else {
                self.content(words)
            },
            if self.ended { "" } else { "..." },
            &self.signature(words),
        ])
    }

    fn content(&self, words: &Words<'_>) -> String {
        let is_complete = self.begun && self.ended;
        let text = match (&self.deltas, &self.whole) {
            (Some(deltas), _) => deltas,
            (None, Some(whole)) => whole,
            (None, None) if !is_complete => return String::new(),
            (None, None) => "",
        };
        if self.kind != Kind::ToolCall || !is_complete {
            let replaced = self.whole.as_deref().filter(|whole| *whole != text);
            let replaced = replaced.map(|whole| format!("={}", words.quoted(whole)));
            return sentence([
                &format!("+{}", words.quoted(text)),
                replaced.as_deref().unwrap_or_default(),
            ]);
        }
        let shown = if text.is_empty() {
            "{}".to_owned()
        } else {
            compact(words, text)
        };
        let replaced = self.whole.as_deref().map(|whole| compact(words, whole));
        let replaced = replaced
            .filter(|whole| *whole != shown)
            .map(|whole| format!("={whole}"));
        sentence([&shown, replaced.as_deref().unwrap_or_default()])
    }

    fn signature(&self, words: &Words<'_>) -> String {
        match &self.signature {
            Some(signature) if words.options.details => {
                format!("signature={}", words.quoted(signature))
            }
            _ => String::new(),
        }
    }
}

/// Returns arguments as compact JSON, or as quoted text where they are none.
fn compact(words: &Words<'_>, arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => words.json(&value),
        Err(_) => format!("+{}", words.quoted(arguments)),
    }
}

fn other_event(words: &mut Words<'_>, event: &AssistantEvent) -> String {
    let (end, usage, response_id) = match event {
        AssistantEvent::Done {
            reason,
            usage,
            response_id,
        } => (ending(words, reason, None, None), usage, response_id),
        AssistantEvent::Error {
            reason,
            error_message,
            usage,
            response_id,
            error_info,
        } => {
            let end = ending(words, reason, error_info.as_deref(), Some(error_message));
            (end, usage, response_id)
        }
        AssistantEvent::Other(value) if words.options.details => {
            return sentence([unknown(value), &words.json(value)]);
        }
        AssistantEvent::Other(value) => return unknown(value).to_owned(),
        _ => return event.type_name().to_owned(),
    };
    let mut line = sentence([event.type_name(), &end]);
    if words.options.details {
        line.push_str(&format!(" usage={}", counts(usage)));
        if let Some(id) = response_id {
            line.push_str(&format!(" response_id={}", words.id(id)));
        }
    }
    line
}
