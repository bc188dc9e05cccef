//! One epoch of a tenant's keys at the key-holder.

use crate::keys::PublicKey;
use crate::template::Ciphertext;
use crate::{BlindedCiphertext, EpochRecord, KeyStructure, Lane, SubjectRecord, Width};
use rand::CryptoRng;
use trefoil_bfv::{Basis, MasterKey, Salt, Scheme, Share, SubjectKey, TagKey, TagMaster, TenantKey};
use zeroize::Zeroizing;

/// Master key and the keys derived from it: 64 KiB; 128 KiB with one key per tenant.
pub(crate) struct Epoch {
    number: u32,
    seed: [u8; 32],
    master: MasterKey,
    tags: [TagMaster; 2],
    secret: Secret,
}

/// The template encryptor.
enum Secret {
    PerSubject(Basis),
    PerTenant(TenantKey),
}

impl Epoch {
    pub(crate) fn restore(keys: KeyStructure, record: &EpochRecord) -> Epoch {
        let master = MasterKey::from_bytes(record.master);
        let secret = match keys {
            KeyStructure::PerSubject => Secret::PerSubject(Basis::from_seed(Scheme::shared(), record.seed)),
            KeyStructure::PerTenant => Secret::PerTenant(master.tenant_key(Scheme::shared())),
        };
        let tags = record.tags.map(TagMaster::from_bytes);
        Epoch { number: record.epoch, seed: record.seed, master, tags, secret }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The record to store.
    pub(crate) fn record(&self) -> EpochRecord {
        EpochRecord {
            epoch: self.number,
            master: *self.master.expose_bytes(),
            seed: self.seed,
            tags: self.tags.each_ref().map(|tags| *tags.expose_bytes()),
        }
    }

    /// The public key for matchers, with the tag basis of a version.
    pub(crate) fn public_key(&self, version: u32) -> PublicKey {
        match &self.secret {
            Secret::PerSubject(basis) => {
                let [one, other] = self.tags.each_ref().map(|tags| tags.basis(basis, version));
                PublicKey::of_basis(self.number, self.seed, version, one.plus(&other))
            }
            Secret::PerTenant(key) => {
                PublicKey::of_zero(self.number, self.seed, key.zero_of(&self.master, self.seed))
            }
        }
    }

    /// The seed of the public key.
    pub(crate) fn seed(&self) -> [u8; 32] {
        self.seed
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
            Secret::PerSubject(basis) => Ciphertext::Own(basis.encrypt_lane(&key, lane, template, rng)),
            Secret::PerTenant(tenant) => Ciphertext::Pair(tenant.encrypt_lane_of(&key, lane, template, rng)),
        }
    }

    /// The share in a blinded template of a subject of this epoch; none if it does not come from an honest matcher.
    pub(crate) fn open_blinded(
        &self,
        key: &SubjectKey,
        lane: Lane,
        width: Width,
        blinded: &BlindedCiphertext,
    ) -> Option<Share> {
        match &self.secret {
            Secret::PerSubject(basis) => basis.open_blinded(key, lane.index(), width, &blinded.ciphertext),
            Secret::PerTenant(tenant) => tenant.open_blinded(key, lane.index(), width, &blinded.ciphertext),
        }
    }

    /// The polynomial that subjects' templates are encrypted over, if they have keys of their own.
    pub(crate) fn basis(&self) -> Option<&Basis> {
        match &self.secret {
            Secret::PerSubject(basis) => Some(basis),
            Secret::PerTenant(_) => None,
        }
    }

    /// The checker of tags of a version, if subjects have keys of their own.
    pub(crate) fn tag_key(&self, version: u32) -> Option<TagKey> {
        let basis = self.basis()?;
        let [one, other] = self.tags.each_ref().map(|tags| tags.key(basis, version));
        Some(one.plus(&other))
    }

    /// The tenant's one key, if it has one.
    pub(crate) fn tenant_key(&self) -> Option<&TenantKey> {
        match &self.secret {
            Secret::PerSubject(_) => None,
            Secret::PerTenant(key) => Some(key),
        }
    }
}
