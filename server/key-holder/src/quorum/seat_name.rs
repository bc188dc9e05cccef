//! The name of a seat.

use trefoil_matching::quorum::Seat;

/// The name of a seat in logs and in the list of clients.
pub(crate) fn name(seat: Seat) -> String {
    format!("key-holder-{}", seat.index() + 1)
}
