//! One tenant's store in each of the two probe modes, and the two roles' arithmetic over it, without the service
//! around them: what [`crate::match_stages`] times and [`crate::exact`] compares where no pipeline exists.

use std::sync::Arc;
use std::time::Instant;

use rand::RngExt as _;
use rand::rngs::StdRng;
use trefoil_bfv::{
    Arena, Basis, Decryptor, Embedding, Handle, LANES, MaskedBatch, Masker, MasterKey, Opened,
    PairCiphertext, Params, Placed, PlacedShare, Salt, Scheme, Share, SubjectKey, Tag, TagBasis, TagKey,
    TagMaster, TemplateCiphertext, TenantKey, Width, Zero,
};
use trefoil_kernels::Tier;

use crate::Failure;

/// The scheme on `tier`.
pub(crate) fn scheme(tier: Tier) -> Arc<Scheme> {
    Scheme::new(Params::lanes94(), tier)
}

/// A face of a width without a person.
pub(crate) fn face(width: Width, rng: &mut StdRng) -> Result<Embedding, Failure> {
    let vector: Vec<f32> = (0..width.numbers()).map(|_| rng.random::<f32>() - 0.5).collect();
    quantise(&vector)
}

pub(crate) fn quantise(vector: &[f32]) -> Result<Embedding, Failure> {
    Embedding::quantise(vector).map_err(Failure::in_step("quantiser"))
}

/// One of so many users for each lane.
pub(crate) fn random_users(users: usize, rng: &mut StdRng) -> Vec<usize> {
    (0..LANES).map(|lane| LANES * rng.random_range(0..users / LANES) + lane).collect()
}

/// What a step gives, and its nanoseconds.
pub(crate) fn timed<R>(step: impl FnOnce() -> R) -> (R, u64) {
    let begin = Instant::now();
    let result = step();
    (result, u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn full() -> Failure {
    Failure::fault("the system gives no memory for the store")
}

fn within_band(opened: Opened) -> Result<Opened, Failure> {
    if opened.within_band() {
        Ok(opened)
    } else {
        Err(Failure::fault("the noise of a batch is outside the band of an honest matcher"))
    }
}

/// All templates of a tenant with probes in the clear, and the keys to them. Template `i` is in lane `i % 32`.
pub(crate) struct PlainStore {
    pub(crate) basis: Basis,
    pub(crate) tag_basis: TagBasis,
    tag_key: TagKey,
    pub(crate) keys: Vec<SubjectKey>,
    pub(crate) templates: Vec<TemplateCiphertext>,
}

impl PlainStore {
    /// Encrypts `templates`, blinded as in enrolment, into an arena.
    ///
    /// # Errors
    /// When the system gives no memory.
    pub(crate) fn new(
        scheme: &Arc<Scheme>,
        templates: impl ExactSizeIterator<Item = Embedding>,
        rng: &mut StdRng,
    ) -> Result<Self, Failure> {
        let (master, count) = (MasterKey::random(rng), templates.len());
        let arena = Arena::new(scheme.template_bytes(), count);
        let basis = Basis::from_seed(scheme, rand::random());
        let (mut keys, mut stored) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (i, template) in templates.enumerate() {
            let (lane, share) = (i % LANES, Share::of(&template));
            let mut handle = [0; 32];
            handle[..8].copy_from_slice(&(i as u64).to_le_bytes());
            let key = master.subject_key(&Handle::new(handle), 0, &Salt::random(rng));
            let rho = Share::random(share.width(), rng);
            let blinded = basis.encrypt_lane(&key, lane, &share.plus(&rho), rng);
            stored.push(blinded.subtract(scheme, lane, &rho).stored_in(&arena).ok_or_else(full)?);
            keys.push(key);
        }
        let tags = TagMaster::random(rng);
        let (tag_key, tag_basis) = (tags.key(&basis, 0), tags.basis(&basis, 0));
        Ok(PlainStore { basis, tag_basis, tag_key, keys, templates: stored })
    }

    /// The stored bytes of template `i`.
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        self.templates[i].as_bytes()
    }

    /// The matcher's part: template `users[i]`, which is in lane `i`, against probe `i`.
    pub(crate) fn mask(
        &self,
        masker: &mut Masker,
        users: &[usize],
        probes: &[Embedding],
    ) -> (MaskedBatch, Tag) {
        let each = users.iter().zip(probes).enumerate();
        let placed: Vec<_> = each
            .map(|(lane, (user, probe))| Placed { lane, template: &self.templates[*user], probe })
            .collect();
        (masker.mask(&self.basis, &placed), masker.tag(&self.tag_basis))
    }

    /// The key-holder's part after the match.
    ///
    /// # Errors
    /// When noise or tag are not those of an honest matcher.
    pub(crate) fn open(
        &self,
        decryptor: &mut Decryptor,
        users: &[usize],
        (masked, tag): &(MaskedBatch, Tag),
    ) -> Result<Opened, Failure> {
        if !self.tag_key.vouches(masked, tag) {
            return Err(Failure::fault("the tag of a batch is not that of an honest matcher"));
        }
        within_band(decryptor.decrypt(users.iter().map(|user| &self.keys[*user]).enumerate(), masked))
    }
}

/// The same with shared probes, under one key.
pub(crate) struct SharedStore {
    key: TenantKey,
    zero: Zero,
    templates: Vec<PairCiphertext>,
}

impl SharedStore {
    /// As [`PlainStore::new`].
    pub(crate) fn new(
        scheme: &Arc<Scheme>,
        templates: impl ExactSizeIterator<Item = Embedding>,
        rng: &mut StdRng,
    ) -> Result<Self, Failure> {
        let arena = Arena::new(2 * scheme.template_bytes(), templates.len());
        let key = MasterKey::random(rng).tenant_key(scheme);
        let zero = key.zero(rand::random(), rng);
        let mut stored = Vec::with_capacity(templates.len());
        for (i, template) in templates.enumerate() {
            let (lane, rho) = (i % LANES, Share::random(template.width(), rng));
            let blinded = key.encrypt_lane(lane, &Share::of(&template).plus(&rho), rng);
            stored.push(blinded.subtract(scheme, lane, &rho).stored_in(&arena).ok_or_else(full)?);
        }
        Ok(SharedStore { key, zero, templates: stored })
    }

    pub(crate) fn len(&self) -> usize {
        self.templates.len()
    }

    /// Both roles in turn: the key-holder encrypts its shares of the probes, the matcher multiplies, the key-holder opens.
    ///
    /// # Errors
    /// When the noise is not that of an honest matcher.
    pub(crate) fn scores(
        &self,
        masker: &mut Masker,
        decryptor: &mut Decryptor,
        users: &[usize],
        shares: &[(Share, Share)],
        rng: &mut StdRng,
    ) -> Result<Opened, Failure> {
        let of_key_holder: Vec<_> = shares.iter().map(|(_, share)| share).enumerate().collect();
        let encrypted = self.key.encrypt_probes(&of_key_holder, rng);
        let each = users.iter().zip(shares).enumerate();
        let placed: Vec<_> = each
            .map(|(lane, (user, (share, _)))| PlacedShare { lane, template: &self.templates[*user], share })
            .collect();
        let masked = masker.mask_shared(&self.zero, &placed, &encrypted);
        within_band(decryptor.decrypt_product(&self.key, &masked))
    }
}
