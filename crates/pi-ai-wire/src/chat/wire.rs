//! The parts of a request that all of the family have.

use pi_core::{ImageContent, Request, ToolCall, ToolDefinition};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::sampling::WireSchema;

/// A tool that the model may call.
#[derive(Serialize)]
pub(crate) struct WireTool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

impl<'a> WireTool<'a> {
    pub(crate) fn new(tool: &'a ToolDefinition, strict: Option<bool>) -> Self {
        let ToolDefinition {
            name,
            description,
            parameters,
            ..
        } = tool;
        Self {
            r#type: "function",
            function: ToolFunction {
                name,
                description,
                parameters,
                strict,
            },
        }
    }
}

/// Which tool the model must use.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ToolChoice<'a> {
    /// As the options say it, in the protocol's own form.
    Asked(&'a Value),
    /// The tool that takes the output.
    Named {
        r#type: &'static str,
        function: ToolName<'a>,
    },
}

#[derive(Serialize)]
pub(crate) struct ToolName<'a> {
    name: &'a str,
}

impl<'a> ToolChoice<'a> {
    /// Goes by the tool that takes the output, if there is one, else by the options.
    pub(crate) fn of(request: &'a Request, output: Option<&'a ToolDefinition>) -> Option<Self> {
        match output {
            Some(tool) => Some(Self::Named {
                r#type: "function",
                function: ToolName { name: &tool.name },
            }),
            None => request.options.tool_choice.as_ref().map(Self::Asked),
        }
    }
}

/// What the reply's text must be.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ResponseFormat<'a> {
    JsonSchema { json_schema: WireSchema<'a> },
}

impl<'a> ResponseFormat<'a> {
    pub(crate) fn of(request: &'a Request) -> Option<Self> {
        let json_schema = WireSchema::of(request)?;
        Some(Self::JsonSchema { json_schema })
    }
}

/// A call that a reply made.
#[derive(Serialize)]
pub(crate) struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    #[serde(serialize_with = "as_json_text")]
    arguments: &'a Map<String, Value>,
}

impl<'a> WireCall<'a> {
    pub(crate) fn new(call: &'a ToolCall) -> Self {
        let ToolCall {
            id,
            name,
            arguments,
            ..
        } = call;
        Self {
            id,
            r#type: "function",
            function: CallFunction { name, arguments },
        }
    }
}

/// Writes arguments as a string that holds their JSON text.
pub(crate) fn as_json_text<S: Serializer>(
    arguments: &Map<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(arguments).map_err(S::Error::custom)?;
    serializer.serialize_str(&text)
}

/// An image, written as a URL that holds it.
pub(crate) struct DataUrl<'a>(pub(crate) &'a ImageContent);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ImageContent {
            mime_type, data, ..
        } = self.0;
        serializer.collect_str(&format_args!("data:{mime_type};base64,{data}"))
    }
}
