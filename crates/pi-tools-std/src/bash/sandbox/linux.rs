//! The sandbox of Linux: Landlock for files, seccomp for system calls, or bubblewrap for both.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::bash::ops::ShellCommand;
use crate::bash::protected;
use crate::bash::sandbox::wanted::{Backend, ReadAccess, SandboxPolicy};
use crate::bash::spill::SpillFolder;
use crate::error::SetupError;

/// The least version of Landlock that keeps a command from changing files: older ones let it cut
/// them off.
const NEEDED: ABI = ABI::V3;

/// The numbers of system calls of x32 are those of the others and this bit.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// What programs need to be able to read to run at all.
const SYSTEM: [&str; 11] = [
    "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/sbin", "/usr",
];

/// What the administrator keeps in a sandbox: what ordinary work on files and processes needs. By the
/// rest (making devices, mounting, loading modules, looking into other processes) a command gets
/// around every rule on files.
const KEPT: [(&str, CapabilitySet); 8] = [
    ("CAP_CHOWN", CapabilitySet::CHOWN),
    ("CAP_DAC_OVERRIDE", CapabilitySet::DAC_OVERRIDE),
    ("CAP_FOWNER", CapabilitySet::FOWNER),
    ("CAP_FSETID", CapabilitySet::FSETID),
    ("CAP_KILL", CapabilitySet::KILL),
    ("CAP_NET_BIND_SERVICE", CapabilitySet::NET_BIND_SERVICE),
    ("CAP_SETGID", CapabilitySet::SETGID),
    ("CAP_SETUID", CapabilitySet::SETUID),
];

/// A sandbox that this kernel can enforce.
#[derive(Debug)]
pub(in crate::bash) struct Sandbox {
    rules: Rules,
    state: &'static str,
}

/// What is enforced.
#[derive(Debug, Clone)]
struct Rules {
    backend: Backend,
    network: bool,
    best_effort: bool,
    /// `None` for everything.
    read: Option<Vec<PathBuf>>,
    write: Vec<PathBuf>,
    /// Only bubblewrap can enforce these.
    protected: Vec<PathBuf>,
    /// The workspace folder, for what is said.
    folder: PathBuf,
}

/// What the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Enforced {
    All,
    Partly,
}

impl Sandbox {
    /// # Errors
    /// If a root does not exist, or the kernel cannot enforce what the policy asks for.
    pub(in crate::bash) fn new(
        policy: &SandboxPolicy,
        folder: &Path,
        spill: &SpillFolder,
        protected: &[PathBuf],
    ) -> Result<Self, SetupError> {
        Self::tried(policy, folder, spill, protected, Rules::enter_for_good)
    }

    /// Builds it if `enter` can enter it, which happens on a thread that ends with that.
    fn tried(
        policy: &SandboxPolicy,
        folder: &Path,
        spill: &SpillFolder,
        protected: &[PathBuf],
        enter: fn(&Rules) -> Result<Enforced, String>,
    ) -> Result<Self, SetupError> {
        let rules = Rules::new(policy, folder, spill, protected)?;
        let missing = |missing: String| SetupError::Sandbox { missing };
        if rules.backend == Backend::Bubblewrap {
            rules.try_bubblewrap().map_err(missing)?;
            return Ok(Self { rules, state: "on" });
        }
        let trying = rules.clone();
        let enforced = thread::spawn(move || enter(&trying))
            .join()
            .map_err(|_| missing("the attempt to enter it broke off".to_owned()))?
            .map_err(missing)?;
        let state = match enforced {
            Enforced::All => "on",
            Enforced::Partly => "partial",
        };
        Ok(Self { rules, state })
    }

    /// `on` or `partial`.
    pub(in crate::bash) fn state(&self) -> &'static str {
        self.state
    }

    /// Says in words what is limited.
    pub(in crate::bash) fn limits(&self) -> String {
        let roots: Vec<_> = self
            .rules
            .write
            .iter()
            .filter(|root| !root.starts_with("/dev"))
            .map(|root| root.display().to_string())
            .collect();
        let network = if self.rules.network { "on" } else { "off" };
        format!(
            "writes are limited to {}, network is {network}",
            roots.join(", ")
        )
    }

    /// Makes the command that starts the shell.
    pub(in crate::bash) fn command(&self, shell: &Path, command: &ShellCommand) -> Command {
        match self.rules.backend {
            Backend::Landlock => Command::new(shell),
            Backend::Bubblewrap => {
                let mut bubblewrap = self.rules.bubblewrap();
                bubblewrap
                    .arg("--chdir")
                    .arg(&command.folder)
                    .arg("--")
                    .arg(shell);
                bubblewrap
            }
        }
    }

    /// Confines the calling thread, for good, and all that it starts.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(in crate::bash) fn enter(&self) -> io::Result<()> {
        match self.rules.backend {
            Backend::Bubblewrap => Ok(()),
            Backend::Landlock => self
                .rules
                .enter_for_good()
                .map(|_| ())
                .map_err(|reason| io::Error::other(format!("the sandbox: {reason}"))),
        }
    }
}

impl Rules {
    fn new(
        policy: &SandboxPolicy,
        folder: &Path,
        spill: &SpillFolder,
        protected: &[PathBuf],
    ) -> Result<Self, SetupError> {
        let real = |path: &Path| {
            path.canonicalize().map_err(|source| SetupError::Folder {
                path: path.to_owned(),
                source,
            })
        };
        let real_folder = real(folder)?;
        let mut write = vec![real_folder.clone(), real(&spill.tmp())?];
        for root in &policy.write_roots {
            write.push(real(root)?);
        }
        let mut write = outermost(write);
        let read = match &policy.read {
            ReadAccess::All => None,
            ReadAccess::Only(roots) => {
                let mut read: Vec<_> = SYSTEM.into_iter().map(PathBuf::from).collect();
                for root in roots {
                    let root = real(root)?;
                    if !is_within(&root, &write) {
                        read.push(root);
                    }
                }
                Some(read)
            }
        };
        write.extend(["/dev/null", "/dev/tty"].map(PathBuf::from));
        let protected = protected::paths(&real_folder, protected);
        Ok(Self {
            backend: policy.backend,
            network: policy.network,
            best_effort: policy.best_effort,
            read,
            write,
            protected: protected
                .into_iter()
                .map(|path| path.canonicalize().unwrap_or(path))
                .collect(),
            folder: folder.to_owned(),
        })
    }

    fn enter_for_good(&self) -> Result<Enforced, String> {
        let landlock = self.restrict_files();
        let landlock = landlock.map_err(|error| format!("Landlock: {error}"))?;
        let calls = self.restrict_calls();
        let calls = calls.map_err(|error| format!("seccomp: {error}"));
        let powers = drop_powers().map_err(|error| format!("capabilities: {error}"));
        match calls.and(powers) {
            Ok(()) => Ok(landlock),
            Err(_) if self.best_effort => Ok(Enforced::Partly),
            Err(error) => Err(error),
        }
    }

    fn restrict_files(&self) -> Result<Enforced, landlock::RulesetError> {
        let level = if self.best_effort {
            CompatLevel::BestEffort
        } else {
            CompatLevel::HardRequirement
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(NEEDED))?
            // What newer kernels can do besides is welcome, and seccomp stands in for the network.
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::IoctlDev)?
            .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
        if !self.network {
            ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
        }
        let all: BitFlags<AccessFs> = AccessFs::from_all(NEEDED) | AccessFs::IoctlDev;
        let read = AccessFs::from_read(NEEDED);
        let everything = [PathBuf::from("/")];
        let readable = self.read.as_deref().unwrap_or(&everything);
        let status = ruleset
            .create()?
            .add_rules(path_beneath_rules(readable, read))?
            .add_rules(path_beneath_rules(&self.write, all))?
            .restrict_self()?;
        Ok(match status.landlock {
            LandlockStatus::Available { effective_abi, .. } if effective_abi >= NEEDED => {
                Enforced::All
            }
            _ => Enforced::Partly,
        })
    }

    fn restrict_calls(&self) -> Result<(), seccompiler::Error> {
        let mut forbidden: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for call in [
            libc::SYS_ptrace,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ] {
            forbidden.insert(call, Vec::new());
        }
        if !self.network {
            let unix = u64::from(libc::AF_UNIX.unsigned_abs());
            let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, unix)?;
            forbidden.insert(libc::SYS_socket, vec![SeccompRule::new(vec![other])?]);
        }
        #[cfg(target_arch = "x86_64")]
        for (call, rules) in forbidden.clone() {
            forbidden.insert(call | X32, rules);
        }
        let filter = SeccompFilter::new(
            forbidden,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EPERM.unsigned_abs()),
            std::env::consts::ARCH.try_into()?,
        )?;
        let program: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter(&program)
    }

    /// Makes the command that confines what is put behind it.
    fn bubblewrap(&self) -> Command {
        let mut command = Command::new("bwrap");
        command.args(["--die-with-parent", "--unshare-pid", "--unshare-ipc"]);
        if !self.network {
            command.arg("--unshare-net");
        }
        match &self.read {
            None => {
                command.args(["--ro-bind", "/", "/"]);
            }
            Some(roots) => {
                for root in roots {
                    command.arg("--ro-bind-try").arg(root).arg(root);
                }
            }
        }
        command.args(["--dev", "/dev", "--proc", "/proc"]);
        for root in self.write.iter().filter(|root| !root.starts_with("/dev")) {
            command.arg("--bind").arg(root).arg(root);
        }
        // What a command has made a link since would open what the link leads to.
        let is_itself = |path: &&PathBuf| path.canonicalize().is_ok_and(|real| real == **path);
        for path in self.protected.iter().filter(is_itself) {
            command.arg("--ro-bind-try").arg(path).arg(path);
        }
        if rustix::process::geteuid().is_root() {
            command.args(["--cap-drop", "ALL"]);
            for (name, _) in KEPT {
                command.args(["--cap-add", name]);
            }
        }
        command
    }

    fn try_bubblewrap(&self) -> Result<(), String> {
        let tried = self
            .bubblewrap()
            .arg("--chdir")
            .arg(&self.folder)
            .args(["--", "/bin/sh", "-c", ":"])
            .output()
            .map_err(|error| format!("the program bwrap: {error}"))?;
        if tried.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        Err(format!("the program bwrap: {}", said.trim()))
    }
}

/// Leaves out folders inside of others. They add nothing, and a command that may write in the outer
/// one could replace the inner one by a link, which would open to the next command what the link
/// leads to.
fn outermost(roots: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for root in roots {
        if !is_within(&root, &kept) {
            kept.retain(|inner| !inner.starts_with(&root));
            kept.push(root);
        }
    }
    kept
}

fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Gives up, for the calling thread and all that it starts, what only an administrator may do.
fn drop_powers() -> io::Result<()> {
    let kept = KEPT
        .iter()
        .fold(CapabilitySet::empty(), |all, (_, kept)| all | *kept);
    let mut sets = capabilities(None)?;
    sets.effective &= kept;
    sets.permitted &= kept;
    sets.inheritable &= kept;
    Ok(set_capabilities(None, sets)?)
}
