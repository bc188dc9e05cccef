//! What is known of the key-holder: asked for once a second, so that no request waits for it.

use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::Arc;
use trefoil_matching::{KeyHolding, Status, VaultState};
use trefoil_pipeline::Registry;

/// See the module.
pub(crate) struct KeyHolderWatch {
    status: ArcSwapOption<Status>,
    /// The newest state of each vault that was seen, by this process or by the one that wrote the last seal.
    seen: ArcSwap<Vec<Option<VaultState>>>,
    older: ArcSwapOption<String>,
    accept_older: bool,
}

impl KeyHolderWatch {
    /// A watch that remembers these states of the vaults, in the order of the seats. With `accept_older` vaults may be older than that.
    pub(crate) fn new(seen: Vec<Option<VaultState>>, accept_older: bool) -> KeyHolderWatch {
        KeyHolderWatch {
            status: ArcSwapOption::empty(),
            seen: ArcSwap::from_pointee(seen),
            older: ArcSwapOption::empty(),
            accept_older,
        }
    }

    /// What it counted when it was asked last; nothing if it never answered.
    pub(crate) fn status(&self) -> Option<Arc<Status>> {
        self.status.load_full()
    }

    /// Why nothing is decided, or nothing: a vault that is older than what was seen of it has old budgets, and templates that were deleted.
    pub(crate) fn older_vault(&self) -> Option<String> {
        self.older.load().as_deref().cloned()
    }

    /// Asks, and takes what public keys were renewed.
    pub(crate) fn look(&self, keyholder: &dyn KeyHolding, tenants: &Registry) {
        for tenant in keyholder.stale() {
            match keyholder.public_keys(tenant) {
                Ok(keys) => tenants.renew_keys(&tenant, &keys),
                Err(cause) => {
                    tracing::warn!(tenant = hex::encode(tenant), %cause, "its public keys are out of date");
                }
            }
        }
        // One that is away is reported by its connection.
        if let Ok(status) = keyholder.status() {
            self.compare(&status.vaults);
            self.status.store(Some(Arc::new(status)));
        }
    }

    fn compare(&self, vaults: &[Option<VaultState>]) {
        let mut seen = Vec::clone(&self.seen.load());
        seen.resize(vaults.len(), None);
        let mut older = None;
        for (seat, (seen, now)) in (1..).zip(seen.iter_mut().zip(vaults)) {
            let (Some(before), Some(now)) = (*seen, *now) else {
                *seen = seen.or(*now);
                continue;
            };
            // An older copy that its operator has taken by name says so from then on.
            if now.generation < before.generation && now.restored <= before.restored && !self.accept_older {
                older = Some(format!(
                    "the vault of key-holder {seat} counts {} transactions, and {} were seen of it: an older copy was restored, with \
                     budgets and templates of then; restore the newest one, or start with --accept-older-vault, which every seal will show",
                    now.generation, before.generation
                ));
            } else {
                *seen = Some(now);
            }
        }
        if let (Some(why), None) = (&older, &*self.older.load()) {
            tracing::error!(why, "nothing is decided");
        }
        self.older.store(older.map(Arc::new));
        self.seen.store(Arc::new(seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(generation: u64, restored: u64) -> Option<VaultState> {
        Some(VaultState { generation, restored })
    }

    #[test]
    fn an_older_vault_is_noticed_until_the_newest_is_back() {
        let watch = KeyHolderWatch::new(vec![vault(10, 0)], false);
        let refused = |vaults: &[Option<VaultState>]| {
            watch.compare(vaults);
            watch.older_vault().is_some()
        };
        assert!(!refused(&[vault(10, 0)]) && !refused(&[vault(12, 0)]));
        assert!(refused(&[vault(11, 0)]), "it was 12");
        assert!(watch.older_vault().unwrap().contains("counts 11 transactions, and 12 were seen"));
        assert!(refused(&[vault(11, 0)]) && !refused(&[vault(12, 0)]));
        assert!(!refused(&[vault(5, 1)]), "its operator has taken it by name");
        assert!(refused(&[vault(4, 1)]));
        let lenient = KeyHolderWatch::new(vec![vault(10, 0)], true);
        lenient.compare(&[vault(3, 0)]);
        assert_eq!(lenient.older_vault(), None);
    }

    #[test]
    fn seats_are_compared_each_with_itself_and_one_that_is_away_with_nothing() {
        let watch = KeyHolderWatch::new(Vec::new(), false);
        for vaults in [[vault(5, 0), vault(9, 0), vault(7, 0)], [vault(5, 0), None, vault(8, 0)]] {
            watch.compare(&vaults);
            assert_eq!(watch.older_vault(), None);
        }
        watch.compare(&[vault(6, 0), vault(8, 0), vault(8, 0)]);
        assert!(watch.older_vault().unwrap().contains("key-holder 2 counts 8"));
    }
}
