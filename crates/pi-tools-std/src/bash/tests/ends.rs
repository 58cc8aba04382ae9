//! How a command ends.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use pi_core::ToolContext;
use serde_json::json;

use super::{aborted_at, details, eventually, place, running, with};
use crate::{BashConfig, CommandPolicy, CommandRequest, Decision, Environment, LeftBehind};

/// The grace and what the spec adds to it.
const AT_MOST: Duration = Duration::from_millis(4500);

fn marked(mark: &str) -> (BashConfig, String) {
    let environment = Environment::default().with("PI_TEST_MARK", mark);
    let config = BashConfig::unsandboxed().with_environment(environment);
    (config, format!("PI_TEST_MARK={mark}"))
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_keeps_its_output() {
    let (config, mark) = marked("timeout");
    let place = with(config, |set| set);
    let start = Instant::now();
    let arguments = json!({ "command": "echo begun; sleep 60 | sleep 61", "timeout": 0.5 });
    let answered = place.call("bash", arguments).await;
    assert_eq!(
        answered.text,
        "begun\n\nCommand timed out after 0.5 seconds"
    );
    assert!(answered.is_error);
    assert!(answered.details["exitCode"].is_null());
    assert!(start.elapsed() < AT_MOST);
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn an_abort_before_the_start_starts_nothing() {
    let place = place();
    let cx = ToolContext::detached("c1");
    cx.abort_token().cancel();
    let arguments = json!({ "command": "touch mark" });
    let answered = place.call_in("bash", arguments, cx).await;
    assert_eq!(answered.text, "Command aborted");
    assert!(!place.root().join("mark").exists());
}

#[tokio::test]
async fn f59_an_abort_ends_everything_that_a_command_started() {
    let (config, mark) = marked("abort");
    let place = with(config, |set| set);
    let command = "trap '' TERM; (trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & \
                   (sleep 60 & sleep 60) & sleep 60) & sh -c 'sleep 60 & wait' & echo begun; \
                   while :; do sleep 1; done";
    let (answered, took) = aborted_at(&place, command, "begun").await;
    assert_eq!(answered.text, "begun\n\nCommand aborted");
    assert!(took < AT_MOST, "{took:?}");
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_command_may_clean_up_within_the_grace() {
    let place = place();
    let command = "trap 'echo cleaned; exit 0' TERM; echo begun; while :; do sleep 0.05; done";
    let (answered, _) = aborted_at(&place, command, "begun").await;
    assert!(
        answered.text.ends_with("cleaned\n\nCommand aborted"),
        "{}",
        answered.text
    );
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    let (config, mark) = marked("dropped");
    let place = with(config, |set| set);
    {
        let call = place.bash("touch begun; sleep 60");
        tokio::pin!(call);
        let begun = place.root().join("begun");
        tokio::select! {
            _ = &mut call => panic!("it runs for a minute"),
            () = eventually("it begins", || begun.exists()) => {}
        }
    }
    eventually("the command is gone", || running(&mark) == 0).await;
}

#[tokio::test]
async fn f58_what_runs_in_the_background_does_not_hold_the_call() {
    let (config, mark) = marked("background");
    let place = with(config, |set| set);
    for command in [
        "sleep 60 & echo started",
        "sleep 60 </dev/null >/dev/null & echo started",
        "setsid sleep 60 & echo started",
        "nohup sleep 60 & echo started",
        "(while :; do echo tick; sleep 0.05; done) & sleep 0.2; echo started",
        "exec > >(cat; sleep 60) 2>&1; echo started",
    ] {
        let start = Instant::now();
        let answered = place.bash(command).await;
        assert!(start.elapsed() < Duration::from_millis(3500), "{command}");
        assert!(
            answered.text.contains("started"),
            "{command}: {}",
            answered.text
        );
        let group = details(&answered, "backgroundGroup").as_u64().unwrap();
        let notice = format!(
            "[Background processes are still running (process group {group}). Further output: "
        );
        assert!(
            answered.text.contains(&notice),
            "{command}: {}",
            answered.text
        );
        assert!(!answered.is_error);
    }
    assert!(running(&mark) >= 6);
    place.set.shutdown().await;
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn what_goes_on_writes_on_into_the_file() {
    let place = place();
    let answered = place.bash("(sleep 0.6; echo later) & echo now").await;
    let file = details(&answered, "fullOutputPath")
        .as_str()
        .unwrap()
        .to_owned();
    let content = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually("the output is in the file", || content() == "now\nlater\n").await;
}

#[tokio::test]
async fn a_process_that_holds_no_pipe_is_told_and_ended_too() {
    let (config, mark) = marked("silent");
    let place = with(config, |set| set);
    let answered = place.bash("sleep 60 >/dev/null 2>&1 & echo started").await;
    let group = details(&answered, "backgroundGroup").as_u64().unwrap();
    assert_eq!(
        answered.text,
        format!("started\n\n[Background processes are still running (process group {group}).]")
    );
    place.set.shutdown().await;
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn f58_a_process_without_its_environment_is_found_by_its_group() {
    let place = place();
    let command = "env -i sleep 61 >/dev/null 2>&1 & echo $!";
    let answered = place.bash(command).await;
    let pid = answered.text.lines().next().unwrap().to_owned();
    assert!(answered.text.contains("still running"), "{}", answered.text);
    let is_there = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    assert!(is_there());
    place.set.shutdown().await;
    assert!(!is_there());
}

#[tokio::test]
async fn f58_a_process_that_always_moves_on_is_ended_too() {
    let place = place();
    // Each process starts the next one and ends, so none of them is there for long.
    let command = "hop() { hop & exit; }; hop >/dev/null 2>&1 & echo started";
    let answered = place.bash(command).await;
    assert!(answered.text.contains("still running"), "{}", answered.text);
    place.set.shutdown().await;
    let group = details(&answered, "backgroundGroup").to_string();
    // Some may have ended without anybody having taken notice, but no new ones come.
    let ended = members(&group);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let later = members(&group);
    assert!(later.is_subset(&ended), "{later:?} after {ended:?}");
}

/// Lists the processes of a group, also those that have ended.
fn members(group: &str) -> HashSet<OsString> {
    let is_member = |process: &Path| {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        fields.split(' ').nth(2) == Some(group)
    };
    let processes = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    let members = processes.filter(|process| is_member(&process.path()));
    members.map(|process| process.file_name()).collect()
}

#[tokio::test]
async fn only_so_many_commands_may_leave_something_running() {
    let (config, mark) = marked("many");
    let place = with(config, |set| set);
    let mut kept = Vec::new();
    for _ in 0..16 {
        let answered = place.bash("sleep 62 >/dev/null 2>&1 & true").await;
        assert!(answered.text.contains("still running"), "{}", answered.text);
        kept.push(answered);
    }
    let answered = place.bash("sleep 62 >/dev/null 2>&1 & true").await;
    assert!(
        answered
            .text
            .contains("[Background processes were ended: at most 16 commands"),
        "{}",
        answered.text
    );
    assert_eq!(running(&mark), 16);
    // Those that have ended make room.
    for answered in &kept {
        let group = details(answered, "backgroundGroup");
        place.bash(&format!("kill -- -{group}")).await;
    }
    eventually("they are gone", || running(&mark) == 0).await;
    let answered = place.bash("sleep 62 >/dev/null 2>&1 & true").await;
    assert!(answered.text.contains("still running"), "{}", answered.text);
}

#[tokio::test]
async fn nothing_is_left_behind_after_the_end() {
    let (config, mark) = marked("after-the-end");
    let place = with(config, |set| set);
    place.set.shutdown().await;
    let answered = place.bash("sleep 60 & echo started").await;
    assert!(
        answered.text.contains("[Background processes were ended: "),
        "{}",
        answered.text
    );
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn background_processes_can_be_ended_with_their_call() {
    let (config, mark) = marked("kill");
    let place = with(config.with_left_behind(LeftBehind::Kill), |set| set);
    let answered = place
        .bash("sleep 60 & setsid sleep 60 >/dev/null 2>&1 & echo started")
        .await;
    assert_eq!(answered.text, "started");
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_dropped_set_ends_what_was_left_running() {
    let (config, mark) = marked("set");
    let place = with(config, |set| set);
    place.bash("sleep 60 & echo started").await;
    assert_eq!(running(&mark), 1);
    drop(place);
    eventually("nothing is left", || running(&mark) == 0).await;
}

#[tokio::test]
async fn a_set_can_end_everything_at_once() {
    let (config, mark) = marked("at-once");
    let place = with(config, |set| set);
    place.bash("sleep 60 & echo started").await;
    let call = place.bash("touch begun; sleep 60");
    let begun = place.root().join("begun");
    let killing = async {
        eventually("it begins", || begun.exists()).await;
        place.set.kill();
    };
    let (answered, ()) = futures_util::future::join(call, killing).await;
    assert!(answered.text.contains("SIGKILL"), "{}", answered.text);
    assert_eq!(running(&mark), 0);
}

struct OnlyEcho;

impl CommandPolicy for OnlyEcho {
    fn decide(&self, request: &CommandRequest) -> Decision {
        let reason = "not an echo".to_owned();
        match request.command.split_whitespace().next() {
            Some("echo") => Decision::Allow,
            Some("ls") => Decision::Ask { reason },
            _ => Decision::Deny { reason },
        }
    }
}

#[tokio::test]
async fn a_policy_decides_before_anything_starts() {
    let denied = "Command not allowed: not an echo";
    let place = with(BashConfig::unsandboxed().with_policy(OnlyEcho), |set| set);
    assert_eq!(place.bash("echo hi").await.text, "hi");
    assert_eq!(place.bash("touch mark").await.text, denied);
    assert_eq!(place.bash("ls").await.text, denied);
    let config = BashConfig::unsandboxed()
        .with_policy(OnlyEcho)
        .with_approval(|request, _| async move { request.command == "ls" });
    let place = with(config, |set| set);
    assert_eq!(place.bash("ls").await.text, "(no output)");
    assert_eq!(place.bash("ls -l").await.text, denied);
    assert!(!place.root().join("mark").exists());
}

#[tokio::test]
async fn two_commands_next_to_each_other_overlap_unless_exclusive() {
    let overlap = |exclusive| async move {
        let place = with(BashConfig::unsandboxed().with_exclusive(exclusive), |set| {
            set
        });
        let wait =
            "touch a; for i in $(seq 100); do [ -e b ] && echo met && exit; sleep 0.02; done";
        let first = place.bash(wait);
        let second = place.bash("touch b");
        let (first, _) = futures_util::future::join(first, second).await;
        first.text == "met"
    };
    assert!(overlap(false).await);
    assert!(!overlap(true).await);
}

#[tokio::test]
async fn a_change_waits_for_the_command_before_it() {
    let place = place();
    let command = place.bash("sleep 0.2; cat f; echo from bash > f");
    let write = place.call("write", json!({ "path": "f", "content": "from write" }));
    let read = place.call("read", json!({ "path": "f" }));
    let (command, (write, read)) =
        futures_util::future::join(command, futures_util::future::join(write, read)).await;
    assert!(command.text.contains("No such file"), "{}", command.text);
    assert!(!write.is_error);
    assert_eq!(read.text, "from write");
}
