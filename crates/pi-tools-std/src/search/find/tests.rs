use std::time::Duration;

use serde_json::json;

use crate::Limits;
use crate::testing::Place;

fn tree() -> Place {
    let place = Place::new();
    for path in [
        "src/main/Foo.java",
        "src/main/deep/Bar.java",
        "src/readme.MD",
        ".hidden/x.txt",
        "README.md",
        "target/out.txt",
    ] {
        place.file(path, "x");
    }
    place.file(".gitignore", "target/\n");
    place
}

#[tokio::test]
async fn globs_find_files_and_folders() {
    let place = tree();
    for (pattern, expected) in [
        ("*.java", "src/main/Foo.java\nsrc/main/deep/Bar.java"),
        ("src/**/*.java", "src/main/Foo.java\nsrc/main/deep/Bar.java"),
        ("src/*.java", "No files found matching pattern"),
        ("./src/main", "src/main/"),
        ("deep/", "src/main/deep/"),
        ("*.md", "README.md\nsrc/readme.MD"),
        ("*.MD", "src/readme.MD"),
        ("*.txt", ".hidden/x.txt"),
        ("README.md", "README.md"),
    ] {
        assert_eq!(
            place.ok("find", json!({ "pattern": pattern })).await,
            expected,
            "{pattern}"
        );
    }
    assert_eq!(
        place
            .ok("find", json!({ "pattern": "*.java", "path": "src/main" }))
            .await,
        "Foo.java\ndeep/Bar.java"
    );
    assert_eq!(
        place
            .ok("find", json!({ "pattern": "*", "path": "target" }))
            .await,
        "out.txt"
    );
}

#[tokio::test]
async fn limits_are_told_only_if_there_is_more() {
    let place = tree();
    let answered = place
        .call("find", json!({ "pattern": "*.java", "limit": 1 }))
        .await;
    assert_eq!(
        answered.text,
        "src/main/Foo.java\n\n[1 results limit reached. Use limit=2 for more, or refine pattern]"
    );
    assert_eq!(answered.details, json!({ "resultLimitReached": 1 }));
    let exact = place
        .ok("find", json!({ "pattern": "*.java", "limit": 2 }))
        .await;
    assert_eq!(exact, "src/main/Foo.java\nsrc/main/deep/Bar.java");
}

#[tokio::test]
async fn the_limits_on_bytes_and_time_are_told() {
    let limits = Limits {
        output_bytes: 20,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    for n in 0..9 {
        place.file(&format!("file{n}"), "x");
    }
    assert_eq!(
        place.ok("find", json!({ "pattern": "*" })).await,
        "file0\nfile1\nfile2\n\n[20B limit reached]"
    );
    let limits = Limits {
        search_time: Duration::ZERO,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("f", "x");
    assert_eq!(
        place.ok("find", json!({ "pattern": "*" })).await,
        "No files found matching pattern\n\n[Search stopped after 0s; results are partial]"
    );
}

#[tokio::test]
async fn what_cannot_be_searched_gets_a_clear_error() {
    let place = tree();
    for (arguments, expected) in [
        (json!({ "pattern": "" }), "pattern must not be empty."),
        (
            json!({ "pattern": "*", "path": "nope" }),
            "Path not found: nope",
        ),
        (
            json!({ "pattern": "*", "path": "README.md" }),
            "Not a directory: README.md",
        ),
        (json!({ "pattern": "{a" }), "Invalid glob '{a': "),
    ] {
        let text = place.fails("find", arguments.clone()).await;
        assert!(text.starts_with(expected), "{arguments}: {text}");
    }
}
