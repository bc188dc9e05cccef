//! Proof, verification and tree, in milliseconds of wall clock on one thread.
//!
//! `cargo bench -p trefoil-zkp` prints one row per operation. Every proof that is timed is verified, and every
//! verification must succeed. Proving times scatter with the luck of 16 bits of grinding.

use std::time::Instant;
use trefoil_types::TenantId;

use rand::{SeedableRng, rngs::StdRng};
use trefoil_zkp::{
    Attributes, CAPACITY, Circuit, CredentialTree, Digest, Secret, SessionClaim, Witness, account,
    commitment, leaf, prove, session::SessionKey, verify,
};

const RUNS: usize = 15;
const EPOCH: u32 = 498_611;

fn main() {
    println!("{:<28} {:>10} {:>10} {:>10}", "milliseconds", "median", "least", "most");
    let rng = &mut StdRng::seed_from_u64(1);
    let witness = tree(rng);
    let key = SessionKey::random(rng);
    for circuit in Circuit::ALL {
        let statement = witness.statement(&SessionClaim {
            circuit,
            tenant: TenantId::new([1; 16]),
            audience: "payments.example",
            root_generation: 1,
            epoch: EPOCH,
            level: 2,
            policy_id: 1,
            key_commitment: &key.commitment(),
            chain: None,
        });
        let mut proofs = Vec::new();
        measure(&format!("{} prove", circuit.name()), RUNS, || {
            proofs.push(prove(&witness, &statement, rng).expect("valid witness"));
        });
        let mut next = proofs.iter().cycle();
        measure(&format!("{} decode and verify", circuit.name()), 10 * RUNS, || {
            verify(&statement, next.next().expect("cycles")).expect("honest proof");
        });
    }
}

/// Times the tree and enrols one member in it.
fn tree(rng: &mut StdRng) -> Witness {
    let secret = Secret::random(rng);
    let mut scope = Digest::ZERO;
    let mut leaves: Vec<Digest> = (0..CAPACITY)
        .map(|_| {
            scope = account(&secret, &scope);
            scope
        })
        .collect();
    let attributes = Attributes::new(EPOCH + 100, 3, 0, 1, rng).expect("in range");
    let index = 777;
    leaves[index as usize] = leaf(&commitment(&secret), &attributes);
    measure("tree of 352", RUNS, || {
        CredentialTree::from_leaves(&leaves[..352]).expect("fits");
    });
    let mut tree = CredentialTree::new();
    measure("tree of 1048576", 3, || {
        tree = CredentialTree::from_leaves(&leaves).expect("fits");
    });
    measure("tree update", 1000, || {
        tree.update(index + 1, leaves[0]).expect("in the tree");
    });
    Witness { secret, attributes, index, path: tree.path(index).expect("in the tree") }
}

fn measure(name: &str, runs: usize, mut operation: impl FnMut()) {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            operation();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<28} {:>10.3} {:>10.3} {:>10.3}", times[runs / 2], times[0], times[runs - 1]);
}
