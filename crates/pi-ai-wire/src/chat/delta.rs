//! The parts of a chunk that all of the family have, as tolerant as services are careless.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde_json::Value;

use crate::read::Text;

/// A piece of a call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallDelta<'a> {
    pub(crate) index: Option<u64>,
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow)]
    pub(crate) function: Option<FunctionDelta<'a>>,
}

impl CallDelta<'_> {
    /// Returns true for a piece that says nothing.
    pub(crate) fn is_blank(&self) -> bool {
        let is_blank = |function: &FunctionDelta<'_>| {
            function.name.is_empty() && function.arguments.0.is_empty()
        };
        self.id.is_empty() && self.function.as_ref().is_none_or(is_blank)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
    pub(crate) arguments: Arguments<'a>,
}

/// The JSON text of arguments, or of a piece of them. Some services send the value itself.
#[derive(Default)]
pub(crate) struct Arguments<'a>(pub(crate) Cow<'a, str>);

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
