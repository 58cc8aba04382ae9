//! How the calls of a reply begin: looked up, validated, decided about.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pi_core::{
    AgentEvent, AgentTool, PreparedCall, Replay, StopReason, ToolCall, ToolError, ToolExecutionMode,
};

use crate::answer::{aborted, cut_off, outcome_unknown, skipped, unexpected, unreadable};
use crate::batch::{Batch, BatchResult, CallState, Resume};
use crate::config::SteeringPoint;
use crate::next::OpenCalls;
use crate::run::{Run, guard, log_panic};
use crate::verdict::{BeforeToolCall, Decision, Verdict};

impl Run {
    /// Runs the open calls of a reply and emits all that belongs to them.
    pub(crate) async fn run_calls(&self, open: &OpenCalls, resume: Resume) -> BatchResult {
        let tools: Vec<Option<&AgentTool>> = open
            .calls
            .iter()
            .map(|call| self.find_tool(&call.name))
            .collect();
        let one_by_one = self.config.tool_execution == ToolExecutionMode::Sequential
            || tools
                .iter()
                .flatten()
                .any(|tool| tool.execution_mode() == Some(ToolExecutionMode::Sequential));
        let mut batch = Batch::new(self, &open.reply, resume);
        for (call, tool) in open.calls.iter().zip(tools) {
            batch.begin(call, tool).await;
            if one_by_one {
                batch.run_all().await;
            }
        }
        if batch.has_prepared() {
            batch.poll_steering().await;
        }
        batch.run_all().await;
        batch.finish()
    }

    fn find_tool(&self, name: &str) -> Option<&AgentTool> {
        let tools = self.turn_tools.as_ref().or(self.context.tools.as_ref())?;
        tools.iter().find(|tool| tool.name() == name)
    }
}

impl<'a> Batch<'a> {
    /// Begins a call: emits its start and decides whether it may run.
    async fn begin(&mut self, call: &Arc<ToolCall>, tool: Option<&'a AgentTool>) {
        self.poll_steering().await;
        let started = AgentEvent::ToolExecutionStart {
            call: Arc::clone(call),
        };
        self.run.emitter.emit(started).await;
        let state = self
            .decide(call, tool)
            .await
            .unwrap_or_else(CallState::Refused);
        self.push(call, state).await;
    }

    /// Asks for steering between calls, if that is wanted.
    async fn poll_steering(&mut self) {
        if self.run.config.steering_point == SteeringPoint::ToolBoundary && !self.is_steered() {
            self.steering = self.run.poll_steering().await;
        }
    }

    async fn decide(
        &mut self,
        call: &Arc<ToolCall>,
        tool: Option<&'a AgentTool>,
    ) -> Result<CallState<'a>, ToolError> {
        if self.is_aborted() {
            return Err(aborted());
        }
        if self.is_steered() {
            return Err(skipped());
        }
        if self.reply.stop_reason == StopReason::Length {
            return Err(cut_off());
        }
        let not_found = || ToolError::new(format!("Tool {} not found", call.name));
        match self.decision(call) {
            Some(Decision::Supply(output)) => Ok(CallState::Supplied(output)),
            Some(Decision::Reject { reason }) => {
                Err(ToolError::new(reason.unwrap_or_else(|| {
                    "Tool execution was rejected".to_owned()
                })))
            }
            Some(Decision::Edit { arguments }) => {
                let tool = tool.ok_or_else(not_found)?;
                Ok(CallState::Prepared {
                    tool,
                    call: tool.validate(&arguments)?,
                })
            }
            Some(Decision::Approve) => {
                let tool = tool.ok_or_else(not_found)?;
                Ok(CallState::Prepared {
                    tool,
                    call: prepare(call, tool)?,
                })
            }
            None if matches!(self.resume, Resume::Decided(_)) => Ok(CallState::Suspended),
            None => {
                let tool = tool.ok_or_else(not_found)?;
                if matches!(self.resume, Resume::Unattended) && tool.replay() != Replay::Safe {
                    return Err(outcome_unknown());
                }
                let prepared = prepare(call, tool)?;
                self.ask_before_hook(call, tool, prepared).await
            }
        }
    }

    /// Takes the decision about a call, if the run was resumed with one.
    fn decision(&mut self, call: &ToolCall) -> Option<Decision> {
        let Resume::Decided(decisions) = &mut self.resume else {
            return None;
        };
        let place = decisions.iter().position(|(id, _)| *id == call.id)?;
        Some(decisions.remove(place).1)
    }

    async fn ask_before_hook(
        &mut self,
        call: &Arc<ToolCall>,
        tool: &'a AgentTool,
        prepared: PreparedCall,
    ) -> Result<CallState<'a>, ToolError> {
        let run = self.run;
        let question = BeforeToolCall {
            assistant_message: Arc::clone(self.reply),
            call: Arc::clone(call),
            arguments: prepared.arguments().clone(),
            messages: Arc::clone(&run.context.messages),
            abort: run.config.abort.clone(),
        };
        let hook = guard(
            "before_tool_call",
            run.config.hooks.before_tool_call(question),
        );
        let verdict = self.grace.limit(hook).await.ok_or_else(aborted)?;
        let verdict = verdict.map_err(|error| ToolError::new(error.to_string()))?;
        if self.is_aborted() {
            return Err(aborted());
        }
        match verdict {
            Verdict::Allow => Ok(CallState::Prepared {
                tool,
                call: prepared,
            }),
            Verdict::Edit { arguments } => Ok(CallState::Prepared {
                tool,
                call: tool.validate(&arguments)?,
            }),
            Verdict::Suspend => Ok(CallState::Suspended),
            Verdict::Block { reason } => Err(ToolError::new(
                reason.unwrap_or_else(|| "Tool execution was blocked".to_owned()),
            )),
        }
    }
}

/// Validates the arguments of a call as the model wrote them.
fn prepare(call: &ToolCall, tool: &AgentTool) -> Result<PreparedCall, ToolError> {
    if let Some(error) = &call.arguments_error {
        return Err(unreadable(&call.name, error));
    }
    let arguments = call.arguments.clone();
    catch_unwind(AssertUnwindSafe(|| tool.prepare(arguments))).unwrap_or_else(|panic| {
        log_panic(&call.name, panic.as_ref());
        Err(unexpected(&call.name))
    })
}
