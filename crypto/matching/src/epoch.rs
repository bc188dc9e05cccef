//! One epoch of a tenant's keys, as the key-holder has it.

use crate::keys::{KeyStructure, PublicKey};
use crate::template::Ciphertext;
use crate::{BlindedCiphertext, EpochRecord, Lane, SubjectRecord};
use rand::CryptoRng;
use trefoil_bfv::{Basis, MasterKey, Salt, Scheme, Share, SubjectKey, TagKey, TenantKey};
use zeroize::Zeroizing;

/// Master key and what follows from it. 128 KiB; 192 KiB with one key per tenant.
pub(crate) struct Epoch {
    number: u32,
    seed: [u8; 32],
    master: MasterKey,
    secret: Secret,
}

/// What encrypts templates.
enum Secret {
    PerSubject(Basis, TagKey),
    PerTenant(TenantKey),
}

impl Epoch {
    pub(crate) fn restore(keys: KeyStructure, record: &EpochRecord) -> Epoch {
        let master = MasterKey::from_bytes(record.master);
        let secret = match keys {
            KeyStructure::PerSubject => {
                let basis = Basis::from_seed(Scheme::shared(), record.seed);
                let tag_key = master.tag_key(&basis);
                Secret::PerSubject(basis, tag_key)
            }
            KeyStructure::PerTenant => Secret::PerTenant(master.tenant_key(Scheme::shared())),
        };
        Epoch { number: record.epoch, seed: record.seed, master, secret }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// To store.
    pub(crate) fn record(&self) -> EpochRecord {
        EpochRecord { epoch: self.number, master: *self.master.expose_bytes(), seed: self.seed }
    }

    /// What matchers need.
    pub(crate) fn public_key(&self) -> PublicKey {
        match &self.secret {
            Secret::PerSubject(basis, _) => {
                PublicKey::of_basis(self.number, self.seed, self.master.tag_basis(basis))
            }
            Secret::PerTenant(key) => {
                PublicKey::of_zero(self.number, self.seed, key.zero_of(&self.master, self.seed))
            }
        }
    }

    /// The key that belongs to a subject's salt: of its template, or of the second polynomial of its template.
    pub(crate) fn subject_key(&self, record: &SubjectRecord) -> SubjectKey {
        let salt = Salt::from_bytes(*Zeroizing::new(record.salt));
        self.master.subject_key(&record.handle, record.generation, &salt)
    }

    /// Encrypts a blinded template. A salt is used once.
    pub(crate) fn encrypt(
        &self,
        record: &SubjectRecord,
        template: &Share,
        rng: &mut impl CryptoRng,
    ) -> Ciphertext {
        let (key, lane) = (self.subject_key(record), record.lane.index());
        match &self.secret {
            Secret::PerSubject(basis, _) => Ciphertext::Own(basis.encrypt_lane(&key, lane, template, rng)),
            Secret::PerTenant(tenant) => Ciphertext::Pair(tenant.encrypt_lane_of(&key, lane, template, rng)),
        }
    }

    /// The share in a blinded template of a subject of this epoch; nothing if it is not an honest matcher's.
    pub(crate) fn open_blinded(
        &self,
        key: &SubjectKey,
        lane: Lane,
        blinded: &BlindedCiphertext,
    ) -> Option<Share> {
        match &self.secret {
            Secret::PerSubject(basis, _) => basis.open_blinded(key, lane.index(), &blinded.ciphertext),
            Secret::PerTenant(tenant) => tenant.open_blinded(key, lane.index(), &blinded.ciphertext),
        }
    }

    /// The polynomial that subjects' templates are encrypted over, if they have keys of their own.
    pub(crate) fn basis(&self) -> Option<&Basis> {
        match &self.secret {
            Secret::PerSubject(basis, _) => Some(basis),
            Secret::PerTenant(_) => None,
        }
    }

    /// What checks the tags of batches, if subjects have keys of their own.
    pub(crate) fn tag_key(&self) -> Option<&TagKey> {
        match &self.secret {
            Secret::PerSubject(_, tag_key) => Some(tag_key),
            Secret::PerTenant(_) => None,
        }
    }

    /// The tenant's one key, if it has one.
    pub(crate) fn tenant_key(&self) -> Option<&TenantKey> {
        match &self.secret {
            Secret::PerSubject(..) => None,
            Secret::PerTenant(key) => Some(key),
        }
    }
}
