//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde_json::json;
use trefoil_kernels::{Tier, packed};

use crate::against::{Against, against};
use crate::args::{Output, refuse_debug_build};
use crate::cache::{CacheTimes, cache_times};
use crate::exact::{Exact, exact};
use crate::fhe_peers::{Peers, peers};
use crate::hit_ratio::{HitRatio, hit_ratio};
use crate::ladder::{Ladder, ladder};
use crate::load::service::{ServiceArgs, serve};
use crate::load::{Load, load};
use crate::overhead::{Overhead, overhead};
use crate::registry::{RegistryArgs, registry};
use crate::remote::{RemoteArgs, remote};
use crate::run::{RunArgs, run};
use crate::scaling::{Scaling, scaling};
use crate::sign::{Sign, sign};
use crate::stages::{Stages, stages};
use crate::zkp::{Zkp, zkp};
use crate::{Failure, Report, host, record};

const EXAMPLES: &str = include_str!("examples.txt");

/// Benchmarks of Trefoil that verify what they time.
#[derive(Debug, Parser)]
#[command(name = "trefoil-bench", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Benchmark(Benchmark),
    /// Run as a key-holder process of `remote`
    #[command(hide = true)]
    KeyHolder(trefoil_key_holder::cli::KeyHolderArgs),
    /// Run as the service of `load`
    #[command(hide = true)]
    Service(ServiceArgs),
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Compare every encrypted score of an embedding set with plain arithmetic
    Exact(Exact),
    /// Time each step of one batch of 32 on one pinned worker
    Stages(Stages),
    /// Compute the same inner products with fhe.rs, alternating with ours
    Peers(Peers),
    /// Load the pipeline in a closed loop and count sealed authentications
    Run(RunArgs),
    /// Load it with 1 to 96 workers, over both caches and in both cadences
    Scaling(Scaling),
    /// Replay recorded requests through the engine and other caches
    HitRatio(HitRatio),
    /// Time look-ups in the engine, other caches and a map
    Cache(CacheTimes),
    /// Climb from three locks in the observer to none and compare each rung with the raw map
    Ladder(Ladder),
    /// Compare the engine with the raw map in the whole pipeline, in pairs
    Overhead(Overhead),
    /// Time reads of one entry that all threads read and that is rarely written
    Registry(RegistryArgs),
    /// Decide the same batches in this process, in another and by two of three others
    Remote(RemoteArgs),
    /// Compare another build or another command with this one, in alternating runs
    Against(Against),
    /// Make and verify credential proofs
    Zkp(Zkp),
    /// Time signing, alone and as the sealer does it under a scheduled load
    Sign(Sign),
    /// Log in over HTTPS, quiet or beside an overload, a flood or hostile peers, or on a fleet
    Load(Load),
}

/// Parses the process's arguments, runs, prints.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let (name, cli) =
        parsed(Cli::command().get_matches_from(&arguments)).unwrap_or_else(|error| error.exit());
    if let Err(cause) = trefoil_server::config::Config::check_variables(std::env::vars_os()) {
        return ended(Err(Failure::usage(cause.to_string())));
    }
    ended(match cli.command {
        Command::KeyHolder(args) => return args.run(),
        Command::Service(args) => serve(args).map(|()| true),
        Command::Benchmark(benchmark) => {
            packed::calibrate();
            execute(&name, &benchmark, &cli.output, &command_line(&arguments))
        }
    })
}

fn parsed(matches: ArgMatches) -> Result<(String, Cli), clap::Error> {
    Ok((matches.subcommand_name().unwrap_or_default().to_owned(), Cli::from_arg_matches(&matches)?))
}

/// The report of a benchmark, without a record: words as they stand on the command line.
///
/// # Errors
/// When the words are no command, or a step fails. Wrong outputs are in the report.
pub fn report(words: &str) -> Result<Report, Failure> {
    let cli = Cli::try_parse_from(std::iter::once("trefoil-bench").chain(words.split_whitespace()));
    match cli.map_err(|error| Failure::usage(error.to_string()))?.command {
        Command::Benchmark(benchmark) => benchmark.run(Tier::detected()),
        Command::KeyHolder(_) | Command::Service(_) => Err(Failure::usage("not a benchmark")),
    }
}

fn ended(outcome: Result<bool, Failure>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(match failure {
                Failure::Usage(_) => 2,
                Failure::Fault(_) => 1,
            })
        }
    }
}

/// Whether the outputs were right.
fn execute(name: &str, benchmark: &Benchmark, output: &Output, line: &str) -> Result<bool, Failure> {
    let tier = Tier::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    // These two time nothing.
    if !matches!(benchmark, Benchmark::Exact(_) | Benchmark::HitRatio(_)) {
        refuse_debug_build()?;
    }
    if cfg!(debug_assertions) && output.record.is_some() {
        return Err(Failure::usage(
            "a debug build keeps no record. Use cargo run --release -p trefoil-bench -- ...",
        ));
    }
    let host = host::host(output.label.as_deref(), tier);
    let report = benchmark.run(tier)?;
    let record = record::assemble(name, line, host, &report);
    if output.json {
        println!("{}", record::render(&record));
    } else {
        print!("{}", report.summary);
    }
    if let Some(name) = &output.record {
        eprintln!("record: {}", record::write(name, &record)?.display());
    }
    if let Some(problem) = &report.problem {
        eprintln!("error: {problem}");
    }
    Ok(report.problem.is_none())
}

impl Benchmark {
    fn run(&self, tier: Tier) -> Result<Report, Failure> {
        match self {
            Benchmark::Exact(args) => exact(args, tier),
            Benchmark::Stages(args) => stages(args, tier),
            Benchmark::Peers(args) => peers(args, tier),
            Benchmark::Run(args) => run(args, tier),
            Benchmark::Scaling(args) => scaling(args, tier),
            Benchmark::HitRatio(args) => hit_ratio(args),
            Benchmark::Cache(args) => cache_times(args),
            Benchmark::Ladder(args) => ladder(args, tier),
            Benchmark::Overhead(args) => overhead(args, tier),
            Benchmark::Registry(args) => Ok(registry(args)),
            Benchmark::Remote(args) => remote(args, tier),
            Benchmark::Against(args) => against(args),
            Benchmark::Zkp(args) => zkp(args),
            Benchmark::Sign(args) => sign(args, tier),
            Benchmark::Load(args) => load(args),
        }
    }
}

/// The command, ready to be run again, without the path of the binary.
fn command_line(arguments: &[OsString]) -> String {
    let quoted = |argument: &OsString| {
        let text = argument.to_string_lossy().into_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
        if text.chars().all(plain) && !text.is_empty() { text } else { json!(text).to_string() }
    };
    let rest = arguments.iter().skip(1).map(quoted);
    std::iter::once("trefoil-bench".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn recorded_commands_can_be_typed_again() {
        let arguments =
            ["/x/trefoil-bench", "run", "--label", "a \"b\" c", "--seconds=1"].map(OsString::from);
        let line = command_line(&arguments);
        assert_eq!(line, "trefoil-bench run --label \"a \\\"b\\\" c\" --seconds=1");
    }
}
