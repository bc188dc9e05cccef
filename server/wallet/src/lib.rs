//! The holder's side: credentials, their proofs, and the messages between issuer, holder and service.
//!
//! No file, no network, no clock and no random source of its own: the caller supplies time, randomness and bytes.
//!
//! * [`credentials`]: roots, their log, the file that a holder receives, and secrets under a passphrase.
//! * [`wallet`]: one secret, the credentials for it, and the open sessions.
//! * [`Holder`]: one credential, which opens proof sessions; a [`HolderSession`] makes requests.
//! * [`AccountKey`]: what a person's devices sign with, for one account.

mod account_key;
pub mod credentials;
mod holder;
pub mod wallet;

pub use account_key::AccountKey;
pub use holder::{
    Holder, HolderError, HolderSession, Membership, OpenRequest, SealTo, attested_digest, shares,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
