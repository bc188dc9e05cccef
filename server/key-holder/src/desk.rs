//! Requests of known clients: who may ask what, the answer, and its line in the job log.

use crate::clients::{Client, Right};
use crate::config::PolicyLimits;
use crate::database::StoreError;
use crate::job_log::{Entry, JobLog};
use crate::owners::Owners;
use crate::protocol::{Enrolment, Refused, Renewal, Reply, Request, RequestError};
use crate::quorum::{Bench, Contribution};
use std::sync::Arc;
use trefoil_matching::{
    DecisionPolicy, ForKeyHolder, KeyHolder, KeyHolderError, KeyStructure, MatchJob, PublicKey, TenantId,
};

/// The key-holder with what it needs to serve strangers.
pub(crate) struct Desk {
    pub(crate) keyholder: Arc<KeyHolder>,
    /// Where it is one of three.
    pub(crate) bench: Option<Bench>,
    pub(crate) owners: Owners,
    pub(crate) log: JobLog,
    pub(crate) limits: PolicyLimits,
}

impl Desk {
    /// Answers one request at `now` (unix seconds, this machine's clock). Nothing is answered that is not in the log.
    pub(crate) fn answer(&self, client: &Client, request: Result<Request, RequestError>, now: u64) -> Reply {
        if matches!(request, Ok(Request::Ping)) {
            return Reply::Done;
        }
        let mut entry = Entry {
            n: 0,
            at: now,
            client: client.name.clone(),
            op: String::new(),
            tenant: None,
            batch: None,
            lanes: None,
            subjects: None,
            outcome: String::new(),
            answer: None,
            prev: String::new(),
        };
        let reply = match request {
            Ok(request) => {
                self.describe(&request, &mut entry);
                self.carry_out(client, &request, now).unwrap_or_else(Reply::Refused)
            }
            Err(why) => {
                entry.op = "unreadable".to_owned();
                Reply::Refused(match why {
                    RequestError::Framing => Refused::Framing,
                    RequestError::Malformed => Refused::Malformed,
                })
            }
        };
        entry.outcome = outcome(&reply).to_owned();
        let accepted = match &reply {
            Reply::Decided(accepted) => Some(*accepted),
            Reply::DecidedInQuorum(decided) => decided.decided,
            _ => None,
        };
        if let (Some(accepted), Some(batch)) = (accepted, &entry.batch) {
            entry.answer = Some(self.log.answer(batch, accepted));
        }
        match self.log.append(entry) {
            Ok(()) => reply,
            Err(cause) => {
                tracing::error!(%cause, "the job log cannot be written, so nothing is answered");
                Reply::Refused(Refused::Fault)
            }
        }
    }

    fn carry_out(&self, client: &Client, request: &Request, now: u64) -> Result<Reply, Refused> {
        let allowed = match request {
            Request::SetPolicy(..) | Request::LiftFreeze(_) => client.right == Right::Operate,
            Request::Parts(_) | Request::Contribute(_) => client.right == Right::Peer,
            // Public; the operator prints its fingerprint.
            Request::SealingKey => true,
            _ => client.right == Right::Match,
        };
        if !allowed {
            return Err(Refused::Forbidden);
        }
        let alone_only = matches!(
            request,
            Request::EncryptProbes(_)
                | Request::SealingKey
                | Request::BeginRotation(_)
                | Request::Renew(_)
                | Request::FinishRotation(..)
                | Request::Decide(_)
        );
        if alone_only && self.bench.is_some() {
            return Err(Refused::Three);
        }
        match request {
            Request::Ping => Ok(Reply::Done),
            Request::Decide(job) => {
                self.own(client, &job.tenant)?;
                self.keyholder
                    .decide(job, now)
                    .map(|decisions| Reply::Decided(decisions.lanes()))
                    .map_err(refused)
            }
            Request::DecideInThree(job) => {
                let bench = self.bench.as_ref().ok_or(Refused::Alone)?;
                self.own(client, &job.job().tenant)?;
                bench.decide(job, now).map_err(refused)
            }
            Request::EncryptProbes(job) => {
                self.own(client, &job.tenant)?;
                self.keyholder.encrypt_probes(job).map(|probes| Reply::Probes(probes.into())).map_err(refused)
            }
            Request::BeginRotation(tenant) => {
                self.own(client, tenant)?;
                self.keyholder.begin_rotation(*tenant).map(|key| Reply::Created(key.into())).map_err(refused)
            }
            Request::Renew(renewal) => {
                let Renewal { tenant, handle, from, to, blinded } = &**renewal;
                self.own(client, tenant)?;
                let template = self.keyholder.renew(*tenant, *handle, *from, *to, blinded, now);
                template.map(|template| Reply::Enrolled(template.into())).map_err(refused)
            }
            Request::FinishRotation(tenant, epoch) => {
                self.own(client, tenant)?;
                self.keyholder.finish_rotation(*tenant, *epoch).map(|()| Reply::Done).map_err(refused)
            }
            Request::SealingKey => Ok(Reply::SealingKey(self.keyholder.sealing_key().into())),
            Request::CreateTenant(tenant, keys, policy) => {
                self.create(client, *tenant, *keys, *policy).map(|key| Reply::Created(key.into()))
            }
            Request::SetPolicy(tenant, policy) => {
                self.keyholder.set_policy(*tenant, *policy).map(|()| Reply::Done).map_err(refused)
            }
            Request::Enrol(enrolment) => {
                let Enrolment { tenant, handle, generation, lane, template } = &**enrolment;
                self.own(client, tenant)?;
                if let Some(bench) = &self.bench {
                    // Shares that devices seal need one key per tenant.
                    let ForKeyHolder::Open(template) = template else { return Err(Refused::Three) };
                    return bench.enrol(enrolment, template).map_err(refused);
                }
                let template = self.keyholder.enrol(*tenant, *handle, *generation, *lane, template);
                template.map(|template| Reply::Enrolled(template.into())).map_err(refused)
            }
            Request::Shred(tenant, handle, generation) => {
                self.own(client, tenant)?;
                self.keyholder.shred(*tenant, *handle, *generation).map(|()| Reply::Done).map_err(refused)
            }
            Request::LiftFreeze(tenant) => {
                self.keyholder.lift_freeze(*tenant).map(|()| Reply::Done).map_err(refused)
            }
            Request::Parts(_) | Request::Contribute(_) => {
                self.bench.as_ref().ok_or(Refused::Forbidden)?.take(client, request)
            }
        }
    }

    /// Whether the client owns the tenant. One that it does not own looks like one that does not exist.
    fn own(&self, client: &Client, tenant: &TenantId) -> Result<(), Refused> {
        self.owners.owns(tenant, &client.name).then_some(()).ok_or(Refused::UnknownTenant)
    }

    /// The owner is on record before the tenant exists: a crash between the two leaves a name that nobody uses.
    fn create(
        &self,
        client: &Client,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, Refused> {
        if self.bench.is_some() && keys != KeyStructure::PerSubject {
            return Err(Refused::Three);
        }
        if !self.limits.allow(&policy) {
            return Err(Refused::Policy);
        }
        self.owners.claim(tenant, &client.name).map_err(|cause| match cause {
            StoreError::Conflict => Refused::TenantExists,
            StoreError::Busy | StoreError::Fault(_) => {
                tracing::error!(%cause, "the owner of a tenant cannot be recorded");
                Refused::Fault
            }
        })?;
        match &self.bench {
            Some(bench) => bench.holder().create_tenant(tenant, policy).map_err(refused),
            None => self.keyholder.create_tenant(tenant, keys, policy).map_err(refused),
        }
    }

    fn describe(&self, request: &Request, entry: &mut Entry) {
        let (op, tenant) = match request {
            Request::Ping => ("ping", None),
            Request::Decide(job) => ("decide", Some(job.tenant)),
            Request::DecideInThree(job) => ("decide", Some(job.job().tenant)),
            Request::EncryptProbes(job) => ("encrypt-probes", Some(job.tenant)),
            Request::SealingKey => ("sealing-key", None),
            Request::BeginRotation(tenant) => ("begin-rotation", Some(*tenant)),
            Request::Renew(renewal) => ("renew", Some(renewal.tenant)),
            Request::FinishRotation(tenant, _) => ("finish-rotation", Some(*tenant)),
            Request::CreateTenant(tenant, ..) => ("create-tenant", Some(*tenant)),
            Request::SetPolicy(tenant, _) => ("set-policy", Some(*tenant)),
            Request::Enrol(enrolment) => ("enrol", Some(enrolment.tenant)),
            Request::Shred(tenant, ..) => ("shred", Some(*tenant)),
            Request::LiftFreeze(tenant) => ("lift-freeze", Some(*tenant)),
            Request::Parts(_) => ("parts", None),
            Request::Contribute(contribution) => ("contribute", Some(contribution.tenant)),
        };
        entry.op = op.to_owned();
        entry.tenant = tenant.map(hex::encode);
        match request {
            Request::Decide(job) => self.describe_job(job, entry),
            Request::DecideInThree(job) => self.describe_job(job.job(), entry),
            Request::EncryptProbes(job) => {
                entry.batch = Some(hex::encode(job.batch_id));
                entry.lanes = Some(job.occupied().bits().count_ones());
                entry.subjects = Some(self.log.subjects(&job.tenant, &job.subjects()));
            }
            Request::Enrol(enrolment) => {
                let Enrolment { tenant, handle, generation, .. } = &**enrolment;
                entry.subjects = Some(self.log.subject(tenant, handle, *generation));
            }
            Request::Renew(renewal) => {
                let Renewal { tenant, handle, from, .. } = &**renewal;
                entry.subjects = Some(self.log.subject(tenant, handle, *from));
            }
            Request::Shred(tenant, handle, generation) => {
                entry.subjects = Some(self.log.subject(tenant, handle, *generation));
            }
            Request::Parts(parts) => entry.batch = Some(hex::encode(parts.digest())),
            Request::Contribute(contribution) => {
                let Contribution { tenant, handle, generation, .. } = &**contribution;
                entry.subjects = Some(self.log.subject(tenant, handle, *generation));
            }
            _ => {}
        }
    }

    fn describe_job(&self, job: &MatchJob, entry: &mut Entry) {
        entry.batch = Some(hex::encode(job.batch_id));
        entry.lanes = Some(job.occupied().bits().count_ones());
        entry.subjects = Some(self.log.subjects(&job.tenant, &job.subjects));
    }
}

/// A refusal whose cause, if it is ours, goes to the log for people.
fn refused(cause: KeyHolderError) -> Refused {
    match &cause {
        KeyHolderError::Vault(_) => tracing::error!(%cause, "the vault failed"),
        KeyHolderError::Unavailable(_) => tracing::warn!(%cause, "not done with the other two"),
        _ => {}
    }
    Refused::from(cause)
}

fn outcome(reply: &Reply) -> &'static str {
    match reply {
        Reply::Decided(_) => "decided",
        Reply::DecidedInQuorum(decided) if decided.decided.is_some() => "decided",
        Reply::DecidedInQuorum(_) => "undecided",
        Reply::Done
        | Reply::Created(_)
        | Reply::Enrolled(_)
        | Reply::EnrolledPieces(..)
        | Reply::Probes(_)
        | Reply::SealingKey(_) => "done",
        Reply::Refused(why) => match why {
            Refused::UnknownTenant => "unknown-tenant",
            Refused::TenantExists => "tenant-exists",
            Refused::Frozen => "frozen",
            Refused::Malformed => "malformed",
            Refused::UnknownSubjects(_) => "unknown-subjects",
            Refused::SubjectExists => "subject-exists",
            Refused::Threshold(_) => "threshold",
            Refused::Fault => "fault",
            Refused::Forbidden => "forbidden",
            Refused::Policy => "policy",
            Refused::Framing => "framing",
            Refused::SealedShares(_) => "sealed-shares",
            Refused::Structure => "structure",
            Refused::Rotation => "rotation",
            Refused::Three => "three",
            Refused::Alone => "alone",
        },
    }
}
