//! Many threads, slow and faulty ones among them. Their signatures are scripted, so that a test says when each is ready and which
//! fails; chain, threads and order of release are the real ones.

use std::collections::HashSet;
use std::ops::Range;

use proptest::prelude::*;

use super::*;

/// What becomes of one header.
struct Script {
    /// It waits until this is closed.
    until: Receiver<()>,
    /// And for so long.
    takes: Duration,
    /// Whether it is signed.
    sound: bool,
}

impl Script {
    /// Signed at once.
    fn sound() -> Script {
        Script { until: bounded(0).1, takes: Duration::ZERO, sound: true }
    }
}

/// Signs with zeros, as its script says: the first header that a test's signers are given follows the first script, and so on.
/// Headers without a script are signed at once. It tells of each header when it is given it.
struct Scripted(Receiver<Script>, Sender<(SealHeader, bool)>);

impl Sign for Scripted {
    fn seal(&mut self, header: SealHeader) -> Option<Seal> {
        // The sender lives as long as the test, so this does not wait for a script that the test does not write.
        let Script { until, takes, sound } = self.0.try_recv().unwrap_or_else(|_| Script::sound());
        self.1.send((header.clone(), sound)).expect("the test listens");
        until.iter().for_each(drop);
        after(takes).recv().expect("it comes");
        sound.then_some(Seal { header, signatures: [const { Vec::new() }; 3] })
    }
}

/// Four signers of which the test writes the scripts: workers, one batch a seal, or threads.
struct Four {
    outlets: Vec<Outlet<u64>>,
    sealer: Sealer<u64>,
    scripts: Sender<Script>,
    begun: Receiver<(SealHeader, bool)>,
    out: Receiver<Released>,
    groups: Receiver<usize>,
}

impl Four {
    fn start(cadence: Cadence, sealers: usize) -> Four {
        let (scripts, lines) = unbounded();
        let (begin, begun) = unbounded();
        let (send, out) = unbounded();
        let (told, groups) = unbounded();
        let copies: Copies = Arc::new(move || Ok(Box::new(Scripted(lines.clone(), begin.clone()))));
        let end = End { origin: issuer(), key_set_id: KeySetId::new([7; 32]), head: ChainHead::GENESIS };
        let sequence = Sequence { cadence, floor: Floor::NONE, sealers };
        let after_group = move |batches| told.send(batches).expect("the test waits");
        let release = Arc::new(Kept(send));
        let (outlet, sealer) =
            Sealer::start_with(copies, end, sequence, Arc::<Hand>::default(), release, after_group)
                .expect("threads");
        Four { outlets: vec![outlet; 4], sealer, scripts, begun, out, groups }
    }

    /// The end of the chain, what left, and the sum of what was told of it.
    fn end(self) -> (ChainHead, Vec<Released>, usize) {
        drop(self.outlets);
        let head = self.sealer.join().expect("no thread panicked");
        (head, self.out.try_iter().collect(), self.groups.try_iter().sum())
    }
}

/// A script that is signed, or not, once the sender is dropped.
fn waiting(sound: bool) -> (Sender<()>, Script) {
    let (open, until) = bounded(0);
    (open, Script { until, sound, ..Script::sound() })
}

/// That what was released is a chain from the first seal on, without a gap, which ends at `head`. Returns replies of seals and of
/// refusals.
fn chain_of(released: &[Released], head: &ChainHead) -> (Vec<u64>, Vec<u64>) {
    let (mut end, mut sealed, mut refused) = (ChainHead::GENESIS, Vec::new(), Vec::new());
    for item in released {
        match item {
            Err((reply, why)) => {
                assert_eq!(*why, Refusal::Fault);
                refused.push(*reply);
            }
            Ok(seal) => {
                let header = &seal.under.seal.header;
                assert_eq!(header.seal_number, end.next_number());
                assert_eq!((header.previous, header.log_root), (end.previous, end.log.root()));
                end.follow(header);
                sealed.extend(replies(seal));
            }
        }
    }
    assert_eq!(end, *head);
    (sealed, refused)
}

/// Has each of the four seal one batch, begun in the order of their replies, and lets the test finish them as it likes.
fn four_side_by_side(replies: Range<u64>, four: &mut Four, test: impl FnOnce(&Receiver<Released>)) {
    let Four { outlets, begun, out, .. } = four;
    std::thread::scope(|scope| {
        for (reply, outlet) in replies.zip(outlets) {
            scope.spawn(move || assert!(outlet.seal(batch(reply))));
            begun.recv().expect("it begins");
        }
        test(out);
    });
}

/// Claim V8.
#[test]
fn behind_a_slow_first_seal_later_ones_wait_and_come_out_in_order() {
    let mut four = Four::start(Cadence::PerBatch, 4);
    let (slow, script) = waiting(true);
    four.scripts.send(script).expect("signers");
    for _ in 1..4 {
        four.scripts.send(Script::sound()).expect("signers");
    }
    let groups = four.groups.clone();
    four_side_by_side(0..4, &mut four, |out| {
        pause(20);
        assert!(out.is_empty() && groups.is_empty(), "nothing is released before the first");
        drop(slow);
    });
    let (head, released, told) = four.end();
    assert_eq!(chain_of(&released, &head), (vec![0, 1, 2, 3], vec![]));
    assert_eq!((head.next_number(), told), (4, 4));
}

#[test]
fn a_fault_in_the_middle_refuses_all_that_followed_and_nothing_before_it() {
    let mut four = Four::start(Cadence::PerBatch, 4);
    // The second is refused, after the others are ready.
    let (second, script) = waiting(false);
    for script in [Script::sound(), script] {
        four.scripts.send(script).expect("signers");
    }
    four_side_by_side(0..4, &mut four, |out| {
        wait_for(|| out.len() == 1);
        pause(20);
        assert_eq!(out.len(), 1, "the others wait for the second");
        drop(second);
    });
    // The service recovers: the next four follow on the first.
    four_side_by_side(4..8, &mut four, |_| {});
    let (head, released, told) = four.end();
    let (mut sealed, refused) = chain_of(&released, &head);
    assert_eq!(refused, [1, 2, 3]);
    sealed.sort_unstable();
    assert_eq!(sealed, [0, 4, 5, 6, 7]);
    assert_eq!((head.next_number(), told), (5, 8));
    assert_eq!(numbers(&released), [0, 1, 2, 3, 4], "the number of a seal that nobody saw is given again");
}

fn numbers(released: &[Released]) -> Vec<u64> {
    released.iter().flatten().map(|sealed| sealed.under.seal.header.seal_number).collect()
}

/// Claim V8: Each thread signs at most one seal at a time, and a seal that is ready early waits for those before it.
#[test]
fn threads_begin_no_more_seals_than_there_are_of_them_and_release_them_in_order() {
    for sealers in 1..5_u64 {
        let mut four = Four::start(Cadence::Group, sealers as usize);
        let mut outlet = four.outlets.remove(0);
        let mut open = Vec::new();
        for reply in 0..sealers {
            let (opens, script) = waiting(true);
            open.push(opens);
            four.scripts.send(script).expect("signers");
            assert!(outlet.seal(batch(reply)));
            four.begun.recv().expect("it begins");
        }
        // Every thread signs. What comes now is not begun, and is under one seal.
        (100..103).for_each(|reply| assert!(outlet.seal(batch(reply))));
        pause(20);
        assert!(four.begun.is_empty() && four.out.is_empty(), "{sealers} threads");
        // The first is ready last.
        open.drain(1..).for_each(drop);
        if sealers > 1 {
            four.begun.recv().expect("a thread that is done goes on");
        }
        pause(20);
        assert!(four.out.is_empty(), "nothing is released before the first");
        drop((open, outlet));
        let (head, released, told) = four.end();
        let wanted: Vec<u64> = (0..sealers).chain(100..103).collect();
        assert_eq!(chain_of(&released, &head), (wanted, vec![]));
        assert_eq!((head.next_number(), told as u64), (sealers + 1, sealers + 3));
    }
}

#[test]
fn what_sealing_held_is_dropped_at_its_end() {
    for cadence in [Cadence::Group, Cadence::PerBatch] {
        let mut four = Four::start(cadence, 2);
        assert!(four.outlets[0].seal(batch(0)));
        let Four { outlets, sealer, out, groups, .. } = four;
        drop(outlets);
        assert_eq!(sealer.join().map(|head| head.next_number()), Some(1));
        // Their senders are in what releases; a dispatcher learns from it that sealing has ended.
        wait_for(|| out.recv_timeout(Duration::ZERO).is_err_and(|error| error.is_disconnected()));
        wait_for(|| groups.recv_timeout(Duration::ZERO).is_err_and(|error| error.is_disconnected()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Claim V7.
    ///
    /// Whatever each signature takes, and whichever of them fail: what is released is a chain without a gap, every batch is
    /// answered once, and a seal is released exactly where it and all that it follows were signed.
    #[test]
    fn what_is_released_is_one_chain_of_seals_that_follow_on_none_refused(
        signers in 1..5_usize,
        scripts in prop::collection::vec((0..300_u64, prop::bool::weighted(0.8)), 1..40),
        quiet in any::<bool>(),
    ) {
        let mut four = Four::start(Cadence::PerBatch, 4);
        four.outlets.truncate(signers);
        let count = scripts.len() as u64;
        for (micros, sound) in scripts {
            let script = Script { takes: Duration::from_micros(micros), sound: sound || quiet, ..Script::sound() };
            four.scripts.send(script).expect("signers");
        }
        let (send, batches) = unbounded();
        (0..count).for_each(|reply| send.send(reply).expect("workers"));
        drop(send);
        std::thread::scope(|scope| {
            for outlet in &mut four.outlets {
                let batches = batches.clone();
                scope.spawn(move || batches.iter().for_each(|reply| assert!(outlet.seal(batch(reply)))));
            }
        });
        let headers: Vec<(SealHeader, bool)> = four.begun.try_iter().collect();
        let (head, released, told) = four.end();
        let (mut answered, refused) = chain_of(&released, &head);
        prop_assert_eq!((told as u64, headers.len() as u64), (count, count));
        prop_assert_eq!(numbers(&released).len() as u64, due(headers), "{} refused", refused.len());
        answered.extend(refused);
        answered.sort_unstable();
        prop_assert_eq!(answered, (0..count).collect::<Vec<_>>());
    }
}

/// How many of these seals are to be released: those that are signed, and follow on nothing or on one that is to be.
fn due(mut headers: Vec<(SealHeader, bool)>) -> u64 {
    let mut ends = HashSet::from([ChainHead::GENESIS.previous]);
    // A header follows on one with a smaller number.
    headers.sort_by_key(|(header, _)| header.seal_number);
    for (header, sound) in headers {
        if sound && ends.contains(&header.previous) {
            ends.insert(header.digest());
        }
    }
    ends.len() as u64 - 1
}
