//! A key-holder in the gateway's own process. Then there is no boundary between the two: an attacker who has one has both.

use crate::{Enrolment, KeyHolder, KeyHolderError, KeyHolding, Renewal, Reply, Request};
use std::sync::Arc;

/// See the module.
pub struct Local {
    key_holder: Arc<KeyHolder>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Local {
    /// By this clock, in unix seconds.
    pub fn new(key_holder: Arc<KeyHolder>, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Local {
        Local { key_holder, clock: Box::new(clock) }
    }
}

impl KeyHolding for Local {
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        self.key_holder.answer(request, (self.clock)())
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
                let Enrolment { name, lane, model, template } = *enrolment;
                self.enrol(name, lane, model, &template, now).map(|template| Reply::Enrolled(template.into()))
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
