//! The same work on several threads, with progress.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Computes `step(state, i)` for every `i` below `count` on `workers` threads and returns the results in order.
/// Each thread owns a state; progress on long work goes to standard error under the name `what`.
pub(crate) fn map_with<S, R: Send>(
    workers: usize,
    count: usize,
    what: &str,
    state: impl Fn() -> S + Sync,
    step: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let work = || {
        let mut own = state();
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return done;
            }
            done.push((index, step(&mut own, index)));
            if index.is_multiple_of(count.div_ceil(10)) && started.elapsed() > PATIENCE {
                eprintln!("{what}: {index} of {count}");
            }
        }
    };
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            for (index, result) in done {
                results[index] = Some(result);
            }
        }
    });
    results.into_iter().map(|result| result.expect("every index was taken once")).collect()
}

/// Shorter work is not reported.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_computed_once_and_in_order() {
        for (workers, count) in [(1, 5), (3, 100), (4, 2), (0, 1), (2, 0)] {
            let results = map_with(
                workers,
                count,
                "test",
                || 0usize,
                |seen, i| {
                    *seen += 1;
                    i * i
                },
            );
            assert_eq!(results, (0..count).map(|i| i * i).collect::<Vec<_>>());
        }
    }
}
