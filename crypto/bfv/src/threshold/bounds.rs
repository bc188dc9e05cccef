//! The noise of three key-holders and its bounds, as `noise` has them for one; `NOTES.md`, section 13, derives them.

use crate::noise::{FLOOD_MAX, HONEST_MAX, sum_max};

/// Pieces of a key, and key-holders.
pub const PIECES: usize = 3;

/// Independent uniform terms of one flooding sample of a partial decryption, and the bits of each. A partial decryption reaches another
/// key-holder, which may work with a matcher that lies. What such a `c1` can add to `c1 s^x` without failing the tag is at most about
/// `TAG_BAND_MAX` in size, and this flooding hides it: `NOTES.md`, section 13.
pub(crate) const TERMS: usize = 4;
pub(crate) const TERM_BITS: u32 = 71;

/// Largest size of the flooding of one partial decryption, just below 2^72.
pub const PARTIAL_FLOOD_MAX: u128 = sum_max(TERMS, TERM_BITS);

/// Largest error that an honest batch can show once its three partial decryptions are added, about 2^73.6. The worst case without
/// flooding is at most three times that of one key: three ternary keys and three template errors where there was one of each.
pub const QUORUM_BAND_MAX: u128 = FLOOD_MAX + PIECES as u128 * (HONEST_MAX + PARTIAL_FLOOD_MAX);

/// Bits that the largest possible error of an honest batch stays below the limit of correct decryption, three floodings included.
pub const QUORUM_MARGIN_BITS: u32 = 3;
