//! The faults of the reliability catalogue that concern the tools on files, each by its number.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_core::ToolContext;
use serde_json::json;

use crate::ops::{
    FileError, Identity, Kind, Listing, OpenFile, ReadOps, Replace, Replaced, Stat, WriteOps,
};
use crate::testing::Place;
use crate::{GrepConfig, Limits, LocalFiles, ReadConfig, WriteConfig};

/// Far more than a refusal takes, far less than a hang.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn f62_links_that_lead_out_are_refused_by_every_tool() {
    let place = Place::new();
    let secret = place.outside("secret");
    fs::write(&secret, "secret").unwrap();
    place.link("file", &secret);
    place.link("up", "..");
    place.link("chain", "file");
    place.link("magic", "/proc/self/root");
    for path in [
        "../secret",
        "file",
        "chain",
        "up/secret",
        "magic/etc/passwd",
        "/etc/passwd",
    ] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            (
                "edit",
                json!({ "path": path, "oldText": "a", "newText": "b" }),
            ),
            ("grep", json!({ "path": path, "pattern": "s" })),
        ] {
            let text = place.fails(tool, arguments).await;
            assert!(
                text.contains("is outside the workspace"),
                "{tool} {path}: {text}"
            );
        }
    }
    for path in ["..", "up", "magic", "/"] {
        for (tool, arguments) in [
            ("ls", json!({ "path": path })),
            ("find", json!({ "path": path, "pattern": "*" })),
            ("grep", json!({ "path": path, "pattern": "s" })),
        ] {
            let text = place.fails(tool, arguments).await;
            assert!(
                text.contains("is outside the workspace"),
                "{tool} {path}: {text}"
            );
        }
    }
    assert_eq!(
        place.ok("grep", json!({ "pattern": "secret" })).await,
        "No matches found"
    );
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn f62_a_folder_swapped_for_a_link_during_writes_never_leads_out() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let place = Place::new();
    let outside = place.outside("target");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "secret").unwrap();
    let root = place.root();
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/f"), "inside").unwrap();
    symlink(&outside, root.join("link")).unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (stop, root) = (Arc::clone(&stop), root.clone());
        move || {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(
                    CWD,
                    root.join("d"),
                    CWD,
                    root.join("link"),
                    RenameFlags::EXCHANGE,
                )
                .unwrap();
            }
        }
    });
    for n in 0..300 {
        let arguments = json!({ "path": "d/f", "content": format!("inside {n}") });
        place.call("write", arguments).await;
        let read = place.call("read", json!({ "path": "d/f" })).await;
        assert!(!read.text.contains("secret"), "{}", read.text);
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(fs::read(outside.join("f")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[tokio::test]
async fn f63_what_is_no_regular_file_is_refused_at_once() {
    let place = Place::on(
        |root| crate::Workspace::unconfined(root).unwrap(),
        |set| set,
    );
    fifo(&place.root().join("pipe"));
    place.link("to-pipe", "pipe");
    place.link("to-zero", "/dev/zero");
    let _socket = std::os::unix::net::UnixListener::bind(place.root().join("socket")).unwrap();
    let start = Instant::now();
    for path in [
        "pipe",
        "to-pipe",
        "to-zero",
        "/dev/zero",
        "/dev/null",
        "/dev/tty",
        "socket",
    ] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            (
                "edit",
                json!({ "path": path, "oldText": "a", "newText": "b" }),
            ),
            ("grep", json!({ "path": path, "pattern": "s" })),
        ] {
            let text = place.fails(tool, arguments).await;
            assert_eq!(text, format!("{path} is not a regular file."), "{tool}");
        }
    }
    assert!(start.elapsed() < SOON);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn f63_files_of_the_kernel_are_read_to_their_end_or_refused() {
    let place = Place::on(
        |root| crate::Workspace::unconfined(root).unwrap(),
        |set| set,
    );
    let start = Instant::now();
    let status = place
        .ok("read", json!({ "path": "/proc/self/status" }))
        .await;
    assert!(status.starts_with("Name:"), "{status}");
    let log = place.call("read", json!({ "path": "/proc/kmsg" })).await;
    assert!(log.is_error, "{}", log.text);
    let refusals = [
        "/proc/kmsg is not a regular file.",
        "Permission denied: /proc/kmsg",
    ];
    assert!(refusals.contains(&log.text.as_str()), "{}", log.text);
    let edit = json!({ "path": "/proc/kmsg", "oldText": "a", "newText": "b" });
    let log = place.call("edit", edit).await;
    assert!(refusals.contains(&log.text.as_str()), "{}", log.text);
    assert!(start.elapsed() < SOON);
}

#[tokio::test]
async fn f63_a_search_passes_by_what_is_no_regular_file() {
    let place = Place::new();
    fifo(&place.root().join("pipe"));
    place.link("to-zero", "/dev/zero");
    place.file("ok.txt", "needle\n");
    assert_eq!(
        place.ok("grep", json!({ "pattern": "needle" })).await,
        "ok.txt:1: needle"
    );
    assert_eq!(place.ok("ls", json!({})).await, "ok.txt\npipe\nto-zero");
}

#[tokio::test]
async fn f64_a_file_that_changes_while_it_is_read_gives_a_result() {
    let place = Place::new();
    let path = place.file("log", "line\n");
    let stop = Arc::new(AtomicBool::new(false));
    let changing = std::thread::spawn({
        let (stop, path) = (Arc::clone(&stop), path.clone());
        move || {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                fs::write(&path, "line\n".repeat(n * 37 % 50_000 + 1)).unwrap();
            }
        }
    });
    for _ in 0..200 {
        let read = place.call("read", json!({ "path": "log" })).await;
        assert!(
            read.text.starts_with("line\n") || read.text == "(empty file)",
            "{}",
            read.text
        );
        place
            .ok("grep", json!({ "pattern": "line", "limit": 1 }))
            .await;
    }
    stop.store(true, Ordering::Relaxed);
    changing.join().unwrap();
}

#[tokio::test]
async fn f66_patterns_that_blow_up_elsewhere_take_linear_time() {
    let place = Place::new();
    place.file("f", "a".repeat(200_000));
    let start = Instant::now();
    for pattern in [
        "(a*)*b",
        "(a|aa)+$b",
        "(.*)(.*)(.*)(.*)x",
        "(a?){100}a{100}b",
    ] {
        let answered = place.call("grep", json!({ "pattern": pattern })).await;
        assert_eq!(answered.text, "No matches found", "{pattern}");
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn f66_a_search_of_endless_folders_stops_and_says_so() {
    let limits = Limits {
        search_time: Duration::from_millis(300),
        ..Limits::default()
    };
    let place = Place::with(|set| {
        set.limits(limits)
            .grep(GrepConfig::default().with_ops(Endless))
            .find(crate::FindConfig::default().with_ops(Endless))
    });
    let start = Instant::now();
    for (tool, found) in [
        ("grep", "No matches found"),
        ("find", "No files found matching pattern"),
    ] {
        let answered = place.call(tool, json!({ "pattern": "needle" })).await;
        assert_eq!(
            answered.text,
            format!("{found}\n\n[Search stopped after 0s; results are partial]")
        );
    }
    assert!(start.elapsed() < SOON);
}

/// Every folder has folders and files in it, for ever.
struct Endless;

impl ReadOps for Endless {
    fn stat(&self, _: &Path) -> Result<Stat, FileError> {
        Ok(Stat {
            kind: Kind::Folder,
            len: 0,
            stamp: crate::Stamp::default(),
        })
    }

    fn open(&self, _: &Path) -> Result<OpenFile, FileError> {
        Err(FileError::NotFound)
    }

    fn list(&self, _: &Path) -> Result<Listing, FileError> {
        let entries = [("a", Kind::Folder), ("b", Kind::File), ("c", Kind::Folder)];
        Ok(Box::new(entries.into_iter().map(|(name, kind)| {
            Ok(crate::Entry {
                name: name.into(),
                kind,
            })
        })))
    }
}

#[tokio::test]
async fn f66_what_cannot_be_read_is_counted() {
    let refusing = |root: &Path| Refusing(LocalFiles::confined(root).unwrap());
    let place = Place::new();
    for path in ["a/f", "refused/f", "b/refused", "c/f"] {
        place.file(path, "needle\n");
    }
    let set = crate::ToolSet::builder(crate::Workspace::on(
        place.root().canonicalize().unwrap(),
        NoWriting(refusing(&place.root())),
    ))
    .read_only()
    .build()
    .unwrap();
    let answered = crate::testing::call_set(&set, "grep", json!({ "pattern": "needle" })).await;
    assert_eq!(
        answered.text,
        "a/f:1: needle\nc/f:1: needle\n\n[2 files could not be read]"
    );
    let answered = crate::testing::call_set(&set, "find", json!({ "pattern": "f" })).await;
    assert_eq!(answered.text, "a/f\nc/f\n\n[1 folders could not be read]");
}

/// Refuses everything named so.
struct Refusing(LocalFiles);

impl Refusing {
    fn check(path: &Path) -> Result<(), FileError> {
        match path.ends_with("refused") {
            true => Err(FileError::PermissionDenied),
            false => Ok(()),
        }
    }
}

impl ReadOps for Refusing {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        self.0.stat(path)
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        Self::check(path)?;
        self.0.open(path)
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        Self::check(folder)?;
        self.0.list(folder)
    }
}

/// Lets a machine that is only read stand for one that is written.
struct NoWriting<O>(O);

impl<O: ReadOps> ReadOps for NoWriting<O> {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        self.0.stat(path)
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        self.0.open(path)
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        self.0.list(folder)
    }

    fn identity(&self, path: &Path) -> Identity {
        self.0.identity(path)
    }
}

impl<O: ReadOps> WriteOps for NoWriting<O> {
    fn replace(&self, _: &Path, _: &[u8], _: &Replace<'_>) -> Result<Replaced, FileError> {
        Err(FileError::ReadOnly)
    }
}

/// Lets each step of a machine wait until it is let through.
struct Gated {
    files: LocalFiles,
    /// Told when a file is about to be replaced.
    reached: Mutex<Option<tokio::sync::oneshot::Sender<()>>>,
    open: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl ReadOps for Gated {
    fn stat(&self, path: &Path) -> Result<Stat, FileError> {
        self.files.stat(path)
    }

    fn open(&self, path: &Path) -> Result<OpenFile, FileError> {
        self.files.open(path)
    }

    fn list(&self, folder: &Path) -> Result<Listing, FileError> {
        self.files.list(folder)
    }

    fn identity(&self, path: &Path) -> Identity {
        self.files.identity(path)
    }
}

impl WriteOps for Gated {
    fn replace(
        &self,
        path: &Path,
        content: &[u8],
        how: &Replace<'_>,
    ) -> Result<Replaced, FileError> {
        if let Some(reached) = self.reached.lock().unwrap().take() {
            reached.send(()).unwrap();
            self.open.lock().unwrap().recv().unwrap();
        }
        self.files.replace(path, content, how)
    }
}

/// Begins a write that stops right before the file is replaced.
async fn gated_write(act: impl FnOnce(&ToolContext)) -> (Place, crate::testing::Answered) {
    let (open, gate) = std::sync::mpsc::channel();
    let (reached, at_gate) = tokio::sync::oneshot::channel();
    let gate = Mutex::new(gate);
    let place = Place::on(
        |root| crate::Workspace::confined(root).unwrap(),
        |set| {
            let files = LocalFiles::confined(set.folder()).unwrap();
            set.write(WriteConfig::default().with_ops(Gated {
                files,
                reached: Mutex::new(Some(reached)),
                open: gate,
            }))
            .read(ReadConfig::default())
        },
    );
    place.file("f", "old");
    let cx = ToolContext::detached("c");
    let call = place.call_in(
        "write",
        json!({ "path": "f", "content": "new" }),
        cx.clone(),
    );
    let acting = async {
        at_gate.await.unwrap();
        act(&cx);
        open.send(()).unwrap();
    };
    let (answered, ()) = futures_util::future::join(call, acting).await;
    (place, answered)
}

#[tokio::test]
async fn an_abort_before_a_file_is_replaced_leaves_it_as_it_was() {
    let (place, answered) = gated_write(|cx| cx.abort_token().cancel()).await;
    assert_eq!(answered.text, "Operation aborted");
    assert_eq!(place.content("f"), b"old");
    assert_eq!(
        fs::read_dir(place.root()).unwrap().count(),
        1,
        "no temporary file"
    );
}

#[tokio::test]
async fn a_write_that_is_not_aborted_goes_through_the_gate() {
    let (place, answered) = gated_write(|_| ()).await;
    assert_eq!(answered.text, "Successfully wrote 3 bytes to f");
    assert_eq!(place.content("f"), b"new");
}

#[tokio::test]
async fn a_write_whose_caller_is_gone_keeps_its_place_until_it_has_ended() {
    let (open, gate) = std::sync::mpsc::channel();
    let (reached, at_gate) = tokio::sync::oneshot::channel();
    let gate = Mutex::new(gate);
    let place = Place::with(|set| {
        let files = LocalFiles::confined(set.folder()).unwrap();
        set.write(WriteConfig::default().with_ops(Gated {
            files,
            reached: Mutex::new(Some(reached)),
            open: gate,
        }))
    });
    place.file("f", "old");
    {
        let cx = ToolContext::detached("c1");
        let write = place.call_in("write", json!({ "path": "f", "content": "new" }), cx);
        tokio::select! {
            _ = write => panic!("the gate is closed"),
            reached = at_gate => reached.unwrap(),
        }
    }
    let read = place.call("read", json!({ "path": "f" }));
    tokio::pin!(read);
    tokio::select! {
        biased;
        _ = &mut read => panic!("the write has not ended"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    open.send(()).unwrap();
    // The caller was gone before the file was replaced, so the write was given up.
    assert_eq!(read.await.text, "old");
}
