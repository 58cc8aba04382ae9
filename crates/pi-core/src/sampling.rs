//! How a model is kept from writing arguments that do not fit.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::tagged::{Extra, constant_tag, string_enum};

constant_tag!(SchemaTag, "json_schema");
constant_tag!(GrammarTag, "grammar");

string_enum! {
    /// What happens to a strict tool where strictness may not be had.
    pub enum Strictness {
        /// The tool is offered without it.
        Prefer = "prefer",
        /// The tool is offered with it, and the service refuses the request if it cannot.
        Require = "require",
    }
}

/// A limit on what the model can write as the arguments of a tool.
///
/// It holds while the model writes, so that arguments cannot come out wrong; without it they are
/// only checked afterwards. Services that have nothing of the kind get a plain tool.
///
/// # Examples
/// ```
/// use pi_core::{ConstrainedSampling, ToolDefinition};
/// use serde_json::json;
///
/// let parameters = json!({
///     "type": "object",
///     "properties": { "input": { "type": "string" } },
///     "required": ["input"],
/// });
/// let query = ToolDefinition::new("query", "Asks the database.", parameters)
///     .with_constrained_sampling(ConstrainedSampling::lark("start: \"SELECT\" /.+/"));
/// # let _ = query;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ConstrainedSampling {
    /// By the JSON Schema of the tool.
    JsonSchema(StrictSchema),
    /// By a grammar.
    Grammar(Grammar),
    /// A limit that this version does not know, kept as it came.
    Other(Value),
}

/// The limit of [`ConstrainedSampling::JsonSchema`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StrictSchema {
    #[serde(rename = "type", default)]
    tag: SchemaTag,
    /// How much it matters.
    pub strict: Strictness,
}

/// The limit of [`ConstrainedSampling::Grammar`].
///
/// A tool with a grammar has one argument, the string `input`, which is what the grammar is about.
/// The schema of the tool says so too, for models that have no grammars: they write JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grammar {
    #[serde(rename = "type", default)]
    tag: GrammarTag,
    /// The same grammar in several languages.
    pub variants: GrammarVariants,
}

/// A grammar in the languages that services understand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GrammarVariants {
    /// In the language of the parser generator Lark, as far as OpenAI takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openai_lark: Option<String>,
    /// As a regular expression, as far as OpenAI takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openai_regex: Option<String>,
    /// Unknown languages, kept.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ConstrainedSampling {
    /// Creates a limit by the tool's schema.
    #[must_use]
    pub fn json_schema(strict: Strictness) -> Self {
        Self::JsonSchema(StrictSchema {
            tag: SchemaTag,
            strict,
        })
    }

    /// Creates a limit by a grammar in the language of Lark.
    pub fn lark(definition: impl Into<String>) -> Self {
        let mut grammar = Grammar::default();
        grammar.variants.openai_lark = Some(definition.into());
        Self::Grammar(grammar)
    }

    /// Creates a limit by a regular expression.
    pub fn regex(definition: impl Into<String>) -> Self {
        let mut grammar = Grammar::default();
        grammar.variants.openai_regex = Some(definition.into());
        Self::Grammar(grammar)
    }
}

impl<'de> Deserialize<'de> for ConstrainedSampling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let known = match value.get("type").and_then(Value::as_str) {
            Some("json_schema") => StrictSchema::deserialize(&value).ok().map(Self::JsonSchema),
            Some("grammar") => Grammar::deserialize(&value).ok().map(Self::Grammar),
            _ => None,
        };
        Ok(known.unwrap_or(Self::Other(value)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_limit_survives_a_round_trip() {
        for (json, is_known) in [
            (json!({ "type": "json_schema", "strict": "prefer" }), true),
            (
                json!({ "type": "json_schema", "strict": "sometimes" }),
                true,
            ),
            (
                json!({ "type": "grammar", "variants": { "openai_lark": "start: \"a\"", "gbnf": "root ::= \"a\"" } }),
                true,
            ),
            (json!({ "type": "grammar", "variants": 7 }), false),
            (json!({ "type": "oracle", "depth": 3 }), false),
            (json!(false), false),
        ] {
            let read: ConstrainedSampling = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(
                !matches!(read, ConstrainedSampling::Other(_)),
                is_known,
                "{json}"
            );
            assert_eq!(serde_json::to_value(&read).unwrap(), json);
        }
    }
}
