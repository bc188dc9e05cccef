//! The secrets that each of three key-holders receives once.

use crate::TenantId;
use crate::hash::hash;
use rand::CryptoRng;
use trefoil_bfv::threshold::{PIECES, PieceMaster, Seat};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// First bytes of encoded [`Pieces`]: format and version.
const PIECES_MAGIC: [u8; 4] = *b"TFP1";

/// The secrets that one of three key-holders receives once: its seat, the data that all three know, and its two pieces. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Pieces {
    #[zeroize(skip)]
    pub(super) seat: Seat,
    /// Tells tenants and subjects apart; protects nothing from the other two.
    common: [u8; 32],
    pub(super) masters: [PieceMaster; 2],
}

impl Pieces {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 1 + 3 * 32;

    /// Makes the pieces of three key-holders. Anybody who sees the result knows every future key: write each to its own place, and
    /// drop it.
    pub fn deal(rng: &mut impl CryptoRng) -> [Pieces; PIECES] {
        let mut common = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *common);
        let masters = [(); PIECES].map(|()| PieceMaster::random(rng));
        Seat::ALL.map(|seat| Pieces {
            seat,
            common: *common,
            masters: seat.pieces().map(|piece| masters[piece.index()].clone()),
        })
    }

    /// The seat that they belong to.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The canonical encoding, secret: magic, seat, what all know, two pieces.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(Pieces::BYTES));
        bytes.extend_from_slice(&PIECES_MAGIC);
        bytes.push(self.seat.index() as u8);
        bytes.extend_from_slice(&self.common);
        self.masters.iter().for_each(|master| bytes.extend_from_slice(master.expose_bytes()));
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Pieces> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let ([seat], rest) = rest.split_first_chunk::<1>()?;
        let (common, rest) = rest.split_first_chunk::<32>()?;
        let (first, rest) = rest.split_first_chunk::<32>()?;
        let second: &[u8; 32] = rest.try_into().ok()?;
        let masters = [*first, *second].map(PieceMaster::from_bytes);
        let seat = Seat::new(usize::from(*seat))?;
        (*magic == PIECES_MAGIC).then_some(Pieces { seat, common: *common, masters })
    }

    /// 32 bytes that all three derive alike.
    pub(super) fn shared(&self, domain: &[u8], tenant: &TenantId) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(hash(&[domain, &self.common, tenant.as_bytes()]))
    }
}
