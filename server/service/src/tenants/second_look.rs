//! A second look at what another node of a fleet may have made a moment ago.
//!
//! A node reads the registry from memory, and hears of the changes of other nodes ten times a second. So a tenant, an API key or a root that is
//! not there may have been made meanwhile. A request that finds none waits until this node has heard of everything that was there when the request
//! came, and looks once more. That takes a tenth of a second, and asks the database nothing.
//!
//! Every refused credential waits in the same way: one that never existed, has a wrong secret, or was revoked. So the time of an answer says no more
//! than the answer does. A process that is alone knows all, and never waits.
//!
//! **Bound.** [`PLACES`] requests wait at a time. One that finds no place is refused at once, as without this wait: a flood of unknown credentials takes
//! this courtesy from new ones, and nothing else.

#![expect(
    clippy::disallowed_types,
    reason = "for refused credentials, which then wait for a tenth of a second"
)]

use crate::refused::Refused;
use crate::tenants::directory::Directory;
use crate::tenants::tenant::Tenant;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use trefoil_storage::store::fleet::{Fleet, STALE_MAX};
use trefoil_types::TenantId;

/// Requests that may wait. Each wakes fifty times a second, which is nothing for as many as these.
const PLACES: usize = 128;
/// Between two looks at whether this node has heard.
const PAUSE: Duration = Duration::from_millis(20);

/// See the module.
pub struct SecondLook(Semaphore);

impl Default for SecondLook {
    fn default() -> SecondLook {
        SecondLook(Semaphore::new(PLACES))
    }
}

impl SecondLook {
    async fn found<T>(
        &self,
        fleet: Option<&dyn Fleet>,
        look: impl Fn() -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        match look() {
            Err(Refused::Caller | Refused::OperatorToken | Refused::TenantUnknown)
                if self.heard(fleet).await =>
            {
                look()
            }
            found => found,
        }
    }

    async fn heard(&self, fleet: Option<&dyn Fleet>) -> bool {
        let (Some(fleet), Ok(_place)) = (fleet, self.0.try_acquire()) else { return false };
        let now = Instant::now();
        let hear = async {
            while !fleet.has_heard_since(now) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        // A node that has not heard for so long answers no logins at all.
        tokio::time::timeout(STALE_MAX, hear).await.is_ok()
    }
}

impl Directory {
    /// What `look` finds in memory, now or after another look. Only a refusal that another node's change can lift waits.
    pub async fn found<T>(&self, look: impl Fn() -> Result<T, Refused>) -> Result<T, Refused> {
        self.second_look.found(self.store.fleet(), look).await
    }

    /// Waits while this tenant is unknown, so that a look at it need not.
    pub async fn expect_tenant(&self, tenant: &TenantId) {
        let look = || self.knows(tenant).then_some(()).ok_or(Refused::TenantUnknown);
        // The look that follows refuses one that stays unknown.
        let _ = self.found(look).await;
    }

    /// The tenant as it is once this node has heard of the root of this generation, if that is newer than every root it knows.
    pub(crate) async fn with_root(
        &self,
        tenant: &Arc<Tenant>,
        generation: u32,
    ) -> Result<Arc<Tenant>, Refused> {
        match tenant.is_before(generation) && self.heard().await {
            true => self.tenant(&tenant.id),
            false => Ok(Arc::clone(tenant)),
        }
    }

    /// Waits until this node has heard of all that other nodes changed before now. `false` if it is alone, too many wait, or it hears too late.
    pub(crate) async fn heard(&self) -> bool {
        self.second_look.heard(self.store.fleet()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use trefoil_storage::store::StoreError;
    use trefoil_storage::store::fleet::{Apply, Figures, Node, NodeKeys, Right, Work};

    #[derive(Default)]
    struct Ears(AtomicBool);

    impl Fleet for Ears {
        fn has_heard_since(&self, _: Instant) -> bool {
            self.0.load(Relaxed)
        }

        fn follow(&self, _: Apply) -> Result<(), StoreError> {
            Ok(())
        }

        fn catch_up(&self) -> Result<(), StoreError> {
            Ok(())
        }

        fn is_stale(&self) -> bool {
            false
        }

        fn registry_turn(&self) -> Result<Box<dyn Any + Send>, StoreError> {
            Ok(Box::new(()))
        }

        fn log_turn(&self) -> Result<Box<dyn Any + Send>, StoreError> {
            Ok(Box::new(()))
        }

        fn right(&self, _: Work, _: &TenantId, _: Duration) -> Result<Option<Box<dyn Right>>, StoreError> {
            Ok(None)
        }

        fn is_at_work(&self, _: Work, _: &TenantId) -> Result<bool, StoreError> {
            Ok(false)
        }

        fn keeps_house(&self) -> bool {
            true
        }

        fn nodes(&self) -> Vec<Node> {
            Vec::new()
        }

        fn figures(&self) -> Figures {
            Figures::default()
        }

        fn announce(&self, _: NodeKeys) {}
    }

    /// Claim V110.
    #[tokio::test(start_paused = true)]
    async fn what_is_not_there_is_looked_for_again_once_the_node_has_heard_and_all_else_is_refused_at_once() {
        let (second, ears, looks) = (SecondLook::default(), Ears::default(), Cell::new(0));
        let look = |why: Refused| {
            let looks = &looks;
            move || {
                looks.set(looks.get() + 1);
                if looks.get() % 2 == 0 { Ok(()) } else { Err(why.clone()) }
            }
        };
        for why in [Refused::Caller, Refused::OperatorToken, Refused::TenantUnknown] {
            ears.0.store(false, Relaxed);
            let begun = tokio::time::Instant::now();
            let hear = async {
                tokio::time::sleep(Duration::from_millis(90)).await;
                ears.0.store(true, Relaxed);
            };
            let (found, ()) = tokio::join!(second.found(Some(&ears), look(why.clone())), hear);
            assert_eq!((found, looks.get() % 2), (Ok(()), 0), "{why:?}");
            assert!(begun.elapsed() >= Duration::from_millis(90), "{why:?}");
        }
        assert_eq!(
            second.found(Some(&ears), look(Refused::TenantDisabled)).await,
            Err(Refused::TenantDisabled)
        );
        looks.set(0);
        assert_eq!(second.found(None, look(Refused::Caller)).await, Err(Refused::Caller), "a process alone");
    }

    /// Claim V110.
    #[tokio::test(start_paused = true)]
    async fn so_many_wait_and_no_more_and_none_longer_than_a_second() {
        let (second, ears) = (Arc::new(SecondLook::default()), Arc::new(Ears::default()));
        let begun = tokio::time::Instant::now();
        let waits: Vec<_> = (0..PLACES)
            .map(|_| {
                let (second, ears) = (Arc::clone(&second), Arc::clone(&ears));
                tokio::spawn(async move { second.heard(Some(&*ears)).await })
            })
            .collect();
        while second.0.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(!second.heard(Some(&*ears)).await, "there is no place left");
        assert_eq!(begun.elapsed(), Duration::ZERO, "it did not wait");
        for wait in waits {
            assert!(!wait.await.unwrap(), "the node did not hear");
        }
        assert!((STALE_MAX..STALE_MAX + PAUSE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        ears.0.store(true, Relaxed);
        assert!(second.heard(Some(&*ears)).await, "the places are free again");
    }
}
