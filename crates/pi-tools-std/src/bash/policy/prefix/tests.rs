use super::{Decision, PolicyError, PrefixPolicy, PrefixRule};

fn policy() -> PrefixPolicy {
    PrefixPolicy::new([
        PrefixRule::allow(&[&["ls", "cat", "grep", "head"]]),
        PrefixRule::allow(&[&["git"]]),
        PrefixRule::ask(&[&["git"], &["commit"]], "commits are shown first"),
        PrefixRule::deny(&[&["git"], &["push"]], "no pushing").with_match("git push origin main"),
    ])
    .unwrap()
}

#[test]
fn the_strictest_rule_wins() {
    for (command, expected) in [
        ("ls -l", "allow"),
        ("ls 'a b' \"c;d\" && git status", "allow"),
        ("cat a | grep 'x$y' | head -3", "allow"),
        ("grep -n \\$x a.txt", "allow"),
        ("ls 2>&1 | head", "allow"),
        ("ls2>&1", "ask"),
        ("git push2>&1", "allow"),
        ("ls\ngit log", "allow"),
        ("ls *.rs '*' [a]?", "allow"),
        ("git log '*'", "allow"),
        ("git add *", "allow"),
        ("git pus[h]", "deny"),
        ("g?t push", "deny"),
        ("git *", "deny"),
        ("l* -l", "ask"),
        ("git commit -m x", "ask"),
        ("git push", "deny"),
        ("ls; git push", "deny"),
        ("git commit -m x && git push", "deny"),
        ("rm -rf /", "ask"),
        ("ls; rm x", "ask"),
        ("", "ask"),
    ] {
        let decided = match policy().decide_text(command) {
            Decision::Allow => "allow",
            Decision::Ask { .. } => "ask",
            Decision::Deny { .. } => "deny",
        };
        assert_eq!(decided, expected, "{command}");
    }
}

#[test]
fn what_is_not_plain_is_never_allowed() {
    for command in [
        "ls $(rm x)",
        "ls `rm x`",
        "ls \"$(rm x)\"",
        "ls $HOME",
        "ls > x",
        "ls >> x",
        "ls 2>&1>x",
        "ls >&x",
        "ls < x",
        "ls <(rm x)",
        "ls & rm x",
        "(ls)",
        "{ ls; }",
        "ls {a,b}",
        "eval ls",
        "exec ls",
        ". ls",
        "source ls",
        "! ls",
        "A=b ls",
        "ls 'a",
        "ls \"a",
        "ls \\",
        "ls # x",
        "ls \0",
        "ls '\0'",
        "ls <<EOF\nEOF",
    ] {
        assert!(
            matches!(policy().decide_text(command), Decision::Ask { .. }),
            "{command}"
        );
    }
}

#[test]
fn rules_are_held_to_their_examples() {
    let wrong = PrefixRule::allow(&[&["git"], &["status"]]).with_match("git diff");
    assert_eq!(
        PrefixPolicy::new([wrong]).unwrap_err(),
        PolicyError::Example {
            rule: 0,
            example: "git diff".into()
        }
    );
    let wrong = PrefixRule::allow(&[&["git"]]).with_no_match("ls | git diff");
    assert!(PrefixPolicy::new([wrong]).is_err());
    let empty = PrefixRule::allow(&[&[]]);
    assert_eq!(
        PrefixPolicy::new([empty]).unwrap_err(),
        PolicyError::Empty { rule: 0 }
    );
}
