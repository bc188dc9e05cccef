//! A key-holder that decides with two others: what it does with a job, and what travels between the three.
//!
//! ```text
//!             gateway ------- job -------> each of the three
//!   key-holder 1 <-- parts --> key-holder 2 <-- parts --> key-holder 3 <-- parts --> key-holder 1
//!             gateway <---- 32 bits ------ each of the three; what two say alike counts
//! ```
//!
//! Parts are partial decryptions: anybody who has those of all pieces has scores. They go over connections between key-holders, which
//! know each other's certificates; a gateway has no right to them.

mod caller;
mod gateway;
mod mailbox;
mod member;
mod peers;
mod provision;
mod seat_name;

pub use gateway::Quorum;
pub(crate) use member::Member;
pub(crate) use provision::{client, init, open};
