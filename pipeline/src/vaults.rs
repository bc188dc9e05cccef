//! The last seen state of the key-holders' vaults.

use arc_swap::ArcSwap;
use trefoil_attest::VaultState;

/// The vault states in every seal: one per seat, `None` for a vault that was never seen, and an empty list
/// if vaults are not monitored. Read once for each seal; a monitor outside the pipeline writes them.
#[derive(Default)]
pub struct SeenVaults(ArcSwap<Vec<Option<VaultState>>>);

impl SeenVaults {
    /// States seen by this process or by the one that wrote the newest seal.
    #[must_use]
    pub fn new(states: Vec<Option<VaultState>>) -> SeenVaults {
        SeenVaults(ArcSwap::from_pointee(states))
    }

    /// The last seen states.
    #[must_use]
    pub fn states(&self) -> Vec<Option<VaultState>> {
        Vec::clone(&self.0.load())
    }

    /// Sets the states for later seals.
    pub fn set(&self, states: Vec<Option<VaultState>>) {
        self.0.store(std::sync::Arc::new(states));
    }
}
