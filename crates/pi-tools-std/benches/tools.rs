//! `cargo bench -p pi-tools-std`: `grep` beside ripgrep on a tree of 47,500 small files, and `read`
//! on a file of 2 GiB.
//!
//! Both run in one go on a warm cache. Where `rg` is not installed, its column is left out.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what the program is for"
)]

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pi_core::{ToolContext, ToolOutput};
use pi_tools_std::{GrepConfig, Limits, ReadConfig, ToolSet, Workspace};
use serde_json::{Value, json};

const FOLDERS: usize = 475;
const FILES: usize = 100;
const ROUNDS: usize = 7;

/// One match or a few, none, some hundred, and some hundred without regard to case.
const PATTERNS: [&str; 4] = [
    "needle_4711",
    "nothing_at_all",
    r"fn \w+_47\d\d\(",
    r"(?i)NEEDLE_\d+99$",
];

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        grep().await?;
        read().await
    })
}

async fn grep() -> io::Result<()> {
    let dir = tempfile::tempdir()?;
    make_tree(dir.path())?;
    let set = set(dir.path());
    println!("grep, {} files", FOLDERS * FILES);
    println!(
        "{:<22} {:>10} {:>10} {:>7}",
        "pattern", "grep", "rg", "ratio"
    );
    for pattern in PATTERNS {
        let arguments = json!({ "pattern": pattern, "limit": 1_000_000 });
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            call(&set, "grep", arguments.clone()).await;
            ours.push(start.elapsed());
            theirs.extend(ripgrep(dir.path(), pattern));
        }
        let ours = median(ours).as_secs_f64();
        if theirs.is_empty() {
            println!("{pattern:<22} {:>8.1}ms {:>10} {:>7}", ours * 1e3, "-", "-");
        } else {
            let theirs = median(theirs).as_secs_f64();
            println!(
                "{pattern:<22} {:>8.1}ms {:>8.1}ms {:>7.2}",
                ours * 1e3,
                theirs * 1e3,
                ours / theirs
            );
        }
    }
    Ok(())
}

/// Small source files, as in a large repository.
fn make_tree(root: &Path) -> io::Result<()> {
    fs::write(root.join(".gitignore"), "*.log\ntarget/\n")?;
    for folder in 0..FOLDERS {
        let path = root.join(format!("module{}/part{folder}", folder % 25));
        fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let number = folder * FILES + file;
            let mut text = String::new();
            for line in 0..(10 + number % 60) {
                text += &format!(
                    "fn function_{line}(argument: usize) -> usize {{ argument + {line} }}\n"
                );
            }
            text += &format!("fn last_{number}() {{}} // needle_{number}\n");
            fs::write(path.join(format!("file{file}.rs")), text)?;
        }
    }
    Ok(())
}

/// Runs ripgrep over the same files, sorted by none, its output thrown away.
fn ripgrep(root: &Path, pattern: &str) -> Option<Duration> {
    let start = Instant::now();
    Command::new("rg")
        .args([
            "--no-config",
            "--hidden",
            "--line-number",
            "--with-filename",
            "--no-require-git",
        ])
        .args(["--regexp", pattern, "."])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    Some(start.elapsed())
}

async fn read() -> io::Result<()> {
    let dir = tempfile::tempdir()?;
    let mut file = io::BufWriter::new(fs::File::create(dir.path().join("log"))?);
    let line = [b'x'; 127];
    for _ in 0..(2_u64 << 30) / 128 {
        file.write_all(&line)?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    drop(file);
    let set = set(dir.path());
    println!("\nread, 2 GiB in lines of 128 bytes");
    for offset in [1, 16_777_000] {
        forget_peak();
        let before = resident();
        let start = Instant::now();
        let output = call(&set, "read", json!({ "path": "log", "offset": offset })).await;
        let time = start.elapsed();
        let grown = resident().saturating_sub(before);
        println!(
            "offset {offset:>10}: {:>7.0}ms, {:>5} KiB more resident, {} bytes of text",
            time.as_secs_f64() * 1e3,
            grown / 1024,
            pi_core::joined_text(&output.content).len(),
        );
    }
    Ok(())
}

fn set(root: &Path) -> ToolSet {
    ToolSet::builder(Workspace::confined(root).expect("the folder is there"))
        .read(ReadConfig::default())
        .grep(GrepConfig::default())
        .limits(Limits::default())
        .build()
        .expect("these tools need nothing")
}

async fn call(set: &ToolSet, tool: &str, arguments: Value) -> ToolOutput {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let tool = set.tool(tool).expect("the set has it");
    let call = tool.prepare(arguments).expect("the arguments fit");
    tool.run(call, ToolContext::detached("c"))
        .await
        .expect("the call succeeds")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Makes the peak of memory begin anew, where the system can do that.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most bytes of the process in memory; 0 where the system does not tell.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
