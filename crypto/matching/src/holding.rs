//! The callers' side of a key-holder: one method for each request, which accepts only a reply that fits it.

use crate::{
    DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, Enrolment, KeyHolderError, KeyStructure,
    LaneSet, MatchJob, ProbeJob, PublicKey, Renewal, Reply, Request, SealingKey, Status, StoreAge,
    TemplateName, TenantId,
};

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

    /// See [`crate::KeyHolder::decide`].
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

    /// See [`crate::KeyHolder::encrypt_probes`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn encrypt_probes(&self, job: ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        let (model, occupied) = (job.model, job.occupied());
        match self.call(Request::EncryptProbes(Box::new(job))).map_err(|cause| about(occupied, cause))? {
            Reply::Probes(probes) if probes.is_of(model, occupied) => Ok(*probes),
            other => Err(unasked(&other)),
        }
    }

    /// See [`crate::KeyHolder::create_tenant`].
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

    /// See [`crate::KeyHolder::public_keys`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn public_keys(&self, tenant: TenantId) -> Result<Vec<PublicKey>, KeyHolderError> {
        match self.call(Request::PublicKeys(tenant))? {
            Reply::PublicKeys(keys) if (1..=2).contains(&keys.len()) => Ok(keys),
            other => Err(unasked(&other)),
        }
    }

    /// See [`crate::KeyHolder::enrol`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn enrol(&self, enrolment: Enrolment) -> Result<EncryptedTemplate, KeyHolderError> {
        let (name, lane, model) = (enrolment.name, enrolment.lane, enrolment.model);
        match self.call(Request::Enrol(Box::new(enrolment)))? {
            Reply::Enrolled(template) if template.is_of(&name, lane, model) => Ok(*template),
            other => Err(unasked(&other)),
        }
    }

    /// See [`crate::KeyHolder::shred`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn shred(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        done(self, Request::Shred(name))
    }

    /// See [`crate::KeyHolder::begin_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        one_key(self, Request::BeginRotation(tenant), |_| true)
    }

    /// See [`crate::KeyHolder::renew`].
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

    /// See [`crate::KeyHolder::finish_rotation`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        done(self, Request::FinishRotation(tenant, epoch))
    }

    /// See [`crate::KeyHolder::sealing_key`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        match self.call(Request::SealingKey)? {
            Reply::SealingKey(key) => Ok(*key),
            other => Err(unasked(&other)),
        }
    }

    /// See [`crate::KeyHolder::status`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn status(&self) -> Result<Status, KeyHolderError> {
        match self.call(Request::Status)? {
            Reply::Status(status) => Ok(*status),
            other => Err(unasked(&other)),
        }
    }

    /// See [`crate::KeyHolder::set_policy`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        done(self, Request::SetPolicy(tenant, policy))
    }

    /// See [`crate::KeyHolder::forgive_malformed`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn forgive_malformed(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        done(self, Request::ForgiveMalformed(tenant))
    }

    /// See [`crate::KeyHolder::reset_attempts`].
    ///
    /// # Errors
    /// [`KeyHolderError`].
    fn reset_attempts(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        done(self, Request::ResetAttempts(name))
    }

    /// See [`crate::KeyHolder::locked_out`]. Each of a quorum counts for itself, and this is the second largest of their counts.
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
