//! Proof sessions: an anonymous credential shown once, a cached verdict for the requests that follow.
//!
//! The order of checks is the order of their cost: API key, the caller's credit, the announced size, the envelope's
//! form and bindings (context and scope are recomputed), tenant, audience, policy, level, epoch and root, then the
//! verdicts in memory, and last the proof itself in its own pool.

use super::{body, caller::Caller};
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use crate::proofs::metrics::Event;
use crate::proofs::quota::{COST_ACCEPTED, COST_INVALID, COST_STALE, CallerId, Denied, Upload};
use crate::store::{Session, SessionId};
use crate::tenant::{POLICY_ID, Scope, Tenant};
use crate::wire::{Hex, PROOF_MEDIA_TYPE, ProofSession};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use trefoil_pipeline::Verdict;
use trefoil_zkp::chain::ChainTip;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::context;
use trefoil_zkp::{EPOCH_SECONDS, Statement, epoch_at};

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
    let (upload, caller) = enter(&app, caller).await?;
    let opened = match read(&app, request).await {
        Ok((bytes, envelope)) => session(&app, &caller, &bytes, envelope).await,
        Err(problem) => {
            app.metrics.proofs.count(Event::Malformed);
            Err(problem)
        }
    };
    upload.settle(cost(&opened));
    body::answer(StatusCode::CREATED, &opened?)
}

/// Verifies the stored proof of a session whose verdict is not in memory, and caches the verdict again.
pub(super) async fn revive(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    id: &SessionId,
    now: u64,
) -> Result<Verdict, Problem> {
    let (store, tenant_id, id) = (Arc::clone(&app.store), tenant.id, *id);
    let session = blocking(move || Ok(store.session(&tenant_id, &id)?)).await?;
    let session = session.ok_or_else(|| Problem::new(Code::SessionUnknown, "open a proof session first"))?;
    if now >= session.expires_at {
        return Err(ended());
    }
    let bytes = tenant.key.open_session(&id, &session.wrapped).map_err(Problem::internal)?;
    let envelope = ProofEnvelope::decode(&bytes).map_err(Problem::internal)?;
    let verdict = verify(app, None, envelope, session.expires_at).await?;
    app.verdicts.insert(id, verdict, now);
    Ok(verdict)
}

/// The answer for a session that no longer carries requests.
pub(super) fn ended() -> Problem {
    Problem::new(
        Code::SessionExpired,
        "the session has ended or its credential root was withdrawn; prove again",
    )
}

/// Lets an upload in, before a byte of its body is read.
async fn enter(app: &App, caller: Caller) -> Result<(Upload, Caller), Problem> {
    let (event, detail) = match app.quota.enter(caller.id, app.clock.monotonic_ns()) {
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
    app.metrics.proofs.count(event);
    // The place among the tenant's requests is given back first: waiting must not keep others out.
    drop(caller);
    tokio::time::sleep(REFUSAL_DELAY).await;
    Err(Problem::new(Code::QuotaExceeded, detail))
}

/// Reads an envelope of a size that the accepted circuits can have.
async fn read(app: &App, request: Request) -> Result<(axum::body::Bytes, ProofEnvelope), Problem> {
    let sizes = app.config.proofs.circuits().map(ProofEnvelope::size_window);
    let (bytes_min, bytes_max) =
        sizes.fold((usize::MAX, 0), |(min, max), size| (min.min(*size.start()), max.max(*size.end())));
    let bytes = body::bytes(request, PROOF_MEDIA_TYPE, bytes_min, bytes_max, &app.config.limits).await?;
    let refused = |cause: String| Problem::new(Code::ProofRejected, cause);
    let envelope = ProofEnvelope::decode(&bytes).map_err(|cause| refused(cause.to_string()))?;
    let circuit = envelope.statement.circuit;
    if !app.config.proofs.circuits().any(|accepted| accepted == circuit) {
        return Err(refused(format!("this service does not take proofs of {}", circuit.name())));
    }
    Ok((bytes, envelope))
}

/// The session of an envelope, opened now or before.
async fn session(
    app: &Arc<App>,
    caller: &Caller,
    bytes: &[u8],
    envelope: ProofEnvelope,
) -> Result<ProofSession, Problem> {
    let tenant = &caller.tenant;
    let now = app.now();
    check(&envelope, tenant, now).inspect_err(|_| app.metrics.proofs.count(Event::Stale))?;
    let id = envelope.statement.digest();
    let expires_at = ends(&envelope.statement, now, app.config.proofs.session_lifetime_s);
    // An envelope that decodes shows the session's key, so a statement proven before need not be proven again.
    if let Some(verdict) = app.verdicts.get(&id, now) {
        app.metrics.proofs.count(Event::Known);
        return Ok(ProofSession { session_id: Hex(id), expires_at: verdict.not_after });
    }
    let tip = chain_tip(&envelope);
    let verdict = verify(app, Some(caller.id), envelope, expires_at).await?;
    if let Some(tip) = tip {
        app.chains.open(&id, tip, expires_at).map_err(|_| {
            Problem::new(Code::Overloaded, "too many sessions with a hash chain are open; retry later")
        })?;
    }
    let wrapped = tenant.key.wrap_session(&id, bytes);
    let session = Session { tenant: tenant.id, id, expires_at, wrapped };
    let store = Arc::clone(&app.store);
    blocking(move || Ok(store.put_session(session)?)).await?;
    app.verdicts.insert(id, verdict, now);
    Ok(ProofSession { session_id: Hex(id), expires_at })
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
    caller: Option<CallerId>,
    envelope: ProofEnvelope,
    expires_at: u64,
) -> Result<Verdict, Problem> {
    let envelope = Arc::new(envelope);
    let verified = app.proofs.verify(caller, Arc::clone(&envelope)).await?;
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
    if !tenant.policy.audiences.contains(audience) {
        return Err(Problem::new(Code::AudienceNotAllowed, "add the audience to the tenant's policy"));
    }
    if *policy_id != POLICY_ID {
        return refused("the statement names another policy than the tenant's");
    }
    if statement.level < tenant.policy.level_min {
        return refused("the statement's level is below the policy's");
    }
    // The next epoch is a stronger statement about expiry, and what a client with a fast clock proves.
    let epoch = epoch_at(now);
    if statement.epoch != epoch && statement.epoch != epoch + 1 {
        return refused("the statement's epoch is not the present one; check the clock and prove again");
    }
    let known = |root: &&crate::store::Root| root.generation == statement.root_generation;
    match tenant.roots.iter().find(known) {
        Some(root) if root.root == *statement.root.as_bytes() => Ok(()),
        Some(_) => refused("the statement's root is not the one published under its generation"),
        None => refused("the statement's root generation is not accepted; fetch the current credential path"),
    }
}

/// When a session of this statement ends: after the configured life, or with its epoch.
fn ends(statement: &Statement, now: u64, lifetime_s: u64) -> u64 {
    let epoch_end = (u64::from(statement.epoch) + 1) * EPOCH_SECONDS;
    epoch_end.min(now.saturating_add(lifetime_s))
}
