//! What a command says.

use futures_util::FutureExt as _;
use serde_json::json;

use super::{details, place, small, updates, with};
use crate::BashConfig;

#[tokio::test]
async fn both_streams_are_shown_in_their_order() {
    let place = place();
    let answered = place
        .bash("echo one; echo two >&2; echo three; printf four")
        .await;
    assert_eq!(answered.text, "one\ntwo\nthree\nfour");
    assert!(!answered.is_error);
    assert_eq!(details(&answered, "exitCode"), 0);
    assert_eq!(details(&answered, "sandbox"), "off");
}

#[tokio::test]
async fn no_output_and_failures_are_put_in_words() {
    let place = place();
    for (command, expected, is_error) in [
        ("true", "(no output)", false),
        ("echo; echo", "(no output)", false),
        ("exit 3", "(no output)\n\nCommand exited with code 3", true),
        (
            "echo oops >&2; exit 1",
            "oops\n\nCommand exited with code 1",
            true,
        ),
        (
            "kill -SEGV $$",
            "(no output)\n\nCommand was killed by signal SIGSEGV (exit code 139)",
            true,
        ),
        ("printf 'caf\\xe9\\n'", "caf\u{fffd}", false),
    ] {
        let answered = place.bash(command).await;
        assert_eq!(
            (answered.text.as_str(), answered.is_error),
            (expected, is_error),
            "{command}"
        );
    }
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_refused() {
    let place = place();
    let timeout = "Invalid timeout: must be a positive number of seconds.";
    for (arguments, expected) in [
        (json!({ "command": "" }), "command must not be empty."),
        (json!({ "command": " \n" }), "command must not be empty."),
        (json!({ "command": "true", "timeout": 0 }), timeout),
        (json!({ "command": "true", "timeout": -1 }), timeout),
        (json!({ "command": "true", "timeout": "-0.5" }), timeout),
    ] {
        assert_eq!(place.fails("bash", arguments).await, expected);
    }
    let text = place
        .ok("bash", json!({ "cmd": "echo ok", "timeout": "5" }))
        .await;
    assert_eq!(text, "ok");
    let text = place
        .ok("bash", json!({ "command": "echo ok", "timeout": 1e9 }))
        .await;
    assert_eq!(text, "ok\n\n[Timeout limited to 3600 seconds.]");
}

#[test]
fn without_a_runtime_nothing_runs() {
    let place = place();
    let answered = place.bash("touch mark").now_or_never().unwrap();
    assert_eq!(answered.text, "This tool needs a tokio runtime.");
    assert!(!place.root().join("mark").exists());
}

#[tokio::test]
async fn commands_run_in_the_workspace_and_keep_no_state() {
    let place = with(
        BashConfig::unsandboxed().with_command_prefix("greeting=hello"),
        |set| set,
    );
    let root = place.root().canonicalize().unwrap();
    place.bash("cd /; export x=1").await;
    let answered = place
        .bash("pwd; echo \"$greeting$x\"; echo $PI_TOOL_CALL_ID")
        .await;
    assert_eq!(answered.text, format!("{}\nhello\nc1", root.display()));
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let place = place();
    let root = place.root().canonicalize().unwrap();
    std::fs::remove_dir(&root).unwrap();
    assert_eq!(
        place.bash("true").await.text,
        format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            root.display()
        )
    );
}

#[tokio::test]
async fn input_is_empty_and_there_is_no_terminal() {
    let place = place();
    let commands = "cat; echo after; read x; echo \"got:$x rc:$?\"; \
                    (exec 3</dev/tty) 2>/dev/null && echo opened || echo refused; tty";
    let answered = place.bash(commands).await;
    assert!(
        answered
            .text
            .starts_with("after\ngot: rc:1\nrefused\nnot a tty"),
        "{}",
        answered.text
    );
}

#[tokio::test]
async fn a_spawn_hook_changes_the_command() {
    let place = with(
        BashConfig::unsandboxed().with_spawn_hook(|command| {
            command.command = format!("echo hooked; {}", command.command);
            command.environment.insert("EXTRA".into(), "more".into());
        }),
        |set| set,
    );
    assert_eq!(place.bash("echo $EXTRA").await.text, "hooked\nmore");
}

#[tokio::test]
async fn long_output_is_cut_and_kept_in_a_file_that_can_be_read() {
    let place = with(BashConfig::unsandboxed(), |set| set.limits(small()));
    let answered = place.bash("seq 1 100").await;
    let file = details(&answered, "fullOutputPath")
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        answered.text,
        format!("96\n97\n98\n99\n100\n\n[Showing lines 96-100 of 100. Full output: {file}]")
    );
    let text = place
        .ok("read", json!({ "path": file, "offset": 50, "limit": 1 }))
        .await;
    assert!(text.starts_with("50\n"), "{text}");
    let text = place
        .fails("write", json!({ "path": file, "content": "x" }))
        .await;
    assert!(text.contains("is outside the workspace"), "{text}");

    let answered = place
        .bash("for i in 1 2 3; do printf 'x%.0s' $(seq 90); echo; done")
        .await;
    assert!(
        answered
            .text
            .contains("[Showing lines 2-3 of 3 (200B limit). Full output: "),
        "{}",
        answered.text
    );
    let answered = place.bash("printf 'x%.0s' $(seq 300)").await;
    assert!(
        answered
            .text
            .contains("[Showing last 200B of line 1 (line is 300B). Full output: "),
        "{}",
        answered.text
    );
}

#[tokio::test]
async fn the_advice_for_a_long_line_is_a_command_that_works() {
    let place = with(BashConfig::unsandboxed(), |set| set.limits(small()));
    place.file("it's long.txt", format!("short\n{}\n", "x".repeat(400)));
    for path in ["it's long.txt", "@it's long.txt"] {
        let text = place.ok("read", json!({ "path": path, "offset": 2 })).await;
        let advice = text
            .split_once("Use bash: ")
            .unwrap()
            .1
            .strip_suffix(']')
            .unwrap();
        assert!(advice.starts_with("sed -n '2p' "), "{advice}");
        let answered = place.bash(advice).await;
        assert!(
            answered.text.starts_with(&"x".repeat(200)),
            "{}",
            answered.text
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_private_and_goes_with_the_set() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = with(BashConfig::unsandboxed(), |set| set.limits(small()));
    let answered = place.bash("seq 1 100").await;
    let file = details(&answered, "fullOutputPath");
    let file = std::path::PathBuf::from(file.as_str().unwrap());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    place.set.shutdown().await;
    assert!(!file.exists());
    let answered = place.bash("seq 1 100").await;
    assert!(
        answered.text.contains("[Full output could not be saved: "),
        "{}",
        answered.text
    );
}

#[tokio::test]
async fn updates_are_snapshots_and_begin_empty() {
    let place = place();
    let (answered, updates) = updates(&place, "echo one; sleep 0.3; echo two").await;
    let texts: Vec<_> = updates
        .iter()
        .map(|update| pi_core::joined_text(&update.content).into_owned())
        .collect();
    assert_eq!(texts.first().unwrap(), "");
    assert!(texts.contains(&"one\n".to_owned()), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "one\ntwo\n");
    assert_eq!(answered.text, "one\ntwo");
}
