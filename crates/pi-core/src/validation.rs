//! Validation and lossless coercion of tool arguments against the JSON Schema of a tool.
//!
//! Models write arguments by hand, so a number may arrive as `"5"` and an absent option as `null`.
//! [`ArgumentValidator`] repairs what it can repair without loss and refuses the rest with a text
//! the model can act on. The rules:
//!
//! - A valid value is never changed. The one thing that differs is notation: `5.0` for an integer
//!   arrives as `5`.
//! - A numeric string becomes a number (an integer where one is asked for), `"true"` and `"false"`
//!   become booleans, numbers and booleans become strings. The empty string, `null` and booleans
//!   are no numbers; no number is a boolean.
//! - `null` for an optional property that does not accept it is left out.
//! - In a union (`anyOf`, `oneOf`, a list of types) a value that fits any alternative stays;
//!   otherwise the first alternative that coercion satisfies is taken.
//! - `default` is an annotation and never filled in.
//!
//! The wording, the paths and the order of the errors are those of AJV 8 with `ajv-formats`, since
//! that is what models have been shown by the TypeScript package so far.

mod coerce;
mod format;
mod js_text;
mod order;
mod schema;
mod wording;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

use self::coerce::Mode;
use self::schema::CompiledSchema;

/// A compiled schema for the arguments of one tool.
///
/// Compiling costs much more than validating: keep the validator for as long as the tool.
#[derive(Debug)]
pub struct ArgumentValidator {
    schema: CompiledSchema,
}

impl ArgumentValidator {
    /// Compiles the parameter schema of a tool.
    ///
    /// The dialect is the one `$schema` names; without it, JSON Schema 2020-12, or 2019-09 if
    /// `items` is a list anywhere (tuples were spelled so before 2020-12). Formats are checked,
    /// unknown keywords and formats are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the schema breaks the rules of its dialect, has a pattern that is no regular
    /// expression, or refers to a document outside of itself: nothing is ever fetched.
    pub fn new(parameters: &Value) -> Result<Self, SchemaError> {
        let schema = CompiledSchema::new(parameters)?;
        Ok(Self { schema })
    }

    /// Validates `arguments` and returns the copy to hand to the tool, coerced where needed.
    ///
    /// `arguments` itself is not changed, so a transcript keeps what the model sent. Validating
    /// the returned copy again returns the same copy.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are invalid and no lossless coercion makes them valid. Errors
    /// describe the coerced copy: only what could not be repaired is listed.
    pub fn validate(
        &self,
        tool_name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ValidationError> {
        let mut copy = Value::Object(arguments.clone());
        if !self.schema.root().is_valid(&copy) {
            coerce::apply(&self.schema, &mut copy, Mode::Coerce);
            let violations = order::violations(&self.schema, &copy);
            if !violations.is_empty() {
                return Err(ValidationError {
                    tool_name: tool_name.to_owned(),
                    violations,
                    received: js_text::pretty(arguments),
                });
            }
        }
        coerce::apply(&self.schema, &mut copy, Mode::Notation);
        match copy {
            Value::Object(arguments) => Ok(arguments),
            // Coercion turns scalars into scalars; an object stays one.
            _ => Ok(arguments.clone()),
        }
    }
}

/// The parameter schema of a tool cannot be used: a mistake of the tool's author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid parameter schema{}: {reason}", At(path))]
#[non_exhaustive]
pub struct SchemaError {
    /// JSON pointer to the offending place in the schema; empty for the whole schema.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            path => write!(f, " at {path}"),
        }
    }
}

/// The arguments of a tool call do not fit the schema of the tool.
///
/// `Display` is the text for the model: the name of the tool, one line for each violation, and the
/// arguments as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    tool_name: String,
    violations: Vec<Violation>,
    received: String,
}

impl ValidationError {
    /// Returns the name of the tool that was called.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// Returns what is wrong with the arguments; at least one entry.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Validation failed for tool \"{}\":", self.tool_name)?;
        for violation in &self.violations {
            writeln!(f, "  - {violation}")?;
        }
        write!(f, "\nReceived arguments:\n{}", self.received)
    }
}

impl std::error::Error for ValidationError {}

/// One way in which arguments break a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place as a JSON pointer without its first slash (`filters/0/name`). For the arguments
    /// as a whole: the missing property if one is missing, else `root`.
    pub path: String,
    /// What the schema asks for (`must be string`).
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
