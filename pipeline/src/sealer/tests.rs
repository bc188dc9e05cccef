//! Sealing threads, real and scripted, and their steps by hand where the order of events matters.

#![expect(clippy::disallowed_methods, reason = "counts in a test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::after;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_attest::{Decision, Restoration, Seal, SealHeader, VaultState};
use trefoil_sign::SealChecker;

use super::chain::Follows;
use super::gathering::BATCHES_MAX;
use super::*;
use crate::request::{BoundLane, Refusal, StageTimes};

mod many;

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

/// Keeps what is released, with its turn, and what is refused.
struct Kept(Sender<Released>);

type Released = Result<Sealed<u64>, (u64, Refusal)>;

impl Release<u64> for Kept {
    fn sealed(&self, sealed: Sealed<u64>) {
        self.0.send(Ok(sealed)).unwrap_or_default();
    }

    fn refused(&self, reply: u64, why: Refusal) {
        self.0.send(Err((reply, why))).unwrap_or_default();
    }
}

/// A seal's number and its replies, or the reply that was refused.
#[derive(Debug, PartialEq)]
enum Let {
    Sealed(u64, Vec<u64>),
    Refused(u64),
}

/// What was released so far.
fn released(out: &Receiver<Released>) -> Vec<Let> {
    let told = |released: Released| match released {
        Ok(sealed) => Let::Sealed(sealed.under.seal.header.seal_number, replies(&sealed)),
        Err((reply, _)) => Let::Refused(reply),
    };
    out.try_iter().map(told).collect()
}

fn replies(sealed: &Sealed<u64>) -> Vec<u64> {
    sealed.lanes().map(|lane| lane.reply).collect()
}

/// The next seal; nothing is refused before it.
fn next_seal(out: &Receiver<Released>) -> Sealed<u64> {
    out.recv().expect("it seals").map_err(|refused| refused.0).expect("a seal")
}

fn keys(seed: u64) -> SigningKeys {
    SigningKeys::generate(0, u64::MAX, &mut StdRng::seed_from_u64(seed)).expect("validity")
}

/// A batch of one lane.
fn batch(reply: u64) -> Bound<u64> {
    let lane = BoundLane {
        reply,
        decision: Some(Decision::Match),
        statement: Vec::new(),
        digest: [reply as u8; 32],
    };
    Bound { lanes: vec![lane], refused: Vec::new(), times: StageTimes::default() }
}

/// Keys whose checker a test can replace, so that what they sign is refused.
struct Checked(SigningKeys, Arc<arc_swap::ArcSwap<SealChecker>>);

impl Sign for Checked {
    fn seal(&mut self, header: SealHeader) -> Option<Seal> {
        let unchecked = self.0.sign_seal_unchecked(header, &mut rand::rng()).ok()?;
        self.1.load().check(unchecked).ok()
    }
}

fn end_of(keys: &SigningKeys) -> End {
    End { origin: issuer(), key_set_id: keys.id(), head: ChainHead::GENESIS }
}

/// Signers over one chain, for a test that calls them itself.
fn signers(copies: Copies, end: End, release: Arc<dyn Release<u64>>) -> (Signers<u64>, Sealer<u64>) {
    let sequence = Sequence { cadence: Cadence::PerBatch, floor: Floor::NONE, sealers: 1 };
    let (outlet, sealer) = Sealer::start_with(copies, end, sequence, Arc::<Hand>::default(), release, |_| {})
        .expect("no thread");
    let Way::Here { signers, .. } = outlet.0 else { panic!("workers seal") };
    (signers, sealer)
}

/// Sealing threads with these keys.
fn start(
    seed: u64,
    origin: Origin,
    (cadence, sealers): (Cadence, usize),
    release: Arc<dyn Release<u64>>,
) -> (Outlet<u64>, Sealer<u64>) {
    let sequence = Sequence { cadence, floor: Floor::NONE, sealers };
    let (head, clock) = (ChainHead::GENESIS, Arc::<Hand>::default());
    Sealer::start(keys(seed), origin, head, sequence, clock, release, |_| {}).expect("threads")
}

fn issuer() -> Origin {
    Origin::new("https://auth.example")
}

/// Claim V7: Seals are released in the order of the chain. If one is refused, the chain continues from the last released one.
#[test]
fn after_a_refused_seal_the_chain_goes_on_from_the_last_one_released() {
    let (keys, others) = (keys(1), keys(2).checker());
    let (send, out) = unbounded();
    let checker = Arc::new(arc_swap::ArcSwap::from_pointee(keys.checker()));
    let (copied, checked) = (keys.duplicate().expect("sound keys"), Arc::clone(&checker));
    let copies: Copies = Arc::new(move || Ok(Box::new(Checked(copied.duplicate()?, Arc::clone(&checked)))));
    let (signers, sealer) = signers(copies, end_of(&keys), Arc::new(Kept(send)));
    // Four threads' worth, of which each makes one seal at a time.
    let mut four: Vec<_> = (0..4).map(|_| signers.signer().expect("sound keys")).collect();
    drop(signers);
    let begin = |signer: &Signer<u64>, replies: &[u64]| {
        signer.begin(replies.iter().map(|&reply| batch(reply)).collect(), |_| {}).expect("it seals")
    };

    let first = begin(&four[0], &[0]);
    four[0].finish(first).expect("it seals");
    // The second is refused while the third and the fourth are signed; both are ready before it.
    let (second, third, fourth) = (begin(&four[1], &[1]), begin(&four[2], &[2, 3]), begin(&four[3], &[4]));
    four[3].finish(fourth).expect("it seals");
    four[2].finish(third).expect("it seals");
    assert_eq!(released(&out), [Let::Sealed(0, vec![0])], "they wait for the second");
    let sound = checker.swap(Arc::new(others));
    four[1].finish(second).expect("it seals");
    checker.store(sound);
    // Those that are begun now follow on what was released.
    let (fifth, sixth) = (begin(&four[0], &[5]), begin(&four[1], &[6]));
    four[1].finish(sixth).expect("it seals");
    four[0].finish(fifth).expect("it seals");
    drop(four);
    let wanted = [
        Let::Refused(1),
        Let::Refused(2),
        Let::Refused(3),
        Let::Refused(4),
        Let::Sealed(1, vec![5]),
        Let::Sealed(2, vec![6]),
    ];
    assert_eq!(released(&out), wanted);
    assert_eq!(sealer.join().map(|head| head.next_number()), Some(3));
}

#[test]
fn a_backlog_that_is_longer_than_a_group_may_be_is_split() {
    let (sender, mut gathering, _clock) = gathering(Floor::NONE, 1);
    for reply in 0..2 * BATCHES_MAX as u64 + 3 {
        sender.send(batch(reply)).expect("it gathers");
    }
    drop(sender);
    let groups: Vec<usize> = std::iter::from_fn(|| gathering.group()).map(|group| group.len()).collect();
    assert_eq!(groups, [BATCHES_MAX, BATCHES_MAX, 3]);
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
fn a_worker_seals_its_own_batch_before_it_goes_on() {
    let (send, out) = unbounded();
    let (mut outlet, sealer) = start(8, issuer(), (Cadence::PerBatch, 1), Arc::new(Kept(send)));
    let mut other = outlet.clone();
    let nothing = Bound { lanes: Vec::new(), refused: Vec::new(), times: StageTimes::default() };
    assert!(!outlet.seal(nothing), "a batch without a lane needs no seal");
    for reply in 0..3 {
        let outlet = if reply == 1 { &mut other } else { &mut outlet };
        assert!(outlet.seal(batch(reply)));
        assert_eq!(released(&out), [Let::Sealed(reply, vec![reply])]);
    }
    drop((outlet, other));
    assert_eq!(sealer.join().map(|head| head.next_number()), Some(3));
}

/// Panics on the thread that releases.
struct Broken;

impl Release<u64> for Broken {
    fn sealed(&self, _: Sealed<u64>) {
        panic!("meant by the test");
    }

    fn refused(&self, _: u64, _: Refusal) {}
}

/// Claim V9: If a thread dies while it seals, sealing ends: the thread that hands over batches is told, and nothing continues from an
/// unknown seal.
#[test]
fn a_thread_that_panics_ends_sealing_and_the_end_of_the_chain_is_unknown() {
    for (cadence, sealers) in [(Cadence::Group, 1), (Cadence::Group, 4), (Cadence::PerBatch, 1)] {
        let (outlet, sealer) = start(4, issuer(), (cadence, sealers), Arc::new(Broken));
        let mut other = outlet.clone();
        let mut first = outlet;
        let caught = catch_unwind(AssertUnwindSafe(|| first.seal(batch(0))));
        assert_eq!(caught.is_err(), cadence == Cadence::PerBatch, "a worker's panic is the worker's");
        // Every thread that has batches is told; no thread waits forever.
        wait_for(|| !other.clone().seal(batch(1)));
        assert!(!other.seal(batch(2)));
        drop((first, other));
        assert_eq!(sealer.join(), None);
    }
}

#[test]
fn every_seal_says_what_was_seen_of_the_vaults_last() {
    let (send, out) = unbounded();
    let origin = issuer();
    let seen = Arc::clone(&origin.vaults);
    let (mut outlet, sealer) = start(6, origin, (Cadence::Group, 1), Arc::new(Kept(send)));
    let state = |generation| Some(VaultState { generation, ..VaultState::default() });
    for states in [vec![], vec![None], vec![state(7)], vec![state(8), None, state(3)]] {
        seen.set(states.clone());
        assert!(outlet.seal(batch(0)));
        assert_eq!(next_seal(&out).under.seal.header.vaults, states);
    }
    drop(outlet);
    assert_eq!(sealer.join().map(|head| head.next_number()), Some(4));
}

/// Longer than any test: what ends a wait is what the test does.
const FLOOR: Floor = Floor { distance: Duration::from_secs(3600), lanes: 2, spacing: 1 };

/// A queue by such a clock, and the way to it.
fn gathering(floor: Floor, sealers: u64) -> (Sender<Bound<u64>>, Gathering<u64>, Arc<Hand>) {
    let (sender, batches) = unbounded();
    let clock = Arc::new(Hand::default());
    let by = Arc::clone(&clock) as Arc<dyn Clock>;
    let gathering = Gathering { batches, floor, sealers, began: None, took: 0, covered: 0, clock: by };
    (sender, gathering, clock)
}

/// How many batches the next group has; 0 at the end.
fn size(gathering: &mut Gathering<u64>) -> usize {
    gathering.group().map_or(0, |group| group.len())
}

/// Claim S19: A login after a pause is sealed at once. Later ones share a seal, and enough of them are sealed before the minimum time
/// between seals has passed.
#[test]
fn a_login_after_a_quiet_moment_is_sealed_at_once_and_later_ones_share_a_seal() {
    let (sender, mut gathering, clock) = gathering(FLOOR, 1);
    sender.send(batch(0)).expect("it gathers");
    assert_eq!(size(&mut gathering), 1, "nothing was sealed before");
    // The thread has the second before the third is sent.
    sender.send(batch(1)).expect("it gathers");
    let thread = std::thread::spawn(move || (size(&mut gathering), gathering));
    wait_for(|| sender.is_empty());
    sender.send(batch(2)).expect("it gathers");
    let (shared, mut gathering) = thread.join().expect("it gathers");
    assert_eq!(shared, 2);
    clock.0.fetch_add(FLOOR.distance.as_nanos() as u64, Ordering::Relaxed);
    sender.send(batch(3)).expect("it gathers");
    assert_eq!(size(&mut gathering), 1, "the floor is over");
    // Nobody comes, so the wait ends by itself.
    gathering.floor.distance = Duration::from_millis(20);
    sender.send(batch(4)).expect("it gathers");
    assert_eq!(size(&mut gathering), 1);
}

/// Claim S19.
#[test]
fn enough_lanes_and_a_drain_wait_for_no_floor() {
    let (sender, mut gathering, _clock) = gathering(FLOOR, 1);
    gathering.began = Some(0);
    (0..4).for_each(|reply| sender.send(batch(reply)).expect("it gathers"));
    assert_eq!(size(&mut gathering), 4);
    sender.send(batch(4)).expect("it gathers");
    drop(sender);
    assert_eq!((size(&mut gathering), size(&mut gathering)), (1, 0));
}

#[test]
fn threads_begin_their_seals_evenly_spaced_and_a_drain_waits_for_no_spacing() {
    const HOUR: u64 = 3_600_000_000_000;
    let (sender, mut gathering, clock) = gathering(Floor { spacing: 2, ..Floor::NONE }, 4);
    sender.send(batch(0)).expect("it gathers");
    assert_eq!(size(&mut gathering), 1, "nothing was sealed before");
    gathering.took = 4 * HOUR;
    let mut next = 1;
    // A seal after few lanes begins a quarter of a seal's time after the last one began, and a seal after many after twice that, and not before, however
    // many lanes wait.
    for hours in [1, 2] {
        sender.send(batch(next)).expect("it gathers");
        let thread = std::thread::spawn(move || (size(&mut gathering), gathering));
        wait_for(|| sender.is_empty());
        clock.0.fetch_add(hours * HOUR / 2, Ordering::Relaxed);
        (0..16).for_each(|reply| sender.send(batch(next + 1 + reply)).expect("it gathers"));
        wait_for(|| sender.is_empty());
        pause(20);
        assert!(!thread.is_finished(), "{hours}");
        clock.0.fetch_add(hours * HOUR / 2, Ordering::Relaxed);
        sender.send(batch(next + 17)).expect("it gathers");
        let shared;
        (shared, gathering) = thread.join().expect("it gathers");
        assert_eq!(shared, 18);
        next += 18;
    }
    sender.send(batch(next)).expect("it gathers");
    drop(sender);
    assert_eq!(size(&mut gathering), 1);
}

/// A log that others extend between our seals, and that can be out of reach.
struct Theirs {
    /// Where it ends; none while it cannot be had.
    end: Receiver<Option<ChainHead>>,
    /// How often it was asked for.
    asks: Arc<AtomicU64>,
    /// Told when a turn has ended.
    over: Sender<()>,
}

struct Over(Sender<()>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.send(()).unwrap_or_default();
    }
}

impl SharedLog for Theirs {
    fn turn(&self) -> Option<(ChainHead, LogTurn)> {
        self.asks.fetch_add(1, Ordering::Relaxed);
        let head = self.end.recv().expect("the test says")?;
        Some((head, LogTurn::new(Over(self.over.clone()), u64::MAX)))
    }
}

#[test]
fn a_shared_log_is_extended_from_where_others_left_it_and_each_turn_lasts_until_its_seal_is_dropped() {
    let (say, end) = unbounded();
    let (over, ended) = unbounded();
    let (send, out) = unbounded();
    let asks = Arc::<AtomicU64>::default();
    let shared: Arc<dyn SharedLog> = Arc::new(Theirs { end, asks: Arc::clone(&asks), over });
    let origin = Origin { shared: Some(shared), ..issuer() };
    let (mut outlet, sealer) = start(9, origin, (Cadence::Group, 1), Arc::new(Kept(send)));
    let mut theirs = ChainHead::GENESIS;
    for (reply, others) in [(0, 3), (1, 0), (2, 5)] {
        // Others add seals before ours.
        for number in 0..others {
            theirs.previous = [number + 1; 32];
            theirs.log.push(&theirs.previous);
        }
        say.send(Some(theirs.clone())).expect("it asks");
        assert!(outlet.seal(batch(reply)));
        let sealed = next_seal(&out);
        let header = &sealed.under.seal.header;
        assert_eq!((header.seal_number, header.previous), (theirs.next_number(), theirs.previous));
        assert_eq!((header.log_root, &sealed.log), (theirs.log.root(), &theirs.log));
        assert!(sealed.turn.is_some() && ended.try_recv().is_err(), "the turn lasts");
        theirs.follow(header);
        drop(sealed);
        assert_eq!(ended.recv(), Ok(()));
    }
    // What comes while others have their turns is under the seal of ours.
    assert!(outlet.seal(batch(5)));
    wait_for(|| asks.load(Ordering::Relaxed) == 4);
    assert!(outlet.seal(batch(6)) && outlet.seal(batch(7)));
    say.send(Some(theirs.clone())).expect("it asks");
    let sealed = next_seal(&out);
    assert_eq!(sealed.under.seal.header.tree_size, 3);
    theirs.follow(&sealed.under.seal.header);
    drop(sealed);
    assert_eq!(ended.recv(), Ok(()));
    // A log that is out of reach costs the lanes, and nothing else.
    say.send(None).expect("it asks");
    assert!(outlet.seal(batch(3)));
    let refused = out.recv().expect("it is refused");
    assert!(matches!(refused, Err((3, Refusal::Unsealed))));
    say.send(Some(theirs.clone())).expect("it asks");
    assert!(outlet.seal(batch(4)));
    let sealed = next_seal(&out);
    assert_eq!(sealed.under.seal.header.seal_number, theirs.next_number());
    drop((outlet, sealed));
    assert!(sealer.join().is_some());
}

/// A clock that says this, and from when seals are dated.
struct Says(u64, u64);

impl Clock for Says {
    fn monotonic_ns(&self) -> u64 {
        0
    }

    fn unix_s(&self) -> u64 {
        self.0
    }

    fn sealed_from(&self) -> u64 {
        self.1
    }
}

/// Claim I20: No seal is dated before an earlier one.
#[test]
fn no_seal_is_dated_before_an_earlier_one() {
    let restored = Some(Restoration { time: 90, first: 0 });
    let origin = Origin { restored, ..issuer() };
    let (key_set_id, (_withdraw, withdrawn)) = (keys(1).id(), unbounded());
    let mut chain = Chain { origin, key_set_id, head: ChainHead::GENESIS, place: 0, withdrawn };
    let tree = trefoil_sign::seal_tree(&[[0; 32]]).expect("a leaf");
    for (clock, from, until, dated) in [
        // A clock that was set back to before the restoration, ahead, and back.
        (50, 0, u64::MAX, 90),
        (100, 0, u64::MAX, 100),
        (400, 0, u64::MAX, 400),
        (120, 0, u64::MAX, 400),
        // What a seal covers may be later than this clock.
        (120, 410, u64::MAX, 410),
        // A log's own clock bounds this one, but not what is sealed.
        (900, 0, 411, 411),
        (900, 0, 300, 411),
        (412, 0, 500, 412),
    ] {
        let follows = match until {
            u64::MAX => Follows::Ours,
            until => Follows::Shared(Some((chain.head.clone(), LogTurn::new((), until)))),
        };
        let placed = chain.header(&tree, follows, &Says(clock, from));
        assert_eq!(placed.header.map(|header| header.time), Some(dated), "{clock} {from} {until}");
    }
}
