//! Essential threads: when one of them panics, the process says so and ends.
//!
//! Without its writer, dispatcher or monitor a process looks alive and answers nothing. So each such
//! thread runs under a [`Supervisor`]. The first panic is the [`Death`] of the process: its main thread is told, stops
//! accepting requests, answers those in flight and exits. A thread that returns has finished: these threads return only when
//! their owner releases them.

#![expect(clippy::disallowed_types, reason = "when a thread dies")]

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Watches the threads of one service. Cloning gives another handle; the default one has no listener.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    death: OnceLock<Death>,
    /// Callbacks, each called once.
    told: Mutex<Vec<Tell>>,
}

type Tell = Box<dyn FnOnce(&Death) + Send>;

/// Why a process ends: the first thread that panicked, or the damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The thread's name, or the file.
    pub thread: String,
    /// The panic's message, or the damage of the file and its cure.
    pub why: String,
    /// Whether it is a file.
    pub is_damage: bool,
}

impl Supervisor {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: impl Into<String>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let (supervisor, name) = (self.clone(), name.into());
        let thread = std::thread::Builder::new().name(name.clone());
        thread.spawn(move || supervisor.watch(&name, work)).map_err(no_thread)
    }

    /// Runs `work` on this thread.
    pub fn watch<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        self.watch_then(name, work, || ())
    }

    /// Runs `work` on this thread, and `remains` after a reported panic: a caller that waits for a dead thread must not
    /// wait forever. A bounded channel of crossbeam, for example, keeps its messages until its last sender is dropped.
    pub fn watch_then<T>(&self, name: &str, work: impl FnOnce() -> T, remains: impl FnOnce()) -> T {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => done,
            Err(panic) => {
                self.panicked(name, &*panic);
                remains();
                resume_unwind(panic)
            }
        }
    }

    /// A thread or task panicked with this payload.
    pub fn panicked(&self, name: &str, panic: &(dyn Any + Send)) {
        let why = panic.downcast_ref::<&str>().map(ToString::to_string);
        let why = why.or_else(|| panic.downcast_ref().cloned()).unwrap_or_else(|| "no message".to_owned());
        self.end(|| {
            tracing::error!(thread = name, why, "a thread panicked that the process cannot do without");
            Death { thread: name.to_owned(), why, is_damage: false }
        });
    }

    /// A file or database of the process was found damaged, or is no longer its own, so its answers could not be trusted.
    pub fn damaged(&self, path: &Path, why: &str) {
        self.end(|| {
            let path = path.display().to_string();
            tracing::error!(path, why, "stored data cannot be trusted");
            Death { thread: path, why: why.to_owned(), is_damage: true }
        });
    }

    fn end(&self, death: impl FnOnce() -> Death) {
        let mut told = self.told();
        let death = self.0.death.get_or_init(death);
        for tell in std::mem::take(&mut *told) {
            tell(death);
        }
    }

    /// The first panic, if there was one.
    pub fn death(&self) -> Option<&Death> {
        self.0.death.get()
    }

    /// Calls `tell` at the first panic, or now if that has been. It must not block.
    pub fn on_death(&self, tell: impl FnOnce(&Death) + Send + 'static) {
        let mut told = self.told();
        match self.death() {
            Some(death) => tell(death),
            None => told.push(Box::new(tell)),
        }
    }

    fn told(&self) -> MutexGuard<'_, Vec<Tell>> {
        self.0.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a thread that the system does not give, with its cure.
pub fn no_thread(cause: io::Error) -> io::Error {
    let cure = "raise the limit of threads (TasksMax= of the unit, pids.max of the container, `ulimit -u`) or of address space (`ulimit -v`), or start \
                fewer with pipeline.workers and proofs.workers";
    io::Error::new(cause.kind(), format!("the system gives no further thread ({cause}); {cure}"))
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Death { thread, why, is_damage } = self;
        if *is_damage {
            return write!(f, "{thread}: {why}");
        }
        write!(
            f,
            "the thread `{thread}` panicked ({why}); the process cannot do without it and ends: start it again"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_panic_reaches_every_listener_and_a_return_is_no_panic() {
        let supervisor = Supervisor::default();
        let (early, told_early) = channel();
        supervisor.on_death(move |death| early.send(death.clone()).unwrap());
        supervisor.spawn("finished", || ()).unwrap().join().unwrap();
        assert_eq!(supervisor.death(), None);
        supervisor.spawn("first", || panic!("out of {}", "luck")).unwrap().join().unwrap_err();
        supervisor.spawn("second", || panic!("too")).unwrap().join().unwrap_err();
        let death = Death { thread: "first".to_owned(), why: "out of luck".to_owned(), is_damage: false };
        let (late, told_late) = channel();
        supervisor.on_death(move |death| late.send(death.clone()).unwrap());
        assert_eq!(supervisor.death(), Some(&death));
        assert_eq!(told_early.iter().collect::<Vec<_>>(), std::slice::from_ref(&death));
        assert_eq!(told_late.iter().collect::<Vec<_>>(), [death]);
    }
}
