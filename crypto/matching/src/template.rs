//! Encrypted templates.

use crate::{Handle, Lane, TenantId};
use std::sync::Arc;

/// An encrypted template ready for matching: one polynomial of 48 KiB, shared by clones.
#[derive(Clone)]
pub struct Template {
    /// The tenant whose basis it was made with.
    pub tenant: TenantId,
    /// The subject.
    pub handle: Handle,
    /// Which of the subject's templates this is.
    pub generation: u32,
    /// The lane it lives in.
    pub lane: Lane,
    #[expect(dead_code)]
    ciphertext: Arc<()>,
}

/// An encrypted template that still carries the matcher's blind. Only [`crate::unblind`] makes use of it.
pub struct EncryptedTemplate(());

/// Why bytes are not a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The length is not [`Template::BYTES`].
    #[error("a template has exactly {expected} bytes, not {0}", expected = Template::BYTES)]
    Length(usize),
    /// The first bytes do not name this format and version.
    #[error("these bytes are not a template of version 1")]
    Format,
    /// The lane is above 31.
    #[error("lane {0} does not exist: lanes are 0 to 31")]
    Lane(u8),
    /// A coefficient is not reduced.
    #[error("coefficient {0} is not reduced")]
    Coefficient(usize),
}

impl Template {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 16 + 32 + 4 + 1 + 2 * 6 * 4096;

    /// The canonical encoding, which [`Template::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        todo!()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`TemplateError`] for any other bytes.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Template, TemplateError> {
        todo!()
    }
}
