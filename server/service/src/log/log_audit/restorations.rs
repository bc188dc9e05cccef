//! Logs that continue from a backup: which seals of an auditor's head they have, and which were lost.
//!
//! If the log was restored, a head that it no longer extends is no proof of a fork. A restoration loses the
//! seals from its first number on that were sealed before its time ([`Restoration::lost_at`]). Seals *below* that number must still be in the
//! log. A head alone cannot show that, because it is one root over the whole log. So an auditor also keeps marks: earlier sizes of the
//! log, each with the digest of the last seal, which commits to all seals before it. The audit continues from the newest mark that the
//! restoration did not lose. A mark that must be in the log and is not is a fork.

use super::error::AuditError;
use super::notice::Notice;
use super::{Head, Source, fetch};
use std::convert::Infallible;
use trefoil_attest::log::Frontier;
use trefoil_attest::{Last, LogEntry, Restoration, TrustRoot, verify_seal};

/// Most restorations of one log that an auditor follows: one a week for 20 years.
pub(super) const RESTORATIONS_MAX: usize = 1024;
/// Most marks that are kept, which is enough for a log of any length.
const MARKS_MAX: usize = 128;
/// Seals between two marks of one audit.
const MARK_EVERY: u64 = 256;

/// Earlier positions in the log: ascending sizes, and the digest of the last seal of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(Vec<(u64, [u8; 32])>);

impl Marks {
    /// Passes the log of `size` seals, whose last seal has this digest.
    pub(super) fn pass(&mut self, size: u64, last: [u8; 32]) {
        if size.is_multiple_of(MARK_EVERY) {
            self.put(size, last);
        }
    }

    /// Keeps a mark. If there are too many, drops the one whose neighbours are closest to each other relative to their distance from the end.
    pub(super) fn put(&mut self, size: u64, last: [u8; 32]) {
        if size == 0 || self.0.last().is_some_and(|(newest, _)| *newest >= size) {
            return;
        }
        self.0.push((size, last));
        if self.0.len() > MARKS_MAX {
            let gap = |at: &usize| {
                let (before, after) = (self.0[at - 1].0, self.0[at + 1].0);
                u128::from(after - before) * u128::from(u32::MAX) / u128::from(size + 1 - self.0[*at].0)
            };
            let nearest = (1..self.0.len() - 1).min_by_key(gap);
            nearest.map(|at| self.0.remove(at));
        }
    }

    pub(super) fn kept(&self) -> Vec<(u64, [u8; 32])> {
        self.0.clone()
    }

    pub(super) fn of(kept: Vec<(u64, [u8; 32])>, seals: u64) -> Result<Marks, String> {
        let ascending = kept.is_sorted_by(|one, other| one.0 < other.0);
        let within = kept.iter().all(|(size, _)| (1..=seals).contains(size));
        match ascending && within && kept.len() <= MARKS_MAX {
            true => Ok(Marks(kept)),
            false => Err("its marks are not ascending sizes of the log".to_owned()),
        }
    }

    /// The newest mark of at most `size` seals.
    pub(super) fn newest_within(&self, size: u64) -> Option<(u64, [u8; 32])> {
        self.0.iter().rev().find(|(mark, _)| *mark <= size).copied()
    }
}

/// The state of an audit that had seen seals which are now lost.
pub(super) struct Lost {
    /// Where it continues.
    pub(super) start: Head,
    restored: Restoration,
    /// The mark that must be in the restored log.
    mark: Option<(u64, [u8; 32])>,
}

impl Lost {
    /// Refuses a log that does not have the mark.
    pub(super) fn passes(&self, head: &Head) -> Result<(), AuditError> {
        match self.mark {
            Some((size, digest)) if size == head.log.size() && digest != head.last => {
                Err(AuditError::Forked(size - 1))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a log without the restoration that was assumed. Otherwise reports the restoration, and vaults that went back
    /// with the log.
    pub(super) fn finish(
        &self,
        seen: &Head,
        head: &Head,
        notices: &mut Vec<Notice>,
    ) -> Result<(), AuditError> {
        let (restored, size) = (self.restored, seen.log.size());
        if !head.restorations.contains(&restored) {
            return Err(AuditError::Forked(size - 1));
        }
        let kept = self.mark.map_or(0, |(size, _)| size);
        notices.push(Notice::Lost { restored, seen: size, kept });
        if seen.vaults.0.len() != head.vaults.0.len() {
            return Ok(());
        }
        for (seat, (before, now)) in (1..).zip(seen.vaults.0.iter().zip(&head.vaults.0)) {
            if let (Some(before), Some(now)) = (*before, *now)
                && now.is_older_than(&before)
            {
                notices.push(Notice::VaultSetBack { seat, before, now });
            }
        }
        Ok(())
    }
}

/// Where an audit continues after a restoration lost seals that it had seen; `None` if no restoration explains the difference.
pub(super) fn go_back(
    source: &dyn Source,
    trust_root: &TrustRoot,
    seen: &Head,
    found: u64,
) -> Result<Option<Lost>, AuditError> {
    let (Some(end), Some(last), Some(newest)) =
        (seen.end, seen.log.size().checked_sub(1), found.checked_sub(1))
    else {
        return Ok(None);
    };
    let since = restorations_since(source, trust_root, newest, end)?;
    let losing = since.into_iter().filter(|restored| restored.lost_at(last, end));
    let Some(restored) = losing.min_by_key(|restored| restored.first) else { return Ok(None) };
    let mark = seen.marks.newest_within(restored.first);
    if let Some((size, digest)) = mark
        && fetch(source, size - 1)?.header().digest() != digest
    {
        return Err(AuditError::Forked(size - 1));
    }
    Ok(Some(Lost { start: cut(source, seen, mark.map_or(0, |(size, _)| size))?, restored, mark }))
}

/// The restorations of the log that are later than the last one in `end`, newest first. Each seal names the newest before it, so
/// the walk reads one seal for each. The audit that follows checks these seals again with all others.
fn restorations_since(
    source: &dyn Source,
    trust_root: &TrustRoot,
    newest: u64,
    end: Last,
) -> Result<Vec<Restoration>, AuditError> {
    let known = end.restored.map_or(0, |known| known.time);
    let LogEntry::Signed(seal) = fetch(source, newest)? else { return Err(AuditError::Unsigned(newest)) };
    verify_seal(&seal, trust_root)
        .map_err(|cause| AuditError::Seal { number: newest, cause: cause.to_string() })?;
    let mut header = seal.header;
    let mut restorations: Vec<Restoration> = Vec::new();
    while let Some(restored) = header.restored.filter(|restored| restored.time > known) {
        let earlier = |later: &Restoration| restored.time < later.time && restored.first < later.first;
        if restorations.len() == RESTORATIONS_MAX {
            return Err(AuditError::TooOften);
        }
        if !restorations.last().is_none_or(earlier) {
            return Err(AuditError::Restoration(header.seal_number));
        }
        restorations.push(restored);
        let Some(before) = restored.first.checked_sub(1) else { break };
        header = fetch(source, before)?.header().clone();
    }
    Ok(restorations)
}

/// The head as it was at `kept` seals or fewer: at the largest size whose right edge its own tree still has.
fn cut(source: &dyn Source, seen: &Head, kept: u64) -> Result<Head, AuditError> {
    let mut size = seen.log.size();
    while size > kept {
        size &= size - 1;
    }
    let mut edge = seen.log.roots().iter();
    let Ok(log) = Frontier::load(size, |_, _| Ok::<_, Infallible>(edge.next().copied().unwrap_or_default()));
    let Some(last) = size.checked_sub(1) else { return Ok(Head::default()) };
    // The seal after it names it, and the audit verifies that seal.
    let entry = fetch(source, last)?;
    let header = entry.header();
    let restorations = seen.restorations.iter().filter(|restored| restored.first < size).copied().collect();
    let marks = Marks(seen.marks.0.iter().filter(|(mark, _)| *mark <= size).copied().collect());
    let (signed, end) = (Some((last, header.log_root)), Some(Last::of(header)));
    Ok(Head { log, last: header.digest(), signed, end, restorations, marks, ..Head::default() })
}
