use serde_json::json;

use crate::Limits;
use crate::testing::Place;

#[tokio::test]
async fn entries_are_sorted_without_regard_to_case() {
    let place = Place::new();
    for path in ["b.txt", "A.txt", ".env", "a.txt", "Dir/x", "c/y"] {
        place.file(path, "x");
    }
    let expected = ".env\nA.txt\na.txt\nb.txt\nc/\nDir/";
    for arguments in [json!({}), json!({ "path": "." }), json!({ "path": null })] {
        assert_eq!(place.ok("ls", arguments).await, expected);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_shown_by_what_they_lead_to() {
    let place = Place::new();
    place.file("dir/x", "x");
    place.link("to-dir", "dir");
    place.link("to-file", "dir/x");
    place.link("to-nothing", "nowhere");
    place.link("round", "round");
    place.link("out", place.outside("x"));
    assert_eq!(
        place.ok("ls", json!({})).await,
        "dir/\nout\nround (broken symlink)\nto-dir/\nto-file\nto-nothing (broken symlink)"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_no_text_are_marked() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    std::fs::write(place.root().join(name), "x").unwrap();
    assert_eq!(
        place.ok("ls", json!({})).await,
        "a\u{fffd} (name is not valid UTF-8)"
    );
}

#[tokio::test]
async fn limits_are_told() {
    let limits = Limits {
        output_bytes: 1024,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    for n in 0..300 {
        place.file(&format!("f{n:03}"), "x");
    }
    let answered = place.call("ls", json!({ "limit": 2 })).await;
    assert_eq!(
        answered.text,
        "f000\nf001\n\n[2 entries limit reached. Use limit=4 for more]"
    );
    assert_eq!(answered.details, json!({ "entryLimitReached": 2 }));
    let answered = place.call("ls", json!({ "limit": 250 })).await;
    let (_, notice) = answered.text.split_once("\n\n").unwrap();
    assert_eq!(
        notice,
        "[250 entries limit reached. Use limit=500 for more. 1.0KB limit reached]"
    );
    assert_eq!(answered.details["truncation"]["outputLines"], 205);
    let exact = place.ok("ls", json!({ "limit": 300 })).await;
    assert!(!exact.contains("entries limit"), "{exact}");
}

#[tokio::test]
async fn folders_found_by_another_spelling_are_named_in_the_details() {
    let place = Place::new();
    place.file("it\u{2019}s/f", "needle\n");
    for (tool, arguments) in [
        ("ls", json!({ "path": "it's" })),
        ("find", json!({ "path": "it's", "pattern": "f" })),
        ("grep", json!({ "path": "it's", "pattern": "needle" })),
    ] {
        let answered = place.call(tool, arguments).await;
        assert!(!answered.is_error, "{tool}: {}", answered.text);
        let resolved = answered.details["resolvedPath"].as_str().unwrap();
        assert!(resolved.ends_with("it\u{2019}s"), "{tool}: {resolved}");
    }
}

#[tokio::test]
async fn what_cannot_be_listed_gets_a_clear_error() {
    let place = Place::new();
    place.file("file", "x");
    std::fs::create_dir(place.root().join("empty")).unwrap();
    assert_eq!(
        place.ok("ls", json!({ "path": "empty" })).await,
        "(empty directory)"
    );
    let root = place.root().canonicalize().unwrap();
    for (path, expected) in [
        ("nope", "Path not found: nope".to_owned()),
        ("file", "Not a directory: file".to_owned()),
        (
            "/etc",
            format!(
                "/etc is outside the workspace {}. Only paths inside it can be used.",
                root.display()
            ),
        ),
    ] {
        assert_eq!(place.fails("ls", json!({ "path": path })).await, expected);
    }
}
