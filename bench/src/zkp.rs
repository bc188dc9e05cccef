//! Time, size and memory of a credential proof on one thread.

use std::fs;
use std::time::Instant;
use trefoil_types::TenantId;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{
    Attributes, Bound, Circuit, CredentialTree, ProofError, Secret, SessionClaim, Statement, Witness,
    check_encoding, commitment, epoch_at, leaf, prove, security_report, verify,
};

use crate::Failure;
use crate::Report;
use crate::clock::WORLD_START_S;
use crate::distribution::{Distribution, rounded};
use crate::processor::thread_cpu_ns;

/// What to prove, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Zkp {
    /// Parameter set.
    pub circuit: Circuit,
    /// Proofs made and verified; all times are kept.
    pub iterations: usize,
}

/// Makes and verifies proofs, each of a fresh session of one credential.
///
/// # Errors
/// When a proof cannot be made. A wrongly refused or accepted proof is in the report, not here.
pub fn zkp(parameters: Zkp) -> Result<Report, Failure> {
    let Zkp { circuit, iterations } = parameters;
    let holder = Holder::new()?;
    // Every table that is built once is built here, and the processor is awake.
    let (statement, proof) = holder.prove(circuit, 0)?;
    let mut outcome = Outcome::default();
    outcome.check(&statement, &proof);
    let mut runs = Runs::default();
    let started_kib = resident_kib("VmRSS");
    for session in 1..=iterations as u64 {
        let statement = holder.statement(circuit, session);
        let mut rng = rand::make_rng::<StdRng>();
        let (began, cpu_began) = (Instant::now(), thread_cpu_ns());
        let proof = prove(&holder.witness, &statement, &mut rng).map_err(Failure::in_step("proving"))?;
        runs.prove_ms.push(milliseconds(began));
        runs.prove_cpu_ms.push((thread_cpu_ns() - cpu_began) as f64 / 1e6);
        let (began, cpu_began) = (Instant::now(), thread_cpu_ns());
        let verified = verify(&statement, &proof);
        runs.verify_ms.push(milliseconds(began));
        runs.verify_cpu_ms.push((thread_cpu_ns() - cpu_began) as f64 / 1e6);
        outcome.refused += u64::from(verified.is_err());
        let (began, cpu_began) = (Instant::now(), thread_cpu_ns());
        let decoded = check_encoding(circuit, &proof);
        runs.decode_ms.push(milliseconds(began));
        runs.decode_cpu_ms.push((thread_cpu_ns() - cpu_began) as f64 / 1e6);
        outcome.refused += u64::from(decoded.is_err());
        runs.proof_bytes.push(proof.len() as f64);
        outcome.check(&statement, &proof);
    }
    Ok(report(parameters, &runs, &outcome, started_kib))
}

/// The holder of one credential among a few.
struct Holder {
    witness: Witness,
}

impl Holder {
    fn new() -> Result<Holder, Failure> {
        let mut rng = StdRng::seed_from_u64(SEED);
        let secret = Secret::random(&mut rng);
        let attributes = Attributes::new(epoch_at(WORLD_START_S) + 24, LEVEL, 0, INDEX, &mut rng)
            .map_err(Failure::in_step("attributes"))?;
        let mut tree = CredentialTree::new();
        tree.update(INDEX, leaf(&commitment(&secret), &attributes))
            .map_err(Failure::in_step("credential tree"))?;
        let path = tree.path(INDEX).map_err(Failure::in_step("credential tree"))?;
        Ok(Holder { witness: Witness { secret, attributes, index: INDEX, path } })
    }

    /// The holder's claim in one session; different in every session, by its key.
    fn statement(&self, circuit: Circuit, session: u64) -> Statement {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&session.to_le_bytes());
        self.witness.statement(&SessionClaim {
            circuit,
            tenant: TenantId::new(*b"trefoil-bench---"),
            audience: "bench.example",
            root_generation: 1,
            epoch: epoch_at(WORLD_START_S),
            level: LEVEL,
            policy_id: 1,
            key_commitment: &SessionKey::from_bytes(key).commitment(),
            chain: None,
        })
    }

    fn prove(&self, circuit: Circuit, session: u64) -> Result<(Statement, Vec<u8>), Failure> {
        let statement = self.statement(circuit, session);
        let proof = prove(&self.witness, &statement, &mut rand::make_rng::<StdRng>())
            .map_err(Failure::in_step("proving"))?;
        Ok((statement, proof))
    }
}

/// Seed of the credential. Its secret is therefore public; it belongs to no real person.
const SEED: u64 = 0x7472_6566_6f69_6c02;
const LEVEL: u8 = 2;
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
}

#[derive(Debug, Default)]
struct Runs {
    prove_ms: Vec<f64>,
    prove_cpu_ms: Vec<f64>,
    verify_ms: Vec<f64>,
    verify_cpu_ms: Vec<f64>,
    decode_ms: Vec<f64>,
    decode_cpu_ms: Vec<f64>,
    proof_bytes: Vec<f64>,
}

fn report(parameters: Zkp, runs: &Runs, outcome: &Outcome, started_kib: Option<u64>) -> Report {
    let Runs { prove_ms, prove_cpu_ms, verify_ms, verify_cpu_ms, decode_ms, decode_cpu_ms, proof_bytes } =
        runs;
    let Zkp { circuit, iterations } = parameters;
    let figures = [
        ("prove_ms", prove_ms),
        ("prove_cpu_ms", prove_cpu_ms),
        ("verify_ms", verify_ms),
        ("verify_cpu_ms", verify_cpu_ms),
        ("decode_ms", decode_ms),
        ("decode_cpu_ms", decode_cpu_ms),
        ("proof_bytes", proof_bytes),
    ]
    .map(|(name, runs)| (name, Distribution::new(runs.clone())));
    let mut result = Map::new();
    let mut summary = format!("{}, {iterations} proofs: median (min, p90)\n", circuit.name());
    for (name, runs) in &figures {
        result.insert((*name).into(), json!(rounded(runs.median())));
        result.insert(format!("{name}_min"), json!(rounded(runs.min())));
        result.insert(format!("{name}_runs"), runs.runs_json());
        let (median, min, p90) = (runs.median(), runs.min(), runs.p90());
        summary.push_str(&format!("  {name:<14} {median:>10.2}  ({min:.2}, {p90:.2})\n"));
    }
    let mib = |kib: Option<u64>| json!(kib.map(|kib| rounded(kib as f64 / 1024.0)));
    let security = security_report(circuit);
    summary.push_str(&format!("  soundness: {security}\n"));
    let security_bits: Map<String, Value> =
        Bound::ALL.into_iter().map(|bound| (bound.name().into(), json!(security.bits(bound)))).collect();
    let context = json!({
        "circuit": circuit.name(), "iterations": iterations, "threads": 1,
        "verify_includes_decoding": true,
        "peak_rss_mb": mib(resident_kib("VmHWM")), "rss_before_mb": mib(started_kib),
        "security_bits": security_bits,
        "verified": { "refused": outcome.refused, "wrongly_accepted": outcome.accepted },
    });
    result.extend(context.as_object().cloned().unwrap_or_default());
    let Outcome { refused, accepted } = outcome;
    let problem = (refused + accepted > 0)
        .then(|| format!("{refused} proofs were refused, {accepted} changed ones were not"));
    Report { summary, result: Value::Object(result), problem }
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// A figure of this process in KiB: `VmRSS`, its present memory, or `VmHWM`, its peak. None off Linux.
pub(crate) fn resident_kib(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_proofs_are_counted() {
        let holder = Holder::new().expect("credential");
        let (statement, proof) = holder.prove(Circuit::Cred2, 1).expect("proof");
        let mut outcome = Outcome::default();
        outcome.check(&statement, &proof);
        assert_eq!((outcome.refused, outcome.accepted), (0, 0));
        // A proof that does not belong to the statement.
        outcome.check(&holder.statement(Circuit::Cred2, 2), &proof);
        assert_eq!((outcome.refused, outcome.accepted), (1, 0));
        let report = report(Zkp { circuit: Circuit::Cred2, iterations: 0 }, &Runs::default(), &outcome, None);
        assert!(report.problem.expect("problem").contains("1 proofs were refused"));
    }
}
