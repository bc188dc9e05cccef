//! The states of the key-holders' vaults in a log's seals, compared from seal to seal.

use super::error::AuditError;
use super::notice::Notice;
use trefoil_attest::VaultState;

/// The newest state of each vault that the seals so far have shown, in the order of the seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vaults(pub(super) Vec<Option<VaultState>>);

impl Vaults {
    /// Compares with the states in seal `seal`, and keeps them.
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

    /// Claim V6.
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
