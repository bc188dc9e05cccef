//! One login, from what its client asks for to its sealed decision, whether it came alone or with others.
//!
//! Cheap checks come first; no attempt budget is charged before the request is known to be its holder's. The worker that decides looks
//! the session's verdict up, once, and checks the MAC beside it ([`crate::door`]); here is what needs no verdict.

use crate::attestations;
use crate::distinct_failures::{DistinctFailures, End, Trial};
use crate::door::{Asker, Claim, Login};
use crate::face::{Face, Shown};
use crate::refused::{NotFresh, Refused};
use crate::replay::{AHEAD_S, FRESHNESS_S};
use crate::seal_log::{Answer, Unanswered};
use crate::service::{Service, blocking};
use crate::sessions::Kept;
use crate::tenant::{Tenant, policy};
use std::sync::Arc;
use tokio::sync::oneshot;
use trefoil_attest::{Decision, RequestHeader, Reveal, UnprovenRequest};
use trefoil_matching::{SealedFor, Share, SharedProbe, Template};
use trefoil_pipeline::{
    AudienceId, Backing, InSession, LaneRequest, Probe, Refusal, Stale, SubmitError, Verdict,
};
use trefoil_types::{Handle, SessionId};

/// Submissions of one request: a second one follows with the verdict of the session's row, where it was in no memory, and another when
/// the template was renewed while the request waited.
const SUBMISSIONS_MAX: usize = 4;

/// A login as its client asks for it.
pub struct LoginRequest {
    /// The subject.
    pub handle: Handle,
    /// Who vouches for its being the subject's.
    pub voucher: Voucher,
    /// The relying party that the attestation is for.
    pub audience: String,
    /// The relying party's nonce.
    pub nonce: Vec<u8>,
    /// Unix seconds, by the client's clock.
    pub issued_at: u64,
    /// What is compared.
    pub face: Face,
    /// SHA3-256 of the face as it was sent, which the MAC and the request digest cover.
    pub probe_digest: [u8; 32],
    /// Whether its attestation is kept for a while, see [`crate::recent`]: its caller takes none with the answer.
    pub keep: bool,
}

/// Who vouches for a login's being its subject's, as the tenant's policy wants it.
pub enum Voucher {
    /// The holder of a credential, in a proof session.
    Holder(Signed),
    /// The application that has the API key, and nobody else.
    Application,
}

/// A login's part in a session of its subject.
#[derive(Clone, Copy)]
pub struct Signed {
    /// The session.
    pub session: SessionId,
    /// The next value of the session's hash chain.
    pub reveal: Option<Reveal>,
    /// Of the request, under the session's key.
    pub mac: [u8; 32],
}

impl LoginRequest {
    /// What the MAC covers.
    fn header(&self, signed: &Signed) -> RequestHeader<'_> {
        RequestHeader {
            session_id: signed.session,
            handle: self.handle,
            audience: &self.audience,
            nonce: &self.nonce,
            issued_at: self.issued_at,
            probe_digest: &self.probe_digest,
            reveal: signed.reveal,
        }
    }

    /// What the attestation names the request by.
    fn digest(&self, tenant: &Tenant) -> [u8; 32] {
        match &self.voucher {
            Voucher::Holder(signed) => self.header(signed).digest(),
            Voucher::Application => UnprovenRequest {
                tenant: tenant.id,
                handle: self.handle,
                audience: &self.audience,
                nonce: &self.nonce,
                issued_at: self.issued_at,
                probe_digest: &self.probe_digest,
            }
            .digest(),
        }
    }

    fn claim(&self) -> Claim {
        match &self.voucher {
            Voucher::Holder(signed) => Claim::signed(self.issued_at, self.probe_digest, signed.mac),
            Voucher::Application => Claim::unsigned(self.issued_at),
        }
    }

    /// What the pipeline is given for it.
    fn backing(&self, tenant: &Tenant, revived: Option<Box<Verdict>>) -> Backing {
        match &self.voucher {
            Voucher::Holder(Signed { session, reveal, .. }) => {
                Backing::Session(InSession { id: *session, reveal: *reveal, revived })
            }
            Voucher::Application => {
                Backing::Application(tenant.accounts.account(&self.handle, &self.audience))
            }
        }
    }

    /// What the request shows, in the tenant's probe mode: taken out of it.
    fn take_probe(&mut self, tenant: &Tenant) -> Result<Probe, Refused> {
        let face = std::mem::replace(&mut self.face, Face::Unclear);
        match face.shown(tenant.policy.probe)? {
            Shown::Plain(embedding) => Ok(Probe::Plain(embedding)),
            Shown::Shared { open, sealed } => {
                let share = Share::from_bytes(&open).map_err(Refused::OpenShare)?;
                // A share is sealed for a session; no policy has both this probe mode and no proofs.
                let Voucher::Holder(signed) = &self.voucher else {
                    return Err(Refused::Login(Refusal::ProofMode));
                };
                let (session, nonce) = (signed.session.to_bytes(), self.nonce.clone());
                let sealed_for = SealedFor { session, nonce, issued_at: self.issued_at };
                Ok(Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for })))
            }
        }
    }
}

impl Service {
    /// Decides one login of a tenant and waits until its seal is stored; `failures` are those of the API key that it comes with.
    pub async fn login(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        failures: &Arc<DistinctFailures>,
        mut request: LoginRequest,
    ) -> Result<Answer, Refused> {
        if matches!(request.voucher, Voucher::Application) == tenant.needs_proof() {
            return Err(Refused::Login(Refusal::ProofMode));
        }
        policy::check_audience(&tenant.policy, &request.audience)?;
        // Before anything is spent: the same request may come again.
        if self.key_holder.unready().is_some() {
            return Err(Refused::KeyHolderAway);
        }
        self.check_decidable()?;
        self.check_fresh(request.issued_at, self.now())?;
        let probe = request.take_probe(tenant)?;
        match self.template(tenant, &request.handle).await? {
            Some(template) => {
                let keep = request.keep;
                let trial = failures.admit(&request.handle, self.failure_bounds.now(), self.now()).await?;
                let answer = match trial {
                    None => self.decide(tenant, &request, template, &probe).await?,
                    Some(trial) => self.decide_trial(trial, tenant, (request, template, probe)).await?,
                };
                if keep {
                    attestations::keep(&tenant.recent, &answer, self.now());
                }
                Ok(answer)
            }
            None => {
                if let Voucher::Holder(signed) = &request.voucher {
                    self.check_holder(tenant, &request, signed).await?;
                }
                Err(Refused::SubjectUnknown)
            }
        }
    }

    /// Decides a login of a subject that is new to its API key, in a task of its own: a caller that goes away before the answer does
    /// not undo that the subject was tried.
    async fn decide_trial(
        self: &Arc<Self>,
        trial: Trial,
        tenant: &Arc<Tenant>,
        (request, template, probe): (LoginRequest, Template, Probe),
    ) -> Result<Answer, Refused> {
        let (service, tenant) = (Arc::clone(self), Arc::clone(tenant));
        let tried = tokio::spawn(async move {
            let answer = service.decide(&tenant, &request, template, &probe).await;
            trial.end(match answer.as_ref().map(|answer| answer.decision) {
                Ok(Some(Decision::Match)) => End::Match,
                Ok(Some(Decision::NoMatch)) => End::NoMatch,
                Ok(None) | Err(_) => End::Undecided,
            });
            answer
        });
        tried.await.map_err(Refused::fault)?
    }

    /// The template of a subject, from memory or from the store.
    async fn template(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        handle: &Handle,
    ) -> Result<Option<Template>, Refused> {
        if let Some(template) = self.templates.get(&tenant.id, handle) {
            return Ok(Some(template));
        }
        let (service, tenant, handle) = (Arc::clone(self), Arc::clone(tenant), *handle);
        blocking(move || {
            let Some(record) = service.store.template(&tenant.id, &handle)? else { return Ok(None) };
            let template = service.opened(&tenant, &record)?;
            service.templates.insert(template.clone());
            Ok(Some(template))
        })
        .await
    }

    fn check_fresh(&self, issued_at: u64, now: u64) -> Result<(), Refused> {
        if now.saturating_sub(issued_at) > FRESHNESS_S || issued_at.saturating_sub(now) > AHEAD_S {
            return Err(Refused::NotFresh(NotFresh::OutsideWindow { issued_at, now }));
        }
        if issued_at < self.started_at {
            return Err(Refused::NotFresh(NotFresh::BeforeStart));
        }
        if issued_at <= self.attested_until {
            // The same request may have been attested by the process before, whose nonces are gone.
            let wait_s = (self.attested_until + 1).saturating_sub(now);
            return Err(Refused::BeforeRestart { attested_until: self.attested_until, wait_s });
        }
        Ok(())
    }

    /// The verdict of a session that is not in memory.
    async fn revived(&self, tenant: &Arc<Tenant>, session: &SessionId, now: u64) -> Result<Verdict, Refused> {
        match self.sessions.revive(tenant, session, now).await? {
            Kept::Live(verdict) => Ok(verdict),
            Kept::Over | Kept::Ended => Err(Refused::SessionEnded),
            Kept::Unknown => Err(Refused::SessionNotOpened),
        }
    }

    /// A request for which there is no template cannot become a lane. Only its session's holder is told so: for anybody else the error
    /// is the one that a worker would have given.
    async fn check_holder(
        &self,
        tenant: &Arc<Tenant>,
        request: &LoginRequest,
        signed: &Signed,
    ) -> Result<(), Refused> {
        let now = self.now();
        let verdict = self.revived(tenant, &signed.session, now).await?;
        if !request.claim().is_made_with(&verdict, &request.header(signed)) {
            return Err(Refused::Login(Refusal::Mac));
        }
        let audience = AudienceId::of(&request.audience);
        let admitted = verdict.admits(&tenant.attested(), &request.handle, audience, now);
        admitted.map(drop).map_err(|stale| Refused::Login(Refusal::Session(stale)))
    }

    /// Hands the request to the pipeline and waits for its sealed decision.
    async fn decide(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        request: &LoginRequest,
        mut template: Template,
        probe: &Probe,
    ) -> Result<Answer, Refused> {
        let request_digest = request.digest(tenant);
        let (mut revived, mut is_spent) = (None, false);
        for _ in 0..SUBMISSIONS_MAX {
            let (reply, answer) = oneshot::channel();
            let lane = LaneRequest {
                backing: request.backing(tenant, revived.take()),
                template: template.clone(),
                probe: probe.clone(),
                audience: request.audience.as_str().into(),
                nonce: request.nonce.clone(),
                request_digest,
                reply: Asker::Login(Login { claim: request.claim(), is_spent, reply }),
            };
            self.submit(tenant, lane)?;
            self.counters.submitted();
            match (answer.await, &request.voucher) {
                (Ok(Ok(answer)), _) => return Ok(answer),
                (Ok(Err(Unanswered::Refused(Refusal::Session(Stale::Missing)))), Voucher::Holder(signed)) => {
                    let verdict = self.revived(tenant, &signed.session, self.now()).await?;
                    revived = Some(Box::new(verdict));
                }
                (Ok(Err(Unanswered::Refused(Refusal::NonceUsed))), Voucher::Application) => {
                    return Err(Refused::NonceUsedBySubject);
                }
                (Ok(Err(Unanswered::Refused(Refusal::Template))), _) => {
                    // Deleted, or renewed under other keys while it waited. Its nonce is spent.
                    is_spent = true;
                    self.templates.remove(&tenant.id, &request.handle);
                    let present = self.template(tenant, &request.handle).await?;
                    let present = present.ok_or(Refused::SubjectUnknown)?;
                    if present.generation == template.generation {
                        return Err(Refused::Login(Refusal::Template));
                    }
                    template = present;
                }
                (Ok(Err(Unanswered::Refused(why))), _) => return Err(Refused::Login(why)),
                (Ok(Err(Unanswered::Unstored)), _) => return Err(Refused::Unsealed),
                (Err(_), _) => return Err(Refused::fault("the pipeline dropped a request")),
            }
        }
        Err(Refused::TemplateChanging)
    }

    fn submit(&self, tenant: &Tenant, lane: LaneRequest<Asker>) -> Result<(), Refused> {
        let intake = self.intake.load();
        let intake = intake.as_ref().ok_or(Refused::Draining)?;
        intake.submit(tenant.id, lane).map_err(|error| match error {
            SubmitError::Busy => Refused::TooManyRequests,
            SubmitError::Draining => Refused::Draining,
        })
    }
}
