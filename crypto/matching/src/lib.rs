//! The two roles of the encrypted match.
//!
//! The **matcher** ([`Matcher`]) holds encrypted templates and probes; it multiplies, re-randomises and floods,
//! and hands over a [`MatchJob`]. The **key-holder** ([`KeyHolder`]) holds the keys, the thresholds and the
//! attempt budgets; it decrypts a job to 32 scores, decides, and answers 32 bits ([`Decisions`]). No score, band
//! or margin leaves this crate: raw decryption is reachable only through `trefoil-bfv`, which the service does
//! not depend on.
//!
//! Enrolment is blinded: [`split`] turns an embedding into a share for the key-holder and a share for the
//! matcher, [`KeyHolder::enrol`] encrypts the first, [`unblind`] removes the second from the ciphertext.

mod attempts;
mod basis;
mod enrolment;
mod job;
mod keyholder;
mod lane;
mod matcher;
mod policy;
mod template;
mod tenant;
mod vault;

pub use attempts::AttemptRecord;
pub use basis::Basis;
pub use enrolment::{Blind, BlindedTemplate, split, unblind};
pub use job::{JobError, MatchJob};
pub use keyholder::{Decisions, KeyHolder, KeyHolderError, KeyHolding};
pub use lane::{Lane, LaneSet};
pub use matcher::{MatchError, Matcher};
pub use policy::{AttemptPolicy, DecisionPolicy};
pub use template::{EncryptedTemplate, Template, TemplateError};
pub use trefoil_bfv::{DIM, Embedding, LANES, QuantiseError, ShareError};
pub use trefoil_kernels::Tier;
pub use vault::{MemoryVault, SubjectRecord, TenantRecord, Vault, VaultError};

/// Names a tenant. A batch never holds two.
pub type TenantId = [u8; 16];
/// Names a subject within a tenant: the pseudonym that the credential proof shows.
pub type Handle = [u8; 32];
/// Names a batch in logs and attestations.
pub type BatchId = [u8; 16];
