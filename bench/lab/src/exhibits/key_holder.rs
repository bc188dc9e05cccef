//! The key-holder's former state behind locks, around the present arithmetic.
//!
//! A batch took, besides a lock at enrolment that is not here: a process-wide `RwLock<HashMap<TenantId, Arc<Tenant>>>`, read, with
//! one more count of the tenant's `Arc`; the tenant's `Mutex`, twice: to look 32 subjects up by name and charge them, and to
//! settle them by their places; and a `Mutex<Vec<Decryptor>>`, twice: to take scratch memory and to put it back. None was held
//! during arithmetic. The standard library's locks, as then. Nothing is written to a vault, and budgets are counted but not limited.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "the locks are the exhibit: their cost is the result")]
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use trefoil_bfv::{Decryptor, LANES, MaskedBatch, Opened, Scheme, SubjectKey, Tag};
use trefoil_matching::{AttemptRecord, Handle, Lane, LaneSet, MatchJob, TenantId};

#[cfg(test)]
use super::census;
use crate::Failure;
use crate::opener::{Keys, OpenVault};

type Name = (Handle, u32);

/// See the module.
pub struct LockedKeyHolder {
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    tenants: RwLock<HashMap<TenantId, Arc<Tenant>>>,
    /// Idle scratch memory: as many as batches were ever decrypted at the same time.
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    decryptors: Mutex<Vec<Decryptor>>,
}

struct Tenant {
    tag_key: trefoil_bfv::TagKey,
    threshold: i32,
    #[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
    state: Mutex<State>,
}

/// Subjects by name, which is looked up once, and by place.
#[derive(Default)]
struct State {
    places: HashMap<Name, usize, BuildHasherDefault<FirstBytes>>,
    subjects: Vec<Subject>,
}

struct Subject {
    lane: Lane,
    key: SubjectKey,
    attempts: AttemptRecord,
}

/// A batch as this key-holder takes it.
pub struct Job {
    tenant: TenantId,
    subjects: [Option<Name>; LANES],
    tag: Tag,
    batch: MaskedBatch,
}

impl Job {
    /// The batch of `job`, read from the bytes that would go to a remote key-holder.
    ///
    /// # Errors
    /// When it is not one under keys per subject.
    pub fn of(job: &MatchJob) -> Result<Job, Failure> {
        let (scheme, bytes) = (Scheme::shared(), job.to_bytes());
        let short = || Failure::fault("the job is shorter than its ciphertext");
        let header = bytes.len().checked_sub(scheme.masked_bytes()).ok_or_else(short)?;
        let (header, batch) = bytes.split_at(header);
        let tag =
            header.len().checked_sub(Tag::BYTES).and_then(|from| header.get(from..)).ok_or_else(short)?;
        Ok(Job {
            tenant: job.tenant,
            subjects: job.subjects,
            tag: Tag::from_bytes(scheme, tag).map_err(Failure::in_step("tag"))?,
            batch: MaskedBatch::from_bytes(scheme, batch).map_err(Failure::in_step("masked batch"))?,
        })
    }

    /// Whether no template is in two lanes. The first bytes tell handles apart.
    fn is_well_formed(&self) -> bool {
        let mut prefixes: [u64; LANES] = std::array::from_fn(|lane| lane as u64);
        for (prefix, (handle, _)) in prefixes.iter_mut().zip(self.subjects.iter().flatten()) {
            *prefix = first_word(handle.as_bytes());
        }
        prefixes.sort_unstable();
        prefixes.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// A batch whose subjects are known and charged.
struct Admitted {
    keys: [Option<SubjectKey>; LANES],
    places: [Option<usize>; LANES],
}

impl LockedKeyHolder {
    /// The key-holder over the records of `vault` for `tenant`.
    ///
    /// # Errors
    /// When the vault does not know the tenant.
    pub fn of(vault: &OpenVault, tenant: &TenantId, threshold: i32) -> Result<Self, Failure> {
        let keys = Keys::of(vault, tenant)?;
        let mut state = State::default();
        for (name, lane, key) in keys.into_subjects(vault, tenant)? {
            state.places.insert(name, state.subjects.len());
            state.subjects.push(Subject { lane, key, attempts: AttemptRecord::default() });
        }
        let tag_key = Keys::tag_key(vault, tenant)?;
        let tenants =
            HashMap::from([(*tenant, Arc::new(Tenant { tag_key, threshold, state: state.into() }))]);
        Ok(LockedKeyHolder { tenants: tenants.into(), decryptors: Vec::new().into() })
    }

    /// Decides every lane of `job`; none if the job is not an honest matcher's.
    pub fn decide(&self, job: &Job, now: u64) -> Option<LaneSet> {
        let tenant = self.tenant(&job.tenant)?;
        if !job.is_well_formed() {
            return None;
        }
        let admitted = locked(&tenant.state).admit(job, now)?;
        let matched = self.compare(&tenant, &admitted, job);
        wipe_stack();
        Some(locked(&tenant.state).settle(&admitted, matched?, now))
    }

    fn tenant(&self, id: &TenantId) -> Option<Arc<Tenant>> {
        #[cfg(test)]
        census::locked();
        self.tenants.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    #[inline(never)]
    fn compare(&self, tenant: &Tenant, admitted: &Admitted, job: &Job) -> Option<LaneSet> {
        let idle = locked(&self.decryptors).pop();
        let mut decryptor = idle.unwrap_or_else(|| Decryptor::new(Scheme::shared()));
        let vouched = tenant.tag_key.vouches(&job.batch, &job.tag);
        let opened = decryptor.decrypt(admitted.keys.iter().flatten(), &job.batch);
        locked(&self.decryptors).push(decryptor);
        let honest = vouched & opened.within_band() & nothing_stray(&opened, job);
        let scores = opened.scores().iter().rev();
        let bits = scores.fold(0, |bits, score| bits << 1 | u32::from(*score >= tenant.threshold));
        honest.then_some(LaneSet::from_bits(bits))
    }
}

impl State {
    /// Looks the subjects up by name, and charges each a failure.
    fn admit(&mut self, job: &Job, now: u64) -> Option<Admitted> {
        // All places before the first subject: none of these reads waits for another.
        let places = job.subjects.each_ref().map(|name| self.places.get(name.as_ref()?).copied());
        let mut keys = [const { None }; LANES];
        for lane in Lane::all().filter(|lane| job.subjects[lane.index()].is_some()) {
            let subject = &mut self.subjects[places[lane.index()]?];
            if subject.lane != lane {
                return None;
            }
            keys[lane.index()] = Some(subject.key.clone());
            charge(&mut subject.attempts, now);
        }
        Some(Admitted { keys, places })
    }

    /// Refunds the failures of lanes that matched.
    fn settle(&mut self, admitted: &Admitted, matched: LaneSet, now: u64) -> LaneSet {
        let mut accepted = LaneSet::EMPTY;
        for lane in matched.iter() {
            let Some(place) = admitted.places[lane.index()] else { continue };
            refund(&mut self.subjects[place].attempts, now);
            accepted.insert(lane);
        }
        accepted
    }
}

const SECONDS_PER_DAY: u64 = 86_400;

fn charge(record: &mut AttemptRecord, now: u64) {
    let day = now / SECONDS_PER_DAY;
    if record.day != day {
        (record.day, record.day_failures, record.day_attempts) = (day, 0, 0);
    }
    record.consecutive += 1;
    record.day_failures += 1;
    record.day_attempts += 1;
    record.generation_failures += 1;
    record.generation_attempts += 1;
}

fn refund(record: &mut AttemptRecord, now: u64) {
    record.consecutive = 0;
    record.retry_at = 0;
    record.generation_failures -= 1;
    if record.day == now / SECONDS_PER_DAY {
        record.day_failures -= 1;
    }
}

fn nothing_stray(opened: &Opened, job: &Job) -> bool {
    let empty = opened.scores().iter().zip(&job.subjects).filter(|(_, subject)| subject.is_none());
    empty.fold(0, |bits, (score, _)| bits | score) == 0
}

/// As the key-holder does after each batch, so that both sides pay for it.
#[inline(never)]
fn wipe_stack() {
    let mut below = [1u64; 2_048];
    below.fill(0);
    std::hint::black_box(&below);
}

#[expect(clippy::disallowed_types, reason = "the lock is the exhibit")]
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    census::locked();
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn first_word(handle: &[u8]) -> u64 {
    handle.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

/// Names are as evenly spread as digests: their first bytes are a hash, as the key-holder's table has it.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= first_word(bytes);
    }

    fn write_usize(&mut self, _: usize) {}

    fn write_u32(&mut self, generation: u32) {
        self.0 ^= u64::from(generation);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
