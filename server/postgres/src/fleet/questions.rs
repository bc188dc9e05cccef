//! Questions to the other nodes about what one of them has in memory alone, and their answers.
//!
//! They are notifications of the database, which no table keeps. Each node listens on the connection that hears news, so a question waits a poll. Only
//! what may be missing is asked for in this way: a node that is hung, or has a program which knows no questions, answers none.

use crate::link::Link;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Reply, STALE_MAX, TOLD_MAX};

/// Between two polls of a node that waits for answers.
pub(super) const POLL_WAITING: Duration = Duration::from_millis(10);
/// Questions that wait for the thread that hears.
const WAITING_MAX: usize = 128;
const CHANNEL: &str = "trefoil_questions";

/// The statement with which a connection begins to listen.
pub(super) const LISTEN: &str = "LISTEN trefoil_questions";

/// A question to the other nodes, and where its answer goes.
pub(super) struct Question {
    bytes: Vec<u8>,
    answer: Sender<Vec<u8>>,
}

/// Where a node's threads put questions.
pub(super) struct Asking(pub(super) Sender<Question>, pub(super) Receiver<Question>);

impl Asking {
    pub(super) fn new() -> Asking {
        let (asks, asked) = bounded(WAITING_MAX);
        Asking(asks, asked)
    }

    /// Asks and waits. A node that has not heard for longer answers nobody, so it does not have to be waited for.
    pub(super) fn ask(&self, question: &[u8], wake: &Sender<()>) -> Result<Option<Vec<u8>>, StoreError> {
        let (answer, wait) = bounded(1);
        match self.0.try_send(Question { bytes: question.to_vec(), answer }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(StoreError::Busy),
            Err(TrySendError::Disconnected(_)) => {
                return Err(StoreError::Fault("the thread that asks the other nodes has ended".to_owned()));
            }
        }
        // If it is full, the thread is about to look anyway.
        let _ = wake.try_send(());
        Ok(wait.recv_timeout(STALE_MAX).ok())
    }
}

/// What the thread that hears knows of questions.
pub(super) struct Talk {
    asked: Receiver<Question>,
    reply: Reply,
    /// Those of this node that wait for answers.
    waiting: HashMap<[u8; 16], (Instant, Sender<Vec<u8>>)>,
}

/// A notification.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    is_answer: bool,
    /// The question's, random.
    id: [u8; 16],
    bytes: Vec<u8>,
}

impl Talk {
    pub(super) fn new(asked: Receiver<Question>, reply: Reply) -> Talk {
        Talk { asked, reply, waiting: HashMap::new() }
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the answers that came, answers what was asked, and asks what this node's threads want to know.
    pub(super) fn exchange(&mut self, link: &Link, now: Instant) -> Result<(), StoreError> {
        let mut says = Vec::new();
        for told in link.notified().filter_map(|text| Told::read(&text)) {
            if told.is_answer {
                if let Some((_, answer)) = self.waiting.remove(&told.id) {
                    // Nobody waits if the thread gave up.
                    let _ = answer.try_send(told.bytes);
                }
            } else if !self.waiting.contains_key(&told.id)
                && let Some(bytes) = (self.reply)(&told.bytes)
            {
                says.push(Told { is_answer: true, id: told.id, bytes });
            }
        }
        self.waiting.retain(|_, (asked, _)| now.saturating_duration_since(*asked) < STALE_MAX);
        for Question { bytes, answer } in self.asked.try_iter() {
            let mut id = [0; 16];
            aws_lc_rs::rand::fill(&mut id).map_err(|cause| StoreError::Fault(cause.to_string()))?;
            self.waiting.insert(id, (now, answer));
            says.push(Told { is_answer: false, id, bytes });
        }
        says.retain(|told| told.bytes.len() <= TOLD_MAX);
        if says.is_empty() {
            return Ok(());
        }
        let says: Vec<String> =
            says.iter().map(|told| format!("pg_notify('{CHANNEL}', '{}')", told.text())).collect();
        // Nothing is written, so that no standby has to confirm it.
        link.batch(&format!("BEGIN; SET LOCAL synchronous_commit = off; SELECT {}; COMMIT", says.join(", ")))
    }
}

impl Told {
    fn text(&self) -> String {
        let word = if self.is_answer { "answer" } else { "question" };
        format!("{word} {} {}", hex::encode(self.id), hex::encode(&self.bytes))
    }

    /// `None` if it is something else: every session of the database may notify.
    fn read(text: &str) -> Option<Told> {
        let mut parts = text.split(' ');
        let is_answer = match parts.next()? {
            "answer" => true,
            "question" => false,
            _ => return None,
        };
        let mut id = [0; 16];
        hex::decode_to_slice(parts.next()?, &mut id).ok()?;
        let bytes = hex::decode(parts.next()?).ok()?;
        parts.next().is_none().then_some(Told { is_answer, id, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_read_as_it_was_written_and_anything_else_is_none() {
        for is_answer in [true, false] {
            let told = Told { is_answer, id: [7; 16], bytes: vec![1, 2, 3] };
            let text = told.text();
            assert_eq!(Told::read(&text), Some(told));
            for wrong in
                [&text[1..], &text[..text.len() - 1], &format!("{text} 00"), "", "answer", "answer 00 00"]
            {
                assert_eq!(Told::read(wrong), None, "{wrong}");
            }
        }
        let longest = Told { is_answer: false, id: [7; 16], bytes: vec![1; TOLD_MAX] };
        assert!(longest.text().len() < 8000, "PostgreSQL takes no longer one");
    }
}
