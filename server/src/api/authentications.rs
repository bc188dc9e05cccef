//! The authentication of one face in one session. Cheap checks come first; nothing is spent of
//! anybody's attempt budget before the request is known to be its holder's.

use super::caller::Caller;
use super::templates::Shown;
use super::{EMBEDDING_JSON_BYTES_MAX, body, templates};
use crate::app::App;
use crate::chains;
use crate::directory::KEY_HOLDER_UNAVAILABLE;
use crate::problem::{Code, Problem};
use crate::replay::{AHEAD_S, FRESHNESS_S, Use};
use crate::seal_log::{Answer, Unanswered};
use crate::sessions::{self, Kept};
use crate::tenant::{Scope, Tenant, policy};
use crate::wire::{self, AttestationForm, Authenticated, Authentication, Base64, Hex};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use trefoil_attest::{Attestation, Evidence};
use trefoil_matching::{SealedFor, Share, SharedProbe, Template};
use trefoil_pipeline::{AudienceId, LaneRequest, Probe, Refusal, SealedTree, Stale, SubmitError, Verdict};
use trefoil_zkp::session::verify_request_mac;

/// Submissions of one request: another follows when its verdict was evicted, or its template renewed, while it waited.
const SUBMISSIONS_MAX: usize = 3;

/// `POST /v1/authentications`
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let _work = caller.work(&app).await?;
    let began_ns = app.clock.monotonic_ns();
    app.check_room()?;
    let request: Authentication = body::json(request, EMBEDDING_JSON_BYTES_MAX, &app.config.limits).await?;
    let tenant = &caller.tenant;
    policy::check_audience(&tenant.policy, &request.audience)?;
    // Before anything is spent: the same request may come again.
    if app.keyholder.unready().is_some() {
        return Err(Problem::new(Code::KeyHolderUnavailable, KEY_HOLDER_UNAVAILABLE));
    }
    app.check_decidable()?;
    let now = app.now();
    check_fresh(&app, request.issued_at, now)?;
    let probe = probe(tenant, &request)?;
    let verdict = match app.verdicts.get(&request.session_id.0, now) {
        Some(verdict) => verdict,
        None => revived(&app, tenant, &request, now).await?,
    };
    let digest = check_mac(&request, &verdict)?;
    admit(&app, tenant, &request, &verdict, now)?;
    spend_nonce(&app, &request, now)?;
    accept_reveal(&app, &request, &verdict)?;
    let template = templates::load(&app, tenant, &request.handle.0).await?;
    let answer = match decide(&app, tenant, &request, template, &probe, digest).await {
        Err(problem) if problem.code() == Code::Overloaded || problem.code() == Code::Draining => {
            // Nothing was attempted, so the same request may come again.
            app.replay.forget(&request.session_id.0, request.nonce.as_bytes());
            return Err(problem);
        }
        other => other?,
    };
    app.pace.answered_in(Duration::from_nanos(app.clock.monotonic_ns() - began_ns));
    body::answer(StatusCode::OK, &authenticated(answer, request.attestation)?)
}

/// What the request shows, in the tenant's probe mode.
fn probe(tenant: &Tenant, request: &Authentication) -> Result<Probe, Problem> {
    let Authentication { embedding, shares, session_id, nonce, issued_at, .. } = request;
    match templates::shown(tenant.policy.probe, embedding.clone(), shares.clone())? {
        Shown::Plain(vector) => Ok(Probe::Plain(templates::quantise(&vector)?)),
        Shown::Shared { open, sealed } => {
            let share =
                Share::from_bytes(&open).map_err(|cause| templates::refused_share("/shares/open", cause))?;
            let nonce = nonce.as_bytes().to_vec();
            let sealed_for = SealedFor { session: session_id.0, nonce, issued_at: *issued_at };
            Ok(Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for })))
        }
    }
}

/// The verdict of a session that is not in memory.
async fn revived(app: &App, tenant: &Tenant, request: &Authentication, now: u64) -> Result<Verdict, Problem> {
    match sessions::revive(app, tenant, &request.session_id.0, now).await? {
        Kept::Live(verdict) => Ok(verdict),
        Kept::Over => Err(sessions::ended()),
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
    if issued_at < app.started_at {
        let detail = "issued before this process started, which cannot know its nonce; issue a new request";
        return Err(Problem::field(Code::RequestNotFresh, "/issued_at", detail));
    }
    if issued_at <= app.attested_until {
        // The same request may have been attested by the process before, whose nonces are gone.
        let detail = format!(
            "the service was restarted and takes requests issued after {}; nothing was attempted, so sign it again with a later \
             issued_at in {} s",
            app.attested_until,
            (app.attested_until + 1).saturating_sub(now)
        );
        return Err(Problem::field(Code::BeforeRestart, "/issued_at", detail));
    }
    Ok(())
}

/// Whether the request is the session holder's; the digest that the attestation will name.
fn check_mac(request: &Authentication, verdict: &Verdict) -> Result<[u8; 32], Problem> {
    let probe_digest = request.probe_digest();
    let header = request.header(&probe_digest);
    verify_request_mac(&verdict.session_key(), &header, &request.mac.0).map_err(|_| {
        Problem::new(Code::RequestMacInvalid, "the mac is not that of this request under the session's key")
    })?;
    Ok(header.digest())
}

/// Whether the session carries the request under the tenant's present roots and policy.
fn admit(
    app: &App,
    tenant: &Tenant,
    request: &Authentication,
    verdict: &Verdict,
    now: u64,
) -> Result<(), Problem> {
    let present = app.directory.registry().get(&tenant.id);
    let present = present.ok_or_else(|| refusal(Refusal::Tenant))?;
    let admitted = verdict.admits(&present, &request.handle.0, AudienceId::of(&request.audience), now);
    admitted.map(drop).map_err(|stale| refusal(Refusal::Session(stale)))
}

fn spend_nonce(app: &App, request: &Authentication, now: u64) -> Result<(), Problem> {
    match app.replay.note(&request.session_id.0, request.nonce.as_bytes(), now) {
        Use::First => Ok(()),
        Use::Repeated => {
            Err(Problem::new(Code::NonceReplayed, "this nonce was used in this session; get a new one"))
        }
        Use::Full => {
            Err(Problem::new(Code::Overloaded, "too many requests are remembered; retry after a second"))
        }
    }
}

/// Moves the session's hash chain to the value that the request reveals. A value that was accepted is used, even if the
/// request is refused afterwards: the holder then reveals the next one.
fn accept_reveal(app: &App, request: &Authentication, verdict: &Verdict) -> Result<(), Problem> {
    let refused = |detail: String| Err(Problem::new(Code::ChainValueRefused, detail));
    match (verdict.has_chain, request.reveal()) {
        (false, None) => Ok(()),
        (true, Some(reveal)) => match app.chains.accept(&request.session_id.0, &reveal) {
            Ok(()) => Ok(()),
            Err(chains::Refused::Unknown) => Err(sessions::ended()),
            Err(cause) => refused(cause.to_string()),
        },
        (true, None) => refused("the session has a hash chain: reveal its next value".to_owned()),
        (false, Some(_)) => refused("the session has no hash chain: send no `reveal`".to_owned()),
    }
}

/// Hands the request to the pipeline and waits for its sealed decision.
async fn decide(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    request: &Authentication,
    mut template: Template,
    probe: &Probe,
    request_digest: [u8; 32],
) -> Result<Answer, Problem> {
    for _ in 0..SUBMISSIONS_MAX {
        let (reply, answer) = oneshot::channel();
        let lane = LaneRequest {
            session: request.session_id.0,
            template: template.clone(),
            probe: probe.clone(),
            audience: request.audience.as_str().into(),
            nonce: request.nonce.as_bytes().to_vec(),
            request_digest,
            reveal: request.reveal(),
            reply,
        };
        submit(app, tenant, lane)?;
        app.metrics.submitted();
        let timeout = app.config.limits.answer_timeout();
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(Ok(answer))) => return Ok(answer),
            Ok(Ok(Err(Unanswered::Refused(Refusal::Session(Stale::Missing))))) => {
                revived(app, tenant, request, app.now()).await?;
            }
            Ok(Ok(Err(Unanswered::Refused(Refusal::Template)))) => {
                // Deleted, or renewed under other keys while it waited.
                app.templates.remove(&tenant.id, &request.handle.0);
                let present = templates::load(app, tenant, &request.handle.0).await?;
                if present.generation == template.generation {
                    return Err(refusal(Refusal::Template));
                }
                template = present;
            }
            Ok(Ok(Err(Unanswered::Refused(why)))) => return Err(refusal(why)),
            Ok(Ok(Err(Unanswered::Unstored))) => {
                let detail = "decided, and the attempt counted, but the store does not take the seal now; make a new request later";
                return Err(Problem::new(Code::Unsealed, detail));
            }
            Ok(Err(_)) => return Err(Problem::internal("the pipeline dropped a request")),
            Err(_) => {
                let detail = "no answer in time; the attempt may have been counted";
                return Err(Problem::new(Code::TimedOut, detail));
            }
        }
    }
    Err(Problem::new(
        Code::Overloaded,
        "verdict or template changed again and again while the request waited; retry after a second",
    ))
}

fn submit(app: &App, tenant: &Tenant, lane: LaneRequest<crate::seal_log::Reply>) -> Result<(), Problem> {
    let draining = || Problem::new(Code::Draining, "retry at another instance");
    let intake = app.intake.load();
    let intake = intake.as_ref().ok_or_else(draining)?;
    intake.submit(tenant.id, lane).map_err(|error| match error {
        SubmitError::Busy(_) => {
            Problem::new(Code::Overloaded, "too many requests wait; retry after a second")
        }
        SubmitError::Draining(_) => draining(),
    })
}

fn refusal(why: Refusal) -> Problem {
    match why {
        Refusal::Session(Stale::Expired | Stale::Root | Stale::Missing | Stale::Verifier) => {
            sessions::ended()
        }
        Refusal::Session(Stale::Scope) => Problem::new(
            Code::SessionScope,
            "the session was proven for another handle, audience, policy or level; open one for this request",
        ),
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
        Refusal::KeyHolderUnavailable => Problem::new(Code::KeyHolderUnavailable, KEY_HOLDER_UNAVAILABLE),
        Refusal::Fault => Problem::internal("the pipeline could not decide a request"),
    }
}

fn authenticated(answer: Answer, form: AttestationForm) -> Result<Authenticated, Problem> {
    let Answer { decision, statement, digest, leaf_index, under } = answer;
    let SealedTree { seal, tree } = &*under;
    let path = tree.path(leaf_index).ok_or_else(|| Problem::internal("an answer is no leaf of its seal"))?;
    let seal_number = seal.header.seal_number;
    let attestation = Attestation {
        statement: &statement,
        leaf_index,
        tree_size: seal.header.tree_size,
        path,
        evidence: match form {
            AttestationForm::Full => Evidence::Full(seal.clone()),
            AttestationForm::Compact => Evidence::Compact(seal.reference()),
        },
    };
    Ok(Authenticated {
        id: Hex(digest),
        decision: match decision {
            trefoil_attest::Decision::Match => wire::Decision::Match,
            trefoil_attest::Decision::NoMatch => wire::Decision::NoMatch,
        },
        attestation: Base64(attestation.encode()),
        seal_number,
    })
}
