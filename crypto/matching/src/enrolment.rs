//! Blinded enrolment: only the owner of the embedding sees it; no other participant does.

use crate::{EncryptedTemplate, Handle, Template, TenantId};
use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use trefoil_bfv::{Embedding, Share, ShareError};
use trefoil_split::{Context, SealedShare};

/// The key-holder's share of an embedding `y`: `y + rho` modulo 65537, uniform by itself. Wiped on drop.
#[derive(Debug, PartialEq, Eq)]
pub struct BlindedTemplate {
    share: Share,
}

/// The matcher's share of an embedding: `rho`, uniform by itself. Wiped on drop.
#[derive(Debug, PartialEq, Eq)]
pub struct Blind {
    share: Share,
}

/// Splits an embedding into two shares, each of which reveals nothing alone.
pub fn split(embedding: &Embedding, rng: &mut impl CryptoRng) -> (BlindedTemplate, Blind) {
    let rho = Share::random(embedding.width(), rng);
    (BlindedTemplate { share: Share::of(embedding).plus(&rho) }, Blind { share: rho })
}

/// Takes `rho` out of the ciphertext that [`crate::KeyHolder::enrol`] made of `y + rho`. A `rho` of another width than the template's stays in
/// it, and the template matches nobody: taken out, it would be in the lanes of others.
pub fn unblind(encrypted: EncryptedTemplate, blind: Blind) -> Template {
    let mut template = encrypted.template;
    if blind.share.width() == template.model.width() {
        template.ciphertext = template.ciphertext.subtract(template.lane, &blind.share);
    }
    template
}

/// The key-holder's share in an enrolment.
#[derive(Debug, Serialize, Deserialize)]
pub enum ForKeyHolder {
    /// A share that the gateway made.
    Open(Box<BlindedTemplate>),
    /// A share that the device made and sealed.
    Sealed(SealedTemplate),
}

/// A share of a template that a device sealed to the key-holder, and the enrolment that it did so for. With tenant and subject these
/// make the [`Context`] under which the share opens.
#[derive(Debug, Serialize, Deserialize)]
pub struct SealedTemplate {
    /// The share.
    #[serde(with = "crate::wire::sealed_share")]
    pub sealed: SealedShare,
    /// The idempotency key of the enrolment, at most [`IDEMPOTENCY_KEY_BYTES_MAX`] bytes.
    pub idempotency_key: Vec<u8>,
    /// Unix second of the enrolment, by the device's clock.
    pub issued_at: u64,
}

/// Bytes of an idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

impl SealedTemplate {
    /// The context of a template of `handle` in this enrolment.
    pub fn context(&self, tenant: &TenantId, handle: &Handle) -> Context {
        Context::template(tenant, handle, &self.idempotency_key, self.issued_at)
    }
}

impl From<BlindedTemplate> for ForKeyHolder {
    fn from(template: BlindedTemplate) -> ForKeyHolder {
        ForKeyHolder::Open(Box::new(template))
    }
}

impl BlindedTemplate {
    /// The canonical encoding, for a remote key-holder: [`Share::bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.share.to_bytes()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`ShareError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<BlindedTemplate, ShareError> {
        Share::from_bytes(bytes).map(|share| BlindedTemplate { share })
    }

    pub(crate) fn share(&self) -> &Share {
        &self.share
    }
}

impl Blind {
    pub(crate) fn of(share: Share) -> Blind {
        Blind { share }
    }

    /// The canonical encoding, for a client that splits its embedding itself: [`Share::bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.share.to_bytes()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`ShareError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Blind, ShareError> {
        Share::from_bytes(bytes).map(|share| Blind { share })
    }
}
