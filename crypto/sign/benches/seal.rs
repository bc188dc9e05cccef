//! Times of signing and verification, in microseconds: `cargo bench -p trefoil-sign`.
//!
//! Each operation is timed alone; signed messages change every round. The median is the figure. The least time is
//! what the operation costs on an undisturbed machine (for ML-DSA also without a rejection), the 90th percentile
//! shows rejection sampling and whatever else the machine was doing.

use std::hint::black_box;
use std::time::Instant;

use rand::{SeedableRng as _, rngs::StdRng};
use slh_dsa::{Sha2_128f, SigningKey};
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Attestation, Decision, Evidence, Family, KeySetStatus, Nonce, Policy, ProbeMode, SealHeader, Statement,
    Suite, TrustRoot, TrustedKeySet, statement_digest, verify, verify_seal,
};
use trefoil_kernels::{Cpu, Tier};
use trefoil_sign::{Falcon512, MlDsa65, SignatureFamily, SigningKeys, SlhDsaSha2_128f};

const NOW: u64 = 1_800_000_000;

fn time(name: &str, rounds: u64, mut operation: impl FnMut(u64)) {
    let mut micros: Vec<f64> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            operation(round);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    micros.sort_by(f64::total_cmp);
    let at = |share: f64| micros[(share * (micros.len() - 1) as f64) as usize];
    println!("{name:<52} least {:>8.1}  median {:>8.1}  p90 {:>8.1}", at(0.0), at(0.5), at(0.9));
}

fn family<F: SignatureFamily>(rounds: u64, rng: &mut StdRng) {
    let id = F::FAMILY.id();
    let mut key = F::generate(rng).expect("a key");
    let public = key.public_key();
    time(&format!("{id}: generate"), rounds.div_ceil(20), |_| drop(black_box(F::generate(rng))));
    time(&format!("{id}: sign and verify before release"), rounds, |round| {
        black_box(key.sign(&round.to_be_bytes(), rng)).expect("a signature");
    });
    let signature = key.sign(b"message", rng).expect("a signature");
    time(&format!("{id}: verify, signer's library"), rounds, |_| {
        assert!(black_box(F::verify(&public, b"message", &signature)));
    });
    time(&format!("{id}: verify, client's library"), rounds, |_| {
        assert!(black_box(F::FAMILY.verifies(&public, b"message", &signature)));
    });
}

/// One SLH-DSA signature by the slh-dsa crate, then one by our signer on each kind of processor, in turns: all meet
/// the same disturbances. Least times, so that a shared machine does not blur the ratios. Ours computes a signature
/// twice and verifies it; one computation is what is left without the verification, halved.
fn slh_dsa_signers(rounds: usize, rng: &mut StdRng) {
    let key = SlhDsaSha2_128f::generate(rng).expect("a key");
    let public = key.public_key();
    let secret = key.to_secret_bytes();
    let theirs = SigningKey::<Sha2_128f>::try_from(&secret[..]).expect("a key");
    let processors = [
        Cpu::at_most(Tier::Avx512),
        Cpu::at_most(Tier::Avx2),
        Cpu::at_most(Tier::Avx2).without_sha_ni(),
        Cpu::at_most(Tier::Portable),
    ];
    let mut ours = processors.map(|cpu| SlhDsaSha2_128f::from_secret_bytes(&secret).expect("a key").on(cpu));
    let mut crate_micros = Vec::new();
    let mut verify_micros = Vec::new();
    let mut our_micros = processors.map(|_| Vec::new());
    for round in 0..rounds {
        let message = round.to_be_bytes();
        crate_micros.push(micros(|| {
            theirs.try_sign_with_context(&message, &[], Some(&[0; 16])).expect("a signature");
        }));
        for (key, micros_of_tier) in ours.iter_mut().zip(&mut our_micros) {
            let mut signature = Vec::new();
            micros_of_tier.push(micros(|| signature = key.sign(&message, rng).expect("a signature")));
            verify_micros.push(micros(|| assert!(SlhDsaSha2_128f::verify(&public, &message, &signature))));
        }
    }
    let (theirs, verify) = (least(crate_micros), least(verify_micros));
    println!("slh-dsa crate: one computation {theirs:.0}, verify {verify:.0}");
    for (cpu, micros) in processors.into_iter().zip(our_micros) {
        let released = least(micros);
        let once = (released - verify) / 2.0;
        let sha_ni = if cpu.has_sha_ni() { " with sha-ni" } else { "" };
        println!(
            "ours on {}{sha_ni}: one computation {once:.0} (ratio {:.2}), twice and verified {released:.0} (ratio {:.2})",
            cpu.tier().name(),
            theirs / once,
            (theirs + verify) / released,
        );
    }
}

fn micros(operation: impl FnOnce()) -> f64 {
    let start = Instant::now();
    operation();
    start.elapsed().as_secs_f64() * 1e6
}

fn least(micros: Vec<f64>) -> f64 {
    micros.into_iter().fold(f64::INFINITY, f64::min)
}

fn statement() -> Statement<'static> {
    Statement {
        suite: Suite::One,
        issuer: "https://auth.example",
        tenant: [1; 16],
        audience: "https://shop.example",
        handle: [2; 32],
        nonce: &[3; 32],
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
        reveal: None,
        batch_id: [6; 16],
        lane: 0,
        issued_at: NOW,
        expires_at: NOW + 60,
    }
}

fn main() {
    let mut rng = StdRng::seed_from_u64(1);
    family::<MlDsa65>(1000, &mut rng);
    family::<Falcon512>(1000, &mut rng);
    family::<SlhDsaSha2_128f>(100, &mut rng);
    slh_dsa_signers(30, &mut rng);

    let mut keys = SigningKeys::generate(NOW, NOW + 1, &mut rng).expect("keys");
    let encoded = statement().encode().expect("a statement");
    let entries = [statement_digest(&encoded); 32];
    let tree = MerkleTree::new(&entries).expect("a tree");
    let header = SealHeader {
        issuer: "https://auth.example".into(),
        key_set_id: keys.id(),
        seal_number: 1,
        previous: [0; 32],
        log_root: [0; 32],
        tree_size: tree.size(),
        root: tree.root(),
        time: NOW,
        suite: Suite::One,
    };
    time("seal: three families, verified", 100, |_| {
        black_box(keys.sign_seal(header.clone(), &mut rng)).expect("a seal");
    });
    let seal = keys.sign_seal(header.clone(), &mut rng).expect("a seal");
    let trusted = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let root = TrustRoot::new("https://auth.example", vec![trusted]).expect("a trust root");
    time("seal: verify, client's library", 300, |_| verify_seal(black_box(&seal), &root).expect("valid"));

    let attestation = Attestation {
        statement: &encoded,
        leaf_index: 7,
        tree_size: tree.size(),
        path: tree.path(7).expect("a path"),
        evidence: Evidence::Full(seal),
    };
    let bytes = attestation.encode();
    let policy = Policy::new(root, "https://shop.example", Nonce::Exactly(vec![3; 32]));
    time(&format!("attestation: verify full ({} bytes)", bytes.len()), 300, |_| {
        verify(black_box(&bytes), &policy, NOW).expect("valid");
    });
    time("32 statements: encode and digest", 1000, |_| {
        let mut out = Vec::with_capacity(1024);
        for _ in 0..32 {
            out.clear();
            statement().encode_into(&mut out).expect("a statement");
            black_box(statement_digest(&out));
        }
    });
    time("32 leaves: tree and all paths", 1000, |_| {
        let tree = MerkleTree::new(black_box(&entries)).expect("a tree");
        (0..32).for_each(|leaf| drop(black_box(tree.path(leaf))));
    });
    println!("signature bytes per seal: {}", Family::ALL.iter().map(|f| f.signature_bytes()).sum::<usize>());
}
