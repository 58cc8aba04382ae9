use super::{CRATES_IO, MAX_PACKAGES, check};
use crate::tidy::File;

fn found(text: String) -> Vec<String> {
    let file = File {
        path: "Cargo.lock".to_owned(),
        text,
    };
    check(&file).iter().map(ToString::to_string).collect()
}

#[test]
fn the_number_of_packages_has_a_cap() {
    let package = format!("[[package]]\nname = \"a\"\nsource = \"{CRATES_IO}\"\n");
    assert_eq!(found(package.repeat(MAX_PACKAGES)), Vec::<String>::new());

    let over = found(package.repeat(MAX_PACKAGES + 1));
    assert_eq!(over.len(), 1, "{over:?}");
    assert!(
        over[0].starts_with(&format!("Cargo.lock: {} packages", MAX_PACKAGES + 1)),
        "{over:?}"
    );
}

#[test]
fn packages_come_from_this_workspace_or_from_crates_io() {
    let text = "[[package]]\nname = \"pi-core\"\n\n\
                [[package]]\nname = \"a\"\nsource = \"git+https://example.com/a\"\n";
    assert_eq!(
        found(text.to_owned()),
        ["Cargo.lock: a comes from git+https://example.com/a; \
          every dependency comes from crates.io"]
    );
}
