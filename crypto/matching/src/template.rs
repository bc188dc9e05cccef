//! Encrypted templates.

use crate::{Handle, Lane, TenantId};
use std::fmt;
use trefoil_bfv::{Arena, CiphertextError, Scheme, TemplateCiphertext};

/// First bytes of an encoded [`Template`]: format and version.
const MAGIC: [u8; 4] = *b"TFT2";
/// First bytes of an encoded [`EncryptedTemplate`].
const BLINDED_MAGIC: [u8; 4] = *b"TFE2";

/// Bytes of one packed polynomial: 2 primes, 4096 coefficients, 6 bytes.
const CIPHERTEXT_BYTES: usize = 2 * 4096 * 6;

/// An encrypted template ready for matching: one polynomial of 48 KiB, shared by clones.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    /// The tenant with whose basis it was made.
    pub tenant: TenantId,
    /// The subject.
    pub handle: Handle,
    /// Which of the subject's templates this is.
    pub generation: u32,
    /// The lane it lives in.
    pub lane: Lane,
    pub(crate) ciphertext: TemplateCiphertext,
}

/// An encrypted template that still carries the matcher's blind. Only [`crate::unblind`] makes use of it.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptedTemplate {
    pub(crate) template: Template,
}

/// Why bytes are not a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The length is not [`Template::BYTES`].
    #[error("a template has exactly {expected} bytes, not {0}", expected = Template::BYTES)]
    Length(usize),
    /// The first bytes do not name this format and version.
    #[error("these bytes are not a template of this kind and version")]
    Format,
    /// The lane is above 31.
    #[error("lane {0} does not exist: lanes are 0 to 31")]
    Lane(u8),
    /// The ciphertext is not canonical.
    #[error(transparent)]
    Ciphertext(#[from] CiphertextError),
}

impl Template {
    /// Memory for `templates` templates: whole huge pages where the system has them, which batches of arbitrary subjects
    /// are read from faster. It is taken as it is used and kept for the life of the process.
    pub fn arena(templates: usize) -> Arena {
        Arena::new(CIPHERTEXT_BYTES, templates)
    }

    /// This template with its polynomial in `arena`, or as it is when the arena is full. Takes constant time, also under load.
    #[must_use]
    pub fn stored_in(self, arena: &Arena) -> Template {
        let ciphertext = self.ciphertext.stored_in(arena).unwrap_or(self.ciphertext);
        Template { ciphertext, ..self }
    }

    /// Length of the encoding: magic, tenant, handle, generation (little-endian), lane, ciphertext.
    pub const BYTES: usize = 4 + 16 + 32 + 4 + 1 + CIPHERTEXT_BYTES;

    /// The canonical encoding, which [`Template::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode(MAGIC)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`TemplateError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Template, TemplateError> {
        Template::decode(MAGIC, bytes)
    }

    fn encode(&self, magic: [u8; 4]) -> Vec<u8> {
        let Template { tenant, handle, generation, lane, ciphertext } = self;
        let mut bytes = Vec::with_capacity(Template::BYTES);
        bytes.extend_from_slice(&magic);
        bytes.extend_from_slice(tenant);
        bytes.extend_from_slice(handle);
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.push(lane.index() as u8);
        bytes.extend_from_slice(ciphertext.as_bytes());
        bytes
    }

    fn decode(magic: [u8; 4], bytes: &[u8]) -> Result<Template, TemplateError> {
        if bytes.len() != Template::BYTES {
            return Err(TemplateError::Length(bytes.len()));
        }
        let mut rest = bytes;
        if take(&mut rest) != magic {
            return Err(TemplateError::Format);
        }
        let tenant = take(&mut rest);
        let handle = take(&mut rest);
        let generation = u32::from_le_bytes(take(&mut rest));
        let [lane] = take(&mut rest);
        let lane = Lane::new(lane).ok_or(TemplateError::Lane(lane))?;
        let ciphertext = TemplateCiphertext::from_bytes(Scheme::shared(), rest)?;
        Ok(Template { tenant, handle, generation, lane, ciphertext })
    }
}

impl EncryptedTemplate {
    /// Whether it is the template that was asked for, of a key-holder that is not trusted to answer the right question.
    pub fn is_of(&self, tenant: &TenantId, handle: &Handle, generation: u32, lane: Lane) -> bool {
        let of = &self.template;
        (of.tenant, of.handle, of.generation, of.lane) == (*tenant, *handle, generation, lane)
    }

    /// The canonical encoding, for the way from a remote key-holder.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.template.encode(BLINDED_MAGIC)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`TemplateError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<EncryptedTemplate, TemplateError> {
        Template::decode(BLINDED_MAGIC, bytes).map(|template| EncryptedTemplate { template })
    }
}

/// Splits `N` bytes off the front. The caller has checked the whole length.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (front, back) = rest.split_first_chunk().expect("the length was checked");
    *rest = back;
    *front
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("lane", &self.lane)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EncryptedTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptedTemplate(..)")
    }
}
