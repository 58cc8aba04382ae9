//! Several texts that go out as one string.

use std::fmt;

use serde::{Serialize, Serializer};

/// Texts that are written as one string, without being copied together first.
#[derive(Default)]
pub(crate) struct Joined<'a> {
    texts: Vec<&'a str>,
    separator: &'static str,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(texts: Vec<&'a str>, separator: &'static str) -> Self {
        Self { texts, separator }
    }

    pub(crate) fn one(text: &'a str) -> Self {
        Self::new(vec![text], "")
    }

    #[cfg(any(feature = "google", feature = "openai"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.len() < 2 && self.texts.iter().all(|text| text.is_empty())
    }
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, text) in self.texts.iter().enumerate() {
            if index > 0 {
                f.write_str(self.separator)?;
            }
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.texts.as_slice() {
            [] => serializer.serialize_str(""),
            [text] => serializer.serialize_str(text),
            _ => serializer.collect_str(self),
        }
    }
}

/// Collects the texts that hold more than white space.
pub(crate) fn not_blank<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    texts.filter(|text| !text.trim().is_empty()).collect()
}
