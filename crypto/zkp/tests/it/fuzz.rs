//! The fuzzers' properties over the seeds and deterministic changes of them: fuzzing in small, on every machine.
//!
//! `TREFOIL_BLESS=1 cargo test --release -p trefoil-zkp --test it fuzz` makes the seeds anew; they are compiled in, so it fails
//! and the next run without the variable decides.

use std::path::PathBuf;
use trefoil_types::{AccountKeyId, TenantId};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use trefoil_testing::volume;
use trefoil_zkp::{
    Attributes, Circuit, CredentialTree, Secret, SessionClaim, Witness, commitment, envelope::ProofEnvelope,
    leaf, prove, record::ProofRecord, session::SessionKey,
};

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "public in the fuzzers' own library")]
mod targets;

/// Changes per target at full volume, and the fewest. Those of proofs cost a millisecond each.
const ROUNDS: usize = 1500;
const ROUNDS_MIN: usize = 200;

#[test]
fn the_seeds_are_honest_and_few() {
    bless();
    let envelope = ProofEnvelope::decode(targets::ENVELOPE).expect("an upload");
    let record = ProofRecord::decode(targets::RECORD).expect("a record");
    ProofRecord::from(&envelope).verify().expect("honest");
    record.verify().expect("honest");
    assert!(targets::ENVELOPE.len() + targets::RECORD.len() < 1 << 19, "seeds stay small");
}

#[test]
fn envelopes() {
    changed(targets::ENVELOPE, 1, targets::envelope);
}

#[test]
fn records() {
    changed(targets::RECORD, 2, targets::record);
}

#[test]
fn proofs() {
    let record = ProofRecord::decode(targets::RECORD).expect("a record");
    changed(&record.proof, 3, targets::proof);
}

/// Runs `target` on the seed, on every short prefix and on changes of the seed.
fn changed(seed: &[u8], stream: u64, target: fn(&[u8])) {
    target(seed);
    for length in (0..400).chain([seed.len() / 2, seed.len() - 1]) {
        target(&seed[..length]);
    }
    let rng = &mut StdRng::seed_from_u64(stream);
    for round in 0..volume(ROUNDS, ROUNDS_MIN) {
        let mut input = seed.to_vec();
        for _ in 0..=round % 3 {
            // Half of the changes hit the first kilobyte, where fields and lengths are.
            let end = if rng.random() { 1024 } else { input.len() };
            let at = rng.random_range(0..end);
            match rng.random_range(0..5) {
                0 => input[at] ^= 1 << rng.random_range(0..8),
                1 => input[at] = rng.random(),
                2 => input[at] = [0, 0x7f, 0x80, 0xff][rng.random_range(0..4)],
                3 => input.insert(at, rng.random()),
                _ => drop(input.remove(at)),
            }
        }
        target(&input);
    }
}

/// Writes the seeds where `TREFOIL_BLESS` asks for it.
fn bless() {
    if std::env::var_os("TREFOIL_BLESS").is_none() {
        return;
    }
    let rng = &mut rand::rng();
    let secret = Secret::random(rng);
    let attributes = Attributes::new(500_100, 3, 7, 1, rng).expect("in range");
    let mut tree = CredentialTree::new();
    tree.update(77, leaf(&commitment(&secret), &attributes)).expect("in the tree");
    let witness = Witness { secret, attributes, index: 77, path: tree.path(77).expect("in the tree") };
    let seeds = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    for name in ["envelope/plain", "record/plain"] {
        let session_key = SessionKey::random(rng);
        let key_commitment = session_key.commitment();
        let claim = SessionClaim {
            circuit: Circuit::Cred2,
            tenant: TenantId::new(*b"tenant of a seed"),
            audience: "shop.example",
            root_generation: 1,
            epoch: 500_000,
            level: 2,
            policy_id: 1,
            key_commitment: &key_commitment,
            account_key: AccountKeyId::new([9; 32]),
        };
        let statement = witness.statement(&claim);
        let proof = prove(&witness, &statement, rng).expect("valid witness");
        let audience = claim.audience.to_owned();
        let SessionClaim { account_key, policy_id, .. } = claim;
        let envelope = ProofEnvelope { statement, audience, session_key, account_key, policy_id, proof };
        let is_record = name.starts_with("record");
        let bytes = if is_record { ProofRecord::from(&envelope).encode() } else { envelope.encode() };
        let file = seeds.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        std::fs::write(file, bytes.expect("well formed")).expect("written");
    }
}
