//! Runs the command and keeps what it wrote.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// What the command did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Reads the lines of standard output as JSON.
    pub(crate) fn json_lines<T: DeserializeOwned>(&self) -> Vec<T> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text on stdout"),
            stderr: String::from_utf8(output.stderr).expect("text on stderr"),
        }
    }
}

/// Returns the command in `dir`, without any setting of the machine that runs the tests.
pub(crate) fn pi(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "NO_COLOR",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    command
        .current_dir(dir)
        .env(
            "PI_STATE_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/state"),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the command to its end.
pub(crate) fn run(dir: &Path, args: &[&str]) -> Run {
    pi(dir).args(args).output().expect("start pi").into()
}

/// Runs the command to its end with something on its standard input.
pub(crate) fn run_with_input(dir: &Path, args: &[&str], input: &[u8]) -> Run {
    let mut child = pi(dir)
        .args(args)
        .stdin(Stdio::piped())
        .spawn()
        .expect("start pi");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that refuses its input may close the pipe early.
    let _ = stdin.write_all(input);
    drop(stdin);
    wait(child)
}

/// Waits for a command that was started.
pub(crate) fn wait(child: Child) -> Run {
    child.wait_with_output().expect("wait for pi").into()
}

/// A folder with a few files.
pub(crate) fn folder() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("apple.txt"), "An apple.\nA second line.\n").expect("write");
    std::fs::write(
        dir.path().join("Cargo.toml"),
        "[package]\nname = \"pear\"\n",
    )
    .expect("write");
    std::fs::create_dir(dir.path().join("orchard")).expect("create");
    dir
}
