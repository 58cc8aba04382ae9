//! No edit changes a byte outside of what it replaces, and none panics.

#![no_main]

mod calling;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pi_tools_std::{EditConfig, MemoryFiles, ToolSet, Workspace};
use serde_json::json;

#[derive(Arbitrary, Debug)]
struct Input {
    file: Vec<u8>,
    edits: Vec<Edit>,
}

#[derive(Arbitrary, Debug)]
enum Edit {
    /// Any text.
    Text(String, String, bool),
    /// A piece of the file.
    Piece(u8, u8, String),
}

fuzz_target!(|input: Input| {
    let files = MemoryFiles::new("/m").with("file", input.file.clone());
    let set = ToolSet::builder(Workspace::on("/m", files.clone()))
        .edit(EditConfig::default())
        .build()
        .expect("these tools need nothing");
    let text = String::from_utf8_lossy(&input.file);
    let edits: Vec<_> = input
        .edits
        .iter()
        .map(|edit| match edit {
            Edit::Text(old, new, all) => {
                json!({ "oldText": old, "newText": new, "replaceAll": all })
            }
            Edit::Piece(start, len, new) => {
                let old: String = text
                    .chars()
                    .skip(usize::from(*start))
                    .take(usize::from(*len))
                    .collect();
                json!({ "oldText": old, "newText": new })
            }
        })
        .collect();
    let result = calling::call(&set, "edit", json!({ "path": "file", "edits": edits }));
    let after = files.content("file").expect("the file is still there");
    match result {
        Ok(_) => assert_ne!(after, input.file, "a success changes something"),
        Err(error) => {
            assert_eq!(after, input.file, "a failure changes nothing");
            assert!(!error.to_string().trim().is_empty());
        }
    }
});
