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
use crate::store::Store;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use trefoil_attest::log::Frontier;
use trefoil_attest::{Decision, Seal};
use trefoil_pipeline::{Refusal, Release, Sealed};

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
    /// Its path to the seal's root.
    pub path: Vec<[u8; 32]>,
    /// The seal.
    pub seal: Arc<Seal>,
}

/// The pipeline's way out.
pub(crate) struct SealLog(Sender<Sealed<Reply>>);

impl SealLog {
    /// Starts the thread, whose next seal follows `frontier`; it ends when the log is dropped. `broken` becomes true when
    /// the store fails.
    pub(crate) fn start(
        frontier: Frontier,
        store: Arc<dyn Store>,
        metrics: Arc<Metrics>,
        broken: Arc<AtomicBool>,
    ) -> std::io::Result<(SealLog, JoinHandle<()>)> {
        let (sender, sealed) = bounded(QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("seal-log".to_owned())
            .spawn(move || write(&sealed, frontier, store.as_ref(), &metrics, &broken))?;
        Ok((SealLog(sender), thread))
    }
}

impl Release<Reply> for SealLog {
    fn sealed(&self, sealed: Sealed<Reply>) {
        // The thread outlives the sender; if it panicked the replies are dropped, which their owners see as a fault.
        let _ = self.0.send(sealed);
    }

    fn refused(&self, reply: Reply, why: Refusal) {
        let _ = reply.send(Err(why));
    }
}

fn write(
    queue: &Receiver<Sealed<Reply>>,
    mut frontier: Frontier,
    store: &dyn Store,
    metrics: &Metrics,
    broken: &AtomicBool,
) {
    while let Ok(Sealed { seal, lanes, batches, seal_ns }) = queue.recv() {
        let number = seal.header.seal_number;
        if !broken.load(Ordering::Relaxed)
            && let Err(cause) = store.put_seal(number, seal.encode(), frontier.push(&seal.header.digest()))
        {
            tracing::error!(%cause, number, "a seal could not be stored; restart to continue");
            broken.store(true, Ordering::Relaxed);
        }
        let broken = broken.load(Ordering::Relaxed);
        metrics.sealed(&batches, seal_ns);
        for lane in lanes {
            let trefoil_pipeline::SealedLane { bound, leaf_index, path } = lane;
            let trefoil_pipeline::BoundLane { reply, decision, statement, digest } = bound;
            let answer = match broken {
                true => Err(Refusal::Fault),
                false => {
                    metrics.decided(decision);
                    Ok(Answer { decision, statement, digest, leaf_index, path, seal: Arc::clone(&seal) })
                }
            };
            let _ = reply.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use trefoil_attest::{SealHeader, Suite};
    use trefoil_pipeline::{BoundLane, SealedLane};

    fn sealed(seal_number: u64) -> (Sealed<Reply>, oneshot::Receiver<Result<Answer, Refusal>>) {
        let (reply, answer) = oneshot::channel();
        let header = SealHeader {
            issuer: "auth.example".to_owned(),
            key_set_id: [1; 32],
            seal_number,
            previous: [2; 32],
            log_root: [2; 32],
            tree_size: 1,
            root: [3; 32],
            time: 4,
            suite: Suite::One,
        };
        let seal = Arc::new(Seal { header, signatures: [vec![5], vec![6], vec![7]] });
        let bound = BoundLane { reply, decision: Decision::Match, statement: vec![8], digest: [9; 32] };
        let lanes = vec![SealedLane { bound, leaf_index: 0, path: vec![] }];
        (Sealed { seal, lanes, batches: vec![], seal_ns: 0 }, answer)
    }

    #[test]
    fn an_answer_is_given_once_its_seal_is_stored_and_never_after_one_was_lost() {
        let store = Arc::new(Memory::default());
        store.put_seal(1, vec![], vec![]).unwrap();
        let broken = Arc::new(AtomicBool::new(false));
        let (log, thread) =
            SealLog::start(Frontier::EMPTY, Arc::clone(&store) as _, Arc::default(), Arc::clone(&broken))
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
}
