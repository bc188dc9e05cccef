//! Two of three key-holders: a key in three pieces, each known to two of them.
//!
//! ```text
//! s_j = s_j^0 + s_j^1 + s_j^2                  seat 0 has pieces 0 and 1, seat 1 has 1 and 2, seat 2 has 2 and 0
//!
//! enrolment:  c0_j = sum over pieces of (-a s_j^x + e_j^x), and Delta times the share once, with piece 0
//! decision:   P^x  = fold(c1' * sum of s_j^x) + F^x                 32 coefficients per prime
//!             c0' + P^0 + P^1 + P^2 = Delta (m p) + E + F + F^0 + F^1 + F^2
//! ```
//!
//! Every piece is a ternary polynomial of its own, expanded as the key of a single key-holder is, so no share of any key is
//! stored, and a party that lacks a piece faces the same RLWE problem as one that lacks the whole key. Errors at enrolment and the
//! flooding `F^x` are expanded from the piece as well: the two holders of a piece make the same bytes, and a difference
//! reveals that one of them lies. A [`Witness`] tells which one, and whether to trust a piece that only one has sent. `NOTES.md` derives
//! the bounds and says what each party sees.

mod bounds;
mod witness;

pub use bounds::{PARTIAL_FLOOD_MAX, PIECES, QUORUM_BAND_MAX, QUORUM_MARGIN_BITS};
pub(crate) use bounds::{TERM_BITS, TERMS};
pub use witness::Witness;

use crate::decrypt::Folded;
use crate::keys::secret_bytes;
use crate::mask::add_flood;
use crate::masked;
use crate::sample::sums;
use crate::shape::within;
use crate::{
    Basis, Decryptor, Drbg, LANES, MaskedBatch, MaskedError, N, Opened, Scheme, Share, SubjectKey, TagMaster,
    TemplateCiphertext, Width,
};
use sha3::{Digest, Sha3_256};
use trefoil_kernels::packed;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// One of the three pieces of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece(u8);

/// One of the three key-holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seat(u8);

secret_bytes! {
    /// The secret from which a piece of every key is derived. Two key-holders have it. Wiped on drop.
    PieceMaster
}

/// The object of a partial decryption. The flooding of each is independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The batch itself.
    Batch,
    /// The [`Witness`] of a seat.
    Witness(Seat),
}

/// 32 coefficients per prime of `c1' s^x`, flooded, zero where the batch has no ciphertext. Only key-holders may see one: three of them,
/// or two and a key, open the batch. Wiped on drop, and not printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Partial {
    words: Box<[u64]>,
}

impl Piece {
    /// All of them.
    pub const ALL: [Piece; PIECES] = [Piece(0), Piece(1), Piece(2)];

    /// Its number, 0 to 2.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The two key-holders that have it.
    pub fn holders(self) -> [Seat; 2] {
        [Seat(self.0), Seat((self.0 + 2) % 3)]
    }
}

impl Seat {
    /// All of them.
    pub const ALL: [Seat; PIECES] = [Seat(0), Seat(1), Seat(2)];

    /// The seat with this number, if there is one.
    pub fn new(index: usize) -> Option<Seat> {
        Seat::ALL.get(index).copied()
    }

    /// Its number, 0 to 2.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The two pieces that this key-holder has.
    pub fn pieces(self) -> [Piece; 2] {
        [Piece(self.0), Piece((self.0 + 1) % 3)]
    }

    /// The piece that it lacks.
    pub fn lacks(self) -> Piece {
        Piece((self.0 + 2) % 3)
    }

    /// The other two key-holders.
    pub fn others(self) -> [Seat; 2] {
        [Seat((self.0 + 1) % 3), Seat((self.0 + 2) % 3)]
    }
}

impl PieceMaster {
    /// The piece of a template's key. `subject` tells templates apart; all key-holders derive it alike, and it protects nothing.
    pub fn key(&self, subject: &SubjectKey) -> SubjectKey {
        SubjectKey::from_seed(self.derive(b"trefoil/bfv/piece/1", subject.seed()))
    }

    /// Its summand of the tag keys of one of its two holders. So each of these keys has a summand that the second key-holder
    /// knows, and one that the third knows: together they determine its basis, and neither can forge a tag for it.
    pub fn tags(&self, of: Seat) -> TagMaster {
        let mut about = [0; 32];
        about[0] = of.0;
        TagMaster::from_bytes(*self.derive(b"trefoil/bfv/piece-tags/1", &about))
    }

    /// The generator of the flooding of one partial decryption. `about` is of the whole batch and of every key: the same flooding of two
    /// products would reveal the difference of what it hides.
    fn flooding(&self, of: Of, about: &[u8; 32]) -> Drbg {
        let domain: &[u8] = match of {
            Of::Batch => b"trefoil/bfv/piece-flood/1",
            Of::Witness(Seat(0)) => b"trefoil/bfv/piece-flood-witness-0/1",
            Of::Witness(Seat(1)) => b"trefoil/bfv/piece-flood-witness-1/1",
            Of::Witness(_) => b"trefoil/bfv/piece-flood-witness-2/1",
        };
        Drbg::from_seed(*self.derive(domain, about))
    }

    /// SHA3-256 over a domain string, the piece and 32 bytes. With the key in front, the sponge is a PRF.
    fn derive(&self, domain: &[u8], about: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0; 32]);
        let digest = Sha3_256::new().chain_update(domain).chain_update(self.0).chain_update(about);
        digest.finalize_into((&mut *derived).into());
        derived
    }
}

impl Basis {
    /// One piece's part of a template's ciphertext: `-a s^x + e^x`, and `Delta m` if a share is given, which is once for the
    /// three pieces. The same key and share give the same bytes; a key encrypts one share only. The sum of the three parts
    /// ([`TemplateCiphertext::block`]) is the ciphertext.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn encrypt_piece(
        &self,
        key: &SubjectKey,
        lane: usize,
        width: Width,
        share: Option<&Share>,
    ) -> TemplateCiphertext {
        let error = PieceMaster(*key.seed()).derive(b"trefoil/bfv/piece-error/1", &[0; 32]);
        let nothing = Share::zero(width);
        self.encrypt_lane(key, lane, share.unwrap_or(&nothing), &mut Drbg::from_seed(*error))
    }
}

impl Decryptor {
    /// The partial decryptions of a batch, and of witnesses, with one piece of the keys of its lanes' subjects. The flooding is derived from
    /// `digest`, which names the whole batch, from these keys and from the piece.
    ///
    /// # Panics
    /// If a ciphertext has more than 32 keys, or the batches have different shapes.
    pub fn partials<'a, const COUNT: usize>(
        &mut self,
        piece: &PieceMaster,
        keys: impl IntoIterator<Item = (usize, &'a SubjectKey)> + Clone,
        batches: [(Of, &MaskedBatch); COUNT],
        digest: &[u8; 32],
    ) -> [Partial; COUNT] {
        // A re-enrolled subject has another key under the same name, and a batch can be sent again.
        let mut about = Sha3_256::new().chain_update(digest);
        keys.clone().into_iter().for_each(|(_, key)| about.update(key.seed()));
        let mut seed = Zeroizing::new([0; 32]);
        about.finalize_into((&mut *seed).into());
        let floodings = batches.map(|(of, _)| sums::<TERMS>(&mut piece.flooding(of, &seed), TERM_BITS));
        let mut partials = batches.map(|_| Partial { words: vec![0; self.scheme.folded_words()].into() });
        let shape = batches.first().map(|(_, masked)| masked.shape());
        assert!(batches.iter().all(|(_, masked)| Some(masked.shape()) == shape), "batches of one shape");
        for (at, lanes) in shape.iter().flat_map(|shape| shape.ciphertexts()).enumerate() {
            self.sum_keys(within(&lanes, keys.clone().into_iter()).map(|(_, key)| key));
            for (i, limb) in self.scheme.limbs().iter().enumerate() {
                limb.transform_small(&*self.key, &mut self.key_hat);
                for ((partial, (_, masked)), flooding) in partials.iter_mut().zip(batches).zip(&floodings) {
                    let c1 = masked.ciphertexts().nth(at).expect("as many as the first has").1;
                    let out = &mut partial.words[i * LANES..][lanes.clone()];
                    limb.fold(&c1[i * N..(i + 1) * N], &self.key_hat, out);
                    add_flood(limb, &flooding[lanes.clone()], out);
                }
            }
        }
        self.wipe();
        partials
    }
}

impl Partial {
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
    pub fn from_bytes(scheme: &Scheme, bytes: &[u8]) -> Result<Partial, MaskedError> {
        let mut partial = Partial { words: vec![0; scheme.folded_words()].into() };
        masked::read_folded(scheme, bytes, &mut partial.words)?;
        Ok(partial)
    }
}

impl Opened {
    /// Adds the three partial decryptions of a batch to its `c0` and reads scores and errors. A partial that belongs to another
    /// batch, or to no batch, gives errors outside of [`Opened::within_quorum_band`].
    pub fn combine(scheme: &Scheme, masked: &MaskedBatch, partials: [&Partial; PIECES]) -> Opened {
        let mut folded = Folded::default();
        for (i, (limb, sum)) in scheme.limbs().iter().zip(folded.limbs()).enumerate() {
            for partial in partials {
                for (sum, &value) in sum.iter_mut().zip(&partial.words[i * LANES..(i + 1) * LANES]) {
                    *sum = limb.modulus().add(*sum, value);
                }
            }
        }
        folded.open(scheme, masked.shape(), masked.c0())
    }

    /// Whether the errors are those of an honest matcher and honest partial decryptions: none above [`QUORUM_BAND_MAX`]. A partial
    /// decryption of random residues passes with a probability of 2^-107 in a ciphertext of 32 lanes, 2^-53 of 16, and 2^-26 of 8. There
    /// is no lower end: each key-holder's flooding is larger
    /// than a matcher's.
    pub fn within_quorum_band(&self) -> bool {
        self.within(0, QUORUM_BAND_MAX)
    }
}

trefoil_types::opaque_debug!(Partial);

#[cfg(test)]
mod tests;
