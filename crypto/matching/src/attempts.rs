//! Attempt budgets: how often a template was tried, and how often it may be tried.
//!
//! The ledger bounds a malicious gateway. Each answer is one bit per lane, so whatever such a gateway sends, its information about
//! a subject is at most what the answers within the subject's budget can carry ([`crate::bits_per_generation`]). Hence every
//! attempt is counted, including matches, and is on record before anything is decrypted.

#![expect(
    clippy::disallowed_methods,
    reason = "a subject's own words, which two batches share only when both ask about this subject; a budget cannot be counted separately"
)]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use trefoil_types::AttemptPolicy;

const SECONDS_PER_DAY: u64 = 86_400;

/// Attempts that are put on record at a time. A crash forgets none of them and counts at most this many that were not made; in
/// return one login in 16 writes to the vault and not every one.
pub(crate) const RESERVED_AT_A_TIME: u32 = 16;

/// Malformed jobs that freeze a tenant until an operator resets the count. An honest matcher makes none.
pub const MALFORMED_MAX: u32 = 3;

/// Attempts on one template so far, as the vault keeps them across restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Failures in a row.
    pub consecutive: u32,
    /// Unix second before which every attempt is refused.
    pub retry_at: u64,
    /// The day (unix seconds / 86,400) that `day_failures` and `day_attempts` count.
    pub day: u64,
    /// Failures on `day`.
    pub day_failures: u32,
    /// Attempts on `day`, rounded up to what was reserved.
    pub day_attempts: u32,
    /// Failures in the life of this template generation.
    pub generation_failures: u32,
    /// Attempts in the life of this template generation, rounded up to what was reserved.
    pub generation_attempts: u32,
    /// Counts the records of a template. Of two, the higher one is newer.
    pub version: u64,
}

/// The attempts on one template in memory, which only batches with this template write. Both forms of a template that is being renewed
/// share one ledger.
///
/// Three words, each changed by compare-and-swap. An attempt is charged to all three or to none. Between two of the changes another
/// thread may see an attempt that is being taken back, and refuses one that it could have allowed: never the other way round.
pub(crate) struct Ledger {
    /// The generation under which the vault has the record: the newest form of the template.
    generation: AtomicU32,
    /// Day (24 bits), attempts (20) and failures (20) on it.
    today: AtomicU64,
    /// Attempts (high half) and failures (low half) of the generation.
    life: AtomicU64,
    /// Second before which attempts are refused (40 bits), failures in a row (24).
    row: AtomicU64,
    /// What is on record: the day (high half), and attempts of the generation.
    reserved: AtomicU64,
    version: AtomicU64,
    /// The template was shredded.
    closed: AtomicBool,
}

const DAY_COUNT_MAX: u32 = (1 << 20) - 1;
const ROW_MAX: u32 = (1 << 24) - 1;
const TIME_MAX: u64 = (1 << 40) - 1;

impl Ledger {
    /// The ledger of a record, which the vault has under `generation`.
    pub(crate) fn restore(record: &AttemptRecord, generation: u32) -> Ledger {
        let AttemptRecord { consecutive, retry_at, day, day_failures, day_attempts, .. } = *record;
        let AttemptRecord { generation_failures, generation_attempts, version, .. } = *record;
        Ledger {
            generation: generation.into(),
            today: Today { day, attempts: day_attempts, failures: day_failures }.packed().into(),
            life: Life { attempts: generation_attempts, failures: generation_failures }.packed().into(),
            row: Row { retry_at, failures: consecutive }.packed().into(),
            reserved: reserved(record).into(),
            version: version.into(),
            closed: false.into(),
        }
    }

    /// Whether an attempt at `now` would be within the budget.
    pub(crate) fn allows(&self, policy: &AttemptPolicy, now: u64) -> bool {
        let (today, life) = (Today::of(self.today.load(Relaxed)), Life::of(self.life.load(Relaxed)));
        let row = Row::of(self.row.load(Relaxed));
        today.charged(policy, now).is_some()
            && life.charged(policy).is_some()
            && row.charged(policy, now).is_some()
    }

    /// Counts an attempt in advance as a failure, if it is within the budget. Concurrent attempts therefore cannot exceed
    /// the budget together; a match refunds its failure with [`Ledger::matched`].
    pub(crate) fn charge(&self, policy: &AttemptPolicy, now: u64) -> bool {
        let today = self
            .today
            .fetch_update(Relaxed, Relaxed, |word| Some(Today::of(word).charged(policy, now)?.packed()));
        if today.is_err() {
            return false;
        }
        let life =
            self.life.fetch_update(Relaxed, Relaxed, |word| Some(Life::of(word).charged(policy)?.packed()));
        if life.is_err() {
            self.take_back_today(now, 1);
            return false;
        }
        let row = self
            .row
            .fetch_update(Relaxed, Relaxed, |word| Some(Row::of(word).charged(policy, now)?.packed()));
        if row.is_err() {
            self.take_back_today(now, 1);
            self.take_back_life(1);
        }
        row.is_ok()
    }

    /// Counts a renewal in advance as a failed attempt of the generation, if that is within the budget. A day and a row of failures are
    /// for logins: a subject that may not log in today is renewed anyway.
    pub(crate) fn charge_renewal(&self, policy: &AttemptPolicy) -> bool {
        self.life
            .fetch_update(Relaxed, Relaxed, |word| Some(Life::of(word).charged(policy)?.packed()))
            .is_ok()
    }

    /// Refunds the failure that a renewal was charged, but not the attempt: it came from an honest matcher.
    pub(crate) fn renewed(&self) {
        self.take_back_life(0);
    }

    /// Refunds an attempt that was charged at `now` for a batch that is not tried.
    pub(crate) fn uncharge(&self, now: u64) {
        self.take_back_today(now, 1);
        self.take_back_life(1);
        update(&self.row, |word| {
            let Row { failures, .. } = Row::of(word);
            Row { failures: failures.saturating_sub(1), retry_at: 0 }.packed()
        });
    }

    /// Refunds the failure that was counted at `now`, but not the attempt: it matched. Ends the row of failures.
    pub(crate) fn matched(&self, now: u64) {
        self.take_back_today(now, 0);
        self.take_back_life(0);
        self.row.store(0, Relaxed);
    }

    /// Refunds the failure that was counted at `now`, but not the attempt: nothing was decided.
    pub(crate) fn forgive(&self, now: u64) {
        self.take_back_today(now, 0);
        self.take_back_life(0);
        update(&self.row, |word| {
            let Row { failures, .. } = Row::of(word);
            Row { failures: failures.saturating_sub(1), retry_at: 0 }.packed()
        });
    }

    /// Ends a delay and forgets the failures of the day, and no attempt: what the generation has spent stays spent, so that all answers
    /// about it tell no more than before.
    pub(crate) fn reset(&self) {
        self.row.store(0, Relaxed);
        update(&self.today, |word| Today { failures: 0, ..Today::of(word) }.packed());
    }

    /// Whether there are failures in a row.
    pub(crate) fn has_row(&self) -> bool {
        self.row.load(Relaxed) != 0
    }

    /// Whether attempts were charged that are not on record. A template without an attempt limit needs no record.
    pub(crate) fn needs_reservation(&self, policy: &AttemptPolicy) -> bool {
        let (today, life) = (Today::of(self.today.load(Relaxed)), Life::of(self.life.load(Relaxed)));
        limits_attempts(policy) && today.day << 32 | u64::from(life.attempts) > self.reserved.load(Relaxed)
    }

    /// Records that `record` is in the vault.
    pub(crate) fn recorded(&self, record: &AttemptRecord) {
        self.reserved.fetch_max(reserved(record), Relaxed);
    }

    /// The record to write before an attempt that was charged is made. Whether it fails is not known yet: its failure is left out, and
    /// is written before the answer if it stays. Every call gives a newer record.
    pub(crate) fn reservation(&self) -> AttemptRecord {
        let record = self.record();
        AttemptRecord {
            consecutive: record.consecutive.saturating_sub(1),
            // An attempt was allowed, so an earlier delay is over.
            retry_at: 0,
            day_failures: record.day_failures.saturating_sub(1),
            generation_failures: record.generation_failures.saturating_sub(1),
            ..record
        }
    }

    /// The record to write. Every call gives a newer one.
    pub(crate) fn record(&self) -> AttemptRecord {
        let version = self.version.fetch_add(1, Relaxed) + 1;
        let Today { day, attempts, failures } = Today::of(self.today.load(Relaxed));
        let life = Life::of(self.life.load(Relaxed));
        let row = Row::of(self.row.load(Relaxed));
        let rounded =
            |attempts: u32| attempts.checked_next_multiple_of(RESERVED_AT_A_TIME).unwrap_or(u32::MAX);
        AttemptRecord {
            consecutive: row.failures,
            retry_at: row.retry_at,
            day,
            day_failures: failures,
            // What is reserved for the life may all be made today.
            day_attempts: attempts.saturating_add(rounded(life.attempts) - life.attempts),
            generation_failures: life.failures,
            generation_attempts: rounded(life.attempts),
            version,
        }
    }

    /// The generation under which the vault has the record.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// The template has a newer form; from now on the vault has the record under it.
    pub(crate) fn move_to(&self, generation: u32) {
        self.generation.store(generation, Relaxed);
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    fn take_back_today(&self, now: u64, attempts: u32) {
        update(&self.today, |word| {
            let mut today = Today::of(word);
            if today.day == now / SECONDS_PER_DAY {
                today.failures = today.failures.saturating_sub(1);
                today.attempts = today.attempts.saturating_sub(attempts);
            }
            today.packed()
        });
    }

    fn take_back_life(&self, attempts: u32) {
        update(&self.life, |word| {
            let Life { attempts: made, failures } = Life::of(word);
            Life { attempts: made.saturating_sub(attempts), failures: failures.saturating_sub(1) }.packed()
        });
    }
}

fn limits_attempts(policy: &AttemptPolicy) -> bool {
    policy.attempts_per_day != u32::MAX || policy.attempts_per_generation != u32::MAX
}

fn reserved(record: &AttemptRecord) -> u64 {
    record.day << 32 | u64::from(record.generation_attempts)
}

fn update(word: &AtomicU64, change: impl Fn(u64) -> u64) {
    // Never refused.
    let _ = word.fetch_update(Relaxed, Relaxed, |word| Some(change(word)));
}

#[derive(Clone, Copy)]
struct Today {
    day: u64,
    attempts: u32,
    failures: u32,
}

#[derive(Clone, Copy)]
struct Life {
    attempts: u32,
    failures: u32,
}

#[derive(Clone, Copy)]
struct Row {
    retry_at: u64,
    failures: u32,
}

impl Today {
    fn of(word: u64) -> Today {
        Today {
            day: word >> 40,
            attempts: (word >> 20) as u32 & DAY_COUNT_MAX,
            failures: word as u32 & DAY_COUNT_MAX,
        }
    }

    fn packed(self) -> u64 {
        let count = |count: u32| u64::from(count.min(DAY_COUNT_MAX));
        self.day.min((1 << 24) - 1) << 40 | count(self.attempts) << 20 | count(self.failures)
    }

    /// With one more failed attempt, if that is within the budget. A clock that runs backwards does not start a new day.
    fn charged(mut self, policy: &AttemptPolicy, now: u64) -> Option<Today> {
        let day = now / SECONDS_PER_DAY;
        if day > self.day {
            self = Today { day, attempts: 0, failures: 0 };
        }
        let within = |count: u32, limit: u32| limit >= DAY_COUNT_MAX || count < limit;
        let allowed =
            within(self.attempts, policy.attempts_per_day) && within(self.failures, policy.failures_per_day);
        allowed.then(|| Today { attempts: self.attempts + 1, failures: self.failures + 1, ..self })
    }
}

impl Life {
    fn of(word: u64) -> Life {
        Life { attempts: (word >> 32) as u32, failures: word as u32 }
    }

    fn packed(self) -> u64 {
        u64::from(self.attempts) << 32 | u64::from(self.failures)
    }

    fn charged(self, policy: &AttemptPolicy) -> Option<Life> {
        let within = |count: u32, limit: u32| limit == u32::MAX || count < limit;
        let allowed = within(self.attempts, policy.attempts_per_generation)
            && within(self.failures, policy.failures_per_generation);
        let Life { attempts, failures } = self;
        allowed.then(|| Life { attempts: attempts.saturating_add(1), failures: failures.saturating_add(1) })
    }
}

impl Row {
    fn of(word: u64) -> Row {
        Row { retry_at: word >> 24, failures: word as u32 & ROW_MAX }
    }

    fn packed(self) -> u64 {
        self.retry_at.min(TIME_MAX) << 24 | u64::from(self.failures.min(ROW_MAX))
    }

    fn charged(self, policy: &AttemptPolicy, now: u64) -> Option<Row> {
        let failures = (self.failures + 1).min(ROW_MAX);
        let retry_at = match failures >= policy.consecutive {
            true => now.saturating_add(policy.delay_s),
            false => self.retry_at,
        };
        (now >= self.retry_at).then_some(Row { retry_at, failures })
    }
}

#[cfg(test)]
mod tests;
