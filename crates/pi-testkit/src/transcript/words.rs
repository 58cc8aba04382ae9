//! The words of a line: quoted text, compact JSON, masked ids.

use std::collections::HashMap;

use pi_core::{ErrorInfo, StopReason, Usage};
use serde_json::Value;

use super::{Ids, TranscriptOptions};

/// The shortest run of letters and digits that may be part of a generated id.
const GENERATED_RUN: usize = 8;

/// Turns values into words, as the options say, and remembers which ids it has seen.
pub(super) struct Words<'o> {
    pub(super) options: &'o TranscriptOptions,
    ids: HashMap<String, String>,
}

impl<'o> Words<'o> {
    pub(super) fn new(options: &'o TranscriptOptions) -> Self {
        Self {
            options,
            ids: HashMap::new(),
        }
    }

    /// Returns an id as it is shown.
    pub(super) fn id(&mut self, id: &str) -> String {
        let masked = match self.options.ids {
            Ids::Keep => false,
            Ids::MaskAll => true,
            Ids::MaskGenerated => looks_generated(id),
        };
        if !masked {
            return id.to_owned();
        }
        let number = self.ids.len() + 1;
        self.ids
            .entry(id.to_owned())
            .or_insert_with(|| format!("id#{number}"))
            .clone()
    }

    /// Returns a text in quotes.
    pub(super) fn quoted(&self, text: &str) -> String {
        match shorten(text, self.options.max_text) {
            Some((short, chars)) => format!("{} ({chars} chars)", quote(&short)),
            None => quote(text),
        }
    }

    /// Returns a JSON value without spaces.
    pub(super) fn json(&self, value: &Value) -> String {
        self.raw(value.to_string())
    }

    /// Returns a JSON object without spaces.
    pub(super) fn object(&self, object: &serde_json::Map<String, Value>) -> String {
        self.raw(serde_json::to_string(object).unwrap_or_default())
    }

    fn raw(&self, text: String) -> String {
        match shorten(&text, self.options.max_text) {
            Some((short, chars)) => format!("{short} ({chars} chars)"),
            None => text,
        }
    }
}

/// Joins words with spaces, without those that are empty.
pub(super) fn sentence<const N: usize>(words: [&str; N]) -> String {
    let mut line = String::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns why a reply ended: the reason, the kind of error and its text.
pub(super) fn ending(
    words: &Words<'_>,
    reason: &StopReason,
    info: Option<&ErrorInfo>,
    text: Option<&str>,
) -> String {
    let kind = info
        .map(|info| snake_case(info.kind.as_str()))
        .unwrap_or_default();
    // An abort has a kind of the same name.
    let kind = if kind == reason.as_str() {
        String::new()
    } else {
        kind
    };
    let text = text.map(|text| words.quoted(text)).unwrap_or_default();
    sentence([&snake_case(reason.as_str()), &kind, &text])
}

/// Returns `toolUse` as `tool_use`.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

pub(super) fn counts(usage: &Usage) -> String {
    format!(
        "{}/{}/{}/{}",
        usage.input, usage.output, usage.cache_read, usage.cache_write
    )
}

fn looks_generated(id: &str) -> bool {
    id.split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|run| run.len() >= GENERATED_RUN && run.bytes().any(|byte| byte.is_ascii_digit()))
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// Cuts the middle out of a text of more than `max` characters, and counts them.
fn shorten(text: &str, max: usize) -> Option<(String, usize)> {
    if max == 0 || text.len() <= max {
        return None;
    }
    let chars = text.chars().count();
    if chars <= max {
        return None;
    }
    let tail = max / 4;
    let head: String = text.chars().take(max - tail).collect();
    let tail: String = text.chars().skip(chars - tail).collect();
    Some((format!("{head}…{tail}"), chars))
}
