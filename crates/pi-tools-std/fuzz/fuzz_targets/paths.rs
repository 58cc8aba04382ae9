//! No path through any tree of links leads out of a root.

#![no_main]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pi_tools_std::{LocalFiles, ReadOps as _, Replace, WriteOps as _};

#[derive(Arbitrary, Debug)]
struct Input {
    /// Names of links and where they lead.
    links: Vec<(String, String)>,
    paths: Vec<String>,
}

fuzz_target!(|input: Input| {
    let outer = tempfile::tempdir().expect("a folder can be made");
    let root = outer.path().join("root");
    fs::create_dir_all(root.join("a/b")).expect("folders can be made");
    fs::write(root.join("a/f"), "inside").expect("a file can be made");
    fs::write(outer.path().join("f"), "secret").expect("a file can be made");
    for (name, target) in input.links.iter().take(16) {
        // The names stay in the root; where they lead is free.
        if !name.contains(['/', '\0']) && !matches!(name.as_str(), "" | "." | "..") {
            let target = target.replace("OUT", &outer.path().to_string_lossy());
            let _ = symlink(target, root.join(name));
        }
    }
    let files = LocalFiles::confined(&root).expect("the folder is there");
    for path in input.paths.iter().take(16) {
        let path = path.replace("OUT", &outer.path().to_string_lossy());
        try_out(&files, &root.join(path));
    }
    let secret = fs::read(outer.path().join("f")).expect("the file is still there");
    assert_eq!(secret, b"secret");
    let left = fs::read_dir(outer.path()).expect("the folder is still there");
    assert_eq!(left.count(), 2);
});

fn try_out(files: &LocalFiles, path: &Path) {
    if let Ok(file) = files.open(path) {
        let mut text = String::new();
        let read = file.content.take(1024).read_to_string(&mut text);
        assert!(read.is_err() || matches!(text.as_str(), "inside" | "new"), "{}", path.display());
    }
    let _ = files.stat(path);
    let _ = files.identity(path);
    let _ = files.list(path).map(Iterator::count);
    let _ = files.replace(path, b"new", &Replace::default());
}
