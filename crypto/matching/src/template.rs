//! Encrypted templates.

use crate::key_structure::POLYNOMIAL_BYTES;
use crate::{Handle, KeyStructure, Lane, Model, TemplateName, TenantId};
use rand::CryptoRng;
use std::fmt;
use trefoil_bfv::{Arena, CiphertextError, PairCiphertext, Scheme, Share, TemplateCiphertext};

/// First bytes of an encoded [`Template`]: format and version.
const MAGIC: [u8; 4] = *b"TFT4";
/// First bytes of an encoded [`EncryptedTemplate`].
const BLINDED_MAGIC: [u8; 4] = *b"TFE4";

/// Bytes before the ciphertext: magic, tenant, handle, generation, lane, model, epoch, key structure.
const HEADER_BYTES: usize = 4 + 16 + 32 + 4 + 1 + Model::BYTES + 4 + 1;

/// An encrypted template ready for matching: 48 or 96 KiB, shared by clones.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    /// The tenant whose key it is under.
    pub tenant: TenantId,
    /// The subject.
    pub handle: Handle,
    /// Which of the subject's templates this is.
    pub generation: u32,
    /// The lane it lives in.
    pub lane: Lane,
    /// The model of its vector.
    pub model: Model,
    /// The epoch of the tenant's keys that it is encrypted under.
    pub epoch: u32,
    pub(crate) ciphertext: Ciphertext,
}

/// A template in either key structure.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Ciphertext {
    Own(TemplateCiphertext),
    Pair(PairCiphertext),
}

/// An encrypted template that still carries the matcher's blind. Only [`crate::unblind`] makes use of it.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptedTemplate {
    pub(crate) template: Template,
}

/// Why bytes are not a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The length is not [`Template::bytes`] of the key structure.
    #[error("a template of this key structure does not have {0} bytes")]
    Length(usize),
    /// The first bytes do not name this format and version, or no model or key structure follows.
    #[error("these bytes are not a template of this kind and version")]
    Format,
    /// The lane is above 31.
    #[error("lane {0} does not exist: lanes are 0 to 31")]
    Lane(u8),
    /// The ciphertext is not canonical.
    #[error(transparent)]
    Ciphertext(#[from] CiphertextError),
}

impl Ciphertext {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Ciphertext::Own(own) => own.as_bytes(),
            Ciphertext::Pair(pair) => pair.as_bytes(),
        }
    }

    pub(crate) fn structure(&self) -> KeyStructure {
        match self {
            Ciphertext::Own(_) => KeyStructure::PerSubject,
            Ciphertext::Pair(_) => KeyStructure::PerTenant,
        }
    }

    fn read(keys: KeyStructure, bytes: &[u8]) -> Result<Ciphertext, CiphertextError> {
        let scheme = Scheme::shared();
        match keys {
            KeyStructure::PerSubject => TemplateCiphertext::from_bytes(scheme, bytes).map(Ciphertext::Own),
            KeyStructure::PerTenant => PairCiphertext::from_bytes(scheme, bytes).map(Ciphertext::Pair),
        }
    }

    pub(crate) fn subtract(&self, lane: Lane, share: &Share) -> Ciphertext {
        let (scheme, lane) = (Scheme::shared(), lane.index());
        match self {
            Ciphertext::Own(own) => Ciphertext::Own(own.subtract(scheme, lane, share)),
            Ciphertext::Pair(pair) => Ciphertext::Pair(pair.subtract(scheme, lane, share)),
        }
    }

    pub(crate) fn blinded(&self, lane: Lane, share: &Share, rng: &mut impl CryptoRng) -> TemplateCiphertext {
        let (scheme, lane) = (Scheme::shared(), lane.index());
        match self {
            Ciphertext::Own(own) => own.blinded(scheme, lane, share, rng),
            Ciphertext::Pair(pair) => pair.blinded(scheme, lane, share, rng),
        }
    }
}

impl Template {
    /// Memory for `templates` templates: whole huge pages where the system has them, which batches of arbitrary subjects
    /// are read from faster. Memory is allocated as it is used and kept for the life of the process.
    pub fn arena(keys: KeyStructure, templates: usize) -> Arena {
        Arena::new(keys.polynomials() * POLYNOMIAL_BYTES, templates)
    }

    /// This template with its polynomials in `arena`, which is of its key structure, or as it is when the arena is full. Takes
    /// constant time, also under load.
    #[must_use]
    pub fn stored_in(self, arena: &Arena) -> Template {
        let stored = match &self.ciphertext {
            Ciphertext::Own(own) => own.stored_in(arena).map(Ciphertext::Own),
            Ciphertext::Pair(pair) => pair.stored_in(arena).map(Ciphertext::Pair),
        };
        Template { ciphertext: stored.unwrap_or(self.ciphertext), ..self }
    }

    /// The key structure of its tenant.
    pub fn structure(&self) -> KeyStructure {
        self.ciphertext.structure()
    }

    /// Length of the encoding: magic, tenant, handle, generation, lane, model, epoch, key structure, ciphertext; numbers are little-endian.
    pub const fn bytes(keys: KeyStructure) -> usize {
        match keys {
            KeyStructure::PerSubject => HEADER_BYTES + POLYNOMIAL_BYTES,
            KeyStructure::PerTenant => HEADER_BYTES + 2 * POLYNOMIAL_BYTES,
        }
    }

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
        let Template { tenant, handle, generation, lane, model, epoch, ciphertext } = self;
        let mut bytes = Vec::with_capacity(Template::bytes(self.structure()));
        bytes.extend_from_slice(&magic);
        bytes.extend_from_slice(tenant.as_bytes());
        bytes.extend_from_slice(handle.as_bytes());
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.push(lane.index() as u8);
        bytes.extend_from_slice(model.as_bytes());
        bytes.extend_from_slice(&epoch.to_le_bytes());
        bytes.push(self.structure().code());
        bytes.extend_from_slice(ciphertext.as_bytes());
        bytes
    }

    fn decode(magic: [u8; 4], bytes: &[u8]) -> Result<Template, TemplateError> {
        let length = TemplateError::Length(bytes.len());
        let code = *bytes.get(HEADER_BYTES - 1).ok_or(length)?;
        let mut rest = bytes;
        if take(&mut rest) != magic {
            return Err(TemplateError::Format);
        }
        let keys = KeyStructure::from_code(code).ok_or(TemplateError::Format)?;
        if bytes.len() != Template::bytes(keys) {
            return Err(length);
        }
        let tenant = take(&mut rest);
        let handle = take(&mut rest);
        let generation = u32::from_le_bytes(take(&mut rest));
        let [lane] = take(&mut rest);
        let lane = Lane::new(lane).ok_or(TemplateError::Lane(lane))?;
        let model = Model::from_bytes(take(&mut rest)).ok_or(TemplateError::Format)?;
        let epoch = u32::from_le_bytes(take(&mut rest));
        let ciphertext = Ciphertext::read(keys, &rest[1..])?;
        Ok(Template {
            tenant: TenantId::new(tenant),
            handle: Handle::new(handle),
            generation,
            lane,
            model,
            epoch,
            ciphertext,
        })
    }
}

impl EncryptedTemplate {
    /// Whether it is the requested template, since the key-holder is not trusted to answer the right request.
    pub fn is_of(&self, name: &TemplateName, lane: Lane, model: Model) -> bool {
        let TemplateName { tenant, handle, generation } = *name;
        let of = &self.template;
        (of.tenant, of.handle, of.generation, of.lane, of.model) == (tenant, handle, generation, lane, model)
    }

    /// Whether it is the generation that a template was to be renewed as.
    pub fn is_renewal(&self, name: &TemplateName) -> bool {
        self.is_of(name, self.template.lane, self.template.model)
    }

    /// The canonical encoding, for the reply of a remote key-holder.
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

/// Splits `N` bytes off the front. The caller has checked that the header is there.
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

trefoil_types::opaque_debug!(EncryptedTemplate);
