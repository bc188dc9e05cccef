//! Logs that go on from a backup: what of an auditor's head is in them, and what was lost.
//!
//! A head that the log does not extend any more is no proof of a fork if the log was restored since: a restoration loses the
//! seals from its first number on that were sealed before its time ([`Restoration::lost_at`]). What was seen *before* that number must be in the log
//! still. A head alone cannot show that, because it is one root over all of it. So an auditor also keeps marks: sizes of the
//! log on the way, each with the digest of the last seal, which names everything before it. The audit goes on from the newest mark that the
//! restoration did not lose. A mark that is not in the log, although it must be, is a fork.

use super::error::AuditError;
use super::notice::Notice;
use super::{Head, Source, fetch};
use std::convert::Infallible;
use trefoil_attest::log::Frontier;
use trefoil_attest::{Last, LogEntry, Restoration, TrustRoot, verify_seal};

/// Restorations of one log that an auditor follows: one a week for 20 years. A service that restores more often does something else.
pub(super) const RESTORATIONS_MAX: usize = 1024;
/// Marks that are kept: with half of a distance between neighbours, enough for any log.
const MARKS_MAX: usize = 128;
/// Seals between two marks of one audit.
const MARK_EVERY: u64 = 256;

/// Places in the log that were passed: sizes, ascending, and the digest of the last seal of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(Vec<(u64, [u8; 32])>);

impl Marks {
    /// Goes by the log of `size` seals, of which the last has this digest.
    pub(super) fn pass(&mut self, size: u64, last: [u8; 32]) {
        if size.is_multiple_of(MARK_EVERY) {
            self.put(size, last);
        }
    }

    /// Keeps a mark. Of too many, the one goes whose neighbours are nearest to each other for their distance from the end.
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

    /// The newest of at most `size` seals.
    pub(super) fn newest_within(&self, size: u64) -> Option<(u64, [u8; 32])> {
        self.0.iter().rev().find(|(mark, _)| *mark <= size).copied()
    }
}

/// What an audit knows that saw seals which were lost.
pub(super) struct Lost {
    /// Where it goes on.
    pub(super) start: Head,
    restored: Restoration,
    /// What was seen and must be in the restored log.
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

    /// Refuses a log that does not have the restoration which was taken for the reason; tells of it otherwise, and of vaults that went back
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

/// Where an audit goes on that saw seals which were lost in a restoration; none where no restoration explains what is found.
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

/// The restorations of the log that are later than the one that `end` knows of, the newest first. Each seal names the newest before it, so
/// the walk needs one seal for each. The audit that follows checks these seals again, as it checks all.
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

/// The head as it was at `kept` seals or before: at the largest size of which its own tree has the right edge.
fn cut(source: &dyn Source, seen: &Head, kept: u64) -> Result<Head, AuditError> {
    let mut size = seen.log.size();
    while size > kept {
        size &= size - 1;
    }
    let mut edge = seen.log.roots().iter();
    let Ok(log) = Frontier::load(size, |_, _| Ok::<_, Infallible>(edge.next().copied().unwrap_or_default()));
    let Some(last) = size.checked_sub(1) else { return Ok(Head::default()) };
    // It is named by the seal after it, which the audit verifies.
    let entry = fetch(source, last)?;
    let header = entry.header();
    let restorations = seen.restorations.iter().filter(|restored| restored.first < size).copied().collect();
    let marks = Marks(seen.marks.0.iter().filter(|(mark, _)| *mark <= size).copied().collect());
    let (signed, end) = (Some((last, header.log_root)), Some(Last::of(header)));
    Ok(Head { log, last: header.digest(), signed, end, restorations, marks, ..Head::default() })
}
