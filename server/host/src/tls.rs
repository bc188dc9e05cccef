//! The groups of TLS: hybrid first.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, kx_group};

/// The provider with the hybrid group first, X25519 for clients without it, and the curves of NIST for those that may use no other.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1],
        ..aws_lc_rs::default_provider()
    }
}

/// The provider with the hybrid group alone, for programs of ours that talk with each other.
pub fn hybrid_only() -> CryptoProvider {
    CryptoProvider { kx_groups: vec![kx_group::X25519MLKEM768], ..aws_lc_rs::default_provider() }
}
