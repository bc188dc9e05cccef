//! Blinded enrolment.

use crate::{Basis, EncryptedTemplate, Template};
use rand::CryptoRng;
use trefoil_bfv::Embedding;

/// The key-holder's share of an embedding: `y + rho` mod 65537, uniform by itself.
pub struct BlindedTemplate(());

/// The matcher's share of an embedding: `rho`, uniform by itself. Wiped on drop.
pub struct Blind(());

/// Splits an embedding into two shares, neither of which says anything alone.
pub fn split(_embedding: &Embedding, _rng: &mut impl CryptoRng) -> (BlindedTemplate, Blind) {
    todo!()
}

/// Takes `rho` out of the ciphertext that [`crate::KeyHolder::enrol`] made of `y + rho`.
pub fn unblind(_basis: &Basis, _encrypted: EncryptedTemplate, _blind: Blind) -> Template {
    todo!()
}
