//! The parameters of SLH-DSA-SHA2-128f (FIPS 205 table 2).

/// Layers: d.
pub(super) const LAYERS: usize = 22;

/// Height of a tree: h'.
pub(super) const HEIGHT: u32 = 3;

/// Leaves of a tree.
pub(super) const LEAVES: usize = 1 << HEIGHT;

/// Bytes of SK.seed, SK.prf, PK.seed and PK.root, 16 each (FIPS 205 section 9.1).
pub(super) const SECRET_KEY_BYTES: usize = 64;

/// Bytes of PK.seed and PK.root.
pub(super) const PUBLIC_KEY_BYTES: usize = 32;
