//! Requests to a key-holder and its replies, wherever it runs.

use crate::quorum::{Parts, Seat, SeatEnrolment, SeatJob, SeatKey};
use crate::{
    BatchId, BlindedCiphertext, DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, ForKeyHolder,
    Handle, KeyStructure, LANES, Lane, MatchJob, Model, ProbeJob, PublicKey, SealingKey, Status,
    TemplateName, TenantId,
};
use serde::{Deserialize, Serialize};
use trefoil_bfv::threshold::PIECES;

/// A request to a key-holder. The listener that receives it decides which caller may make which request.
/// The order of the variants is part of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// A ping.
    Ping,
    /// [`crate::KeyHolder::decide`].
    Decide(Box<MatchJob>),
    /// [`crate::KeyHolder::encrypt_probes`].
    EncryptProbes(Box<ProbeJob>),
    /// [`crate::KeyHolder::create_tenant`].
    CreateTenant(TenantId, KeyStructure, DecisionPolicy),
    /// [`crate::KeyHolder::public_keys`].
    PublicKeys(TenantId),
    /// [`crate::KeyHolder::enrol`].
    Enrol(Box<Enrolment>),
    /// [`crate::KeyHolder::shred`].
    Shred(TemplateName),
    /// [`crate::KeyHolder::begin_rotation`].
    BeginRotation(TenantId),
    /// [`crate::KeyHolder::renew`].
    Renew(Box<Renewal>),
    /// [`crate::KeyHolder::finish_rotation`].
    FinishRotation(TenantId, u32),
    /// [`crate::KeyHolder::sealing_key`].
    SealingKey,
    /// [`crate::KeyHolder::status`].
    Status,
    /// [`crate::KeyHolder::set_policy`]. For operators.
    SetPolicy(TenantId, DecisionPolicy),
    /// [`crate::KeyHolder::forgive_malformed`]. For operators.
    ForgiveMalformed(TenantId),
    /// Of one seat of a quorum: its decision of a batch.
    DecideSeat(Box<SeatJob>),
    /// Of one seat of a quorum: [`crate::quorum::QuorumHolder::contribute`].
    Contribute(TemplateName),
    /// Of one seat of a quorum: [`crate::quorum::QuorumHolder::enrol`].
    EnrolSeat(Box<SeatEnrolment>),
    /// From another seat of a quorum: its parts of a batch.
    Parts(Box<Parts>),
    /// Of one seat of a quorum: [`crate::quorum::QuorumHolder::seat_key`].
    SeatKey(TenantId, [u32; PIECES]),
    /// [`crate::KeyHolder::reset_attempts`]. For operators.
    ResetAttempts(TemplateName),
    /// [`crate::KeyHolder::locked_out`].
    LockedOut(TenantId),
    /// Of a key-holder in another process: how new the client's store is.
    NoteStore(StoreAge),
}

/// How new a store is, the newer the larger: when it was restored last, Unix seconds or 0, and its transactions.
pub type StoreAge = (u64, u64);

/// A key-holder's reply.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Done.
    Done,
    /// To [`Request::Decide`].
    Decided(Decisions),
    /// To [`Request::EncryptProbes`].
    Probes(Box<EncryptedProbes>),
    /// To [`Request::CreateTenant`] and [`Request::BeginRotation`]: the newest; to [`Request::PublicKeys`]: all, oldest first.
    PublicKeys(Vec<PublicKey>),
    /// To [`Request::Enrol`] and [`Request::Renew`].
    Enrolled(Box<EncryptedTemplate>),
    /// To [`Request::SealingKey`].
    SealingKey(#[serde(with = "crate::wire::sealing_key")] Box<SealingKey>),
    /// To [`Request::Status`].
    Status(Box<Status>),
    /// To [`Request::DecideSeat`].
    DecidedSeat(SeatDecision),
    /// To [`Request::Contribute`].
    Contribution([u8; 32]),
    /// To [`Request::EnrolSeat`].
    EnrolledSeat(#[serde(with = "crate::wire::seat")] Seat, Box<[EncryptedTemplate; 2]>),
    /// To [`Request::SeatKey`].
    SeatKey(Box<SeatKey>),
    /// To [`Request::LockedOut`].
    LockedOut(u64),
    /// To [`Request::NoteStore`]: the newest that this client has shown before.
    Store(StoreAge),
    /// To [`Request::Ping`], by one of a quorum.
    Seat(#[serde(with = "crate::wire::seat")] Seat),
}

/// A template to encrypt, and its lane.
#[derive(Debug, Serialize, Deserialize)]
pub struct Enrolment {
    /// Whose.
    pub name: TemplateName,
    /// Where.
    pub lane: Lane,
    /// The model of its vector.
    pub model: Model,
    /// The key-holder's share.
    pub template: ForKeyHolder,
}

/// A blinded template to encrypt under newer keys.
#[derive(Debug, Serialize, Deserialize)]
pub struct Renewal {
    /// The present generation.
    pub name: TemplateName,
    /// The next generation.
    pub to: u32,
    /// The template, blinded.
    pub blinded: BlindedCiphertext,
}

/// One seat's decision of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatDecision {
    /// The deciding seat.
    #[serde(with = "crate::wire::seat")]
    pub seat: Seat,
    /// The decisions; none if the available parts decide nothing.
    pub decisions: Option<Decisions>,
    /// Seats that sent nothing in time: a bit for each.
    pub silent: u8,
    /// Seats whose parts are proven wrong.
    pub liars: u8,
    /// Seats that contradict each other.
    pub contradicting: u8,
}

/// Handle and generation of the subject in each lane.
pub type Subjects = [Option<(Handle, u32)>; LANES];

impl Request {
    /// The tenant of the request, if it has one.
    pub fn tenant(&self) -> Option<TenantId> {
        match self {
            Request::Ping
            | Request::SealingKey
            | Request::Status
            | Request::Parts(_)
            | Request::NoteStore(_) => None,
            Request::CreateTenant(tenant, ..)
            | Request::PublicKeys(tenant)
            | Request::BeginRotation(tenant)
            | Request::FinishRotation(tenant, _)
            | Request::SeatKey(tenant, _)
            | Request::SetPolicy(tenant, _)
            | Request::LockedOut(tenant)
            | Request::ForgiveMalformed(tenant) => Some(*tenant),
            Request::Decide(_) | Request::EncryptProbes(_) | Request::DecideSeat(_) => {
                self.batch().map(|(tenant, ..)| tenant)
            }
            Request::Enrol(_)
            | Request::EnrolSeat(_)
            | Request::Renew(_)
            | Request::Shred(_)
            | Request::ResetAttempts(_)
            | Request::Contribute(_) => self.template().map(|name| name.tenant),
        }
    }

    /// The template of the request, if it has one.
    pub fn template(&self) -> Option<TemplateName> {
        match self {
            Request::Enrol(enrolment) => Some(enrolment.name),
            Request::EnrolSeat(enrolment) => Some(enrolment.name),
            Request::Renew(renewal) => Some(renewal.name),
            Request::Shred(name) | Request::Contribute(name) | Request::ResetAttempts(name) => Some(*name),
            _ => None,
        }
    }

    /// The model of the vectors that the request is about, if it is about some.
    pub fn model(&self) -> Option<Model> {
        match self {
            Request::Decide(job) => Some(job.model),
            Request::DecideSeat(job) => Some(job.job().model),
            Request::EncryptProbes(job) => Some(job.model),
            Request::Enrol(enrolment) => Some(enrolment.model),
            Request::EnrolSeat(enrolment) => Some(enrolment.model),
            _ => None,
        }
    }

    /// What to log of each lane of a job that matches, if the request is one.
    pub fn leaves(&self) -> Option<&[[u8; 32]; LANES]> {
        match self {
            Request::Decide(job) => Some(&job.leaves),
            Request::DecideSeat(job) => Some(&job.job().leaves),
            _ => None,
        }
    }

    /// Tenant, name and subjects of the batch of the request, if it has one.
    pub fn batch(&self) -> Option<(TenantId, BatchId, Subjects)> {
        match self {
            Request::Decide(job) => Some((job.tenant, job.batch_id, job.subjects)),
            Request::DecideSeat(job) => {
                let job = job.job();
                Some((job.tenant, job.batch_id, job.subjects))
            }
            Request::EncryptProbes(job) => Some((job.tenant, job.batch_id, job.subjects())),
            _ => None,
        }
    }
}
