//! The command line.

mod cache;
mod fhe_peers;
mod flood;
mod hit_ratio;
mod ladder;
mod modes;
mod numbers;
mod overhead;
mod registry;
mod sign;
mod simulate;
mod zkp;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::json;
use trefoil_dataset::Protocol;
use trefoil_kernels::Tier;
use trefoil_pipeline::Cadence;
use trefoil_pipeline::affinity::{Pin, Placement};

use crate::exact::{Exact, Source, exact};
use crate::failure::Failure;
use crate::host;
use crate::match_stages::{MatchStages, match_stages};
use crate::population::Population;
use crate::record::{self, Report};
use crate::roles::{KeyStructure, ProbeMode};
use crate::run::{Run, run};
use crate::stages::{Stages, stages};
use crate::sweep::{Sweep, sweep};
use crate::wiring::CacheChoice;

use cache::CacheArgs;
use fhe_peers::PeersArgs;
use flood::FloodArgs;
use hit_ratio::HitRatioArgs;
use ladder::LadderArgs;
use modes::Modes;
use numbers::{multiple_of_32, seconds, workers};
use overhead::OverheadArgs;
use registry::RegistryArgs;
use sign::SignArgs;
use simulate::SimulateArgs;
use zkp::ZkpArgs;

const EXAMPLES: &str = "\
Examples:
  Is the encrypted match exact? Every score of a real face set, bit for bit:
    trefoil-bench exact --set lfw_facenet128
  The same for your own vectors (float32 rows of 128, one integer id per row):
    trefoil-bench exact --x faces.npy --y people.npy --protocol enrol3
  Where does the time of one batch of 32 go?
    trefoil-bench stages --users 4096
  How long do the roles take when neither sees the probe?
    trefoil-bench stages --mode shared --users 4096
  And another library, for the same inner products?
    trefoil-bench peers
  How many authentications per second, and what does the cache cost?
    trefoil-bench run --workers 2 --seconds 5 --cache engine
    trefoil-bench run --workers 2 --seconds 5 --cache dashmap
  And how often may sessions be opened before their proofs are what costs most?
    trefoil-bench run --seconds 5 --requests-per-proof 1,10,100,420,1000
  How many requests of a recorded trace does a cache of some size answer?
    trefoil-bench hit-ratio --trace bench/data/traces/web12.u64.zst --capacity 300
  How long does a look-up take, and what do its counters cost?
    trefoil-bench cache --threads 1,2
  What do locks and shared counters in an observer cost, and what does the engine's observer?
    trefoil-bench ladder --workers 96 --seconds 0.25
  Is the engine within 1 % of the raw map in the pipeline?
    trefoil-bench overhead --repeats 20
  How long does a credential proof take, and how large is it?
    trefoil-bench zkp --iters 30
  How long do three signatures take, and what does waiting for them add under load?
    trefoil-bench sign
  What does a flood of invalid proofs cost honest callers?
    trefoil-bench flood
  Keep a result under bench/records/ and name the machine:
    trefoil-bench stages --record stages-laptop --label \"laptop, on mains\"

Exit codes: 0 the outputs were right, 1 they were wrong or a step failed, 2 the command was wrong.
TREFOIL_TIER=portable|avx2|avx512 lowers the instructions used. bench/METHODOLOGY.md and bench/LIMITS.md
say what the numbers mean.";

/// Benchmarks of Trefoil that verify what they time.
#[derive(Debug, Parser)]
#[command(name = "trefoil-bench", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare every encrypted score of an embedding set with plain arithmetic
    Exact(ExactArgs),
    /// Time each step of one batch of 32 on one pinned worker
    Stages(StagesArgs),
    /// Compute the same inner products with fhe.rs, in turn with ours
    Peers(PeersArgs),
    /// Load the pipeline in a closed loop and count sealed authentications
    Run(RunArgs),
    /// Replay recorded requests through the engine, other caches and textbook policies
    HitRatio(HitRatioArgs),
    /// Time look-ups and get-or-inserts in the engine, other caches and maps
    Cache(CacheArgs),
    /// Climb from three locks in the observer to none and compare each rung with the raw map
    Ladder(LadderArgs),
    /// Compare the engine with the raw map in the whole pipeline, in pairs
    Overhead(OverheadArgs),
    /// Time reads of one entry that all threads want and hardly anybody writes
    Registry(RegistryArgs),
    /// Predict the ladder on machines that are not here, if the model predicts it on this one
    Simulate(SimulateArgs),
    /// Make and verify credential proofs
    Zkp(ZkpArgs),
    /// Time signing, alone and as the sealer does it under a scheduled load
    Sign(SignArgs),
    /// Log in over HTTPS with and without a flood of invalid proofs
    Flood(FloodArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Without a reference for the set the scores are compared with plain arithmetic only.")]
struct ExactArgs {
    /// Set to compare: a folder in --data with x.npy and y.npy, such as lfw_facenet128
    #[arg(long, value_name = "NAME", required_unless_present = "x", conflicts_with_all = ["x", "y"])]
    set: Option<String>,
    /// Embeddings: a .npy file of float32 rows of 128
    #[arg(long, value_name = "FILE", requires = "y")]
    x: Option<PathBuf>,
    /// People: a .npy file with one integer per row
    #[arg(long, value_name = "FILE", requires = "x")]
    y: Option<PathBuf>,
    /// How rows become templates and probes
    #[arg(long, value_enum, default_value_t = ProtocolName::Enrol1)]
    protocol: ProtocolName,
    #[command(flatten)]
    modes: Modes,
    /// Folder of the sets [default: bench/data of the source tree]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct StagesArgs {
    #[command(flatten)]
    modes: Modes,
    /// Timed batches
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iters: u32,
    /// Batches before them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Pinned workers; more than cores is allowed and warned of [default: one per core]
    #[arg(long, value_parser = workers)]
    workers: Option<usize>,
    /// Length of a window
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Windows, all of which are kept
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Seconds before the first window
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    warmup: f64,
    /// Batches per seal
    #[arg(long, value_enum, default_value_t = CadenceName::Group)]
    cadence: CadenceName,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    /// Distinct batches that workers go round
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batches: u32,
    /// Sweep: verify each session's proof again once per so many requests, then all cached; one result for each
    #[arg(long, value_name = "R,...", num_args = 0..=1, value_delimiter = ',',
          default_missing_values = ["1", "10", "100", "420", "1000"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests_per_proof: Option<Vec<u32>>,
    /// Attestations to verify after the run
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    verify: u32,
    #[command(flatten)]
    world: WorldArgs,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct WorldArgs {
    /// Enrolled templates, 48 KiB each; a multiple of 32
    #[arg(long, default_value_t = 4_096, value_parser = multiple_of_32)]
    users: usize,
    /// People who hold them, each with a credential proof of their own; a multiple of 32
    #[arg(long, default_value_t = 256, value_parser = multiple_of_32)]
    people: usize,
    /// Fixes who is drawn, what they show and who is an impostor
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder in which proofs are kept between runs [default: target/bench-world of the source tree]
    #[arg(long, value_name = "DIR")]
    world_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Output {
    /// Print the record as JSON instead of a summary
    #[arg(long)]
    json: bool,
    /// Also write it to bench/records/NAME.json
    #[arg(long, value_name = "NAME", value_parser = record::check_name)]
    record: Option<String>,
    /// Words that name this machine in the record
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolName {
    /// A person's first row is the template
    Enrol1,
    /// The template is the mean of a person's first three rows
    Enrol3,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CadenceName {
    /// One seal over every batch that waits
    Group,
    /// One seal per batch
    PerBatch,
}

/// Parses the process's arguments, runs, prints.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = Cli::parse_from(&arguments);
    match execute(cli, &command_line(&arguments)) {
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
fn execute(cli: Cli, command_line: &str) -> Result<bool, Failure> {
    let tier = Tier::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let (name, output) = match &cli.command {
        Command::Exact(args) => ("exact", &args.output),
        Command::Stages(args) => ("stages", &args.output),
        Command::Peers(args) => ("peers", &args.output),
        Command::Run(args) => ("run", &args.output),
        Command::HitRatio(args) => ("hit-ratio", &args.output),
        Command::Cache(args) => ("cache", &args.output),
        Command::Ladder(args) => ("ladder", &args.output),
        Command::Overhead(args) => ("overhead", &args.output),
        Command::Registry(args) => ("registry", &args.output),
        Command::Simulate(args) => ("simulate", &args.output),
        Command::Zkp(args) => ("zkp", &args.output),
        Command::Sign(args) => ("sign", &args.output),
        Command::Flood(args) => ("flood", &args.output),
    };
    let host = host::host(output.label.as_deref(), tier);
    let report = match &cli.command {
        Command::Exact(args) => args.run(tier)?,
        Command::Stages(args) => args.run(tier)?,
        Command::Peers(args) => args.run(tier)?,
        Command::Run(args) => args.run(tier)?,
        Command::HitRatio(args) => args.run()?,
        Command::Cache(args) => args.run()?,
        Command::Ladder(args) => args.run(tier)?,
        Command::Overhead(args) => args.run(tier)?,
        Command::Registry(args) => args.run()?,
        Command::Simulate(args) => args.run()?,
        Command::Zkp(args) => args.run()?,
        Command::Sign(args) => args.run(tier)?,
        Command::Flood(args) => args.run()?,
    };
    let record = record::assemble(name, command_line, host, &report);
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

impl ExactArgs {
    fn run(&self, tier: Tier) -> Result<Report, Failure> {
        let source = match (&self.set, &self.x, &self.y) {
            (None, Some(x), Some(y)) => Source::Files { x: x.clone(), y: y.clone() },
            (Some(name), None, None) => Source::Set {
                data: self.data.clone().unwrap_or_else(|| in_source_tree("data")),
                name: name.clone(),
            },
            _ => return Err(Failure::usage("give either --set, or both --x and --y")),
        };
        let (mode, keys) = self.modes.checked()?;
        exact(&Exact {
            mode,
            keys,
            source,
            protocol: match self.protocol {
                ProtocolName::Enrol1 => Protocol::Enrol1,
                ProtocolName::Enrol3 => Protocol::Enrol3,
            },
            workers: self.workers.unwrap_or_else(cores),
            tier,
        })
    }
}

impl StagesArgs {
    fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let (mode, keys) = self.modes.checked()?;
        let arithmetic = match_stages(MatchStages {
            mode,
            keys,
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            tier,
        })?;
        if (mode, keys) != (ProbeMode::Plain, KeyStructure::PerSubject) {
            // The service's pipeline has the other mode only; the remaining stages do not depend on it.
            return Ok(arithmetic);
        }
        let parameters = Stages {
            users: self.world.users,
            iterations: self.iters as usize,
            warmup: self.warmup as usize,
            seed: self.world.seed,
            cache: self.cache,
            tier,
        };
        Ok(stages(parameters, self.world.population()?)?.with_arithmetic(arithmetic))
    }
}

impl RunArgs {
    fn run(&self, tier: Tier) -> Result<Report, Failure> {
        refuse_debug_build()?;
        let parameters = Run {
            workers: self.workers.unwrap_or_else(cores),
            seconds: self.seconds,
            warmup_s: self.warmup,
            repeats: self.repeats as usize,
            cadence: match self.cadence {
                CadenceName::Group => Cadence::Group,
                CadenceName::PerBatch => Cadence::PerBatch,
            },
            cache: self.cache,
            users: self.world.users,
            batches: self.batches as usize,
            seed: self.world.seed,
            samples: self.verify as usize,
            tier,
        };
        let population = self.world.population()?;
        match self.requests_per_proof.clone() {
            None => run(parameters, population),
            Some(requests_per_proof) => sweep(Sweep { run: parameters, requests_per_proof }, population),
        }
    }
}

impl WorldArgs {
    fn population(&self) -> Result<Arc<Population>, Failure> {
        let folder = self.world_dir.clone().unwrap_or_else(|| in_source_tree("../target/bench-world"));
        Ok(Arc::new(Population::new(self.people, &folder, cores())?))
    }
}

/// A time without optimisation says nothing about the program.
fn refuse_debug_build() -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        return Err(Failure::usage(
            "this is a debug build: its times mean nothing. Use cargo run --release -p trefoil-bench -- ...",
        ));
    }
    Ok(())
}

fn in_source_tree(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn cores() -> usize {
    Placement::new(None, Pin::Auto).workers()
}

/// The command as it can be typed again, whatever the path of the binary.
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
    use clap::CommandFactory as _;

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
