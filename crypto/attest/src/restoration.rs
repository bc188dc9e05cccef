//! Restorations of the log: how a log that goes on from a backup is told from one that was forked.
//!
//! A service that lost its store goes on from a backup, and the seals since that backup are gone. From then on each of its seals says at which
//! number the log went on, and when the backup was restored. The time orders restorations, where a count would not: two restorations of one
//! backup would have the same count. It also bounds what a restoration can excuse: a seal that is dated after it and is not
//! of the restored log shows a service that goes on with both.

use crate::cbor::{Reader, Writer};
use crate::error::DecodeError;
use crate::seal::SealHeader;

/// The restoration from which a log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Restoration {
    /// When the backup was restored, Unix seconds: each is later than the one before, and than every seal in its backup.
    pub time: u64,
    /// The number of the first seal after it. The last seal of the backup is the one before.
    pub first: u64,
}

/// What restorations are compared with: a part of the last seal of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// When it was sealed, Unix seconds.
    pub time: u64,
    /// The newest restoration that it knows of.
    pub restored: Option<Restoration>,
}

impl Last {
    /// What of a seal is remembered.
    #[must_use]
    pub const fn of(seal: &SealHeader) -> Self {
        Self { time: seal.time, restored: seal.restored }
    }
}

impl Restoration {
    /// Whether a seal is of the part that this restoration lost: the log goes on at its number or before, and it was sealed
    /// before the restoration, in a log that does not know of it. It is then not in the restored log, and is no evidence of a fork.
    #[must_use]
    pub fn lost(&self, seal: &SealHeader) -> bool {
        self.lost_at(seal.seal_number, Last::of(seal))
    }

    /// The same of a seal of which only this is remembered.
    #[must_use]
    pub fn lost_at(&self, seal_number: u64, Last { time, restored }: Last) -> bool {
        let knows = restored.is_some_and(|known| known.time >= self.time);
        !knows && seal_number >= self.first && time < self.time
    }

    /// Whether seal `next` says the right thing after the seal `before`, if there is one: the same, or a restoration that begins with it and
    /// is later than the one before and than that seal.
    #[must_use]
    pub fn follows(before: Option<Last>, next: &SealHeader) -> bool {
        let known = before.and_then(|seal| seal.restored);
        match next.restored {
            restored if restored == known => true,
            Some(Self { first, time }) => {
                let later = known.is_none_or(|known| known.time < time);
                first == next.seal_number && later && before.is_none_or(|seal| seal.time < time)
            }
            None => false,
        }
    }

    /// `[first, time]`
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(2);
        w.uint(self.first);
        w.uint(self.time);
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("seal.restored", 2..=2)?;
        let first = r.uint("seal.restored.first")?;
        Ok(Self { first, time: r.uint("seal.restored.time")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;
    use crate::seal::Seal;
    use crate::suite::Suite;
    use crate::tree::EMPTY_ROOT;
    use crate::{Family, JobsHead, VaultState};
    use alloc::vec;
    use alloc::vec::Vec;
    use trefoil_types::KeySetId;

    const FIRST: Restoration = Restoration { time: 100, first: 5 };

    fn header(seal_number: u64, time: u64, restored: Option<Restoration>) -> SealHeader {
        let previous = if seal_number == 0 { [0; 32] } else { [1; 32] };
        let log_root = if seal_number == 0 { EMPTY_ROOT } else { [2; 32] };
        SealHeader {
            issuer: "a".into(),
            key_set_id: KeySetId::new([3; 32]),
            seal_number,
            previous,
            log_root,
            tree_size: 1,
            root: [4; 32],
            time,
            suite: Suite::One,
            vaults: Vec::new(),
            restored,
        }
    }

    /// Claim V33: A restoration is signed, and excuses the loss of no seal that is older than its backup or newer than itself.
    #[test]
    fn a_seal_is_lost_from_the_first_number_on_and_before_the_restoration_only() {
        for (number, time, restored, lost) in [
            (5, 99, None, true),
            (9, 99, None, true),
            (4, 99, None, false),
            (5, 100, None, false),
            (5, 99, Some(Restoration { time: 50, first: 3 }), true),
            (5, 99, Some(FIRST), false),
            (5, 99, Some(Restoration { time: 101, first: 3 }), false),
        ] {
            assert_eq!(FIRST.lost(&header(number, time, restored)), lost, "{number}, {time}, {restored:?}");
        }
    }

    #[test]
    fn a_restoration_begins_with_its_own_seal_and_later_than_all_before_it() {
        let follows = |before: &SealHeader, restored| {
            Restoration::follows(Some(Last::of(before)), &header(5, 200, restored))
        };
        let plain = header(4, 99, None);
        assert!(follows(&plain, None) && follows(&plain, Some(FIRST)));
        assert!(!follows(&plain, Some(Restoration { first: 4, ..FIRST })), "it began before");
        assert!(!follows(&header(4, 100, None), Some(FIRST)), "its backup has a seal of then");
        let known = header(4, 99, Some(Restoration { time: 50, first: 2 }));
        assert!(follows(&known, known.restored) && follows(&known, Some(FIRST)));
        assert!(!follows(&known, None), "it is forgotten");
        assert!(!follows(&known, Some(Restoration { time: 50, first: 5 })));
        assert!(!follows(&header(4, 20, known.restored), Some(Restoration { time: 49, first: 5 })));
        let first = |restored| Restoration::follows(None, &header(0, 1, restored));
        assert!(first(None) && first(Some(Restoration { time: 9, first: 0 })));
        assert!(!first(Some(FIRST)));
    }

    #[test]
    fn a_seal_without_a_restoration_has_the_bytes_it_always_had_and_each_has_one_encoding() {
        let sealed =
            |header| Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) };
        for restored in [None, Some(FIRST), Some(Restoration { time: u64::MAX, first: 0 })] {
            let seal = sealed(header(7, u64::MAX, restored));
            assert_eq!(Seal::decode(&seal.encode()).unwrap(), seal);
        }
        // The longest header.
        let mut longest = header(u64::MAX, u64::MAX, Some(Restoration { time: u64::MAX, first: u64::MAX }));
        longest.issuer = "x".repeat(255);
        longest.tree_size = u64::MAX;
        let jobs = Some(JobsHead { lines: u64::MAX, digest: [0xff; 32] });
        longest.vaults = vec![Some(VaultState { generation: u64::MAX, restored: u64::MAX, jobs }); 3];
        let seal = sealed(longest);
        assert_eq!(Seal::decode(&seal.encode()).unwrap(), seal);
        for ahead in [header(4, 100, Some(FIRST)), header(5, 99, Some(FIRST))] {
            let refused = Seal::decode(&sealed(ahead).encode()).unwrap_err();
            assert_eq!((refused.field, refused.problem), ("seal.restored", Problem::OutOfRange));
        }
    }
}
