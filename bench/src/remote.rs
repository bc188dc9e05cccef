//! The same batches decided by a key-holder in this process, by one in another process and by three, two of which decide.
//!
//! The processes are on this machine and reached over mutual TLS on the loopback: what is measured is the protocol, the copies
//! and the switch to another process, not a network. Contestants take turns within a round, so that all see the same
//! disturbances.

mod contestant;
mod houses;
mod relay;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trefoil_matching::quorum::Parts;
use trefoil_matching::{LANES, Tier};

use crate::distribution::{Distribution, rounded};
use crate::failure::Failure;
use crate::record::Report;
use crate::roles::ProbeMode;

use contestant::{Contestant, JOBS};
pub(crate) use houses::Houses;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRole {
    /// How probes arrive.
    pub mode: ProbeMode,
    /// Timed rounds; in each, every contestant decides two batches.
    pub iterations: usize,
    /// Rounds before that.
    pub warmup: usize,
    /// Threads that ask at the same time when throughput is measured.
    pub workers: usize,
    /// Length of one measurement of throughput.
    pub phase: Duration,
    /// Measurements of throughput of each contestant.
    pub repeats: usize,
    /// Highest tier for the matcher. Key-holders compute on the best.
    pub tier: Tier,
}

/// What is timed: everybody shows their own face; one of 32 shows another's, which is on record before the answer; and, with
/// shared probes, the encryption before the match.
const STEPS: [&str; 3] = ["decide", "decide_with_failure", "encrypt"];

/// So that a batch is not asked for again while a late part of it may be on its way between key-holders.
const WORKERS_MAX: usize = JOBS / 4;

/// Measures.
///
/// # Errors
/// When a process does not start or a step refuses. A wrong decision is in the report.
pub fn remote(parameters: RemoteRole) -> Result<Report, Failure> {
    if !(1..=WORKERS_MAX).contains(&parameters.workers) {
        return Err(Failure::usage(format!("--workers: at least 1 and at most {WORKERS_MAX}")));
    }
    let houses = Houses::start(parameters.mode == ProbeMode::Plain)?;
    let mut contestants = vec![
        Contestant::new("local", houses.local()?, &parameters)?,
        Contestant::new("process", houses.remote()?, &parameters)?,
    ];
    if let Some(quorum) = houses.quorum()? {
        contestants.push(Contestant::new("two_of_three", quorum, &parameters)?);
    }
    let mut times: Vec<[Vec<u64>; 3]> = contestants.iter().map(|_| Default::default()).collect();
    for round in 0..parameters.warmup + parameters.iterations {
        for turn in 0..contestants.len() {
            let at = (round + turn) % contestants.len();
            let measured = contestants[at].round(round)?;
            if round >= parameters.warmup {
                for (runs, ns) in times[at].iter_mut().zip(measured) {
                    runs.extend(ns);
                }
            }
        }
    }
    let mut rates: Vec<Vec<f64>> = contestants.iter().map(|_| Vec::new()).collect();
    for _ in 0..parameters.repeats {
        for (contestant, rates) in contestants.iter().zip(&mut rates) {
            rates.push(throughput(contestant, parameters.workers, parameters.phase)?);
        }
    }
    let wire = houses.wire(&contestants[1..])?;
    let wrong = contestants.iter().map(Contestant::wrong).sum();
    Ok(report(&parameters, &contestants, &times, &rates, &wire, wrong))
}

/// Batches a second with several threads asking. Each has batches of its own: the same batch twice at the same time is
/// nothing that a gateway asks for, and three key-holders tell batches apart by their digest.
fn throughput(contestant: &Contestant, workers: usize, phase: Duration) -> Result<f64, Failure> {
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
                        contestant.decide(worker * share + count % share)?;
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
    contestants: &[Contestant],
    times: &[[Vec<u64>; 3]],
    rates: &[Vec<f64>],
    wire: &[(u64, u64)],
    wrong: u64,
) -> Report {
    let RemoteRole { mode, iterations, warmup, workers, phase, repeats, tier } = *parameters;
    let mut result = Map::new();
    let mut summary = format!(
        "us per batch of {LANES}, {} probes: median (p99), and batches/s of {workers} threads\n",
        mode.name()
    );
    for (at, (contestant, rates)) in contestants.iter().zip(rates).enumerate() {
        let rates = Distribution::new(rates.clone());
        let mut fields = Map::new();
        summary.push_str(&format!("  {:<13}", contestant.name));
        for (step, ns) in STEPS.iter().zip(&times[at]).filter(|(_, ns)| !ns.is_empty()) {
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
        if contestant.name == "two_of_three" {
            // Each sends its parts to both others.
            fields.insert("bytes_between_key_holders_per_batch".to_owned(), json!(6 * (5 + Parts::BYTES)));
        }
        summary.push('\n');
        result.insert(contestant.name.to_owned(), Value::Object(fields));
    }
    let context = json!({
        "mode": mode.name(), "lanes": LANES, "iterations": iterations,
        "warmup_rounds": warmup, "workers": workers, "phase_s": phase.as_secs_f64(), "repeats": repeats,
        "tier": tier.name(), "decisions_wrong": wrong,
    });
    result.extend(context.as_object().cloned().unwrap_or_default());
    let problem = (wrong > 0).then(|| format!("{wrong} batches were not decided as the plain scores imply"));
    Report { summary, result: Value::Object(result), problem }
}
