use super::{FOREIGN_REGISTRY, HOMES, check};
use crate::tidy::File;

fn found(text: String) -> Vec<String> {
    let file = File {
        path: "docs/a.md".to_owned(),
        text,
    };
    check(&file).iter().map(ToString::to_string).collect()
}

#[test]
fn absolute_paths_of_a_machine_are_refused() {
    for home in HOMES {
        for text in [
            format!("{home}me"),
            format!("see `{home}me`"),
            format!("\"{home}me\""),
        ] {
            let found = found(format!("first line\n{text}"));
            assert_eq!(found.len(), 1, "{text}");
            assert!(
                found[0].starts_with("docs/a.md:2: a path below "),
                "{found:?}"
            );
        }
    }
}

#[test]
fn parts_of_other_paths_are_accepted() {
    for home in HOMES {
        for before in ["..", "a", "https://example.com", "~", "${x}", "*", "<root>"] {
            assert_eq!(found(format!("{before}{home}me")), Vec::<String>::new());
        }
    }
}

#[test]
fn settings_for_another_registry_are_refused() {
    for setting in FOREIGN_REGISTRY {
        let found = found(format!("{setting} = \"mirror\""));
        assert_eq!(found.len(), 1, "{setting}");
        assert!(found[0].starts_with("docs/a.md:1: `"), "{found:?}");
    }
}
