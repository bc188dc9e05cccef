//! The seal log under stores that fail, wait and are killed.

use super::*;
use crate::log::asker::{Claim, Login};
use crate::log::log_store;
use crate::scratch::scratch;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{Family, Seal, SealHeader, Suite};
use trefoil_pipeline::{Bound, BoundLane, ChainHead, StageTimes};
use trefoil_storage::store::{Log as _, Sqlite, Store};
use trefoil_types::KeySetId;

fn sealed(seal_number: u64) -> (Sealed<Asker>, oneshot::Receiver<Result<Answer, Unanswered>>) {
    with_header(header(seal_number, [2; 32], [2; 32]), Frontier::EMPTY)
}

fn header(seal_number: u64, previous: Hash, log_root: Hash) -> SealHeader {
    SealHeader {
        issuer: "auth.example".to_owned(),
        key_set_id: KeySetId::new([1; 32]),
        seal_number,
        previous,
        log_root,
        tree_size: 1,
        root: [3; 32],
        time: 4,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    }
}

fn with_header(header: SealHeader, log: Frontier) -> (Sealed<Asker>, Waiting) {
    let (reply, answer) = oneshot::channel();
    let signatures = Family::ALL.map(|family| vec![5; family.signature_bytes()]);
    let seal = Seal { header, signatures };
    let tree = MerkleTree::new(&[[9; 32]]).expect("a leaf");
    let reply = Asker::Login(Login { claim: Claim::default(), is_spent: true, reply });
    let lane = BoundLane { reply, decision: Some(Decision::Match), statement: vec![8], digest: [9; 32] };
    let batches = vec![Bound { lanes: vec![lane], refused: Vec::new(), times: StageTimes::default() }];
    let under = Arc::new(SealedTree::new(seal, tree));
    (Sealed { under, batches, log, turn: None, seal_ns: 0 }, answer)
}

fn start(
    store: impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static,
) -> (SealLog, JoinHandle<()>) {
    SealLog::start(store, Arc::default(), Arc::default(), &Supervisor::default()).unwrap()
}

fn put(store: Arc<dyn Store>) -> impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> {
    move |number, bytes, completed| store.put_seal(number, bytes, completed)
}

#[test]
fn an_answer_is_given_once_its_seal_is_stored_and_a_number_that_is_taken_ends_the_process() {
    let (store, _folder) = scratch();
    let store = Arc::new(store);
    store.put_seal(1, vec![], vec![]).unwrap();
    let supervisor = Supervisor::default();
    let put = put(Arc::clone(&store) as _);
    let (log, thread) = SealLog::start(put, Arc::default(), Arc::default(), &supervisor).unwrap();
    let (first, answer) = sealed(0);
    log.sealed(first);
    assert!(answer.blocking_recv().unwrap().is_ok());
    assert!(store.seal(0).unwrap().is_some() && store.log_node(0, 0).unwrap().is_some());
    let (lost, answer) = sealed(1);
    log.sealed(lost);
    assert_eq!(answer.blocking_recv().unwrap().err(), Some(Unanswered::Unstored));
    let (next, answer) = sealed(2);
    log.sealed(next);
    assert!(matches!(answer.blocking_recv(), Err(_) | Ok(Err(_))), "nothing follows a hole");
    drop(log);
    thread.join().unwrap_err();
    assert_eq!(store.seal(2), Ok(None));
    assert!(supervisor.death().unwrap().to_string().contains("another seal 1"));
}

/// A function that stores a seal.
trait Put: Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static {}

impl<F: Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static> Put for F {}

/// Where a test waits for an answer.
type Waiting = oneshot::Receiver<Result<Answer, Unanswered>>;

/// A store and its folder.
type Kept = (Arc<Sqlite>, TempDir);

/// A store that refuses everything while `full`, and notes what it was given.
fn fragile(full: &Arc<AtomicBool>) -> (impl Put + use<>, Kept, Receiver<(u64, Vec<u8>)>) {
    let (full, (kept, folder)) = (Arc::clone(full), scratch());
    let kept = Arc::new(kept);
    let (tell, tried) = crossbeam_channel::unbounded();
    let store = Arc::clone(&kept);
    let put = move |number, bytes: Vec<u8>, completed| {
        tell.send((number, bytes.clone())).unwrap();
        match full.load(Ordering::Relaxed) {
            true => Err(StoreError::Fault("database or disk is full".to_owned())),
            false => store.put_seal(number, bytes, completed),
        }
    };
    (put, (kept, folder), tried)
}

/// Seals that follow one another, and their answers.
fn chain(count: u64) -> (Vec<Sealed<Asker>>, Vec<Waiting>, ChainHead) {
    let mut head = ChainHead::GENESIS;
    let next = |_| {
        let (header, log) = (header(head.next_number(), head.previous, head.log.root()), head.log.clone());
        head.follow(&header);
        with_header(header, log)
    };
    let (seals, answers) = (0..count).map(next).unzip();
    (seals, answers, head)
}

/// Claim V12.
#[test]
fn seals_that_a_full_disk_refused_are_stored_once_there_is_room_and_the_log_goes_on() {
    let full = Arc::new(AtomicBool::new(false));
    let (put, (store, _folder), tried) = fragile(&full);
    let standing = Arc::<Standing>::default();
    let (log, thread) =
        SealLog::start(put, Arc::default(), Arc::clone(&standing), &Supervisor::default()).unwrap();
    let (mut seals, answers, head) = chain(6);
    let (after, mut answers) = (seals.split_off(4), answers.into_iter());
    let mut seals = seals.into_iter();
    let mut send = |outcome: Option<Unanswered>| {
        log.sealed(seals.next().unwrap());
        assert_eq!(answers.next().unwrap().blocking_recv().unwrap().err(), outcome);
    };
    send(None);
    full.store(true, Ordering::Relaxed);
    // The first waits for a while, the others are refused as they come.
    (0..3).for_each(|_| send(Some(Unanswered::Unstored)));
    let waited = standing.waited().unwrap();
    assert!(standing.waited().unwrap() >= waited);
    full.store(false, Ordering::Relaxed);
    while standing.waits() {
        std::thread::yield_now();
    }
    for (seal, answer) in after.into_iter().zip(answers) {
        log.sealed(seal);
        assert!(answer.blocking_recv().unwrap().is_ok(), "without a restart");
    }
    drop(log);
    thread.join().unwrap();
    assert_eq!(log_store::chain_head(store.as_ref(), |_| Ok(())).unwrap(), head, "no hole");
    let mut contents = std::collections::HashMap::new();
    for (number, bytes) in tried.try_iter() {
        assert_eq!(
            *contents.entry(number).or_insert_with(|| bytes.clone()),
            bytes,
            "one content of seal {number}"
        );
    }
}

#[test]
fn a_seal_that_is_stored_before_its_lanes_lose_patience_answers_them() {
    let full = Arc::new(AtomicBool::new(true));
    let (put, _store, tried) = fragile(&full);
    let (log, thread) = start(put);
    let (seal, answer) = sealed(0);
    log.sealed(seal);
    tried.recv().unwrap();
    full.store(false, Ordering::Relaxed);
    assert!(answer.blocking_recv().unwrap().is_ok());
    drop(log);
    thread.join().unwrap();
}

/// Claim I21: No answer is given before its seal is stored.
#[test]
fn a_shutdown_on_a_full_disk_ends_and_stores_nothing_behind_a_hole() {
    let (put, (store, _folder), _tried) = fragile(&Arc::new(AtomicBool::new(true)));
    let (log, thread) = start(put);
    let (seals, answers, _) = chain(3);
    seals.into_iter().for_each(|seal| log.sealed(seal));
    drop(log);
    thread.join().unwrap();
    for answer in answers {
        assert_eq!(answer.blocking_recv().unwrap().err(), Some(Unanswered::Unstored));
    }
    assert_eq!(store.last_seal(), Ok(None));
}

#[test]
fn no_more_seals_wait_for_the_disk_than_may_then_the_sealer_waits() {
    let (permit, permits) = bounded::<()>(0);
    let (returned, told) = crossbeam_channel::unbounded();
    let store = move |_, _, _| {
        // Until the sender is gone.
        assert!(permits.recv().is_err());
        Ok(())
    };
    let (log, thread) = start(store);
    let (seals, answers): (Vec<_>, Vec<_>) = (0..2 * QUEUE_MAX as u64 + 5).map(sealed).unzip();
    let sealer = std::thread::spawn(move || {
        for seal in seals {
            log.sealed(seal);
            returned.send(()).unwrap();
        }
    });
    // One is being stored, the others wait.
    let told_within = |wait| told.recv_timeout(std::time::Duration::from_millis(wait)).is_ok();
    for taken in 0..=QUEUE_MAX {
        assert!(told_within(60_000), "{taken} are taken");
    }
    assert!(!told_within(200), "another one is taken");
    drop(permit);
    for answer in answers {
        assert!(answer.blocking_recv().unwrap().is_ok());
    }
    sealer.join().unwrap();
    thread.join().unwrap();
}

#[test]
fn a_panic_of_the_seal_log_is_named_and_waiting_requests_fail() {
    let supervisor = Supervisor::default();
    let store = |_, _, _| panic!("this test has the seal log panic");
    let (log, thread) = SealLog::start(store, Arc::default(), Arc::default(), &supervisor).unwrap();
    let (seals, answers): (Vec<_>, Vec<_>) = (0..QUEUE_MAX as u64).map(sealed).unzip();
    for seal in seals {
        log.sealed(seal);
    }
    for answer in answers {
        assert!(answer.blocking_recv().is_err(), "dropped, which the waiting request sees as a fault");
    }
    drop(log);
    thread.join().unwrap_err();
    assert_eq!(supervisor.death().unwrap().thread, "seal-log");
}

/// Gives the child the path of the database; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_SEAL_LOG_DATABASE";
/// Seals that a child answers before the one that it leaves unanswered.
const ANSWERED: u64 = 5;

/// Not a test of its own: the child of the one below. It prints each answer. After [`ANSWERED`] of them it prints that another
/// seal is stored, and stops between storing and answering.
#[test]
fn sealing_child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(Path::new(&path), &[7; 32]).unwrap());
    let mut head = log_store::chain_head(store.as_ref(), |_| Ok(())).unwrap();
    let last = head.next_number() + ANSWERED;
    let put = put(store);
    let stop_after = move |number, bytes, completed| {
        put(number, bytes, completed)?;
        if number == last {
            println!("stored {number}");
            loop {
                std::thread::park();
            }
        }
        Ok(())
    };
    let (log, _thread) = start(stop_after);
    loop {
        let (header, before) = (header(head.next_number(), head.previous, head.log.root()), head.log.clone());
        head.follow(&header);
        let number = header.seal_number;
        let (sealed, answer) = with_header(header, before);
        log.sealed(sealed);
        assert!(answer.blocking_recv().unwrap().is_ok());
        println!("answered {number}");
    }
}

#[test]
fn a_process_killed_between_storing_a_seal_and_answering_loses_nothing_and_leaves_a_consistent_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let mut next = 0;
    for _ in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "log::seal_log::tests::sealing_child", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut answered = Vec::new();
        let stored: u64 = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, number)) = line.split_once("answered ") {
                answered.push(number.parse::<u64>().unwrap());
            } else if let Some((_, number)) = line.split_once("stored ") {
                break number.parse().unwrap();
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(lines.map_while(Result::ok).all(|line| !line.contains("answered")), "{stored} was answered");
        assert_eq!(answered, (next..stored).collect::<Vec<_>>());
        // The restart finds every answered seal and the unanswered one, and continues after it.
        let store = Sqlite::open(&path, &[7; 32]).unwrap();
        let mut head = ChainHead::GENESIS;
        for number in 0..=stored {
            let seal = Seal::decode(&store.seal(number).unwrap().unwrap()).unwrap();
            assert_eq!((seal.header.previous, seal.header.log_root), (head.previous, head.log.root()));
            head.follow(&seal.header);
        }
        assert_eq!(log_store::chain_head(&store, |_| Ok(())).unwrap(), head);
        next = head.next_number();
        assert_eq!(next, stored + 1);
    }
}

#[test]
fn a_process_that_ends_while_a_seal_waits_stores_none_behind_it() {
    let full = Arc::new(AtomicBool::new(true));
    let (put, (store, _folder), _tried) = fragile(&full);
    let supervisor = Supervisor::default();
    let (log, thread) = SealLog::start(put, Arc::default(), Arc::default(), &supervisor).unwrap();
    supervisor.panicked("another thread", &"this test has it panic");
    let (seals, answers, _) = chain(2);
    for (seal, answer) in seals.into_iter().zip(answers) {
        log.sealed(seal);
        assert_eq!(answer.blocking_recv().unwrap().err(), Some(Unanswered::Unstored));
        // There is room again, and a hole.
        full.store(false, Ordering::Relaxed);
    }
    drop(log);
    thread.join().unwrap();
    assert_eq!(store.last_seal(), Ok(None));
}

/// A seal with a turn in a log that others extend too, and what is told when the turn ends.
fn in_turn(number: u64) -> (Sealed<Asker>, Waiting, Receiver<()>) {
    let (turn, ended) = crossbeam_channel::bounded::<()>(0);
    let (sealed, answer) = sealed(number);
    (Sealed { turn: Some(trefoil_pipeline::LogTurn::new(turn, u64::MAX)), ..sealed }, answer, ended)
}

#[test]
fn in_a_turn_a_seal_is_stored_soon_or_given_up_and_the_log_goes_on() {
    let full = Arc::new(AtomicBool::new(true));
    let (put, (store, _folder), _tried) = fragile(&full);
    let supervisor = Supervisor::default();
    let (log, thread) = SealLog::start(put, Arc::default(), Arc::default(), &supervisor).unwrap();
    let (first, answer, ended) = in_turn(0);
    log.sealed(first);
    assert_eq!(answer.blocking_recv().unwrap().err(), Some(Unanswered::Unstored), "after a second");
    assert!(ended.recv().is_err(), "its turn is over");
    full.store(false, Ordering::Relaxed);
    // Another node took the number meanwhile.
    store.put_seal(0, vec![7], vec![]).unwrap();
    let (late, answer, ended) = in_turn(0);
    log.sealed(late);
    assert_eq!(answer.blocking_recv().unwrap().err(), Some(Unanswered::Unstored));
    assert!(ended.recv().is_err());
    let (next, answer, ended) = in_turn(1);
    log.sealed(next);
    assert!(answer.blocking_recv().unwrap().is_ok() && ended.recv().is_err());
    drop(log);
    thread.join().unwrap();
    assert_eq!(supervisor.death(), None);
    assert_eq!(store.last_seal().unwrap().unwrap().0, 1);
    assert_eq!(store.seal(0), Ok(Some(vec![7])));
}
