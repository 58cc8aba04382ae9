//! What kind of failure a provider's error is, for all codecs.

use pi_core::{AssistantMessage, ErrorKind, ProviderError, StopReason};
use serde_json::Value;

/// The most characters of a provider's error that are shown.
const SHOWN_CHARS: usize = 400;

/// Tells the kind of an error that a provider reports.
///
/// The words that the provider gives for programs (`codes`: its code, type and status, as far as
/// there are any) come first, then the HTTP status, and the text for people last. A 429 is about
/// rates whatever its text says, unless a code tells that a plan or the credit is used up.
///
/// # Examples
/// ```
/// use pi_ai_wire::errors::classify;
/// use pi_core::ErrorKind;
///
/// let kind = classify(Some(400), &["context_length_exceeded"], "");
/// assert_eq!(kind, ErrorKind::ContextOverflow);
/// let kind = classify(Some(429), &["tokens"], "too many tokens per minute");
/// assert_eq!(kind, ErrorKind::RateLimited);
/// ```
#[must_use]
pub fn classify(status: Option<u16>, codes: &[&str], message: &str) -> ErrorKind {
    let code = codes
        .iter()
        .find_map(|code| kind_of_code(&code.to_ascii_lowercase()));
    match (status, code) {
        (Some(429), Some(ErrorKind::Quota)) => return ErrorKind::Quota,
        (Some(429), _) => return ErrorKind::RateLimited,
        (_, Some(kind)) => return kind,
        (Some(401 | 403), None) => return ErrorKind::Auth,
        (Some(402), None) => return ErrorKind::Quota,
        (Some(529), None) => return ErrorKind::Overloaded,
        (_, None) => {}
    }
    match (kind_of_text(&message.to_ascii_lowercase()), status) {
        (Some(kind), _) => kind,
        (None, Some(413)) => ErrorKind::ContextOverflow,
        (None, Some(400..=499)) => ErrorKind::InvalidRequest,
        (None, _) => ErrorKind::Server,
    }
}

/// Makes the error of a response whose status is not 2xx.
///
/// `body` may be cut. The text is the status and the provider's own message, as the provider's
/// clients show it; of a body that is not JSON the first 400 characters, and nothing of an HTML
/// page, which is written for somebody else and may hold addresses.
///
/// # Examples
/// ```
/// use pi_ai_wire::errors::http_error;
///
/// let error = http_error(400, br#"{"error":{"message":"no such model","code":null}}"#);
/// assert_eq!(error.message(), "400 no such model");
/// assert_eq!(http_error(502, b"<html>...").message(), "502 answered with an HTML page");
/// ```
#[must_use]
pub fn http_error(status: u16, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    if is_html(text.trim()) {
        let message = format!("{status} answered with an HTML page");
        return ProviderError::new(classify(Some(status), &[], ""), message).with_status(status);
    }
    http_error_with(status, &text, |body| Report::of_body(body).message())
}

/// Makes the error of a response whose status is not 2xx; `shown` says what is shown of a JSON body.
pub(crate) fn http_error_with(
    status: u16,
    body: &str,
    shown: impl FnOnce(&Value) -> String,
) -> ProviderError {
    let text = body.trim();
    let (kind, message) = match serde_json::from_str::<Value>(text) {
        Ok(body) => (Report::of_body(&body).kind(Some(status)), shown(&body)),
        // Cerebras answers so when the prompt is too long.
        Err(_) if text.is_empty() && matches!(status, 400 | 413) => {
            (ErrorKind::ContextOverflow, no_body())
        }
        Err(_) if text.is_empty() => (classify(Some(status), &[], ""), no_body()),
        Err(_) => (classify(Some(status), &[], text), text.to_owned()),
    };
    ProviderError::new(kind, shortened(format!("{status} {message}"))).with_status(status)
}

/// Makes the error that a provider reports inside a stream whose status was 200.
///
/// `error` is the value of the field `error`: an object, or just a text.
#[must_use]
pub fn stream_error(error: &Value) -> ProviderError {
    let report = Report::of_error(error);
    ProviderError::new(report.kind(None), shortened(report.message()))
}

/// Tells whether a conversation has become too long for its model, so that it should be shortened
/// before the next request.
///
/// It has if the reply failed so (messages stored without a typed error are judged by their text), or
/// if the reply went well but its input has more tokens than the window: some services cut the
/// conversation silently. A `context_window` of 0 means that it is not known.
///
/// # Examples
/// ```
/// use pi_ai_wire::errors::is_context_overflow;
/// use pi_core::{AssistantMessage, Model, Usage};
///
/// let mut reply = AssistantMessage::empty(&Model::default(), 0);
/// reply.usage = Usage::new(9_000, 10, 0, 0);
/// assert!(is_context_overflow(&reply, 8_192));
/// assert!(!is_context_overflow(&reply, 0));
/// ```
#[must_use]
pub fn is_context_overflow(reply: &AssistantMessage, context_window: u64) -> bool {
    match (&reply.stop_reason, &reply.error_info, &reply.error_message) {
        (StopReason::Error, Some(info), _) => info.kind == ErrorKind::ContextOverflow,
        (StopReason::Error, None, Some(text)) => told_by_text(text) == ErrorKind::ContextOverflow,
        (StopReason::Error | StopReason::Aborted, ..) => false,
        _ => {
            let usage = &reply.usage;
            let input = usage.input.saturating_add(usage.cache_read);
            let input = input.saturating_add(usage.cache_write);
            context_window > 0 && input > context_window
        }
    }
}

/// Tells the kind of an error of which only the text was stored, which may begin with the status.
fn told_by_text(text: &str) -> ErrorKind {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let status = first
        .parse::<u16>()
        .ok()
        .filter(|status| (400..600).contains(status));
    match (status, rest) {
        (Some(400 | 413), rest) if rest == no_body() => ErrorKind::ContextOverflow,
        _ => classify(status, &[], text),
    }
}

/// A provider's error, taken apart.
pub(crate) struct Report<'a> {
    error: &'a Value,
    codes: Vec<&'a str>,
    /// The status that gateways put into `code`.
    status: Option<u16>,
}

impl<'a> Report<'a> {
    /// Reads a whole body: `{"error": ...}`, the error itself, or either in a list of one.
    pub(crate) fn of_body(body: &'a Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        match body.get("error") {
            Some(error) if !error.is_null() => Self::of_error(error),
            _ => Self::of_error(body),
        }
    }

    fn of_error(error: &'a Value) -> Self {
        let codes = ["code", "type", "status"];
        let status = error.get("code").and_then(Value::as_u64);
        Self {
            error,
            codes: codes
                .iter()
                .filter_map(|key| error.get(key)?.as_str())
                .collect(),
            status: status.and_then(|code| u16::try_from(code).ok()),
        }
    }

    pub(crate) fn kind(&self, status: Option<u16>) -> ErrorKind {
        let status = status.or_else(|| self.status.filter(|code| (400..600).contains(code)));
        classify(status, &self.codes, &self.message())
    }

    pub(crate) fn message(&self) -> String {
        let texts = ["message", "detail"]
            .iter()
            .find_map(|key| self.error.get(key));
        let mut message = match texts.filter(|text| !text.is_null()) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => self.error.to_string(),
        };
        // OpenRouter: what the provider behind it said.
        match self.error.pointer("/metadata/raw") {
            None | Some(Value::Null) => {}
            Some(Value::String(raw)) => {
                message.push('\n');
                message.push_str(raw);
            }
            Some(raw) => {
                message.push('\n');
                message.push_str(&raw.to_string());
            }
        }
        message
    }
}

fn no_body() -> String {
    "status code (no body)".to_owned()
}

fn is_html(text: &str) -> bool {
    let head: String = text
        .chars()
        .take(15)
        .collect::<String>()
        .to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<head")
}

/// Cuts a text that is to be shown.
pub(crate) fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SHOWN_CHARS) {
        text.truncate(end);
        if let Some((end, _)) = text.char_indices().nth_back(0) {
            text.truncate(end);
        }
        text.push('…');
    }
    text
}

/// Returns the kind that a code alone decides; `invalid_request_error` and the like decide nothing.
fn kind_of_code(code: &str) -> Option<ErrorKind> {
    let kind = match code {
        "insufficient_quota"
        | "exceeded_current_quota_error"
        | "insufficient_balance"
        | "insufficient_credits"
        | "payment_required"
        | "usage_limit_reached"
        | "usage_not_included" => ErrorKind::Quota,
        _ if code.starts_with("billing_") || code.starts_with("plan_limit") => ErrorKind::Quota,
        "context_length_exceeded"
        | "model_context_window_exceeded"
        | "exceed_context_size_error" => ErrorKind::ContextOverflow,
        "invalid_api_key"
        | "invalid_authentication_error"
        | "authentication_error"
        | "permission_error"
        | "permission_denied"
        | "unauthenticated"
        | "unauthorized" => ErrorKind::Auth,
        "overloaded_error"
        | "overloaded"
        | "engine_overloaded_error"
        | "engine_overloaded"
        | "server_is_overloaded"
        | "service_tier_capacity_exceeded"
        | "slow_down" => ErrorKind::Overloaded,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limit_reached_error"
        | "rate_limited"
        | "too_many_requests"
        | "resource_exhausted"
        | "tokens"
        | "requests" => ErrorKind::RateLimited,
        "content_filter" | "content_policy_violation" | "refusal" => ErrorKind::Refused,
        "server_error"
        | "api_error"
        | "internal_error"
        | "internal_server_error"
        | "internal"
        | "network_error" => ErrorKind::Server,
        _ => return None,
    };
    Some(kind)
}

/// Returns the kind that a text tells, in lower case.
fn kind_of_text(text: &str) -> Option<ErrorKind> {
    let has = |part: &&str| text.contains(*part);
    if OVERFLOW.iter().any(|parts| parts.iter().all(has)) && !NO_OVERFLOW.iter().any(has) {
        return Some(ErrorKind::ContextOverflow);
    }
    if [
        "credit balance is too low",
        "insufficient balance",
        "insufficient credits",
    ]
    .iter()
    .any(has)
    {
        return Some(ErrorKind::Quota);
    }
    if ["overloaded", "at capacity"].iter().any(has) {
        return Some(ErrorKind::Overloaded);
    }
    if ["rate limit", "too many requests"].iter().any(has) {
        return Some(ErrorKind::RateLimited);
    }
    None
}

/// What services say when the prompt is too long; all parts of a row must be there.
const OVERFLOW: &[&[&str]] = &[
    &["prompt is too long"],                       // Anthropic
    &["prompt too long"],                          // Ollama
    &["input is too long"],                        // Bedrock
    &["number of input tokens exceeds maximum"],   // Amazon Nova
    &["exceeds the context window"],               // OpenAI
    &["input token count", "exceeds the maximum"], // Gemini
    &["maximum prompt length is"],                 // xAI
    &["reduce the length of the messages"],        // Groq
    &["maximum context length"],                   // OpenRouter, vLLM
    &["token count", "exceeds the limit of"],      // GitHub Copilot
    &["exceeds the available context size"],       // llama.cpp
    &["greater than the context length"],          // LM Studio
    &["context window exceeds limit"],             // MiniMax
    &["exceeded model token limit"],               // Kimi
    &["tokens", "configured context size"],        // local servers
    &["tokens in request more than max tokens"],   // local servers
    &["context length exceeded"],
    &["context_length_exceeded"],
    &["model_context_window_exceeded"],
    &["too many tokens"],
    &["token limit exceeded"],
];

/// Rates and limits of the output, which some services word like an overflow.
const NO_OVERFLOW: &[&str] = &["per minute", "per day", "tokens processed", "output tokens"];

#[cfg(test)]
mod tests;
