//! Tools, and which of them the model must use.

use pi_core::{ConstrainedSampling, Model, Request, ToolDefinition};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::sampling::{Limit, WireGrammar};

/// The argument of a tool with a grammar.
pub(super) use crate::sampling::INPUT as GRAMMAR_INPUT;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum WireTool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// The API takes tools for strict ones unless they say that they are not.
        strict: bool,
    },
    Custom {
        name: &'a str,
        description: &'a str,
        format: WireFormat<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum WireFormat<'a> {
    Grammar(WireGrammar<'a>),
}

impl<'a> WireTool<'a> {
    pub(super) fn new(tool: &'a ToolDefinition, model: &Model) -> Self {
        let ToolDefinition {
            name,
            description,
            parameters,
            ..
        } = tool;
        match Limit::of(tool, model) {
            Limit::Grammar(grammar) => Self::Custom {
                name,
                description,
                format: WireFormat::Grammar(grammar),
            },
            limit => Self::Function {
                name,
                description,
                parameters,
                strict: limit == Limit::Strict,
            },
        }
    }
}

/// Returns true if a tool is offered as one whose input has a grammar.
pub(super) fn has_grammar(tool: &ToolDefinition, model: &Model) -> bool {
    matches!(
        tool.constrained_sampling,
        Some(ConstrainedSampling::Grammar(_))
    ) && matches!(Limit::of(tool, model), Limit::Grammar(_))
}

/// Which tool the model must use. The form of Chat Completions is taken too.
pub(super) struct ToolChoice<'a> {
    choice: &'a Value,
    /// The tool that is named, in that form.
    named: Option<WireChoice<'a>>,
}

#[derive(Serialize)]
struct WireChoice<'a> {
    r#type: &'static str,
    name: &'a str,
}

impl<'a> ToolChoice<'a> {
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let choice = request.options.tool_choice.as_ref()?;
        let name = choice
            .pointer("/function/name")
            .or_else(|| choice.get("name"))
            .and_then(Value::as_str);
        let tools = request.context.tools.iter().flatten();
        let model = &*request.model;
        let named = name.map(|name| {
            let is_custom = tools
                .filter(|tool| tool.name == name)
                .any(|tool| has_grammar(tool, model));
            let r#type = if is_custom { "custom" } else { "function" };
            WireChoice { r#type, name }
        });
        // Tools of the service and lists of tools have other types.
        let is_function = choice.get("type").is_some_and(|kind| kind == "function");
        Some(Self {
            choice,
            named: named.filter(|_| is_function),
        })
    }
}

impl Serialize for ToolChoice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.named {
            Some(named) => named.serialize(serializer),
            None => self.choice.serialize(serializer),
        }
    }
}
