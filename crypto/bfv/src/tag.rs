//! Shows the key-holder that a batch's `c1` is a product of the basis, made by a party that knows the other factor.
//!
//! ```text
//! tag key s', known to the key-holder only        tag basis  b = -a s' + e'         public, once for all batches
//!
//! matcher:      c1' = a p' + e2                   tag = coefficients 0, 128, .. of b p', flooded
//! key-holder:   tag + fold(c1' s')  =  e' p' + e2 s' + F                            small, or c1' was forged
//! ```
//!
//! Without it `c1'` could be arbitrary: a multiple of `Delta` in one lane decrypts to the keys, there and nowhere else, so neither
//! the error nor an empty lane shows it. A matcher that adds `d` to `c1'` has to add `-fold(d s')` to the tag. To guess it for one that tells `r` bits
//! of a key is to guess `r` bits of the tag key. `NOTES.md`, section 6.

use crate::ciphertext::{CiphertextError, TemplateCiphertext};
use crate::decrypt::Folded;
use crate::keys::secret_bytes;
use crate::lines::{Lines, Secret};
use crate::mask::add_flood;
use crate::masked;
use crate::noise::{TAG_BAND_MAX, TAG_FLOOD_TERM_BITS, TAG_FLOOD_TERMS};
use crate::sample::{ErrorSampler, TernarySampler, sums};
use crate::{Basis, Drbg, LANES, MaskedBatch, MaskedError, Masker, N, Scheme, SubjectKey};
use sha3::{Digest as _, Sha3_256};
use std::sync::Arc;
use trefoil_kernels::packed;
use zeroize::Zeroizing;

secret_bytes! {
/// The secret from which one key-holder's tag keys are derived. Each of three key-holders has its own, so that none of them, with a
/// matcher on its side, can forge a batch for another. Wiped on drop.
TagMaster
}

/// The secret that checks tags: a ternary polynomial, transformed, 64 KiB. Wiped on drop.
pub struct TagKey {
    scheme: Arc<Scheme>,
    s: Secret<u64>,
}

/// The basis of tags: an encryption of zero over the tenant's basis. Public, 64 KiB. A party without a part of the key cannot verify that
/// it is one: a matcher that takes it from a malicious key-holder reveals the multiplier to it, which is the probes.
#[derive(Clone, PartialEq, Eq)]
pub struct TagBasis {
    values: Lines<u64>,
}

/// 32 coefficients per prime that go with a batch, zero where the batch has no ciphertext.
#[derive(Clone, PartialEq, Eq)]
pub struct Tag {
    words: Lines<u64>,
}

impl TagMaster {
    /// The tag key of a version over a basis: the ternary polynomial of a key derived from secret, basis and version.
    pub fn key(&self, basis: &Basis, version: u32) -> TagKey {
        let scheme = basis.scheme();
        let key = SubjectKey::from_seed(self.derive(b"trefoil/bfv/tag/2", basis, version));
        let (mut small, mut s) = (Secret::new(N), Secret::new(scheme.polynomial_words()));
        key.add_to(&mut TernarySampler::new(scheme.cpu()), 1, &mut small);
        for (limb, s) in scheme.limbs().iter().zip(s.chunks_exact_mut(N)) {
            limb.transform_small(&small, s);
            s.iter_mut().for_each(|value| *value = limb.modulus().reduce(*value));
        }
        TagKey { scheme: Arc::clone(scheme), s }
    }

    /// The tag basis that belongs to [`TagMaster::key`]: the same at every call, so that it need not be kept, and
    /// never a second one with another error.
    pub fn basis(&self, basis: &Basis, version: u32) -> TagBasis {
        let scheme = basis.scheme();
        let key = self.key(basis, version);
        let mut error = Secret::new(N);
        let mut drbg = Drbg::from_seed(*self.derive(b"trefoil/bfv/tag-error/2", basis, version));
        ErrorSampler::new(scheme.cpu()).fill(&mut drbg, &mut error);
        let mut product = Secret::new(N);
        let mut values = Lines::new(scheme.polynomial_words());
        let parts = values.chunks_exact_mut(N).zip(key.s.chunks_exact(N)).zip(basis.limbs());
        for (limb, ((out, s), a)) in scheme.limbs().iter().zip(parts) {
            limb.transform_small(&error, out);
            product.fill(0);
            limb.mul_add(a, s, &mut product);
            let m = limb.modulus();
            out.iter_mut()
                .zip(product.iter())
                .for_each(|(out, product)| *out = m.sub(m.reduce(*out), *product));
        }
        TagBasis { values }
    }

    /// SHA3-256 over a domain string, the secret, the seed of the basis and the version (4 bytes, little-endian).
    fn derive(&self, domain: &[u8], basis: &Basis, version: u32) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0; 32]);
        let digest = Sha3_256::new().chain_update(domain).chain_update(self.0).chain_update(basis.seed());
        digest.chain_update(version.to_le_bytes()).finalize_into((&mut *derived).into());
        derived
    }
}

impl TagKey {
    /// The key of which these two are the summands.
    #[must_use]
    pub fn plus(mut self, other: &TagKey) -> TagKey {
        add(&self.scheme, &mut self.s, &other.s);
        self
    }

    /// Whether `tag` is that of this batch: the 32 coefficients of `tag + c1 s'` decrypt to zero, with an error as small as an
    /// honest batch's. Constant in time.
    pub fn vouches(&self, batch: &MaskedBatch, tag: &Tag) -> bool {
        let mut folded = Folded::default();
        for (lanes, c1) in batch.ciphertexts() {
            let parts = c1.chunks_exact(N).zip(self.s.chunks_exact(N)).zip(folded.limbs());
            for (limb, ((c1, s), folded)) in self.scheme.limbs().iter().zip(parts) {
                limb.fold(c1, s, &mut folded[lanes.clone()]);
            }
        }
        let opened = folded.open(&self.scheme, batch.shape(), &tag.words);
        let message = opened.scores().iter().fold(0, |bits, value| bits | value);
        (message == 0) & opened.within(0, TAG_BAND_MAX)
    }
}

impl Masker {
    /// The tag of the batch that was masked last, whose multiplier is still there.
    ///
    /// # Panics
    /// If the tag basis belongs to a scheme with other primes.
    pub fn tag(&mut self, basis: &TagBasis) -> Tag {
        let flooding = sums::<TAG_FLOOD_TERMS>(&mut self.drbg, TAG_FLOOD_TERM_BITS);
        let mut words = Lines::new(self.scheme.folded_words());
        for (lanes, factors) in self.shape.ciphertexts().zip(&self.factors) {
            let products = basis.values.chunks_exact(N).zip(factors.multiplier.chunks_exact(N));
            let parts = words.chunks_exact_mut(LANES).zip(products);
            for (limb, (out, (b, multiplier))) in self.scheme.limbs().iter().zip(parts) {
                let out = &mut out[lanes.clone()];
                limb.fold(b, multiplier, out);
                add_flood(limb, &flooding[lanes.clone()], out);
            }
        }
        Tag { words }
    }
}

impl TagBasis {
    /// The basis that belongs to the sum of two tag keys over one basis.
    #[must_use]
    pub fn plus(&self, other: &TagBasis) -> TagBasis {
        let mut values = self.values.clone();
        add(Scheme::shared(), &mut values, &other.values);
        TagBasis { values }
    }

    /// The canonical encoding: every residue in six bytes, little-endian; [`Scheme::template_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        masked::to_bytes(&self.values)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<TagBasis, CiphertextError> {
        let values = TemplateCiphertext::from_bytes(scheme, bytes)?.unpacked();
        Ok(TagBasis { values: Lines::of(&values) })
    }
}

/// Adds a polynomial to another, prime by prime.
fn add(scheme: &Scheme, sum: &mut [u64], other: &[u64]) {
    let parts = sum.chunks_exact_mut(N).zip(other.chunks_exact(N));
    for (limb, (sum, other)) in scheme.limbs().iter().zip(parts) {
        sum.iter_mut().zip(other).for_each(|(sum, &other)| *sum = limb.modulus().add(*sum, other));
    }
}

impl Tag {
    /// Length of the encoding: 384 with two primes.
    pub const BYTES: usize = 2 * LANES * packed::RESIDUE_BYTES;

    /// The canonical encoding: every residue in six bytes, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        masked::to_bytes(&self.words)
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<Tag, MaskedError> {
        let mut words = Lines::new(scheme.folded_words());
        masked::read_folded(scheme, bytes, &mut words)?;
        Ok(Tag { words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Decryptor, Embedding, Handle, MasterKey, Placed, Salt, Share, T, TemplateCiphertext, Tier, Width,
    };

    /// People in two lanes, of one ciphertext or of two.
    struct Fixture {
        tags: TagMaster,
        basis: Basis,
        keys: [SubjectKey; 2],
        templates: [TemplateCiphertext; 2],
        face: Embedding,
    }

    impl Fixture {
        fn new(width: Width) -> Fixture {
            let mut rng = Drbg::from_seed([1; 32]);
            let master = MasterKey::random(&mut rng);
            let basis = Basis::from_seed(Scheme::shared(), [2; 32]);
            let keys = [0, 1].map(|i| master.subject_key(&Handle::new([i; 32]), 0, &Salt::random(&mut rng)));
            let face = Embedding::random(width, &mut rng);
            let templates =
                [0, 1].map(|i| basis.encrypt_lane(&keys[i], LANES_OF[i], &Share::of(&face), &mut rng));
            Fixture { tags: TagMaster::random(&mut rng), basis, keys, templates, face }
        }

        fn masked(&self, seed: u8) -> (MaskedBatch, Tag) {
            self.tagged(seed, &self.tags.basis(&self.basis, 0))
        }

        fn tagged(&self, seed: u8, tags: &TagBasis) -> (MaskedBatch, Tag) {
            let mut masker = Masker::new(Scheme::shared(), [seed; 32]);
            (masker.mask(&self.basis, &self.placed()), masker.tag(tags))
        }

        fn placed(&self) -> [Placed<'_>; 2] {
            let (probe, templates) = (&self.face, &self.templates);
            [0, 1].map(|i| Placed { lane: LANES_OF[i], template: &templates[i], probe })
        }

        fn open(&self, batch: &MaskedBatch) -> crate::Opened {
            Decryptor::new(Scheme::shared()).decrypt(LANES_OF.into_iter().zip(&self.keys), batch)
        }
    }

    const LANES_OF: [usize; 2] = [5, 21];

    /// `Delta` times a vector in one lane, transformed.
    fn in_lane(lane: usize, residues: &Share) -> Vec<u64> {
        let scheme = Scheme::shared();
        let nothing = TemplateCiphertext::from_bytes(scheme, &vec![0; scheme.template_bytes()]).unwrap();
        nothing.subtract(scheme, lane, residues).unpacked()
    }

    /// Adds to the `c1` of the ciphertext that has this lane; gives its lanes.
    fn add(batch: &mut MaskedBatch, lane: usize, polynomial: &[u64]) -> std::ops::Range<usize> {
        let mut each = batch.shape().ciphertexts().enumerate();
        let (at, lanes) = each.find(|(_, lanes)| lanes.contains(&lane)).expect("its ciphertext");
        super::add(Scheme::shared(), batch.parts_mut(at).1, polynomial);
        lanes
    }

    /// Takes `fold(added s')` from the tag's coefficients of these lanes, as only somebody with the key can.
    fn forge(tag: &mut Tag, key: &TagKey, lanes: &std::ops::Range<usize>, added: &[u64]) {
        for (i, limb) in Scheme::shared().limbs().iter().enumerate() {
            let (m, range) = (limb.modulus(), i * N..(i + 1) * N);
            let mut moved = vec![0; lanes.len()];
            limb.fold(&added[range.clone()], &key.s[range], &mut moved);
            let words = &mut tag.words[i * LANES..][lanes.clone()];
            words.iter_mut().zip(moved).for_each(|(word, moved)| *word = m.sub(*word, moved));
        }
    }

    #[test]
    fn the_tag_of_a_batch_is_its_own() {
        for width in Width::ALL {
            let fixture = Fixture::new(width);
            let key = fixture.tags.key(&fixture.basis, 0);
            let ((batch, tag), (other, its)) = (fixture.masked(1), fixture.masked(2));
            assert!(key.vouches(&batch, &tag) && key.vouches(&other, &its));
            assert!(!key.vouches(&batch, &its) && !key.vouches(&other, &tag));
            // Nor is the part of one ciphertext another's.
            for lanes in batch.shape().ciphertexts() {
                let mut mixed = tag.clone();
                for (words, its) in mixed.words.chunks_exact_mut(LANES).zip(its.words.chunks_exact(LANES)) {
                    words[lanes.clone()].copy_from_slice(&its[lanes.clone()]);
                }
                assert!(!key.vouches(&batch, &mixed), "{lanes:?}");
            }
            assert!(tag != fixture.masked(3).1);
            // Two tags of one batch differ by flooding alone: another one in each lane.
            let mut masker = Masker::new(Scheme::shared(), [4; 32]);
            masker.mask(&fixture.basis, &fixture.placed());
            let [a, b] = [0; 2].map(|_| masker.tag(&fixture.tags.basis(&fixture.basis, 0)));
            let m = Scheme::shared().limbs()[0].modulus();
            let lanes = batch.shape().ciphertexts().flatten();
            let difference: Vec<u64> = lanes.map(|lane| m.sub(a.words[lane], b.words[lane])).collect();
            assert!(difference.iter().enumerate().all(|(i, x)| !difference[..i].contains(x)), "{width:?}");
            assert!(!fixture.tags.key(&fixture.basis, 1).vouches(&batch, &tag), "of another version");
            // A tag over another basis, and one for another key-holder.
            let elsewhere = Basis::from_seed(Scheme::shared(), [9; 32]);
            assert!(!fixture.tags.key(&elsewhere, 0).vouches(&batch, &tag));
            assert!(!TagMaster::from_bytes([9; 32]).key(&fixture.basis, 0).vouches(&batch, &tag));
        }
    }

    #[test]
    fn the_sum_of_two_keys_checks_what_the_sum_of_their_bases_tags() {
        let fixture = Fixture::new(Width::W512);
        let other = TagMaster::from_bytes([9; 32]);
        let [key, its] = [&fixture.tags, &other].map(|tags| tags.key(&fixture.basis, 3));
        let [basis, of_other] = [&fixture.tags, &other].map(|tags| tags.basis(&fixture.basis, 3));
        let sum = basis.plus(&of_other);
        assert!(sum == of_other.plus(&basis) && sum != basis);
        let ((masked, tag), (same, part)) = (fixture.tagged(1, &sum), fixture.tagged(1, &basis));
        assert!(masked == same);
        assert!(key.vouches(&masked, &part) && !key.vouches(&masked, &tag) && !its.vouches(&masked, &tag));
        let together = key.plus(&its);
        assert!(together.vouches(&masked, &tag) && !together.vouches(&masked, &part));
    }

    /// Claim M36: Only the tag detects a polynomial crafted for one lane: it passes every other check, and an attacker with the tag key
    /// could forge a batch.
    #[test]
    fn a_multiple_of_delta_in_one_lane_passes_every_other_check() {
        for width in Width::ALL {
            let fixture = Fixture::new(width);
            let key = fixture.tags.key(&fixture.basis, 0);
            let honest = fixture.face.norm_squared();
            for (seed, lane) in (0..4).zip(LANES_OF.into_iter().cycle()) {
                let (mut batch, tag) = fixture.masked(seed);
                let any = Share::random(width, &mut Drbg::from_seed([seed; 32]));
                add(&mut batch, lane, &in_lane(lane, &any));
                let opened = fixture.open(&batch);
                // The key shows in this lane's score; nothing shows in the others, nor in the error.
                assert!(opened.scores()[lane] != honest);
                assert!(opened.within_band());
                let expected = |at| if LANES_OF.contains(&at) { honest } else { 0 };
                assert!((0..LANES).all(|at| at == lane || opened.scores()[at] == expected(at)));
                assert!(!key.vouches(&batch, &tag));
            }
        }
    }

    /// Claim M36.
    #[test]
    fn whoever_knows_the_tag_key_could_make_up_a_batch() {
        // The check rests on the secret: with it, the tag of the batch above is easily forged.
        for (width, lane) in Width::ALL.into_iter().flat_map(|width| LANES_OF.map(|lane| (width, lane))) {
            let fixture = Fixture::new(width);
            let key = fixture.tags.key(&fixture.basis, 0);
            let (mut batch, mut tag) = fixture.masked(1);
            let added = in_lane(lane, &Share::random(width, &mut Drbg::from_seed([1; 32])));
            let lanes = add(&mut batch, lane, &added);
            forge(&mut tag, &key, &lanes, &added);
            assert!(key.vouches(&batch, &tag));
            // A summand of the key is not enough.
            let other = TagMaster::from_bytes([9; 32]);
            let sum = fixture.tags.basis(&fixture.basis, 0).plus(&other.basis(&fixture.basis, 0));
            let (mut shared, mut of_sum) = fixture.tagged(2, &sum);
            add(&mut shared, lane, &added);
            forge(&mut of_sum, &key, &lanes, &added);
            let together = fixture.tags.key(&fixture.basis, 0).plus(&other.key(&fixture.basis, 0));
            assert!(!together.vouches(&shared, &of_sum));
            // A guess at the lane's message that is off by one is refused.
            let delta = (Scheme::shared().params().modulus() - 1) / u128::from(T);
            for (limb, word) in Scheme::shared().limbs().iter().zip(tag.words.chunks_exact_mut(LANES)) {
                let word = &mut word[lanes.start];
                *word = limb.modulus().add(*word, limb.modulus().reduce_wide(delta));
            }
            assert!(!key.vouches(&batch, &tag));
        }
    }

    #[test]
    fn encodings_are_canonical() {
        let fixture = Fixture::new(Width::W256);
        let scheme = Scheme::shared();
        let basis = fixture.tags.basis(&fixture.basis, 0);
        let bytes = basis.to_bytes();
        assert!(bytes == TagBasis::from_bytes(scheme, &bytes).unwrap().to_bytes());
        assert!(bytes == fixture.tags.basis(&fixture.basis, 0).to_bytes());
        let refused = |bytes: &[u8]| TagBasis::from_bytes(scheme, bytes).is_err();
        assert!(refused(&bytes[1..]) && refused(&vec![255; bytes.len()]));
        let (_, tag) = fixture.masked(1);
        let (bytes, read) = (tag.to_bytes(), |bytes: &[u8]| Tag::from_bytes(scheme, bytes));
        assert_eq!(bytes.len(), Tag::BYTES);
        assert!(read(&bytes).is_ok_and(|read| read == tag));
        assert!(read(&bytes[1..]).is_err() && read(&[255; Tag::BYTES]).is_err());
    }

    #[test]
    fn tags_agree_on_every_tier() {
        let fixture = Fixture::new(Width::W512);
        let (batch, tag) = fixture.masked(1);
        for tier in Tier::available() {
            let scheme = Scheme::new(crate::Params::lanes94(), tier);
            let basis = Basis::from_seed(&scheme, [2; 32]);
            assert!(fixture.tags.key(&basis, 0).vouches(&batch, &tag), "{tier:?}");
            assert!(fixture.tags.basis(&basis, 0) == fixture.tags.basis(&fixture.basis, 0));
        }
    }
}
