//! The public polynomial of a tenant.

/// A tenant's public polynomial `a`, expanded from a seed and prepared for multiplication (256 KiB, shared by clones).
#[derive(Clone)]
pub struct Basis;

impl Basis {
    /// Expands `seed`, which [`crate::KeyHolder::create_tenant`] gave. About 0.2 ms.
    pub fn from_seed(_seed: [u8; 32]) -> Basis {
        todo!()
    }

    /// The seed. Public.
    pub fn seed(&self) -> [u8; 32] {
        todo!()
    }
}
