//! A template under newer keys, blinded on the way: neither role sees it, as at enrolment.

use crate::key_structure::POLYNOMIAL_BYTES;
use crate::{Blind, Template};
use rand::CryptoRng;
use trefoil_bfv::{CiphertextError, Scheme, Share, TemplateCiphertext};

/// A template with a blind added and flooded, for the key-holder to open and to encrypt under newer keys.
#[derive(Clone, PartialEq, Eq)]
pub struct BlindedCiphertext {
    pub(crate) ciphertext: TemplateCiphertext,
}

/// Blinds a template. [`crate::unblind`] removes the blind from the key-holder's answer.
pub fn blind(template: &Template, rng: &mut impl CryptoRng) -> (BlindedCiphertext, Blind) {
    let share = Share::random(template.model.width(), rng);
    let ciphertext = template.ciphertext.blinded(template.lane, &share, rng);
    (BlindedCiphertext { ciphertext }, Blind::of(share))
}

impl BlindedCiphertext {
    /// Length of the encoding: one polynomial in either key structure.
    pub const BYTES: usize = POLYNOMIAL_BYTES;

    /// The canonical encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.ciphertext.as_bytes()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<BlindedCiphertext, CiphertextError> {
        let ciphertext = TemplateCiphertext::from_bytes(Scheme::shared(), bytes)?;
        Ok(BlindedCiphertext { ciphertext })
    }
}

trefoil_types::opaque_debug!(BlindedCiphertext);
