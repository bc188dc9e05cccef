//! Bounds verifications for callers without an API key, so that they delay no login.

#![expect(clippy::disallowed_types, reason = "for callers without an API key, two at a time")]

use crate::app::blocking;
use crate::problem::{Code, Problem};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Most verifications at the same time.
const AT_ONCE: usize = 2;
/// How long the place of a verification stays taken afterwards. One takes about 0.7 ms of a core, so 100 a second take less than a tenth of a core.
const PAUSE: Duration = Duration::from_millis(20);

/// Most that wait for a place, so that a caller that sends one after the other is slowed down and not refused.
const WAITING: usize = 16;

/// See the module.
pub(crate) struct Verifications {
    places: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Default for Verifications {
    fn default() -> Verifications {
        Verifications { places: Arc::new(Semaphore::new(AT_ONCE)), waiting: Semaphore::new(WAITING) }
    }
}

impl Verifications {
    /// Runs `work` where it may block, once there is a place for it, unless too many wait for one.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let crowded = "too many verifications at once; `trefoil verify` needs no service";
        let crowded = |_| Problem::new(Code::Overloaded, crowded);
        let waiting = self.waiting.try_acquire().map_err(crowded)?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| Problem::internal("the places of verifications are closed"))?;
        drop(waiting);
        blocking(move || {
            let done = work();
            // Also where the caller has gone away.
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                drop(place);
            });
            done
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::sync::mpsc;
    use std::task::Poll;

    /// Whether a run has begun and goes on.
    async fn goes_on<T>(run: &mut Pin<Box<impl Future<Output = T>>>) -> bool {
        poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_pending())).await
    }

    #[tokio::test(start_paused = true)]
    async fn some_wait_for_a_place_the_others_are_refused_and_a_place_comes_back_after_a_pause() {
        let verifications = Verifications::default();
        let mut ends = Vec::new();
        let mut running = Vec::new();
        for _ in 0..AT_ONCE {
            let (end, until) = mpsc::channel::<()>();
            let mut run = Box::pin(verifications.run(move || Ok(until.recv().is_err())));
            assert!(goes_on(&mut run).await);
            ends.push(end);
            running.push(run);
        }
        let mut waiting = Vec::new();
        for _ in 0..WAITING {
            let mut run = Box::pin(verifications.run(|| Ok(())));
            assert!(goes_on(&mut run).await);
            waiting.push(run);
        }
        let refused = verifications.run(|| Ok(())).await.unwrap_err();
        assert_eq!(refused.code(), Code::Overloaded);
        drop(ends);
        for run in running {
            assert!(run.await.unwrap());
        }
        assert_eq!(verifications.places.available_permits(), 0, "the places are taken for a while");
        for run in waiting {
            run.await.unwrap();
        }
        tokio::time::sleep(2 * PAUSE).await;
        verifications.run(|| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_frees_no_place_before_the_work_is_done() {
        let verifications = Verifications::default();
        let (end, until) = mpsc::channel::<()>();
        let mut run = Box::pin(verifications.run(move || Ok(until.recv().is_err())));
        assert!(goes_on(&mut run).await);
        drop(run);
        tokio::time::sleep(2 * PAUSE).await;
        assert_eq!(verifications.places.available_permits(), AT_ONCE - 1);
        drop(end);
        let all =
            tokio::time::timeout(Duration::from_secs(5), verifications.places.acquire_many(AT_ONCE as u32));
        drop(all.await.unwrap().unwrap());
    }
}
