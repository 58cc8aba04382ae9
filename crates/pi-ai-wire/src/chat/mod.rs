//! What the protocols of the Chat Completions family share.

mod calls;
mod delta;
mod finish;
mod open;
mod usage;
mod wire;

pub(crate) use self::calls::Calls;
pub(crate) use self::delta::{CallDelta, FunctionDelta};
pub(crate) use self::finish::{Finish, Reason, chunk_error, error_of};
pub(crate) use self::open::Open;
pub(crate) use self::usage::WireUsage;
#[cfg(feature = "openai")]
pub(crate) use self::wire::as_json_text;
pub(crate) use self::wire::{DataUrl, ResponseFormat, ToolChoice, WireCall, WireTool};
