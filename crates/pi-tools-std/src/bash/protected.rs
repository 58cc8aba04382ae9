//! Files that commands should leave alone although they may be able to change them.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The most files and folders that are looked at below one path.
const MAX_ENTRIES: usize = 1_000;

/// The most bytes of a file that are looked at.
const MAX_BYTES: u64 = 1 << 20;

/// Paths that are watched.
#[derive(Debug, Clone)]
pub(super) struct Protected {
    paths: Vec<PathBuf>,
}

/// What the files were like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct State(BTreeMap<PathBuf, u64>);

impl Protected {
    /// Watches what git runs or obeys in a folder, and paths of the embedder.
    pub(super) fn new(folder: &Path, others: &[PathBuf]) -> Self {
        Self {
            paths: paths(folder, others),
        }
    }

    /// Looks at all files.
    pub(super) fn look(&self) -> State {
        let mut state = State::default();
        for path in &self.paths {
            let mut left = MAX_ENTRIES;
            look(path, &mut left, &mut state.0);
        }
        state
    }
}

impl State {
    /// Lists what is not as it was.
    pub(super) fn changed(&self, now: &Self) -> Vec<PathBuf> {
        let mut changed: Vec<_> = self
            .0
            .keys()
            .chain(now.0.keys())
            .filter(|path| self.0.get(*path) != now.0.get(*path))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// Lists what git runs or obeys in a folder, and paths of the embedder.
pub(super) fn paths(folder: &Path, others: &[PathBuf]) -> Vec<PathBuf> {
    let git = folder.join(".git");
    let mut paths = vec![git.join("hooks"), git.join("config")];
    paths.extend_from_slice(others);
    paths
}

/// Looks at a file or folder, as long as something is `left` of how many may be: a command may have
/// made any number.
fn look(path: &Path, left: &mut usize, state: &mut BTreeMap<PathBuf, u64>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries.take(*left) {
            look(&entry.path(), left, state);
        }
        return;
    }
    let mut hasher = DefaultHasher::new();
    metadata.len().hash(&mut hasher);
    metadata.permissions().readonly().hash(&mut hasher);
    #[cfg(unix)]
    std::os::unix::fs::MetadataExt::mode(&metadata).hash(&mut hasher);
    if metadata.is_symlink() {
        fs::read_link(path).ok().hash(&mut hasher);
    } else if metadata.is_file() {
        let mut content = Vec::new();
        if read(path, &mut content).is_ok() {
            content.hash(&mut hasher);
        }
    }
    state.insert(path.to_owned(), hasher.finish());
}

/// Reads the start of a file, without waiting if it is no regular one any more.
fn read(path: &Path, content: &mut Vec<u8>) -> io::Result<usize> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)?.take(MAX_BYTES).read_to_end(content)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::{MAX_ENTRIES, Protected};

    #[test]
    fn no_number_of_folders_takes_long_or_hides_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let hooks = dir.path().join(".git/hooks");
        let deep = (0..MAX_ENTRIES / 2).fold(hooks.clone(), |path, _| path.join("d"));
        for number in 0..MAX_ENTRIES {
            fs::create_dir_all(deep.join(number.to_string())).unwrap();
        }
        let mut left = MAX_ENTRIES;
        super::look(&hooks, &mut left, &mut BTreeMap::new());
        assert_eq!(left, 0);

        let config = dir.path().join(".git/config");
        fs::write(&config, "old").unwrap();
        let watched = Protected::new(dir.path(), &[]);
        let before = watched.look();
        fs::write(&config, "new").unwrap();
        assert_eq!(before.changed(&watched.look()), [config]);
    }
}
