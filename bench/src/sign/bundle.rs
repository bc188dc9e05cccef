//! All three families together: one seal, over one batch and over several, and its verification.

use serde_json::{Map, Value, json};
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Attestation, Decision, Evidence, ExpectedNonce, Policy, ProbeMode, SealHeader, Statement, Suite,
    statement_digest, verify,
};
use trefoil_matching::LANES;
use trefoil_sign::{Extent, Falcon512, MlDsa65, SignatureFamily, SigningKeys, seal_tree};
use trefoil_types::{Account, BatchId, TenantId};

use super::{Section, cpu_us, insert_times, precompute};
use crate::Failure;
use crate::clock::WORLD_START_S;
use crate::distribution::{Distribution, rounded};
use crate::world::{ISSUER, signing_keys};

/// Batches under one seal.
const GROUPS: [usize; 4] = [1, 4, 16, 64];

pub(super) fn measure(rounds: usize, extent: Extent) -> Result<Section, Failure> {
    let mut section = Section::default();
    family::<MlDsa65>("mldsa", rounds, &mut section)?;
    family::<Falcon512>("falcon", rounds, &mut section)?;
    let (mut keys, trust_root) = signing_keys()?;
    precompute(&mut keys, extent)?;
    let mut bundle_us = Vec::new();
    let mut group_us = GROUPS.map(|_| Vec::new());
    for round in 0..rounds {
        let alone = header(&keys, &tree(1, round)?);
        let (us, seal) = cpu_us(|| keys.sign_seal(alone, &mut rand::rng()));
        seal.map_err(Failure::in_step("sealing"))?;
        bundle_us.push(us);
        for (batches, group_us) in GROUPS.into_iter().zip(&mut group_us) {
            let (us, sealed) = cpu_us(|| {
                let tree = tree(batches, round)?;
                for leaf in 0..tree.size() {
                    std::hint::black_box(tree.path(leaf));
                }
                keys.sign_seal(header(&keys, &tree), &mut rand::rng()).map_err(Failure::in_step("sealing"))
            });
            sealed?;
            group_us.push(us / batches as f64);
        }
    }
    let bundle_us = Distribution::new(bundle_us);
    section.text.push_str(&format!("three families, verified: {:.0} us\n", bundle_us.median()));
    let mut bundle = Map::new();
    insert_times(&mut bundle, "sign_us", &bundle_us);
    section.fields.insert("bundle".into(), bundle.into());
    let mut groups = Map::new();
    for (batches, group_us) in GROUPS.into_iter().zip(group_us) {
        let group_us = Distribution::new(group_us);
        section
            .text
            .push_str(&format!("  {batches:>2} batches under it: {:>7.1} us each\n", group_us.median()));
        let mut group = Map::new();
        insert_times(&mut group, "us_per_batch", &group_us);
        groups.insert(batches.to_string(), group.into());
    }
    section.fields.insert("group".into(), groups.into());
    let (attest, text) = attestation(&mut keys, trust_root, rounds)?;
    section.fields.insert("attest".into(), attest);
    section.text.push_str(&text);
    Ok(section)
}

/// Signs with one family, as [`SignatureFamily::sign`] does: hedged, verified before release.
fn family<F: SignatureFamily>(name: &str, rounds: usize, section: &mut Section) -> Result<(), Failure> {
    let mut rng = rand::rng();
    let mut key = F::generate(&mut rng).map_err(Failure::in_step(name))?;
    let public = key.public_key();
    let (mut release_us, mut verify_us) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let message = round.to_be_bytes();
        let (us, signature) = cpu_us(|| key.sign(&message, &mut rng));
        let signature = signature.map_err(Failure::in_step(name))?;
        release_us.push(us);
        let (us, verifies) = cpu_us(|| F::verify(&public, &message, &signature));
        verify_us.push(us);
        if !verifies {
            section.problem = Some(format!("{name}: a released signature does not verify"));
        }
    }
    let mut fields = Map::new();
    for (figure, runs) in [("release_us", release_us), ("verify_us", verify_us)] {
        let runs = Distribution::new(runs);
        section.text.push_str(&format!("{name}.{figure}: {:.0} us\n", runs.median()));
        insert_times(&mut fields, figure, &runs);
    }
    section.fields.insert(name.into(), fields.into());
    Ok(())
}

/// A relying party's work for one attestation, from bytes to the verified statement.
fn attestation(
    keys: &mut SigningKeys,
    trust_root: trefoil_attest::TrustRoot,
    rounds: usize,
) -> Result<(Value, String), Failure> {
    let encoded = statement().encode().map_err(Failure::in_step("statement"))?;
    let mut entries = [[9; 32]; LANES];
    entries[7] = statement_digest(&encoded);
    let tree = MerkleTree::new(&entries).ok_or_else(|| Failure::fault("an empty tree"))?;
    let header = header(keys, &tree);
    let seal = keys.sign_seal(header, &mut rand::rng()).map_err(Failure::in_step("sealing"))?;
    let path = tree.path(7).ok_or_else(|| Failure::fault("no path"))?;
    let (leaf_index, tree_size) = (7, tree.size());
    let attestation =
        Attestation { statement: &encoded, leaf_index, tree_size, path, evidence: Evidence::Full(seal) };
    let bytes = attestation.encode();
    let policy = Policy::new(trust_root, AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec())).accept_no_proof();
    let mut verify_us = Vec::new();
    for _ in 0..rounds {
        let (us, verified) = cpu_us(|| verify(&bytes, &policy, WORLD_START_S).map(drop));
        verified.map_err(Failure::in_step("verification"))?;
        verify_us.push(us);
    }
    let verify_us = Distribution::new(verify_us);
    let mut fields = Map::new();
    insert_times(&mut fields, "verify_us", &verify_us);
    fields.insert("bytes".into(), json!(bytes.len()));
    let text = format!(
        "full attestation of {} bytes verified in {:.0} us\n",
        bytes.len(),
        rounded(verify_us.median())
    );
    Ok((fields.into(), text))
}

const AUDIENCE: &str = "https://shop.example";
const NONCE: [u8; 32] = [3; 32];

fn statement() -> Statement<'static> {
    Statement {
        suite: Suite::One,
        issuer: ISSUER,
        tenant: TenantId::new([1; 16]),
        audience: AUDIENCE,
        account: Account::new([2; 32]),
        nonce: &NONCE,
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: 1,
        policy_version: 1,
        fmr_class: 4,
        embedder: "synthetic-128",
        quantiser: "unit-r175",
        template_generation: 1,
        proof: None,
        reveal: None,
        batch_id: BatchId::new([6; 16]),
        place: 7,
        issued_at: WORLD_START_S,
        expires_at: WORLD_START_S + 60,
    }
}

/// The tree over `batches` batches, a different one in each round.
fn tree(batches: usize, round: usize) -> Result<MerkleTree, Failure> {
    let digest = |leaf: usize| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&leaf.to_be_bytes());
        digest[8..16].copy_from_slice(&round.to_be_bytes());
        digest
    };
    let entries: Vec<[u8; 32]> = (0..batches * LANES).map(digest).collect();
    seal_tree(&entries).ok_or_else(|| Failure::fault("an empty tree"))
}

fn header(keys: &SigningKeys, tree: &MerkleTree) -> SealHeader {
    SealHeader {
        issuer: ISSUER.into(),
        key_set_id: keys.id(),
        seal_number: 1,
        previous: [0; 32],
        log_root: [0; 32],
        tree_size: tree.size(),
        root: tree.root(),
        time: WORLD_START_S,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    }
}
