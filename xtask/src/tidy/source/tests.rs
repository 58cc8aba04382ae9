use super::{Purpose, check, is_unit_test, purpose};
use crate::tidy::File;

#[track_caller]
fn check_at(path: &str, text: &str, expected: &[&str]) {
    let file = File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let found: Vec<String> = check(&file).iter().map(ToString::to_string).collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|expected| format!("{path}{expected}"))
        .collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_shipped(code: &str, expected: &[&str]) {
    check_at(
        "crates/pi-core/src/lib.rs",
        &format!("//! Docs.\n{code}"),
        expected,
    );
}

/// A function of `lines` lines, docs apart.
fn function(lines: usize) -> String {
    format!(
        "/// Docs.\n///\n/// More docs.\npub fn long(\n) {{{}}}\n",
        "\n".repeat(lines - 2)
    )
}

#[test]
fn a_path_tells_what_the_file_is_for() {
    let cases = [
        ("crates/pi-core/src/lib.rs", Purpose::Shipped),
        ("crates/pi-core/src/latest.rs", Purpose::Shipped),
        ("crates/pi-core/src/assembler/tests.rs", Purpose::Test),
        ("crates/pi-core/src/assembler/tests/order.rs", Purpose::Test),
        ("crates/pi-core/tests/it/main.rs", Purpose::Test),
        ("crates/pi-core/benches/fold.rs", Purpose::Test),
        ("tests/it/wire.rs", Purpose::Test),
        ("crates/pi-ai/src/models.generated.rs", Purpose::Generated),
    ];
    for (path, expected) in cases {
        assert_eq!(purpose(path), expected, "{path}");
    }
}

#[test]
fn only_unit_tests_go_without_module_docs() {
    assert!(is_unit_test("crates/pi-core/src/assembler/tests.rs"));
    assert!(is_unit_test("crates/pi-core/src/assembler/tests/order.rs"));
    assert!(!is_unit_test("tests/src/lib.rs"));
    assert!(!is_unit_test("tests/it/main.rs"));
}

#[test]
fn module_docs_come_first() {
    let missing = [":1: start with `//!` docs of the module"];
    check_at("a/src/lib.rs", "//! Docs.\nmod b;\n", &[]);
    check_at("a/src/lib.rs", "// By codegen.\n\n//! Docs.\nmod b;\n", &[]);
    check_at("a/src/lib.rs", "mod b;\n", &missing);
    check_at("a/src/lib.rs", "", &missing);
    check_at("a/src/b/tests.rs", "use super::*;\n", &[]);
}

#[test]
fn code_that_does_not_parse_is_reported_at_its_line() {
    check_shipped(
        "fn a() {}\nfn;",
        &[":3: does not parse: expected identifier"],
    );
}

#[test]
fn a_file_may_have_600_lines() {
    let text = |lines: usize| format!("//! Docs.{}", "\n".repeat(lines));
    check_at("a/src/b.rs", &text(600), &[]);
    check_at(
        "a/src/b.rs",
        &text(601),
        &[": 601 lines, at most 600; split it"],
    );
    check_at("a/src/b/tests.rs", &text(601), &[]);
    check_at("a/src/b.generated.rs", &text(601), &[]);
}

#[test]
fn a_function_may_have_70_lines() {
    check_shipped(&function(70), &[]);
    let message = "fn long has 71 lines, at most 70; split it";
    let long = function(71);
    check_shipped(&long, &[&format!(":5: {message}")]);
    check_shipped(
        &format!("impl A {{\n{long}}}"),
        &[&format!(":6: {message}")],
    );
    check_shipped(&format!("mod b {{\n{long}}}"), &[&format!(":6: {message}")]);
    check_shipped(
        &format!("trait B {{\n{}}}", long.replace("pub ", "")),
        &[&format!(":6: {message}")],
    );
}

#[test]
fn a_test_may_be_longer() {
    let long = function(71);
    for wrapper in [
        "#[test]\n",
        "#[tokio::test(start_paused = true)]\n",
        "#[cfg(test)]\n",
    ] {
        check_shipped(&format!("{wrapper}{long}"), &[]);
    }
    check_shipped(&format!("#[cfg(test)]\nmod tests {{\n{long}}}"), &[]);
    check_shipped(&format!("#[cfg(test)]\nimpl A {{\n{long}}}"), &[]);
    check_at("a/src/b/tests.rs", &long, &[]);
}

#[test]
fn attributes_that_hide_something_are_refused() {
    let allow = "use `#[expect(..., reason = \"...\")]` in place of `allow`";
    let ignore = "`#[ignore]` hides a test: make it pass, or delete it";
    let cases = [
        ("#[allow(dead_code)]\nfn a() {}", Some(allow)),
        ("#![allow(dead_code)]", Some(allow)),
        (
            "#[cfg_attr(test, derive(Debug), allow(dead_code))]\nstruct A;",
            Some(allow),
        ),
        ("m! { #[allow(dead_code)] fn a() {} }", Some(allow)),
        ("#[ignore]\nfn a() {}", Some(ignore)),
        ("#[ignore = \"slow\"]\nfn a() {}", Some(ignore)),
        (
            "#[expect(dead_code)]\nfn a() {}",
            Some("`#[expect]` needs a `reason`"),
        ),
        (
            "#[expect(dead_code, reason = \"read by the linker\")]\nfn a() {}",
            None,
        ),
        ("#[derive(Debug)]\nstruct A;", None),
        ("fn a() { vec![ignore]; vec![allow(b)] }", None),
        (
            "/// Explains `#[allow(dead_code)]`.\nfn a() { allow(ignore); x.expect(\"y\"); }",
            None,
        ),
    ];
    for (code, expected) in cases {
        let expected = expected.map(|message| format!(":2: {message}"));
        check_shipped(
            code,
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
}

#[test]
fn leftovers_are_refused() {
    check_shipped(
        "fn a() {\n    todo!()\n}",
        &[":3: `todo!` must not be committed"],
    );
    check_shipped(
        "fn a() { vec![dbg!(1)]; }",
        &[":2: `dbg!` must not be committed"],
    );
    check_shipped(
        "fn a() { std::unimplemented!(\"later\") }",
        &[":2: `unimplemented!` must not be committed"],
    );
    check_shipped("fn todo() { let dbg = \"todo!()\"; todo != dbg }", &[]);
}

#[test]
fn a_module_is_named_after_what_it_does() {
    let message = ": name the module after what it does, not `utils`";
    check_at("a/src/utils.rs", "//! Docs.\n", &[message]);
    check_at("a/src/util/b.rs", "//! Docs.\n", &[message]);
    check_at("a/src/utilisation.rs", "//! Docs.\n", &[]);
}
