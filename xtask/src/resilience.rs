//! Drives every provider through every fault of `llmock`, a server that judges its clients.
//!
//! The server is a Python package; it lives in a virtual environment below the target directory. What
//! is done with it is the binary `resilience` of the integration tests.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cargo_metadata::MetadataCommand;

/// The package and the version whose faults and findings are known.
const PACKAGE: &str = "llmock==0.2.2";

/// How long the server may take to start.
const START: Duration = Duration::from_secs(30);

/// How the server behaves where no fault is asked for: it greets, piece by piece so that a client that
/// goes away is noticed, and its models have a small window.
const SETTINGS: &[&str] = &[
    "--response-style",
    "hello",
    "--stream-chunk-delay-ms",
    "20",
    "--context-window",
    "8000",
    "--log-level",
    "error",
];

/// Runs all faults; `arguments` go to the binary. Returns whether all went well, which they do where
/// Python or the package is missing: that is said, and nothing is run.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("read the workspace")?;
    let folder = metadata.target_directory.join("llmock");
    let llmock = match environment(folder.as_std_path()) {
        Ok(llmock) => llmock,
        Err(error) => {
            println!("resilience: skipped, since there is no llmock: {error:#}");
            return Ok(true);
        }
    };
    // Built before the server starts, so that a build that fails leaves no server behind.
    let built = cargo(root, "build").status().context("start cargo build")?;
    ensure!(built.success(), "the binary resilience does not build");
    let server = Server::start(&llmock)?;
    let status = cargo(root, "run")
        .arg("--")
        .arg(&server.address)
        .args(arguments)
        .status()
        .context("start cargo run")?;
    Ok(status.success())
}

fn cargo(root: &Path, command: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo.args([command, "--quiet", "--package", "integration-tests"]);
    cargo.args(["--bin", "resilience"]);
    cargo
}

/// Returns the program of the server, installed if it is not there.
fn environment(folder: &Path) -> anyhow::Result<PathBuf> {
    let programs = folder.join("bin");
    let llmock = programs.join("llmock");
    // Written last, so an installation that was interrupted is done again.
    let mark = folder.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == PACKAGE) {
        return Ok(llmock);
    }
    println!("resilience: installing {PACKAGE} in {}", folder.display());
    succeeds(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )?;
    succeeds(Command::new(programs.join("pip")).args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        PACKAGE,
    ]))?;
    std::fs::write(&mark, PACKAGE).with_context(|| mark.display().to_string())?;
    Ok(llmock)
}

fn succeeds(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(
        status.success(),
        "{} ends with {status}",
        command.get_program().display()
    );
    Ok(())
}

/// A running server, stopped when it is dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(llmock: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let process = Command::new(llmock)
            .arg("serve")
            .args(["--host", "127.0.0.1", "--port"])
            .arg(port.to_string())
            .args(SETTINGS)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", llmock.display()))?;
        let mut server = Self {
            process,
            address: format!("http://127.0.0.1:{port}"),
        };
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("llmock ended at its start, with {status}");
            }
            ensure!(started.elapsed() < START, "llmock does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It fails only where the server has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a port that nobody listens on at this moment.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("open a local port")?;
    Ok(listener.local_addr()?.port())
}
