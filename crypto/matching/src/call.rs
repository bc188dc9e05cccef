//! Requests to a key-holder and its replies, wherever it runs.

use crate::quorum::{Parts, Seat, SeatJob, SeatKey};
use crate::{
    BatchId, BlindedCiphertext, BlindedTemplate, DecisionPolicy, Decisions, EncryptedProbes,
    EncryptedTemplate, ForKeyHolder, Handle, KeyHolder, KeyHolderError, KeyStructure, LANES, Lane, LaneSet,
    MatchJob, ProbeJob, PublicKey, SealingKey, Status, TemplateName, TenantId,
};
use serde::{Deserialize, Serialize};
use trefoil_bfv::threshold::PIECES;

/// A request to a key-holder. The listener that receives it decides which caller may make which request.
/// The order of the variants is part of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// A ping.
    Ping,
    /// [`KeyHolder::decide`].
    Decide(Box<MatchJob>),
    /// [`KeyHolder::encrypt_probes`].
    EncryptProbes(Box<ProbeJob>),
    /// [`KeyHolder::create_tenant`].
    CreateTenant(TenantId, KeyStructure, DecisionPolicy),
    /// [`KeyHolder::public_keys`].
    PublicKeys(TenantId),
    /// [`KeyHolder::enrol`].
    Enrol(Box<Enrolment>),
    /// [`KeyHolder::shred`].
    Shred(TemplateName),
    /// [`KeyHolder::begin_rotation`].
    BeginRotation(TenantId),
    /// [`KeyHolder::renew`].
    Renew(Box<Renewal>),
    /// [`KeyHolder::finish_rotation`].
    FinishRotation(TenantId, u32),
    /// [`KeyHolder::sealing_key`].
    SealingKey,
    /// [`KeyHolder::status`].
    Status,
    /// [`KeyHolder::set_policy`]. For operators.
    SetPolicy(TenantId, DecisionPolicy),
    /// [`KeyHolder::forgive_malformed`]. For operators.
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
    /// [`KeyHolder::reset_attempts`]. For operators.
    ResetAttempts(TemplateName),
    /// [`KeyHolder::locked_out`].
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
    /// The key-holder's share.
    pub template: ForKeyHolder,
}

/// A template that a quorum encrypts together, as each seat receives it.
#[derive(Debug, Serialize, Deserialize)]
pub struct SeatEnrolment {
    /// Whose.
    pub name: TemplateName,
    /// Where.
    pub lane: Lane,
    /// The key-holders' share.
    pub template: BlindedTemplate,
    /// Each seat's contribution to the salt, in order.
    pub contributions: [[u8; 32]; PIECES],
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

/// A callable key-holder: one in this process, a remote one, or a quorum of them. The methods after the first make one request each,
/// and accept only a matching reply.
pub trait KeyHolding: Send + Sync {
    /// Makes a request. May block.
    ///
    /// # Errors
    /// [`KeyHolderError`], as for the function that the request names.
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError>;

    /// The reason why nothing can be decided now, if there is one.
    fn unready(&self) -> Option<String> {
        None
    }

    /// The health of each key-holder of a quorum; empty if there is no quorum.
    fn seats(&self) -> Vec<SeatState> {
        Vec::new()
    }

    /// Tenants whose public key at a key-holder has changed since the last call. A key-holder that decides with the others
    /// does not need it: fetch the keys again when there is time.
    fn stale(&self) -> Vec<TenantId> {
        Vec::new()
    }

    /// See [`KeyHolder::decide`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn decide(&self, job: MatchJob) -> Result<Decisions, KeyHolderError> {
        let occupied = job.occupied();
        match self.call(Request::Decide(Box::new(job))).map_err(|cause| about(occupied, cause))? {
            Reply::Decided(decisions) if decisions.lanes().is_within(occupied) => Ok(decisions),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::encrypt_probes`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn encrypt_probes(&self, job: ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        let occupied = job.occupied();
        match self.call(Request::EncryptProbes(Box::new(job))).map_err(|cause| about(occupied, cause))? {
            Reply::Probes(probes) => Ok(*probes),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::create_tenant`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        one_key(self, Request::CreateTenant(tenant, keys, policy), |key| key.structure() == keys)
    }

    /// See [`KeyHolder::public_keys`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn public_keys(&self, tenant: TenantId) -> Result<Vec<PublicKey>, KeyHolderError> {
        match self.call(Request::PublicKeys(tenant))? {
            Reply::PublicKeys(keys) if (1..=2).contains(&keys.len()) => Ok(keys),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::enrol`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn enrol(&self, enrolment: Enrolment) -> Result<EncryptedTemplate, KeyHolderError> {
        let (name, lane) = (enrolment.name, enrolment.lane);
        match self.call(Request::Enrol(Box::new(enrolment)))? {
            Reply::Enrolled(template) if template.is_of(&name, lane) => Ok(*template),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::shred`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn shred(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        done(self, Request::Shred(name))
    }

    /// See [`KeyHolder::begin_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        one_key(self, Request::BeginRotation(tenant), |_| true)
    }

    /// See [`KeyHolder::renew`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn renew(&self, renewal: Renewal) -> Result<EncryptedTemplate, KeyHolderError> {
        let name = TemplateName { generation: renewal.to, ..renewal.name };
        match self.call(Request::Renew(Box::new(renewal)))? {
            Reply::Enrolled(template) if template.is_renewal(&name) => Ok(*template),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::finish_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        done(self, Request::FinishRotation(tenant, epoch))
    }

    /// See [`KeyHolder::sealing_key`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        match self.call(Request::SealingKey)? {
            Reply::SealingKey(key) => Ok(*key),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::status`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn status(&self) -> Result<Status, KeyHolderError> {
        match self.call(Request::Status)? {
            Reply::Status(status) => Ok(*status),
            other => Err(unasked(&other)),
        }
    }

    /// See [`KeyHolder::set_policy`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        done(self, Request::SetPolicy(tenant, policy))
    }

    /// See [`KeyHolder::forgive_malformed`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn forgive_malformed(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        done(self, Request::ForgiveMalformed(tenant))
    }

    /// See [`KeyHolder::reset_attempts`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn reset_attempts(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        done(self, Request::ResetAttempts(name))
    }

    /// See [`KeyHolder::locked_out`]. Each of a quorum counts for itself, and this is the second largest of their counts.
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn locked_out(&self, tenant: TenantId) -> Result<u64, KeyHolderError> {
        match self.call(Request::LockedOut(tenant))? {
            Reply::LockedOut(count) => Ok(count),
            other => Err(unasked(&other)),
        }
    }

    /// Notes how new the store is. Returns the newest that was noted before; of a quorum the second largest of theirs.
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn note_store(&self, age: StoreAge) -> Result<StoreAge, KeyHolderError> {
        match self.call(Request::NoteStore(age))? {
            Reply::Store(seen) => Ok(seen),
            other => Err(unasked(&other)),
        }
    }
}

/// The health of one key-holder of a quorum, for operators. Nothing in it depends on a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatState {
    /// Its seat, from 1.
    pub seat: usize,
    /// Its address.
    pub address: String,
    /// The reason why it cannot be reached, if so.
    pub away: Option<String>,
    /// Decisions that it did not answer.
    pub silent: u64,
    /// Decisions in which its answer differed from the other two's.
    pub disagreed: u64,
    /// Decisions and enrolments in which both others found its part wrong, which is proof.
    pub convicted: u64,
    /// Decisions and enrolments in which one other accused it, or contradicted it, which may be the other's lie.
    pub accused: u64,
}

fn done<K: KeyHolding + ?Sized>(key_holder: &K, request: Request) -> Result<(), KeyHolderError> {
    match key_holder.call(request)? {
        Reply::Done => Ok(()),
        other => Err(unasked(&other)),
    }
}

fn one_key<K: KeyHolding + ?Sized>(
    key_holder: &K,
    request: Request,
    fits: impl Fn(&PublicKey) -> bool,
) -> Result<PublicKey, KeyHolderError> {
    match key_holder.call(request)? {
        Reply::PublicKeys(keys) => match <[PublicKey; 1]>::try_from(keys) {
            Ok([key]) if fits(&key) => Ok(key),
            _ => Err(unasked(&Reply::PublicKeys(Vec::new()))),
        },
        other => Err(unasked(&other)),
    }
}

/// A refusal of a batch that may name lanes of it: at least one, and only lanes that the batch has.
fn about(occupied: LaneSet, cause: KeyHolderError) -> KeyHolderError {
    match cause {
        KeyHolderError::NoAttempts(lanes)
        | KeyHolderError::UnknownSubjects(lanes)
        | KeyHolderError::Contested(lanes)
        | KeyHolderError::SealedShares(lanes)
            if lanes.is_empty() || !lanes.is_within(occupied) =>
        {
            KeyHolderError::Unavailable("it named lanes that the batch does not have".to_owned())
        }
        other => other,
    }
}

/// The error for a reply that does not fit the request.
pub fn unasked(reply: &Reply) -> KeyHolderError {
    let name = match reply {
        Reply::Done => "done",
        Reply::Decided(_) => "decisions",
        Reply::Probes(_) => "probes",
        Reply::PublicKeys(_) => "public keys",
        Reply::SeatKey(_) => "a seat's key",
        Reply::Enrolled(_) => "a template",
        Reply::SealingKey(_) => "a sealing key",
        Reply::Status(_) => "its status",
        Reply::DecidedSeat(_) => "a seat's decisions",
        Reply::Contribution(_) => "a contribution",
        Reply::EnrolledSeat(..) => "a seat's part of a template",
        Reply::LockedOut(_) => "a count of subjects",
        Reply::Store(_) => "the age of a store",
        Reply::Seat(_) => "its seat",
    };
    KeyHolderError::Unavailable(format!("it answered with {name} that do not fit the request"))
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

impl KeyHolder {
    /// Executes a request at `now`, in unix seconds, as a single key-holder.
    ///
    /// # Errors
    /// [`KeyHolderError`], as the function that the request names; [`KeyHolderError::Forbidden`] for what only a quorum does.
    pub fn answer(&self, request: Request, now: u64) -> Result<Reply, KeyHolderError> {
        let done = |()| Reply::Done;
        match request {
            Request::Ping => Ok(Reply::Done),
            Request::Decide(job) => self.decide(&job, now).map(Reply::Decided),
            Request::EncryptProbes(job) => {
                self.encrypt_probes(&job, now).map(|probes| Reply::Probes(probes.into()))
            }
            Request::CreateTenant(tenant, keys, policy) => {
                self.create_tenant(tenant, keys, policy).map(|key| Reply::PublicKeys(vec![key]))
            }
            Request::PublicKeys(tenant) => self.public_keys(tenant).map(Reply::PublicKeys),
            Request::Enrol(enrolment) => {
                let Enrolment { name, lane, template } = *enrolment;
                self.enrol(name, lane, &template, now).map(|template| Reply::Enrolled(template.into()))
            }
            Request::Shred(name) => self.shred(name).map(done),
            Request::BeginRotation(tenant) => {
                self.begin_rotation(tenant).map(|key| Reply::PublicKeys(vec![key]))
            }
            Request::Renew(renewal) => {
                let Renewal { name, to, blinded } = *renewal;
                self.renew(name, to, &blinded).map(|template| Reply::Enrolled(template.into()))
            }
            Request::FinishRotation(tenant, epoch) => self.finish_rotation(tenant, epoch).map(done),
            Request::SealingKey => Ok(Reply::SealingKey(self.sealing_key().into())),
            Request::Status => Ok(Reply::Status(self.status().into())),
            Request::SetPolicy(tenant, policy) => self.set_policy(tenant, policy).map(done),
            Request::ForgiveMalformed(tenant) => self.forgive_malformed(tenant).map(done),
            Request::ResetAttempts(name) => self.reset_attempts(name).map(done),
            Request::LockedOut(tenant) => self.locked_out(tenant, now).map(Reply::LockedOut),
            Request::NoteStore(_) => Err(KeyHolderError::forbidden("it has no file to note it in")),
            Request::DecideSeat(_)
            | Request::Contribute(_)
            | Request::EnrolSeat(_)
            | Request::Parts(_)
            | Request::SeatKey(..) => Err(KeyHolderError::forbidden("it is no seat of a quorum")),
        }
    }
}
