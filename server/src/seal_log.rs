//! Seals become durable before anything under them is answered.
//!
//! A compact attestation names its seal, and every seal names the one before it, so a seal that was answered from but
//! not stored would break both. One thread stores each seal and only then completes its lanes. If the store fails,
//! nothing more is stored or answered, because the next seal would follow one that is missing: the log breaks, the
//! service reports itself not ready, and a restart continues from the last stored seal.
//!
//! With each seal go the tree nodes that it completes, in one transaction: two hashes on average and 64 at most, however
//! long the log, so that proofs for any two sizes can be answered from stored nodes.

use crate::metrics::Metrics;
use crate::store::StoreError;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use trefoil_attest::Decision;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::Hash;
use trefoil_key_holder::Supervisor;
use trefoil_pipeline::{Refusal, Release, Sealed, SealedTree};

/// Seals that may wait for the disk; then the sealer waits.
const QUEUE_MAX: usize = 8;

/// Where an authentication's answer goes.
pub(crate) type Reply = oneshot::Sender<Result<Answer, Refusal>>;

/// A decided, sealed lane.
pub(crate) struct Answer {
    /// What was decided.
    pub decision: Decision,
    /// The attested statement, CBOR.
    pub statement: Vec<u8>,
    /// Its SHA3-256.
    pub digest: [u8; 32],
    /// Its leaf.
    pub leaf_index: u64,
    /// The seal, and the tree with its path.
    pub under: Arc<SealedTree>,
}

/// The pipeline's way out.
pub(crate) struct SealLog {
    queue: Sender<Sealed<Reply>>,
    supervisor: Supervisor,
}

impl SealLog {
    /// Starts the thread, whose next seal follows `frontier`; it ends when the log is dropped. `store` keeps a seal, as
    /// [`crate::store::Store::put_seal`] does; `broken` becomes true when that fails.
    pub(crate) fn start(
        frontier: Frontier,
        store: impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static,
        metrics: Arc<Metrics>,
        broken: Arc<AtomicBool>,
        supervisor: &Supervisor,
    ) -> std::io::Result<(SealLog, JoinHandle<()>)> {
        let (queue, sealed) = bounded(QUEUE_MAX);
        let watching = supervisor.clone();
        let thread = std::thread::Builder::new().name("seal-log".to_owned()).spawn(move || {
            let write = || write(&sealed, frontier, store, &metrics, &broken);
            // Without a writer no seal is stored.
            watching.watch_then("seal-log", write, || sealed.iter().for_each(drop));
        })?;
        Ok((SealLog { queue, supervisor: supervisor.clone() }, thread))
    }
}

impl Release<Reply> for SealLog {
    fn sealed(&self, sealed: Sealed<Reply>) {
        // The thread outlives the sender; if it panicked the replies are dropped, which their owners see as a fault.
        let _ = self.queue.send(sealed);
    }

    fn refused(&self, reply: Reply, why: Refusal) {
        let _ = reply.send(Err(why));
    }

    fn panicked(&self, thread: &str, panic: &(dyn Any + Send)) {
        self.supervisor.panicked(thread, panic);
    }
}

fn write(
    queue: &Receiver<Sealed<Reply>>,
    mut frontier: Frontier,
    store: impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError>,
    metrics: &Metrics,
    broken: &AtomicBool,
) {
    while let Ok(Sealed { under, batches, seal_ns }) = queue.recv() {
        let SealedTree { seal, .. } = &*under;
        let number = seal.header.seal_number;
        if !broken.load(Ordering::Relaxed)
            && let Err(cause) = store(number, seal.encode(), frontier.push(&seal.header.digest()))
        {
            tracing::error!(%cause, number, "a seal could not be stored; restart to continue");
            broken.store(true, Ordering::Relaxed);
        }
        let broken = broken.load(Ordering::Relaxed);
        metrics.sealed(&batches, seal_ns);
        for (leaf_index, lane) in (0..).zip(batches.into_iter().flat_map(|batch| batch.lanes)) {
            let trefoil_pipeline::BoundLane { reply, decision, statement, digest } = lane;
            let answer = match broken {
                true => Err(Refusal::Fault),
                false => {
                    metrics.decided(decision);
                    Ok(Answer { decision, statement, digest, leaf_index, under: Arc::clone(&under) })
                }
            };
            let _ = reply.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_store;
    use crate::store::{Memory, Sqlite, Store};
    use std::io::{BufRead as _, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use trefoil_attest::tree::MerkleTree;
    use trefoil_attest::{Family, Seal, SealHeader, Suite};
    use trefoil_pipeline::{Bound, BoundLane, ChainHead, StageTimes};

    fn sealed(seal_number: u64) -> (Sealed<Reply>, oneshot::Receiver<Result<Answer, Refusal>>) {
        with_header(header(seal_number, [2; 32], [2; 32]))
    }

    fn header(seal_number: u64, previous: Hash, log_root: Hash) -> SealHeader {
        SealHeader {
            issuer: "auth.example".to_owned(),
            key_set_id: [1; 32],
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

    fn with_header(header: SealHeader) -> (Sealed<Reply>, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (reply, answer) = oneshot::channel();
        let signatures = Family::ALL.map(|family| vec![5; family.signature_bytes()]);
        let seal = Seal { header, signatures };
        let tree = MerkleTree::new(&[[9; 32]]).expect("a leaf");
        let lane = BoundLane { reply, decision: Decision::Match, statement: vec![8], digest: [9; 32] };
        let batches = vec![Bound { lanes: vec![lane], times: StageTimes::default() }];
        (Sealed { under: Arc::new(SealedTree { seal, tree }), batches, seal_ns: 0 }, answer)
    }

    fn start(
        frontier: Frontier,
        store: impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> + Send + 'static,
    ) -> (SealLog, JoinHandle<()>) {
        SealLog::start(frontier, store, Arc::default(), Arc::default(), &Supervisor::default()).unwrap()
    }

    fn put(store: Arc<dyn Store>) -> impl Fn(u64, Vec<u8>, Vec<Hash>) -> Result<(), StoreError> {
        move |number, bytes, completed| store.put_seal(number, bytes, completed)
    }

    #[test]
    fn an_answer_is_given_once_its_seal_is_stored_and_never_after_one_was_lost() {
        let store = Arc::new(Memory::default());
        store.put_seal(1, vec![], vec![]).unwrap();
        let broken = Arc::new(AtomicBool::new(false));
        let (log, thread) = SealLog::start(
            Frontier::EMPTY,
            put(Arc::clone(&store) as _),
            Arc::default(),
            Arc::clone(&broken),
            &Supervisor::default(),
        )
        .unwrap();
        let (first, answer) = sealed(0);
        log.sealed(first);
        assert!(answer.blocking_recv().unwrap().is_ok());
        assert!(store.seal(0).unwrap().is_some() && !broken.load(Ordering::Relaxed));
        assert!(store.log_node(0, 0).unwrap().is_some());
        // Number 1 is taken, which stands for any failure of the store.
        for number in [1, 2] {
            let (lost, answer) = sealed(number);
            log.sealed(lost);
            assert_eq!(answer.blocking_recv().unwrap().err(), Some(Refusal::Fault));
        }
        assert!(broken.load(Ordering::Relaxed));
        assert_eq!(store.seal(2), Ok(None), "nothing follows a seal that is missing");
        drop(log);
        thread.join().unwrap();
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
        let (log, thread) = start(Frontier::EMPTY, store);
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
        let (log, thread) =
            SealLog::start(Frontier::EMPTY, store, Arc::default(), Arc::default(), &supervisor).unwrap();
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

    /// Names the database to the child; absent in an ordinary run.
    const CHILD: &str = "TREFOIL_TEST_SEAL_LOG_DATABASE";
    /// Seals that a child answers before the one that it does not.
    const ANSWERED: u64 = 5;

    /// Not a test of its own: the child of the one below. It says what it answered, and after [`ANSWERED`] that another
    /// seal is stored, between storing and answering; there it stays.
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
        let (log, _thread) = start(head.log.clone(), stop_after);
        loop {
            let header = header(head.next_number(), head.previous, head.log.root());
            head.follow(&header);
            let number = header.seal_number;
            let (sealed, answer) = with_header(header);
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
                .args(["--exact", "seal_log::tests::sealing_child", "--nocapture"])
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
            assert!(
                lines.map_while(Result::ok).all(|line| !line.contains("answered")),
                "{stored} was answered"
            );
            assert_eq!(answered, (next..stored).collect::<Vec<_>>());
            // The restart finds every answered seal and the one that nobody heard of, and goes on after it.
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
}
