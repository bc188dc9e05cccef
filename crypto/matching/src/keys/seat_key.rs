//! A seat's share of its tenant's public key.

use crate::PublicKeyError;
use crate::key_structure::POLYNOMIAL_BYTES;
use std::fmt;
use trefoil_bfv::threshold::{PIECES, Piece, Seat};
use trefoil_bfv::{Scheme, TagBasis};

/// Version of the seat's own tag key, epoch and seed, and four tag bases: for each of its two pieces, the summand that the piece makes of
/// the basis of each of the piece's two holders ([`crate::PublicKey::of_quorum`]).
#[derive(Clone, PartialEq, Eq)]
pub struct SeatKey {
    pub(crate) version: u32,
    pub(crate) epoch: u32,
    pub(crate) seed: [u8; 32],
    pub(crate) summands: Box<[[TagBasis; 2]; 2]>,
}

impl SeatKey {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 4 + 32 + 4 * POLYNOMIAL_BYTES;

    /// The summand of `piece` in the tag basis of `seat`, according to `by`, whose key this is. Both have the piece.
    pub(crate) fn summand(&self, by: Seat, piece: Piece, seat: Seat) -> &TagBasis {
        let [first, _] = by.pieces();
        let [holder, _] = piece.holders();
        &self.summands[usize::from(piece != first)][usize::from(seat != holder)]
    }

    /// The canonical encoding: version, epoch (little-endian), seed, and the four bases, piece by piece.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SeatKey::BYTES);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(self.seed);
        self.summands.as_flattened().iter().for_each(|basis| bytes.extend(basis.to_bytes()));
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`PublicKeyError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<SeatKey, PublicKeyError> {
        let length = PublicKeyError::Length(bytes.len());
        if bytes.len() != SeatKey::BYTES {
            return Err(length);
        }
        let (version, rest) = bytes.split_first_chunk().ok_or(length)?;
        let (epoch, rest) = rest.split_first_chunk().ok_or(length)?;
        let (seed, rest) = rest.split_first_chunk::<32>().ok_or(length)?;
        let read = |at: usize| {
            TagBasis::from_bytes(Scheme::shared(), &rest[at * POLYNOMIAL_BYTES..(at + 1) * POLYNOMIAL_BYTES])
        };
        let summands = Box::new([[read(0)?, read(1)?], [read(2)?, read(3)?]]);
        let [version, epoch] = [version, epoch].map(|number| u32::from_le_bytes(*number));
        Ok(SeatKey { version, epoch, seed: *seed, summands })
    }
}

impl fmt::Debug for SeatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SeatKey { version, epoch, .. } = self;
        f.debug_struct("SeatKey").field("version", version).field("epoch", epoch).finish_non_exhaustive()
    }
}

/// There are as many versions as seats.
pub(crate) type Versions = [u32; PIECES];
