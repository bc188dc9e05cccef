//! The key-holders' vaults as they were seen last.

use arc_swap::ArcSwap;
use trefoil_attest::VaultState;

/// What every seal says of the key-holders' vaults: one state a seat, `None` for one that was never seen, and nothing at all
/// where nobody looks. Read once for each seal; somebody beside the pipeline looks and writes.
#[derive(Default)]
pub struct SeenVaults(ArcSwap<Vec<Option<VaultState>>>);

impl SeenVaults {
    /// These were seen, by this process or by the one that wrote the newest seal.
    #[must_use]
    pub fn new(states: Vec<Option<VaultState>>) -> SeenVaults {
        SeenVaults(ArcSwap::from_pointee(states))
    }

    /// What was seen last.
    #[must_use]
    pub fn states(&self) -> Vec<Option<VaultState>> {
        Vec::clone(&self.0.load())
    }

    /// Later seals say this.
    pub fn set(&self, states: Vec<Option<VaultState>>) {
        self.0.store(std::sync::Arc::new(states));
    }
}
