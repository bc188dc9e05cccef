//! How `cargo xtask` starts test programs.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Where the end-to-end tests are. Most of their time they wait for other processes and for timers.
const WAITING: &str = "server/cli";
/// How many of them run at a time for each processor. Others run one.
const FOR_EACH_PROCESSOR: usize = 2;
const THREADS: &str = "RUST_TEST_THREADS";

/// Makes cargo start test programs through this one, which is called with `how` and the program.
///
/// # Errors
/// If this program has no path.
pub(crate) fn as_runner(how: &[&str]) -> Result<[String; 2], String> {
    let this = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
    let words: Vec<String> = how.iter().map(|word| format!(", '{word}'")).collect();
    let runner = format!("target.'cfg(all())'.runner=['{}'{}]", this.display(), words.concat());
    Ok(["--config".to_owned(), runner])
}

/// A test program that may use unstable flags, as no compiler may, and runs tests that wait beside each other.
pub(crate) fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    if Path::new(&package).ends_with(WAITING) && std::env::var_os(THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (FOR_EACH_PROCESSOR * processors).to_string());
    }
    command
}

/// Becomes the test program.
///
/// # Errors
/// Only if it cannot be run.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    format!("{program}: {}", command(Path::new(program), arguments).exec())
}
