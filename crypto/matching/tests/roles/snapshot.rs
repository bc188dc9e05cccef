//! A matcher whose process is resumed twice from one snapshot.

use super::malformed::{C0, MASKED, PRIMES, get};
use super::*;
use trefoil_matching::Entropy;
use trefoil_types::BatchId;

/// `c1` modulo the first prime.
fn c1(job: &MatchJob) -> Vec<u64> {
    let bytes = job.to_bytes();
    (0..4096).map(|j| get(&bytes, bytes.len() - MASKED + C0 + 6 * j)).collect()
}

/// Both runs start from the same state, and get what the operating system has for each from then on.
fn resumed(fresh: u8) -> Matcher {
    let mut drawn = 0;
    let entropy: Box<Entropy> = Box::new(move |bytes| {
        *bytes = [if drawn == 0 { 33 } else { fresh }; 32];
        drawn += 1;
    });
    Matcher::new(Tier::detected(), entropy)
}

/// Claim M17: A matcher that is resumed twice from one snapshot masks two probes differently.
///
/// The key-holder sees `c1 = a (p + t r) + e`. Of two runs with the same `r` and `e` the difference is `a (p - p')`, which it divides by `a`.
#[test]
fn two_runs_from_one_snapshot_mask_two_probes_differently() {
    let mut world = World::new(lenient(9_000));
    let (face, one, other) = (world.face(), world.face(), world.face());
    let template = world.enrol(1, 10, &face);
    let run = |fresh: u8, probe: &Embedding| {
        let job = resumed(fresh)
            .mask(BatchId::new([1; 16]), TENANT, 9_000, &world.key, &[(&template, probe)])
            .expect("valid");
        c1(&job)
    };
    let difference = |a: &[u64], b: &[u64]| {
        a.iter().zip(b).map(|(x, y)| (x + PRIMES[0] - y) % PRIMES[0]).collect::<Vec<u64>>()
    };
    // Were the generator all that there is, this would be the same for any two snapshots.
    let differences: Vec<_> =
        [(1, 2), (3, 4), (5, 6)].map(|(a, b)| difference(&run(a, &one), &run(b, &other))).to_vec();
    assert!(differences[0] != differences[1] && differences[1] != differences[2]);
    // The same probe twice is masked differently too.
    assert!(run(1, &one) != run(2, &one));
    assert!(run(1, &one) == run(1, &one), "the entropy is all that differs");
}
