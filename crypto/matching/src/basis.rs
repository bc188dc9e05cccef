//! The public polynomial of a tenant.

use std::fmt;
use std::sync::Arc;
use trefoil_bfv::Scheme;

/// A tenant's public polynomial, expanded from a seed and prepared for multiplication: 128 KiB, shared by clones.
#[derive(Clone)]
pub struct Basis {
    inner: Arc<trefoil_bfv::Basis>,
}

impl Basis {
    /// Expands `seed`, which [`crate::KeyHolder::create_tenant`] gave. Takes a fraction of a millisecond: keep the result.
    pub fn from_seed(seed: [u8; 32]) -> Basis {
        Basis { inner: Arc::new(trefoil_bfv::Basis::from_seed(Scheme::shared(), seed)) }
    }

    /// The seed. Public.
    pub fn seed(&self) -> [u8; 32] {
        self.inner.seed()
    }

    pub(crate) fn inner(&self) -> &trefoil_bfv::Basis {
        &self.inner
    }
}

impl fmt::Debug for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Basis(..)")
    }
}
