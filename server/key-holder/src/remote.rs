//! A key-holder elsewhere, in the role of one in this process: each request is a call over its line.

use crate::address::Address;
use crate::identity::Identity;
use crate::line::Line;
use crate::protocol::{Enrolment, Renewal, Reply, Request};
use crate::role::Role;
use crate::tls;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trefoil_matching::{
    BlindedCiphertext, DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, ForKeyHolder, Handle,
    KeyHolderError, KeyHolding, KeyStructure, Lane, MatchJob, ProbeJob, PublicKey, SealingKey, TenantId,
};

/// Bounds of the connection to a key-holder.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Longest time for one request, from taking a connection to the last byte of the reply.
    pub timeout: Duration,
    /// Connections at most; further requests wait for one, within their time.
    pub connections: usize,
}

/// See the module.
pub struct Remote {
    line: Arc<Line>,
    monitor: Option<JoinHandle<()>>,
}

impl Remote {
    /// Starts the monitor; the key-holder need not be there yet.
    ///
    /// # Errors
    /// When the identity is not usable or the thread does not start.
    pub fn start(address: Address, identity: Identity, bounds: Bounds) -> io::Result<Remote> {
        let tls = tls::client_config(identity, address.fingerprint).map_err(io::Error::other)?;
        let line = Arc::new(Line::new(address, tls, bounds));
        let watched = Arc::clone(&line);
        let monitor = std::thread::Builder::new()
            .name("key-holder-monitor".to_owned())
            .spawn(move || watched.monitor())?;
        Ok(Remote { line, monitor: Some(monitor) })
    }

    /// One request and its reply.
    pub(crate) fn call(&self, frame: &[u8]) -> Result<Reply, KeyHolderError> {
        match self.line.call(frame)? {
            Reply::Refused(why) => Err(why.into()),
            reply => Ok(reply),
        }
    }

    /// Replaces a tenant's policy, with an operator's identity.
    ///
    /// # Errors
    /// [`KeyHolderError`].
    pub fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::SetPolicy(tenant, policy))
    }

    /// Waits until the key-holder answers.
    ///
    /// # Errors
    /// Why it does not, at `deadline`.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        self.line.wait_until_up(deadline)
    }

    fn expect_done(&self, request: &Request) -> Result<(), KeyHolderError> {
        match self.call(&request.encode())? {
            Reply::Done => Ok(()),
            _ => Err(nonsense()),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.line.stop();
        if let Some(monitor) = self.monitor.take() {
            // A panic of the monitor was logged where it happened.
            let _ = monitor.join();
        }
    }
}

impl KeyHolding for Remote {
    /// `now` is not sent: a key-holder counts attempts by its own clock.
    fn decide(&self, job: &MatchJob, _now: u64) -> Result<Decisions, KeyHolderError> {
        match self.call(&Request::decide(job))? {
            Reply::Decided(lanes) if lanes.bits() & !job.occupied().bits() == 0 => {
                Ok(Decisions::from_lanes(lanes))
            }
            _ => Err(nonsense()),
        }
    }

    fn encrypt_probes(&self, job: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        match self.call(&Request::encrypt_probes(job))? {
            Reply::Probes(probes) => Ok(*probes),
            _ => Err(nonsense()),
        }
    }
}

impl Role for Remote {
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        match self.call(&Request::CreateTenant(tenant, keys, policy).encode())? {
            Reply::Created(key) if key.structure() == keys => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: ForKeyHolder,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let request = Request::Enrol(Box::new(Enrolment { tenant, handle, generation, lane, template }));
        match self.call(&request.encode())? {
            Reply::Enrolled(template) if template.is_of(&tenant, &handle, generation, lane) => Ok(*template),
            _ => Err(nonsense()),
        }
    }

    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::Shred(tenant, handle, generation))
    }

    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::LiftFreeze(tenant))
    }

    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        match self.call(&Request::BeginRotation(tenant).encode())? {
            Reply::Created(key) => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    /// `now` is not sent, as in [`KeyHolding::decide`].
    fn renew(
        &self,
        tenant: TenantId,
        handle: Handle,
        from: u32,
        to: u32,
        blinded: BlindedCiphertext,
        _now: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let request = Request::Renew(Box::new(Renewal { tenant, handle, from, to, blinded }));
        match self.call(&request.encode())? {
            Reply::Enrolled(template) if template.is_renewal(&tenant, &handle, to) => Ok(*template),
            _ => Err(nonsense()),
        }
    }

    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::FinishRotation(tenant, epoch))
    }

    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        match self.call(&Request::SealingKey.encode())? {
            Reply::SealingKey(key) => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    fn unready(&self) -> Option<String> {
        self.line.down()
    }
}

fn nonsense() -> KeyHolderError {
    KeyHolderError::Unavailable("it answered something that was not asked".to_owned())
}

#[cfg(test)]
mod tests;
