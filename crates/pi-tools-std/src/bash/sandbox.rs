//! A sandbox of the kernel for commands; feature `sandbox`, Linux only.

#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod linux;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
pub(super) use self::linux::Sandbox;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
pub use self::linux::{Backend, ReadAccess, SandboxPolicy};

#[cfg(not(all(feature = "sandbox", target_os = "linux")))]
mod none {
    use std::io;
    use std::path::Path;
    use std::process::Command;

    use crate::bash::ops::ShellCommand;

    /// There is none here.
    pub(in crate::bash) enum Sandbox {}

    impl Sandbox {
        pub(in crate::bash) fn command(&self, _: &Path, _: &ShellCommand) -> Command {
            match *self {}
        }

        pub(in crate::bash) fn enter(&self) -> io::Result<()> {
            match *self {}
        }
    }
}
#[cfg(not(all(feature = "sandbox", target_os = "linux")))]
pub(super) use self::none::Sandbox;
