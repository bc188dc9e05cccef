//! Further findings for the auditor.

use crate::time;
use std::fmt;
use trefoil_attest::{Restoration, VaultState};

/// A finding that is no fault of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An operator accepted an older copy of a vault.
    Restored {
        /// The first seal that shows it.
        seal: u64,
        /// Which key-holder's, from 1.
        seat: usize,
        /// The state seen before; zeros if there was none.
        before: VaultState,
        /// The state in this seal.
        now: VaultState,
    },
    /// The log was restored from a backup, and the last seals that were seen are lost.
    Lost {
        /// Where the log went on, and when.
        restored: Restoration,
        /// Seals seen before.
        seen: u64,
        /// How many of them are shown to be in the restored log.
        kept: u64,
    },
    /// A vault is older than in the lost part of the log.
    VaultSetBack {
        /// Which key-holder's, from 1.
        seat: usize,
        /// The state in the lost part.
        before: VaultState,
        /// The state in the restored log.
        now: VaultState,
    },
    /// The number of key-holders changed: comparison of their vaults starts again.
    KeyHolders {
        /// The first seal that shows it.
        seal: u64,
        /// Before.
        before: usize,
        /// From this seal on.
        now: usize,
    },
    /// Some seals no longer had signatures of their own.
    Pruned {
        /// Seals whose own signatures were checked.
        signed: u64,
        /// Seals that are covered by signatures of later ones.
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
                "the log was restored from a backup at {} and went on at seal {first}. {} of the {seen} seals seen before are \
                 lost; the first {kept} are in the restored log; those between cannot be compared",
                time::format(*time),
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
