//! Checks that every seal of an audit is signed: by its own signatures, or by those of a later seal of the same keys.

use super::error::AuditError;
use super::notice::Notice;
use trefoil_attest::{KeySetId, LogEntry, SealHeader, TrustRoot, VerifyError, check_signer, verify_seal};

/// The pruned seals that no later seal has signed yet.
#[derive(Default)]
pub(super) struct Signers {
    /// The first of them and their keys.
    unsigned: Option<(u64, KeySetId)>,
    signed: u64,
    pruned: u64,
}

impl Signers {
    /// Takes the next seal. Its place in the chain and the tree is checked elsewhere, so its signature covers all
    /// headers before it.
    pub(super) fn follow(
        &mut self,
        number: u64,
        entry: &LogEntry,
        trust_root: &TrustRoot,
    ) -> Result<(), AuditError> {
        let refused = |cause: VerifyError| AuditError::Seal { number, cause: cause.to_string() };
        let SealHeader { key_set_id, .. } = entry.header();
        if let Some((first, keys)) = self.unsigned
            && keys != *key_set_id
        {
            return Err(AuditError::Unsigned(first));
        }
        match entry {
            LogEntry::Signed(seal) => {
                verify_seal(seal, trust_root).map_err(refused)?;
                self.signed += 1;
                self.unsigned = None;
            }
            LogEntry::Pruned(header) => {
                check_signer(header, trust_root).map_err(refused)?;
                self.pruned += 1;
                self.unsigned.get_or_insert((number, *key_set_id));
            }
        }
        Ok(())
    }

    /// Whether the last seals are not signed yet.
    pub(super) fn wait_for_one(&self) -> bool {
        self.unsigned.is_some()
    }

    /// After the last seal: the finding about the signatures.
    pub(super) fn finish(self) -> Result<Option<Notice>, AuditError> {
        match self.unsigned {
            Some((first, _)) => Err(AuditError::Unsigned(first)),
            None if self.pruned == 0 => Ok(None),
            None => Ok(Some(Notice::Pruned { signed: self.signed, pruned: self.pruned })),
        }
    }
}
