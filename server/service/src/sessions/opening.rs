//! Opening a session with a proof, and ending one.
//!
//! Checks are in order of their cost: the caller's credit; after decoding the envelope, tenant, audience, policy, level, epoch and root; the
//! open sessions; and last the proof itself, in its own pool.

use crate::counters::proofs::Event;
use crate::limits::quota::{COST_ACCEPTED, COST_INVALID, COST_STALE, Quota, Upload};
use crate::log::Log;
use crate::log::seal_log::Answer;
use crate::node::Node;
use crate::refused::{Denied, Refused};
use crate::sessions::proofs::ProofPool;
use crate::sessions::rows::{Kept, Sessions, end};
use crate::tenants::directory::Directory;

use crate::tenants::tenant::{POLICY_ID, Tenant, policy};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trefoil_attest::What;
use trefoil_pipeline::Verdict;
use trefoil_storage::store::Root;
use trefoil_types::{ApiKeyId, SessionId};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::proof_counts;

/// Proof sessions: the upload that opens one, and the rows of the open ones.
pub struct ProofSessions {
    /// What it stands on.
    pub node: Arc<Node>,
    /// The log, in which receipts are sealed.
    pub log: Arc<Log>,
    /// Tenants, which have the roots.
    pub tenants: Arc<Directory>,
    /// Rows of sessions.
    pub rows: Sessions,
    /// Verifies proofs.
    pub proofs: ProofPool,
    /// Callers' credit for proof uploads.
    pub quota: Arc<Quota>,
    /// How long a session lasts at most, seconds.
    pub life_s: u64,
}

/// A session that was opened now or earlier.
pub struct Opened {
    /// Digest of the proven statement.
    pub id: SessionId,
    /// When it ends by itself, Unix seconds.
    pub expires_at: u64,
    /// The receipt of its opening, unless it was open already or the receipt could not be sealed.
    pub receipt: Option<Answer>,
}

impl ProofSessions {
    /// Admits an upload of a proof, before a byte of it is read.
    pub fn admit_upload(&self, tenant: &Tenant, caller: ApiKeyId) -> Result<Upload, Refused> {
        if !tenant.needs_proof() {
            return Err(Refused::NoProofs);
        }
        self.quota.enter(caller, self.node.clock.monotonic_ns()).map_err(|denied| {
            self.node.counters.proofs.count(match denied {
                Denied::Exhausted(_) => Event::CreditExhausted,
                Denied::Busy => Event::TooManyOpen,
            });
            Refused::Upload(denied)
        })
    }

    /// Opens the session of an envelope, or finds it open. Waits for the receipt no longer than `patience`.
    pub async fn open_session(
        &self,
        tenant: &Arc<Tenant>,
        upload: Upload,
        envelope: ProofEnvelope,
        patience: Duration,
    ) -> Result<Opened, Refused> {
        let opened = self.open(tenant, upload.caller(), envelope, patience).await;
        upload.settle(cost(&opened));
        opened
    }

    /// Ends a session: no request in it is accepted from now on. Waits for the receipt no longer than `patience`.
    pub async fn end_session(
        &self,
        tenant: &Tenant,
        session: SessionId,
        patience: Duration,
    ) -> Result<Option<Answer>, Refused> {
        let now = self.node.now();
        self.rows.end(tenant, session, now).await?;
        Ok(self.log.receipt(tenant.id, now, What::SessionEnded { session }, patience).await)
    }

    async fn open(
        &self,
        tenant: &Arc<Tenant>,
        caller: ApiKeyId,
        envelope: ProofEnvelope,
        patience: Duration,
    ) -> Result<Opened, Refused> {
        let tenant = &self.tenants.with_root(tenant, envelope.statement.root_generation).await?;
        let now = self.node.now();
        check(&envelope, tenant, now).inspect_err(|_| self.node.counters.proofs.count(Event::Stale))?;
        let id = SessionId::new(envelope.statement.digest());
        // An envelope that decodes proves knowledge of the session's key, so a statement proven before need not be proven again.
        let missed_at = Instant::now();
        let known = match tenant.verdicts.get(&id, now) {
            Some(verdict) => Kept::Live(verdict),
            None => self.rows.revive(tenant, &id, now).await?,
        };
        if let Kept::Ended = known {
            return Err(Refused::SessionEnded);
        }
        if let Kept::Live(verdict) = known {
            self.node.counters.proofs.count(Event::Known);
            return Ok(Opened { id, expires_at: verdict.not_after, receipt: None });
        }
        let expires_at = end(&envelope.statement, &id, now, self.life_s);
        let verdict = self.verify(caller, envelope, expires_at).await?;
        self.rows.keep(tenant, id, &verdict, now, missed_at).await?;
        let what = What::SessionOpened { session: id, expires_at };
        let receipt = self.log.receipt(tenant.id, now, what, patience).await;
        Ok(Opened { id, expires_at, receipt })
    }

    async fn verify(
        &self,
        caller: ApiKeyId,
        envelope: ProofEnvelope,
        expires_at: u64,
    ) -> Result<Verdict, Refused> {
        let envelope = Arc::new(envelope);
        let verified = self.proofs.verify(caller, Arc::clone(&envelope)).await?;
        Verdict::new(&verified, &envelope, expires_at)
            .ok_or_else(|| Refused::fault("a proof was verified for another statement"))
    }
}

/// The cost of an upload for its caller, once its outcome is known.
fn cost(opened: &Result<Opened, Refused>) -> u32 {
    match opened {
        Ok(_) => COST_ACCEPTED,
        Err(Refused::ProofStale(_) | Refused::Audience { .. }) => COST_STALE,
        // Not the caller's fault.
        Err(
            Refused::ProofLate(_)
            | Refused::TooManyProofs(_)
            | Refused::StoreBusy
            | Refused::StoreAway
            | Refused::Fault,
        ) => COST_ACCEPTED,
        Err(_) => COST_INVALID,
    }
}

/// Refuses without verifying: wrong tenant, audience, policy, level, epoch or root.
fn check(envelope: &ProofEnvelope, tenant: &Tenant, now: u64) -> Result<(), Refused> {
    let refused = |detail: &'static str| Err(Refused::ProofStale(detail));
    let ProofEnvelope { statement, audience, policy_id, .. } = envelope;
    if statement.tenant != tenant.id {
        return refused("the statement names another tenant than the API key's");
    }
    policy::check_audience(&tenant.policy, audience)?;
    if *policy_id != POLICY_ID {
        return refused("the statement names another policy than the tenant's");
    }
    if statement.level < tenant.policy.level_min {
        return refused("the statement's level is below the policy's");
    }
    if !proof_counts(statement.epoch, now) {
        return refused(
            "the statement's epoch is neither the present one nor the one before; check the clock and prove again",
        );
    }
    let known = |root: &&Root| root.generation == statement.root_generation;
    match tenant.roots.iter().find(known) {
        Some(root) if root.root == *statement.root.as_bytes() => Ok(()),
        Some(_) => refused("the statement's root is not the one published under its generation"),
        None => refused("the statement's root generation is not accepted; fetch the current credential path"),
    }
}
