//! One operation of the hot path, done a fixed number of times on seeded data: what `cargo xtask guard` counts the instructions of under
//! valgrind. Prints how often it was done and what it allocated.
//!
//! With `--extra-hash` it hashes one statement more each time: the count that must move, or the guard guards nothing.

mod batch;
mod world;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::{SealHeader, Suite};
use trefoil_cache::{Cache as _, Engine, EngineConfig, Session as _, Value as _};
use trefoil_kernels::{Cpu, Tier, keccak};
use trefoil_pipeline::Verdict;
use trefoil_sign::{SigningKeys, seal_tree};

use world::{ISSUER, LANES, NOW, SEED};

fn main() -> ExitCode {
    let operation = std::env::args().nth(1).unwrap_or_default();
    let tier = Tier::from_env().expect("TREFOIL_TIER names a tier");
    match operation.as_str() {
        "batch" => batch::guard(tier),
        "cache_hit" => cache_hit(),
        "cache_miss" => cache_miss(),
        "cache_put" => cache_put(),
        "digest" => digest(tier),
        "seal" => seal(),
        _ => {
            eprintln!("usage: guard batch|cache_hit|cache_miss|cache_put|digest|seal [--extra-hash]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Does `operation` for every number below `times`, counted.
fn repeat(times: u64, mut operation: impl FnMut(u64)) {
    let extra_hash = std::env::args().any(|argument| argument == "--extra-hash");
    let allocated = allocation_counter::measure(|| {
        for number in 0..times {
            if extra_hash {
                guarded(&mut || {
                    operation(number);
                    hash_a_statement();
                });
            } else {
                guarded(&mut || operation(number));
            }
        }
    });
    println!("{times} times, {} allocations", allocated.count_total);
}

fn hash_a_statement() {
    let mut digest = [[0; 32]];
    keccak::sha3_256(Cpu::detected(), &[black_box(&[0; STATEMENT_BYTES][..])], black_box(&mut digest));
}

/// valgrind counts what happens in here, and knows it by its name.
#[inline(never)]
fn guarded(operation: &mut dyn FnMut()) {
    operation();
    // Or the call above would be a jump, and the name gone.
    black_box(());
}

/// Few enough that the table is no case for large pages, which valgrind does not know.
const CACHED: u64 = 512;

fn cache() -> Arc<Engine<Verdict>> {
    Arc::new(Engine::new(EngineConfig { capacity: 8 * CACHED as usize }))
}

/// Keys as they are in life: digests.
fn keys() -> Vec<[u8; 32]> {
    let mut rng = StdRng::seed_from_u64(SEED);
    (0..2 * CACHED).map(|_| rng.random()).collect()
}

/// A verdict for the cache alone, which does not read it: proofs take long.
fn some_verdict() -> Verdict {
    Verdict::from_words(&std::array::from_fn(|word| word as u64))
}

fn cache_hit() {
    let (keys, verdict) = (keys(), some_verdict());
    let mut session = cache().session();
    for key in &keys[..CACHED as usize] {
        session.insert(*key, verdict, NOW + 600, NOW);
    }
    repeat(CACHED, |n| assert!(black_box(session.get(&keys[n as usize], NOW)).is_some()));
}

fn cache_miss() {
    let (keys, verdict) = (keys(), some_verdict());
    let mut session = cache().session();
    for key in &keys[..CACHED as usize] {
        session.insert(*key, verdict, NOW + 600, NOW);
    }
    repeat(CACHED, |n| assert!(black_box(session.get(&keys[(CACHED + n) as usize], NOW)).is_none()));
}

fn cache_put() {
    let (keys, verdict) = (keys(), some_verdict());
    let mut session = cache().session();
    repeat(CACHED, |n| assert!(session.insert(keys[n as usize], verdict, NOW + 600, NOW).is_stored()));
}

/// Bytes of a usual statement.
const STATEMENT_BYTES: usize = 420;

/// The digests of one batch's statements.
fn digest(tier: Tier) {
    let statements: Vec<[u8; STATEMENT_BYTES]> = (0..LANES as u8).map(|n| [n; STATEMENT_BYTES]).collect();
    let statements: Vec<&[u8]> = statements.iter().map(|statement| &statement[..]).collect();
    let (cpu, mut digests) = (Cpu::at_most(tier), vec![[0; 32]; LANES]);
    repeat(16, |_| keccak::sha3_256(cpu, black_box(&statements), black_box(&mut digests)));
}

/// One seal over a batch: the tree, three signatures, and each checked.
fn seal() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut keys = SigningKeys::generate(NOW - 10, NOW + 1_000, &mut rng).expect("keys");
    let digests: Vec<[u8; 32]> = (0..LANES).map(|_| rng.random()).collect();
    repeat(2, |number| {
        let tree = seal_tree(&digests).expect("leaves");
        let header = SealHeader {
            issuer: ISSUER.to_owned(),
            key_set_id: keys.id(),
            seal_number: number + 1,
            previous: [8; 32],
            log_root: [9; 32],
            tree_size: tree.size(),
            root: tree.root(),
            time: NOW,
            suite: Suite::One,
            vaults: Vec::new(),
            restored: None,
        };
        black_box(keys.sign_seal(header, &mut rng).expect("sound keys"));
    });
}
