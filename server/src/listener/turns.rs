//! Long computations without an `await` take turns, so that many at once do not delay other requests.
//!
//! A TLS handshake costs as much processor time as several logins. Sixty-four peers that connect at the same moment would
//! all be in the runtime's queue before the next request of an open connection. Here only a few for each thread may compute
//! at once, and each lets all ready tasks go first.
//!
//! The same holds for requests: routing and reading two thousand that one peer sends at once takes a tenth of a second, in which
//! no other peer is answered. The requests of each peer have turns of their own, so a burst delays only its own peer.

#![expect(
    clippy::disallowed_types,
    reason = "of one address, or for handshakes, so that a burst delays only its own address"
)]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// More turns would delay requests while many peers connect, fewer would delay those peers while many requests are ready.
const HANDSHAKES_PER_THREAD: usize = 4;
/// A peer with more ready requests than there are threads waits for itself. With eight, ten times the load of one peer slowed another's logins by a factor of three.
const REQUESTS_PER_THREAD: usize = 1;

/// See the module.
pub(super) struct Turns(Semaphore);

impl Turns {
    /// The turns of all handshakes.
    pub(super) fn of_handshakes() -> Turns {
        Turns::of_each_thread(HANDSHAKES_PER_THREAD)
    }

    /// The turns of one peer's requests.
    pub(super) fn of_requests() -> Turns {
        Turns::of_each_thread(REQUESTS_PER_THREAD)
    }

    fn of_each_thread(turns: usize) -> Turns {
        let threads = Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
        Turns(Semaphore::new(turns * threads))
    }

    /// The result of `future`, which is polled in turns, first come first served.
    pub(super) async fn in_turn<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            // The semaphore is never closed.
            let turn = self.0.acquire().await;
            yield_now().await;
            let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
            drop(turn);
            match polled {
                Poll::Ready(output) => return output,
                Poll::Pending => woken().await,
            }
        }
    }
}

/// Until this task is woken.
async fn woken() {
    let mut is_woken = false;
    poll_fn(|_| match std::mem::replace(&mut is_woken, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use tokio::task::LocalSet;

    /// Two computations in turn with a pause between.
    async fn computes(turns: &Turns, computed: &Cell<usize>) {
        let handshake = async {
            computed.set(computed.get() + 1);
            // The peer's next message.
            yield_now().await;
            computed.set(computed.get() + 1);
        };
        turns.in_turn(handshake).await;
    }

    /// Claim V47: A burst of handshakes or requests from one address does not block requests of other addresses. Under each kind of hostile
    /// connection that we measured, honest logins keep a p99 below twice the usual. Also:
    /// `bench/records/hostile-2vcpu.json#/p99_ratio_max`.
    #[tokio::test]
    async fn a_burst_lets_everybody_else_go_between() {
        for turns_at_once in [1, 4] {
            let turns = Rc::new(Turns(Semaphore::new(turns_at_once)));
            let (burst, computed) = (64, Rc::<Cell<usize>>::default());
            let local = LocalSet::new();
            for _ in 0..burst {
                let (turns, computed) = (Rc::clone(&turns), Rc::clone(&computed));
                local.spawn_local(async move { computes(&turns, &computed).await });
            }
            let seen = Rc::clone(&computed);
            let other = local.spawn_local(async move {
                let own = Turns(Semaphore::new(turns_at_once));
                for request in 1..=5 {
                    computes(&own, &Cell::default()).await;
                    assert!(seen.get() <= 6 * turns_at_once * request, "{} of them went first", seen.get());
                }
            });
            local.run_until(other).await.unwrap();
            local.await;
            assert_eq!(computed.get(), 2 * burst, "each ends");
        }
    }

    #[tokio::test]
    async fn one_that_is_dropped_in_its_turn_leaves_it_to_the_next() {
        let turns = Turns(Semaphore::new(1));
        let mut first = Box::pin(turns.in_turn(std::future::pending::<()>()));
        poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending())).await;
        assert_eq!(turns.0.available_permits(), 0, "it has its turn");
        drop(first);
        turns.in_turn(async {}).await;
    }
}
