//! Lets a key-holder check the piece that it lacks.
//!
//! A partial decryption that is moved by a multiple of `Delta` moves scores and leaves the error unchanged. The matcher therefore
//! sends each seat a second batch, its *witness*: the same templates and probes, except for a factor in each lane, uniform modulo t,
//! that the matcher reveals only to this seat. The scores of a witness are those of the batch times the factors. The other two make
//! partial decryptions of it for this seat and see a pseudo-random polynomial. A seat that moves the score of a lane by `d` has to move the
//! witness's by `d` times a factor that it does not know.

use super::PIECES;
use crate::sample::flood;
use crate::shape::within;
use crate::share::uniform_residue;
use crate::{
    Basis, LANES, MaskedBatch, MaskedError, Masker, Opened, Placed, Scheme, Shape, Share, T, Tag, TagBasis,
};
use trefoil_kernels::packed::Ahead;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A masked batch whose scores are another's times secret factors, one for each lane. One seat's; factors are wiped on drop, and
/// nothing is printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Witness {
    #[zeroize(skip)]
    batch: MaskedBatch,
    pub(super) factors: [u32; LANES],
}

impl Masker {
    /// A witness for each seat of the batch that was masked last, whose sum is still there: the same sum times other multipliers,
    /// masked as freshly. With each, its tags under the tag bases of the three seats: all of them make partial decryptions of it.
    ///
    /// # Panics
    /// As [`Masker::mask`].
    pub fn witnesses(
        &mut self,
        basis: &Basis,
        placed: &[Placed<'_>],
        tags: [&TagBasis; PIECES],
    ) -> [(Witness, [Tag; PIECES]); PIECES] {
        [(); PIECES].map(|()| (self.witness(basis, placed), tags.map(|tags| self.tag(tags))))
    }

    fn witness(&mut self, basis: &Basis, placed: &[Placed<'_>]) -> Witness {
        let mut factors = [0; LANES];
        factors.fill_with(|| uniform_residue(&mut self.drbg));
        let scaled: Vec<(usize, Share)> =
            placed.iter().map(|at| (at.lane, Share::of(at.probe).times(factors[at.lane]))).collect();
        let mut batch = MaskedBatch::zero(&self.scheme, self.shape);
        let flooding = flood(&mut self.drbg);
        for (at, lanes) in self.shape.ciphertexts().enumerate() {
            let shares = within(&lanes, scaled.iter().map(|(lane, share)| (*lane, share)));
            self.scheme.lanes().place_shares(self.shape.width(), shares, &mut self.small);
            self.hide_multiplier(at, &mut Ahead::none());
            let (c0, c1) = batch.parts_mut(at);
            self.write_error(c1, &mut Ahead::none());
            self.add_basis(at, basis, c1, &mut Ahead::none());
            self.write_c0(at, &lanes, &flooding, c0);
        }
        Witness { batch, factors }
    }
}

impl Witness {
    /// The masked batch. A key-holder has only the `c1` of the other seats' witnesses.
    pub fn batch(&self) -> &MaskedBatch {
        &self.batch
    }

    /// The canonical encoding, which is for one seat: 32 factors of four bytes, little-endian; the masked batch.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::new());
        let batch = self.batch.to_bytes();
        bytes.reserve_exact(4 * LANES + batch.len());
        self.factors.iter().for_each(|factor| bytes.extend_from_slice(&factor.to_le_bytes()));
        bytes.extend_from_slice(&batch);
        bytes
    }

    /// Reads the canonical encoding of one for a batch of this shape, and nothing else.
    ///
    /// # Errors
    /// [`MaskedError`] for any other bytes.
    pub fn from_bytes(scheme: &Scheme, shape: Shape, bytes: &[u8]) -> Result<Witness, MaskedError> {
        let short = MaskedError::Length { found: bytes.len(), expected: 4 * LANES };
        let (head, batch) = bytes.split_at_checked(4 * LANES).ok_or(short)?;
        let mut factors = [0; LANES];
        for (i, (factor, bytes)) in factors.iter_mut().zip(head.as_chunks().0).enumerate() {
            *factor = u32::from_le_bytes(*bytes);
            if u64::from(*factor) >= T {
                return Err(MaskedError::NotReduced(i));
            }
        }
        Ok(Witness { batch: MaskedBatch::from_bytes(scheme, shape, batch)?, factors })
    }

    /// Whether `of_witness`, the opened witness, has the scores of `opened` times the factors. In constant time.
    pub fn confirms(&self, opened: &Opened, of_witness: &Opened) -> bool {
        let mut differences = 0;
        for ((score, scaled), factor) in opened.scores().iter().zip(of_witness.scores()).zip(&self.factors) {
            // Below 2^32 in size: a centred residue times a residue. The remainder is by a constant, hence a product.
            differences |= (i64::from(*score) * i64::from(*factor) - i64::from(*scaled)) % T as i64;
        }
        differences == 0
    }
}

trefoil_types::opaque_debug!(Witness);
