use std::path::Path;

use serde_json::json;

use super::{Enforced, Rules, Sandbox};
use crate::bash::SpillFolder;
use crate::testing::{Answered, Place};
use crate::{Backend, BashConfig, ReadAccess, SandboxPolicy, SetupError, ToolSet, Workspace};

/// Says aloud that a test needs more than this machine has; in CI that is a failure.
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    assert!(std::env::var_os("CI").is_none(), "skipped in CI: {why}");
}

fn sandboxed(policy: SandboxPolicy) -> Option<Place> {
    let probe = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new().unwrap();
    if let Err(error) = Sandbox::new(&policy, probe.path(), &spill, &[]) {
        skipped(&error.to_string());
        return None;
    }
    Some(Place::with(|set| set.bash(BashConfig::sandboxed(policy))))
}

async fn bash(place: &Place, command: &str) -> Answered {
    place.call("bash", json!({ "command": command })).await
}

fn backends() -> impl Iterator<Item = SandboxPolicy> {
    let bubblewrap = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("bwrap").is_file());
    if !bubblewrap {
        eprintln!("skipped: bwrap is not installed");
    }
    [Backend::Landlock, Backend::Bubblewrap]
        .into_iter()
        .filter(move |backend| *backend == Backend::Landlock || bubblewrap)
        .map(|backend| SandboxPolicy::new().with_backend(backend))
}

#[tokio::test]
async fn f67_writing_outside_is_denied() {
    for policy in backends() {
        let Some(place) = sandboxed(policy) else {
            return;
        };
        let outside = place.outside("target");
        std::fs::write(&outside, "old").unwrap();
        let target = outside.display();
        for command in [
            format!("echo new > {target}"),
            format!("truncate -s 0 {target}"),
            format!("rm {target}"),
            format!("mv {target} {target}-2"),
            format!("ln -s {target} link && echo new > link"),
            format!("touch {target}-2"),
            format!("cp /bin/true {target}-2"),
            format!("mount -o remount,bind,rw /; touch {target}-2"),
            format!("unshare -Urm mount -o remount,bind,rw /; touch {target}-2"),
            format!("unshare -Urm sh -c 'mount -o remount,bind,rw /; touch {target}-2'"),
        ] {
            let answered = bash(&place, &command).await;
            assert!(answered.is_error, "{command}: {}", answered.text);
            let note = "[The command ran in a sandbox: writes are limited to ";
            assert!(answered.text.contains(note), "{command}: {}", answered.text);
            assert!(
                answered.text.contains("network is off.]"),
                "{command}: {}",
                answered.text
            );
        }
        assert_eq!(std::fs::read(&outside).unwrap(), b"old");
        assert!(!place.outside("target-2").exists());
        let inside = "echo x > f && mkdir d && mv f d/g && cat d/g && echo y > $TMPDIR/t && mktemp";
        let answered = bash(&place, &format!("{inside} && echo z > /dev/null")).await;
        assert!(!answered.is_error, "{}", answered.text);
        assert_eq!(answered.details["sandbox"], "on");
        assert_eq!(place.content("d/g"), b"x\n");
    }
}

#[tokio::test]
async fn f67_the_network_is_denied() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let datagram = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    datagram.set_nonblocking(true).unwrap();
    let datagrams = datagram.local_addr().unwrap().port();
    for policy in backends() {
        let Some(place) = sandboxed(policy.clone()) else {
            return;
        };
        let answered = bash(&place, &format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).await;
        assert!(answered.is_error, "{}", answered.text);
        // In a network of its own the command may talk to itself, but nothing arrives here.
        bash(&place, &format!("echo x > /dev/udp/127.0.0.1/{datagrams}")).await;
        let arrived = datagram.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(arrived.kind(), std::io::ErrorKind::WouldBlock);
        let Some(place) = sandboxed(policy.with_network(true)) else {
            return;
        };
        let answered = bash(
            &place,
            &format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo ok"),
        )
        .await;
        assert_eq!(answered.text, "ok");
    }
}

#[tokio::test]
async fn f67_signals_to_others_are_denied() {
    for policy in backends() {
        let Some(place) = sandboxed(policy) else {
            return;
        };
        let mut other = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let answered = bash(&place, &format!("kill -KILL {}", other.id())).await;
        let alive = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(answered.is_error, "{}", answered.text);
        assert!(alive, "the other process was ended");
        let answered = bash(&place, "sleep 60 & kill $! && echo ok").await;
        assert!(answered.text.contains("ok"), "{}", answered.text);
    }
}

#[tokio::test]
async fn f67_a_changed_hook_is_reported_or_cannot_be_changed() {
    for policy in backends() {
        let backend = policy.backend;
        let Some(place) = sandboxed(policy) else {
            return;
        };
        place.file(".git/hooks/pre-commit", "old");
        place.file(".git/config", "old");
        let quiet = bash(&place, "echo x > f").await;
        assert_eq!(quiet.text, "(no output)");
        let answered = bash(
            &place,
            "echo evil > .git/hooks/pre-commit; touch .git/hooks/new; true",
        )
        .await;
        if backend == Backend::Bubblewrap {
            assert_eq!(place.content(".git/hooks/pre-commit"), b"old");
            continue;
        }
        let root = place.root().canonicalize().unwrap();
        let hooks = root.join(".git/hooks");
        let warning = format!(
            "[Warning: this command changed protected files: {}, {}]",
            hooks.join("new").display(),
            hooks.join("pre-commit").display()
        );
        assert!(answered.text.contains(&warning), "{}", answered.text);
        assert_eq!(
            answered.details["protectedChanged"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
        let answered = bash(&place, "cd .git/hooks && touch $(seq 100 149)").await;
        assert!(
            answered.text.ends_with(" and 30 more]"),
            "{}",
            answered.text
        );
    }
}

#[tokio::test]
async fn reading_can_be_limited() {
    for policy in backends() {
        let policy = policy.with_read(ReadAccess::Only(Vec::new()));
        let Some(place) = sandboxed(policy) else {
            return;
        };
        std::fs::write(place.outside("secret"), "secret").unwrap();
        place.file("f", "inside");
        let secret = place.outside("secret");
        let answered = bash(&place, &format!("cat f; cat {}", secret.display())).await;
        assert!(answered.text.starts_with("inside"), "{}", answered.text);
        assert!(!answered.text.contains("secret\n"), "{}", answered.text);
        assert!(answered.is_error);
    }
}

#[tokio::test]
async fn f67_a_root_that_a_command_replaces_by_a_link_opens_nothing() {
    for policy in backends() {
        let Some(mut place) = sandboxed(policy.clone()) else {
            return;
        };
        let outside = place.outside("kept");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), "hidden").unwrap();
        let (cache, docs) = (place.root().join("cache"), place.root().join("docs"));
        std::fs::create_dir(&cache).unwrap();
        std::fs::create_dir(&docs).unwrap();
        let policy = policy
            .with_write_root(&cache)
            .with_read(ReadAccess::Only(vec![docs]));
        place.set = ToolSet::builder(Workspace::confined(place.root()).unwrap())
            .bash(BashConfig::sandboxed(policy))
            .build()
            .unwrap();
        let kept = outside.display();
        let swapped = format!("rmdir cache docs && ln -s {kept} cache && ln -s {kept} docs");
        assert_eq!(bash(&place, &swapped).await.text, "(no output)");
        let answered = bash(&place, "touch cache/new; cat docs/secret cache/secret").await;
        assert!(answered.is_error, "{}", answered.text);
        assert!(!answered.text.contains("hidden"), "{}", answered.text);
        assert!(!outside.join("new").exists());
    }
}

#[tokio::test]
async fn f67_a_protected_file_that_a_command_makes_a_link_opens_nothing() {
    for policy in backends() {
        let policy = policy.with_read(ReadAccess::Only(Vec::new()));
        let Some(place) = sandboxed(policy) else {
            return;
        };
        let secret = place.outside("secret");
        std::fs::write(&secret, "hidden").unwrap();
        let made = format!("mkdir .git && ln -s {} .git/config", secret.display());
        assert!(!bash(&place, &made).await.is_error);
        let answered = bash(&place, "echo on; cat .git/config").await;
        assert!(answered.text.starts_with("on\n"), "{}", answered.text);
        assert!(!answered.text.contains("hidden"), "{}", answered.text);
    }
}

#[tokio::test]
async fn f67_devices_cannot_be_made() {
    for policy in backends() {
        let Some(place) = sandboxed(policy) else {
            return;
        };
        for command in ["mknod full c 1 7", "mknod loop b 7 0"] {
            let answered = bash(&place, command).await;
            assert!(answered.is_error, "{command}: {}", answered.text);
        }
        let answered = bash(&place, "mkfifo pipe && echo ok").await;
        assert_eq!(answered.text, "ok");
    }
}

#[tokio::test]
async fn f69_the_environment_of_the_host_cannot_be_read() {
    let pid = std::process::id();
    for policy in backends() {
        let Some(place) = sandboxed(policy) else {
            return;
        };
        let answered = bash(&place, &format!("tr '\\0' '\\n' < /proc/{pid}/environ")).await;
        assert!(answered.is_error, "{}", answered.text);
        assert!(!answered.text.contains("PATH="), "{}", answered.text);
    }
}

#[tokio::test]
async fn a_sandboxed_command_is_ended_like_any_other() {
    for policy in backends() {
        let Some(place) = sandboxed(policy) else {
            return;
        };
        let arguments =
            json!({ "command": "echo begun; setsid sleep 60 & sleep 60", "timeout": 0.5 });
        let answered = place.call("bash", arguments).await;
        assert_eq!(
            answered.text,
            "begun\n\nCommand timed out after 0.5 seconds"
        );
    }
}

#[test]
fn f68_a_kernel_that_cannot_enforce_it_gets_no_tools() {
    let dir = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new().unwrap();
    let without: fn(&Rules) -> Result<Enforced, String> =
        |_| Err("Landlock: not supported by the kernel".to_owned());
    let policy = SandboxPolicy::new();
    let error = Sandbox::tried(&policy, dir.path(), &spill, &[], without).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sandbox for commands cannot be enforced: Landlock: not supported by the kernel"
    );
    let partly = Sandbox::tried(&policy, dir.path(), &spill, &[], |_| Ok(Enforced::Partly));
    assert_eq!(partly.unwrap().state(), "partial");
}

#[test]
fn a_root_that_is_missing_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let policy = SandboxPolicy::new().with_write_root(dir.path().join("missing"));
    let built = ToolSet::builder(Workspace::confined(dir.path()).unwrap())
        .bash(BashConfig::sandboxed(policy))
        .build();
    match built {
        Err(SetupError::Folder { path, .. }) => assert_eq!(path, dir.path().join("missing")),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the root is missing"),
    }
    assert!(Path::new("/").exists());
}
