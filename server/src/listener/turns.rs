//! Handshakes compute in turn, so that many at once delay nobody's requests.
//!
//! A TLS handshake costs as much processor time as several logins, all of it without an `await`. Sixty-four peers that
//! connect in the same moment would each stand in the runtime's queue before the next request of an open connection. Here
//! a few for each thread may compute at once, and each lets everything that is ready go first.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// More turns cost requests time while many peers connect, fewer cost the peers time while many requests are ready.
const PER_THREAD: usize = 4;

/// See the module.
pub(super) struct Turns(Semaphore);

impl Turns {
    /// The turns of this runtime.
    pub(super) fn new() -> Turns {
        Turns(Semaphore::new(PER_THREAD * Handle::current().metrics().num_workers()))
    }

    /// What `future` returns. It is polled in turns, first come first served.
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

    #[tokio::test]
    async fn a_burst_of_handshakes_lets_requests_go_between() {
        let (turns, computed) = (Rc::new(Turns::new()), Rc::<Cell<usize>>::default());
        let burst = 64;
        let local = LocalSet::new();
        for _ in 0..burst {
            let (turns, computed) = (Rc::clone(&turns), Rc::clone(&computed));
            local.spawn_local(async move {
                let handshake = async {
                    computed.set(computed.get() + 1);
                    // The peer's next message.
                    yield_now().await;
                    computed.set(computed.get() + 1);
                };
                turns.in_turn(handshake).await;
            });
        }
        let request = async {
            for hops in 1..=20 {
                yield_now().await;
                assert!(computed.get() <= PER_THREAD * hops, "{} of them went first", computed.get());
            }
        };
        local.run_until(request).await;
        local.await;
        assert_eq!(computed.get(), 2 * burst, "each ends");
    }
}
