//! A sandbox of the kernel for commands; feature `sandbox`. Only Linux has one.

#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod linux;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
pub(super) use self::linux::Sandbox;
#[cfg(feature = "sandbox")]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "nothing can be enforced here")
)]
mod wanted;
#[cfg(feature = "sandbox")]
pub use self::wanted::{Backend, ReadAccess, SandboxPolicy};

#[cfg(all(unix, not(all(feature = "sandbox", target_os = "linux"))))]
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
#[cfg(all(unix, not(all(feature = "sandbox", target_os = "linux"))))]
pub(super) use self::none::Sandbox;
