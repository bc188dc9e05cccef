//! Jobs that no honest matcher sends, against the process: none is answered with a decision.

use crate::world::{DECIDE, Gateway, House, Mode, TENANT, end_of_log, face, frame_with, lenient};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use trefoil_key_holder::job_log::{self, Entry};
use trefoil_matching::{DecisionPolicy, KeyHolderError, KeyHolding as _, MatchJob, Model, Reply, Width};
use trefoil_testing::volume;

/// The refusals that these tests count.
const FROZEN: Result<u32, KeyHolderError> = Err(KeyHolderError::Frozen);
const MALFORMED: Result<u32, KeyHolderError> = Err(KeyHolderError::Malformed);
const TAG_KEY: Result<u32, KeyHolderError> = Err(KeyHolderError::TagKey);

fn lanes(reply: Result<Reply, KeyHolderError>) -> Result<u32, KeyHolderError> {
    match reply? {
        Reply::Decided(decisions) => Ok(decisions.lanes().bits()),
        other => panic!("{other:?}"),
    }
}

/// Bytes of `c0` at the head of the masked batch at the end of a job, and of each polynomial after it.
const C0: usize = 2 * 32 * 6;
const POLYNOMIAL: usize = 2 * 4096 * 6;
const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];

/// Bytes of a masked batch of 30 people.
fn masked(mode: Mode, width: Width) -> usize {
    let ciphertexts = 32 / width.lanes();
    C0 + ciphertexts * POLYNOMIAL * if mode == Mode::Shared { 2 } else { 1 }
}

/// A policy for vectors of this width, with a threshold that everything reaches.
fn open(width: Width) -> DecisionPolicy {
    DecisionPolicy { model: Model::of("embedder", width.numbers()).unwrap(), ..lenient(-32_768) }
}

/// Each mode, and the narrowest and the widest vectors.
fn everywhere() -> impl Iterator<Item = (Mode, Width)> {
    Mode::ALL.into_iter().flat_map(|mode| [Width::W128, Width::W512].map(|width| (mode, width)))
}

/// Adds `value` to a coefficient whose residues are `stride` apart, the first at `at`.
fn add(bytes: &mut [u8], at: usize, stride: usize, value: u128) {
    for (limb, prime) in PRIMES.iter().enumerate() {
        let at = at + 6 * stride * limb;
        let mut word = [0; 8];
        word[..6].copy_from_slice(&bytes[at..at + 6]);
        let sum = (u128::from(u64::from_le_bytes(word)) + value) % u128::from(*prime);
        bytes[at..at + 6].copy_from_slice(&(sum as u64).to_le_bytes()[..6]);
    }
}

/// The families of the literature's attacks: shift the message to find the threshold, put the message into the error,
/// read out a coefficient of the key, replace one half or all of it.
fn craft((mode, width): (Mode, Width), honest: &[u8], family: usize, rng: &mut StdRng) -> Vec<u8> {
    let delta = u128::from(PRIMES[0]) * u128::from(PRIMES[1]) / 65_537;
    let mut bytes = honest.to_vec();
    let c0 = bytes.len() - masked(mode, width);
    // Of the last ciphertext, which has the empty lanes: scores of a full one are moved unseen, whatever the width. Shared probes have two
    // polynomials, one to be multiplied by the key and one by its square: either of them.
    let polynomials = if mode == Mode::Shared { 2 } else { 1 };
    let c1 = bytes.len() - POLYNOMIAL * (1 + rng.next_u32() as usize % polynomials);
    let index = rng.next_u32() as usize;
    let place = c0 + 6 * (32 - width.lanes() + index % width.lanes());
    match family % 5 {
        0 => add(&mut bytes, place, 32, delta * u128::from(1 + rng.next_u32() % 65_536)),
        1 => (0..32).for_each(|at| add(&mut bytes, c0 + 6 * at, 32, delta / 2 + u128::from(rng.next_u64()))),
        2 => {
            bytes[c0..].fill(0);
            // Almost zero: a zero polynomial would not even parse.
            let zero = (c0 + C0..bytes.len()).step_by(POLYNOMIAL / 2);
            zero.for_each(|at| bytes[at] = 1);
            add(&mut bytes, c1 + 6 * (index % 4096), 4096, delta * u128::from(1 + rng.next_u32() % 65_536));
            add(&mut bytes, place, 32, delta);
        }
        3 => (c0..c0 + C0).step_by(6).for_each(|at| {
            let residue = rng.next_u64() % PRIMES[1];
            bytes[at..at + 6].copy_from_slice(&residue.to_le_bytes()[..6]);
        }),
        _ => add(&mut bytes, c1 + 6 * (index % 4096), 4096, delta * u128::from(1 + rng.next_u32() % 65_536)),
    }
    bytes
}

#[test]
fn crafted_jobs_are_never_decided_and_the_third_freezes_the_tenant() {
    everywhere().for_each(attack_with_crafted_jobs);
}

fn attack_with_crafted_jobs((mode, width): (Mode, Width)) {
    let house = House::new("kill");
    let mut running = house.start();
    // Thirty people, so that two lanes are empty.
    let mut gateway = Gateway::in_mode(mode, &running, house.gateway(), open(width), 30);
    let operator = running.connected(house.operator());
    assert_eq!(gateway.decide(&gateway.honest(1)).unwrap(), (1 << 30) - 1);
    let mut rng = StdRng::seed_from_u64(11);
    let mut raw = running.raw(house.gateway());
    let mut send = |job: &[u8]| {
        raw.send(&frame_with(DECIDE, job));
        lanes(raw.receive())
    };
    // Each reset of the count gives three more attempts.
    let rounds = volume(34, 6);
    let mut honest = gateway.honest(1).to_bytes();
    for round in 0..rounds {
        for attempt in 0..3 {
            let crafted = craft((mode, width), &honest, round + attempt, &mut rng);
            assert_eq!(send(&crafted), MALFORMED, "{mode:?}, {width:?}, family {}", (round + attempt) % 5);
            if mode == Mode::Plain && attempt < 2 {
                // The tag key has been replaced: knowledge of the old one is useless from now on, and an honest gateway needs the new one too.
                assert_eq!(send(&honest), TAG_KEY);
                gateway.refetch();
                honest = gateway.honest(1).to_bytes();
            }
        }
        assert_eq!(send(&honest), FROZEN, "an honest job is not decided either");
        if round + 1 < rounds {
            operator.forgive_malformed(TENANT).unwrap();
            gateway.refetch();
            honest = gateway.honest(1).to_bytes();
        }
    }
    for attempt in 0..volume(512, 100) {
        assert_eq!(send(&craft((mode, width), &honest, attempt, &mut rng)), FROZEN);
    }
    let status = gateway.remote.status().unwrap();
    assert_eq!((status.malformed, status.frozen), (vec![(TENANT, 3)], vec![TENANT]));
    // The freeze outlives a kill.
    running.kill();
    let running = house.start();
    let mut raw = running.raw(house.gateway());
    raw.send(&frame_with(DECIDE, &honest));
    assert_eq!(lanes(raw.receive()), FROZEN);
    assert_eq!(running.connected(house.operator()).status().unwrap().malformed_jobs(), 3);
}

#[test]
fn random_jobs_are_never_decided() {
    // A tenant's key matters only to the last jobs of each run.
    for (at, unreadable) in everywhere().zip([99_000, 9_000, 9_000, 9_000]) {
        attack_with_random_jobs(at, volume(unreadable, 500));
    }
}

fn attack_with_random_jobs((mode, width): (Mode, Width), unreadable: usize) {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::in_mode(mode, &running, house.gateway(), open(width), 30);
    let honest = gateway.honest(1).to_bytes();
    let mut rng = StdRng::seed_from_u64(12);
    let mut raw = running.raw(house.gateway());
    let mut answered = 0;
    // Random bytes, most of them short, behind the head of a real job or not; several under way at a time.
    while answered < unreadable {
        let mut frames = Vec::new();
        for _ in 0..50 {
            let length = 1 + rng.next_u32() as usize % 200;
            let head = if rng.next_u32() & 1 == 0 { length.min(40) } else { 0 };
            let mut job = honest[..head].to_vec();
            job.extend((head..length).map(|_| rng.next_u32() as u8));
            assert!(MatchJob::from_bytes(&job).is_err());
            frames.extend(frame_with(DECIDE, &job));
        }
        raw.send(&frames);
        for _ in 0..50 {
            assert!(matches!(raw.receive(), Err(KeyHolderError::Unavailable(_))));
        }
        answered += 50;
    }
    // Canonical ciphertexts behind the head of a real job: each is decrypted until the tenant is frozen.
    let masked = honest.len() - masked(mode, width);
    let mut counts = [0; 4];
    let readable = volume(1_000, 100);
    for _ in 0..readable {
        let mut job = honest.clone();
        for at in (masked..job.len()).step_by(6) {
            job[at..at + 6].copy_from_slice(&(rng.next_u64() % PRIMES[1]).to_le_bytes()[..6]);
        }
        if rng.next_u32() & 1 == 0 {
            job[4..20].copy_from_slice(&[9; 16]);
        }
        raw.send(&frame_with(DECIDE, &job));
        counts[match raw.receive() {
            Err(KeyHolderError::UnknownTenant) => 0,
            Err(KeyHolderError::Malformed) => 1,
            Err(KeyHolderError::TagKey) => 2,
            Err(KeyHolderError::Frozen) => 3,
            other => panic!("{other:?}"),
        }] += 1;
    }
    // With tags, the first makes every other one stale; without, the third freezes the tenant.
    let [unknown, malformed, stale, frozen] = counts;
    match mode {
        Mode::Plain => assert_eq!((malformed, frozen, stale), (1, 0, readable - 1 - unknown)),
        Mode::Shared => assert_eq!((malformed, frozen, stale), (3, readable - 3 - unknown, 0)),
    }
}

#[test]
fn a_decision_is_on_record_and_cannot_be_read_from_it() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let stranger = face(&mut StdRng::seed_from_u64(13));
    let mut honest = gateway.honest(1);
    honest.leaves = std::array::from_fn(|lane| [32 - lane as u8; 32]);
    assert_eq!(gateway.decide(&honest).unwrap(), 0b11);
    assert_eq!(gateway.decide(&gateway.job(1, |_| stranger.clone())).unwrap(), 0);
    let text = std::fs::read_to_string(house.data().join("jobs-0000000000000000.log")).unwrap();
    let lines: Vec<Entry> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [.., accepted, refused] = &lines[..] else { panic!("two decisions are on record") };
    for entry in [accepted, refused] {
        let size = (entry.lanes, entry.width);
        assert_eq!((&entry.op[..], &entry.outcome[..], size), ("decide", "decided", (Some(2), Some(128))));
        assert_eq!((&entry.batch, &entry.tenant), (&Some(hex::encode([1; 16])), &Some(hex::encode(TENANT))));
        assert!(entry.answer.as_ref().is_some_and(|answer| answer.len() == 64));
    }
    assert_eq!(
        accepted.matched,
        Some(hex::encode([[31; 32], [32; 32]].concat())),
        "which an auditor looks for"
    );
    assert_eq!(refused.matched, None);
    assert_eq!(accepted.subjects, refused.subjects);
    assert_ne!(accepted.answer, refused.answer);
    assert!(accepted.vault > 0 && refused.vault >= accepted.vault, "which vault answered");
}

#[test]
fn the_head_that_a_gateway_sees_is_signed_within_seconds_and_at_a_clean_stop() {
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 1);
    gateway.decide(&gateway.honest(1)).unwrap();
    let written = end_of_log(&house.data()).next;
    // Each question is a line too.
    let seen = loop {
        let head = gateway.remote.status().unwrap().jobs[0];
        if let Some((lines, digest)) = head.filter(|(lines, _)| *lines >= written) {
            break (lines, digest);
        }
    };
    let mut chain = Vec::new();
    let (_, signed) =
        job_log::read(&house.data(), &mut |_, head| chain.push((head.next, head.digest))).unwrap();
    assert!(chain.contains(&seen) && signed.unwrap().lines >= seen.0);
    running.signal("-TERM");
    assert_eq!(running.wait(), Some(0));
    let (end, signed) = job_log::read(&house.data(), &mut |_, _| ()).unwrap();
    assert_eq!(signed.unwrap().lines, end.next, "all of it");
}
