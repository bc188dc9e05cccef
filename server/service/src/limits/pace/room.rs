//! The requests of one tenant: how many are in flight, and how many of these are in work while the others wait.
//!
//! A request that waits costs a stream and no processor time, because its body is not read. Requests wait in order of arrival. Each tenant has
//! its own queue, so a tenant that asks for more than its share delays only itself. If no request waits, a request
//! changes two counters of its tenant and takes no lock.
//!
//! A batch counts as its logins. It begins when there is room for one of them, because otherwise no batch could begin when the share is smaller
//! than a batch. So at most one batch less a login is in work beyond the share. Batches have a share of their own ([`Shares`]), and requests in
//! work count against both.

#![expect(
    clippy::disallowed_types,
    reason = "taken by logins that wait for room, which their tenant alone has too little of"
)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// See the module.
#[derive(Default)]
pub struct Room {
    pub(super) taken: AtomicUsize,
    /// The last period in which a request waited or was refused.
    pub(super) crowded: AtomicU64,
    /// How many may be worked on, as of the last request, and the same for batches.
    share: AtomicUsize,
    batch_share: AtomicUsize,
    worked_on: AtomicUsize,
    waiting: AtomicUsize,
    queue: Mutex<VecDeque<(oneshot::Sender<Work>, usize)>>,
}

/// How many of a tenant's logins may be worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// If the next one is a single login.
    pub(crate) alone: usize,
    /// If it is in a batch.
    pub(crate) in_batches: usize,
}

/// Places of requests in flight, which are released when this is dropped.
pub struct Place {
    pub(super) room: Arc<Room>,
    pub(super) count: usize,
}

impl Place {
    /// Releases all but `count`.
    pub fn only(&mut self, count: usize) {
        let rest = self.count.saturating_sub(count);
        self.count -= rest;
        self.room.taken.fetch_sub(rest, Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.count, Relaxed);
    }
}

/// Places of requests in work. When this is dropped, the next waiting request begins.
pub struct Work {
    room: Arc<Room>,
    count: usize,
}

impl Work {
    /// Releases all but `count`.
    pub fn only(&mut self, count: usize) {
        let rest = self.count.saturating_sub(count);
        self.count -= rest;
        self.room.end(rest);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.room.end(self.count);
    }
}

impl Room {
    /// Sets how many may be in work, and takes `count` of these places if no request waits for them.
    pub(super) fn work(room: &Arc<Room>, shares: Shares, count: usize) -> Option<Work> {
        for (held, share) in [(&room.share, shares.alone), (&room.batch_share, shares.in_batches)] {
            if held.load(Relaxed) != share {
                held.store(share, Relaxed);
            }
        }
        let nobody_waits = room.waiting.load(SeqCst) == 0;
        (nobody_waits && room.begin(count)).then(|| Work { room: Arc::clone(room), count })
    }

    /// Queues for `count` places in work.
    pub(super) fn wait(room: &Arc<Room>, count: usize) -> oneshot::Receiver<Work> {
        let (tell, told) = oneshot::channel();
        {
            let mut queue = room.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.push_back((tell, count));
            room.waiting.fetch_add(1, SeqCst);
        }
        // A request may have ended in between and seen an empty queue.
        Room::admit(room);
        told
    }

    /// Counts `count` more, if there is room for one.
    fn begin(&self, count: usize) -> bool {
        let share = if count == 1 { &self.share } else { &self.batch_share };
        let share = share.load(Relaxed);
        self.worked_on.fetch_update(SeqCst, SeqCst, |now| (now < share).then_some(now + count)).is_ok()
    }

    /// Counts `count` less, and admits waiting requests.
    fn end(self: &Arc<Room>, count: usize) {
        self.worked_on.fetch_sub(count, SeqCst);
        if self.waiting.load(SeqCst) > 0 {
            Room::admit(self);
        }
    }

    /// Admits waiting requests, as far as there is room.
    fn admit(room: &Arc<Room>) {
        loop {
            let mut queue = room.queue.lock().unwrap_or_else(PoisonError::into_inner);
            while queue.pop_front_if(|(tell, _)| tell.is_closed()).is_some() {
                room.waiting.fetch_sub(1, SeqCst);
            }
            let Some(&(_, count)) = queue.front() else { return };
            if !room.begin(count) {
                return;
            }
            let Some((tell, _)) = queue.pop_front() else { return };
            room.waiting.fetch_sub(1, SeqCst);
            drop(queue);
            // A request that gives up just now drops its place, which admits the next one.
            drop(tell.send(Work { room: Arc::clone(room), count }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(share: usize) -> Shares {
        Shares { alone: share, in_batches: share }
    }

    #[tokio::test]
    async fn requests_beyond_the_share_wait_in_turn_and_those_that_give_up_keep_no_place() {
        let room = Arc::<Room>::default();
        let one = Room::work(&room, both(2), 1).unwrap();
        let two = Room::work(&room, both(2), 1).unwrap();
        assert!(Room::work(&room, both(2), 1).is_none());
        let (mut first, gives_up, mut second) =
            (Room::wait(&room, 1), Room::wait(&room, 1), Room::wait(&room, 1));
        assert!(first.try_recv().is_err(), "both places are taken");
        drop(gives_up);
        drop(one);
        let first = first.try_recv().unwrap();
        assert!(second.try_recv().is_err());
        assert!(Room::work(&room, both(2), 1).is_none(), "nobody overtakes one that waits");
        drop(two);
        let second = second.try_recv().unwrap();
        // A place given to a request that never takes it is released.
        let late = Room::wait(&room, 1);
        drop(first);
        drop(late);
        let third = Room::work(&room, both(2), 1).unwrap();
        assert!(Room::work(&room, both(2), 1).is_none());
        drop((second, third));
        assert_eq!(room.worked_on.load(SeqCst), 0);
        assert_eq!(room.waiting.load(SeqCst), 0);
    }

    #[tokio::test]
    async fn a_batch_counts_each_of_its_logins_and_gives_back_what_it_does_not_need() {
        let room = Arc::<Room>::default();
        let mut batch = Room::work(&room, both(64), 32).unwrap();
        let one = Room::work(&room, both(64), 31).unwrap();
        let over = Room::work(&room, both(64), 32).unwrap();
        assert_eq!(room.worked_on.load(SeqCst), 95, "at most one batch less a login beyond the share");
        let mut waits = Room::wait(&room, 32);
        drop(one);
        assert!(waits.try_recv().is_err(), "there is room for none of its logins");
        batch.only(5);
        let waited = waits.try_recv().unwrap();
        assert_eq!(room.worked_on.load(SeqCst), 5 + 32 + 32);
        batch.only(9);
        drop((batch, over, waited));
        assert_eq!((room.worked_on.load(SeqCst), room.waiting.load(SeqCst)), (0, 0));
        // A share below a batch's size, and a share of batches.
        assert!(Room::work(&room, both(1), 32).is_some());
        let shares = Shares { alone: 1, in_batches: 64 };
        let one = Room::work(&room, shares, 1).unwrap();
        assert!(Room::work(&room, shares, 1).is_none());
        let batch = Room::work(&room, shares, 32).unwrap();
        drop(one);
        assert!(Room::work(&room, shares, 1).is_none(), "a batch counts for those that come alone as well");
        drop(batch);
        assert!(Room::work(&room, shares, 1).is_some());
    }

    /// Claim V19.
    #[tokio::test]
    async fn another_tenant_works_while_one_has_a_queue() {
        let (full, other) = (Arc::<Room>::default(), Arc::<Room>::default());
        let _works: Vec<_> = (0..4).map(|_| Room::work(&full, both(4), 1).unwrap()).collect();
        let _waits: Vec<_> = (0..1_000).map(|_| Room::wait(&full, 1)).collect();
        assert!(Room::work(&full, both(4), 1).is_none());
        assert!(Room::work(&other, both(4), 1).is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_place_is_lost_and_none_is_given_twice() {
        let (room, inside) = (Arc::<Room>::default(), Arc::<AtomicUsize>::default());
        let tasks: Vec<_> = (0..200)
            .map(|number| {
                let (room, inside) = (Arc::clone(&room), Arc::clone(&inside));
                tokio::spawn(async move {
                    for _ in 0..50 {
                        let work = match Room::work(&room, both(3), 1) {
                            Some(work) => work,
                            None => {
                                let told = Room::wait(&room, 1);
                                if number % 5 == 0 {
                                    drop(told);
                                    continue;
                                }
                                told.await.unwrap()
                            }
                        };
                        assert!(inside.fetch_add(1, SeqCst) < 3);
                        tokio::task::yield_now().await;
                        inside.fetch_sub(1, SeqCst);
                        drop(work);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!((room.worked_on.load(SeqCst), room.waiting.load(SeqCst)), (0, 0));
    }
}
