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
//!
//! ```
//! use std::sync::Arc;
//! use trefoil_matching::{
//!     AttemptPolicy, BatchId, DecisionPolicy, Embedding, Handle, KeyHolder, KeyStructure, Lane, Matcher, MemoryVault,
//!     Model, TemplateName, TenantId, Tier, split, system_entropy, unblind,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut rng = rand::rng();
//! let (tenant, handle, now) = (TenantId::new([1; 16]), Handle::new([2; 32]), 1_800_000_000);
//! let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, now)?;
//! let model = Model::of("facenet-128", 128).ok_or("too many numbers")?;
//! let policy = DecisionPolicy::new(model, 16_000, AttemptPolicy::default());
//! let key = key_holder.create_tenant(tenant, KeyStructure::PerSubject, policy)?;
//!
//! // Enrolment.
//! let face: Vec<f32> = (0..128).map(|i| (i as f32).sin()).collect();
//! let (blinded, blind) = split(&Embedding::quantise(&face)?, &mut rng);
//! let lane = Lane::random(&mut rng);
//! let name = TemplateName { tenant, handle, generation: 0 };
//! let template = unblind(key_holder.enrol(name, lane, model, &blinded.into(), now)?, blind);
//!
//! // A match: in practice up to 32 subjects, one per lane.
//! let probe = Embedding::quantise(&face)?;
//! let mut matcher = Matcher::new(Tier::detected(), Box::new(system_entropy));
//! let job = matcher.mask(BatchId::new([3; 16]), tenant, policy.threshold, &key, &[(&template, &probe)])?;
//! assert!(key_holder.decide(&job, now)?.accepted(lane));
//! # Ok(())
//! # }
//! ```

mod attempts;
mod call;
mod enrolment;
mod epoch;
mod error;
mod hash;
mod holding;
mod job;
mod key_holder;
mod key_structure;
mod keys;
mod lane;
mod leakage;
mod local;
mod matcher;
mod model;
mod names;
mod policy;
mod probe;
pub mod quorum;
mod renewal;
mod rotation;
mod template;
mod tenant;
mod vault;
mod wire;

pub use attempts::{AttemptRecord, MALFORMED_MAX};
pub use call::{Enrolment, Renewal, Reply, Request, SeatDecision, StoreAge, Subjects};
pub use enrolment::{
    Blind, BlindedTemplate, ForKeyHolder, IDEMPOTENCY_KEY_BYTES_MAX, SealedTemplate, split, unblind,
};
pub use error::KeyHolderError;
pub use holding::{KeyHolding, SeatState, unasked};
pub use job::{JobError, MatchJob};
pub use key_holder::{Decisions, KeyHolder, SEALED_LIFE_S, Status};
pub use key_structure::KeyStructure;
pub use keys::{PublicKey, PublicKeyError};
pub use lane::{Lane, LaneSet};
pub use leakage::{bits_per_day, bits_per_day_of_quorum, bits_per_generation, bits_per_generation_of_quorum};
pub use local::Local;
pub use matcher::{Entropy, MatchError, Matcher, system_entropy};
pub use model::Model;
pub use policy::DecisionPolicy;
pub use probe::{
    EncryptedProbes, NONCE_BYTES_MAX, ProbeJob, ProbeJobError, SealedFor, SealedProbe, SharedProbe,
};
pub use quorum::SeatEnrolment;
pub use renewal::{BlindedCiphertext, blind};
pub use template::{EncryptedTemplate, Template, TemplateError};
pub use trefoil_bfv::{Arena, ArenaSize, Embedding, LANES, QuantiseError, Share, ShareError, Width};
pub use trefoil_kernels::Tier;
pub use trefoil_kernels::packed::calibrate;
pub use trefoil_split::{Average, AverageError, Context, SealedShare, SealingKey, average};
pub use trefoil_types::AttemptPolicy;
pub use trefoil_types::{BatchId, Handle, TemplateName, TenantId};
pub use vault::{
    EpochRecord, JobsHead, MemoryVault, SubjectRecord, TenantRecord, Vault, VaultError, VaultState, Write,
};
