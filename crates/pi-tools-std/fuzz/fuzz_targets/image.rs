//! Any bytes can be read: as an image, as text, or with an error in words.

#![no_main]

mod calling;

use libfuzzer_sys::fuzz_target;
use pi_tools_std::{Limits, MemoryFiles, ReadConfig, ToolSet, Workspace};
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let files = MemoryFiles::new("/m").with("file", bytes);
    // Small limits bring the steps of making an image smaller within reach.
    let mut limits = Limits::default();
    limits.image_shown_side = 64;
    limits.image_shown_base64 = 4096;
    limits.image_memory = 16 << 20;
    let set = ToolSet::builder(Workspace::on("/m", files))
        .limits(limits)
        .read(ReadConfig::default())
        .build()
        .expect("these tools need nothing");
    let output = calling::call(&set, "read", json!({ "path": "file" }));
    if let Ok(output) = output {
        let text = pi_core::joined_text(&output.content);
        assert!(!text.trim().is_empty());
    }
});
