//! Requests of known clients: the check of rights, the answer, and its line in the job log.

use crate::clients::{Client, Right};
use crate::config::PolicyLimits;
use crate::job_log::{self, Entry, JobLog};
use crate::protocol::{Kind, Unreadable};
use crate::quorum::Member;
use crate::vault::SqliteVault;
use std::sync::Arc;
use trefoil_matching::{
    DecisionPolicy, KeyHolder, KeyHolderError, LaneSet, Reply, Request, Status, TenantId, Vault as _,
};
use trefoil_storage::database::{StoreError, fault as store_fault};
use trefoil_storage::disk::Disk;

/// The key-holder and the parts that it needs to serve clients.
pub(crate) struct Handler {
    pub(crate) role: Role,
    pub(crate) vault: Arc<SqliteVault>,
    pub(crate) log: JobLog,
    pub(crate) limits: PolicyLimits,
    pub(crate) disk: Disk,
}

/// The role that carries out requests.
pub(crate) enum Role {
    /// A single key-holder.
    Alone(Arc<KeyHolder>),
    /// One of a quorum.
    Member(Box<Member>),
}

impl Role {
    fn key_holder(&self) -> &KeyHolder {
        match self {
            Role::Alone(key_holder) => key_holder,
            Role::Member(member) => member.key_holder(),
        }
    }
}

impl Handler {
    /// Answers one request at `now` (unix seconds, this machine's clock). No answer is given without its line in the log.
    pub(crate) fn answer(
        &self,
        client: &Client,
        request: Result<(&Kind, Request), Unreadable>,
        now: u64,
    ) -> Result<Reply, KeyHolderError> {
        let mut entry = Entry::begun(now, &client.name);
        let mut leaves = None;
        let is_deletion = matches!(&request, Ok((_, Request::Shred(_))));
        let reply = match request {
            Ok((_, Request::Ping)) => {
                return Ok(match &self.role {
                    Role::Alone(_) => Reply::Done,
                    Role::Member(member) => Reply::Seat(member.seat()),
                });
            }
            Ok((kind, request)) => {
                self.describe(kind, &request, &mut entry);
                leaves = request.leaves().copied();
                self.carry_out(client, kind, request, now)
            }
            Err(why) => {
                entry.op = "unreadable".to_owned();
                Err(why.refusal())
            }
        };
        entry.outcome = outcome(&reply).to_owned();
        if let (Some(accepted), Some(batch)) = (accepted(&reply), &entry.batch) {
            entry.answer = Some(self.log.answer(batch, accepted));
            entry.matched = leaves.and_then(|leaves| job_log::matched(&leaves, accepted));
        }
        entry.vault = self.vault.state().generation;
        // The log line of a deletion must not fail for lack of space.
        self.disk.with_reserve(|| self.log.append(entry.clone()), |_| is_deletion).map_err(|cause| {
            tracing::error!(%cause, "the job log cannot be written, so nothing is answered");
            fault()
        })?;
        reply
    }

    /// Signs the head of the job log, at `now` (unix seconds), if it grew.
    pub(crate) fn sign_log(&self, now: u64) {
        if let Err(cause) = self.log.sign(self.vault.state().restored, now) {
            tracing::warn!(%cause, "the head of the job log was not signed, so seals show an older one");
        }
    }

    /// Has the vault note how long the job log is.
    pub(crate) fn note_log(&self) {
        let noted = self.log.sync().map_err(store_fault).and_then(|_| self.vault.note_beside());
        if let Err(cause) = noted {
            tracing::warn!(%cause, "the length of the job log was not noted in the vault");
        }
    }

    fn carry_out(
        &self,
        client: &Client,
        kind: &Kind,
        request: Request,
        now: u64,
    ) -> Result<Reply, KeyHolderError> {
        if kind.right.is_some_and(|right| right != client.right) {
            return Err(KeyHolderError::forbidden("this connection has no right to this"));
        }
        match &request {
            Request::CreateTenant(tenant, _, policy) => self.claim(client, tenant, policy)?,
            Request::SetPolicy(..) if client.right == Right::Peer => {
                return Err(KeyHolderError::forbidden("this connection has no right to this"));
            }
            _ if client.right != Right::Match => {}
            // A tenant that the client does not own looks like one that does not exist.
            _ if request.tenant().is_some_and(|tenant| !self.vault.owns(&tenant, &client.name)) => {
                return Err(KeyHolderError::UnknownTenant);
            }
            Request::SetPolicy(_, policy) => self.within_limits(policy)?,
            _ => {}
        }
        if fills(&request)
            && let Some(why) = self.disk.low()
        {
            tracing::debug!(why, "refused for want of room");
            return Err(KeyHolderError::Unavailable(DISK_LOW.to_owned()));
        }
        if let Request::Status = request {
            let sees =
                |tenant: &TenantId| client.right == Right::Operate || self.vault.owns(tenant, &client.name);
            let jobs = vec![self.log.signed()];
            return Ok(Reply::Status(Box::new(Status { jobs, ..self.role.key_holder().status_of(sees) })));
        }
        if let Request::NoteStore(age) = request {
            let noted = self.vault.note_store(&client.name, age);
            return noted.map(Reply::Store).map_err(|cause| for_others(KeyHolderError::Vault(cause)));
        }
        let shredded = match &request {
            Request::Shred(name) => Some(*name),
            _ => None,
        };
        let answer = |request| match &self.role {
            Role::Alone(key_holder) => key_holder.answer(request, now),
            Role::Member(member) => member.answer(client, request, now),
        };
        let reply = match shredded {
            None => answer(request),
            Some(name) => {
                let in_vault = |cause: &KeyHolderError| matches!(cause, KeyHolderError::Vault(_));
                self.disk.with_reserve(|| answer(Request::Shred(name)), in_vault)
            }
        };
        reply.map_err(for_others)
    }

    fn within_limits(&self, policy: &DecisionPolicy) -> Result<(), KeyHolderError> {
        self.limits.check(policy).map_err(|why| KeyHolderError::Forbidden(why.into()))
    }

    /// Records the owner before the tenant exists: a crash between the two leaves an unused name.
    fn claim(
        &self,
        client: &Client,
        tenant: &TenantId,
        policy: &DecisionPolicy,
    ) -> Result<(), KeyHolderError> {
        self.within_limits(policy)?;
        self.vault.claim(*tenant, &client.name).map_err(|cause| match cause {
            StoreError::Conflict => KeyHolderError::TenantExists,
            cause => {
                tracing::error!(%cause, "the owner of a tenant cannot be recorded");
                fault()
            }
        })
    }

    fn describe(&self, kind: &Kind, request: &Request, entry: &mut Entry) {
        entry.op = kind.name.to_owned();
        entry.tenant = request.tenant().map(hex::encode);
        entry.width = request.model().map(|model| model.width().numbers() as u32);
        if let Some((tenant, batch, subjects)) = request.batch() {
            entry.batch = Some(hex::encode(batch));
            entry.lanes = Some(subjects.iter().flatten().count() as u32);
            entry.subjects = Some(self.log.subjects(&tenant, &subjects));
        }
        if let Some(name) = request.template() {
            entry.subjects = Some(self.log.subject(&name));
        }
        if let Request::Parts(parts) = request {
            entry.batch = Some(hex::encode(parts.digest()));
        }
    }
}

/// Refused while the disk is nearly full.
const DISK_LOW: &str = "its disk is nearly full: its operator must make room";

/// Whether repeated requests of this kind fill the vault.
fn fills(request: &Request) -> bool {
    match request {
        Request::Decide(_)
        | Request::EncryptProbes(_)
        | Request::DecideSeat(_)
        | Request::Parts(_)
        | Request::CreateTenant(..)
        | Request::Enrol(_)
        | Request::EnrolSeat(_)
        | Request::Contribute(_)
        | Request::BeginRotation(_)
        | Request::Renew(_) => true,
        Request::Ping
        | Request::PublicKeys(_)
        | Request::Shred(_)
        | Request::FinishRotation(..)
        | Request::SealingKey
        | Request::Status
        | Request::SetPolicy(..)
        | Request::ForgiveMalformed(_)
        | Request::ResetAttempts(_)
        | Request::LockedOut(_)
        | Request::NoteStore(_)
        | Request::SeatKey(..) => false,
    }
}

/// Hides an internal cause, which only this process's log has.
fn for_others(cause: KeyHolderError) -> KeyHolderError {
    if let KeyHolderError::Vault(_) = cause {
        tracing::error!(%cause, "the vault failed");
        return fault();
    }
    cause
}

fn fault() -> KeyHolderError {
    KeyHolderError::Unavailable("its vault or its job log failed: see its log".to_owned())
}

fn accepted(reply: &Result<Reply, KeyHolderError>) -> Option<LaneSet> {
    match reply {
        Ok(Reply::Decided(decisions)) => Some(decisions.lanes()),
        Ok(Reply::DecidedSeat(decided)) => decided.decisions.map(|decisions| decisions.lanes()),
        _ => None,
    }
}

/// The outcome for the job log, without a decision.
fn outcome(reply: &Result<Reply, KeyHolderError>) -> &'static str {
    let cause = match reply {
        Ok(Reply::Decided(_)) => return "decided",
        Ok(Reply::DecidedSeat(decided)) if decided.decisions.is_some() => return "decided",
        Ok(Reply::DecidedSeat(_)) => return "undecided",
        Ok(_) => return "done",
        Err(cause) => cause,
    };
    match cause {
        KeyHolderError::UnknownTenant => "unknown-tenant",
        KeyHolderError::TenantExists => "tenant-exists",
        KeyHolderError::Frozen => "frozen",
        KeyHolderError::Malformed => "malformed",
        KeyHolderError::Subjects => "subjects",
        KeyHolderError::TagKey => "tag-key",
        KeyHolderError::NoAttempts(_) => "no-attempts",
        KeyHolderError::UnknownSubjects(_) => "unknown-subjects",
        KeyHolderError::Contested(_) => "contested",
        KeyHolderError::SubjectExists => "subject-exists",
        KeyHolderError::SealedShares(_) => "sealed-shares",
        KeyHolderError::Structure => "structure",
        KeyHolderError::Rotation => "rotation",
        KeyHolderError::Threshold(_) => "threshold",
        KeyHolderError::OtherThreshold(_) => "other-threshold",
        KeyHolderError::Model => "model",
        KeyHolderError::Vault(_) | KeyHolderError::Unavailable(_) => "unavailable",
        KeyHolderError::OneAway(_) => "one-away",
        KeyHolderError::Forbidden(_) => "forbidden",
    }
}
