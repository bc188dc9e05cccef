//! The requests of one tenant: how many are in flight, and how many of these are worked on while the others wait.
//!
//! A request that waits costs a stream and no processor: its body is not read. Requests wait in the order in which they came, and tenants wait
//! apart, so a tenant that asks for more than its share puts its queue before itself and nobody else. Where nobody waits, a request
//! changes two counters of its tenant and takes no lock.

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
pub(crate) struct Room {
    pub(super) taken: AtomicUsize,
    /// The last period in which a request waited or was refused.
    pub(super) crowded: AtomicU64,
    /// How many may be worked on, as of the last request.
    share: AtomicUsize,
    worked_on: AtomicUsize,
    waiting: AtomicUsize,
    queue: Mutex<VecDeque<oneshot::Sender<Work>>>,
}

/// A request in flight. Given back when it is dropped.
pub(crate) struct Place(pub(super) Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// A request that is worked on. The next one that waits follows when it is dropped.
pub(crate) struct Work(Arc<Room>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.worked_on.fetch_sub(1, SeqCst);
        if self.0.waiting.load(SeqCst) > 0 {
            Room::admit(&self.0);
        }
    }
}

impl Room {
    /// Sets how many may be worked on, and takes one of these places, if none waits for it.
    pub(super) fn work(room: &Arc<Room>, share: usize) -> Option<Work> {
        if room.share.load(Relaxed) != share {
            room.share.store(share, Relaxed);
        }
        let nobody_waits = room.waiting.load(SeqCst) == 0;
        (nobody_waits && room.begin()).then(|| Work(Arc::clone(room)))
    }

    /// Queues for a place among those that are worked on.
    pub(super) fn wait(room: &Arc<Room>) -> oneshot::Receiver<Work> {
        let (tell, told) = oneshot::channel();
        {
            let mut queue = room.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.push_back(tell);
            room.waiting.fetch_add(1, SeqCst);
        }
        // One may have ended in between, and seen no queue.
        Room::admit(room);
        told
    }

    /// Counts one more, if there may be one.
    fn begin(&self) -> bool {
        let share = self.share.load(Relaxed);
        self.worked_on.fetch_update(SeqCst, SeqCst, |now| (now < share).then_some(now + 1)).is_ok()
    }

    /// Lets in those that wait, as far as there is room.
    fn admit(room: &Arc<Room>) {
        loop {
            let mut queue = room.queue.lock().unwrap_or_else(PoisonError::into_inner);
            while queue.pop_front_if(|tell| tell.is_closed()).is_some() {
                room.waiting.fetch_sub(1, SeqCst);
            }
            if queue.is_empty() || !room.begin() {
                return;
            }
            let Some(tell) = queue.pop_front() else { return };
            room.waiting.fetch_sub(1, SeqCst);
            drop(queue);
            // A request that gives up just now drops its place, which admits the next one.
            drop(tell.send(Work(Arc::clone(room))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_beyond_the_share_wait_in_turn_and_those_that_give_up_keep_no_place() {
        let room = Arc::<Room>::default();
        let one = Room::work(&room, 2).unwrap();
        let two = Room::work(&room, 2).unwrap();
        assert!(Room::work(&room, 2).is_none());
        let (mut first, gives_up, mut second) = (Room::wait(&room), Room::wait(&room), Room::wait(&room));
        assert!(first.try_recv().is_err(), "both places are taken");
        drop(gives_up);
        drop(one);
        let first = first.try_recv().unwrap();
        assert!(second.try_recv().is_err());
        assert!(Room::work(&room, 2).is_none(), "nobody overtakes one that waits");
        drop(two);
        let second = second.try_recv().unwrap();
        // A place that is given to one that never takes it comes back.
        let late = Room::wait(&room);
        drop(first);
        drop(late);
        let third = Room::work(&room, 2).unwrap();
        assert!(Room::work(&room, 2).is_none());
        drop((second, third));
        assert_eq!(room.worked_on.load(SeqCst), 0);
        assert_eq!(room.waiting.load(SeqCst), 0);
    }

    #[tokio::test]
    async fn another_tenant_works_while_one_has_a_queue() {
        let (full, other) = (Arc::<Room>::default(), Arc::<Room>::default());
        let _works: Vec<_> = (0..4).map(|_| Room::work(&full, 4).unwrap()).collect();
        let _waits: Vec<_> = (0..1_000).map(|_| Room::wait(&full)).collect();
        assert!(Room::work(&full, 4).is_none());
        assert!(Room::work(&other, 4).is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_place_is_lost_and_none_is_given_twice() {
        let (room, inside) = (Arc::<Room>::default(), Arc::<AtomicUsize>::default());
        let tasks: Vec<_> = (0..200)
            .map(|number| {
                let (room, inside) = (Arc::clone(&room), Arc::clone(&inside));
                tokio::spawn(async move {
                    for _ in 0..50 {
                        let work = match Room::work(&room, 3) {
                            Some(work) => work,
                            None => {
                                let told = Room::wait(&room);
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
