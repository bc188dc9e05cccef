//! One login, from its client's request to its sealed decision, whether it came alone or in a batch.
//!
//! Cheap checks come first. No attempt is charged until the MAC proves that the request comes from the session holder. The worker that
//! decides looks up the session's verdict, once, and checks the MAC beside it ([`crate::login::door`]). The checks here need no verdict.

use crate::limits::distinct_failures::LiveBounds;
use crate::limits::distinct_failures::{DistinctFailures, End, Trial};
use crate::limits::pace::Pace;
use crate::limits::sources::Source;
use crate::log::Log;
use crate::log::asker::{Asker, Claim, Login};
use crate::log::seal_log::{Answer, Unanswered};
use crate::login::clock::ClockWatch;
use crate::login::door::FrontDoor;
use crate::login::outcomes::{self, Watch};
use crate::login::past::Past;
use crate::login::register;
use crate::login::register::forgotten_until;
use crate::node::Node;
use crate::node::blocking;
use crate::refused::{NotFresh, Refused};
use crate::sessions::opening::ProofSessions;
use crate::subjects::Subjects;
use crate::tenants::directory::Directory;
use crate::{AHEAD_S, FRESHNESS_S};

use crate::sessions::rows::Kept;
use crate::subjects::face::{Face, Shown, check_named};
use crate::tenants::tenant::{Tenant, policy};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use trefoil_attest::{Decision, RequestHeader, UnprovenRequest};
use trefoil_matching::{Model, SealedFor, Share, SharedProbe, Template};
use trefoil_pipeline::{
    Backing, InSession, LaneRequest, Probe, Refusal, Stale, SubmitError, Verdict, audience_id,
};
use trefoil_types::{Handle, SessionId};

/// Most submissions of one request: a second one follows with the verdict of the session's row if the cache did not have it, and another one
/// if the template was renewed while the request waited.
const SUBMISSIONS_MAX: usize = 4;
/// The clock has whole seconds, so a request that waits for its time looks at it this often.
const LOOK_AT_CLOCK: Duration = Duration::from_millis(50);

/// See the module.
pub struct Logins {
    /// What it stands on.
    pub node: Arc<Node>,
    /// The log, in which decisions are sealed.
    pub log: Arc<Log>,
    /// Tenants, which have the policies.
    pub tenants: Arc<Directory>,
    /// Sessions, in which most logins are.
    pub sessions: Arc<ProofSessions>,
    /// Subjects, which have the templates.
    pub subjects: Arc<Subjects>,
    /// The checks of logins on the pipeline's workers.
    pub door: Arc<FrontDoor>,
    /// What is refused because a process before this one may have accepted it.
    pub past: Past,
    /// Whether the clock can be right.
    pub clock_watch: ClockWatch,
    /// How many requests of a tenant may be in flight.
    pub pace: Pace,
    /// For how many different subjects an API key may fail.
    pub failure_bounds: LiveBounds,
    /// How many different subjects may fail from one source.
    pub source_bounds: LiveBounds,
    /// How the logins of each tenant ended lately.
    pub outcomes: Watch,
}

/// A client's request for a login.
pub struct LoginRequest {
    /// The subject.
    pub handle: Handle,
    /// The party that vouches that the request is the subject's.
    pub voucher: Voucher,
    /// The relying party that the attestation is for.
    pub audience: String,
    /// The relying party's nonce.
    pub nonce: Vec<u8>,
    /// Unix seconds, by the client's clock.
    pub issued_at: u64,
    /// The face that is compared.
    pub face: Face,
    /// SHA3-256 of the face as it was sent, which the MAC and the request digest cover.
    pub probe_digest: [u8; 32],
    /// The model of the face, if the application names it.
    pub embedder: Option<String>,
    /// Its source, if the application names it.
    pub source: Option<Source>,
}

/// The party that vouches that a login is its subject's, as the tenant's policy requires.
pub enum Voucher {
    /// The holder of a credential, in a proof session.
    Holder(Signed),
    /// Only the application that has the API key.
    Application,
}

/// A login's part in a session of its subject.
#[derive(Clone, Copy)]
pub struct Signed {
    /// The session.
    pub session: SessionId,
    /// MAC of the request, under the session's key.
    pub mac: [u8; 32],
}

impl LoginRequest {
    /// The bytes that the MAC covers.
    fn header(&self, signed: &Signed) -> RequestHeader<'_> {
        RequestHeader {
            session_id: signed.session,
            handle: self.handle,
            audience: &self.audience,
            nonce: &self.nonce,
            issued_at: self.issued_at,
            probe_digest: &self.probe_digest,
        }
    }

    /// The digest that names the request in the attestation.
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

    /// The pipeline's input for it.
    fn backing(&self, tenant: &Tenant, revived: Option<Box<Verdict>>) -> Backing {
        match &self.voucher {
            Voucher::Holder(Signed { session, .. }) => Backing::Session(InSession { id: *session, revived }),
            Voucher::Application => {
                Backing::Application(tenant.accounts.account(&self.handle, &self.audience))
            }
        }
    }

    /// Takes out the request's face in the tenant's probe mode, to be compared with a template of `model`, if there is one.
    fn take_probe(&mut self, tenant: &Tenant, model: Option<&Model>) -> Result<Probe, Refused> {
        if let Some(model) = model {
            check_named(&tenant.policy, model, self.embedder.as_deref())?;
        }
        let face = std::mem::replace(&mut self.face, Face::Unclear);
        match face.shown(&tenant.policy, model)?.0 {
            Shown::Plain(embedding) => Ok(Probe::Plain(embedding)),
            Shown::Shared { open, sealed } => {
                let share = Share::from_bytes(&open).map_err(Refused::OpenShare)?;
                // A share is sealed for a session, and no policy combines this probe mode with no proofs.
                let Voucher::Holder(signed) = &self.voucher else {
                    return Err(Refused::Login(Refusal::ProofMode));
                };
                let (session, nonce) = (signed.session, self.nonce.clone());
                let sealed_for = SealedFor { session, nonce, issued_at: self.issued_at };
                Ok(Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for })))
            }
        }
    }
}

impl Logins {
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
        // Before anything is spent, so that the same request may be repeated.
        if self.node.key_holder.unready().is_some() {
            return Err(Refused::KeyHolderAway);
        }
        self.node.check_decidable()?;
        self.check_clock()?;
        self.check_fresh(request.issued_at, self.node.now())?;
        self.wait_for_time(tenant, request.issued_at).await?;
        let Some(template) = self.template(tenant, &request.handle).await? else {
            // An application may learn that nobody is enrolled, whatever it shows. Of the others only the session's holder may: to them an unknown
            // subject is like one of the present model.
            if let Voucher::Holder(signed) = request.voucher {
                request.take_probe(tenant, None)?;
                self.check_holder(tenant, &request, &signed).await?;
            }
            return Err(Refused::SubjectUnknown);
        };
        let probe = request.take_probe(tenant, Some(&template.model))?;
        let is_previous = policy::is_previous(&tenant.policy, &template.model);
        let answer = match self.admit(tenant, failures, &request).await {
            Ok(trials) if trials.is_empty() => self.decide(tenant, &request, template, &probe).await,
            Ok(trials) => self.decide_trial(trials, tenant, (request, template, probe)).await,
            Err(refused) => Err(refused),
        };
        outcomes::count(&tenant.ended[usize::from(is_previous)], &answer);
        answer
    }

    /// The trials that count the login of a subject that is new to its source or its API key. Waits while there may soon be room for it.
    async fn admit(
        &self,
        tenant: &Tenant,
        failures: &Arc<DistinctFailures>,
        request: &LoginRequest,
    ) -> Result<Vec<Trial>, Refused> {
        let (handle, now) = (&request.handle, self.node.now());
        let of_source = match request.source {
            Some(source) => tenant.sources.admit(source, handle, self.source_bounds.now(), now).await?,
            None => None,
        };
        let of_key = failures.admit(handle, self.failure_bounds.now(), now).await?;
        Ok(of_source.map(Trial::begin).into_iter().chain(of_key).collect())
    }

    /// Decides a login of a subject that is new to its API key or source, in a task of its own: the attempt counts even if the caller goes
    /// away before the answer.
    async fn decide_trial(
        self: &Arc<Self>,
        trials: Vec<Trial>,
        tenant: &Arc<Tenant>,
        (request, template, probe): (LoginRequest, Template, Probe),
    ) -> Result<Answer, Refused> {
        let (service, tenant) = (Arc::clone(self), Arc::clone(tenant));
        let tried = tokio::spawn(async move {
            let answer = service.decide(&tenant, &request, template, &probe).await;
            let end = match answer.as_ref().map(|answer| answer.decision) {
                Ok(Some(Decision::Match)) => End::Match,
                Ok(Some(Decision::NoMatch)) => End::NoMatch,
                Ok(None) | Err(_) => End::Undecided,
            };
            trials.into_iter().for_each(|trial| trial.end(end));
            answer
        });
        tried.await.map_err(Refused::fault)?
    }

    /// The active template of a subject, from memory or from the store.
    async fn template(
        self: &Arc<Self>,
        tenant: &Arc<Tenant>,
        handle: &Handle,
    ) -> Result<Option<Template>, Refused> {
        if let Some(template) = self.subjects.templates.get(&tenant.id, handle) {
            return Ok(Some(template));
        }
        let (service, tenant, handle) = (Arc::clone(self), Arc::clone(tenant), *handle);
        blocking(move || {
            let Some(record) = service.node.store.template(&tenant.id, &handle)? else { return Ok(None) };
            let template = service.subjects.opened(&tenant, &record)?;
            service.subjects.templates.insert(template.clone());
            Ok(Some(template))
        })
        .await
    }

    fn check_fresh(&self, issued_at: u64, now: u64) -> Result<(), Refused> {
        if now.saturating_sub(issued_at) > FRESHNESS_S || issued_at.saturating_sub(now) > AHEAD_S {
            self.node.counters.not_fresh.add_one();
            return Err(Refused::NotFresh(NotFresh::OutsideWindow { issued_at, now }));
        }
        self.past.check(issued_at, now).map_err(Refused::NotFresh)?;
        self.check_remembered(issued_at)
    }

    /// Requests dated up to here may have been attested, and their nonces are forgotten: by the process before this one, or by the register
    /// of the fleet.
    fn attested_until(&self) -> u64 {
        let of_fleet = self.node.register.as_ref().map(|register| forgotten_until(register.since()));
        of_fleet.unwrap_or(self.past.attested_until())
    }

    fn check_remembered(&self, issued_at: u64) -> Result<(), Refused> {
        let attested_until = self.attested_until();
        if issued_at <= attested_until {
            // The same request may have been attested, and the nonces of then are gone.
            return Err(Refused::BeforeRestart { attested_until, wait_s: attested_until + 1 - issued_at });
        }
        Ok(())
    }

    /// In a fleet, waits until a request is dated at most [`register::AHEAD_S`] ahead, in real time: what the register forgets when it begins
    /// anew is then dated hardly ahead, so logins are back soon.
    async fn wait_for_time(&self, tenant: &Tenant, issued_at: u64) -> Result<(), Refused> {
        let ahead_s = || issued_at.saturating_sub(self.node.now()).saturating_sub(register::AHEAD_S);
        if self.node.register.is_none() || ahead_s() == 0 {
            return Ok(());
        }
        let Some(_waits) = tenant.ahead.begin() else {
            return Err(Refused::NotFresh(NotFresh::Ahead { issued_at, now: self.node.now() }));
        };
        let until = Instant::now() + Duration::from_secs(ahead_s());
        while ahead_s() > 0 && Instant::now() < until {
            tokio::time::sleep(LOOK_AT_CLOCK).await;
        }
        Ok(())
    }

    /// Reads the verdict of a session that is not in memory.
    async fn revived(&self, tenant: &Arc<Tenant>, session: &SessionId, now: u64) -> Result<Verdict, Refused> {
        let mut kept = self.sessions.rows.revive(tenant, session, now).await?;
        if matches!(kept, Kept::Ahead) && self.tenants.heard().await {
            kept = self.sessions.rows.revive(&self.tenants.tenant(&tenant.id)?, session, now).await?;
        }
        match kept {
            Kept::Live(verdict) => Ok(verdict),
            Kept::Over | Kept::Ahead | Kept::Ended => Err(Refused::SessionEnded),
            Kept::Unknown => Err(Refused::SessionNotOpened),
        }
    }

    /// A request without a template cannot become a lane. Only the session's holder learns this; any other caller gets the error
    /// that a worker would give.
    async fn check_holder(
        &self,
        tenant: &Arc<Tenant>,
        request: &LoginRequest,
        signed: &Signed,
    ) -> Result<(), Refused> {
        let now = self.node.now();
        let verdict = self.revived(tenant, &signed.session, now).await?;
        if !request.claim().is_made_with(&verdict, &request.header(signed)) {
            return Err(Refused::Login(Refusal::Mac));
        }
        let audience = audience_id(&request.audience);
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
            if !is_spent {
                // The register may have begun anew while the request waited. Its nonce is not used yet, so it may be signed again.
                self.check_remembered(request.issued_at)?;
            }
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
            self.node.counters.submitted();
            match (answer.await, &request.voucher) {
                (Ok(Ok(answer)), _) => return Ok(answer),
                (Ok(Err(Unanswered::Refused(Refusal::Session(Stale::Missing)))), Voucher::Holder(signed)) => {
                    let verdict = self.revived(tenant, &signed.session, self.node.now()).await?;
                    revived = Some(Box::new(verdict));
                }
                (Ok(Err(Unanswered::Refused(Refusal::NonceUsed))), Voucher::Application) => {
                    return Err(Refused::NonceUsedBySubject);
                }
                (Ok(Err(Unanswered::Refused(Refusal::Template))), _) => {
                    // The template was deleted, revoked or replaced, or renewed under other keys while the request waited. The nonce is spent.
                    is_spent = true;
                    self.subjects.templates.remove(&tenant.id, &request.handle);
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
        let intake = self.log.intake.load();
        let intake = intake.as_ref().ok_or(Refused::Draining)?;
        intake.submit(tenant.id, lane).map_err(|error| match error {
            SubmitError::Busy => Refused::TooManyRequests,
            SubmitError::Draining => Refused::Draining,
        })
    }
}
