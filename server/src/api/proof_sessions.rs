//! Proof sessions: an anonymous credential shown once, a cached verdict for the requests that follow.

use super::{body, caller::Caller};
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use crate::store::{Session, SessionId};
use crate::tenant::{POLICY_ID, Scope, Tenant};
use crate::wire::{Hex, PROOF_MEDIA_TYPE, ProofSession};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sha3::{Digest as _, Sha3_256};
use std::sync::Arc;
use trefoil_pipeline::Verdict;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::{Circuit, EPOCH_SECONDS, Statement, epoch_at, proof_size_window};

/// Bytes of an envelope besides the proof: at most 4 + 191 + 1 + 255 + 32 + 4 + 36 + 4.
const OVERHEAD_BYTES_MAX: usize = 512;

/// `POST /v1/proof-sessions`
pub(super) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let sizes = Circuit::ALL.map(proof_size_window);
    let bytes_min = sizes.iter().map(|window| *window.start()).min().unwrap_or(0);
    let bytes_max = sizes.iter().map(|window| *window.end()).max().unwrap_or(0) + OVERHEAD_BYTES_MAX;
    let bytes = body::bytes(request, PROOF_MEDIA_TYPE, bytes_min, bytes_max, &app.config.limits).await?;
    let refused = |cause: String| Problem::new(Code::ProofRejected, cause);
    let envelope = ProofEnvelope::decode(&bytes).map_err(|cause| refused(cause.to_string()))?;
    let now = app.now();
    check(&envelope, &caller.tenant, now)?;
    let id = envelope.statement.digest();
    let expires_at = ends(&envelope.statement, now, app.config.proofs.session_lifetime_s);
    // An envelope that decodes shows the session's key, so a statement proven before need not be proven again.
    let known = app.verdicts.get(&id, now).map(|verdict| verdict.not_after);
    let expires_at = match known {
        Some(not_after) => not_after,
        None => {
            let wrapped = caller.tenant.key.wrap_session(&id, &bytes);
            let session = Session { tenant: caller.tenant.id, id, expires_at, wrapped };
            let verdict = verify(&app, &bytes, envelope, expires_at).await?;
            let store = Arc::clone(&app.store);
            blocking(move || Ok(store.put_session(session)?)).await?;
            app.verdicts.insert(id, verdict, now);
            expires_at
        }
    };
    body::answer(StatusCode::CREATED, &ProofSession { session_id: Hex(id), expires_at })
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
    let verdict = verify(app, &bytes, envelope, session.expires_at).await?;
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

async fn verify(
    app: &App,
    bytes: &[u8],
    envelope: ProofEnvelope,
    expires_at: u64,
) -> Result<Verdict, Problem> {
    let digest = Sha3_256::digest(bytes).into();
    let envelope = Arc::new(envelope);
    let verified = app.proofs.verify(digest, Arc::clone(&envelope)).await;
    app.metrics.proof(verified.is_ok());
    Verdict::new(&verified?, &envelope, expires_at)
        .ok_or_else(|| Problem::internal("a proof was verified for another statement"))
}

/// What can be refused without verifying: wrong tenant, audience, policy, level, epoch or root.
fn check(envelope: &ProofEnvelope, tenant: &Tenant, now: u64) -> Result<(), Problem> {
    let refused = |detail: &'static str| Err(Problem::new(Code::ProofRejected, detail));
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
