//! A typed client of the service, and the wallet's side of it.
//!
//! [`Admin`] calls the admin listener, [`Client`] the public one; bodies are the types of `trefoil_api`.
//! [`Holder`] proves a credential and signs requests, [`StandingSession`] keeps its session open. Both listeners present the service's own certificate, which the
//! client pins. [`StandingSession::authenticate`], [`Client::login`] and [`Client::attested`] verify each attestation before they return a [`Login`], and so
//! do their forms for tenants without proofs. The answers of other calls are trusted only because of TLS: attestations of [`Client::authenticate`],
//! [`Client::authenticate_many`] and [`Client::authenticate_stream`], and the receipts of all changes by [`Client`] and [`Admin`], are returned as they came.
//! The functions `verify` and `verify_change` of `trefoil_attest` verify them.
//!
//! [`Client::with_access_tokens`] sends short-lived [`AccessToken`]s in place of the API key, and renews them.

mod admin;
mod client;
mod credential;
mod error;
mod login;
mod nodes;
mod outgoing;
mod public_log;
mod standing;
mod stream;
mod subjects;
mod tokens;
mod transport;

pub use admin::Admin;
pub use client::Client;
pub use error::{ClientError, ProblemDocument};
pub use login::{Login, LoginError};
pub use nodes::Nodes;
pub use public_log::PublicLog;
pub use standing::{Clock, StandingError, StandingSession};
pub use stream::{LoginAnswers, LoginSender, StreamedLogin};
pub use tokens::AccessToken;
pub use trefoil_wallet::{
    Holder, HolderError, HolderSession, Membership, OpenRequest, SealTo, attested_digest, shares,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
