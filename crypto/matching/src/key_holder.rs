//! The key-holder's role: decisions on batches. Administration of tenants and subjects is in `key_holder/tenants.rs`.

mod once;
mod scratch;
mod tenants;

use crate::job::Masked;
use crate::probe::SealedProbe;
use crate::tenant::{Admitted, Count, Tenant};
use crate::{EncryptedProbes, KeyHolderError, Lane, LaneSet, MatchJob, ProbeJob, TenantId, Vault};
use arc_swap::{ArcSwap, Guard};
use once::Once;
pub use once::SEALED_LIFE_S;
use scratch::Threads;
use std::collections::HashMap;
use std::sync::Arc;
pub use tenants::Status;
use trefoil_bfv::{Decryptor, LANES, Opened, Share};
use trefoil_split::OpeningKey;

/// The holder of the keys, thresholds and attempt budgets. Shared between threads by reference.
///
/// Memory is proportional to the subjects enrolled, about 300 bytes each, and 128 KiB per tenant. A batch takes no lock and writes no memory
/// that a batch with other subjects reads: tenants are a snapshot, subjects a map that is read without a lock, attempts a ledger for
/// each template, and scratch memory and counts belong to the thread.
pub struct KeyHolder {
    vault: Arc<dyn Vault>,
    opening: OpeningKey,
    tenants: ArcSwap<HashMap<TenantId, Arc<Tenant>>>,
    threads: Threads,
    /// Sealed shares that have been opened.
    opened: Once,
}

/// One bit per lane. A lane that failed and one that is empty are 0: they look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions(LaneSet);

impl Decisions {
    /// Decisions as received from a remote key-holder.
    pub fn from_lanes(accepted: LaneSet) -> Decisions {
        Decisions(accepted)
    }

    /// Whether the probe in `lane` matched.
    pub fn accepted(self, lane: Lane) -> bool {
        self.0.contains(lane)
    }

    /// The lanes whose probe matched.
    pub fn lanes(self) -> LaneSet {
        self.0
    }
}

/// The tenants at one moment.
type Tenants = Guard<Arc<HashMap<TenantId, Arc<Tenant>>>>;

impl KeyHolder {
    /// Decides every lane of `job`. `now` is in unix seconds.
    ///
    /// An attempt and a failure are charged to each lane, and the attempt is on record, before anything is decrypted. A match
    /// refunds it, and no answer is given before its failure is on record. A job that does not come from an honest matcher is counted, ends all
    /// that are in flight with it, and the third freezes the tenant until an operator resets the count.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane could be decided.
    pub fn decide(&self, job: &MatchJob, now: u64) -> Result<Decisions, KeyHolderError> {
        job.check_subjects().map_err(|_| KeyHolderError::Subjects)?;
        let tenants = self.tenants();
        let tenant = known(&tenants, &job.tenant)?;
        let version = match &job.masked {
            _ if job.masked.structure() != tenant.structure() => return Err(KeyHolderError::Structure),
            Masked::Plain(stamp, _) => Some(stamp.version),
            Masked::Quorum(..) => return Err(KeyHolderError::forbidden("the batch is masked for a quorum")),
            Masked::Product(_) => None,
        };
        let vault = &*self.vault;
        let admitted = tenant.admit(vault, job, version, now)?;
        let occupied = job.occupied();
        tenant.counts.add(Count::Attempts, occupied.len());
        let matched = self.threads.scratch(|scratch| compare(&mut scratch.decryptor, &admitted, job));
        wipe_stack();
        let settled = tenant.settle(vault, &admitted, matched);
        let accepted = settled.as_ref().map_or(0, |accepted| accepted.len());
        tenant.counts.add(Count::Failures, occupied.len() - accepted);
        settled.map(Decisions)
    }

    /// Opens the sealed shares of a batch of probes and encrypts them under the tenant's key. A share opens once, and
    /// within [`SEALED_LIFE_S`] of the second that its device sealed it. Decides and charges nothing.
    ///
    /// # Errors
    /// [`KeyHolderError`] when tenant or subjects are unknown, a subject has no attempt left, the tenant has a key per subject or is
    /// frozen, or shares do not open.
    pub fn encrypt_probes(&self, job: &ProbeJob, now: u64) -> Result<EncryptedProbes, KeyHolderError> {
        let tenants = self.tenants();
        let tenant = known(&tenants, &job.tenant)?;
        let epoch = tenant.check(&job.subjects(), job.epoch, job.model, now)?;
        let key = epoch.tenant_key().ok_or(KeyHolderError::Structure)?;
        if job.occupied().is_empty() {
            return Err(KeyHolderError::Subjects);
        }
        let shares = self.open_all(job, now)?;
        let shares: Vec<(usize, &Share)> = shares.iter().map(|(lane, share)| (*lane, share)).collect();
        let ciphertexts = self.threads.scratch(|scratch| key.encrypt_probes(&shares, &mut scratch.rng));
        wipe_stack();
        Ok(EncryptedProbes { occupied: job.occupied(), ciphertexts })
    }

    /// The shares of a batch, each of which is used now if all open.
    fn open_all(&self, job: &ProbeJob, now: u64) -> Result<Vec<(usize, Share)>, KeyHolderError> {
        let mut shares: Vec<(usize, Share)> = Vec::with_capacity(LANES);
        let mut refused = LaneSet::EMPTY;
        for (lane, probe) in job.lanes() {
            let context = probe.sealed_for.context(&job.tenant, &probe.handle);
            match self.opening.open(&context, &probe.sealed) {
                Ok(share)
                    if share.width() == job.model.width()
                        && self.opened.is_fresh(probe.sealed_for.issued_at, now) =>
                {
                    shares.push((lane.index(), share));
                }
                _ => _ = refused.insert(lane),
            }
        }
        if !refused.is_empty() {
            return Err(KeyHolderError::SealedShares(refused));
        }
        let newest = job.lanes().map(|(_, probe)| probe.sealed_for.issued_at).max();
        self.opened.note(&*self.vault, newest.unwrap_or(0))?;
        let first = |(_, probe): &(Lane, &SealedProbe)| {
            self.opened.first(&job.tenant, &probe.sealed, probe.sealed_for.issued_at, now)
        };
        let (used, repeated): (Vec<_>, Vec<_>) = job.lanes().partition(first);
        if repeated.is_empty() {
            return Ok(shares);
        }
        used.iter().for_each(|(_, probe)| self.opened.forget(&job.tenant, &probe.sealed));
        for (lane, _) in &repeated {
            refused.insert(*lane);
        }
        Err(KeyHolderError::SealedShares(refused))
    }

    pub(crate) fn vault(&self) -> &dyn Vault {
        &*self.vault
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(crate) fn tenants(&self) -> Tenants {
        self.tenants.load()
    }
}

/// The tenant of this name.
pub(crate) fn known<'a>(tenants: &'a Tenants, id: &TenantId) -> Result<&'a Tenant, KeyHolderError> {
    tenants.get(id).map(|tenant| &**tenant).ok_or(KeyHolderError::UnknownTenant)
}

/// The lanes whose score reaches the threshold, or none if the job does not come from an honest matcher. In a stack frame of its own, so
/// that scores left on the stack are below the caller's frame.
#[inline(never)]
fn compare(decryptor: &mut Decryptor, admitted: &Admitted, job: &MatchJob) -> Option<LaneSet> {
    let (vouched, opened) = match (&job.masked, admitted.tag_key(), admitted.epoch().tenant_key()) {
        // Decrypts regardless of the tag, so that the time of a refusal does not reveal its reason.
        (Masked::Plain(stamp, batch), Some(key), _) => {
            let [tag] = &stamp.tags;
            (key.vouches(batch, tag), decryptor.decrypt(admitted.keys(), batch))
        }
        (Masked::Product(product), _, Some(key)) => (true, decryptor.decrypt_product(key, product)),
        // A different key structure was refused before, and no key here would open it.
        _ => return None,
    };
    let honest = vouched & opened.within_band() & nothing_stray(&opened, job);
    honest.then_some(reached(&opened, job.threshold))
}

/// The lanes whose score reaches the threshold.
pub(crate) fn reached(opened: &Opened, threshold: i32) -> LaneSet {
    let scores = opened.scores().iter().rev();
    LaneSet::from_bits(scores.fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold)))
}

/// Whether lanes without a subject decrypt to nothing. Occupied lanes cannot be checked: every residue modulo 65537 is a possible score.
pub(crate) fn nothing_stray(opened: &Opened, job: &MatchJob) -> bool {
    let empty = opened.scores().iter().zip(&job.subjects).filter(|(_, subject)| subject.is_none());
    empty.fold(0, |bits, (score, _)| bits | score) == 0
}

/// Words of stack that a decryption may reach: 16 KiB, twice what was seen.
const STACK_WORDS: usize = 2048;

/// Overwrites data that the caller's callees have left on the stack. Named scores and keys are wiped elsewhere; this is
/// for copies that the compiler made. Without it they spread: the padding of the next object that is moved to the heap
/// is copied from the stack.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut below = [1u64; STACK_WORDS];
    below.fill(0);
    zeroize::optimization_barrier(&below);
}

#[cfg(test)]
mod tests;
