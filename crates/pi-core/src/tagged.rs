//! Serde building blocks: string enums and tagged enums that keep what they do not know.

use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares an enum that is spelled as a string and keeps unknown spellings in `Other`.
macro_rules! string_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
            /// A spelling that this version does not know, kept as it came.
            Other(Box<str>),
        }

        impl $name {
            /// Returns the spelling used in JSON.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::from(text.as_ref()))
            }
        }
    };
}

/// Declares the constant `type` or `role` of a struct as a zero-sized field type.
macro_rules! constant_tag {
    ($name:ident, $text:literal) => {
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(crate) struct $name;

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                if text == $text {
                    Ok(Self)
                } else {
                    Err(serde::de::Error::custom(format_args!(
                        concat!("expected \"", $text, "\", found \"{}\""),
                        text
                    )))
                }
            }
        }
    };
}

pub(crate) use {constant_tag, string_enum};

/// Reads a JSON object and its string tag `key`.
pub(crate) fn read_tagged<'de, D: Deserializer<'de>>(
    deserializer: D,
    key: &'static str,
) -> Result<(String, Value), D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value.get(key).and_then(Value::as_str) {
        Some(tag) => Ok((tag.to_owned(), value)),
        None => Err(D::Error::missing_field(key)),
    }
}

/// Turns a JSON value into `T`, keeping `T`'s own error text.
pub(crate) fn from_value<T: DeserializeOwned, E: Error>(value: Value) -> Result<T, E> {
    T::deserialize(value).map_err(E::custom)
}

/// Fields of a stored JSON object that this version does not know.
///
/// They are kept when the object is read and written again in the same place. An empty `Extra`
/// takes one pointer and no allocation.
#[derive(Clone, Default, PartialEq)]
pub struct Extra(Option<Box<Map<String, Value>>>);

impl Extra {
    /// Returns true if there is no unknown field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|fields| fields.is_empty())
    }

    /// Returns the value of an unknown field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// Sets a field, and returns the value it had before.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        self.0.get_or_insert_default().insert(key.into(), value)
    }

    /// Iterates over the unknown fields in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().flat_map(|fields| fields.iter())
    }
}

impl std::fmt::Debug for Extra {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Extra {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        Ok(Self((!fields.is_empty()).then(|| Box::new(fields))))
    }
}
