//! The states of the key-holders' vaults and job logs in a log's seals, compared from seal to seal.

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
                let (before, now) = (Box::new(before), Box::new(now));
                return Err(AuditError::OlderVault { seal, seat, before, now });
            }
            // A log that was restored with its vault has fewer lines, but it is there.
            let follows = match (before.jobs, now.jobs) {
                (Some(old), Some(new)) if now.restored == before.restored => {
                    old == new || old.lines < new.lines
                }
                (old, new) => old.is_none() || new.is_some(),
            };
            if !follows {
                return Err(AuditError::JobsHead { seal, seat, before: lines(before), now: lines(now) });
            }
            if now.restored > before.restored {
                notices.push(Notice::Restored { seal, seat, before, now });
            }
            *seen = Some(now);
        }
        Ok(())
    }
}

fn lines(state: VaultState) -> u64 {
    state.jobs.map_or(0, |head| head.lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_attest::JobsHead;

    fn state(generation: u64, restored: u64) -> Option<VaultState> {
        Some(VaultState { generation, restored, jobs: None })
    }

    #[test]
    fn a_job_log_that_goes_back_forks_or_vanishes_is_a_finding_unless_its_vault_was_restored() {
        let logged = |restored, lines, digest| {
            let jobs = Some(JobsHead { lines, digest: [digest; 32] });
            Some(VaultState { generation: 5, restored, jobs })
        };
        let mut vaults = Vaults::default();
        let mut follow = |now| vaults.follow(7, &[now], &mut Vec::new()).map_err(|cause| cause.to_string());
        for right in [state(5, 0), logged(0, 9, 1), logged(0, 9, 1), None, logged(0, 10, 2), logged(1, 4, 3)]
        {
            assert_eq!(follow(right), Ok(()), "{right:?}");
        }
        for wrong in [logged(1, 3, 3), logged(1, 4, 4), state(5, 1), state(5, 2)] {
            let found = follow(wrong).unwrap_err();
            assert!(
                found.contains("seal 7") && found.contains("key-holder 1") && found.contains("4 lines"),
                "{found}"
            );
        }
        assert_eq!(follow(logged(1, 5, 3)), Ok(()));
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
