//! Workers, sealing threads and cores in simulated time.
//!
//! Workers are pinned to the cores in turn, as in the pipeline. A sealing thread takes the core with the fewest runnable threads, and
//! moves to an idle one. Runnable threads of a core share it evenly. Everything that a thread does costs processor time from [`Costs`]:
//!
//! * A **batch** on its worker: request, look-ups, match, key-holder, digests, and the cache's observer. It costs more while other cores
//!   are busy (memory, shared caches) and while many batches are unsealed (their memory has left the caches).
//! * A **seal**: tree, header, three signatures, their checks. Under group commit a sealing thread covers all waiting batches; per batch
//!   the worker seals.
//! * A **release**, one at a time, in order. Under group commit it returns the permits of its batches. A worker without a permit waits.
//! * The **dispatcher**, where there is one: a thread on a core of its own that hands over one batch after another.
//!
//! Batches vary by a fifth up and down, evenly, so that workers do not march in step.

use std::collections::VecDeque;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_pipeline::{Cadence, UNSEALED_MAX};

use super::costs::Costs;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Simulated {
    pub(super) workers: usize,
    pub(super) cores: usize,
    pub(super) cadence: Cadence,
    /// Threads that seal under group commit.
    pub(super) sealers: usize,
    /// Whether batches pass a dispatcher, as in a service.
    pub(super) dispatched: bool,
    pub(super) seed: u64,
}

/// What a thread computes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Job {
    Batch,
    /// Signatures over so many batches.
    Seal(usize),
    Release(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// So many microseconds of processor time are left.
    Computing(Job, f64),
    /// Until a time.
    Until(f64),
    /// For the order of releases, to release so many batches.
    Turn(usize),
    /// For a permit; a sealing thread for batches.
    Waiting,
}

struct Thread {
    core: usize,
    is_sealer: bool,
    state: State,
}

struct Model<'a> {
    costs: &'a Costs,
    what: Simulated,
    rng: StdRng,
    now: f64,
    threads: Vec<Thread>,
    /// Workers that wait for a permit.
    without_permit: VecDeque<usize>,
    permits: usize,
    /// Decided batches that wait for a seal.
    decided: usize,
    /// Threads that wait to release; the first of them does.
    releasing: VecDeque<usize>,
    /// When the last seal began, and how long it may be until the next.
    began: f64,
    spacing: f64,
    /// When the dispatcher is free.
    dispatcher: f64,
    released: usize,
}

/// Batches a second in the long run.
pub(super) fn batches_per_s(costs: &Costs, what: Simulated) -> f64 {
    let mut model = Model::new(costs, what);
    let group = match what.cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => 8 * what.workers,
    };
    let (released, from) = model.run_until(4 * group);
    let (total, to) = model.run_until(released + ROUNDS * group);
    (total - released) as f64 * 1e6 / (to - from)
}

const ROUNDS: usize = 10;

impl<'a> Model<'a> {
    fn new(costs: &'a Costs, what: Simulated) -> Self {
        let worker = |index: usize| Thread {
            core: index % what.cores,
            is_sealer: false,
            state: State::Until(index as f64),
        };
        let sealer = |_| Thread { core: 0, is_sealer: true, state: State::Waiting };
        let sealers = if what.cadence == Cadence::Group { what.sealers } else { 0 };
        Model {
            costs,
            what,
            rng: StdRng::seed_from_u64(what.seed),
            now: 0.0,
            threads: (0..what.workers).map(worker).chain((0..sealers).map(sealer)).collect(),
            without_permit: VecDeque::new(),
            // Each worker begins with one.
            permits: UNSEALED_MAX.saturating_sub(what.workers),
            decided: 0,
            releasing: VecDeque::new(),
            began: f64::NEG_INFINITY,
            spacing: 0.0,
            dispatcher: 0.0,
            released: 0,
        }
    }

    /// Until at least so many batches are released: how many, and when.
    fn run_until(&mut self, batches: usize) -> (usize, f64) {
        while self.released < batches {
            self.advance();
        }
        (self.released, self.now)
    }

    /// To the next moment at which a thread has done something.
    fn advance(&mut self) {
        self.start_seals();
        self.move_sealers();
        let load = self.load();
        let next = self.threads.iter().map(|thread| match thread.state {
            State::Computing(_, left) => self.now + left * load[thread.core] as f64,
            State::Until(at) => at,
            State::Turn(_) | State::Waiting => f64::INFINITY,
        });
        let next = next.fold(f64::INFINITY, f64::min);
        let passed = next - self.now;
        self.now = next;
        // All have computed until now before any begins something new.
        for thread in &mut self.threads {
            if let State::Computing(_, left) = &mut thread.state {
                *left -= passed / load[thread.core] as f64;
            }
        }
        let is_due = |thread: &Thread| match thread.state {
            State::Computing(_, left) => left <= 1e-6,
            State::Until(at) => at <= next,
            State::Turn(_) | State::Waiting => false,
        };
        let due: Vec<usize> = (0..self.threads.len()).filter(|&at| is_due(&self.threads[at])).collect();
        for at in due {
            match self.threads[at].state {
                State::Computing(job, _) => self.done(at, job),
                State::Until(_) => self.resume(at),
                State::Turn(_) | State::Waiting => {}
            }
        }
    }

    /// Runnable threads of each core.
    fn load(&self) -> Vec<usize> {
        let mut load = vec![0; self.what.cores];
        for thread in &self.threads {
            if matches!(thread.state, State::Computing(..)) {
                load[thread.core] += 1;
            }
        }
        load
    }

    fn busy_cores(&self) -> usize {
        self.load().iter().filter(|&&threads| threads > 0).count().max(1)
    }

    /// A worker, or a sealing thread, that waited for a time goes on.
    fn resume(&mut self, at: usize) {
        if self.threads[at].is_sealer {
            self.threads[at].state = State::Waiting;
        } else {
            self.begin_batch(at);
        }
    }

    fn next_batch(&mut self, at: usize) {
        if self.what.cadence == Cadence::Group {
            if self.permits == 0 {
                self.threads[at].state = State::Waiting;
                self.without_permit.push_back(at);
                return;
            }
            self.permits -= 1;
        }
        if self.what.dispatched {
            // It works ahead while the worker computes, so that only its rate limits.
            self.dispatcher = (self.dispatcher + self.costs.dispatch_us).max(self.now);
            if self.dispatcher > self.now {
                self.threads[at].state = State::Until(self.dispatcher);
                return;
            }
        }
        self.begin_batch(at);
    }

    fn begin_batch(&mut self, at: usize) {
        let unsealed = match self.what.cadence {
            Cadence::Group => UNSEALED_MAX - self.permits,
            Cadence::PerBatch => self.what.workers,
        };
        let us = self.costs.batch_us(unsealed, self.busy_cores());
        let us = us * (0.8 + 0.4 * self.rng.random::<f64>());
        self.threads[at].state = State::Computing(Job::Batch, us);
    }

    fn seal(&mut self, at: usize, batches: usize) {
        let us = self.costs.seal_us(batches, self.busy_cores());
        self.threads[at].state = State::Computing(Job::Seal(batches), us);
    }

    fn done(&mut self, at: usize, job: Job) {
        match (job, self.what.cadence) {
            (Job::Batch, Cadence::Group) => {
                self.decided += 1;
                self.next_batch(at);
            }
            (Job::Batch, Cadence::PerBatch) => self.seal(at, 1),
            (Job::Seal(batches), _) => {
                // Seals start evenly spaced over the threads that make them.
                self.spacing = (self.now - self.began) / self.what.sealers as f64;
                self.releasing.push_back(at);
                self.threads[at].state = State::Turn(batches);
                if self.releasing.len() == 1 {
                    self.release(at);
                }
            }
            (Job::Release(batches), cadence) => {
                self.releasing.pop_front();
                if let Some(&next) = self.releasing.front() {
                    self.release(next);
                }
                self.released += batches;
                match cadence {
                    Cadence::Group => self.return_permits(at, batches),
                    Cadence::PerBatch => self.next_batch(at),
                }
            }
        }
    }

    fn release(&mut self, at: usize) {
        if let State::Turn(batches) = self.threads[at].state {
            let us = self.costs.release_us(batches, self.busy_cores());
            self.threads[at].state = State::Computing(Job::Release(batches), us);
        }
    }

    fn return_permits(&mut self, sealer: usize, permits: usize) {
        self.threads[sealer].state = State::Waiting;
        self.permits += permits;
        while self.permits > 0
            && let Some(worker) = self.without_permit.pop_front()
        {
            self.next_batch(worker);
        }
    }

    /// One sealing thread at a time takes all waiting batches, when the next seal is due.
    fn start_seals(&mut self) {
        let due = self.began + self.spacing;
        let waiting = |thread: &Thread| thread.is_sealer && thread.state == State::Waiting;
        let Some(at) = self.threads.iter().position(waiting).filter(|_| self.decided > 0) else { return };
        if due > self.now {
            self.threads[at].state = State::Until(due);
            return;
        }
        let batches = std::mem::take(&mut self.decided);
        self.began = self.now;
        let load = self.load();
        self.threads[at].core = least(&load);
        self.seal(at, batches);
    }

    /// A core without work takes a sealing thread that shares one.
    fn move_sealers(&mut self) {
        for at in 0..self.threads.len() {
            let thread = &self.threads[at];
            if thread.is_sealer && matches!(thread.state, State::Computing(..)) {
                let load = self.load();
                let idle = least(&load);
                if load[thread.core] > 1 && load[idle] == 0 {
                    self.threads[at].core = idle;
                }
            }
        }
    }
}

fn least(load: &[usize]) -> usize {
    (0..load.len()).min_by_key(|&core| load[core]).unwrap_or_default()
}

#[cfg(test)]
mod tests;
