//! Conversations on disk: one file for each, one message a line.
//!
//! ```text
//! <state>/sessions/<folder>-<hash of its path>/<time>-<process>.jsonl
//! ```
//!
//! A line is written by one call on an append handle, so that a crash can cut only the last one.
//! What cannot be read is reported and stays where it is.

mod read;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pi_core::AgentMessage;

use self::read::Contents;

const EXTENSION: &str = "jsonl";

/// A conversation that is kept. Its file is made with the first message.
#[derive(Debug)]
pub(crate) struct Session {
    path: PathBuf,
    file: Option<File>,
    /// The length of the file, all lines of which are whole.
    length: u64,
    /// Why nothing more can be written.
    failed: bool,
}

/// A conversation that is gone on with.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub(crate) session: Session,
    pub(crate) messages: Vec<AgentMessage>,
    /// What the user should know about the file.
    pub(crate) reports: Vec<String>,
}

impl Session {
    /// Begins a new conversation; nothing is written yet. `now` is in milliseconds since the Unix
    /// epoch.
    pub(crate) fn new(folder: &Path, now: u64) -> Self {
        let name = format!("{now:013}-{}.{EXTENSION}", std::process::id());
        Self {
            path: folder.join(name),
            file: None,
            length: 0,
            failed: false,
        }
    }

    /// Goes on with the conversation in `folder` that was written to last; `None` if there is none.
    ///
    /// # Errors
    /// If the file cannot be read, or another process writes to it.
    pub(crate) fn resume(folder: &Path, now: u64) -> anyhow::Result<Option<Resumed>> {
        let Some(path) = last(folder)? else {
            return Ok(None);
        };
        let shown = path.display();
        let mut file = open(&path, false).with_context(|| format!("cannot open {shown}"))?;
        lock(&file).with_context(|| format!("another process has {shown} open"))?;
        let contents = read::read(&mut file).with_context(|| format!("cannot read {shown}"))?;
        let mut reports = Vec::new();
        let session = if contents.bad.is_empty() {
            mend(&path, file, &contents, now, &mut reports)
                .with_context(|| format!("cannot mend {shown}"))?
        } else {
            copy(folder, &path, &contents, now, &mut reports)
                .with_context(|| format!("cannot write a copy of {shown}"))?
        };
        Ok(Some(Resumed {
            session,
            messages: contents.messages,
            reports,
        }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a message. After a failure the file ends behind the last whole line, and nothing more is
    /// written.
    ///
    /// # Errors
    /// If the message cannot be written; only the first failure is told.
    pub(crate) fn append(&mut self, message: &AgentMessage) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let written = self.write(message);
        if written.is_err() {
            self.failed = true;
            if let Some(file) = &self.file {
                // What cannot be cut off here is cut off as a torn line by the next reader.
                let _ = file.set_len(self.length);
            }
        }
        written
    }

    /// Waits until all that was written is on the disk.
    pub(crate) fn sync(&self) {
        if let Some(file) = &self.file {
            // The lines are written; a disk that cannot sync says so at the next write.
            let _ = file.sync_data();
        }
    }

    fn write(&mut self, message: &AgentMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                make_private(self.path.parent().unwrap_or(Path::new(".")))?;
                let file = open(&self.path, true)?;
                lock(&file)?;
                self.file.insert(file)
            }
        };
        file.write_all(&line)?;
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Puts the end of a file right: a last line without its line feed gets it, a torn one is cut off and
/// kept beside.
fn mend(
    path: &Path,
    mut file: File,
    contents: &Contents,
    now: u64,
    reports: &mut Vec<String>,
) -> io::Result<Session> {
    let mut length = contents.length;
    if let Some(torn) = &contents.torn {
        let beside = path.with_extension(format!("{EXTENSION}.torn-{now}"));
        let mut copy = open(&beside, true)?;
        copy.write_all(torn)?;
        copy.sync_data()?;
        file.set_len(length)?;
        reports.push(format!(
            "the last line of the conversation was cut, perhaps by a crash; its {} bytes are in {}",
            torn.len(),
            beside.display()
        ));
    } else if contents.lacks_line_feed {
        file.write_all(b"\n")?;
        length += 1;
    }
    Ok(Session {
        path: path.to_owned(),
        file: Some(file),
        length,
        failed: false,
    })
}

/// Goes on in a new file with the lines that could be read; the old one stays as it is.
fn copy(
    folder: &Path,
    path: &Path,
    contents: &Contents,
    now: u64,
    reports: &mut Vec<String>,
) -> io::Result<Session> {
    let mut session = Session::new(folder, now);
    for message in &contents.messages {
        session.append(message)?;
    }
    session.sync();
    for (line, error) in &contents.bad {
        reports.push(format!(
            "line {line} of {} cannot be read: {error}",
            path.display()
        ));
    }
    reports.push(format!(
        "the conversation goes on without what cannot be read, in {}; the old file stays as it is",
        session.path.display()
    ));
    Ok(session)
}

/// Returns the folder for the conversations of a folder.
pub(crate) fn folder_of(state: &Path, folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    let hash = fnv1a(folder.as_os_str().as_encoded_bytes());
    state.join("sessions").join(format!("{name}-{hash:016x}"))
}

/// Returns the folder for what `pi` remembers: `PI_STATE_DIR`, else `pi` in `XDG_STATE_HOME`, else
/// `.local/state/pi` in the home folder. `None` if none of them is known.
pub(crate) fn state_dir(env: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let read = |name: &str| {
        env(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let xdg = || read("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || read("HOME").or_else(|| read("USERPROFILE"));
    read("PI_STATE_DIR")
        .or_else(|| xdg().map(|state| state.join("pi")))
        .or_else(|| home().map(|home| home.join(".local/state/pi")))
}

/// Makes a folder, and those above it, that only its owner may look into.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Finds the conversation that was written to last.
fn last(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let cannot_read = || format!("cannot read the folder {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.with_context(cannot_read)?,
    };
    let mut last = None;
    for entry in entries {
        let entry = entry.with_context(cannot_read)?;
        let path = entry.path();
        if path
            .extension()
            .is_none_or(|extension| extension != EXTENSION)
        {
            continue;
        }
        let modified = entry.metadata().and_then(|data| data.modified());
        let found = (modified.with_context(cannot_read)?, path);
        last = last.max(Some(found));
    }
    Ok(last.map(|(_, path)| path))
}

/// Opens a file to read and to append, for its owner alone.
fn open(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(is_new);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Keeps other processes from writing to a file as long as it is open.
#[cfg(unix)]
fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        // Some network drives cannot lock; the conversation is still better kept than not.
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOLCK) => Ok(()),
        locked => Ok(locked?),
    }
}

#[cfg(not(unix))]
fn lock(_file: &File) -> io::Result<()> {
    Ok(())
}

/// A hash that stays the same in all versions of this program.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
