//! What the seals of a log say of the key-holders' vaults, compared from seal to seal.

use super::AuditError;
use std::fmt;
use trefoil_attest::{Restoration, VaultState};

/// The newest state of each vault that the seals so far have shown, in the order of the seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vaults(pub(super) Vec<Option<VaultState>>);

/// Something that an auditor should know and that is no fault of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An operator took an older copy of a vault.
    Restored {
        /// The first seal that shows it.
        seal: u64,
        /// Which key-holder's, from 1.
        seat: usize,
        /// What was seen before; zeros if nothing was.
        before: VaultState,
        /// What this seal says.
        now: VaultState,
    },
    /// The log was restored from a backup, and the end of what was seen is of the part that was lost.
    Lost {
        /// Where the log went on, and when.
        restored: Restoration,
        /// Seals seen before.
        seen: u64,
        /// As many of them are shown to be in the restored log.
        kept: u64,
    },
    /// A vault is older than the lost part of the log showed it.
    VaultSetBack {
        /// Which key-holder's, from 1.
        seat: usize,
        /// What the lost part showed.
        before: VaultState,
        /// What the restored log shows.
        now: VaultState,
    },
    /// Another number of key-holders: their vaults are compared anew.
    KeyHolders {
        /// The first seal that shows it.
        seal: u64,
        /// Before.
        before: usize,
        /// From this seal on.
        now: usize,
    },
    /// Some seals had no signatures of their own any more.
    Pruned {
        /// Seals whose own signatures were checked.
        signed: u64,
        /// Seals for which those of later ones were.
        pruned: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Restored { seal, seat, before, now } => write!(
                f,
                "seal {seal}: an older copy of the vault of key-holder {seat} was taken, {} times in all ({} before). Budgets and \
                 deletions between generation {} and this seal may have been undone",
                now.restored, before.restored, before.generation
            ),
            Notice::Lost { restored: Restoration { first, time }, seen, kept } => write!(
                f,
                "the log was restored from a backup at {time} (Unix seconds) and went on at seal {first}. {} of the {seen} seals seen before are \
                 lost; the first {kept} are in the restored log, and those between have nothing left to be compared with",
                seen.saturating_sub(*first)
            ),
            Notice::VaultSetBack { seat, before, now } => write!(
                f,
                "with the log the vault of key-holder {seat} went back, from generation {} ({} times restored) to {} ({}). Budgets and deletions \
                 between may have been undone",
                before.generation, before.restored, now.generation, now.restored
            ),
            Notice::KeyHolders { seal, before, now } => {
                write!(
                    f,
                    "seal {seal}: {now} key-holders, {before} before; their vaults are compared from here on"
                )
            }
            Notice::Pruned { signed, pruned } => write!(
                f,
                "{pruned} seals were pruned to their headers; {signed} seals have signatures, and they sign the log that holds these headers"
            ),
        }
    }
}

impl Vaults {
    /// Goes on to what seal `seal` says.
    pub(super) fn follow(
        &mut self,
        seal: u64,
        now: &[Option<VaultState>],
        notices: &mut Vec<Notice>,
    ) -> Result<(), AuditError> {
        if now.is_empty() {
            return Ok(());
        }
        if self.0.len() != now.len() {
            if !self.0.is_empty() {
                notices.push(Notice::KeyHolders { seal, before: self.0.len(), now: now.len() });
            }
            self.0 = vec![None; now.len()];
        }
        for (seat, (seen, now)) in (1..).zip(self.0.iter_mut().zip(now)) {
            let Some(now) = *now else { continue };
            let before = seen.unwrap_or_default();
            if now.is_older_than(&before) {
                return Err(AuditError::OlderVault { seal, seat, before, now });
            }
            if now.restored > before.restored {
                notices.push(Notice::Restored { seal, seat, before, now });
            }
            *seen = Some(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(generation: u64, restored: u64) -> Option<VaultState> {
        Some(VaultState { generation, restored })
    }

    #[test]
    fn a_generation_that_goes_back_is_a_finding_unless_it_was_restored_by_name() {
        let mut vaults = Vaults::default();
        let mut follow = |seal, now: &[Option<VaultState>]| {
            let mut notices = Vec::new();
            let followed = vaults.follow(seal, now, &mut notices);
            followed.map(|()| notices).map_err(|cause| cause.to_string())
        };
        for (seal, quiet) in
            [&[][..], &[None], &[state(7, 0)], &[], &[None], &[state(9, 0)]].iter().enumerate()
        {
            assert_eq!(follow(seal as u64, quiet), Ok(vec![]));
        }
        let found = follow(6, &[state(8, 0)]).unwrap_err();
        assert!(found.contains("seal 6") && found.contains("key-holder 1") && found.contains("9"), "{found}");
        let restored = follow(7, &[state(3, 2)]).unwrap();
        let [Notice::Restored { seal: 7, seat: 1, before, now }] = restored[..] else {
            panic!("{restored:?}")
        };
        assert_eq!((Some(before), Some(now)), (state(9, 0), state(3, 2)));
        assert!(restored[0].to_string().contains("2 times in all (0 before)"), "{}", restored[0]);
        assert!(follow(8, &[state(50, 1)]).is_err(), "a copy from before it was restored");
        assert_eq!(follow(9, &[state(3, 2)]), Ok(vec![]));
        let three = [state(1, 0), None, state(5, 1)];
        let moved = follow(10, &three).unwrap();
        assert_eq!(moved[0], Notice::KeyHolders { seal: 10, before: 1, now: 3 });
        assert!(matches!(moved[1..], [Notice::Restored { seat: 3, .. }]), "{moved:?}");
        assert!(follow(11, &[state(1, 0), state(4, 0), state(4, 1)]).unwrap_err().contains("key-holder 3"));
    }
}
