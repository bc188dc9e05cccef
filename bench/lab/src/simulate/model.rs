//! Workers that repeat a program of work, shared lines and locks, each on a core of its own.
//!
//! * A **line** belongs to the core that requested it last. Another core's request takes it away after a part of the transfer
//!   ([`Core::request`](super::machine::Core::request)) and brings it with the rest. Until then the owner keeps writing, and completes the
//!   operation for which it has waited. Requests are served as they come; one behind others waits where the line will be.
//! * A **core works ahead**: past a reading of the clock, which waits for everything before it, the core asks at once for all
//!   lines that it will write up to the next reading. Uncontended lines arrive together. Contended lines
//!   are taken away again before the core reaches them, and it has to request them again, one after another:
//!   contention undoes what working ahead saves.
//! * A **lock** is the standard library's `RwLock`, taken for writing (library/std/src/sys/sync/rwlock/futex.rs). Who finds
//!   it taken polls up to a hundred times. A thread that then still finds it taken marks it as waited for and sleeps, and from
//!   then on nobody polls a marked lock. Leaving a marked lock wakes one sleeper, which marks the lock again when it
//!   gets it: once a queue has formed, every hand-over is a system call and a wake-up (a lock convoy).
//!
//! Work varies by a fifth up and down, evenly, so that workers do not march in step.

use std::collections::VecDeque;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::events::Calendar;
use super::machine::{Machine, POLLS_MAX};

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Private work, nanoseconds on average.
    Work(f64),
    /// Writes a line.
    Write(usize),
    /// Has read the clock: nothing that follows is begun before.
    Clock,
    /// Writes one of so many lines from the first on, at random: the lock of a map's shard. Where it has to come from
    /// another core, the search that begins in that line waits for it, too.
    ClaimOneOf(usize, usize),
    /// Writes the line that was claimed last: leaves the shard's lock.
    Release,
    /// Writes something in the line of a lock that this worker holds.
    WriteBeside(usize),
    /// Takes a lock, by number.
    Lock(usize),
    /// Takes a lock if it is free, and skips the next so many steps if not.
    TryLock(usize, usize),
    /// Leaves it.
    Unlock(usize),
    /// Does the next so many steps only once in so many times.
    OnceIn(usize, usize),
}

/// What every worker does, over and over, and how many lines and locks there are to share.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub steps: Vec<Step>,
    pub lines: usize,
    pub locks: usize,
}

enum Event {
    /// The worker continues its program.
    Next(usize),
    /// The worker, which polled or was woken, looks at its lock; stale if it has gone on since.
    Look(usize, u64),
    /// Its polls are used up.
    Tired(usize, u64),
}

/// One cache line.
struct Line {
    /// The worker that requested it last.
    last: Option<usize>,
    /// What each worker's latest request has brought.
    held: Vec<Held>,
}

/// A line in the caches of one core.
#[derive(Clone, Copy)]
struct Held {
    from: f64,
    /// When another request takes it away.
    until: f64,
    /// Not before the core has done what it waited for.
    busy: f64,
}

impl Line {
    fn new(workers: usize) -> Self {
        const NEVER: Held =
            Held { from: f64::NEG_INFINITY, until: f64::NEG_INFINITY, busy: f64::NEG_INFINITY };
        Line { last: None, held: vec![NEVER; workers] }
    }

    /// When `worker` can write it, if it has it at `now` or has requested it. A waiting worker writes once, even if others
    /// wait already.
    fn comes(&self, worker: usize, now: f64) -> Option<f64> {
        let Held { from, until, .. } = self.held[worker];
        (now < until || now <= from).then(|| now.max(from))
    }

    /// Whether it is on the way to another core, or there.
    fn is_elsewhere(&self, worker: usize) -> bool {
        self.last.is_some_and(|last| last != worker)
    }
}

#[derive(Default)]
struct Lock {
    taken: bool,
    marked: bool,
    asleep: VecDeque<usize>,
    polling: Vec<usize>,
}

struct Worker {
    at: usize,
    /// Counts waits, so that an event of an earlier one is recognised.
    wait: u64,
    /// Whether it has slept in this wait: it then marks the lock when it gets it.
    slept: bool,
    /// The line that it claimed last.
    claimed: usize,
}

struct Model<'a> {
    machine: &'a Machine,
    program: &'a Program,
    calendar: Calendar<Event>,
    rng: StdRng,
    lines: Vec<Line>,
    locks: Vec<Lock>,
    workers: Vec<Worker>,
    rounds: u64,
}

/// Rounds of the program per second, all `workers` together, in the long run.
pub(super) fn rounds_per_s(machine: &Machine, program: &Program, workers: usize, seed: u64) -> f64 {
    let mut model = Model {
        machine,
        program,
        calendar: Calendar::new(),
        rng: StdRng::seed_from_u64(seed),
        // A lock's word is a line of its own, after the others.
        lines: (0..program.lines + program.locks).map(|_| Line::new(workers)).collect(),
        locks: (0..program.locks).map(|_| Lock::default()).collect(),
        workers: (0..workers).map(|_| Worker { at: 0, wait: 0, slept: false, claimed: 0 }).collect(),
        rounds: 0,
    };
    for worker in 0..workers {
        let start = model.rng.random::<f64>() * 100.0;
        model.calendar.schedule(start, Event::Next(worker));
    }
    let warm = ROUNDS_WARM + 40 * workers as u64;
    let began = model.run_until(warm);
    let ended = model.run_until(warm + ROUNDS + 100 * workers as u64);
    let rounds = ROUNDS + 100 * workers as u64;
    rounds as f64 * 1e9 / (ended - began)
}

/// Rounds that are not counted, and that are, besides those for each worker.
const ROUNDS_WARM: u64 = 2_000;
const ROUNDS: u64 = if cfg!(test) { 3_000 } else { 10_000 };

impl Model<'_> {
    /// Lets the model run until `rounds` rounds are done; the time then.
    fn run_until(&mut self, rounds: u64) -> f64 {
        let mut now = 0.0;
        while self.rounds < rounds {
            let Some((at, event)) = self.calendar.next() else { break };
            now = at;
            match event {
                Event::Next(worker) => self.step(worker, now),
                Event::Look(worker, wait) if self.workers[worker].wait == wait => self.look(worker, now),
                Event::Tired(worker, wait) if self.workers[worker].wait == wait => self.sleep(worker, now),
                Event::Look(..) | Event::Tired(..) => {}
            }
        }
        now
    }

    fn step(&mut self, worker: usize, now: f64) {
        let at = self.workers[worker].at;
        let Some(&step) = self.program.steps.get(at) else {
            self.rounds += 1;
            self.workers[worker].at = 0;
            self.calendar.schedule(now, Event::Next(worker));
            return;
        };
        let mut next = at + 1;
        let done = match step {
            Step::Work(ns) => now + ns * (0.8 + 0.4 * self.rng.random::<f64>()),
            Step::Write(line) => self.write(line, worker, now),
            Step::Clock => {
                self.look_ahead(worker, at + 1, now);
                now
            }
            Step::ClaimOneOf(first, count) => {
                let line = first + self.rng.random_range(0..count);
                self.workers[worker].claimed = line;
                self.claim(line, worker, now)
            }
            Step::Release => self.write(self.workers[worker].claimed, worker, now),
            Step::WriteBeside(lock) => self.write_word(lock, worker, now),
            Step::OnceIn(times, steps) => {
                if self.rng.random_range(0..times) != 0 {
                    next += steps;
                }
                now
            }
            Step::Lock(lock) => return self.lock(lock, worker, now),
            Step::TryLock(lock, steps) => {
                if !self.locks[lock].taken {
                    self.locks[lock].taken = true;
                } else {
                    next += steps;
                }
                self.write(self.word_of(lock), worker, now)
            }
            Step::Unlock(lock) => self.unlock(lock, worker, now),
        };
        self.workers[worker].at = next;
        self.calendar.schedule(done, Event::Next(worker));
    }

    /// When `worker` may write `line`, if it comes to it at `now`.
    fn write(&mut self, line: usize, worker: usize, now: f64) -> f64 {
        let comes = self.lines[line].comes(worker, now);
        let at = comes.unwrap_or_else(|| self.request(line, worker, now));
        self.lines[line].held[worker].busy = at + self.machine.core.hold;
        at
    }

    /// Requests `line`, which `worker` neither has nor awaits; returns when it arrives. A request that has to queue has arrived long
    /// before the owner gets the line.
    fn request(&mut self, line: usize, worker: usize, now: f64) -> f64 {
        let machine = self.machine;
        let line = &mut self.lines[line];
        let from = match line.last {
            Some(owner) if owner != worker => {
                let transfer = machine.transfer_ns(owner, worker);
                let owned = &mut line.held[owner];
                owned.until = owned.from.max(owned.busy).max(now + machine.core.request * transfer);
                owned.until + (1.0 - machine.core.request) * transfer
            }
            _ => now,
        };
        line.last = Some(worker);
        line.held[worker] = Held { from, until: f64::INFINITY, busy: f64::NEG_INFINITY };
        from
    }

    /// Requests the lines that `worker` will write between step `from` and the next reading of the clock. It does not know which
    /// shard it will need.
    fn look_ahead(&mut self, worker: usize, from: usize, now: f64) {
        let steps = &self.program.steps;
        let mut at = from;
        while at < from + steps.len() {
            let line = match steps[at % steps.len()] {
                Step::Clock | Step::ClaimOneOf(..) => return,
                Step::Write(line) => Some(line),
                Step::Lock(lock) | Step::TryLock(lock, _) | Step::Unlock(lock) | Step::WriteBeside(lock) => {
                    Some(self.word_of(lock))
                }
                Step::OnceIn(_, rare) => {
                    at += rare;
                    None
                }
                Step::Work(_) | Step::Release => None,
            };
            at += 1;
            if let Some(line) = line.filter(|&line| self.lines[line].comes(worker, now).is_none()) {
                self.request(line, worker, now);
            }
        }
    }

    /// When `worker` has the line of a shard and what follows from it.
    fn claim(&mut self, line: usize, worker: usize, now: f64) -> f64 {
        let away = self.lines[line].is_elsewhere(worker);
        self.write(line, worker, now) + if away { self.machine.core.claim_more } else { 0.0 }
    }

    fn word_of(&self, lock: usize) -> usize {
        self.program.lines + lock
    }

    /// When its holder has written the word of a lock, or something beside it. Those that poll hold copies of the line, which
    /// must go first; until their next request arrives the holder can go on writing.
    fn write_word(&mut self, lock: usize, worker: usize, now: f64) -> f64 {
        let word = self.word_of(lock);
        let Some(&other) = self.locks[lock].polling.first() else {
            return self.write(word, worker, now);
        };
        let line = &mut self.lines[word];
        if now < line.held[worker].until && line.is_elsewhere(worker) {
            return now;
        }
        let transfer = self.machine.transfer_ns(other, worker);
        let done = now + transfer;
        let until = done + self.machine.core.request * transfer;
        line.last = Some(worker);
        line.held[worker] = Held { from: done, until, busy: done };
        done
    }

    /// The lock that `worker` is about to take.
    fn wanted(&self, worker: usize) -> usize {
        match self.program.steps[self.workers[worker].at] {
            Step::Lock(lock) => lock,
            other => unreachable!("a worker waits at {other:?}"),
        }
    }

    fn lock(&mut self, lock: usize, worker: usize, now: f64) {
        let done = self.write(self.word_of(lock), worker, now);
        self.workers[worker].slept = false;
        let state = &self.locks[lock];
        if !state.taken && !state.marked {
            return self.take(lock, worker, done);
        }
        self.poll(lock, worker, done);
    }

    fn take(&mut self, lock: usize, worker: usize, now: f64) {
        let state = &mut self.locks[lock];
        state.taken = true;
        // Who has slept cannot know whether others still do.
        state.marked |= self.workers[worker].slept;
        state.polling.retain(|&other| other != worker);
        let own = &mut self.workers[worker];
        own.wait += 1;
        own.at += 1;
        self.calendar.schedule(now, Event::Next(worker));
    }

    /// Polls while the lock is taken and unmarked; otherwise looks at once.
    fn poll(&mut self, lock: usize, worker: usize, now: f64) {
        let wait = self.workers[worker].wait;
        let poll = self.machine.waiting.poll;
        if self.locks[lock].taken && !self.locks[lock].marked {
            self.locks[lock].polling.push(worker);
            self.calendar.schedule(now + POLLS_MAX * poll, Event::Tired(worker, wait));
        } else {
            self.calendar.schedule(now, Event::Look(worker, wait));
        }
    }

    /// After polling: takes the lock if it is free, goes to sleep if not.
    fn look(&mut self, worker: usize, now: f64) {
        let lock = self.wanted(worker);
        let done = self.write(self.word_of(lock), worker, now);
        if self.locks[lock].taken {
            return self.sleep(worker, done);
        }
        self.take(lock, worker, done);
    }

    /// Marks the lock and sleeps; those that poll see the mark and do the same.
    fn sleep(&mut self, worker: usize, now: f64) {
        let lock = self.wanted(worker);
        let wait = {
            let own = &mut self.workers[worker];
            own.wait += 1;
            own.slept = true;
            own.wait
        };
        if !self.locks[lock].taken {
            // It was left in the last moment.
            return self.calendar.schedule(now, Event::Look(worker, wait));
        }
        let poll = self.machine.waiting.poll;
        let state = &mut self.locks[lock];
        state.marked = true;
        state.polling.retain(|&other| other != worker);
        state.asleep.push_back(worker);
        for other in std::mem::take(&mut state.polling) {
            self.calendar.schedule(now + poll, Event::Look(other, self.workers[other].wait));
        }
    }

    /// Releases the lock; returns when the worker continues.
    fn unlock(&mut self, lock: usize, worker: usize, now: f64) -> f64 {
        let word = self.word_of(lock);
        let done = self.write_word(lock, worker, now);
        let waiting = self.machine.waiting;
        let state = &mut self.locks[lock];
        state.taken = false;
        if state.marked {
            state.marked = false;
            if let Some(sleeper) = state.asleep.pop_front() {
                let running = done + waiting.call + waiting.wake;
                self.calendar.schedule(running, Event::Look(sleeper, self.workers[sleeper].wait));
            }
            return done + waiting.call;
        }
        // A thread that polls first has its request at the line before one that comes now: the line brings it the lock.
        if !self.locks[lock].polling.is_empty() {
            let heir = self.locks[lock].polling.remove(0);
            self.locks[lock].taken = true;
            let poll = self.rng.random::<f64>() * waiting.poll;
            let got = done + self.machine.transfer_ns(worker, heir) + poll;
            let line = &mut self.lines[word];
            line.last = Some(heir);
            line.held[worker].until = done;
            line.held[heir] = Held { from: got, until: f64::INFINITY, busy: got };
            self.take(lock, heir, got);
        }
        done
    }
}

#[cfg(test)]
mod tests;
