//! The pool that verifies proofs: few threads, a bounded queue, and one verification for equal uploads at one time.
//!
//! A proof costs about a millisecond, a thousand times a request's other checks, so it never runs on an I/O thread or a
//! matching worker, and when the queue is full the caller is told to come back. Refused proofs are not remembered.

use crate::problem::{Code, Problem};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::{ProofError, Verified};

type Outcome = Result<Verified, ProofError>;
/// Digest of an envelope: equal statements with different proofs are different uploads.
type EnvelopeDigest = [u8; 32];
type Waiting = Arc<Mutex<HashMap<EnvelopeDigest, Vec<oneshot::Sender<Outcome>>>>>;

/// See the module.
pub(crate) struct ProofPool {
    queue: Sender<(EnvelopeDigest, Arc<ProofEnvelope>)>,
    waiting: Waiting,
}

impl ProofPool {
    /// Starts `workers` threads in front of a queue for `queue` proofs.
    pub(crate) fn start(workers: usize, queue: usize) -> std::io::Result<ProofPool> {
        let (sender, jobs) = bounded(queue);
        let waiting = Waiting::default();
        for number in 0..workers.max(1) {
            let (jobs, waiting) = (jobs.clone(), Arc::clone(&waiting));
            std::thread::Builder::new()
                .name(format!("proof-{number}"))
                .spawn(move || work(&jobs, &waiting))?;
        }
        Ok(ProofPool { queue: sender, waiting })
    }

    /// Verifies the proof of an envelope, or waits for the verification of an equal one.
    pub(crate) async fn verify(
        &self,
        digest: EnvelopeDigest,
        envelope: Arc<ProofEnvelope>,
    ) -> Result<Verified, Problem> {
        self.join(digest, envelope)?
            .await
            .map_err(|_| Problem::internal("a proof worker stopped"))?
            .map_err(|cause| Problem::new(Code::ProofRejected, cause.to_string()))
    }

    /// Proofs that wait for a thread.
    pub(crate) fn depth(&self) -> usize {
        self.queue.len()
    }

    fn join(
        &self,
        digest: EnvelopeDigest,
        envelope: Arc<ProofEnvelope>,
    ) -> Result<oneshot::Receiver<Outcome>, Problem> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        if let Some(others) = waiting.get_mut(&digest) {
            others.push(sender);
            return Ok(receiver);
        }
        self.queue.try_send((digest, envelope)).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                Problem::new(Code::Overloaded, "too many proofs wait; retry after a second")
            }
            TrySendError::Disconnected(_) => Problem::internal("the proof pool has stopped"),
        })?;
        waiting.insert(digest, vec![sender]);
        Ok(receiver)
    }
}

fn work(jobs: &Receiver<(EnvelopeDigest, Arc<ProofEnvelope>)>, waiting: &Waiting) {
    while let Ok((digest, envelope)) = jobs.recv() {
        let outcome = trefoil_zkp::verify(&envelope.statement, &envelope.proof);
        for sender in lock(waiting).remove(&digest).unwrap_or_default() {
            // A caller that has gone away needs no answer.
            let _ = sender.send(outcome.clone());
        }
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<EnvelopeDigest, Vec<oneshot::Sender<Outcome>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
