//! The working tree: its root, its files, `cargo` with a clean environment, `cargo metadata`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Folders that hold the project's own files. Anything else in the root is not read.
const FOLDERS: [&str; 10] =
    [".cargo", ".ci", ".github", "bench", "cache", "crypto", "pipeline", "scripts", "server", "whitepaper"];

/// Folders inside them that hold built or fetched things.
const BUILT: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// The repository that this binary was built from.
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// Finds the root from the compile-time location of this crate.
    pub(crate) fn open() -> Result<Repo, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .ok_or("the xtask crate must lie in scripts/xtask")?
            .to_path_buf();
        if root.join("Cargo.lock").is_file() {
            Ok(Repo { root })
        } else {
            Err(format!("{} has no Cargo.lock: run cargo xtask from the repository", root.display()))
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Reads a text file named relative to the root.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(path)).map_err(|e| format!("{path}: {e}"))
    }

    /// All project files, relative to the root with forward slashes, sorted.
    pub(crate) fn files(&self) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        for entry in entries(&self.root)? {
            // In a work tree of its own, .git is a file.
            if entry.is_file() && !entry.ends_with(".git") {
                found.push(entry);
            }
        }
        let mut pending: Vec<PathBuf> = FOLDERS.iter().map(|name| self.root.join(name)).collect();
        while let Some(folder) = pending.pop() {
            if !folder.is_dir() {
                continue;
            }
            for entry in entries(&folder)? {
                let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if entry.is_file() {
                    found.push(entry);
                } else if entry.is_dir() && !BUILT.contains(&name.as_str()) {
                    pending.push(entry);
                }
            }
        }
        let mut names: Vec<String> = found
            .iter()
            .filter_map(|path| path.strip_prefix(&self.root).ok())
            .map(|path| path.to_string_lossy().replace('\\', "/"))
            .collect();
        names.sort();
        Ok(names)
    }

    /// `program` in the root, without the variables that `cargo run` set for this process: they would reach
    /// build scripts and force rebuilds.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        if std::env::var_os("CI").is_some() {
            command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        }
        command
    }

    /// `cargo` with the given arguments.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }

    /// Cargo of another toolchain than the one that the repository is pinned to.
    pub(crate) fn cargo_of(&self, toolchain: &str, arguments: &[&str]) -> Command {
        let mut command = self.command("rustup");
        command.args(["run", toolchain, "cargo"]).args(arguments);
        command
    }

    /// The output of a program, without the white space around it.
    pub(crate) fn said(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let output =
            self.command(program).args(arguments).output().map_err(|why| format!("{program}: {why}"))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said).ok_or_else(|| format!("{program}: {}", output.status))
    }

    /// `cargo metadata` of the locked workspace with every feature on.
    pub(crate) fn metadata(&self) -> Result<Value, String> {
        let output = self
            .cargo(&["metadata", "--format-version=1", "--locked", "--all-features"])
            .output()
            .map_err(|e| format!("cargo metadata: {e}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
    }

    /// The target directory in use.
    pub(crate) fn target_directory(&self) -> Result<PathBuf, String> {
        let metadata = self.metadata()?;
        metadata["target_directory"]
            .as_str()
            .map(PathBuf::from)
            .ok_or_else(|| "cargo metadata names no target directory".to_owned())
    }

    /// Where it keeps what is built in the dev profile.
    pub(crate) fn profile_directory(&self) -> Result<PathBuf, String> {
        Ok(self.target_directory()?.join("debug"))
    }

    /// A binary or, as `examples/NAME`, an example of the workspace in the dev profile.
    pub(crate) fn binary(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.profile_directory()?.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        if path.is_file() {
            Ok(path)
        } else {
            Err(format!("{} is missing: run `cargo build --workspace --bins --examples`", path.display()))
        }
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    listing.map(|entry| entry.map(|e| e.path()).map_err(|e| format!("{}: {e}", folder.display()))).collect()
}
