//! What a relying party would check, for sampled attestations.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::{Attestation, Evidence, ExpectedNonce, Policy, TrustRoot, VerifyError, verify};
use trefoil_pipeline::{BoundLane, SealedTree};

use crate::population::{AUDIENCE, POLICY_ID, Population, TENANT};
use crate::seals::{Submitted, Tally};
use crate::workload::Ticket;

/// A released lane, kept for verification.
pub(crate) struct Sample {
    pub(crate) lane: BoundLane<Ticket>,
    pub(crate) leaf_index: u64,
    pub(crate) under: Arc<SealedTree>,
}

/// A uniform sample of bounded size of all lanes offered (reservoir sampling, algorithm R).
pub(crate) struct Reservoir {
    pub(crate) kept: Vec<Sample>,
    size: usize,
    offered: u64,
    rng: StdRng,
}

impl Reservoir {
    pub(crate) fn new(size: usize) -> Self {
        Reservoir { kept: Vec::with_capacity(size), size, offered: 0, rng: StdRng::seed_from_u64(0) }
    }

    /// A random number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    pub(crate) fn offer(&mut self, lane: BoundLane<Ticket>, leaf_index: u64, under: &Arc<SealedTree>) {
        self.offered += 1;
        let sample = Sample { lane, leaf_index, under: Arc::clone(under) };
        if self.kept.len() < self.size {
            self.kept.push(sample);
        } else if let Some(place) = self.kept.get_mut(self.rng.random_range(0..self.offered) as usize) {
            *place = sample;
        }
    }
}

/// Whether the outputs of a run were right.
pub(crate) struct Audit {
    /// Counts for the record.
    pub(crate) counts: [(&'static str, u64); 7],
    /// What was wrong, if anything.
    pub(crate) problem: Option<String>,
}

/// Compares all decisions with their predictions and verifies the sampled attestations.
pub(crate) fn audit(
    tally: &Tally,
    submitted: &Submitted,
    population: &Population,
    trust_root: &TrustRoot,
) -> Audit {
    let verified = verify_samples(&tally.samples.kept, population, trust_root);
    let counts = [
        ("attestations", *verified.as_ref().unwrap_or(&0)),
        ("matches", tally.matches),
        ("denials", tally.denials),
        ("expected_matches", submitted.matches),
        ("expected_denials", submitted.lanes - submitted.matches),
        ("wrong", tally.wrong),
        ("refused", tally.refused + submitted.refused),
    ];
    Audit { counts, problem: tally.problem(submitted).or(verified.err()) }
}

/// Verifies every sample as its relying party would at the second of its seal; returns how many there were.
///
/// The first sample is verified a second time with one bit of its statement flipped and must then fail: a
/// verification that accepts everything would go unnoticed otherwise.
///
/// # Errors
/// Describes the first attestation that does not verify or has the wrong contents.
fn verify_samples(
    samples: &[Sample],
    population: &Population,
    trust_root: &TrustRoot,
) -> Result<u64, String> {
    for (at, Sample { lane, leaf_index, under }) in samples.iter().enumerate() {
        let SealedTree { seal, tree, .. } = &**under;
        let path = tree.path(*leaf_index).ok_or_else(|| format!("no leaf {leaf_index}"))?;
        let ticket = lane.reply;
        let policy = Policy::new(trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(ticket.nonce()))
            .tenant(TENANT)
            .account(population.people[ticket.person].account)
            .request_digest(ticket.request_digest())
            .policy_version(POLICY_ID, 1)
            .any_decision();
        let check = |statement: &[u8]| -> Result<_, VerifyError> {
            let attestation = Attestation {
                statement,
                leaf_index: *leaf_index,
                tree_size: seal.header.tree_size,
                path: path.clone(),
                evidence: Evidence::Full(seal.clone()),
                device: None,
            };
            Ok(verify(&attestation.encode(), &policy, seal.header.time)?.statement().decision)
        };
        let decision = check(&lane.statement).map_err(|e| format!("ticket {}: {e}", ticket.number))?;
        if decision != ticket.expected {
            return Err(format!(
                "ticket {}: attested {decision:?}, not {:?}",
                ticket.number, ticket.expected
            ));
        }
        if at == 0 {
            let mut altered = lane.statement.clone();
            let middle = altered.len() / 2;
            altered[middle] ^= 1;
            if check(&altered).is_ok() {
                return Err("an altered statement verified".to_owned());
            }
        }
    }
    match samples.len() {
        0 => Err("no attestation was sampled".to_owned()),
        count => Ok(count as u64),
    }
}
