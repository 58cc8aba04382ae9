//! Commands that mean no good, each by its number in the reliability catalogue.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{details, place, updates, with};
use crate::{BashConfig, Limits};

#[tokio::test]
async fn f60_endless_output_is_bounded_and_shown_in_moderation() {
    let limits = Limits {
        bash_spill_bytes: 1 << 20,
        ..Limits::default()
    };
    let place = with(BashConfig::unsandboxed(), |set| set.limits(limits));
    let start = Instant::now();
    let arguments = json!({ "command": "yes", "timeout": 1 });
    let answered = place.call("bash", arguments).await;
    assert!(start.elapsed() < Duration::from_secs(6));
    assert!(
        answered.text.contains("[Full output stopped at 1.0MB.]"),
        "{}",
        answered.text.len()
    );
    assert!(answered.text.len() < 52_000);
}

#[tokio::test]
async fn f60_binary_output_and_one_long_line_are_shown_in_part() {
    let place = place();
    let answered = place
        .bash("head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo LAST")
        .await;
    assert!(answered.text.contains("LAST"));
    assert!(
        answered
            .text
            .contains("Showing lines 2-2 of 2 (50.0KB limit)"),
        "{}",
        answered.text
    );
    let answered = place.bash("head -c 300000 /dev/urandom").await;
    assert!(answered.text.len() < 60_000);
    assert!(!answered.is_error);
}

#[tokio::test]
async fn f60_many_short_lines_are_counted_and_shown_in_moderation() {
    let place = place();
    let start = Instant::now();
    let (answered, updates) = updates(&place, "seq 1 1000000; sleep 0.5").await;
    let most = start.elapsed().as_millis() / 100;
    assert!(
        answered
            .text
            .contains("[Showing lines 998001-1000000 of 1000000. Full output: "),
        "{}",
        &answered.text[answered.text.len() - 200..]
    );
    // One at the start, which is empty, one with the first output, and one at the end.
    let count = updates.len();
    assert!(count as u128 <= most + 3, "{count} updates");
}

#[tokio::test]
async fn f60_a_hundred_megabytes_take_seconds() {
    let place = place();
    let start = Instant::now();
    let answered = place
        .bash("yes 0123456789 | head -c 100000000; echo; echo LAST")
        .await;
    assert!(
        answered
            .text
            .contains("LAST\n\n[Showing lines 9088912-9090911 of 9090911. ")
    );
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn f61_a_folder_that_is_gone_is_told_and_nothing_more() {
    let place = with(BashConfig::unsandboxed(), |set| set.limits(super::small()));
    let first = place.bash("seq 1 100").await;
    let file = details(&first, "fullOutputPath");
    let folder = std::path::Path::new(file.as_str().unwrap())
        .parent()
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let answered = place.bash("seq 1 100").await;
    assert!(!answered.is_error);
    assert!(
        answered.text.starts_with("96\n97\n98\n99\n100\n\n[Showing lines 96-100 of 100.]\n[Full output could not be saved: "),
        "{}",
        answered.text
    );
}

#[tokio::test]
async fn f69_secrets_of_the_host_do_not_reach_a_command() {
    // A process cannot safely change its own environment, so this test runs itself in another one.
    if std::env::var_os("PI_TEST_AGAIN").is_none() {
        let test = "bash::tests::faults::f69_secrets_of_the_host_do_not_reach_a_command";
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env("PI_TEST_AGAIN", "plain")
            .env("ANTHROPIC_API_KEY", "hidden-1")
            .env("aws_session_token", "hidden-2")
            .env("CLOUDSDK_CONFIG", "hidden-3")
            .env("BASH_ENV", "hidden-4")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        let said = format!("{said}{}", String::from_utf8_lossy(&again.stderr));
        assert!(again.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let answered = place().bash("env").await;
    let text = answered.text;
    assert!(text.contains("PI_TEST_AGAIN=plain"));
    assert!(!text.contains("hidden"));
}
