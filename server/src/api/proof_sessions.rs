//! Proof sessions: an anonymous credential shown once, a cached verdict for the requests that follow.
//!
//! The order of checks is the order of their cost: API key, the caller's credit, the announced size, the envelope's
//! form and bindings (context and scope are recomputed), tenant, audience, policy, level, epoch and root, then the
//! sessions that are open, and last the proof itself in its own pool.

use super::body;
use super::caller::{Caller, Cursor, PathBytes};
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use trefoil_api::{
    AttestationForm, EndedSession, Hex, LiveSession, PROOF_MEDIA_TYPE, ProofSession, SessionPage,
};
use trefoil_attest::What;
use trefoil_pipeline::Verdict;
use trefoil_service::Refused;
use trefoil_service::proofs::counters::Event;
use trefoil_service::proofs::quota::{COST_ACCEPTED, COST_INVALID, COST_STALE, Denied, Upload};
use trefoil_service::sessions::{self, Kept};
use trefoil_service::tenant::{POLICY_ID, Scope, Tenant, policy};
use trefoil_types::ApiKeyId;
use trefoil_types::SessionId;
use trefoil_zkp::chain::ChainTip;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::context;
use trefoil_zkp::{Statement, proof_counts};

/// How long a caller without credit waits for its refusal. Its body is not read meanwhile, so the flow control of its
/// connection fills up and it cannot send at the speed at which it could be refused.
const REFUSAL_DELAY: Duration = Duration::from_millis(500);

/// `POST /v1/proof-sessions`
pub(super) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    app.service.check_room()?;
    let (upload, caller) = enter(&app, caller).await?;
    let opened = match read(&app, request).await {
        Ok(envelope) => session(&app, &caller, envelope).await,
        Err(problem) => {
            app.service.counters.proofs.count(Event::Malformed);
            Err(problem)
        }
    };
    upload.settle(cost(&opened));
    body::answer(StatusCode::CREATED, &opened?)
}

/// Lets an upload in, before a byte of its body is read.
async fn enter(app: &App, caller: Caller) -> Result<(Upload, Caller), Problem> {
    let (event, detail) = match app.service.quota.enter(caller.id, app.service.clock.monotonic_ns()) {
        Ok(upload) => return Ok((upload, caller)),
        Err(Denied::Exhausted(wait)) => (
            Event::CreditExhausted,
            format!(
                "too many uploads of this API key were refused or too many came; its credit is back in {} s",
                wait.as_secs() + 1
            ),
        ),
        Err(Denied::Busy) => {
            (Event::TooManyOpen, "too many uploads of this API key are open; retry after a second".to_owned())
        }
    };
    app.service.counters.proofs.count(event);
    // The place among the tenant's requests is given back first: waiting must not keep others out.
    drop(caller);
    tokio::time::sleep(REFUSAL_DELAY).await;
    Err(Problem::new(Code::QuotaExceeded, detail))
}

/// Reads an envelope of a size that the accepted circuits can have.
async fn read(app: &App, request: Request) -> Result<ProofEnvelope, Problem> {
    let sizes = app.config.proofs.circuits().map(ProofEnvelope::size_window);
    let (bytes_min, bytes_max) =
        sizes.fold((usize::MAX, 0), |(min, max), size| (min.min(*size.start()), max.max(*size.end())));
    let bytes = body::bytes(request, PROOF_MEDIA_TYPE, bytes_min, bytes_max, &app.limits).await?;
    let refused = |cause: String| Problem::new(Code::ProofRejected, cause);
    let envelope = ProofEnvelope::decode(&bytes).map_err(|cause| refused(cause.to_string()))?;
    let circuit = envelope.statement.circuit;
    if !app.config.proofs.circuits().any(|accepted| accepted == circuit) {
        return Err(refused(format!("this service does not take proofs of {}", circuit.name())));
    }
    Ok(envelope)
}

/// The session of an envelope, opened now or before.
async fn session(app: &Arc<App>, caller: &Caller, envelope: ProofEnvelope) -> Result<ProofSession, Problem> {
    let tenant = &caller.tenant;
    let now = app.service.now();
    check(&envelope, tenant, now).inspect_err(|_| app.service.counters.proofs.count(Event::Stale))?;
    let id = envelope.statement.digest();
    // An envelope that decodes shows the session's key, so a statement proven before need not be proven again.
    let missed_at = Instant::now();
    let known = match tenant.verdicts.get(&SessionId::new(id), now) {
        Some(verdict) => Kept::Live(verdict),
        None => app.service.sessions.revive(tenant, &SessionId::new(id), now).await?,
    };
    if let Kept::Ended = known {
        return Err(Refused::SessionEnded.into());
    }
    if let Kept::Live(verdict) = known {
        app.service.counters.proofs.count(Event::Known);
        return Ok(ProofSession { session_id: Hex(id), expires_at: verdict.not_after, receipt: None });
    }
    let tip = chain_tip(&envelope);
    let expires_at =
        sessions::end(&envelope.statement, &SessionId::new(id), now, app.config.proofs.session_life_s);
    let verdict = verify(app, caller.id, envelope, expires_at).await?;
    if let Some(tip) = tip {
        app.service.chains.open(&tenant.id, &SessionId::new(id), tip, expires_at)?;
    }
    app.service.sessions.keep(tenant, SessionId::new(id), &verdict, now, missed_at).await?;
    let what = What::SessionOpened { session: SessionId::new(id), expires_at };
    let receipt = app.receipt(tenant.id, now, what, AttestationForm::Compact).await?;
    Ok(ProofSession { session_id: Hex(id), expires_at, receipt })
}

/// `GET /v1/proof-sessions?from={session}`: those that go on.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Cursor(from): Cursor<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let page = blocking(move || {
        Ok(app.service.sessions.list(&caller.tenant, &SessionId::new(from), app.service.now())?)
    });
    let (sessions, next) = page.await?;
    let session =
        |sessions::LiveSession { id, expires_at }| LiveSession { session_id: Hex(id.to_bytes()), expires_at };
    let sessions = sessions.into_iter().map(session).collect();
    body::answer(StatusCode::OK, &SessionPage { sessions, next: next.map(|id| Hex(id.to_bytes())) })
}

/// `DELETE /v1/proof-sessions/{session_id}`: no request is taken in it from the answer on.
pub(super) async fn end(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(id): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let (session, now) = (SessionId::new(id), app.service.now());
    app.service.sessions.end(&caller.tenant, session, now).await?;
    let what = What::SessionEnded { session };
    let receipt = app.receipt(caller.tenant.id, now, what, AttestationForm::Full).await?;
    body::answer(StatusCode::OK, &EndedSession { session_id: Hex(id), receipt })
}

/// Where the session's hash chain begins, if it has one. Its values are keyed with the context without the chain.
fn chain_tip(envelope: &ProofEnvelope) -> Option<ChainTip> {
    let ProofEnvelope { statement, audience, session_key, policy_id, chain, .. } = envelope;
    let Statement { tenant, epoch, .. } = statement;
    let context = || context(tenant, audience, &session_key.commitment(), *epoch, *policy_id);
    chain.as_ref().map(|chain| ChainTip::new(context(), chain))
}

async fn verify(
    app: &App,
    caller: ApiKeyId,
    envelope: ProofEnvelope,
    expires_at: u64,
) -> Result<Verdict, Problem> {
    let envelope = Arc::new(envelope);
    let verified = app.service.proofs.verify(caller, Arc::clone(&envelope)).await?;
    Verdict::new(&verified, &envelope, expires_at)
        .ok_or_else(|| Problem::internal("a proof was verified for another statement"))
}

/// What an upload costs its caller, once its outcome is known.
fn cost(opened: &Result<ProofSession, Problem>) -> u32 {
    match opened.as_ref().map_err(Problem::code) {
        Ok(_) => COST_ACCEPTED,
        Err(Code::ProofStale | Code::AudienceNotAllowed | Code::BodyTimeout | Code::MalformedRequest) => {
            COST_STALE
        }
        Err(Code::Overloaded | Code::Draining | Code::Internal) => COST_ACCEPTED,
        Err(_) => COST_INVALID,
    }
}

/// What can be refused without verifying: wrong tenant, audience, policy, level, epoch or root.
fn check(envelope: &ProofEnvelope, tenant: &Tenant, now: u64) -> Result<(), Problem> {
    let refused = |detail: &'static str| Err(Problem::new(Code::ProofStale, detail));
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
    let known = |root: &&trefoil_storage::store::Root| root.generation == statement.root_generation;
    match tenant.roots.iter().find(known) {
        Some(root) if root.root == *statement.root.as_bytes() => Ok(()),
        Some(_) => refused("the statement's root is not the one published under its generation"),
        None => refused("the statement's root generation is not accepted; fetch the current credential path"),
    }
}
