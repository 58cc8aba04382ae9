//! How long a reply may be.

use pi_core::Request;

/// The most tokens of a reply that are asked for unless the options say more.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// Returns the token limit of a reply, `None` where neither the options nor the model say one.
pub(crate) fn max_tokens(request: &Request) -> Option<u64> {
    let of_model = request.model.max_tokens.min(DEFAULT_MAX_TOKENS);
    let asked = request.options.max_tokens.filter(|tokens| *tokens > 0);
    // A model without a known limit gets no limit.
    Some(asked.unwrap_or(of_model)).filter(|tokens| *tokens > 0)
}
