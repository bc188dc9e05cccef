//! An audit of the log of seals by an auditor that trusts only a trust root and its own record of earlier audits.
//!
//! The auditor keeps a [`Head`]: the number of seals that it has seen, the digest of the last, and the right edge of the tree over
//! them. An audit continues from there and checks of every seal the three signatures, the number, the chain and the root that it commits
//! to. A log that was cut, or that shows another history than before, does not pass. Nor does a log whose seals show an older copy
//! of a key-holder's vault than seals before them, unless the vault itself says that its operator accepted one. A log that continues from a
//! backup says so in every seal. It passes, and the audit reports which seals it lost (see [`restorations`]).
//!
//! Pruned seals have only their headers. A later seal of the same keys must sign the log that contains them.

use std::convert::Infallible;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::{Hash, verify_consistency};
use trefoil_attest::witness::Checkpoint;
use trefoil_attest::{Last, LogEntry, Restoration, SealHeader, TrustRoot, VAULTS_MAX, VaultState};

mod decided;
mod error;
mod notice;
mod restorations;
mod signers;
mod stored;
mod vaults;

pub use decided::{Decided, Verdicts};
pub use error::AuditError;
pub use notice::Notice;
use restorations::Marks;
use signers::Signers;
pub use vaults::Vaults;

/// The source of the seals.
pub trait Source {
    /// The number of the newest seal; `None` if nothing has been sealed.
    fn newest(&self) -> Result<Option<u64>, String>;
    /// The bytes of a seal, or of the header of one that was pruned.
    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String>;
    /// The largest head that witnesses have cosigned, a note, if there is one.
    fn checkpoint(&self) -> Result<Option<String>, String>;
    /// A consistency proof between two sizes, where the source offers proofs.
    fn consistency(&self, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, String>;
}

/// The auditor's record of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The tree over all seals seen.
    pub log: Frontier,
    /// Digest of the last of them.
    pub last: [u8; 32],
    /// The root of the log that the last of them signs: all seals before it.
    pub signed: Option<(u64, Hash)>,
    /// The states of the key-holders' vaults in them.
    pub vaults: Vaults,
    /// The state with which restorations are compared.
    pub end: Option<Last>,
    /// Every restoration of the log so far, oldest first.
    pub restorations: Vec<Restoration>,
    /// Earlier positions in the log.
    marks: Marks,
}

/// A log that passed.
#[derive(Debug)]
pub struct Audited {
    /// The record after this audit.
    pub head: Head,
    /// The first seal that was checked. It is below the number seen before if the log was restored.
    pub from: u64,
    /// Further findings for the auditor.
    pub notices: Vec<Notice>,
}

/// Audits all seals that `source` has beyond `seen`. `checkpoint` is a head that enough witnesses have cosigned: it must
/// lie between the head seen before and the one signed now, and be on this log.
pub fn audit(
    source: &dyn Source,
    trust_root: &TrustRoot,
    seen: &Head,
    checkpoint: Option<&Checkpoint>,
) -> Result<Audited, AuditError> {
    audit_each(source, trust_root, seen, checkpoint, &mut |_| ())
}

/// As [`audit`]; `each` gets the header of every seal that is checked, and may believe it if the log passes.
pub fn audit_each(
    source: &dyn Source,
    trust_root: &TrustRoot,
    seen: &Head,
    checkpoint: Option<&Checkpoint>,
    each: &mut dyn FnMut(&SealHeader),
) -> Result<Audited, AuditError> {
    let newest = source.newest().map_err(AuditError::Source)?;
    let found = newest.map_or(0, |number| number.saturating_add(1));
    let mut notices = Vec::new();
    let lost = match same_history(source, seen, found) {
        Ok(()) => None,
        Err(other @ (AuditError::Truncated { .. } | AuditError::Forked(_))) => {
            Some(restorations::go_back(source, trust_root, seen, found)?.ok_or(other)?)
        }
        Err(cause) => return Err(cause),
    };
    let start = lost.as_ref().map_or(seen, |lost| &lost.start);
    let before = start.log.size();
    check_checkpoint(checkpoint, trust_root, before, found.saturating_sub(1))?;
    let mut head = start.clone();
    if let Some(last) = before.checked_sub(1).filter(|_| before == found) {
        // No new seal is under these keys, so the last one must be: the one seen before may have been under another trust root.
        Signers::default().follow(last, &fetch(source, last)?, trust_root)?;
    }
    let (mut signers, mut number, mut found) = (Signers::default(), before, found);
    while number < found {
        compare(checkpoint, &head)?;
        let entry = fetch(source, number)?;
        signers.follow(number, &entry, trust_root)?;
        head.follow(number, entry.header())?;
        lost.as_ref().map_or(Ok(()), |lost| lost.passes(&head))?;
        head.vaults.follow(number, &entry.header().vaults, &mut notices)?;
        each(entry.header());
        number += 1;
        // The seal that was newest when the audit began may have been pruned meanwhile; a newer one signs for it.
        if number == found && signers.wait_for_one() {
            found =
                source.newest().map_err(AuditError::Source)?.map_or(found, |newest| newest.saturating_add(1));
        }
    }
    notices.extend(signers.finish()?);
    compare(checkpoint, &head)?;
    check_proof(source, start, &head)?;
    if let Some(lost) = &lost {
        lost.finish(seen, &head, &mut notices)?;
    }
    head.marks.put(head.log.size(), head.last);
    Ok(Audited { head, from: before, notices })
}

/// Whether `source` still has the seals that were seen.
fn same_history(source: &dyn Source, seen: &Head, found: u64) -> Result<(), AuditError> {
    let before = seen.log.size();
    if found < before {
        return Err(AuditError::Truncated { seen: before, found });
    }
    match before.checked_sub(1) {
        Some(last) if fetch(source, last)?.header().digest() != seen.last => Err(AuditError::Forked(last)),
        _ => Ok(()),
    }
}

fn fetch(source: &dyn Source, number: u64) -> Result<LogEntry, AuditError> {
    let bytes = source.entry(number).map_err(AuditError::Source)?.ok_or(AuditError::Missing(number))?;
    LogEntry::decode(&bytes).map_err(|cause| AuditError::Seal { number, cause: cause.to_string() })
}

fn check_checkpoint(
    checkpoint: Option<&Checkpoint>,
    trust_root: &TrustRoot,
    seen: u64,
    signed: u64,
) -> Result<(), AuditError> {
    let Some(Checkpoint { origin, size, .. }) = checkpoint else { return Ok(()) };
    if origin != trust_root.issuer() {
        return Err(AuditError::CheckpointOrigin(origin.clone()));
    }
    match (seen..=signed).contains(size) {
        true => Ok(()),
        false => Err(AuditError::CheckpointAge { size: *size, seen, signed }),
    }
}

fn compare(checkpoint: Option<&Checkpoint>, head: &Head) -> Result<(), AuditError> {
    let Some(Checkpoint { size, root, .. }) = checkpoint else { return Ok(()) };
    if *size != head.log.size() || *root == head.log.root() {
        return Ok(());
    }
    // The log of `size` seals ends with seal `size - 1`.
    match head.restorations.iter().find(|restored| restored.first < *size) {
        Some(&Restoration { first, time }) => Err(AuditError::WitnessedLost { size: *size, first, time }),
        None => Err(AuditError::Witnessed(*size)),
    }
}

/// If a source offers a proof, it must verify.
fn check_proof(source: &dyn Source, seen: &Head, head: &Head) -> Result<(), AuditError> {
    let old_size = seen.log.size();
    let Some((size, root)) = head.signed else { return Ok(()) };
    if old_size == 0 || size < old_size {
        return Ok(());
    }
    let Some(proof) = source.consistency(old_size, size).map_err(AuditError::Source)? else { return Ok(()) };
    match verify_consistency(old_size, &seen.log.root(), size, &root, &proof) {
        true => Ok(()),
        false => Err(AuditError::Consistency { old_size, size }),
    }
}

impl Head {
    fn follow(&mut self, number: u64, header: &SealHeader) -> Result<(), AuditError> {
        if header.seal_number != number {
            let cause = format!("it has the number {}", header.seal_number);
            return Err(AuditError::Seal { number, cause });
        }
        if header.previous != self.last {
            return Err(AuditError::Chain(number));
        }
        if header.log_root != self.log.root() {
            return Err(AuditError::LogRoot(number));
        }
        if !Restoration::follows(self.end, header) {
            return Err(AuditError::Restoration(number));
        }
        if let Some(restored) = header.restored.filter(|restored| restored.first == number) {
            self.restorations.push(restored);
            if self.restorations.len() > restorations::RESTORATIONS_MAX {
                return Err(AuditError::TooOften);
            }
        }
        self.end = Some(Last::of(header));
        self.signed = Some((number, header.log_root));
        self.last = header.digest();
        self.log.push(&self.last);
        self.marks.pass(self.log.size(), self.last);
        Ok(())
    }

    /// The head that the issuer has signed, for witnesses; `None` before the second seal.
    pub fn checkpoint(&self, issuer: &str) -> Option<Checkpoint> {
        let (size, root) = self.signed.filter(|(size, _)| *size > 0)?;
        Some(Checkpoint { origin: issuer.to_owned(), size, root })
    }

    /// The form in which an auditor keeps it until the next audit.
    pub fn kept(&self) -> KeptHead {
        KeptHead {
            seals: self.log.size(),
            last: self.last,
            signed_root: self.signed.map(|(_, root)| root),
            nodes: self.log.roots().to_vec(),
            vaults: self.vaults.0.clone(),
            sealed_at: self.end.map(|end| end.time),
            restorations: self.restorations.clone(),
            marks: self.marks.kept(),
        }
    }
}

/// A [`Head`] as it is stored. Its parts are not yet checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHead {
    /// Seals seen.
    pub seals: u64,
    /// Digest of the last of them.
    pub last: [u8; 32],
    /// The root that it signs.
    pub signed_root: Option<Hash>,
    /// The right edge of the tree over all seals seen.
    pub nodes: Vec<Hash>,
    /// The states of the key-holders' vaults in them.
    pub vaults: Vec<Option<VaultState>>,
    /// When the last seal was made, Unix seconds.
    pub sealed_at: Option<u64>,
    /// Every restoration of the log.
    pub restorations: Vec<Restoration>,
    /// Sizes, and the digest of the last seal of each.
    pub marks: Vec<(u64, [u8; 32])>,
}

impl TryFrom<KeptHead> for Head {
    type Error = String;

    fn try_from(kept: KeptHead) -> Result<Head, String> {
        let KeptHead { seals, last, signed_root, nodes, vaults, sealed_at, restorations, marks } = kept;
        if nodes.len() != seals.count_ones() as usize || signed_root.is_some() != (seals > 0) {
            return Err(format!("{} nodes do not belong to {seals} seals", nodes.len()));
        }
        let mut nodes = nodes.into_iter();
        let next = |_, _| Ok::<_, Infallible>(nodes.next().unwrap_or_default());
        let Ok(log) = Frontier::load(seals, next);
        if vaults.len() > VAULTS_MAX {
            return Err(format!("{} vaults, at most {VAULTS_MAX} are known", vaults.len()));
        }
        if restorations.len() > restorations::RESTORATIONS_MAX || sealed_at.is_some() != (seals > 0) {
            return Err("its restorations do not belong to its seals".to_owned());
        }
        Ok(Head {
            log,
            last,
            signed: signed_root.map(|root| (seals - 1, root)),
            vaults: Vaults(vaults),
            end: sealed_at.map(|time| Last { time, restored: restorations.last().copied() }),
            restorations,
            marks: Marks::of(marks, seals)?,
        })
    }
}

#[cfg(test)]
mod tests;
