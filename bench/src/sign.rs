//! Time of signing, alone, together and under load.

mod bundle;
mod open_loop;
mod salts;
mod slh_dsa;
mod timing;

use std::time::Duration;

use clap::Args;
use serde_json::json;
use trefoil_matching::Tier;
use trefoil_sign::{Extent, SigningKeys};

use crate::args::{count, seconds};
use crate::processor::thread_cpu_ns;
use crate::{Failure, Report};

/// Signing alone is processor time of one thread; the sealer under load is wall time from the hand-over of a batch, which comes on a
/// schedule, to its release.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// Signatures of each kind, all of whose times are kept
    #[arg(long, default_value_t = 60, value_parser = count::<1, 100_000>)]
    rounds: usize,
    /// Length of the load at each rate
    #[arg(long, default_value = "3", value_parser = seconds)]
    seconds: Duration,
    /// Also make N Falcon signatures and look for a salt that repeats (a million take minutes)
    #[arg(long, value_name = "N", default_value_t = 0)]
    falcon_salts: usize,
    /// Also compare the times of N signatures under one key and under others, by dudect's test
    #[arg(long, value_name = "N", default_value_t = 0)]
    timing: usize,
    /// Also derive N account keys, sign with each as a device does, and verify
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,
    /// Skip the timings and run only --falcon-salts, --timing and --device
    #[arg(long)]
    alone: bool,
    /// How much of SLH-DSA to precompute: brief, usual (a service's default) or large, which takes most of a minute
    #[arg(long, default_value = "usual", value_parser = extent)]
    extent: Extent,
}

fn extent(name: &str) -> Result<Extent, String> {
    let known = Extent::ALL.into_iter().find(|extent| extent.name() == name);
    known.ok_or_else(|| "use brief, usual or large".to_owned())
}

/// Times signing and sealing.
///
/// # Errors
/// When keys cannot be made or threads cannot be started. A wrong signature is in the report, not here.
pub(crate) fn sign(args: &Sign, tier: Tier) -> Result<Report, Failure> {
    let Sign { rounds, seconds, falcon_salts, timing, device, alone, extent } = *args;
    if alone && falcon_salts == 0 && timing == 0 && device == 0 {
        return Err(Failure::usage(
            "--alone skips the timings, so nothing is left to run; add --falcon-salts N, --timing N or --device N",
        ));
    }
    let mut report = Report { summary: String::new(), result: json!({ "tier": tier.name() }), problem: None };
    if !alone {
        // Seals use no more than a service's default.
        let usual = extent.min(Extent::default());
        report.result["rounds"] = json!(rounds);
        report = report.and("slhdsa", slh_dsa::measure(rounds, extent, tier)?);
        let bundle = bundle::measure(rounds, usual)?;
        report.put(bundle.result);
        report.summary += &bundle.summary;
        report.problem = report.problem.or(bundle.problem);
        report = report.and("open_loop_one_thread", open_loop::measure(seconds, usual, 1)?);
        // The generator sleeps most of the time.
        if std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
            report = report.and("open_loop", open_loop::measure(seconds, usual, 2)?);
        }
    }
    if falcon_salts > 0 {
        report = report.and("falcon_salts", salts::measure(falcon_salts)?);
    }
    if timing > 0 {
        report = report.and("timing", timing::measure(timing, extent)?);
    }
    if device > 0 {
        report = report.and("device", bundle::device(device)?);
    }
    Ok(report)
}

/// Does the keys' precomputation.
fn precompute(keys: &mut SigningKeys, extent: Extent) -> Result<(), Failure> {
    keys.precompute_to(extent);
    keys.precomputation().run().map_err(Failure::in_step("precomputation"))
}

/// Processor time of `operation` in microseconds, and what it returned.
fn cpu_us<T>(operation: impl FnOnce() -> T) -> (f64, T) {
    let began = thread_cpu_ns();
    let returned = operation();
    ((thread_cpu_ns() - began) as f64 / 1e3, returned)
}
