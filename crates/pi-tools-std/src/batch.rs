//! A batch of calls at once has the effects and the results of its calls one by one.

use futures_util::future::join_all;
use pi_core::ToolContext;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{Answered, call_set, call_set_in};
use crate::{MemoryFiles, ToolSet, Workspace, WriteConfig};

const PATHS: [&str; 5] = ["a", "b", "dir/a", "dir/./b", "dir/../a"];

fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let path = || prop::sample::select(&PATHS[..]);
    let text = || "[ab]{0,3}\n?";
    prop_oneof![
        path().prop_map(|path| ("read", json!({ "path": path }))),
        (path(), text())
            .prop_map(|(path, text)| ("write", json!({ "path": path, "content": text }))),
        text()
            .prop_filter("a pattern", |text| !text.trim().is_empty())
            .prop_map(|text| ("grep", json!({ "pattern": text.trim(), "literal": true }))),
        Just(("find", json!({ "pattern": "*" }))),
        Just(("ls", json!({}))),
        Just(("ls", json!({ "path": "dir" }))),
    ]
}

fn set() -> (MemoryFiles, ToolSet) {
    let files = MemoryFiles::new("/m")
        .with("a", "aa\nb\n")
        .with("dir/b", "ab");
    let set = ToolSet::builder(Workspace::on("/m", files.clone()))
        .read_only()
        .write(WriteConfig::default())
        .build()
        .expect("these tools need nothing");
    (files, set)
}

fn contents(files: &MemoryFiles) -> Vec<(String, String)> {
    let paths = files.paths().into_iter();
    paths
        .map(|path| {
            (
                path.display().to_string(),
                files.text(&path).unwrap_or_default(),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn at_once_is_as_one_by_one(calls in prop::collection::vec(call(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (files_after_each, one_by_one) = set();
            let mut expected: Vec<Answered> = Vec::new();
            for (tool, arguments) in &calls {
                expected.push(call_set(&one_by_one, tool, arguments.clone()).await);
            }
            let (files_at_once, at_once) = set();
            let running = calls.iter().enumerate().map(|(n, (tool, arguments))| {
                let cx = ToolContext::detached(format!("c{n}"));
                call_set_in(&at_once, tool, arguments.clone(), cx)
            });
            let answered = join_all(running).await;
            prop_assert_eq!(answered, expected);
            prop_assert_eq!(contents(&files_at_once), contents(&files_after_each));
            Ok(())
        })?;
    }
}
