//! Enrolment and deletion of templates.
//!
//! Enrolment is blinded wherever the key-holder runs: the embedding is split, the
//! key-holder encrypts one share, the other is taken out of the ciphertext, and neither role ever holds both.

use super::body;
use super::caller::{Caller, PathBytes};
use super::sizes::EMBEDDING_JSON_BYTES_MAX;
use crate::app::{App, InFlight, blocking};
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use std::sync::{Arc, PoisonError};
use trefoil_api::{AttestationForm, Enrolled, Enrolment as Body, Erased, Hex, Shares, Vector};
use trefoil_attest::{What, consent_digest};
use trefoil_matching::{
    Blind, Embedding, Enrolment, ForKeyHolder, IDEMPOTENCY_KEY_BYTES_MAX, KeyHolderError, Lane, SealedShare,
    SealedTemplate, TemplateName, split, unblind,
};
use trefoil_service::replay::FRESHNESS_S;
use trefoil_service::tenant::{Probe, Scope, Tenant};
use trefoil_storage::store::wrap;
use trefoil_storage::store::{Handle, Idempotency, StoreError, Template};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// How long an answer is kept for callers that ask again: a day.
pub(crate) const IDEMPOTENCY_LIFETIME_S: u64 = 86_400;

/// `POST /v1/subjects/{handle}/templates`
pub(super) async fn enrol(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    app.service.check_room()?;
    let key = idempotency_key(request.headers())?;
    let bytes = body::json_bytes(request, EMBEDDING_JSON_BYTES_MAX, &app.limits).await?;
    let Body { embedding, shares, issued_at, consent_ref } = body::parse(&bytes)?;
    let tenant = Arc::clone(&caller.tenant);
    let face = match shown(tenant.policy.probe, embedding, shares)? {
        Face::Plain(vector) => {
            let (blinded, blind) = split(&quantise(&vector)?, &mut rand::rng());
            (blinded.into(), blind)
        }
        Face::Shared { open, sealed } => {
            let blind = Blind::from_bytes(&open).map_err(|cause| refused_share("/shares/open", cause))?;
            let issued_at = fresh(issued_at, app.service.now())?;
            let idempotency_key = key.clone().into_bytes();
            (ForKeyHolder::Sealed(SealedTemplate { sealed, idempotency_key, issued_at }), blind)
        }
    };
    let digest = app.service.directory.keyed_digest(b"trefoil/enrolment/1", &[&handle, &bytes]);
    drop(bytes);
    let running = InFlight::claim(&app, tenant.id, &key)?;
    let (consent, tenant_id) = (consent_digest(&consent_ref), tenant.id);
    let at_work = Arc::clone(&app);
    let (answer, replayed) = blocking(move || {
        let (_running, app) = (running, at_work);
        match app.service.store.idempotency(&tenant.id, &key)? {
            Some(answer) if answer.request_digest == digest => Ok((answer, true)),
            Some(_) => Err(Problem::new(
                Code::IdempotencyKeyReused,
                "this Idempotency-Key was used with another request; use a fresh one",
            )),
            None => {
                app.service.check_vaults()?;
                store(&app, &tenant, Handle::new(handle), face, consent_ref, (key, digest))
                    .map(|answer| (answer, false))
            }
        }
    })
    .await?;
    let enrolled: Enrolled = serde_json::from_str(&answer.body).map_err(Problem::internal)?;
    let (handle, generation) = (Handle::new(handle), enrolled.generation);
    let what = What::Enrolled { handle, generation, consent };
    let receipt = app.receipt(tenant_id, answer.created_at, what, AttestationForm::Full).await?;
    let mut response = body::answer(StatusCode::CREATED, &Enrolled { receipt, ..enrolled })?;
    if replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// `DELETE /v1/subjects/{handle}/templates`. The key-holder forgets the salt first: whatever happens then, the
/// template can no longer be decrypted, and asking again finishes the rest.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    let (tenant, at_work) = (caller.tenant.id, Arc::clone(&app));
    let (generation, erased_at) = blocking(move || {
        let app = at_work;
        app.service.check_vaults()?;
        let template = app.service.store.template(&tenant, &Handle::new(handle))?.ok_or_else(unknown)?;
        let name = |generation| TemplateName { tenant, handle: Handle::new(handle), generation };
        let shred = |generation| {
            let in_vault = |cause: &KeyHolderError| matches!(cause, KeyHolderError::Vault(_));
            app.service.disk.with_reserve(|| app.service.key_holder.shred(name(generation)), in_vault)
        };
        shred(template.generation)?;
        // A rotation may have renewed it in the meantime.
        let delete = || app.service.store.delete_template(&tenant, &Handle::new(handle));
        let deleted = app.service.disk.with_reserve(delete, StoreError::is_fault)?;
        let deleted = deleted.unwrap_or(template.generation);
        if deleted != template.generation {
            shred(deleted)?;
        }
        app.service.templates.remove(&tenant, &Handle::new(handle));
        Ok((deleted, app.service.now()))
    })
    .await?;
    let what = What::Erased { handle: Handle::new(handle), generation };
    let receipt = app.receipt(tenant, erased_at, what, AttestationForm::Full).await?;
    body::answer(StatusCode::OK, &Erased { handle: Hex(handle), generation, erased_at, receipt })
}

/// The template of a subject, from memory or from the store.
pub(super) async fn load(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    handle: &Handle,
) -> Result<trefoil_matching::Template, Problem> {
    if let Some(template) = app.service.templates.get(&tenant.id, handle) {
        return Ok(template);
    }
    let (app, tenant, handle) = (Arc::clone(app), Arc::clone(tenant), *handle);
    blocking(move || {
        let record = app.service.store.template(&tenant.id, &handle)?.ok_or_else(unknown)?;
        let template = app.service.opened(&tenant, &record)?;
        app.service.templates.insert(template.clone());
        Ok(template)
    })
    .await
}

/// A face as a request brings it, in the tenant's probe mode.
pub(super) enum Face {
    /// As it is.
    Plain(Box<Vector>),
    /// In two shares.
    Shared {
        /// This service's, encoded.
        open: Vec<u8>,
        /// The key-holder's.
        sealed: SealedShare,
    },
}

/// The face of a request, which must come as the tenant's policy says, and in no other way besides.
pub(super) fn shown(
    probe: Probe,
    embedding: Option<Vector>,
    shares: Option<Shares>,
) -> Result<Face, Problem> {
    match (probe, embedding, shares) {
        (Probe::Plain, Some(vector), None) => Ok(Face::Plain(Box::new(vector))),
        (Probe::Shared, None, Some(Shares { open, sealed })) => {
            let sealed = SealedShare::from_bytes(&sealed.0).ok_or_else(|| {
                let detail = format!("expected {} bytes", SealedShare::BYTES);
                Problem::field(Code::ShareRefused, "/shares/sealed", detail)
            })?;
            Ok(Face::Shared { open: open.0, sealed })
        }
        (Probe::Plain, ..) => Err(Problem::new(
            Code::ProbeModeMismatch,
            "the tenant's probe mode is plain: send `embedding` and no `shares`",
        )),
        (Probe::Shared, ..) => Err(Problem::new(
            Code::ProbeModeMismatch,
            "the tenant's probe mode is shared: send `shares`, which the device makes, and no `embedding`",
        )),
    }
}

/// A share that is none.
pub(super) fn refused_share(pointer: &str, cause: impl std::fmt::Display) -> Problem {
    Problem::field(Code::ShareRefused, pointer, cause.to_string())
}

/// Normalises, quantises and checks an embedding.
pub(super) fn quantise(vector: &Vector) -> Result<Embedding, Problem> {
    let unusable = |cause: trefoil_matching::QuantiseError| {
        Problem::field(Code::EmbeddingInvalid, "/embedding", cause.to_string())
    };
    let embedding = Embedding::quantise(vector.coordinates()).map_err(unusable)?;
    embedding.check_honest_band().map_err(unusable)?;
    Ok(embedding)
}

/// Encrypts, wraps and stores a template; the JSON answer.
fn store(
    app: &App,
    tenant: &Tenant,
    handle: Handle,
    (for_key_holder, blind): (ForKeyHolder, Blind),
    consent_ref: String,
    (key, request_digest): (String, [u8; 32]),
) -> Result<Idempotency, Problem> {
    let exists = |cause: StoreError| match cause {
        StoreError::Conflict => {
            Problem::new(Code::TemplateExists, "the subject has an active template; delete it to enrol again")
        }
        other => other.into(),
    };
    let mut rng = rand::rng();
    let generation = app.service.store.reserve_generation(&tenant.id, &handle).map_err(exists)?;
    let lane = Lane::random(&mut rng);
    // Until it is stored no rotation of the tenant's keys takes stock.
    let _enrolling = app.service.enrolling.read().unwrap_or_else(PoisonError::into_inner);
    let name = TemplateName { tenant: tenant.id, handle, generation };
    let encrypted = app.service.key_holder.enrol(Enrolment { name, lane, template: for_key_holder });
    let encrypted = encrypted.map_err(|cause| match cause {
        KeyHolderError::SealedShares(_) => refused_share("/shares/sealed", SEALED_FOR_ANOTHER),
        other => other.into(),
    })?;
    let template = unblind(encrypted, blind);
    let (lane, epoch, keys) = (lane.index() as u8, template.epoch, template.structure());
    let place = wrap::TemplateName { tenant: tenant.id, handle, generation, lane, keys, epoch };
    let wrapped = tenant.key.wrap_template(&place, &template.to_bytes());
    let now = app.service.now();
    let record = Template {
        tenant: tenant.id,
        handle,
        generation,
        lane,
        epoch,
        wrapped_key: wrapped.key,
        wrapped: wrapped.bytes,
        consent_ref,
        created_at: now,
    };
    let enrolled = Enrolled { handle: Hex(handle.to_bytes()), generation, receipt: None };
    let body = serde_json::to_string(&enrolled).map_err(Problem::internal)?;
    let answer = Idempotency { tenant: tenant.id, key, request_digest, body, created_at: now };
    if let Err(cause) = app.service.store.enrol(record, answer.clone()) {
        // Nobody will ever name this generation; what the key-holder holds for it is of no use to anyone.
        app.service.key_holder.shred(name)?;
        return Err(exists(cause));
    }
    app.service.templates.insert(template);
    Ok(answer)
}

fn idempotency_key(headers: &HeaderMap) -> Result<String, Problem> {
    let key = headers.get(IDEMPOTENCY_KEY).and_then(|value| value.to_str().ok()).unwrap_or("");
    if (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(key.to_owned());
    }
    let detail = "send `Idempotency-Key` with 1 to 255 visible characters, fresh for each enrolment";
    Err(Problem::new(Code::IdempotencyKeyMissing, detail))
}

/// When a device sealed its share of a template.
fn fresh(issued_at: Option<u64>, now: u64) -> Result<u64, Problem> {
    match issued_at {
        Some(at) if at.abs_diff(now) <= FRESHNESS_S => Ok(at),
        _ => {
            let detail = format!(
                "send the second at which the device sealed its share, within {FRESHNESS_S} s of the service's clock"
            );
            Err(Problem::field(Code::RequestNotFresh, "/issued_at", detail))
        }
    }
}

/// Why a sealed share is refused.
pub(super) const SEALED_FOR_ANOTHER: &str = "the share was not sealed to this key-holder for this request, or not lately, or was used \
     before: seal again, to the key of /v1/fhe/keys";

fn unknown() -> Problem {
    Problem::new(
        Code::SubjectUnknown,
        "no template is active under this handle: nothing was enrolled, or it was deleted",
    )
}
