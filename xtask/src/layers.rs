//! `cargo xtask layers`: the dependency rules of `docs/architecture.md`, checked on the resolved graph.
//!
//! Two rules. Between the crates of this workspace only the edges of [`edges`] exist. And the crates
//! in [`runtime`] link no HTTP client and no runtime, whatever features are on.

mod edges;
mod runtime;

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand};

use self::edges::{Edge, Kind, Member};
use crate::report::Violation;

/// Checks the workspace at `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .features(CargoOpt::AllFeatures)
        .exec()
        .context("cannot read the dependency graph")?;
    let members = members(&metadata)?;

    let mut violations = edges::check(&members);
    for pure in runtime::PURE {
        if members.iter().any(|member| member.name == *pure) {
            violations.extend(runtime::check(root, pure)?);
        }
    }
    Ok(violations)
}

/// Reduces the resolved graph to the workspace members and the edges among them.
fn members(metadata: &Metadata) -> anyhow::Result<Vec<Member>> {
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo metadata resolved no graph")?;
    let names: HashMap<_, _> = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| (&package.id, package.name.to_string()))
        .collect();

    let mut members = Vec::new();
    for node in &resolve.nodes {
        let Some(name) = names.get(&node.id) else {
            continue;
        };
        let mut edges = Vec::new();
        for dependency in &node.deps {
            let Some(to) = names.get(&dependency.pkg) else {
                continue;
            };
            edges.extend(dependency.dep_kinds.iter().map(|info| Edge {
                to: to.clone(),
                kind: kind(info.kind),
            }));
        }
        edges.dedup();
        members.push(Member {
            name: name.clone(),
            edges,
        });
    }
    Ok(members)
}

fn kind(kind: DependencyKind) -> Kind {
    match kind {
        DependencyKind::Development => Kind::Dev,
        // A build script sees what it links just as the crate does, so it gets no exception.
        _ => Kind::Normal,
    }
}
