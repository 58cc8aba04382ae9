//! Limits on what a model can write as arguments, as OpenAI's protocols have them.

use pi_core::{ConstrainedSampling, GrammarVariants, Model, Request, Strictness, ToolDefinition};
use serde::Serialize;
use serde_json::{Map, Value};

/// The argument of a tool with a grammar.
pub(crate) const INPUT: &str = "input";

/// The limit that a tool is offered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit<'a> {
    None,
    Strict,
    Grammar(WireGrammar<'a>),
}

/// A grammar, as both protocols spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct WireGrammar<'a> {
    syntax: &'static str,
    definition: &'a str,
}

impl<'a> Limit<'a> {
    /// Goes by what the tool asks for, and by the flags `supportsStrictMode` and
    /// `supportsOpenAIGrammarTools` of the model.
    pub(crate) fn of(tool: &'a ToolDefinition, model: &Model) -> Self {
        match &tool.constrained_sampling {
            Some(ConstrainedSampling::JsonSchema(schema)) => match schema.strict {
                Strictness::Require => Self::Strict,
                _ if has_strict_tools(model) && is_strict(&tool.parameters) => Self::Strict,
                _ => Self::None,
            },
            Some(ConstrainedSampling::Grammar(grammar))
                if has_grammars(model) && takes_input(&tool.parameters) =>
            {
                WireGrammar::of(&grammar.variants).map_or(Self::None, Self::Grammar)
            }
            _ => Self::None,
        }
    }
}

impl<'a> WireGrammar<'a> {
    fn of(variants: &'a GrammarVariants) -> Option<Self> {
        let variants = [
            ("lark", &variants.openai_lark),
            ("regex", &variants.openai_regex),
        ];
        variants.into_iter().find_map(|(syntax, definition)| {
            let definition = definition.as_deref()?;
            Some(Self { syntax, definition })
        })
    }
}

/// The schema that a reply must fit, as both protocols spell it.
#[derive(Serialize)]
pub(crate) struct WireSchema<'a> {
    name: &'a str,
    schema: &'a Value,
    strict: bool,
}

impl<'a> WireSchema<'a> {
    pub(crate) fn of(request: &'a Request) -> Option<Self> {
        let output = request.options.output.as_ref()?;
        Some(Self {
            name: &output.name,
            schema: &output.schema,
            strict: is_strict(&output.schema),
        })
    }
}

fn has_strict_tools(model: &Model) -> bool {
    let flags = model.compat.as_deref();
    flags
        .and_then(|flags| flags.supports_strict_mode)
        .unwrap_or(model.provider == "openai")
}

fn has_grammars(model: &Model) -> bool {
    let flags = model.compat.as_deref();
    let flag = flags.and_then(|flags| flags.extra.get("supportsOpenAIGrammarTools"));
    flag.and_then(Value::as_bool).unwrap_or(false)
}

/// Returns true if the one argument that a schema asks for is the string `input`.
fn takes_input(schema: &Value) -> bool {
    let is_string = schema
        .pointer("/properties/input/type")
        .is_some_and(|kind| kind == "string");
    let required = schema.get("required").and_then(Value::as_array);
    is_string && required.is_some_and(|names| *names == [INPUT])
}

/// Returns true for the part of JSON Schema that strict tools can have: each object has all its
/// fields and no others, and nothing is said in a way that the API does not know.
fn is_strict(schema: &Value) -> bool {
    const UNKNOWN: [&str; 12] = [
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "prefixItems",
        "contains",
        "unevaluatedProperties",
    ];
    let Value::Object(schema) = schema else {
        return false;
    };
    if UNKNOWN.iter().any(|word| schema.contains_key(*word)) || !is_closed(schema) {
        return false;
    }
    let fields = ["properties", "$defs", "definitions"]
        .iter()
        .filter_map(|word| schema.get(*word)?.as_object())
        .flat_map(Map::values);
    let choices = schema.get("anyOf").and_then(Value::as_array);
    fields
        .chain(choices.into_iter().flatten())
        .chain(schema.get("items"))
        .all(is_strict)
}

/// Returns true unless the schema is one of objects that can lack a field or have another.
fn is_closed(schema: &Map<String, Value>) -> bool {
    let is_object = schema.contains_key("properties")
        || schema.get("type").is_some_and(|kind| match kind {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            kind => kind == "object",
        });
    if !is_object {
        return true;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.map(Vec::as_slice).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_required = |name: &String| required.iter().any(|required| required == name);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_none_or(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(parameters: Value, limit: ConstrainedSampling) -> ToolDefinition {
        ToolDefinition::new("t", "", parameters).with_constrained_sampling(limit)
    }

    fn closed() -> Value {
        json!({
            "type": "object",
            "properties": { "list": { "type": "array", "items": { "$ref": "#/$defs/a" } } },
            "required": ["list"],
            "additionalProperties": false,
            "$defs": { "a": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
        })
    }

    #[test]
    fn a_tool_is_strict_where_that_can_be_had() {
        let model = |provider: &str| Model::new("m", "openai-responses", provider, "");
        let mut open = closed();
        open["properties"]["list"]["items"] = json!({ "type": "object", "properties": {} });
        for (parameters, strict, provider, expected) in [
            (closed(), Strictness::Prefer, "openai", Limit::Strict),
            (closed(), Strictness::Prefer, "other", Limit::None),
            (closed(), Strictness::Require, "other", Limit::Strict),
            (open.clone(), Strictness::Prefer, "openai", Limit::None),
            (open, Strictness::Require, "openai", Limit::Strict),
            (
                json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
                Strictness::Prefer,
                "openai",
                Limit::None,
            ),
            (json!(true), Strictness::Prefer, "openai", Limit::None),
        ] {
            let tool = tool(parameters, ConstrainedSampling::json_schema(strict));
            assert_eq!(Limit::of(&tool, &model(provider)), expected, "{tool:?}");
        }
        let plain = ToolDefinition::new("t", "", closed());
        assert_eq!(Limit::of(&plain, &model("openai")), Limit::None);
    }

    #[test]
    fn a_grammar_goes_to_models_that_have_them() {
        let mut model = Model::new("m", "openai-responses", "openai", "");
        let input = json!({
            "type": "object", "properties": { "input": { "type": "string" } }, "required": ["input"],
        });
        let lark = tool(input.clone(), ConstrainedSampling::lark("start: \"a\""));
        assert_eq!(Limit::of(&lark, &model), Limit::None);
        let flags = model.compat.get_or_insert_default();
        let flag = "supportsOpenAIGrammarTools";
        flags.extra.insert(flag, Value::Bool(true));
        let grammar = |syntax, definition| Limit::Grammar(WireGrammar { syntax, definition });
        assert_eq!(Limit::of(&lark, &model), grammar("lark", "start: \"a\""));
        let regex = tool(input, ConstrainedSampling::regex("a+"));
        assert_eq!(Limit::of(&regex, &model), grammar("regex", "a+"));
        let other = tool(closed(), ConstrainedSampling::regex("a+"));
        assert_eq!(Limit::of(&other, &model), Limit::None);
    }
}
