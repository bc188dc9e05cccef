//! Honest logins over HTTPS with and without a flood of invalid proofs, alternating within one run.
//!
//! The service, the honest callers and the flooder share this machine, so part of the flood's cost is the cost of
//! sending it. Quiet and flooded phases alternate, so that a machine that slows down slows both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_api::{AttestationForm, Decision, Nonce, Vector};
use trefoil_client::{Client, HolderSession};

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::zkp::resident_kib;

pub(crate) mod world;

use world::{World, unix_now};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// Length of a phase.
    pub phase: Duration,
    /// Quiet phases, and as many flooded ones.
    pub rounds: usize,
    /// Invalid uploads that the flooder keeps in flight.
    pub uploads: usize,
    /// Honest logins in flight.
    pub logins: usize,
}

/// The result of one phase.
#[derive(Default)]
struct Phase {
    latencies_ns: Vec<u64>,
    seconds: f64,
    refused: u64,
}

/// Shared with the flooder.
#[derive(Default)]
struct Switch {
    on: AtomicBool,
    stop: AtomicBool,
    answered: AtomicU64,
    unexpected: AtomicU64,
}

/// Runs the phases.
///
/// # Errors
/// When the service does not start or a preparation fails. A login that fails is in the report.
pub fn flood(parameters: Flood) -> Result<Report, Failure> {
    let Flood { phase, rounds, uploads, logins } = parameters;
    let service = runtime(2)?;
    let world = Arc::new(service.block_on(World::new(logins))?);
    let switch = Arc::new(Switch::default());
    let flooder = {
        let (world, switch) = (Arc::clone(&world), Arc::clone(&switch));
        std::thread::spawn(move || -> Result<(), Failure> {
            runtime(1)?.block_on(send_invalid(&world, uploads, &switch));
            Ok(())
        })
    };
    let callers = runtime(1)?;
    let (mut quiet, mut flooded) = (Vec::new(), Vec::new());
    let (mut queue_depth_max, mut rss_kib_max) = (0.0_f64, 0);
    let rss_kib_before = resident_kib("VmRSS");
    // A warm-up round that is not counted: connections, tables and the processor's clock settle.
    callers.block_on(log_in(&world, phase / 2, 0));
    let flood_seconds = phase.as_secs_f64() * rounds as f64;
    for round in 1..=2 * rounds as u64 {
        let on = round.is_multiple_of(2);
        switch.on.store(on, Ordering::SeqCst);
        let outcome = callers.block_on(log_in(&world, phase, round));
        if on {
            flooded.push(outcome)
        } else {
            quiet.push(outcome)
        }
        queue_depth_max = queue_depth_max.max(service.block_on(world.metric("trefoil_proof_queue_depth"))?);
        rss_kib_max = rss_kib_max.max(resident_kib("VmRSS").unwrap_or(0));
    }
    switch.stop.store(true, Ordering::SeqCst);
    flooder.join().map_err(|_| Failure::fault("the flooder panicked"))??;
    let verified = service.block_on(world.metric("trefoil_proofs_total{outcome=\"refused\"}"))?;
    let world = Arc::into_inner(world).ok_or_else(|| Failure::fault("the service is still in use"))?;
    service.block_on(world.stop())?;
    let measured = json!({
        "flood": {
            "uploads_in_flight": uploads,
            "answered_per_s": rounded(switch.answered.load(Ordering::SeqCst) as f64 / flood_seconds),
            "verified_per_s": rounded(verified / flood_seconds),
        },
        "proof_queue_depth_max": queue_depth_max,
        "rss_before_mb": rss_kib_before.map(|kib| rounded(kib as f64 / 1024.0)),
        "rss_max_mb": rounded(rss_kib_max as f64 / 1024.0),
        "logins_in_flight": logins, "phase_s": phase.as_secs_f64(), "rounds": rounds,
    });
    Ok(report(&quiet, &flooded, measured, switch.unexpected.load(Ordering::SeqCst)))
}

fn runtime(threads: usize) -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(Failure::in_step("runtime"))
}

/// Logs in for the length of a phase: each of `world`'s people makes one login after another.
async fn log_in(world: &Arc<World>, phase: Duration, round: u64) -> Phase {
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for person in 0..world.people() {
        let world = Arc::clone(world);
        callers.spawn(async move {
            let (client, session, face) = world.person(person);
            let (mut latencies_ns, mut refused) = (Vec::new(), 0_u64);
            while began.elapsed() < phase {
                let sent = Instant::now();
                let number = latencies_ns.len() as u64;
                let is_match = one(client, session, face, (round << 40) | number).await;
                latencies_ns.push(sent.elapsed().as_nanos() as u64);
                refused += u64::from(!is_match);
            }
            (latencies_ns, refused)
        });
    }
    let mut outcome = Phase::default();
    for (latencies_ns, refused) in callers.join_all().await {
        outcome.latencies_ns.extend(latencies_ns);
        outcome.refused += refused;
    }
    outcome.seconds = began.elapsed().as_secs_f64();
    outcome
}

/// One login of a person with their own face: whether it matched.
async fn one(client: &Client, session: &HolderSession, face: &Vector, number: u64) -> bool {
    let Some(nonce) = Nonce::new([number.to_le_bytes(); 2].concat()) else { return false };
    let request = session.authentication(face.clone(), nonce, unix_now(), AttestationForm::Compact);
    // Only the time counts here.
    let answer = client.authenticate(&request).await;
    answer.is_ok_and(|answer| answer.without_verification().decision == Decision::Match)
}

/// Sends invalid proofs as fast as they are answered, while the switch is on.
async fn send_invalid(world: &Arc<World>, uploads: usize, switch: &Arc<Switch>) {
    let mut lanes = JoinSet::new();
    for lane in 0..uploads {
        let (world, switch) = (Arc::clone(world), Arc::clone(switch));
        lanes.spawn(async move {
            let invalid = world.invalid(lane);
            while !switch.stop.load(Ordering::Relaxed) {
                if !switch.on.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue;
                }
                let refused = world.flooder().open_session(invalid.clone()).await.err();
                let code = refused.as_ref().and_then(|refused| refused.code());
                let expected = ["proof-rejected", "quota-exceeded", "overloaded"];
                if !code.is_some_and(|code| expected.contains(&code)) {
                    switch.unexpected.fetch_add(1, Ordering::Relaxed);
                }
                switch.answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    lanes.join_all().await;
}

fn report(quiet: &[Phase], flooded: &[Phase], measured: Value, unexpected: u64) -> Report {
    let [quiet, flooded] = [figures(quiet), figures(flooded)];
    let p99_ratio = flooded.p99_ms / quiet.p99_ms;
    let goodput_ratio = flooded.per_s / quiet.per_s;
    let json = |figures: &Figures| {
        json!({
            "logins_per_s": rounded(figures.per_s), "p50_ms": rounded(figures.p50_ms),
            "p99_ms": rounded(figures.p99_ms), "logins": figures.logins, "refused": figures.refused,
            "logins_per_s_runs": figures.runs.runs_json(),
        })
    };
    let mut result = json!({
        "quiet": json(&quiet), "flooded": json(&flooded),
        "p99_ratio": rounded(p99_ratio), "goodput_ratio": rounded(goodput_ratio),
    });
    if let (Value::Object(result), Value::Object(measured)) = (&mut result, measured) {
        result.extend(measured);
    }
    let line = |name: &str, f: &Figures| {
        format!(
            "  {name:<8} {:>9.0} logins/s   p50 {:>7.2} ms   p99 {:>7.2} ms\n",
            f.per_s, f.p50_ms, f.p99_ms
        )
    };
    let summary = format!(
        "{}{}  under flood: p99 x {p99_ratio:.2}, goodput x {goodput_ratio:.2}\n",
        line("quiet", &quiet),
        line("flooded", &flooded)
    );
    let refused = quiet.refused + flooded.refused;
    let problem = (refused + unexpected > 0).then(|| {
        format!("{refused} honest logins failed, {unexpected} invalid uploads had an unexpected answer")
    });
    Report { summary, result, problem }
}

/// Figures of all phases of one kind.
struct Figures {
    per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    logins: usize,
    refused: u64,
    runs: Distribution,
}

fn figures(phases: &[Phase]) -> Figures {
    let mut all: Vec<u64> = phases.iter().flat_map(|phase| phase.latencies_ns.iter().copied()).collect();
    all.sort_unstable();
    let at = |q: f64| {
        let rank = ((all.len() as f64 * q).ceil() as usize).max(1) - 1;
        all.get(rank).map_or(f64::NAN, |&ns| ns as f64 / 1e6)
    };
    let seconds: f64 = phases.iter().map(|phase| phase.seconds).sum();
    let runs = phases.iter().map(|phase| phase.latencies_ns.len() as f64 / phase.seconds).collect();
    Figures {
        per_s: all.len() as f64 / seconds,
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        logins: all.len(),
        refused: phases.iter().map(|phase| phase.refused).sum(),
        runs: Distribution::new(runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_the_two_kinds_of_phases() {
        let phase =
            |ns: u64, refused| Phase { latencies_ns: vec![ns; 100], seconds: ns as f64 / 1e6, refused };
        let report = report(&[phase(1_000_000, 0); 1], &[phase(2_000_000, 0)], json!({"a": 1}), 0);
        assert_eq!(
            (&report.result["p99_ratio"], &report.result["goodput_ratio"]),
            (&json!(2.0), &json!(0.5))
        );
        assert_eq!((&report.result["a"], report.problem), (&json!(1), None));
        let wrong = super::report(&[phase(1_000_000, 1)], &[phase(1_000_000, 0)], json!({}), 2);
        assert!(wrong.problem.is_some_and(|problem| problem.starts_with("1 honest logins failed, 2")));
    }
}
