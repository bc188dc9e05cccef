//! The two threads of the sealer, and its halves by hand where the order of events matters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crossbeam_channel::after;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_attest::{Decision, VaultState};

use super::signing::Group;
use super::*;

struct Noon;

impl Clock for Noon {
    fn monotonic_ns(&self) -> u64 {
        0
    }

    fn unix_s(&self) -> u64 {
        1_795_000_000
    }
}

/// Takes what is released: the seal's number and its replies, or the reply that was refused.
struct Outbox(Sender<Let>);

#[derive(Debug, PartialEq)]
enum Let {
    Sealed(u64, Vec<u64>),
    Refused(u64),
}

impl Release<u64> for Outbox {
    fn sealed(&self, sealed: Sealed<u64>) {
        let replies = sealed.lanes().map(|lane| lane.reply).collect();
        self.0.send(Let::Sealed(sealed.under.seal.header.seal_number, replies)).expect("the test waits");
    }

    fn refused(&self, reply: u64, _: Refusal) {
        self.0.send(Let::Refused(reply)).expect("the test waits");
    }
}

fn keys(seed: u64) -> SigningKeys {
    SigningKeys::generate(0, u64::MAX, &mut StdRng::seed_from_u64(seed)).expect("validity")
}

/// A batch of one lane.
fn batch(reply: u64) -> Bound<u64> {
    let lane =
        BoundLane { reply, decision: Decision::Match, statement: Vec::new(), digest: [reply as u8; 32] };
    Bound { lanes: vec![lane], refused: Vec::new(), times: StageTimes::default() }
}

#[test]
fn after_a_refused_seal_the_chain_goes_on_from_the_last_one_released() {
    let (keys, others) = (keys(1), keys(2).checker());
    let (send, out) = unbounded();
    let (withdraw, withdrawn) = unbounded();
    let (clock, release) = (Arc::new(Noon), Arc::new(Outbox(send)));
    let checker = keys.checker();
    let mut checking =
        Checking { checker, head: ChainHead::GENESIS, withdraw, clock: clock.clone(), release };
    let origin = Origin::new("https://auth.example");
    let (sender, batches) = unbounded();
    let (head, cadence) = (ChainHead::GENESIS, Cadence::Group);
    let floor = Floor::NONE;
    let mut signing = Signing { keys, origin, head, batches, cadence, floor, began: None, withdrawn, clock };
    let mut sign = |replies: &[u64]| {
        replies.iter().for_each(|&reply| sender.send(batch(reply)).expect("it signs"));
        signing.next().expect("a group")
    };

    checking.finish(sign(&[0]));
    let released = checking.head.clone();
    // The second is refused while the third is signed.
    let (second, third) = (sign(&[1]), sign(&[2, 3]));
    let sound = std::mem::replace(&mut checking.checker, others);
    assert_eq!(checking.finish(second), 1);
    checking.checker = sound;
    assert_eq!(checking.finish(third), 2);
    assert_eq!(checking.head, released);
    checking.finish(sign(&[4]));
    checking.finish(sign(&[5]));
    let answers: Vec<Let> = out.try_iter().collect();
    let wanted = [
        Let::Sealed(0, vec![0]),
        Let::Refused(1),
        Let::Refused(2),
        Let::Refused(3),
        Let::Sealed(1, vec![4]),
        Let::Sealed(2, vec![5]),
    ];
    assert_eq!(answers, wanted);
    assert_eq!(checking.head, signing.head);
}

#[test]
fn a_backlog_that_is_longer_than_a_group_may_be_is_split() {
    let (_withdraw, withdrawn) = unbounded();
    let (sender, batches) = unbounded();
    let mut signing = Signing {
        keys: keys(5),
        origin: Origin::new("https://auth.example"),
        head: ChainHead::GENESIS,
        batches,
        cadence: Cadence::Group,
        floor: Floor::NONE,
        began: None,
        withdrawn,
        clock: Arc::new(Noon),
    };
    for reply in 0..2 * BATCHES_MAX as u64 + 3 {
        sender.send(batch(reply)).expect("it signs");
    }
    drop(sender);
    let groups: Vec<(u64, usize)> = signing
        .by_ref()
        .map(|group| (group.signed.expect("a seal").0.header().tree_size, group.batches.len()))
        .collect();
    assert_eq!(groups, [(1024, BATCHES_MAX), (1024, BATCHES_MAX), (3, 3)]);
}

fn pause(millis: u64) {
    after(Duration::from_millis(millis)).recv().expect("it comes");
}

/// Waits until it is true, for a minute.
fn wait_for(what: impl Fn() -> bool) {
    let came_about = (0..60_000).any(|_| {
        pause(1);
        what()
    });
    assert!(came_about, "it does not come about");
}

#[test]
fn with_two_threads_one_seal_is_signed_while_one_is_checked_and_no_more() {
    one_after_the_other(true);
}

#[test]
fn with_one_thread_no_seal_is_begun_while_one_is_checked() {
    one_after_the_other(false);
}

fn one_after_the_other(overlapping: bool) {
    // What is released waits here for its receiver.
    let (send, out) = bounded(0);
    let (told, groups) = mpsc::channel();
    let (batches, sealer) = Sealer::start(
        keys(3),
        Origin::new("https://auth.example"),
        ChainHead::GENESIS,
        Sequence { cadence: Cadence::PerBatch, floor: Floor::NONE, overlapping },
        Arc::new(Noon),
        Arc::new(Outbox(send)),
        move |batches| told.send(batches).expect("the test waits"),
    )
    .expect("threads");
    for reply in 0..5 {
        batches.send(batch(reply)).expect("the sealer runs");
    }
    for released in 0..5 {
        // One is being released, one more may be signed, the others have not been begun.
        let waiting = (4 - usize::from(overlapping)).saturating_sub(released as usize);
        wait_for(|| batches.len() == waiting);
        pause(20);
        assert_eq!(batches.len(), waiting);
        assert_eq!(out.recv(), Ok(Let::Sealed(released, vec![released])));
    }
    drop(batches);
    assert_eq!(sealer.join().map(|head| head.next_number()), Some(5));
    assert_eq!(groups.iter().collect::<Vec<_>>(), [1; 5]);
}

/// Panics on the thread that releases.
struct Broken;

impl Release<u64> for Broken {
    fn sealed(&self, _: Sealed<u64>) {
        panic!("meant by the test");
    }

    fn refused(&self, _: u64, _: Refusal) {}
}

#[test]
fn a_thread_that_panics_ends_sealing_and_the_end_of_the_chain_is_unknown() {
    for overlapping in [false, true] {
        let (batches, sealer) = Sealer::start(
            keys(4),
            Origin::new("https://auth.example"),
            ChainHead::GENESIS,
            Sequence { cadence: Cadence::Group, floor: Floor::NONE, overlapping },
            Arc::new(Noon),
            Arc::new(Broken),
            |_| {},
        )
        .expect("threads");
        batches.send(batch(0)).expect("the sealer runs");
        // Every thread that has batches is told; nobody waits for ever.
        wait_for(|| batches.send(batch(1)).is_err());
        assert_eq!(sealer.join(), None);
    }
}

/// Hands on what each seal says of the vaults.
struct Shown(Sender<Vec<Option<VaultState>>>);

impl Release<u64> for Shown {
    fn sealed(&self, sealed: Sealed<u64>) {
        self.0.send(sealed.under.seal.header.vaults.clone()).expect("the test waits");
    }

    fn refused(&self, _: u64, _: Refusal) {
        panic!("the keys sign");
    }
}

#[test]
fn every_seal_says_what_was_seen_of_the_vaults_last() {
    let (send, shown) = bounded(0);
    let origin = Origin::new("https://auth.example");
    let seen = Arc::clone(&origin.vaults);
    let (batches, sealer) = Sealer::start(
        keys(6),
        origin,
        ChainHead::GENESIS,
        Sequence { cadence: Cadence::Group, floor: Floor::NONE, overlapping: false },
        Arc::new(Noon),
        Arc::new(Shown(send)),
        |_| {},
    )
    .expect("threads");
    let state = |generation| Some(VaultState { generation, restored: 0 });
    for states in [vec![], vec![None], vec![state(7)], vec![state(8), None, state(3)]] {
        seen.set(states.clone());
        batches.send(batch(0)).expect("the sealer runs");
        assert_eq!(shown.recv(), Ok(states));
    }
    drop(batches);
    assert_eq!(sealer.join().map(|head| head.next_number()), Some(4));
}

/// A clock that a test moves; waiting for it takes real time.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn unix_s(&self) -> u64 {
        1_795_000_000
    }
}

/// Longer than any test: what ends a wait is what the test does.
const FLOOR: Floor = Floor { distance: Duration::from_secs(3600), lanes: 2 };

/// A signer by such a clock, and the way to it.
fn floored() -> (Sender<Bound<u64>>, Signing<u64>, Arc<Hand>) {
    let (sender, batches) = unbounded();
    let clock = Arc::new(Hand::default());
    let signing = Signing {
        keys: keys(7),
        origin: Origin::new("https://auth.example"),
        head: ChainHead::GENESIS,
        batches,
        cadence: Cadence::Group,
        floor: FLOOR,
        began: None,
        withdrawn: crossbeam_channel::never(),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
    };
    (sender, signing, clock)
}

fn sizes(signing: impl Iterator<Item = Group<u64>>) -> Vec<u64> {
    signing.map(|group| group.signed.expect("a seal").0.header().tree_size).collect()
}

#[test]
fn a_login_after_a_quiet_moment_is_sealed_at_once_and_later_ones_share_a_seal() {
    let (sender, mut signing, clock) = floored();
    sender.send(batch(0)).expect("it signs");
    assert_eq!(sizes(signing.by_ref().take(1)), [1], "nothing was sealed before");
    // The signer has the second before the third is sent.
    sender.send(batch(1)).expect("it signs");
    let signer = std::thread::spawn(move || (sizes(signing.by_ref().take(1)), signing));
    wait_for(|| sender.is_empty());
    sender.send(batch(2)).expect("it signs");
    let (shared, mut signing) = signer.join().expect("it signs");
    assert_eq!(shared, [2]);
    clock.0.fetch_add(FLOOR.distance.as_nanos() as u64, Ordering::Relaxed);
    sender.send(batch(3)).expect("it signs");
    assert_eq!(sizes(signing.by_ref().take(1)), [1], "the floor is over");
    // Nobody comes, so the wait ends by itself.
    signing.floor.distance = Duration::from_millis(20);
    sender.send(batch(4)).expect("it signs");
    assert_eq!(sizes(signing.by_ref().take(1)), [1]);
}

#[test]
fn enough_lanes_and_a_drain_wait_for_no_floor() {
    let (sender, mut signing, _clock) = floored();
    signing.began = Some(0);
    (0..4).for_each(|reply| sender.send(batch(reply)).expect("it signs"));
    assert_eq!(sizes(signing.by_ref().take(1)), [4]);
    sender.send(batch(4)).expect("it signs");
    drop(sender);
    assert_eq!(sizes(signing), [1]);
}

#[test]
fn seals_that_are_to_follow_at_once_do() {
    let (sender, mut signing, _clock) = floored();
    signing.floor = Floor::NONE;
    for reply in 0..3 {
        sender.send(batch(reply)).expect("it signs");
        assert_eq!(sizes(signing.by_ref().take(1)), [1]);
    }
}
