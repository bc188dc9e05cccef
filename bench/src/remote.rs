//! The same batches decided by a key-holder in this process, by one in another process and by three, two of which decide.
//!
//! The processes are on this machine and reached over mutual TLS on the loopback: what is measured is the protocol, the copies
//! and the switch to another process, not a network. Candidates take turns within a round, so that all see the same
//! disturbances.

mod candidate;
mod key_holders;
mod relay;
mod role;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trefoil_matching::LANES;
use trefoil_matching::quorum::Parts;

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};

use candidate::{Candidate, JOBS};
pub(crate) use key_holders::KeyHolders;
pub use role::RemoteRole;

/// The timed steps: all show their own face; one of 32 shows another's, which is on record before the answer.
const STEPS: [&str; 2] = ["decide", "decide_with_failure"];

/// So that a batch is not requested again while a late part of it may be in flight between key-holders.
const WORKERS_MAX: usize = JOBS / 4;

/// Measures.
///
/// # Errors
/// When a process does not start or a step fails. A wrong decision is in the report.
pub fn remote(parameters: RemoteRole) -> Result<Report, Failure> {
    if !(1..=WORKERS_MAX).contains(&parameters.workers) {
        return Err(Failure::usage(format!("--workers: at least 1 and at most {WORKERS_MAX}")));
    }
    let key_holders = KeyHolders::start_at(0, true)?;
    let candidates = [
        Candidate::new("local", key_holders.local()?, &parameters)?,
        Candidate::new("process", key_holders.remote()?, &parameters)?,
        Candidate::new("two_of_three", key_holders.quorum()?, &parameters)?,
    ];
    let mut times: Vec<[Vec<u64>; 2]> = candidates.iter().map(|_| Default::default()).collect();
    for round in 0..parameters.warmup + parameters.iterations {
        for turn in 0..candidates.len() {
            let at = (round + turn) % candidates.len();
            let measured = candidates[at].round(round)?;
            if round >= parameters.warmup {
                for (runs, ns) in times[at].iter_mut().zip(measured) {
                    runs.push(ns);
                }
            }
        }
    }
    let mut rates: Vec<Vec<f64>> = candidates.iter().map(|_| Vec::new()).collect();
    for _ in 0..parameters.repeats {
        for (candidate, rates) in candidates.iter().zip(&mut rates) {
            rates.push(throughput(candidate, parameters.workers, parameters.phase)?);
        }
    }
    let wire = key_holders.wire(&candidates[1..])?;
    let wrong = candidates.iter().map(Candidate::wrong).sum();
    Ok(report(&parameters, &candidates, &times, &rates, &wire, wrong))
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

fn report(
    parameters: &RemoteRole,
    candidates: &[Candidate],
    times: &[[Vec<u64>; 2]],
    rates: &[Vec<f64>],
    wire: &[(u64, u64)],
    wrong: u64,
) -> Report {
    let RemoteRole { iterations, warmup, workers, phase, repeats, tier } = *parameters;
    let mut result = Map::new();
    let mut summary = format!("us per batch of {LANES}: median (p99), and batches/s of {workers} threads\n");
    for (at, (candidate, rates)) in candidates.iter().zip(rates).enumerate() {
        let rates = Distribution::new(rates.clone());
        let mut fields = Map::new();
        summary.push_str(&format!("  {:<13}", candidate.name));
        for (step, ns) in STEPS.iter().zip(&times[at]) {
            let us = Distribution::of_ns(ns.iter().copied());
            let figures = json!({
                "p50_us": rounded(us.median()), "p99_us": rounded(us.percentile(99)), "min_us": rounded(us.min()),
            });
            summary.push_str(&format!(" {step} {:.0} ({:.0})", us.median(), us.percentile(99)));
            fields.insert((*step).to_owned(), figures);
        }
        fields.insert("batches_per_s".to_owned(), json!(rounded(rates.median())));
        fields.insert("batches_per_s_runs".to_owned(), rates.runs_json());
        summary.push_str(&format!("  {:.0}/s", rates.median()));
        if let Some((sent, received)) = at.checked_sub(1).map(|at| wire[at]) {
            fields.insert("bytes_sent_per_batch".to_owned(), json!(sent));
            fields.insert("bytes_received_per_batch".to_owned(), json!(received));
            summary.push_str(&format!("  {sent} bytes out, {received} back"));
        }
        if candidate.name == "two_of_three" {
            // Each sends its parts to both others.
            fields.insert("bytes_between_key_holders_per_batch".to_owned(), json!(6 * (5 + Parts::BYTES)));
        }
        summary.push('\n');
        result.insert(candidate.name.to_owned(), Value::Object(fields));
    }
    let context = json!({
        "lanes": LANES, "iterations": iterations,
        "warmup_rounds": warmup, "workers": workers, "phase_s": phase.as_secs_f64(), "repeats": repeats,
        "tier": tier.name(), "decisions_wrong": wrong,
    });
    result.extend(context.as_object().cloned().unwrap_or_default());
    let problem = (wrong > 0).then(|| format!("{wrong} batches were not decided as the plain scores imply"));
    Report { summary, result: Value::Object(result), problem }
}
