//! Layer `tool`: calls of the standard tools on files that are made for the case.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pi_core::{ToolContext, UserContent, joined_text};
use pi_tools_std::{BashConfig, ToolSet, Workspace};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{Case, Findings};

/// A timer that others see tick.
const TICK: Duration = Duration::from_millis(5);

/// What the file `mark` of a case must not do once a call has ended.
const MARK_LATER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

const MARK_EXPLAINED: &str = "markStopsGrowing: the size of the file mark is the same one and two \
                              seconds after the call returned";
const TICKS: &str = "a timer task on the same runtime ticks during each call";
const MEMORY: &str = "the process's memory does not grow by more than 50 MB";

/// The most that [`MEMORY`] allows.
const MAX_GROWTH: u64 = 50 << 20;

pub(super) async fn run(case: &Case) -> Result<Findings> {
    let setup = case.json("setup.json")?;
    let calls = case.json("calls.json")?;
    let calls = calls.as_array().context("calls.json is no list")?;
    let mut findings = Findings::default();
    let known = [MARK_EXPLAINED, TICKS, MEMORY];
    for sentence in case.invariants().filter(|text| !known.contains(text)) {
        findings.cannot(format!("the sentence \"{sentence}\""));
    }
    let mut place: Option<Place> = None;
    for call in calls {
        let text = |key: &str| call.get(key).and_then(Value::as_str);
        let name = text("name").context("a call without a name")?;
        if let Some(program) = text("needs").filter(|program| !is_installed(program)) {
            findings.cannot(format!("{name} needs {program}, which is not installed"));
            continue;
        }
        let keep = call.get("sameFiles").and_then(Value::as_bool) == Some(true);
        let here = match place.take().filter(|_| keep) {
            Some(place) => place,
            None => Place::new(&setup)?,
        };
        let expected = case.expected_of(name)?;
        let called = here.call(call).await?;
        let seen = here.seen(&called, expected).await?;
        findings.compare(name, expected, &seen);
        if let Some(limit) = expected.get("withinMs").and_then(Value::as_u64)
            && called.took > Duration::from_millis(limit)
        {
            findings.differ(format!("{name}: took {:?}", called.took));
        }
        for sentence in case.invariants() {
            let holds = match sentence {
                TICKS => called.ticks > 0 || called.took < 4 * TICK,
                MEMORY => called.grown < MAX_GROWTH,
                _ => true,
            };
            if !holds {
                findings.differ(format!("{name}: not true that {sentence}"));
            }
        }
        place = Some(here);
    }
    Ok(findings)
}

/// A folder with the files of a case, and tools that work in it.
struct Place {
    dir: TempDir,
    /// The files as they were made.
    before: BTreeMap<String, Vec<u8>>,
    set: ToolSet,
}

/// What a call did.
struct Called {
    text: String,
    is_error: bool,
    took: Duration,
    /// How often a timer beside it went off.
    ticks: u64,
    /// Bytes by which the process grew.
    grown: u64,
}

impl Place {
    fn new(setup: &Value) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let files = setup.get("files").and_then(Value::as_array);
        let mut before = BTreeMap::new();
        for file in files.into_iter().flatten() {
            let path = file
                .get("path")
                .and_then(Value::as_str)
                .context("a file without a path")?;
            make(&dir.path().join(path), file)?;
            if dir.path().join(path).is_file() {
                before.insert(path.to_owned(), fs::read(dir.path().join(path))?);
            }
        }
        let set = ToolSet::builder(Workspace::confined(dir.path())?)
            .all(BashConfig::unsandboxed())
            .build()?;
        Ok(Self { dir, before, set })
    }

    async fn call(&self, call: &Value) -> Result<Called> {
        let name = call.get("tool").and_then(Value::as_str).unwrap_or_default();
        let tool = self
            .set
            .tool(name)
            .with_context(|| format!("there is no tool {name}"))?;
        let arguments = call.get("arguments").and_then(Value::as_object).cloned();
        let arguments = in_our_form(name, arguments.unwrap_or_default());
        let cx = ToolContext::detached("call_1");
        let abort = cx.abort_token().clone();
        if call.get("abortBeforeStart").and_then(Value::as_bool) == Some(true) {
            abort.cancel();
        }
        let abort_after = call.get("abortAfterMs").and_then(Value::as_u64);
        let ticks = Arc::new(AtomicU64::new(0));
        let ticking = tokio::spawn({
            let ticks = Arc::clone(&ticks);
            async move {
                loop {
                    tokio::time::sleep(TICK).await;
                    ticks.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        forget_peak();
        let before = resident();
        let start = Instant::now();
        let running = async {
            let call = tool.prepare(arguments)?;
            tool.run(call, cx).await
        };
        let aborting = async {
            match abort_after {
                Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
            abort.cancel();
            std::future::pending::<()>().await;
        };
        let result = tokio::select! {
            result = running => result,
            () = aborting => bail!("the waiting has no end"),
        };
        ticking.abort();
        let (content, is_error) = match &result {
            Ok(output) => (&output.content, output.is_error),
            Err(error) => (&error.content, true),
        };
        Ok(Called {
            text: text_of(content),
            is_error,
            took: start.elapsed(),
            ticks: ticks.load(Ordering::Relaxed),
            grown: resident().saturating_sub(before),
        })
    }

    /// Collects what the keys of `expected.json` look at.
    async fn seen(&self, called: &Called, expected: &Value) -> Result<Map<String, Value>> {
        let mut seen = Map::new();
        seen.insert("isError".into(), called.is_error.into());
        seen.insert("text".into(), called.text.clone().into());
        seen.insert("textBytes".into(), called.text.len().into());
        seen.insert("memoryGrowthMb".into(), (called.grown >> 20).into());
        let mark = self.dir.path().join("mark");
        seen.insert("markMissing".into(), (!mark.exists()).into());
        if expected.get("markStopsGrowing").is_some() {
            let mut sizes = Vec::new();
            let start = Instant::now();
            for later in MARK_LATER {
                tokio::time::sleep(later.saturating_sub(start.elapsed())).await;
                sizes.push(fs::metadata(&mark)?.len());
            }
            sizes.dedup();
            seen.insert("markStopsGrowing".into(), (sizes.len() == 1).into());
        }
        if let Some(files) = expected.get("filesAfter").and_then(Value::as_object) {
            seen.insert("filesAfter".into(), self.files_after(files)?);
        }
        Ok(seen)
    }

    fn files_after(&self, expected: &Map<String, Value>) -> Result<Value> {
        let mut after = Map::new();
        for (path, how) in expected {
            let content = fs::read(self.dir.path().join(path))?;
            let file = if how.get("base64").is_some() {
                json!({ "base64": BASE64.encode(&content) })
            } else if how.get("unchanged").is_some() {
                json!({ "unchanged": self.before.get(path) == Some(&content) })
            } else {
                json!({ "text": String::from_utf8_lossy(&content) })
            };
            after.insert(path.clone(), file);
        }
        Ok(after.into())
    }
}

/// Turns the arguments of a case into those of our tools.
fn in_our_form(tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    if tool == "edit"
        && let (Some(old), Some(new)) = (arguments.remove("oldText"), arguments.remove("newText"))
    {
        arguments.insert("edits".into(), json!([{ "oldText": old, "newText": new }]));
    }
    arguments
}

/// Makes one file of a `setup.json`.
fn make(path: &Path, file: &Value) -> Result<()> {
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    let parent = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(parent)?;
    if let Some(content) = text("text") {
        fs::write(path, content)?;
    } else if let Some(content) = text("base64") {
        fs::write(path, BASE64.decode(content)?)?;
    } else if let Some(repeat) = file.get("repeat") {
        let piece = repeat
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let times = repeat
            .get("times")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        fs::write(path, piece.repeat(usize::try_from(times)?))?;
    } else if file.get("dir").is_some() {
        fs::create_dir_all(path)?;
    } else {
        make_special(path, file)?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_special(path: &Path, file: &Value) -> Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    if let Some(target) = file.get("symlink").and_then(Value::as_str) {
        std::os::unix::fs::symlink(target, path)?;
    } else if file.get("fifo").is_some() {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    } else {
        bail!("a file of a kind that is not known: {file}");
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_special(_: &Path, file: &Value) -> Result<()> {
    bail!("a file of a kind that this system does not have: {file}");
}

fn text_of(content: &[UserContent]) -> String {
    joined_text(content).into_owned()
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
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
    kib.unwrap_or_default() * 1024
}
