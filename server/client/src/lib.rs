//! A typed client of the service, and the wallet's side of it.
//!
//! [`Admin`] speaks to the admin listener, [`Client`] to the public one; bodies are the types of `trefoil_api`.
//! [`Holder`] proves a credential and signs requests, [`StandingSession`] keeps its session open. Both listeners present the service's own certificate, which the
//! client pins. [`StandingSession::authenticate`] and [`Client::login`] verify each attestation before there is a [`Login`]; what the other
//! calls answer is believed only as far as TLS goes.

mod admin;
mod client;
mod error;
mod login;
mod public_log;
mod standing;
mod subjects;
mod transport;

pub use admin::Admin;
pub use client::Client;
pub use error::{ClientError, ProblemDocument};
pub use login::{Login, LoginError};
pub use public_log::PublicLog;
pub use standing::{Clock, StandingError, StandingSession};
pub use trefoil_wallet::{
    Holder, HolderError, HolderSession, Membership, OpenRequest, SealTo, attested_digest, shares,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
