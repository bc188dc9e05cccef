//! Logins over HTTPS, to a service in another process: the rate and the latency that a caller sees.
//!
//! One generator has several profiles. `steady` is a closed loop with ever more connections, which shows the rate; then half of the best
//! rate arrives at random times. The others measure a tenant's logins while something else happens: `overload`, `flood` and `hostile`
//! (`beside.rs`); or on one node of a fleet and on three: `fleet`.
//!
//! Service and generator share the machine.

mod attacks;
mod beside;
mod fleet;
mod generator;
mod phase;
mod plan;
mod raw;
pub(crate) mod service;
mod world;

use clap::ValueEnum as _;
use serde_json::json;

use crate::distribution::rounded;
use crate::{Failure, Report};
use generator::{Generator, Pace};
use phase::{Phase, problem};
pub(crate) use plan::Load;
use plan::{FIRST_GUESS_IN_BATCHES_PER_S, FIRST_GUESS_PER_S, Profile};
use raw::Target;
use service::{Service, runtime};
use world::World;

/// Part of the best rate at which logins arrive at random times.
const OPEN_SHARE: f64 = 0.5;
/// Connections for those.
const OPEN_CONNECTIONS: usize = 256;
/// Runs the phases of a profile.
///
/// # Errors
/// When the service does not start or a preparation fails. A wrong answer and an attestation that does not verify are in the report.
pub(crate) fn load(args: &Load) -> Result<Report, Failure> {
    let connections: &[usize] = match args.profile {
        Profile::Steady => &[1, 8, 64, 256],
        Profile::Overload => &[1024],
        Profile::Flood => &[64],
        Profile::Hostile => &[4096],
        Profile::Fleet => &[64, 256, 1024],
    };
    let mut load = args.clone();
    if load.connections.is_empty() {
        load.connections = connections.to_vec();
    }
    let mut report = match load.profile {
        Profile::Steady => steady(&load),
        Profile::Overload | Profile::Flood | Profile::Hostile => beside::beside(&load),
        Profile::Fleet => fleet::fleet(&load),
    }?;
    report.put(json!({
        "profile": load.profile.to_possible_value().map(|name| name.get_name().to_owned()), "phase_s": load.seconds.as_secs_f64(),
        "rounds": load.rounds, "people": load.people, "numbers": load.numbers, "batch": load.batch, "verify_every": load.verify_every, "seed": load.seed,
    }));
    Ok(report)
}

fn steady(load: &Load) -> Result<Report, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let (service, reached) = Service::start(&directory.path().join("data"), &["--on-all"])?;
    let runtime = runtime(1, 0)?;
    let world = runtime.block_on(World::at(&reached, "load", load.people, load.numbers))?;
    let trust_root = runtime.block_on(world.trust_root())?;
    let generator = Generator::new(runtime, vec![Target::of(&reached)?], world, trust_root, load);
    let most = load.connections.iter().copied().max().unwrap_or(1);
    // A warm-up: templates and verdicts settle in memory.
    let guess = if load.batch == 1 { FIRST_GUESS_PER_S } else { FIRST_GUESS_IN_BATCHES_PER_S };
    let mut per_s = generator.phase(most, Pace::AtOnce, guess)?.per_s();
    let mut resident = vec![service.resident_bytes()?];
    let mut closed = vec![Phase::default(); load.connections.len()];
    let mut open = Phase::default();
    let best = |closed: &[Phase]| closed.iter().map(Phase::per_s).fold(0.0, f64::max);
    for round in 0..load.rounds {
        for (phase, &connections) in closed.iter_mut().zip(&load.connections) {
            let shown = generator.phase(connections, Pace::AtOnce, per_s)?;
            per_s = per_s.max(shown.per_s());
            eprint!(
                "{}",
                shown.line(&format!("round {} of {}: {connections} connections", round + 1, load.rounds))
            );
            phase.add(shown);
        }
        let pace = Pace::AtRandom(OPEN_SHARE * best(&closed), load.seed ^ round as u64);
        open.add(generator.phase(OPEN_CONNECTIONS, pace, per_s)?);
        resident.push(service.resident_bytes()?);
    }
    service.stop()?;
    let (mut summary, mut loops) = (String::new(), Vec::new());
    for (phase, connections) in closed.iter().zip(&load.connections) {
        summary += &phase.line(&format!("closed loop, {connections} connections x {}", load.batch));
        let mut figures = phase.json();
        figures["connections"] = json!(connections);
        loops.push(figures);
    }
    summary += &open.line("half of the best, at random times");
    let mut half = open.json();
    half["wanted_per_s"] = json!(rounded(OPEN_SHARE * best(&closed)));
    let result = json!({
        "closed": loops, "open": half, "best_per_s": rounded(best(&closed)), "open_share": OPEN_SHARE,
        "service_resident_bytes": {"after_warm_up": resident[0], "after_rounds": resident[1..]},
    });
    Ok(Report { summary, result, problem: problem(closed.iter().chain([&open]), false) })
}
