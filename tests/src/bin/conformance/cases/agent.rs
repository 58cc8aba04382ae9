//! Layer `agent`: the agent against a scripted model.

use anyhow::Result;

use super::{Case, Findings};

pub(super) async fn run(_case: &Case) -> Result<Findings> {
    let mut findings = Findings::default();
    findings.cannot("the layer agent");
    Ok(findings)
}
