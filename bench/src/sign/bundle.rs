//! All three families together: one seal, over one batch and over several, and its verification.

use serde_json::{Map, json};
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Attestation, Decision, DeviceStatement, Evidence, ExpectedNonce, Policy, ProbeMode, Proof, SealHeader,
    Statement, Suite, statement_digest, verify,
};
use trefoil_matching::LANES;
use trefoil_sign::{Extent, Falcon512, MlDsa65, SignatureFamily, SigningKeys, seal_tree};
use trefoil_types::{Account, BatchId, SessionId, TenantId};
use trefoil_wallet::wallet::Wallet;

use super::{cpu_us, precompute};
use crate::clock::WORLD_START_S;
use crate::distribution::Distribution;
use crate::world::{ISSUER, signing_keys};
use crate::{Failure, Report};

/// Batches under one seal.
const GROUPS: [usize; 4] = [1, 4, 16, 64];

/// The families apart, all of them under one seal, and a relying party's work.
pub(super) fn measure(rounds: usize, extent: Extent) -> Result<Report, Failure> {
    let empty = Report { summary: String::new(), result: json!({}), problem: None };
    let report = empty.and("mldsa", family::<MlDsa65>("mldsa", rounds)?);
    let report = report.and("falcon", family::<Falcon512>("falcon", rounds)?);
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
    let report = report.and("bundle", times("three families, verified: ", [("sign_us", bundle_us)]));
    let mut groups = Report { summary: String::new(), result: json!({}), problem: None };
    for (batches, us) in GROUPS.into_iter().zip(group_us) {
        let of = times(&format!("  {batches:>2} batches under it, each: "), [("us_per_batch", us)]);
        groups = groups.and(&batches.to_string(), of);
    }
    Ok(report.and("group", groups).and("attest", attestation(&mut keys, trust_root, rounds)?))
}

/// Runs by name, with their medians in words.
fn times<const N: usize>(what: &str, runs: [(&str, Vec<f64>); N]) -> Report {
    let (mut summary, mut fields) = (String::new(), Map::new());
    for (name, runs) in runs {
        let runs = Distribution::new(runs);
        summary += &format!("{what}{name} {:.1}\n", runs.median());
        runs.put_into(&mut fields, name);
    }
    Report { summary, result: fields.into(), problem: None }
}

/// Signs with one family, as [`SignatureFamily::sign`] does: hedged, verified before release.
fn family<F: SignatureFamily>(name: &str, rounds: usize) -> Result<Report, Failure> {
    let mut rng = rand::rng();
    let mut key = F::generate(&mut rng).map_err(Failure::in_step(name))?;
    let public = key.public_key();
    let (mut release_us, mut verify_us, mut wrong) = (Vec::new(), Vec::new(), 0u32);
    for round in 0..rounds {
        let message = round.to_be_bytes();
        let (us, signature) = cpu_us(|| key.sign(&message, &mut rng));
        let signature = signature.map_err(Failure::in_step(name))?;
        release_us.push(us);
        let (us, verifies) = cpu_us(|| F::verify(&public, &message, &signature));
        verify_us.push(us);
        wrong += u32::from(!verifies);
    }
    let report = times(&format!("{name}: "), [("release_us", release_us), ("verify_us", verify_us)]);
    let problem = (wrong > 0).then(|| format!("{name}: {wrong} released signatures do not verify"));
    Ok(Report { problem, ..report })
}

/// A relying party's work for one attestation, from bytes to the verified statement.
fn attestation(
    keys: &mut SigningKeys,
    trust_root: trefoil_attest::TrustRoot,
    rounds: usize,
) -> Result<Report, Failure> {
    let encoded = statement().encode().map_err(Failure::in_step("statement"))?;
    let mut entries = [[9; 32]; LANES];
    entries[7] = statement_digest(&encoded);
    let tree = MerkleTree::new(&entries).ok_or_else(|| Failure::fault("an empty tree"))?;
    let header = header(keys, &tree);
    let seal = keys.sign_seal(header, &mut rand::rng()).map_err(Failure::in_step("sealing"))?;
    let path = tree.path(7).ok_or_else(|| Failure::fault("no path"))?;
    let (leaf_index, tree_size) = (7, tree.size());
    let evidence = Evidence::Full(seal);
    let attestation =
        Attestation { statement: &encoded, leaf_index, tree_size, path, evidence, device: None };
    let bytes = attestation.encode();
    let policy = Policy::new(trust_root, AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec())).accept_no_proof();
    let mut verify_us = Vec::new();
    for _ in 0..rounds {
        let (us, verified) = cpu_us(|| verify(&bytes, &policy, WORLD_START_S).map(drop));
        verified.map_err(Failure::in_step("verification"))?;
        verify_us.push(us);
    }
    let what = format!("full attestation of {} bytes: ", bytes.len());
    let mut report = times(&what, [("verify_us", verify_us)]);
    report.put(json!({ "bytes": bytes.len() }));
    Ok(report)
}

/// The device's signature: keys of `rounds` wallets, derived, signed with once (each time derived anew, as a wallet does), and verified.
pub(super) fn device(rounds: usize) -> Result<Report, Failure> {
    let (rng, tenant, audience) = (&mut rand::rng(), TenantId::new([1; 16]), AUDIENCE);
    let [mut derive_us, mut sign_us, mut verify_us] = [const { Vec::new() }; 3];
    let proof =
        Proof { circuit: 3, root: [5; 32], level: 2, epoch: 500_000, session: SessionId::new([6; 32]) };
    let account = Account::new([2; 32]);
    let statement =
        DeviceStatement { tenant, account, audience, nonce: &[3; 32], request_digest: [4; 32], proof };
    let mut wrong = 0u32;
    for _ in 0..rounds {
        let key = Wallet::create(rng).account_key(&tenant, audience);
        let (us, id) = cpu_us(|| key.id());
        derive_us.push(us);
        let (us, signature) = cpu_us(|| key.sign(&statement, rng));
        sign_us.push(us);
        let (us, verifies) = cpu_us(|| signature.verifies(&statement.to_be_signed()));
        verify_us.push(us);
        wrong += u32::from(!verifies || signature.account_key() != id);
    }
    let runs = [("derive_us", derive_us), ("sign_us", sign_us), ("verify_us", verify_us)];
    let problem = (wrong > 0).then(|| format!("{wrong} device's signatures do not verify"));
    Ok(Report { problem, ..times("device: ", runs) })
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
