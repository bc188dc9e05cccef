//! Starts the test programs of `cargo xtask check`. A program that passed is not run again until it changes, or a program that it may
//! start, or a file of the repository that it may read. Tests that were slow in the last
//! `cargo xtask test`, which runs all of them, are left out.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::UNIX_EPOCH;

use trefoil_testing::VARIABLE;

use crate::repo::Repo;
use crate::started;
use crate::steps::flush;

/// The file with the names of slow tests, in the folder of the dev profile.
const SLOW: &str = "slow-tests";
const SLOW_S: f64 = 2.0;

/// Where the output of those that passed is kept, beside the programs.
const FOLDER: &str = "passed";

/// Makes cargo start test programs through this one.
///
/// # Errors
/// If a file of the repository cannot be listed.
pub(crate) fn as_runner(repo: &Repo) -> Result<[String; 2], String> {
    let mut files = DefaultHasher::new();
    // Rust code is in the programs already.
    for path in repo.files()?.iter().filter(|path| !path.ends_with(".rs")) {
        state(&repo.root().join(path))?.hash(&mut files);
    }
    started::as_runner(&["once", &format!("{:016x}", files.finish())])
}

/// Runs a test program, or repeats what it printed when it passed.
///
/// # Errors
/// If it cannot be run.
pub(crate) fn run(files: &str, program: &str, arguments: &[&str]) -> Result<ExitCode, String> {
    let program = Path::new(program);
    let slow = slow(program.ancestors().nth(2).unwrap_or(program));
    let left_out = slow.iter().flat_map(|name| ["--skip", name]);
    let arguments = &arguments.iter().copied().chain(left_out).collect::<Vec<_>>()[..];
    let (key, kept) = (key(files, program, arguments)?, kept(program)?);
    let earlier = fs::read_to_string(&kept).unwrap_or_default();
    if let Some(output) = earlier.strip_prefix(&key) {
        println!("passed before, and is not run again: {}", program.display());
        print!("{output}");
        flush();
        return Ok(ExitCode::SUCCESS);
    }
    let named = |why: std::io::Error| format!("{}: {why}", program.display());
    let mut command = started::command(program, arguments);
    command.stdout(Stdio::piped());
    let mut child = command.spawn().map_err(named)?;
    let mut output = key;
    for line in BufReader::new(child.stdout.take().ok_or("no standard output")?).lines() {
        let line = line.map_err(named)?;
        println!("{line}");
        flush();
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait().map_err(named)?;
    if status.success() {
        let written = fs::create_dir_all(kept.with_file_name("")).and_then(|()| fs::write(&kept, output));
        written.map_err(|why| format!("{}: {why}", kept.display()))?;
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Names of the tests that `cargo xtask test` found slow. Without its file, none.
pub(crate) fn slow(profile: &Path) -> Vec<String> {
    let file = fs::read_to_string(profile.join(SLOW)).unwrap_or_default();
    file.lines().map(str::to_owned).collect()
}

/// Notes the names of slow tests for the next check.
pub(crate) fn note_slow(profile: &Path, times: &[(f64, String)]) -> Result<String, String> {
    let slow = times.iter().filter(|(seconds, _)| *seconds > SLOW_S);
    let names: Vec<&str> = slow.map(|(_, name)| name.as_str()).collect();
    fs::write(profile.join(SLOW), names.join("\n")).map_err(|why| format!("{SLOW}: {why}"))?;
    Ok(format!("{} took over {SLOW_S} s", names.len()))
}

fn kept(program: &Path) -> Result<PathBuf, String> {
    let name = program.file_name().ok_or_else(|| format!("{}: no program", program.display()))?;
    Ok(program.with_file_name(FOLDER).join(name))
}

/// Everything that the outcome may depend on, as text that ends where the output begins.
fn key(files: &str, program: &Path, arguments: &[&str]) -> Result<String, String> {
    let scale = std::env::var(VARIABLE).unwrap_or_default();
    let mut key = format!("{files} {scale} {arguments:?}\n{}\n", state(program)?);
    // A test starts programs of its own package, and those beside them.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if own.is_some_and(|package| package.join("src/main.rs").is_file()) {
        let folder = program.ancestors().nth(2).unwrap_or(program);
        let listing = fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        let mut programs: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        programs.retain(|path| path.is_file() && path.extension().is_none());
        programs.sort();
        for beside in programs {
            writeln!(key, "{}", state(&beside)?).map_err(|why| why.to_string())?;
        }
    }
    Ok(key + "\n")
}

/// Name, length and time of a file: cargo and git write a file anew when its content changes.
fn state(path: &Path) -> Result<String, String> {
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let metadata = fs::metadata(path).map_err(|why| named(&why))?;
    let changed = metadata.modified().map_err(|why| named(&why))?;
    let since = changed.duration_since(UNIX_EPOCH).map_err(|why| named(&why))?;
    Ok(format!("{} {} {}", path.display(), metadata.len(), since.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Another process writes it: a child that another test starts meanwhile would hold our open file, and no program starts that somebody may
    /// write to.
    fn executable(path: &Path, script: &str) -> String {
        let write = ["-c", "printf %s \"$2\" > \"$1\" && chmod 700 \"$1\"", "sh"];
        let written = Command::new("sh").args(write).arg(path).arg(script).status().expect("a shell");
        assert!(written.success(), "{}", path.display());
        path.display().to_string()
    }

    /// A folder for one test, which is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("trefoil-once-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("deps")).expect("a folder");
            Folder(path)
        }

        /// A program that notes each run and ends with `code`.
        fn program(&self, code: u8) -> String {
            let (path, runs) = (self.0.join("deps/a-test"), self.0.join("deps/runs"));
            let script =
                format!("#!/bin/sh\necho ran >> {}\necho 'test a ... ok'\nexit {code}\n", runs.display());
            executable(&path, &script)
        }

        fn runs(&self) -> usize {
            fs::read_to_string(self.0.join("deps/runs")).unwrap_or_default().lines().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap_or_default();
        }
    }

    #[test]
    fn what_was_slow_is_left_out_by_its_name() {
        let folder = Folder::new("slow");
        let times = [(2.5, "a::slow".to_owned()), (1.5, "a::quick".to_owned())];
        note_slow(&folder.0, &times).expect("a file");
        let program = folder.0.join("deps/shown");
        let program = executable(&program, "#!/bin/sh\necho \"$@\"\n");
        assert_eq!(run("one", &program, &["--a"]), Ok(ExitCode::SUCCESS));
        let printed =
            fs::read_to_string(kept(Path::new(&program)).expect("a place")).expect("what it printed");
        assert!(printed.ends_with("--a --skip a::slow\n"), "{printed}");
    }

    #[test]
    fn what_passed_runs_again_when_anything_changes_and_not_before() {
        let folder = Folder::new("passed");
        let program = folder.program(0);
        for (files, arguments, runs) in [
            ("one", &["--a"][..], 1),
            ("one", &["--a"], 1),
            ("another", &["--a"], 2),
            ("another", &[], 3),
            ("another", &[], 3),
        ] {
            assert_eq!(run(files, &program, arguments), Ok(ExitCode::SUCCESS));
            assert_eq!(folder.runs(), runs, "{files} {arguments:?}");
        }
        executable(Path::new(&program), &(fs::read_to_string(&program).expect("it") + "\n"));
        assert_eq!(run("another", &program, &[]), Ok(ExitCode::SUCCESS));
        assert_eq!(folder.runs(), 4);
        // This package has a program, so one that lies beside may be started.
        fs::write(folder.0.join("a-program"), "new").expect("a program beside");
        assert_eq!(run("another", &program, &[]), Ok(ExitCode::SUCCESS));
        assert_eq!(folder.runs(), 5);
    }

    #[test]
    fn what_failed_runs_again() {
        let folder = Folder::new("failed");
        let program = folder.program(1);
        assert_eq!(run("one", &program, &[]), Ok(ExitCode::FAILURE));
        assert_eq!(run("one", &program, &[]), Ok(ExitCode::FAILURE));
        assert_eq!(folder.runs(), 2);
    }
}
