//! A key-holder that decides with two others: how it handles a job, and the messages between the three.
//!
//! ```text
//!             gateway ------- job -------> each of the three
//!   key-holder 1 <-- parts --> key-holder 2 <-- parts --> key-holder 3 <-- parts --> key-holder 1
//!             gateway <---- 32 bits ------ each of the three; what two say alike counts
//! ```
//!
//! Parts are partial decryptions: the parts of all pieces together reveal scores. They go over connections between key-holders, which
//! pin each other's certificates. A gateway has no right to them.

mod caller;
mod gateway;
mod mailbox;
mod member;
mod peers;
mod provision;

pub use gateway::Quorum;
pub(crate) use member::Member;
pub(crate) use provision::{client, init, open, refuse_empty};
use trefoil_matching::quorum::Seat;

/// The name of a seat in logs and in the list of clients.
fn name(seat: Seat) -> String {
    format!("key-holder-{}", seat.index() + 1)
}
