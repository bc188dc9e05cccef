//! Seals statements with three signature families and verifies one of them, as a service and a relying party do between them.
//!
//! ```text
//! cargo run -p trefoil-sign --example seal
//! ```

use std::error::Error;
use trefoil_attest::tree::EMPTY_ROOT;
use trefoil_attest::{
    Account, Attestation, BatchId, Decision, Evidence, ExpectedNonce, KeySetStatus, Policy, ProbeMode,
    SealHeader, Statement, Suite, TenantId, TrustRoot, TrustedKeySet, statement_digest, verify,
};
use trefoil_sign::{SigningKeys, seal_tree};

const ISSUER: &str = "https://auth.example";
const AUDIENCE: &str = "https://shop.example";
const NOW: u64 = 1_800_000_000;
const BATCH: u8 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = rand::rng();
    // A batch of decisions, each in its canonical encoding.
    let nonces: Vec<[u8; 32]> = (0..BATCH).map(|place| [place; 32]).collect();
    let statements: Vec<Vec<u8>> = (0..BATCH)
        .map(|place| statement(place, &nonces[usize::from(place)]).encode())
        .collect::<Result<_, _>>()?;
    let digests: Vec<[u8; 32]> = statements.iter().map(|statement| statement_digest(statement)).collect();
    let tree = seal_tree(&digests).ok_or("a batch is not empty")?;

    // One key of each family signs the tree's root; every signature is verified before it leaves.
    let mut keys = SigningKeys::generate(NOW - 1, NOW + 3600, &mut rng)?;
    let header = SealHeader {
        issuer: ISSUER.to_owned(),
        key_set_id: keys.id(),
        seal_number: 0,
        previous: [0; 32],
        log_root: EMPTY_ROOT,
        tree_size: tree.size(),
        root: tree.root(),
        time: NOW,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    };
    let seal = keys.sign_seal(header, &mut rng)?;

    // What one of the 32 clients gets, and what it checks with public keys alone.
    let place = 7_u8;
    let path = tree.path(u64::from(place)).ok_or("the leaf is in the tree")?;
    let attestation = Attestation {
        statement: &statements[usize::from(place)],
        leaf_index: u64::from(place),
        tree_size: tree.size(),
        path,
        evidence: Evidence::Full(seal),
        device: None,
    };
    let bytes = attestation.encode();
    let trusted = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let root = TrustRoot::new(ISSUER, vec![trusted])?;
    let policy = Policy::new(root, AUDIENCE, ExpectedNonce::Exactly(nonces[usize::from(place)].to_vec()))
        .accept_no_proof();
    let verified = verify(&bytes, &policy, NOW)?;
    println!("{} bytes attest account {}", bytes.len(), hex::encode(verified.statement().account));
    for check in verified.checks() {
        println!("verified: {}", check.family.id());
    }
    Ok(())
}

fn statement(place: u8, nonce: &[u8]) -> Statement<'_> {
    Statement {
        suite: Suite::One,
        issuer: ISSUER,
        tenant: TenantId::new([1; 16]),
        audience: AUDIENCE,
        account: Account::new([place; 32]),
        nonce,
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: 1,
        policy_version: 1,
        fmr_class: 4,
        embedder: "facenet-128/1",
        quantiser: "s175/1",
        template_generation: 1,
        proof: None,
        batch_id: BatchId::new([6; 16]),
        place,
        issued_at: NOW,
        expires_at: NOW + 60,
    }
}
