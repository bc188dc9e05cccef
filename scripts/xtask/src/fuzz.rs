//! libFuzzer over the fuzz targets, for seconds or minutes: they must build, start from the kept inputs, and find no fault near them.
//!
//! It does what `cargo fuzz run` would, without that program. It looks for panics, overflows, forgeries that verify, second
//! encodings, hangs and too much memory. If a number of executions is given, it runs attestations alone, for as long as
//! that takes, and can write a record.

mod record;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trefoil_testing::Scale;

use crate::nightly::{self, TOOLCHAIN};
use crate::repo::Repo;
use crate::steps::{Steps, flush, shown};
use crate::tools;

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
    /// At full volume: minutes. A twentieth is seconds.
    executions: usize,
    /// Fewer mean that the inputs stop at the outermost decoder, or that the program is not instrumented: libFuzzer runs
    /// without any coverage too. About three quarters of the coverage of the seeds alone.
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
            length_max: 40_000,
            executions: 2_000_000,
            edges_min: 2600,
        }],
    ),
    (
        "crypto/zkp/fuzz",
        &[
            Target {
                name: "envelope",
                seeds: &["crypto/zkp/fuzz/seeds/envelope"],
                length_max: 110_000,
                executions: 1_000_000,
                edges_min: 220,
            },
            Target {
                name: "record",
                seeds: &["crypto/zkp/fuzz/seeds/record"],
                length_max: 110_000,
                executions: 400_000,
                edges_min: 1700,
            },
        ],
    ),
];

/// Options for more than a run of seconds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    executions: Option<u64>,
    record: bool,
}

impl Asked {
    /// Reads `--executions N` and `--record`, which needs the former.
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "--executions" => {
                    let count = rest.next().and_then(|count| count.parse().ok()).filter(|&count| count > 0);
                    asked.executions = Some(count.ok_or("--executions takes a number above 0")?);
                }
                "--record" => asked.record = true,
                _ => return Err(format!("fuzz knows --executions N and --record, not {argument}")),
            }
        }
        if asked.record && asked.executions.is_none() {
            return Err("--record is for a long run: say how long with --executions N".to_owned());
        }
        Ok(asked)
    }
}

/// # Errors
/// When a compiler is missing, a target does not build, or one finds something.
pub(crate) fn run(repo: &Repo, arguments: &[&str]) -> Result<(), String> {
    let asked = Asked::parse(arguments)?;
    let mut steps = Steps::new();
    match asked.executions {
        None => add(repo, &mut steps, Scale::Test),
        Some(executions) => add_runs(repo, &mut steps, &FUZZED[..1], |_| executions, asked.record),
    }
    steps.finish()
}

/// Adds a step for the compilers, one for each build and one for each target.
pub(crate) fn add(repo: &Repo, steps: &mut Steps, scale: Scale) {
    add_runs(repo, steps, &FUZZED, |target| scale.of(target.executions, 1) as u64, false);
}

/// The same for these, with so many executions. With `record` the result is kept.
fn add_runs(
    repo: &Repo,
    steps: &mut Steps,
    fuzzed: &[(&str, &[Target])],
    executions: impl Fn(&Target) -> u64,
    record: bool,
) {
    let Some(folder) = ready(repo, steps) else { return };
    for (project, targets) in fuzzed {
        if !built(repo, steps, project, targets, &folder) {
            continue;
        }
        for target in *targets {
            let executions = executions(target);
            steps.step(&format!("{} under libFuzzer", target.name), || {
                let run = run_of(repo, project, target, executions, &folder)?;
                if record {
                    // Written before the result is judged: a run with a finding has a record too.
                    record::write(repo, project, target, executions, &run)?;
                }
                judged(target, executions, &run)
            });
        }
    }
}

/// The folder of built files, if the compilers are installed.
fn ready(repo: &Repo, steps: &mut Steps) -> Option<PathBuf> {
    let mut folder = None;
    let nightly = if steps.demand_all() { nightly::found_or_installed(repo) } else { nightly::found(repo) };
    steps.step_with("compilers for libFuzzer", [nightly, tools::cxx(repo)], || {
        folder = Some(repo.target_directory()?.join("fuzz"));
        Ok(String::new())
    });
    folder
}

fn built(repo: &Repo, steps: &mut Steps, project: &str, targets: &[Target], folder: &Path) -> bool {
    let mut build = cargo(repo, project, folder, "build");
    for target in targets {
        build.args(["--bin", target.name]);
    }
    steps.command(&format!("build of {project}"), build)
}

/// Cargo for a folder that is a workspace of its own. It stays in the root, whose `.cargo/config.toml` then adds the
/// processor, and keeps what it builds apart. With a target named, build scripts and macros are not instrumented.
fn cargo(repo: &Repo, project: &str, folder: &Path, subcommand: &str) -> Command {
    let manifest = format!("{project}/Cargo.toml");
    let mut command =
        repo.cargo_of(TOOLCHAIN, &[subcommand, "--config", CONFIGURATION, "--locked", "--release"]);
    command.args(["--target", "host-tuple", "--manifest-path", &manifest, "--target-dir"]).arg(folder);
    // Either would replace the flags.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// How a run went.
struct Run {
    /// Inputs that it started from.
    seeds: usize,
    report: Report,
    took: Duration,
    /// Inputs that it found something with.
    findings: u64,
    /// How it failed.
    failure: Option<String>,
}

/// Runs `target`, always the same way.
fn run_of(
    repo: &Repo,
    project: &str,
    target: &Target,
    executions: u64,
    folder: &Path,
) -> Result<Run, String> {
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
        format!("-runs={executions}"),
        format!("-max_len={}", target.length_max),
        // Otherwise it begins with short inputs, which no decoder takes.
        "-len_control=0".to_owned(),
        format!("-timeout={HANGS_AFTER_S}"),
        // Otherwise an input that took ten seconds is recorded too, although the machine may have been busy.
        format!("-report_slow_units={HANGS_AFTER_S}"),
        // A folder for findings.
        format!("-artifact_prefix={}/", found.display()),
        "-seed=1".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    command.arg(&corpus);
    let before = count(&found)?;
    let start = Instant::now();
    let (report, failure) = watched(command)?;
    Ok(Run { seeds, report, took: start.elapsed(), findings: count(&found)? - before, failure })
}

/// How many entries a folder has. Findings of earlier runs stay.
fn count(folder: &Path) -> Result<u64, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(entries.count() as u64)
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

/// Runs to the end and shows the output, except the lines about kept inputs. Returns the output and how it failed.
fn watched(mut command: Command) -> Result<(Report, Option<String>), String> {
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
    Ok((report, (!status.success()).then(|| format!("{status}: the input is named above"))))
}

/// Lines about kept inputs and what they reached first, and the words of a dictionary that is not kept.
fn is_chatter(line: &str) -> bool {
    ["\tNEW", "\tREDUCE "].iter().any(|kept| line.contains(kept))
        || ["######", "\""].iter().any(|word| line.starts_with(word))
}

fn judged(target: &Target, asked: u64, run: &Run) -> Result<String, String> {
    let Run { seeds, report: Report { executions, edges }, took: _, findings, failure } = run;
    let note = format!("{executions} executions from {seeds} inputs, {edges} edges");
    if let Some(failure) = failure {
        return Err(failure.clone());
    }
    if *findings > 0 {
        return Err(format!("{note}: {findings} findings"));
    }
    if *executions < asked {
        return Err(format!("{note}: fewer executions than {asked}"));
    }
    if *edges < target.edges_min {
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

    fn run(executions: u64, edges: u64) -> Run {
        let report = Report { executions, edges };
        Run { seeds: 1, report, took: Duration::from_secs(2), findings: 0, failure: None }
    }

    #[test]
    fn a_run_that_did_not_fuzz_or_that_found_something_fails() {
        let judged = |run| judged(&TARGET, 100_000, &run);
        assert!(judged(run(100_000, 1000)).is_ok());
        assert!(judged(run(99_999, 1000)).is_err());
        assert!(judged(run(100_000, 999)).is_err());
        assert!(judged(run(0, 0)).is_err());
        assert!(judged(Run { findings: 1, ..run(100_000, 1000) }).is_err());
        let failed = Run { failure: Some("exit status: 77".to_owned()), ..run(100_000, 1000) };
        assert_eq!(judged(failed), Err("exit status: 77".to_owned()));
    }

    #[test]
    fn a_record_is_of_a_long_run() {
        let parse = |arguments: &[&str]| Asked::parse(arguments);
        assert_eq!(parse(&[]), Ok(Asked::default()));
        let long = Asked { executions: Some(5), record: true };
        assert_eq!(parse(&["--executions", "5", "--record"]), Ok(long));
        for wrong in
            [&["--record"][..], &["--executions"], &["--executions", "0"], &["--executions", "x"], &["-n"]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
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
