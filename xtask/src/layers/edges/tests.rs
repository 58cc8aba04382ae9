use super::{ALLOWED, Edge, Kind, Member, check};

/// Reads lines of `crate: dependency dependency~dev`.
fn graph(text: &str) -> Vec<Member> {
    text.lines()
        .filter_map(|line| line.trim().split_once(':'))
        .map(|(name, edges)| Member {
            name: name.to_owned(),
            edges: edges
                .split_whitespace()
                .map(|edge| match edge.strip_suffix("~dev") {
                    Some(to) => Edge {
                        to: to.to_owned(),
                        kind: Kind::Dev,
                    },
                    None => Edge {
                        to: edge.to_owned(),
                        kind: Kind::Normal,
                    },
                })
                .collect(),
        })
        .collect()
}

#[track_caller]
fn check_graph(text: &str, expected: &[&str]) {
    let found: Vec<String> = check(&graph(text))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found.starts_with(expected),
            "{found:?} should start with {expected:?}"
        );
    }
}

#[test]
fn the_layers_as_drawn_are_accepted() {
    check_graph(
        "pi-core:
         pi-ai-wire: pi-core
         pi-agent-loop: pi-core pi-testkit~dev
         pi-testkit: pi-core
         pi-http: pi-core pi-ai-wire
         pi-ai: pi-http pi-ai-wire pi-core pi-agent~dev pi-testkit~dev
         pi-agent: pi-agent-loop pi-core
         pi-proxy-server: pi-ai-wire
         pi-cli: pi-ai pi-agent pi-testkit
         integration-tests: pi-cli pi-ai
         xtask:",
        &[],
    );
}

#[test]
fn an_edge_that_is_not_drawn_is_refused() {
    check_graph(
        "pi-core: pi-ai-wire
         pi-ai-wire: pi-core
         pi-agent: pi-agent-loop pi-ai
         pi-tools-std: pi-agent-loop",
        &[
            "pi-core: the dependency on pi-ai-wire is not allowed, only none;",
            "pi-agent: the dependency on pi-ai is not allowed, only pi-core, pi-agent-loop;",
            "pi-tools-std: the dependency on pi-agent-loop is not allowed, only pi-core;",
        ],
    );
}

#[test]
fn unpublished_members_cannot_be_used() {
    check_graph(
        "pi-cli: xtask integration-tests~dev",
        &[
            "pi-cli: the dependency on xtask is not allowed",
            "pi-cli: the dev-dependency on integration-tests is not allowed",
        ],
    );
}

#[test]
fn a_crate_without_a_place_asks_for_a_decision() {
    check_graph(
        "pi-extras: pi-core",
        &["pi-extras: this crate has no place in the layers: write a note in docs/decisions/"],
    );
}

#[test]
fn a_dev_dependency_that_closes_a_cycle_names_it() {
    check_graph(
        "pi-core: pi-testkit~dev
         pi-testkit: pi-core
         pi-agent-loop: pi-core pi-agent~dev
         pi-agent: pi-agent-loop",
        &[
            "pi-core: the dev-dependency on pi-testkit closes the cycle \
             pi-core -> pi-testkit -> pi-core;",
            "pi-agent-loop: the dev-dependency on pi-agent closes the cycle \
             pi-agent-loop -> pi-agent -> pi-agent-loop;",
        ],
    );
}

#[test]
fn the_allowed_edges_lead_only_to_known_crates_further_down() {
    for (index, (name, allowed)) in ALLOWED.iter().enumerate() {
        for to in *allowed {
            let below = ALLOWED.iter().position(|(known, _)| known == to);
            assert!(below.is_some_and(|below| below < index), "{name} -> {to}");
        }
    }
}
