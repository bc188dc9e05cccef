//! The same batches decided by a key-holder in this process, by one in another process and by three, two of which decide.
//!
//! The processes are on this machine and reached over mutual TLS on the loopback: what is measured is the protocol, the copies
//! and the switch to another process, not a network. Candidates take turns within a round, so that all see the same
//! disturbances.

mod candidate;
mod key_holders;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use trefoil_matching::quorum::Parts;
use trefoil_matching::{LANES, Tier};

use crate::args::{cores, count, seconds};
use crate::distribution::{Distribution, rounded};
use crate::{Failure, Report};
use candidate::{Candidate, JOBS};
pub(crate) use key_holders::KeyHolders;

/// Key-holders are started as processes of their own and reached over mutual TLS on the loopback.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Timed rounds; in each, every key-holder decides two batches
    #[arg(long, default_value_t = 400, value_parser = count::<1, 100_000>)]
    iters: usize,
    /// Rounds before them
    #[arg(long, default_value_t = 32, value_parser = count::<0, 100_000>)]
    warmup: usize,
    /// Threads that call at the same time when throughput is measured [default: one per core]
    #[arg(long, value_parser = count::<1, WORKERS_MAX>)]
    workers: Option<usize>,
    /// Length of one measurement of throughput
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: Duration,
    /// Measurements of throughput of each key-holder
    #[arg(long, default_value_t = 5, value_parser = count::<1, 1000>)]
    repeats: usize,
}

/// The timed steps: all show their own face; one of 32 shows another's, which is on record before the answer.
const STEPS: [&str; 2] = ["decide", "decide_with_failure"];

/// So that a batch is not requested again while a late part of it may be in flight between key-holders.
const WORKERS_MAX: usize = JOBS / 4;

/// Measures.
///
/// # Errors
/// When a process does not start or a step fails. A wrong decision is in the report.
pub(crate) fn remote(args: &RemoteArgs, tier: Tier) -> Result<Report, Failure> {
    let RemoteArgs { iters, warmup, seconds, repeats, .. } = *args;
    let workers = args.workers.unwrap_or_else(|| cores().min(WORKERS_MAX));
    let key_holders = KeyHolders::start_at(0, true)?;
    let candidates = [
        Candidate::new("local", key_holders.local()?, tier)?,
        Candidate::new("process", key_holders.remote()?, tier)?,
        Candidate::new("two_of_three", key_holders.quorum()?, tier)?,
    ];
    let mut times: Vec<[Vec<u64>; 2]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..warmup + iters {
        for turn in 0..candidates.len() {
            let at = (round + turn) % candidates.len();
            let measured = candidates[at].round(round)?;
            if round >= warmup {
                times[at].iter_mut().zip(measured).for_each(|(runs, ns)| runs.push(ns));
            }
        }
    }
    let mut rates: Vec<Vec<f64>> = candidates.iter().map(|_| Vec::new()).collect();
    for _ in 0..repeats {
        for (candidate, rates) in candidates.iter().zip(&mut rates) {
            rates.push(throughput(candidate, workers, seconds)?);
        }
    }
    let wrong: u64 = candidates.iter().map(Candidate::wrong).sum();
    let summary = format!("us per batch of {LANES}: median (p99), and batches/s of {workers} threads\n");
    let result = json!({
        "lanes": LANES, "job_bytes": candidates[0].job_bytes(), "iterations": iters, "warmup_rounds": warmup, "workers": workers, "phase_s": seconds.as_secs_f64(),
        "repeats": repeats, "tier": tier.name(), "decisions_wrong": wrong,
    });
    let problem = (wrong > 0).then(|| format!("{wrong} batches were not decided as the plain scores imply"));
    let mut report = Report { summary, result, problem };
    for ((candidate, times), rates) in candidates.iter().zip(times).zip(rates) {
        report = report.and(candidate.name, shown(candidate.name, times, Distribution::new(rates)));
    }
    Ok(report)
}

/// What a key-holder showed.
fn shown(name: &str, times: [Vec<u64>; 2], rates: Distribution) -> Report {
    let mut result =
        json!({ "batches_per_s": rounded(rates.median()), "batches_per_s_runs": rates.runs_json() });
    let mut summary = format!("  {name:<13}");
    for (step, ns) in STEPS.into_iter().zip(times) {
        let us = Distribution::of_ns(ns);
        summary += &format!(" {step} {:.0} ({:.0})", us.median(), us.percentile(99));
        result[step] = json!({
            "p50_us": rounded(us.median()), "p99_us": rounded(us.percentile(99)), "min_us": rounded(us.min()),
        });
    }
    summary += &format!("  {:.0}/s", rates.median());
    if name == "two_of_three" {
        // Each sends its parts to both others.
        result["bytes_between_key_holders_per_batch"] = json!(6 * (5 + Parts::BYTES));
    }
    Report { summary: summary + "\n", result, problem: None }
}

/// Batches a second with several threads asking. Each has batches of its own: the same batch twice at the same time is
/// not a request that a gateway makes, and three key-holders distinguish batches by their digest.
fn throughput(candidate: &Candidate, workers: usize, phase: Duration) -> Result<f64, Failure> {
    let (stop, decided) = (AtomicBool::new(false), AtomicU64::new(0));
    let share = JOBS / workers;
    let began = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let (stop, decided) = (&stop, &decided);
                scope.spawn(move || -> Result<(), Failure> {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        candidate.decide(worker * share + count % share)?;
                        count += 1;
                    }
                    decided.fetch_add(count as u64, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        thread::sleep(phase);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| Failure::fault("a worker panicked"))??;
        }
        Ok(decided.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
    })
}
