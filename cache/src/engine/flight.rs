//! One computation for many who miss the same key at once.
//!
//! Not on the path of a hit: only who missed comes here, with work to do that takes a thousand times longer than the
//! locks below, and who waits for a lock would otherwise do that work a second time.

use super::EngineSession;
use crate::{Key, Observer, Tenant, Value};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
#[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
use std::sync::{Condvar, Mutex};

type Running<V> = HashMap<(Tenant, Key), Arc<Flight<V>>>;

/// Computations in progress, by tenant and key.
#[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
pub struct Flights<V> {
    running: Mutex<Running<V>>,
}

#[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
struct Flight<V> {
    state: Mutex<State<V>>,
    over: Condvar,
}

#[derive(Clone, Copy)]
enum State<V> {
    Running,
    /// The entry was removed meanwhile: the result is not to be stored or shared.
    Withdrawn,
    Done(V),
    /// The computation failed, panicked or was withdrawn: those who wait try on their own.
    Failed,
}

/// The duty of the one who computes: without a result, others are told so.
struct Duty<'a, V: Value> {
    flights: &'a Flights<V>,
    flight: Arc<Flight<V>>,
    of: (Tenant, Key),
}

impl<V> Default for Flights<V> {
    fn default() -> Self {
        #[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
        Self { running: Mutex::new(HashMap::new()) }
    }
}

impl<V: Value> Flights<V> {
    /// The value that `tenant` holds under `key`, or what `compute` returns, with its expiry in unix seconds. Of threads
    /// that miss one key at the same time one computes and stores, and the others wait for its value. What is computed
    /// while the tenant is invalidated, or the key removed by [`Flights::remove`], is not stored.
    ///
    /// # Errors
    /// What `compute` returns. Those who waited then compute themselves.
    pub fn get_or_compute<O: Observer, E>(
        &self,
        session: &mut EngineSession<V, O>,
        tenant: Tenant,
        key: &Key,
        now: u64,
        compute: impl FnOnce() -> Result<(V, u64), E>,
    ) -> Result<V, E> {
        let duty = loop {
            if let Some(value) = session.get_in(tenant, key, now) {
                return Ok(value);
            }
            match self.join(tenant, key) {
                Ok(duty) => break duty,
                Err(flight) => {
                    if let Some(value) = flight.wait() {
                        return Ok(value);
                    }
                }
            }
        };
        // It may have been stored between the look-up and the duty.
        let ticket = session.ticket(tenant);
        if let Some(value) = session.get_in(tenant, key, now) {
            duty.fulfil(value, || {});
            return Ok(value);
        }
        let (value, expires_at) = compute()?;
        duty.fulfil(value, || {
            session.insert_with(ticket, *key, value, expires_at, now);
        });
        Ok(value)
    }

    /// Forgets `key`, also what is being computed for it now; returns whether an entry was held.
    pub fn remove<O: Observer>(&self, session: &mut EngineSession<V, O>, tenant: Tenant, key: &Key) -> bool {
        if let Some(flight) = lock(&self.running).remove(&(tenant, *key)) {
            let mut state = lock(&flight.state);
            if matches!(*state, State::Running) {
                *state = State::Withdrawn;
            }
        }
        session.remove_in(tenant, key)
    }

    /// The duty to compute, or somebody who has it.
    fn join(&self, tenant: Tenant, key: &Key) -> Result<Duty<'_, V>, Arc<Flight<V>>> {
        let of = (tenant, *key);
        let mut running = lock(&self.running);
        if let Some(flight) = running.get(&of) {
            return Err(flight.clone());
        }
        #[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
        let flight = Arc::new(Flight { state: Mutex::new(State::Running), over: Condvar::new() });
        running.insert(of, flight.clone());
        Ok(Duty { flights: self, flight, of })
    }
}

impl<V: Value> Flight<V> {
    fn wait(&self) -> Option<V> {
        let waiting = |state: &mut State<V>| matches!(state, State::Running | State::Withdrawn);
        let state = self.over.wait_while(lock(&self.state), waiting).unwrap_or_else(PoisonError::into_inner);
        if let State::Done(value) = *state { Some(value) } else { None }
    }
}

impl<V: Value> Duty<'_, V> {
    /// Stores the value unless it was withdrawn, and gives it to those who wait. Storing happens under the flight's
    /// lock: a removal comes either before and prevents it, or after and undoes it.
    fn fulfil(self, value: V, store: impl FnOnce()) {
        let mut state = lock(&self.flight.state);
        if matches!(*state, State::Running) {
            store();
            *state = State::Done(value);
        }
    }
}

impl<V: Value> Drop for Duty<'_, V> {
    fn drop(&mut self) {
        let mut running = lock(&self.flights.running);
        // After a removal another flight may have the key.
        if running.get(&self.of).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            running.remove(&self.of);
        }
        drop(running);
        let mut state = lock(&self.flight.state);
        if !matches!(*state, State::Done(_)) {
            *state = State::Failed;
        }
        self.flight.over.notify_all();
    }
}

/// Panics happen in `compute`, which runs under no lock: what a lock guards is whole.
#[expect(clippy::disallowed_types, reason = "off the path of a hit, see the module's text")]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests count what several threads do")]
mod tests {
    use super::*;
    use crate::{Cache, Engine, EngineConfig, Off};
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::thread;

    const KEY: Key = [7; 32];
    const A: Tenant = Tenant(0);
    const THREADS: usize = if cfg!(miri) { 3 } else { 8 };

    fn engine() -> Arc<Engine<u64, Off>> {
        Arc::new(Engine::new(EngineConfig { capacity: 32 }))
    }

    /// Until `waiting` others hold the flight.
    fn wait_for(flights: &Flights<u64>, waiting: usize) {
        let holders = || lock(&flights.running).get(&(A, KEY)).map_or(0, Arc::strong_count);
        // The table's, and that of the one who computes.
        while holders() < 2 + waiting {
            thread::yield_now();
        }
    }

    #[test]
    fn many_misses_are_one_computation() {
        let (engine, flights, computed) = (engine(), Flights::default(), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let (mut session, flights, computed) = (engine.session(), &flights, &computed);
                scope.spawn(move || {
                    let value = flights.get_or_compute(&mut session, A, &KEY, 0, || {
                        wait_for(flights, THREADS - 1);
                        computed.fetch_add(1, SeqCst);
                        Ok::<_, ()>((42, 10))
                    });
                    assert_eq!(value, Ok(42));
                });
            }
        });
        assert_eq!(computed.load(SeqCst), 1);
        assert_eq!(engine.session().get_in(A, &KEY, 0), Some(42));
        assert!(lock(&flights.running).is_empty());
    }

    #[test]
    fn a_failure_is_its_own_and_others_compute_themselves() {
        let (engine, flights) = (engine(), Flights::default());
        let first = AtomicU64::new(0);
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (mut session, flights, first) = (engine.session(), &flights, &first);
                    scope.spawn(move || {
                        flights.get_or_compute(&mut session, A, &KEY, 0, || {
                            if first.fetch_add(1, SeqCst) == 0 {
                                wait_for(flights, 1);
                                return Err("refused");
                            }
                            Ok((5, 10))
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(results.contains(&Err("refused")) && results.contains(&Ok(5)));
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let (engine, flights) = (engine(), Flights::default());
        let mut session = engine.session();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            flights.get_or_compute(&mut session, A, &KEY, 0, || -> Result<_, ()> { panic!("in compute") })
        }));
        assert!(panicked.is_err());
        assert_eq!(flights.get_or_compute(&mut session, A, &KEY, 0, || Ok::<_, ()>((6, 10))), Ok(6));
    }

    #[test]
    fn a_removal_is_not_undone_by_what_was_computed_before_it() {
        let (engine, flights) = (engine(), Flights::default());
        let (mut session, mut other) = (engine.session(), engine.session());
        let value = flights.get_or_compute(&mut session, A, &KEY, 0, || {
            flights.remove(&mut other, A, &KEY);
            Ok::<_, ()>((1, 10))
        });
        assert_eq!((value, other.get_in(A, &KEY, 0)), (Ok(1), None));
        let value = flights.get_or_compute(&mut session, A, &KEY, 0, || {
            engine.invalidate(A);
            Ok::<_, ()>((2, 10))
        });
        assert_eq!((value, other.get_in(A, &KEY, 0)), (Ok(2), None));
        // After its own removal a key can be computed and stored again.
        assert_eq!(flights.get_or_compute(&mut session, A, &KEY, 0, || Ok::<_, ()>((3, 10))), Ok(3));
        assert_eq!(other.get_in(A, &KEY, 0), Some(3));
    }
}
