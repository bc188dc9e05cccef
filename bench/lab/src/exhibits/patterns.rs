//! Key logs: a log behind a lock, and the same behind a shared gate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_utils::CachePadded;
use trefoil_cache::Key;

use super::locks::Locked;
use super::{Notice, Notices, Part, add};

/// Keys that a log holds.
const LOG: usize = 10_000;
/// One key in this many is logged if keys are sampled. A power of two.
const PERIOD: u64 = 64;

#[inline(always)]
fn first_word(key: &Key) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// `RwLock<VecDeque>`, written on every look-up: the third of the three locks. Apart from the lock, the queue's header
/// and the slot written are lines that another core wrote last.
#[derive(Default)]
pub struct LockedLog(Arc<CachePadded<Locked<VecDeque<u64>>>>);

impl Part for LockedLog {
    type Worker = Self;

    fn worker(&self) -> Self {
        LockedLog(Arc::clone(&self.0))
    }
}

impl Notices for LockedLog {
    #[cfg(test)]
    fn held(&self) -> usize {
        self.0.read(VecDeque::len)
    }
}

impl Notice for LockedLog {
    #[inline(always)]
    fn notice(&mut self, key: &Key) {
        self.0.write(|log| {
            if log.len() == LOG {
                log.pop_front();
            }
            log.push_back(first_word(key));
        });
    }
}

/// The log, reached once in 64 look-ups: the published fix. The lock is rare now; the counter that decides is an atomic
/// that every look-up of every worker increments.
#[derive(Default)]
pub struct GatedLog {
    seen: Arc<CachePadded<AtomicU64>>,
    log: LockedLog,
}

impl Part for GatedLog {
    type Worker = Self;

    fn worker(&self) -> Self {
        GatedLog { seen: Arc::clone(&self.seen), log: self.log.worker() }
    }
}

impl Notices for GatedLog {
    #[cfg(test)]
    fn held(&self) -> usize {
        self.log.held()
    }
}

impl Notice for GatedLog {
    #[inline(always)]
    fn notice(&mut self, key: &Key) {
        if add(&self.seen, 1) & (PERIOD - 1) == 0 {
            self.log.notice(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_forget_the_oldest_keys() {
        let mut locked = LockedLog::default();
        (0..=LOG).for_each(|n| locked.notice(&[n as u8; 32]));
        assert_eq!(locked.held(), LOG);
    }
}
