//! Messages between key-holders about one batch.

use trefoil_bfv::Scheme;
use trefoil_bfv::threshold::{Partial, Piece, Seat};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// First bytes of an encoded [`Parts`]: format and version.
const PARTS_MAGIC: [u8; 4] = *b"TFD2";

/// One key-holder's message to another about one batch: the partial decryptions of its two pieces, and of the other's witness with the
/// piece that the other lacks. Wiped on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Parts {
    #[zeroize(skip)]
    pub(super) digest: [u8; 32],
    pub(super) partials: [Partial; 2],
    pub(super) witness: Partial,
}

impl Parts {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 32 + 3 * Partial::BYTES;

    /// The batch that they are about: the digest of the whole job, witnesses included.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The canonical encoding, for one other key-holder only.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let [first, second] = &self.partials;
        let [first, second, witness] =
            [first, second, &self.witness].map(|part| Zeroizing::new(part.to_bytes()));
        Zeroizing::new([&PARTS_MAGIC[..], &self.digest, &first, &second, &witness].concat())
    }

    /// Reads the canonical encoding and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Parts> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (digest, rest) = rest.split_first_chunk::<32>()?;
        let (first, rest) = rest.split_at_checked(Partial::BYTES)?;
        let (second, witness) = rest.split_at_checked(Partial::BYTES)?;
        let partial = |bytes| Partial::from_bytes(Scheme::shared(), bytes).ok();
        let (partials, witness) = ([partial(first)?, partial(second)?], partial(witness)?);
        (*magic == PARTS_MAGIC).then_some(Parts { digest: *digest, partials, witness })
    }

    /// The part of one piece, if `seat`, who sent these, has it.
    pub(super) fn of(&self, seat: Seat, piece: Piece) -> Option<&Partial> {
        seat.pieces().into_iter().zip(&self.partials).find(|(held, _)| *held == piece).map(|(_, part)| part)
    }
}

trefoil_types::opaque_debug!(Parts);
