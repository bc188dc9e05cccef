//! The whole service with its threads: intake, dispatcher, pool, sealer.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "threads of a test, and their time")]

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, bounded, unbounded};
use trefoil_attest::{ExpectedNonce, Policy, Seal};
use trefoil_cache::Cache;
use trefoil_matching::KeyHolding;
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{
    Cadence, ChainHead, Clock, Config, Delay, Floor, LaneRequest, Open, Refusal, Release, Sealed, SealedTree,
    Service, SubmitError, UNSEALED_MAX, Verdict,
};

use super::world::{AUDIENCE, NOW, PEOPLE, TENANT, TestClock, World, clock, signing_keys};

/// Everything the service lets go of, in order.
enum Let {
    Go(Sealed<u64>),
    Refused(u64, Refusal),
    Panicked(String),
}

struct Outbox(Sender<Let>);

impl Release<u64> for Outbox {
    fn sealed(&self, sealed: Sealed<u64>) {
        self.0.send(Let::Go(sealed)).expect("receiver outlives the service");
    }

    fn refused(&self, reply: u64, why: Refusal) {
        self.0.send(Let::Refused(reply, why)).expect("receiver outlives the service");
    }

    fn panicked(&self, thread: &str, _: &(dyn Any + Send)) {
        self.0.send(Let::Panicked(thread.to_owned())).expect("receiver outlives the service");
    }
}

struct Running {
    service: Service<u64>,
    out: Receiver<Let>,
}

fn config(cadence: Cadence, sealers: Option<usize>, intake: usize) -> Config {
    Config {
        placement: Placement::new(Some(2), Pin::Auto),
        delay: Delay::default(),
        cadence,
        floor: Floor::NONE,
        sealers,
        intake,
        vaults: Arc::default(),
        shared: None,
        restored: None,
    }
}

fn start<C: Cache<Verdict>>(
    world: &World<C>,
    key_holder: Arc<dyn KeyHolding>,
    cadence: Cadence,
    intake: usize,
) -> Running {
    let (send, out) = unbounded();
    let service =
        start_with(world, key_holder, config(cadence, None, intake), clock(), Arc::new(Outbox(send)));
    Running { service, out }
}

fn start_with<C: Cache<Verdict>>(
    world: &World<C>,
    key_holder: Arc<dyn KeyHolding>,
    config: Config,
    clock: Arc<dyn Clock>,
    release: Arc<dyn Release<u64>>,
) -> Service<u64> {
    let pipeline = world.pipeline_with(key_holder);
    Service::start(pipeline, signing_keys().0, ChainHead::GENESIS, config, clock, Arc::new(Open), release)
        .expect("service")
}

fn submit(running: &Running, request: impl Fn() -> LaneRequest<u64>) {
    let intake = running.service.intake();
    while let Err(refused) = intake.submit(TENANT, request()) {
        assert_eq!(refused, SubmitError::Busy, "the service is not draining");
        std::thread::yield_now();
    }
}

/// Ends the service and returns all it let go of.
fn finish(running: Running) -> (Vec<Sealed<u64>>, Vec<(u64, Refusal)>) {
    let (sealed, refused, panicked) = finish_after_panics(running);
    assert!(panicked.is_empty(), "{panicked:?}");
    (sealed, refused)
}

/// What was sealed, what was refused, and the threads that panicked.
type Finished = (Vec<Sealed<u64>>, Vec<(u64, Refusal)>, Vec<String>);

/// As [`finish`], where a job may have panicked.
fn finish_after_panics(running: Running) -> Finished {
    running.service.drain().expect("no thread ended");
    let (mut sealed, mut refused, mut panicked) = (Vec::new(), Vec::new(), Vec::new());
    for item in running.out {
        match item {
            Let::Go(seal) => sealed.push(seal),
            Let::Refused(reply, why) => refused.push((reply, why)),
            Let::Panicked(thread) => panicked.push(thread),
        }
    }
    (sealed, refused, panicked)
}

/// How many lanes were sealed.
fn lanes(item: Let) -> usize {
    match item {
        Let::Go(sealed) => sealed.lanes().count(),
        Let::Refused(..) | Let::Panicked(_) => 0,
    }
}

fn replies(sealed: &[Sealed<u64>]) -> Vec<u64> {
    sealed.iter().flat_map(Sealed::lanes).map(|lane| lane.reply).collect()
}

pub(crate) fn every_request_is_answered_once_and_verifies<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let running = start(&world, world.local(), Cadence::Group, 64);
    let trust_root = signing_keys().1;
    for i in 0..500 {
        submit(&running, || world.request(i % PEOPLE, i % PEOPLE, i as u64));
    }
    let (sealed, refused) = finish(running);
    assert!(refused.is_empty());
    let all = replies(&sealed);
    assert_eq!(all.len(), 500);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 500, "no request is answered twice");
    for seal in &sealed {
        let (first, last) = ((0..).zip(seal.lanes()).next(), (0..).zip(seal.lanes()).last());
        let SealedTree { seal, tree, .. } = &*seal.under;
        for (leaf_index, lane) in [first, last].into_iter().flatten() {
            let path = tree.path(leaf_index).expect("a leaf");
            let nonce = ExpectedNonce::Exactly(vec![(lane.reply % PEOPLE as u64) as u8; 16]);
            let policy = Policy::new(trust_root.clone(), AUDIENCE, nonce).tenant(TENANT);
            let bytes = seal.attestation(&lane.statement, leaf_index, &path);
            trefoil_attest::verify(&bytes, &policy, NOW + 1).expect("attestation verifies");
        }
    }
}

pub(crate) fn full_intake_refuses_at_the_door<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (open, permits) = bounded::<()>(0);
    let gate = world.behind(move |_| {
        let _opened_for_good = permits.recv();
        None
    });
    let running = start(&world, gate, Cadence::Group, 4);
    let intake = running.service.intake();
    let mut taken = 0u64;
    let refused = loop {
        match intake.submit(TENANT, world.request(0, 0, taken)) {
            Ok(()) => taken += 1,
            Err(refused) => break refused,
        }
        assert!(taken < 10_000);
    };
    assert_eq!(refused, SubmitError::Busy);
    drop((open, intake));
    let (sealed, refused) = finish(running);
    assert!(refused.is_empty());
    assert_eq!(replies(&sealed).len() as u64, taken, "overload loses nothing that was taken");
}

pub(crate) fn no_more_is_computed_than_may_wait_for_a_seal<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (decided, decisions) = unbounded();
    let key_holder = world.behind(move |_| {
        decided.send(()).expect("the test listens");
        None
    });
    // The first seal waits to be released until somebody reads.
    let (send, out) = bounded(0);
    let config = config(Cadence::Group, None, 16);
    let service = start_with(&world, key_holder, config, clock(), Arc::new(Outbox(send)));
    let intake = service.intake();
    let mut taken = 0;
    // One lane: each request is a batch.
    let mut offer = || match intake.submit(TENANT, world.request(0, 0, taken)) {
        Ok(()) => {
            taken += 1;
            true
        }
        Err(SubmitError::Busy) => {
            after(Duration::from_millis(1)).recv().expect("it comes");
            false
        }
        Err(SubmitError::Draining) => panic!("not draining"),
    };
    let reached = (0..60_000).any(|_| {
        offer();
        decisions.len() >= UNSEALED_MAX
    });
    assert!(reached, "{} of {UNSEALED_MAX}", decisions.len());
    let room = (0..300).filter(|_| offer()).count();
    assert_eq!(decisions.len(), UNSEALED_MAX);
    assert!(room < 100, "overload shows at the door");
    drop(intake);
    let released = std::thread::spawn(move || out.into_iter().map(lanes).sum::<usize>());
    service.drain().expect("no thread panicked");
    assert_eq!(released.join().expect("counted") as u64, taken, "what was taken is answered");
}

pub(crate) fn panic_in_a_batch_leaves_the_service_running<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (send, first) = bounded(1);
    send.send(()).expect("room for one");
    let fragile = world.behind(move |_| {
        assert!(first.try_recv().is_err(), "this test's first job panics");
        None
    });
    let running = start(&world, fragile, Cadence::Group, 1024);
    for i in 0..50 {
        submit(&running, || world.request(0, 0, i));
    }
    let (sealed, refused, panicked) = finish_after_panics(running);
    assert!(refused.is_empty());
    assert_eq!(panicked, ["worker"]);
    let answered = replies(&sealed).len();
    assert_eq!(answered, 49, "only the batch that panicked (one request) has no answer");
}

/// Panics on the threads whose name begins like this, once it is armed.
struct Sabotage {
    inner: Arc<TestClock>,
    victim: &'static str,
    armed: AtomicBool,
}

impl Clock for Sabotage {
    fn unix_s(&self) -> u64 {
        self.inner.unix_s()
    }

    fn monotonic_ns(&self) -> u64 {
        let here = std::thread::current().name().is_some_and(|name| name.starts_with(self.victim));
        assert!(!(here && self.armed.load(Ordering::SeqCst)), "this test has {} panic", self.victim);
        self.inner.monotonic_ns()
    }
}

pub(crate) fn a_panicking_thread_is_named_and_neither_requests_nor_the_drain_hang<C: Cache<Verdict>>(
    cache: C,
) {
    let world = World::proven(cache);
    for (victim, sealers) in [("dispatcher", 1), ("worker", 1), ("sealer", 1), ("sealer", 3)] {
        let (send, out) = unbounded();
        let config = config(Cadence::Group, Some(sealers), 1024);
        let clock = Arc::new(Sabotage { inner: clock(), victim, armed: AtomicBool::new(false) });
        let (by, release) = (Arc::clone(&clock), Arc::new(Outbox(send)));
        let service = start_with(&world, world.local(), config, by, release);
        let intake = service.intake();
        clock.armed.store(true, Ordering::SeqCst);
        // Each is alone in its batch, because all are in one lane. What is not taken is told to its sender.
        let taken = (0..50).filter(|i| intake.submit(TENANT, world.request(0, 0, *i)).is_ok()).count();
        assert!(victim == "dispatcher" || taken == 50, "{victim}");
        drop(intake);
        let end = service.drain();
        assert_eq!(end.is_some(), victim == "worker", "{victim}");
        let mut named = HashSet::new();
        let mut let_go = 0;
        for item in out {
            match item {
                Let::Go(sealed) => let_go += sealed.lanes().count(),
                Let::Refused(_, why) => {
                    assert_eq!(why, Refusal::Fault);
                    let_go += 1;
                }
                Let::Panicked(thread) => drop(named.insert(thread)),
            }
        }
        assert!(!named.is_empty() && named.iter().all(|name| name.starts_with(victim)), "{named:?}");
        // What waits for a dispatcher is refused; others had something in their hands.
        assert!(let_go < 50 || victim == "dispatcher", "{victim}");
    }
}

/// Stands still until it is told to go on, and counts how often the dispatcher reads it.
struct Stopped {
    inner: Arc<TestClock>,
    goes: AtomicBool,
    read: AtomicUsize,
}

impl Clock for Stopped {
    fn unix_s(&self) -> u64 {
        self.inner.unix_s()
    }

    fn monotonic_ns(&self) -> u64 {
        if std::thread::current().name() == Some("dispatcher") {
            self.read.fetch_add(1, Ordering::SeqCst);
        }
        if self.goes.load(Ordering::SeqCst) { self.inner.monotonic_ns() } else { 0 }
    }
}

/// The dispatcher looks at its intake every 250 us then, and reads the clock twice each time. Each request would wake it otherwise.
pub(crate) fn requests_do_not_wake_the_dispatcher_while_others_wait_for_company<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (send, out) = unbounded();
    let clock = Arc::new(Stopped { inner: clock(), goes: AtomicBool::new(false), read: AtomicUsize::new(0) });
    let (config, by) = (config(Cadence::Group, Some(1), 1024), Arc::clone(&clock));
    let service = start_with(&world, world.local(), config, by, Arc::new(Outbox(send)));
    let intake = service.intake();
    let began = Instant::now();
    for i in 0..200 {
        intake.submit(TENANT, world.request(0, 0, i)).expect("room");
        std::thread::sleep(Duration::from_micros(50));
    }
    let most = 2 * (began.elapsed().as_micros() / 250) + 10;
    let read = clock.read.load(Ordering::SeqCst);
    assert!(read as u128 <= most, "{read} readings, at most {most}");
    clock.goes.store(true, Ordering::SeqCst);
    drop(intake);
    service.drain().expect("no thread panicked");
    assert_eq!(out.into_iter().map(lanes).sum::<usize>(), 200);
}

/// Panics on the worker that releases a seal.
struct Broken(Outbox);

impl Release<u64> for Broken {
    fn sealed(&self, _: Sealed<u64>) {
        panic!("meant by the test");
    }

    fn refused(&self, reply: u64, why: Refusal) {
        self.0.refused(reply, why);
    }

    fn panicked(&self, thread: &str, panic: &(dyn Any + Send)) {
        self.0.panicked(thread, panic);
    }
}

/// Claim V9.
pub(crate) fn a_worker_that_panics_with_a_seal_is_named_and_the_drain_does_not_hang<C: Cache<Verdict>>(
    cache: C,
) {
    let world = World::proven(cache);
    let (send, out) = unbounded();
    let config = config(Cadence::PerBatch, None, 1024);
    let service = start_with(&world, world.local(), config, clock(), Arc::new(Broken(Outbox(send))));
    let intake = service.intake();
    // More than may be unsealed: nothing waits for room that no seal will make.
    let mut taken = 0;
    while taken < UNSEALED_MAX as u64 + 50 {
        taken += u64::from(intake.submit(TENANT, world.request(0, 0, taken)).is_ok());
    }
    drop(intake);
    assert!(service.drain().is_none(), "the end of the chain is unknown");
    let told: Vec<Let> = out.iter().collect();
    assert!(told.iter().any(|item| matches!(item, Let::Panicked(thread) if thread == "worker")));
    assert!(
        told.iter().any(|item| matches!(item, Let::Refused(_, Refusal::Fault))),
        "later ones are refused"
    );
}

/// Claim S13: Every seal is a signed head of the log of all seals before it.
pub(crate) fn seals_form_a_chain<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let running = start(&world, world.local(), Cadence::PerBatch, 1024);
    for i in 0..6 {
        submit(&running, || world.request(0, 0, i));
    }
    let (sealed, _) = finish(running);
    let seals: Vec<&Seal> = sealed.iter().map(|s| &s.under.seal).collect();
    let mut head = ChainHead::GENESIS;
    for seal in seals {
        assert_eq!(seal.header.seal_number, head.next_number());
        assert_eq!(seal.header.previous, head.previous);
        assert_eq!(seal.header.log_root, head.log.root());
        head.follow(&seal.header);
    }
    assert!(head.next_number() >= 6);
}
