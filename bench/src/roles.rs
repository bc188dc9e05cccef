//! One tenant's store in one of the two probe modes, and the two roles' arithmetic over it, without the service
//! around them: what [`crate::match_stages`] times and [`crate::exact`] compares where no pipeline exists.

use std::sync::Arc;

use rand::rngs::StdRng;
use trefoil_bfv::{
    Arena, Basis, Decryptor, Embedding, Handle, LANES, MaskedBatch, MaskedProduct, Masker, MasterKey, Opened,
    PairCiphertext, Params, Placed, PlacedShare, Salt, Scheme, Share, SubjectKey, Tag, TagBasis, TagKey,
    TagMaster, TemplateCiphertext, TenantKey, Zero,
};
use trefoil_kernels::Tier;
pub use trefoil_types::ProbeMode;

use crate::Failure;

/// All templates of a tenant and the keys to them. Template `i` is in lane `i % 32`.
pub(crate) enum Store {
    Plain {
        basis: Basis,
        tags: Box<(TagKey, TagBasis)>,
        keys: Vec<SubjectKey>,
        templates: Vec<TemplateCiphertext>,
    },
    Shared {
        key: Box<TenantKey>,
        zero: Box<Zero>,
        templates: Vec<PairCiphertext>,
    },
}

/// The key-holder's share of the work before the match: nothing, or the probes' ciphertext.
pub(crate) type Encrypted = Option<PairCiphertext>;

/// The matcher's output.
pub(crate) enum Masked {
    /// With its tag.
    Own(MaskedBatch, Tag),
    Product(MaskedProduct),
}

/// The scheme on `tier`.
pub(crate) fn scheme(tier: Tier) -> Arc<Scheme> {
    Scheme::new(Params::lanes94(), tier)
}

impl Store {
    /// Encrypts `templates`, blinded as in enrolment, into an arena.
    ///
    /// # Errors
    /// When the system gives no memory.
    pub(crate) fn new(
        scheme: &Arc<Scheme>,
        mode: ProbeMode,
        templates: impl ExactSizeIterator<Item = Embedding>,
        rng: &mut StdRng,
    ) -> Result<Self, Failure> {
        let master = MasterKey::random(rng);
        let full = || Failure::fault("the system gives no memory for the store");
        let count = templates.len();
        let shares = templates.enumerate().map(|(i, template)| (i, i % LANES, Share::of(&template)));
        match mode {
            ProbeMode::Plain => {
                let arena = Arena::new(scheme.template_bytes(), count);
                let basis = Basis::from_seed(scheme, rand::random());
                let (mut keys, mut templates) = (Vec::with_capacity(count), Vec::with_capacity(count));
                for (i, lane, share) in shares {
                    let mut handle = [0; 32];
                    handle[..8].copy_from_slice(&(i as u64).to_le_bytes());
                    let key = master.subject_key(&Handle::new(handle), 0, &Salt::random(rng));
                    let rho = Share::random(rng);
                    let blinded = basis.encrypt_lane(&key, lane, &share.plus(&rho), rng);
                    let template = blinded.subtract(scheme, lane, &rho);
                    templates.push(template.stored_in(&arena).ok_or_else(full)?);
                    keys.push(key);
                }
                let tags = TagMaster::random(rng);
                let tags = Box::new((tags.key(&basis, 0), tags.basis(&basis, 0)));
                Ok(Store::Plain { basis, tags, keys, templates })
            }
            ProbeMode::Shared => {
                let arena = Arena::new(2 * scheme.template_bytes(), count);
                let key = Box::new(master.tenant_key(scheme));
                let zero = Box::new(key.zero(rand::random(), rng));
                let mut templates = Vec::with_capacity(count);
                for (_, lane, share) in shares {
                    let rho = Share::random(rng);
                    let blinded = key.encrypt_lane(lane, &share.plus(&rho), rng);
                    let template = blinded.subtract(scheme, lane, &rho);
                    templates.push(template.stored_in(&arena).ok_or_else(full)?);
                }
                Ok(Store::Shared { key, zero, templates })
            }
        }
    }

    /// The stored bytes of template `i`.
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        match self {
            Store::Plain { templates, .. } => templates[i].as_bytes(),
            Store::Shared { templates, .. } => templates[i].as_bytes(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Store::Plain { templates, .. } => templates.len(),
            Store::Shared { templates, .. } => templates.len(),
        }
    }

    /// The key-holder's part before the match: encrypts its shares of the probes, if they come in shares.
    pub(crate) fn encrypt(&self, shares: &[(Share, Share)], rng: &mut StdRng) -> Encrypted {
        match self {
            Store::Plain { .. } => None,
            Store::Shared { key, .. } => {
                let of_key_holder: Vec<_> = shares.iter().map(|(_, x2)| x2).enumerate().collect();
                Some(key.encrypt_probes(&of_key_holder, rng))
            }
        }
    }

    /// The matcher's part, with probes in the clear: template `users[i]`, which is in lane `i`, against probe `i`.
    ///
    /// # Errors
    /// With one key per tenant, which takes no probe in the clear.
    pub(crate) fn mask(
        &self,
        masker: &mut Masker,
        users: &[usize],
        probes: &[Embedding],
    ) -> Result<Masked, Failure> {
        let Store::Plain { basis, tags, templates, .. } = self else {
            return Err(Failure::fault("probes in the clear need a key per subject"));
        };
        let each = users.iter().zip(probes).enumerate();
        let placed: Vec<_> =
            each.map(|(lane, (user, probe))| Placed { lane, template: &templates[*user], probe }).collect();
        let masked = masker.mask(basis, &placed);
        Ok(Masked::Own(masked, masker.tag(&tags.1)))
    }

    /// The matcher's part, with its shares of the probes and the key-holder's ciphertext of the others.
    ///
    /// # Errors
    /// With keys per subject, which have no product.
    pub(crate) fn mask_shared(
        &self,
        masker: &mut Masker,
        users: &[usize],
        shares: &[(Share, Share)],
        encrypted: &PairCiphertext,
    ) -> Result<Masked, Failure> {
        let Store::Shared { zero, templates, .. } = self else {
            return Err(Failure::fault("shared probes need one key per tenant"));
        };
        let placed: Vec<_> = users
            .iter()
            .zip(shares)
            .enumerate()
            .map(|(lane, (user, (share, _)))| PlacedShare { lane, template: &templates[*user], share })
            .collect();
        Ok(Masked::Product(masker.mask_shared(zero, &placed, encrypted)))
    }

    /// The key-holder's part after the match.
    ///
    /// # Errors
    /// When the noise is not that of an honest matcher.
    pub(crate) fn open(
        &self,
        decryptor: &mut Decryptor,
        users: &[usize],
        masked: &Masked,
    ) -> Result<Opened, Failure> {
        let opened = match (self, masked) {
            (Store::Plain { keys, tags, .. }, Masked::Own(masked, tag)) => {
                if !tags.0.vouches(masked, tag) {
                    return Err(Failure::fault("the tag of a batch is not that of an honest matcher"));
                }
                decryptor.decrypt(users.iter().map(|user| &keys[*user]), masked)
            }
            (Store::Shared { key, .. }, Masked::Product(masked)) => decryptor.decrypt_product(key, masked),
            _ => return Err(Failure::fault("the batch is of another key structure")),
        };
        if opened.within_band() {
            Ok(opened)
        } else {
            Err(Failure::fault("the noise of a batch is outside the band of an honest matcher"))
        }
    }
}
