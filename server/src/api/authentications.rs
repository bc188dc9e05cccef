//! The authentication of one face in one session, alone or with others in one request. Cheap checks come first; no attempt
//! budget is charged before the request is known to be its holder's.

use super::caller::Caller;
use super::sizes::EMBEDDING_JSON_BYTES_MAX;
use super::templates::Face;
use super::{body, templates};
use crate::app::App;
use crate::bodies;
use crate::capture;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use trefoil_api::{AttestationForm, Authenticated, Authentication, Base64, Hex};
use trefoil_matching::{SealedFor, Share, SharedProbe, Template};
use trefoil_pipeline::{AudienceId, LaneRequest, Probe, Refusal, RevealRefused, Stale, SubmitError, Verdict};
use trefoil_service::Refused;
use trefoil_service::distinct_failures::End;
use trefoil_service::door::{Asker, Claim, Login};
use trefoil_service::replay::{AHEAD_S, FRESHNESS_S};
use trefoil_service::seal_log::{Answer, Unanswered};
use trefoil_service::sessions::Kept;
use trefoil_service::tenant::{Scope, Tenant, policy};
use trefoil_types::{Handle, SessionId};

/// Submissions of one request: a second one follows with the verdict of the session's row, where it was in no memory, and another when
/// the template was renewed while the request waited.
const SUBMISSIONS_MAX: usize = 4;

/// `POST /v1/authentications`. The worker that decides looks the session's verdict up, once, and checks the MAC beside it
/// ([`trefoil_service::door`]); here is what needs no verdict.
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let _work = caller.work(&app).await?;
    let began_ns = app.service.clock.monotonic_ns();
    app.service.check_room()?;
    let bytes = body::json_bytes(request, EMBEDDING_JSON_BYTES_MAX, &app.limits).await?;
    let login = login(&app, &caller, &bytes);
    let answer = tokio::time::timeout(app.limits.answer_timeout(), login).await;
    let answer = answer.unwrap_or_else(|_| Err(late()))?;
    app.service.pace.answered_in(Duration::from_nanos(app.service.clock.monotonic_ns() - began_ns));
    body::answer(StatusCode::OK, &answer)
}

/// One login, from its JSON to its answer, whether it came alone or in a batch.
pub(super) async fn login(app: &Arc<App>, caller: &Caller, json: &[u8]) -> Result<Authenticated, Problem> {
    let tenant = &caller.tenant;
    let mut request: Authentication = body::parse(json)?;
    capture::is_of_subject(Handle::new(request.handle.0));
    policy::check_audience(&tenant.policy, &request.audience)?;
    // Before anything is spent: the same request may come again.
    if app.service.key_holder.unready().is_some() {
        return Err(Refused::KeyHolderAway.into());
    }
    app.service.check_decidable()?;
    check_fresh(app, request.issued_at, app.service.now())?;
    let probe_digest = request.probe_digest();
    let probe = probe(tenant, &mut request)?;
    let template = match templates::load(app, tenant, &Handle::new(request.handle.0)).await {
        Err(problem) if problem.code() == Code::SubjectUnknown => {
            let admitted = without_template(app, tenant, &request, probe_digest).await;
            return Err(admitted.err().unwrap_or(problem));
        }
        template => template?,
    };
    let (handle, bounds) = (Handle::new(request.handle.0), app.limits.distinct_failures());
    let form = request.attestation;
    let answer = match caller.failures.admit(&handle, bounds, app.service.now()).await? {
        None => decide(app, tenant, &request, template, &probe, probe_digest).await?,
        Some(trial) => {
            let (app, tenant) = (Arc::clone(app), Arc::clone(tenant));
            // A caller that goes away before the answer does not undo that the subject was tried.
            let tried = tokio::spawn(async move {
                let answer = decide(&app, &tenant, &request, template, &probe, probe_digest).await;
                trial.end(end(&answer));
                answer
            });
            tried.await.map_err(Problem::internal)??
        }
    };
    authenticated(answer, form)
}

/// What a subject's attempt was, for the count of those that fail.
fn end(answer: &Result<Answer, Problem>) -> End {
    match answer.as_ref().map(|answer| answer.decision) {
        Ok(Some(trefoil_attest::Decision::Match)) => End::Match,
        Ok(Some(trefoil_attest::Decision::NoMatch)) => End::NoMatch,
        Ok(None) | Err(_) => End::Undecided,
    }
}

pub(super) fn late() -> Problem {
    Problem::new(Code::TimedOut, "no answer in time; the attempt may have been counted")
}

/// What the request shows, in the tenant's probe mode: taken out of it.
fn probe(tenant: &Tenant, request: &mut Authentication) -> Result<Probe, Problem> {
    let Authentication { embedding, shares, session_id, nonce, issued_at, .. } = request;
    match templates::shown(tenant.policy.probe, embedding.take(), shares.take())? {
        Face::Plain(vector) => Ok(Probe::Plain(templates::quantise(&vector)?)),
        Face::Shared { open, sealed } => {
            let share =
                Share::from_bytes(&open).map_err(|cause| templates::refused_share("/shares/open", cause))?;
            let nonce = nonce.as_bytes().to_vec();
            let sealed_for = SealedFor { session: session_id.0, nonce, issued_at: *issued_at };
            Ok(Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for })))
        }
    }
}

/// The verdict of a session that is not in memory.
async fn revived(
    app: &App,
    tenant: &Arc<Tenant>,
    request: &Authentication,
    now: u64,
) -> Result<Verdict, Problem> {
    match app.service.sessions.revive(tenant, &SessionId::new(request.session_id.0), now).await? {
        Kept::Live(verdict) => Ok(verdict),
        Kept::Over | Kept::Ended => Err(Refused::SessionEnded.into()),
        Kept::Unknown => Err(Problem::new(Code::SessionUnknown, "open a proof session first")),
    }
}

fn check_fresh(app: &App, issued_at: u64, now: u64) -> Result<(), Problem> {
    if now.saturating_sub(issued_at) > FRESHNESS_S || issued_at.saturating_sub(now) > AHEAD_S {
        let detail = format!(
            "issued_at {issued_at} is more than {FRESHNESS_S} s before or {AHEAD_S} s after the service's clock, {now}; set the \
             clock, then issue a new request"
        );
        return Err(Problem::field(Code::RequestNotFresh, "/issued_at", detail));
    }
    if issued_at < app.service.started_at {
        let detail = "issued before this process started, which cannot know its nonce; issue a new request";
        return Err(Problem::field(Code::RequestNotFresh, "/issued_at", detail));
    }
    if issued_at <= app.service.attested_until {
        // The same request may have been attested by the process before, whose nonces are gone.
        let detail = format!(
            "the service was restarted and takes requests issued after {}; nothing was attempted, so sign it again with a later \
             issued_at in {} s",
            app.service.attested_until,
            (app.service.attested_until + 1).saturating_sub(now)
        );
        return Err(Problem::field(Code::BeforeRestart, "/issued_at", detail));
    }
    Ok(())
}

/// A request for which there is no template cannot become a lane. Only its session's holder is told so: for anybody else the error is
/// the one that a worker would have given.
async fn without_template(
    app: &App,
    tenant: &Arc<Tenant>,
    request: &Authentication,
    probe_digest: [u8; 32],
) -> Result<(), Problem> {
    let now = app.service.now();
    let verdict = revived(app, tenant, request, now).await?;
    if !Claim::new(request.issued_at, probe_digest, request.mac.0)
        .is_made_with(&verdict, &request.header(&probe_digest))
    {
        return Err(refusal(Refusal::Mac));
    }
    let audience = AudienceId::of(&request.audience);
    let admitted = verdict.admits(&tenant.attested(), &Handle::new(request.handle.0), audience, now);
    admitted.map(drop).map_err(|stale| refusal(Refusal::Session(stale)))
}

/// Hands the request to the pipeline and waits for its sealed decision.
async fn decide(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    request: &Authentication,
    mut template: Template,
    probe: &Probe,
    probe_digest: [u8; 32],
) -> Result<Answer, Problem> {
    let request_digest = request.header(&probe_digest).digest();
    let (mut revived_verdict, mut is_spent) = (None, false);
    for _ in 0..SUBMISSIONS_MAX {
        let (reply, answer) = oneshot::channel();
        let lane = LaneRequest {
            session: SessionId::new(request.session_id.0),
            template: template.clone(),
            probe: probe.clone(),
            audience: request.audience.as_str().into(),
            nonce: request.nonce.as_bytes().to_vec(),
            request_digest,
            reveal: request.reveal(),
            revived: revived_verdict.take(),
            reply: Asker::Login(Login {
                claim: Claim::new(request.issued_at, probe_digest, request.mac.0),
                is_spent,
                reply,
            }),
        };
        submit(app, tenant, lane)?;
        app.service.counters.submitted();
        match answer.await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Unanswered::Refused(Refusal::Session(Stale::Missing)))) => {
                revived_verdict = Some(Box::new(revived(app, tenant, request, app.service.now()).await?));
            }
            Ok(Err(Unanswered::Refused(Refusal::Template))) => {
                // Deleted, or renewed under other keys while it waited. Its nonce is spent.
                is_spent = true;
                app.service.templates.remove(&tenant.id, &Handle::new(request.handle.0));
                let present = templates::load(app, tenant, &Handle::new(request.handle.0)).await?;
                if present.generation == template.generation {
                    return Err(refusal(Refusal::Template));
                }
                template = present;
            }
            Ok(Err(Unanswered::Refused(why))) => return Err(refusal(why)),
            Ok(Err(Unanswered::Unstored)) => {
                let detail = "decided, and the attempt counted, but the store does not take the seal now; make a new request later";
                return Err(Problem::new(Code::Unsealed, detail));
            }
            Err(_) => return Err(Problem::internal("the pipeline dropped a request")),
        }
    }
    Err(Problem::new(
        Code::Overloaded,
        "the template changed again and again while the request waited; retry after a second",
    ))
}

fn submit(app: &App, tenant: &Tenant, lane: LaneRequest<Asker>) -> Result<(), Problem> {
    let draining = || Problem::new(Code::Draining, "retry at another instance");
    let intake = app.service.intake.load();
    let intake = intake.as_ref().ok_or_else(draining)?;
    intake.submit(tenant.id, lane).map_err(|error| match error {
        SubmitError::Busy => Problem::new(Code::Overloaded, "too many requests wait; retry after a second"),
        SubmitError::Draining => draining(),
    })
}

fn refusal(why: Refusal) -> Problem {
    match why {
        Refusal::Session(Stale::Expired | Stale::Root | Stale::Missing | Stale::Verifier) => {
            Refused::SessionEnded.into()
        }
        Refusal::Session(Stale::Scope) => Problem::new(
            Code::SessionScope,
            "the session was proven for another handle, audience, policy or level; open one for this request",
        ),
        Refusal::Mac => Problem::new(
            Code::RequestMacInvalid,
            "the mac is not that of this request under the session's key",
        ),
        Refusal::NonceUsed => {
            Problem::new(Code::NonceReplayed, "this nonce was used in this session; get a new one")
        }
        Refusal::TooOld => Problem::field(
            Code::RequestNotFresh,
            "/issued_at",
            "the request waited for too long and nothing was attempted; issue a new request",
        ),
        Refusal::NoncesFull => {
            Problem::new(Code::Overloaded, "too many requests are remembered; retry after a second")
        }
        Refusal::Reveal(RevealRefused::Unknown) => Refused::SessionEnded.into(),
        Refusal::Reveal(why) => Problem::new(Code::ChainValueRefused, why.to_string()),
        Refusal::Template => Problem::new(
            Code::SubjectUnknown,
            "no template is active under this handle; enrol the subject first",
        ),
        Refusal::SealedShare => templates::refused_share("/shares/sealed", templates::SEALED_FOR_ANOTHER),
        Refusal::ProbeMode => {
            Problem::new(Code::ProbeModeMismatch, "the tenant's probe mode changed while the request waited")
        }
        Refusal::Tenant => Problem::new(Code::TenantUnknown, "the tenant was removed"),
        Refusal::KeyHolder => Problem::new(
            Code::Undecided,
            "the key-holder gave no decision, and nothing is accepted without one",
        ),
        Refusal::Threshold => Refused::OtherThreshold.into(),
        Refusal::KeyHolderUnavailable => Refused::KeyHolderAway.into(),
        Refusal::Fault => Problem::internal("the pipeline could not decide a request"),
    }
}

fn authenticated(answer: Answer, form: AttestationForm) -> Result<Authenticated, Problem> {
    Ok(Authenticated {
        id: Hex(answer.digest),
        decision: match answer.decision {
            Some(trefoil_attest::Decision::Match) => trefoil_api::Decision::Match,
            Some(trefoil_attest::Decision::NoMatch) => trefoil_api::Decision::NoMatch,
            None => return Err(Problem::internal("a login was sealed without a decision")),
        },
        attestation: Base64(bodies::attestation(&answer, form)?),
        seal_number: answer.under.seal.header.seal_number,
    })
}
