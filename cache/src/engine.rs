//! The engine, still without its table.

use crate::{Cache, Inserted, Key, Observer, PerWorker, Session, Stats, Value};
use std::marker::PhantomData;
use std::sync::Arc;

/// How to build an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Entries to hold; rounded up to whole sets of 16.
    pub capacity: usize,
}

/// The instrumented cache.
pub struct Engine<V, O = PerWorker> {
    observer: O,
    value: PhantomData<V>,
}

/// A worker's handle on an [`Engine`].
pub struct EngineSession<V: Value, O: Observer> {
    engine: Arc<Engine<V, O>>,
    recorder: O::Worker,
}

impl<V: Value, O: Observer> Engine<V, O> {
    /// An empty cache.
    #[must_use]
    pub fn new(_config: EngineConfig) -> Self {
        Self { observer: O::default(), value: PhantomData }
    }

    /// The observer that the sessions report to.
    pub fn observer(&self) -> &O {
        &self.observer
    }
}

impl<V: Value, O: Observer> Cache<V> for Engine<V, O> {
    type Session = EngineSession<V, O>;

    fn session(self: &Arc<Self>) -> Self::Session {
        EngineSession { recorder: self.observer.worker(), engine: self.clone() }
    }

    fn stats(&self) -> Stats {
        self.observer.stats()
    }

    fn capacity(&self) -> usize {
        todo!()
    }

    fn len(&self) -> usize {
        todo!()
    }
}

impl<V: Value, O: Observer> Session<V> for EngineSession<V, O> {
    fn get(&mut self, _key: &Key, _now: u64) -> Option<V> {
        let _ = (&self.engine, &self.recorder);
        todo!()
    }

    fn insert(&mut self, _key: Key, _value: V, _expires_at: u64, _now: u64) -> Inserted {
        todo!()
    }

    fn remove(&mut self, _key: &Key) -> bool {
        todo!()
    }

    fn sweep(&mut self, _now: u64) -> usize {
        todo!()
    }
}
