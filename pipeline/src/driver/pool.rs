//! The pinned worker pool. One batch is one sequential rayon job: no nested parallel work, no blocking.

use std::cell::{RefCell, RefMut};

use rayon::{ThreadPool, ThreadPoolBuilder};
use thread_local::ThreadLocal;

use super::affinity::{Placement, pin_current};

/// Workers could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the worker pool could not start: {0}; lower --workers or raise the process limit")]
pub struct PoolError(#[from] rayon::ThreadPoolBuildError);

/// Pinned threads, each owning a `W` that no other thread touches.
pub struct Pool<W: Send> {
    threads: ThreadPool,
    workers: ThreadLocal<RefCell<W>>,
}

impl<W: Send> Pool<W> {
    /// Starts one thread per entry of `placement`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn new(placement: &Placement) -> Result<Self, PoolError> {
        let cpus = placement.cpus.clone();
        let threads = ThreadPoolBuilder::new()
            .num_threads(cpus.len())
            .thread_name(|i| format!("worker-{i}"))
            .start_handler(move |i| {
                if let Some(cpu) = cpus[i] {
                    pin_current(cpu);
                }
            })
            .build()?;
        Ok(Pool { threads, workers: ThreadLocal::new() })
    }

    /// Number of threads.
    pub fn size(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Queues `job`, first in first out. The job must not panic: rayon aborts the process if it does.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.threads.spawn_fifo(job);
    }

    /// The calling thread's own worker, made by `make` at its first use.
    pub fn worker(&self, make: impl FnOnce() -> W) -> RefMut<'_, W> {
        self.workers.get_or(|| RefCell::new(make())).borrow_mut()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::affinity::Pin;

    #[test]
    fn each_thread_keeps_its_own_worker() {
        let placement = Placement::new(Some(3), Pin::Auto);
        let pool = Arc::new(Pool::<u64>::new(&placement).expect("pool"));
        let (done, results) = crossbeam_channel::unbounded();
        for _ in 0..300 {
            let (pool2, done) = (Arc::clone(&pool), done.clone());
            pool.spawn(move || {
                let mut count = pool2.worker(|| 0);
                *count += 1;
                done.send((std::thread::current().name().map(str::to_owned), *count))
                    .expect("receiver lives");
            });
        }
        drop(done);
        let mut highest = std::collections::HashMap::new();
        for (name, count) in results {
            let best = highest.entry(name).or_insert(0);
            *best = count.max(*best);
        }
        assert_eq!(highest.values().sum::<u64>(), 300, "every job counted on the worker that ran it");
        assert!(highest.len() <= 3);
    }
}
