//! The tools `grep` and `find`, and the walk that both make.

mod budget;
mod find;
mod glob;
mod grep;
mod ignored;
mod ordered;
mod walk;

pub(crate) use self::find::Find;
pub use self::find::{FindConfig, FindDetails};
pub(crate) use self::grep::Grep;
pub use self::grep::{GrepConfig, GrepDetails};

use std::path::Path;

/// Writes a relative path with slashes, whatever the system uses.
fn shown_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}
