//! The chunks of a response, read in one pass and borrowed from their frame.
//!
//! The types are as tolerant as services are careless: every field may be missing or `null`, and
//! unknown fields are skipped.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};
use serde_json::Value;
use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::read::Text;

/// The fields that services put reasoning in, in the order in which they are looked at: some send
/// the same text in two of them.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) object: Text<'a>,
    /// Only one reply is asked for, so only the first choice counts.
    #[serde(borrow)]
    pub(super) choices: First<Choice<'a>>,
    pub(super) usage: Option<WireUsage>,
    /// Groq's own place for usage, the only one in some of its streams.
    pub(super) x_groq: Option<Groq>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Groq {
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
    /// Moonshot's place for usage.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow)]
    reasoning_content: Text<'a>,
    #[serde(borrow)]
    reasoning: Text<'a>,
    #[serde(borrow)]
    reasoning_text: Text<'a>,
    /// Read only where it has something that the fields above have not.
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The way of 2023 to ask for one call.
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

impl<'a> Delta<'a> {
    /// Takes the reasoning, with the name of the first field that has any.
    pub(super) fn take_reasoning(&mut self) -> Option<(&'static str, Cow<'a, str>)> {
        let texts = [
            &mut self.reasoning_content,
            &mut self.reasoning,
            &mut self.reasoning_text,
        ];
        REASONING_FIELDS
            .into_iter()
            .zip(texts)
            .find(|(_, text)| !text.is_empty())
            .map(|(field, text)| (field, std::mem::take(text).0))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

impl CallDelta<'_> {
    /// Returns true for a piece that says nothing.
    pub(super) fn is_blank(&self) -> bool {
        let is_blank = |function: &FunctionDelta<'_>| {
            function.name.is_empty() && function.arguments.0.is_empty()
        };
        self.id.is_empty() && self.function.as_ref().is_none_or(is_blank)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Arguments<'a>,
}

/// One of the `reasoning_details`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ReasoningDetail<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) summary: Text<'a>,
}

/// The JSON text of arguments, or of a piece of them. Some services send the value itself.
#[derive(Default)]
pub(super) struct Arguments<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentsVisitor;

        fn text<'a>(value: &Value) -> Arguments<'a> {
            Arguments(Cow::Owned(value.to_string()))
        }

        impl<'de> Visitor<'de> for ArgumentsVisitor {
            type Value = Arguments<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("arguments")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Arguments<'de>, E> {
                Ok(Arguments(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Arguments<'de>, E> {
                Ok(Arguments(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Arguments<'de>, E> {
                Ok(Arguments::default())
            }

            fn visit_bool<E>(self, value: bool) -> Result<Arguments<'de>, E> {
                Ok(text(&value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Arguments<'de>, E> {
                Ok(text(&value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Arguments<'de>, E> {
                Ok(text(&value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Arguments<'de>, E> {
                Ok(text(&value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Arguments<'de>, A::Error> {
                let list = value::SeqAccessDeserializer::new(list);
                Ok(text(&Value::deserialize(list)?))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arguments<'de>, A::Error> {
                let map = value::MapAccessDeserializer::new(map);
                Ok(text(&Value::deserialize(map)?))
            }
        }

        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

/// The first element of a list; the others are skipped.
pub(super) struct First<T>(pub(super) Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FirstVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
            type Value = First<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<T>, A::Error> {
                let first = list.next_element::<Option<T>>()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first.flatten()))
            }

            fn visit_unit<E>(self) -> Result<First<T>, E> {
                Ok(First(None))
            }
        }

        deserializer.deserialize_any(FirstVisitor(std::marker::PhantomData))
    }
}
