//! libFuzzer over the fuzz targets, for seconds: that they build, start from what is kept, and find nothing nearby.
//!
//! It does what `cargo fuzz run` would, without that program. What is looked for are panics, overflows, forgeries that
//! verify, second encodings, hangs and too much memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::nightly::{self, TOOLCHAIN};
use crate::repo::Repo;
use crate::steps::{Steps, flush, shown};

/// The flags of the build.
const CONFIGURATION: &str = ".cargo/fuzz.toml";

/// Seconds for one input. They take milliseconds; a machine may be busy.
const HANGS_AFTER_S: u32 = 120;

struct Target {
    name: &'static str,
    /// Folders of inputs to start from.
    seeds: &'static [&'static str],
    /// Longest input: the longest honest one and some more. libFuzzer cuts seeds that are longer.
    length_max: u32,
    /// Seconds of them.
    executions: u64,
    /// Fewer mean that the inputs stop at the outermost decoder or the program is not instrumented: libFuzzer goes on
    /// without any coverage. About three quarters of what the seeds alone cover.
    edges_min: u64,
}

/// Folders with fuzz targets, and which of them are run. `proof` of trefoil-zkp has no kept input; `record` makes
/// the same verification.
const FUZZED: [(&str, &[Target]); 2] = [
    (
        "crypto/attest/fuzz",
        &[Target {
            name: "verify",
            seeds: &["crypto/attest/fuzz/corpus/verify", "crypto/attest/testdata"],
            length_max: 29_000,
            executions: 100_000,
            edges_min: 1000,
        }],
    ),
    (
        "crypto/zkp/fuzz",
        &[
            Target {
                name: "envelope",
                seeds: &["crypto/zkp/fuzz/seeds/envelope"],
                length_max: 110_000,
                executions: 50_000,
                edges_min: 220,
            },
            Target {
                name: "record",
                seeds: &["crypto/zkp/fuzz/seeds/record"],
                length_max: 110_000,
                executions: 20_000,
                edges_min: 1700,
            },
        ],
    ),
];

/// # Errors
/// When a compiler is missing, a target does not build, or one finds something.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::default();
    add(repo, &mut steps);
    steps.finish()
}

/// Adds a step for the compilers, one for each build and one for each target.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let mut folder = PathBuf::new();
    let ready = steps.step("compilers for libFuzzer", || {
        folder = repo.target_directory()?.join("fuzz");
        compilers(repo)
    });
    if !ready {
        return;
    }
    for (project, targets) in FUZZED {
        let mut build = cargo(repo, project, &folder, "build");
        for target in targets {
            build.args(["--bin", target.name]);
        }
        if steps.command(&format!("build of {project}"), build) {
            for target in targets {
                steps.step(&format!("{} under libFuzzer", target.name), || {
                    let (command, seeds) = fuzzing(repo, project, target, &folder)?;
                    let report = watched(command)?;
                    judged(target, seeds, &report)
                });
            }
        }
    }
}

/// The nightly toolchain, installed if it is missing, and the compiler of libFuzzer itself.
fn compilers(repo: &Repo) -> Result<String, String> {
    nightly::find_or_install(repo)?;
    // Only the `cc` crate knows how to read it.
    if let Some(named) = std::env::var_os("CXX") {
        return Ok(format!("{TOOLCHAIN}, {}", named.to_string_lossy()));
    }
    let compiler = repo.version("c++", "install a C++ compiler, such as apt-get install g++")?;
    Ok(format!("{TOOLCHAIN}, {compiler}"))
}

/// Cargo for a folder that is a workspace of its own. It stays in the root, whose `.cargo/config.toml` then adds the
/// processor, and keeps what it builds apart. With a target named, build scripts and macros are not instrumented.
fn cargo(repo: &Repo, project: &str, folder: &Path, subcommand: &str) -> Command {
    let manifest = format!("{project}/Cargo.toml");
    let mut command =
        repo.cargo_of(TOOLCHAIN, &[subcommand, "--config", CONFIGURATION, "--locked", "--release"]);
    command.args(["--target", "host-tuple", "--manifest-path", &manifest, "--target-dir"]).arg(folder);
    // Either would take the place of the flags.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// The command that runs `target`, always the same way, and how many inputs it starts from.
fn fuzzing(repo: &Repo, project: &str, target: &Target, folder: &Path) -> Result<(Command, usize), String> {
    let runs = folder.join("runs").join(target.name);
    // libFuzzer adds what it keeps; the source tree must not change.
    let corpus = runs.join("corpus");
    if corpus.exists() {
        fs::remove_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
    }
    let found = runs.join("found");
    fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
    let mut seeds = 0;
    for from in target.seeds {
        seeds += copy(&repo.root().join(from), &corpus)?;
    }
    let mut command = cargo(repo, project, folder, "run");
    command.args(["--quiet", "--bin", target.name, "--"]).args([
        format!("-runs={}", target.executions),
        format!("-max_len={}", target.length_max),
        format!("-timeout={HANGS_AFTER_S}"),
        // A folder: what is found is written into it.
        format!("-artifact_prefix={}/", found.display()),
        "-seed=1".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    command.arg(&corpus);
    Ok((command, seeds))
}

/// Copies the files of a folder, of which there must be one at least. Returns how many.
fn copy(from: &Path, to: &Path) -> Result<usize, String> {
    let failed = |e: std::io::Error| format!("copying {}: {e}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    let mut count = 0;
    for entry in fs::read_dir(from).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if let Some(name) = file.file_name().filter(|_| file.is_file()) {
            fs::copy(&file, to.join(name)).map_err(failed)?;
            count += 1;
        }
    }
    if count == 0 { Err(format!("{} has no input to start from", from.display())) } else { Ok(count) }
}

/// What libFuzzer said at the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    executions: u64,
    edges: u64,
}

impl Report {
    /// Reads `#100000 DONE   cov: 1347 ft: ...` and `stat::number_of_executed_units: 100000`.
    fn add_line(&mut self, line: &str) {
        if let Some(executions) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = executions.trim().parse().unwrap_or_default();
        }
        let mut words = line.split_whitespace().skip_while(|word| *word != "DONE").skip(1);
        if words.next() == Some("cov:") {
            self.edges = words.next().and_then(|edges| edges.parse().ok()).unwrap_or_default();
        }
    }
}

/// Runs to the end and shows what it says but for each input that it keeps.
fn watched(mut command: Command) -> Result<Report, String> {
    println!("{}", shown(&command));
    flush();
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|e| format!("cargo: {e}"))?;
    let stderr = child.stderr.take().ok_or("no standard error")?;
    let mut report = Report::default();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line.map_err(|e| format!("reading libFuzzer's output: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        report.add_line(&line);
        if !is_chatter(&line) {
            println!("{line}");
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(report) } else { Err(format!("{status}: the input is named above")) }
}

/// Inputs that were kept and what they reached first, and the words of a dictionary that nobody saves.
fn is_chatter(line: &str) -> bool {
    ["\tNEW", "\tREDUCE "].iter().any(|kept| line.contains(kept))
        || ["######", "\""].iter().any(|word| line.starts_with(word))
}

fn judged(target: &Target, seeds: usize, &Report { executions, edges }: &Report) -> Result<String, String> {
    let note = format!("{executions} executions from {seeds} inputs, {edges} edges");
    if executions < target.executions {
        return Err(format!("{note}: fewer executions than {}", target.executions));
    }
    if edges < target.edges_min {
        return Err(format!("{note}: fewer edges than {}", target.edges_min));
    }
    Ok(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target =
        Target { name: "any", seeds: &[], length_max: 10, executions: 100_000, edges_min: 1000 };

    #[test]
    fn the_end_of_a_run_is_read() {
        let mut report = Report::default();
        report.add_line("#270\tINITED cov: 1319 ft: 2430 corp: 242/908Kb exec/s: 0 rss: 37Mb");
        report
            .add_line("#65536\tpulse  cov: 1323 ft: 2695 corp: 353/2473Kb lim: 28730 exec/s: 7281 rss: 37Mb");
        assert_eq!(report, Report::default());
        report.add_line(
            "#100000\tDONE   cov: 1324 ft: 2738 corp: 384/2916Kb lim: 28772 exec/s: 5882 rss: 37Mb",
        );
        report.add_line("Done 100000 runs in 17 second(s)");
        report.add_line("stat::number_of_executed_units: 100000");
        report.add_line("stat::average_exec_per_sec:     5882");
        assert_eq!(report, Report { executions: 100_000, edges: 1324 });
    }

    #[test]
    fn a_run_that_did_not_fuzz_fails() {
        assert!(judged(&TARGET, 1, &Report { executions: 100_000, edges: 1000 }).is_ok());
        assert!(judged(&TARGET, 1, &Report { executions: 99_999, edges: 1000 }).is_err());
        assert!(judged(&TARGET, 1, &Report { executions: 100_000, edges: 999 }).is_err());
        assert!(judged(&TARGET, 1, &Report::default()).is_err());
    }

    #[test]
    fn an_empty_folder_is_no_corpus() {
        let folder = std::env::temp_dir().join(format!("trefoil-xtask-corpus-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(&from).expect("a folder");
        assert!(copy(&from, &to).is_err());
        fs::write(from.join("input"), b"bytes").expect("a file");
        assert_eq!(copy(&from, &to), Ok(1));
        assert_eq!(fs::read(to.join("input")).expect("copied"), b"bytes");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn what_is_found_is_shown() {
        for line in ["#3273\tNEW    cov: 1346 ft: 2595", "#3543\tREDUCE cov: 1346", "\tNEW_FUNC[1/2]: 0x55"] {
            assert!(is_chatter(line), "{line}");
        }
        for line in ["#100000\tDONE   cov: 1347", "SUMMARY: libFuzzer: deadly signal", "thread panicked at"] {
            assert!(!is_chatter(line), "{line}");
        }
    }
}
