//! The command line.

mod against;
mod cache;
mod exact;
mod fhe_peers;
mod fleet;
mod flood;
mod hit_ratio;
mod hostile;
mod ladder;
mod load;
mod modes;
mod numbers;
mod output;
mod overhead;
mod overload;
mod registry;
mod remote;
mod run;
mod scaling;
mod sign;
mod stages;
mod world;
mod zkp;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::json;
use trefoil_kernels::{Tier, packed};

use crate::{Failure, Report};
use crate::{host, record};

use against::AgainstArgs;
use cache::CacheArgs;
use exact::ExactArgs;
use fhe_peers::PeersArgs;
use fleet::FleetArgs;
use flood::FloodArgs;
use hit_ratio::HitRatioArgs;
use hostile::HostileArgs;
use ladder::LadderArgs;
use load::LoadArgs;
use overhead::OverheadArgs;
use overload::{OverloadArgs, ServiceArgs};
use registry::RegistryArgs;
use remote::RemoteArgs;
use run::RunArgs;
use scaling::ScalingArgs;
use sign::SignArgs;
use stages::StagesArgs;
use zkp::ZkpArgs;

const EXAMPLES: &str = "\
Examples:
  Is the encrypted match exact? Every score of a real face set, bit for bit:
    trefoil-bench exact --set lfw_facenet128
  The same for your own vectors (float32 rows of 128, one integer id per row):
    trefoil-bench exact --x faces.npy --y people.npy --protocol enrol3
  Where does the time of one batch of 32 go?
    trefoil-bench stages --users 4096
  And another library, for the same inner products?
    trefoil-bench peers
  How many authentications per second, and what does the cache cost?
    trefoil-bench run --workers 2 --seconds 5 --cache engine
    trefoil-bench run --workers 2 --seconds 5 --cache dashmap
  And in the workload that records are compared by? Some six minutes; on the 96 workers of the published figures:
    trefoil-bench run --canonical
    trefoil-bench run --canonical --target reference
  How does the rate grow with the workers, and what does a million authentications cost?
    trefoil-bench scaling --price-per-hour 0.10
  How many requests of a recorded trace does a cache of some size answer?
    trefoil-bench hit-ratio --trace bench/data/traces/web12.u64.zst --capacity 300
  How long does a look-up take, and what do its counters cost?
    trefoil-bench cache --threads 1,2
  What do locks and shared counters in an observer cost, and what does the engine's observer?
    trefoil-bench ladder --workers 96 --seconds 0.25
  What does the engine cost against the raw map in the pipeline?
    trefoil-bench overhead --repeats 20
  How long does a credential proof take, and how large is it?
    trefoil-bench zkp --iters 30
  How long do three signatures take, and what does waiting for them add under load?
    trefoil-bench sign
  What does a key-holder in another process cost, and three of which two decide?
    trefoil-bench remote
  How many logins a second over HTTPS, and how long does each take?
    trefoil-bench load
  What does a flood of invalid proofs cost honest callers?
    trefoil-bench flood
  And more honest logins than the machine can do?
    trefoil-bench overload
  Do idle, deaf and refused connections slow honest logins down?
    trefoil-bench hostile
  What does a login cost on one node of a fleet and on three?
    trefoil-bench fleet
  How does another build compare with this one, in alternating runs?
    trefoil-bench against --other ../before/target/release/trefoil-bench -- run --cadence per-batch
  Keep a result under bench/records/ and name the machine:
    trefoil-bench stages --record stages-laptop --label \"laptop, on mains\"

Exit codes: 0 the outputs were right, 1 they were wrong or a step failed, 2 the command was wrong.
TREFOIL_TIER=portable|avx2|avx512 lowers the instructions used. bench/METHODOLOGY.md and whitepaper/LIMITS.md
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
    #[command(flatten)]
    Benchmark(Benchmark),
    /// Run as a key-holder process of `remote`
    #[command(hide = true)]
    KeyHolder(trefoil_key_holder::cli::KeyHolderArgs),
    /// Run as the service of `load`, `overload` and `hostile`
    #[command(hide = true)]
    Service(ServiceArgs),
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Compare every encrypted score of an embedding set with plain arithmetic
    Exact(ExactArgs),
    /// Time each step of one batch of 32 on one pinned worker
    Stages(StagesArgs),
    /// Compute the same inner products with fhe.rs, alternating with ours
    Peers(PeersArgs),
    /// Load the pipeline in a closed loop and count sealed authentications
    Run(RunArgs),
    /// Load it with 1 to 96 workers, over both caches and in both cadences
    Scaling(ScalingArgs),
    /// Replay recorded requests through the engine and other caches
    HitRatio(HitRatioArgs),
    /// Time look-ups in the engine, other caches and a map
    Cache(CacheArgs),
    /// Climb from three locks in the observer to none and compare each rung with the raw map
    Ladder(LadderArgs),
    /// Compare the engine with the raw map in the whole pipeline, in pairs
    Overhead(OverheadArgs),
    /// Time reads of one entry that all threads read and that is rarely written
    Registry(RegistryArgs),
    /// Decide the same batches in this process, in another and by two of three others
    Remote(RemoteArgs),
    /// Compare another build or another command with this one, in alternating runs
    Against(AgainstArgs),
    /// Make and verify credential proofs
    Zkp(ZkpArgs),
    /// Time signing, alone and as the sealer does it under a scheduled load
    Sign(SignArgs),
    /// Log in over HTTPS with and without a flood of invalid proofs
    Flood(FloodArgs),
    /// Send a service in another process twice and ten times the logins that it can answer
    Overload(OverloadArgs),
    /// Log in over HTTPS in a closed loop, and at random times at half of that rate
    Load(LoadArgs),
    /// Time honest logins and a shutdown under connections that send nothing, read nothing or are always refused
    Hostile(HostileArgs),
    /// Count processor time, statements and writes of a login on one node of a fleet and on three
    Fleet(FleetArgs),
}

/// Parses the process's arguments, runs, prints.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = Cli::parse_from(&arguments);
    if let Err(cause) = trefoil_server::config::Config::check_variables(std::env::vars_os()) {
        return ended(Err(Failure::usage(cause.to_string())));
    }
    let benchmark = match cli.command {
        Command::KeyHolder(args) => return args.run(),
        Command::Service(args) => return ended(args.run().map(|()| true)),
        Command::Benchmark(benchmark) => benchmark,
    };
    packed::calibrate();
    ended(execute(&benchmark, &command_line(&arguments)))
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
fn execute(benchmark: &Benchmark, command_line: &str) -> Result<bool, Failure> {
    let tier = Tier::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    let (name, output) = match benchmark {
        Benchmark::Exact(args) => ("exact", &args.output),
        Benchmark::Stages(args) => ("stages", &args.output),
        Benchmark::Peers(args) => ("peers", &args.output),
        Benchmark::Run(args) => ("run", &args.output),
        Benchmark::Scaling(args) => ("scaling", &args.output),
        Benchmark::HitRatio(args) => ("hit-ratio", &args.output),
        Benchmark::Cache(args) => ("cache", &args.output),
        Benchmark::Ladder(args) => ("ladder", &args.output),
        Benchmark::Overhead(args) => ("overhead", &args.output),
        Benchmark::Registry(args) => ("registry", &args.output),
        Benchmark::Remote(args) => ("remote", &args.output),
        Benchmark::Against(args) => ("against", &args.output),
        Benchmark::Zkp(args) => ("zkp", &args.output),
        Benchmark::Sign(args) => ("sign", &args.output),
        Benchmark::Flood(args) => ("flood", &args.output),
        Benchmark::Overload(args) => ("overload", &args.output),
        Benchmark::Load(args) => ("load", &args.output),
        Benchmark::Hostile(args) => ("hostile", &args.output),
        Benchmark::Fleet(args) => ("fleet", &args.output),
    };
    if cfg!(debug_assertions) && output.record.is_some() {
        return Err(Failure::usage(
            "a debug build keeps no record. Use cargo run --release -p trefoil-bench -- ...",
        ));
    }
    let host = host::host(output.label.as_deref(), tier);
    let report = report_of(benchmark, tier)?;
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

/// Runs it.
fn report_of(benchmark: &Benchmark, tier: Tier) -> Result<Report, Failure> {
    match benchmark {
        Benchmark::Exact(args) => args.run(tier),
        Benchmark::Stages(args) => args.run(tier),
        Benchmark::Peers(args) => args.run(tier),
        Benchmark::Run(args) => args.run(tier),
        Benchmark::Scaling(args) => args.run(tier),
        Benchmark::HitRatio(args) => args.run(),
        Benchmark::Cache(args) => args.run(),
        Benchmark::Ladder(args) => args.run(tier),
        Benchmark::Overhead(args) => args.run(tier),
        Benchmark::Registry(args) => args.run(),
        Benchmark::Remote(args) => args.run(tier),
        Benchmark::Against(args) => args.run(),
        Benchmark::Zkp(args) => args.run(),
        Benchmark::Sign(args) => args.run(tier),
        Benchmark::Flood(args) => args.run(),
        Benchmark::Overload(args) => args.run(),
        Benchmark::Load(args) => args.run(),
        Benchmark::Hostile(args) => args.run(),
        Benchmark::Fleet(args) => args.run(),
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
