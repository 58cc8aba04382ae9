//! The spans of a run: `run`, in it `turn`, in it `tool`.
//!
//! They carry the attributes of OpenTelemetry's conventions for agents, by which tools that know these
//! find them under the names `invoke_agent` and `execute_tool`. What people, models and tools say is no
//! attribute.

use pi_core::{ToolError, ToolOutput};
use tracing::Span;
use tracing::field::Empty;

use crate::config::LoopConfig;
use crate::outcome::RunEnd;

pub(crate) fn run(config: &LoopConfig) -> Span {
    tracing::debug_span!(
        "run",
        otel.name = "invoke_agent",
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.request.model = &*config.model.id,
        gen_ai.conversation.id = config.options.session_id.as_deref(),
        "error.type" = Empty,
    )
}

pub(crate) fn run_ended(span: &Span, end: &RunEnd) {
    match end {
        RunEnd::Failed(error) => fail(span, error.kind().as_str()),
        // Somebody wanted it so.
        RunEnd::Aborted => {
            span.record("error.type", "aborted");
        }
        _ => {}
    }
}

/// `before` is the number of replies before it.
pub(crate) fn turn(before: u64) -> Span {
    tracing::debug_span!("turn", number = before.saturating_add(1))
}

pub(crate) fn tool(name: &str, call_id: &str) -> Span {
    tracing::debug_span!(
        "tool",
        otel.name = %format_args!("execute_tool {name}"),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        "gen_ai.tool.type" = "function",
        gen_ai.tool.call.id = call_id,
        "error.type" = Empty,
    )
}

pub(crate) fn tool_ended(span: &Span, result: &Result<ToolOutput, ToolError>) {
    if result.as_ref().map_or(true, |output| output.is_error) {
        fail(span, "tool_error");
    }
}

fn fail(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
