//! The chunks of a response, read in one pass and borrowed from their frame.
//!
//! The types are tolerant: every field may be missing or `null`, and unknown fields and parts are
//! skipped.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::chat::{CallDelta, WireUsage};
use crate::read::{First, Text};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) object: Text<'a>,
    #[serde(borrow)]
    pub(super) choices: First<Choice<'a>>,
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Content<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// The pieces of content of a chunk, which comes as a string or as a list of parts.
#[derive(Default)]
pub(super) struct Content<'a>(pub(super) Vec<Part<'a>>);

/// A piece of content.
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    /// What this version does not know, or cannot show.
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("content")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content(vec![Part::Text(Cow::Borrowed(text))]))
            }

            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content(vec![Part::Text(Cow::Owned(text.to_owned()))]))
            }

            fn visit_unit<E>(self) -> Result<Content<'de>, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content(parts))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartVisitor;

        impl<'de> Visitor<'de> for PartVisitor {
            type Value = Part<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part of content")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Part<'de>, E> {
                Ok(Part::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Part<'de>, E> {
                Ok(Part::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Part<'de>, E> {
                Ok(Part::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part<'de>, A::Error> {
                let (mut kind, mut text, mut thinking) =
                    (Words::default(), Words::default(), Words::default());
                while let Some(key) = map.next_key::<Text<'_>>()? {
                    match &*key {
                        "type" => kind = map.next_value()?,
                        "text" => text = map.next_value()?,
                        "thinking" => thinking = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(match &*kind.0 {
                    "text" => Part::Text(text.0),
                    "thinking" => Part::Thinking(thinking.0),
                    _ => Part::Other,
                })
            }
        }

        deserializer.deserialize_any(PartVisitor)
    }
}

/// The text of a string, of a part, or of all parts of a list; empty for anything else.
#[derive(Default)]
struct Words<'a>(Cow<'a, str>);

impl<'a> Words<'a> {
    fn append(&mut self, more: Cow<'a, str>) {
        match self.0.is_empty() {
            true => self.0 = more,
            false => self.0.to_mut().push_str(&more),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsVisitor;

        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words<'de>, A::Error> {
                let mut words = Words::default();
                while let Some(more) = list.next_element::<Words<'de>>()? {
                    words.append(more.0);
                }
                Ok(words)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words<'de>, A::Error> {
                let mut words = Words::default();
                while let Some(key) = map.next_key::<Text<'_>>()? {
                    match &*key {
                        "text" => words = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(words)
            }

            fn visit_unit<E>(self) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }
        }

        deserializer.deserialize_any(WordsVisitor)
    }
}
