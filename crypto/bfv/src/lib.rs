//! BFV lanes.
pub mod embedding;
pub use embedding::{Embedding, QuantiseError};

/// Users per ciphertext.
pub const LANES: usize = 32;
/// Dimensions of an embedding.
pub const DIM: usize = 128;
/// Ring dimension.
pub const N: usize = LANES * DIM;
/// Plaintext modulus.
pub const T: u64 = 65537;
