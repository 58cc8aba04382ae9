use serde_json::json;

use super::MemoryFiles;
use crate::testing::call_set;
use crate::{ToolSet, Workspace};

#[tokio::test]
async fn tools_on_files_work_without_a_disk() {
    let files = MemoryFiles::new("/project")
        .with("src/main.rs", "fn main() {}\n")
        .with("src/lib/a.rs", "needle\n")
        .with("README.md", "hello\n");
    let set = ToolSet::builder(Workspace::on("/project", files.clone()))
        .read_only()
        .write(crate::WriteConfig::default())
        .build()
        .unwrap();
    for (tool, arguments, expected) in [
        ("ls", json!({}), "README.md\nsrc/"),
        ("ls", json!({ "path": "src" }), "lib/\nmain.rs"),
        ("read", json!({ "path": "README.md" }), "hello\n"),
        ("read", json!({ "path": "src/../README.md" }), "hello\n"),
        (
            "grep",
            json!({ "pattern": "needle" }),
            "src/lib/a.rs:1: needle",
        ),
        (
            "find",
            json!({ "pattern": "*.rs" }),
            "src/lib/a.rs\nsrc/main.rs",
        ),
        (
            "read",
            json!({ "path": "READM.md" }),
            "File not found: READM.md Did you mean README.md?",
        ),
        (
            "read",
            json!({ "path": "../x" }),
            "../x is outside the workspace /project. Only paths inside it can be used.",
        ),
        (
            "write",
            json!({ "path": "README.md/x", "content": "" }),
            "Cannot create README.md/x: README.md is not a directory.",
        ),
        (
            "write",
            json!({ "path": "new/a", "content": "abc" }),
            "Successfully wrote 3 bytes to new/a",
        ),
    ] {
        let answered = call_set(&set, tool, arguments.clone()).await;
        assert_eq!(answered.text, expected, "{tool} {arguments}");
    }
    assert_eq!(files.text("new/a").as_deref(), Some("abc"));
    files.put("new/a", "changed by somebody else");
    let answered = call_set(&set, "write", json!({ "path": "new/a", "content": "x" })).await;
    assert!(
        answered.text.starts_with("new/a changed on disk"),
        "{}",
        answered.text
    );
}
