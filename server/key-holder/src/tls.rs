//! The key exchange of every TLS connection.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, kx_group};

/// The provider with the hybrid group first, then X25519 for clients without it.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![kx_group::X25519MLKEM768, kx_group::X25519],
        ..aws_lc_rs::default_provider()
    }
}
