//! Time, size and memory of a credential proof on one thread.

use std::fs;
use std::time::Instant;

use clap::Args;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{
    Bound, Circuit, ProofError, Statement, Witness, check_encoding, epoch_at, prove, security_report, verify,
};

use crate::args::count;
use crate::clock::WORLD_START_S;
use crate::distribution::{Distribution, Times, rounded};
use crate::population::{credentials, statement};
use crate::processor::thread_cpu_ns;
use crate::{Failure, Report};

/// cred/2 is the circuit in service, cred/2u the one with larger proofs that rest on unique decoding alone. One thread makes and
/// verifies every proof; verify_ms includes decoding it, which decode_ms shows alone.
#[derive(Debug, Args)]
pub(crate) struct Zkp {
    /// Parameter set: cred/2 or cred/2u
    #[arg(long, default_value = "cred/2", value_parser = circuit)]
    circuit: Circuit,
    /// Proofs, all of which are kept
    #[arg(long, default_value_t = 30, value_parser = count::<1, 100_000>)]
    iters: usize,
}

fn circuit(text: &str) -> Result<Circuit, String> {
    let known = Circuit::ALL.into_iter().find(|circuit| circuit.name() == text);
    known.ok_or_else(|| format!("give {}", Circuit::ALL.map(Circuit::name).join(" or ")))
}

/// What is timed, each by the wall clock and as processor time.
const STEPS: [&str; 3] = ["prove", "verify", "decode"];

/// Makes and verifies proofs, each of a fresh session of one credential.
///
/// # Errors
/// When a proof cannot be made. A wrongly refused or accepted proof is in the report, not here.
pub(crate) fn zkp(args: &Zkp) -> Result<Report, Failure> {
    let Zkp { circuit, iters } = *args;
    let witness = witness()?;
    // Every table that is built once is built here, and the processor is awake.
    let (statement, proof) = session(&witness, circuit, 0)?;
    let mut outcome = Outcome::default();
    outcome.check(&statement, &proof);
    let mut runs = [const { [const { Vec::new() }; 2] }; STEPS.len()];
    let mut proof_bytes = Vec::new();
    let started_kib = resident_kib("VmRSS");
    for number in 1..=iters as u64 {
        let statement = statement_of(&witness, circuit, number);
        let mut rng = rand::make_rng::<StdRng>();
        let proof = timed(&mut runs[0], || prove(&witness, &statement, &mut rng));
        let proof = proof.map_err(Failure::in_step("proving"))?;
        let verified = timed(&mut runs[1], || verify(&statement, &proof));
        let decoded = timed(&mut runs[2], || check_encoding(circuit, &proof));
        outcome.refused += u64::from(verified.is_err()) + u64::from(decoded.is_err());
        proof_bytes.push(proof.len() as f64);
        outcome.check(&statement, &proof);
    }
    let named = STEPS
        .into_iter()
        .zip(runs)
        .flat_map(|(step, [wall, cpu])| [(format!("{step}_ms"), wall), (format!("{step}_cpu_ms"), cpu)]);
    let named = named.chain([("proof_bytes".to_owned(), proof_bytes)]);
    let figures = Times(named.map(|(name, runs)| (name, Distribution::new(runs))).collect());
    let security = security_report(circuit);
    let summary = format!(
        "{}, {iters} proofs: median (min, p90)\n{}  soundness: {security}\n",
        circuit.name(),
        figures.text()
    );
    let mut fields = Map::new();
    figures.0.iter().for_each(|(name, runs)| runs.put_into(&mut fields, name));
    let mib = |kib: Option<u64>| json!(kib.map(|kib| rounded(kib as f64 / 1024.0)));
    let security_bits: Map<String, Value> =
        Bound::ALL.into_iter().map(|bound| (bound.name().into(), json!(security.bits(bound)))).collect();
    let mut report = Report { summary, result: fields.into(), problem: outcome.problem() };
    report.put(json!({
        "circuit": circuit.name(), "iterations": iters, "threads": 1, "verify_includes_decoding": true,
        "peak_rss_mb": mib(resident_kib("VmHWM")), "rss_before_mb": mib(started_kib), "security_bits": security_bits,
        "verified": { "refused": outcome.refused, "wrongly_accepted": outcome.accepted },
    }));
    Ok(report)
}

/// Adds the milliseconds of a step to its runs, by the wall clock and as processor time.
fn timed<R>([wall, cpu]: &mut [Vec<f64>; 2], step: impl FnOnce() -> R) -> R {
    let (began, cpu_began) = (Instant::now(), thread_cpu_ns());
    let result = step();
    wall.push(began.elapsed().as_secs_f64() * 1e3);
    cpu.push((thread_cpu_ns() - cpu_began) as f64 / 1e6);
    result
}

/// The holder of one credential among many.
fn witness() -> Result<Witness, Failure> {
    let mut rng = StdRng::seed_from_u64(SEED);
    let (witnesses, _) = credentials([INDEX].into_iter(), epoch_at(WORLD_START_S), &mut rng)?;
    witnesses.into_iter().next().ok_or_else(|| Failure::fault("no credential"))
}

/// The holder's claim in one session; different in every session, by its key.
fn statement_of(witness: &Witness, circuit: Circuit, session: u64) -> Statement {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&session.to_le_bytes());
    statement(witness, circuit, &SessionKey::from_bytes(key))
}

fn session(witness: &Witness, circuit: Circuit, number: u64) -> Result<(Statement, Vec<u8>), Failure> {
    let statement = statement_of(witness, circuit, number);
    let proof =
        prove(witness, &statement, &mut rand::make_rng::<StdRng>()).map_err(Failure::in_step("proving"))?;
    Ok((statement, proof))
}

/// Seed of the credential. Its secret is therefore public; it belongs to no real person.
const SEED: u64 = 0x7472_6566_6f69_6c02;
/// Place of the credential in the tree of 2^20: any.
const INDEX: u32 = 700_001;

/// Wrong results.
#[derive(Debug, Default)]
struct Outcome {
    /// True statements that were refused.
    refused: u64,
    /// Proofs with a flipped bit, or of another statement, that were accepted.
    accepted: u64,
}

impl Outcome {
    /// The proof must show its statement, no other one, and not survive a change.
    fn check(&mut self, statement: &Statement, proof: &[u8]) {
        self.refused += u64::from(verify(statement, proof).is_err());
        let mut other = statement.clone();
        other.ctx[0] ^= 1;
        self.accepted += u64::from(verify(&other, proof) != Err(ProofError::Rejected));
        let mut flipped = proof.to_vec();
        flipped[proof.len() / 2] ^= 1;
        self.accepted += u64::from(verify(statement, &flipped).is_ok());
    }

    fn problem(&self) -> Option<String> {
        let Outcome { refused, accepted } = self;
        (refused + accepted > 0)
            .then(|| format!("{refused} proofs were refused, {accepted} changed ones were not"))
    }
}

/// A figure of this process in KiB: `VmRSS`, its present memory, or `VmHWM`, its peak. None off Linux.
fn resident_kib(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_proofs_are_counted() {
        let witness = witness().expect("credential");
        let (statement, proof) = session(&witness, Circuit::Cred2, 1).expect("proof");
        let mut outcome = Outcome::default();
        outcome.check(&statement, &proof);
        assert_eq!((outcome.refused, outcome.accepted, outcome.problem()), (0, 0, None));
        // A proof that does not belong to the statement.
        outcome.check(&statement_of(&witness, Circuit::Cred2, 2), &proof);
        assert_eq!((outcome.refused, outcome.accepted), (1, 0));
        assert!(outcome.problem().expect("problem").contains("1 proofs were refused"));
    }
}
