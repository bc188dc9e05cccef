//! A typed client of the service, and the wallet's side of it.
//!
//! [`Admin`] calls the admin listener, [`Client`] the public one; bodies are the types of `trefoil_api`.
//! [`Holder`] proves a credential and signs requests, [`StandingSession`] keeps its session open. Both listeners present the service's own certificate, which the
//! client pins. [`StandingSession::authenticate`], [`Client::login`] and [`Client::login_unproven`] verify each attestation before they return a
//! [`Login`]. All other logins, and all changes by [`Client`] and [`Admin`], answer with an [`Unverified`]: its content is reached
//! by `verified`, with the pinned trust root, or by [`Unverified::without_verification`]. Not attested are lists, counts and what shows the service's state.

mod admin;
mod client;
mod credential;
mod error;
mod login;
mod nodes;
mod outgoing;
mod public_log;
mod standing;
mod subjects;
mod transport;
mod unverified;

pub use admin::Admin;
pub use client::Client;
pub use error::{ClientError, ProblemDocument};
pub use login::{Login, LoginError};
pub use nodes::Nodes;
pub use public_log::PublicLog;
pub use standing::{Clock, StandingError, StandingSession};
pub use transport::system_roots;
pub use trefoil_wallet::{
    Holder, HolderError, HolderSession, Membership, OpenRequest, SealTo, attested_digest, shares,
};
pub use unverified::{ReceiptError, Receipted, Unverified};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
