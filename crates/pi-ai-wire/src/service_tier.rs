//! What it costs to be served sooner or later than others.

use pi_core::Usage;

/// Corrects the cost by the tier that OpenAI says it used.
pub(crate) fn scale_cost(usage: &mut Usage, service_tier: &str) {
    let factor = match service_tier {
        "flex" => 0.5,
        "priority" => 2.0,
        _ => return,
    };
    let cost = &mut usage.cost;
    cost.input *= factor;
    cost.output *= factor;
    cost.cache_read *= factor;
    cost.cache_write *= factor;
    cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
}
