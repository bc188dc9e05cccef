//! Contributions to salts that were given out and are not yet used.

use crate::TemplateName;
use std::collections::HashMap;
#[expect(clippy::disallowed_types, reason = "at enrolment only")]
use std::sync::{Mutex, MutexGuard};

/// See the module. Bounded in number and time, because a gateway can start any number of enrolments.
#[derive(Default)]
pub(super) struct Contributions {
    #[expect(clippy::disallowed_types, reason = "at enrolment only")]
    given: Mutex<HashMap<TemplateName, ([u8; 32], u64)>>,
}

/// Enrolments that may be in progress.
const GIVEN_MAX: usize = 4096;
/// Seconds after which a started enrolment is abandoned.
const LIFE_S: u64 = 60;

impl Contributions {
    /// Stores the contribution to a template, replacing any earlier one; returns whether there was room. A tenant has as much as is left for
    /// all, so none takes more than half.
    pub(super) fn put(&self, name: TemplateName, contribution: [u8; 32], now: u64) -> bool {
        let mut given = self.given();
        if given.len() >= GIVEN_MAX / 2 {
            given.retain(|_, (_, since)| now.saturating_sub(*since) < LIFE_S);
        }
        let own = given.keys().filter(|other| other.tenant == name.tenant).count();
        let room = own < GIVEN_MAX - given.len();
        if room {
            given.insert(name, (contribution, now));
        }
        room
    }

    /// Consumes a contribution; returns whether it was the stored one.
    pub(super) fn take(&self, name: &TemplateName, contribution: &[u8; 32]) -> bool {
        let mut given = self.given();
        let is_it = given.get(name).is_some_and(|(held, _)| held == contribution);
        if is_it {
            given.remove(name);
        }
        is_it
    }

    fn given(&self) -> MutexGuard<'_, HashMap<TemplateName, ([u8; 32], u64)>> {
        self.given.lock().expect("no thread panicked while it held this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_types::{Handle, TenantId};

    fn name(generation: u32) -> TemplateName {
        TemplateName { tenant: TenantId::new([1; 16]), handle: Handle::new([2; 32]), generation }
    }

    #[test]
    fn a_contribution_is_used_once_and_only_for_its_template() {
        let contributions = Contributions::default();
        assert!(contributions.put(name(1), [7; 32], 0) && contributions.put(name(2), [8; 32], 0));
        assert!(!contributions.take(&name(1), &[8; 32]) && !contributions.take(&name(3), &[7; 32]));
        assert!(contributions.take(&name(1), &[7; 32]) && !contributions.take(&name(1), &[7; 32]));
        assert!(contributions.put(name(2), [9; 32], 0), "begun again");
        assert!(!contributions.take(&name(2), &[8; 32]) && contributions.take(&name(2), &[9; 32]));
    }

    #[test]
    fn enrolments_that_were_given_up_make_room() {
        let contributions = Contributions::default();
        let filled = (0..).take_while(|i| contributions.put(name(*i), [1; 32], 100)).count();
        assert_eq!(filled, GIVEN_MAX / 2);
        assert!(!contributions.put(name(u32::MAX), [1; 32], 100 + LIFE_S - 1));
        let of_another = TemplateName { tenant: TenantId::new([9; 16]), ..name(0) };
        assert!(contributions.put(of_another, [1; 32], 100 + LIFE_S - 1), "another tenant has room");
        assert!(contributions.put(name(u32::MAX), [1; 32], 100 + LIFE_S));
    }
}
