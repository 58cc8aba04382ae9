//! The rules of `.gitignore` and `.ignore` files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::ops::ReadOps;

/// The most bytes of one file of rules.
const MAX_BYTES: u64 = 1 << 20;

/// The rules that hold in a folder: its own, and those of the folders above it.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    /// Of `.ignore` files; they come first.
    plain: Vec<Rules>,
    /// Of `.gitignore` files, and of `info/exclude`.
    git: Vec<Rules>,
    /// For each repository that was entered: how many of `git` belong to the ones around it.
    repositories: Vec<usize>,
}

/// The rules of one file.
#[derive(Debug)]
struct Rules {
    /// The folder of the file, absolute.
    folder: PathBuf,
    rules: Gitignore,
}

/// What was added when a folder was entered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entered {
    plain: usize,
    git: usize,
    repositories: usize,
}

impl Ignored {
    /// Adds the rules of a folder; `has` tells whether there is an entry of a name.
    pub(super) fn enter(
        &mut self,
        ops: &dyn ReadOps,
        folder: &Path,
        has: impl Fn(&str) -> bool,
    ) -> Entered {
        let before = Entered {
            plain: self.plain.len(),
            git: self.git.len(),
            repositories: self.repositories.len(),
        };
        if has(".git") {
            self.repositories.push(self.git.len());
            self.git
                .extend(Rules::read(ops, folder, ".git/info/exclude"));
        }
        if has(".gitignore") {
            self.git.extend(Rules::read(ops, folder, ".gitignore"));
        }
        if has(".ignore") {
            self.plain.extend(Rules::read(ops, folder, ".ignore"));
        }
        before
    }

    /// Takes the rules of a folder back.
    pub(super) fn leave(&mut self, before: Entered) {
        self.plain.truncate(before.plain);
        self.git.truncate(before.git);
        self.repositories.truncate(before.repositories);
    }

    /// Returns true if the rules hide a path below the folders that were entered.
    pub(super) fn hides(&self, path: &Path, is_folder: bool) -> bool {
        // A repository does not obey the one around it.
        let own = self.repositories.last().copied().unwrap_or(0);
        let git = self.git.get(own..).unwrap_or_default();
        let innermost_first = self.plain.iter().rev().chain(git.iter().rev());
        for rules in innermost_first {
            match rules.matched(path, is_folder) {
                Match::None => {}
                Match::Ignore(()) => return true,
                Match::Whitelist(()) => return false,
            }
        }
        false
    }
}

impl Rules {
    fn read(ops: &dyn ReadOps, folder: &Path, name: &str) -> Option<Self> {
        let file = ops.open(&folder.join(name)).ok()?;
        let mut text = Vec::new();
        file.content.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        // Paths are given relative to the folder, so its own path is of no matter here.
        let mut builder = GitignoreBuilder::new("");
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A broken line hides nothing, as in git.
            let _ = builder.add_line(None, line);
        }
        Some(Self {
            folder: folder.to_owned(),
            rules: builder.build().ok()?,
        })
    }

    fn matched(&self, path: &Path, is_folder: bool) -> Match<()> {
        match path.strip_prefix(&self.folder) {
            Ok(path) => self.rules.matched(path, is_folder).map(|_| ()),
            Err(_) => Match::None,
        }
    }
}
