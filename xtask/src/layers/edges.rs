//! The allowed edges between the crates of this workspace.

use std::collections::HashSet;

use crate::report::Violation;

/// Every published crate with the workspace crates that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("pi-core", &[]),
    ("pi-ai-wire", &["pi-core"]),
    ("pi-agent-loop", &["pi-core"]),
    ("pi-tools-std", &["pi-core"]),
    ("pi-testkit", &["pi-core"]),
    ("pi-http", &["pi-core", "pi-ai-wire"]),
    ("pi-agent", &["pi-core", "pi-agent-loop"]),
    ("pi-ai", &["pi-core", "pi-ai-wire", "pi-http"]),
    ("pi-proxy-client", &["pi-core", "pi-ai-wire", "pi-http"]),
    ("pi-proxy-server", &["pi-core", "pi-ai-wire"]),
    (
        "pi-cli",
        &[
            "pi-core",
            "pi-ai-wire",
            "pi-agent-loop",
            "pi-tools-std",
            "pi-testkit",
            "pi-http",
            "pi-agent",
            "pi-ai",
            "pi-proxy-client",
            "pi-proxy-server",
        ],
    ),
];

/// What any crate may use in its tests, as long as that closes no cycle.
const ALLOWED_IN_TESTS: &[&str] = &["pi-testkit", "pi-agent-loop", "pi-agent"];

/// Unpublished members: they may use everything, and nothing may use them.
const UNPUBLISHED: &[&str] = &["integration-tests", "xtask"];

/// A workspace member with its edges to other members.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) edges: Vec<Edge>,
}

/// A dependency on another workspace member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: String,
    pub(crate) kind: Kind,
}

/// Whether an edge ships with the crate or exists for its tests only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Dev,
}

/// Checks every edge between `members`.
pub(crate) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in members {
        if UNPUBLISHED.contains(&member.name.as_str()) {
            continue;
        }
        let Some(allowed) = allowed_for(&member.name) else {
            violations.push(Violation::new(
                &member.name,
                "this crate has no place in the layers: write a note in docs/decisions/ that says \
                 why it exists, then add it to ALLOWED in xtask/src/layers/edges.rs",
            ));
            continue;
        };
        violations.extend(member.edges.iter().filter_map(|edge| {
            let message = match edge.kind {
                Kind::Normal => judge_normal(allowed, &edge.to),
                Kind::Dev => judge_dev(members, &member.name, allowed, &edge.to),
            };
            message.map(|message| Violation::new(&member.name, message))
        }));
    }
    violations
}

fn allowed_for(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, allowed)| *allowed)
}

fn judge_normal(allowed: &[&str], to: &str) -> Option<String> {
    if allowed.contains(&to) {
        return None;
    }
    Some(format!(
        "the dependency on {to} is not allowed, only {}; a new edge needs a note in docs/decisions/",
        list(allowed)
    ))
}

fn judge_dev(members: &[Member], from: &str, allowed: &[&str], to: &str) -> Option<String> {
    if !allowed.contains(&to) && !ALLOWED_IN_TESTS.contains(&to) {
        return Some(format!(
            "the dev-dependency on {to} is not allowed, only {}; a test across crates belongs in tests/it/",
            list(&[allowed, ALLOWED_IN_TESTS].concat())
        ));
    }
    let back = path(members, to, from)?;
    Some(format!(
        "the dev-dependency on {to} closes the cycle {from} -> {}; move the test to tests/it/",
        back.join(" -> ")
    ))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// Finds a way from one member to another along edges of either kind, both ends included.
fn path<'a>(members: &'a [Member], from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut seen = HashSet::from([from]);
    let mut open = vec![vec![from]];
    while let Some(way) = open.pop() {
        let here = *way.last()?;
        if here == to {
            return Some(way);
        }
        let member = members.iter().find(|member| member.name == here);
        for edge in member.iter().flat_map(|member| &member.edges) {
            if seen.insert(&edge.to) {
                open.push([way.as_slice(), &[edge.to.as_str()]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
