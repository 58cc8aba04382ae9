//! Comparison of JSON values, with the place of the first difference.

use std::fmt;

use serde_json::{Number, Value};

/// The most characters of a value that a report shows.
const SHOWN_CHARS: usize = 90;

/// Where two values differ first, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place, such as `$.content[0].text`.
    pub path: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

impl Difference {
    /// Creates a difference of two values; `None` is a value that is not there.
    #[must_use]
    pub fn new(path: &str, expected: Option<&Value>, actual: Option<&Value>) -> Self {
        let (expected, actual) = match (expected, actual) {
            (Some(Value::String(expected)), Some(Value::String(actual))) => {
                around_difference(expected, actual)
            }
            (expected, actual) => (shown(expected), shown(actual)),
        };
        Self {
            path: path.to_owned(),
            expected,
            actual,
        }
    }

    /// Creates a difference whose expectation is said in words.
    #[must_use]
    pub fn unmet(path: &str, expected: impl Into<String>, actual: Option<&Value>) -> Self {
        Self {
            path: path.to_owned(),
            expected: expected.into(),
            actual: shown(actual),
        }
    }

    /// Puts the place below another one.
    #[must_use]
    pub fn below(mut self, root: &str) -> Self {
        self.path = format!(
            "{root}{}",
            self.path.strip_prefix('$').unwrap_or(&self.path)
        );
        self
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected {}, found {}",
            self.path, self.expected, self.actual
        )
    }
}

/// Compares two values: objects without regard to the order of keys, numbers by value.
///
/// An expected string that begins with `{{GENERATED_` stands for any string that is not empty.
///
/// # Errors
/// The first difference.
pub fn equal(expected: &Value, actual: &Value) -> Result<(), Difference> {
    equal_at("$", expected, actual)
}

fn equal_at(path: &str, expected: &Value, actual: &Value) -> Result<(), Difference> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, value) in expected {
                let path = member(path, key);
                match actual.get(key) {
                    Some(found) => equal_at(&path, value, found)?,
                    None => return Err(Difference::new(&path, Some(value), None)),
                }
            }
            match actual.iter().find(|(key, _)| !expected.contains_key(*key)) {
                Some((key, value)) => Err(Difference::new(&member(path, key), None, Some(value))),
                None => Ok(()),
            }
        }
        (Value::Array(expected), Value::Array(actual)) => {
            for (index, value) in expected.iter().enumerate() {
                let path = format!("{path}[{index}]");
                match actual.get(index) {
                    Some(found) => equal_at(&path, value, found)?,
                    None => return Err(Difference::new(&path, Some(value), None)),
                }
            }
            match actual.get(expected.len()) {
                Some(extra) => {
                    let path = format!("{path}[{}]", expected.len());
                    Err(Difference::new(&path, None, Some(extra)))
                }
                None => Ok(()),
            }
        }
        _ if equal_scalars(expected, actual) => Ok(()),
        _ => Err(Difference::new(path, Some(expected), Some(actual))),
    }
}

/// Returns true if two values that are no containers are equal; containers never are.
#[must_use]
pub fn equal_scalars(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(expected), Value::Number(actual)) => equal_numbers(expected, actual),
        (Value::String(expected), Value::String(actual)) => {
            expected == actual || (expected.starts_with("{{GENERATED_") && !actual.is_empty())
        }
        (Value::Bool(expected), Value::Bool(actual)) => expected == actual,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

/// Returns the path of a member.
#[must_use]
pub fn member(path: &str, key: &str) -> String {
    let plain = key
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain && !key.is_empty() {
        format!("{path}.{key}")
    } else {
        format!("{path}[{key:?}]")
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(value) => shorten(&value.to_string()),
        None => "nothing".to_owned(),
    }
}

/// Cuts a text to what a line of a report can hold.
#[must_use]
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Shows of two texts what is around their first difference.
fn around_difference(expected: &str, actual: &str) -> (String, String) {
    let same = expected
        .chars()
        .zip(actual.chars())
        .take_while(|(left, right)| left == right);
    let start = same.count().saturating_sub(SHOWN_CHARS / 3);
    let part = |text: &str| {
        let skipped: String = text.chars().skip(start).collect();
        let dots = if start > 0 { "..." } else { "" };
        format!("{dots}{}", shorten(&Value::from(skipped).to_string()))
    };
    (part(expected), part(actual))
}
