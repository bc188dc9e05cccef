//! Public documents: keys, seals, parameters, discovery.

use super::body;
use super::caller::PathBytes;
use super::conditional::tagged;
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sha3::{Digest as _, Sha3_256};
use std::sync::Arc;
use trefoil_api::{Base64, FheKeys, Hex};
use trefoil_attest::{LogEntry, SealHeader};
use trefoil_matching::PublicKey;
use trefoil_matching::Width;
use trefoil_service::keys::signing_keys;
use trefoil_service::log::log_store;
use trefoil_service::{Refused, Service};
use trefoil_types::TenantId;

/// For answers that never change: a year, the longest time that caches honour.
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// `GET /v1/keys`: the trust root as JSON. Pin it from another channel: a root fetched from the service that it vouches
/// for proves nothing.
pub(super) async fn keys(State(app): State<Arc<App>>, asked: HeaderMap) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")];
    let json = app.service.keys.root().to_json();
    // A digest and not the version, because a cosignature can be added to the same version.
    let digest = Sha3_256::digest(&json);
    tagged(&asked, &hex::encode(&digest[..16]), (headers, json).into_response())
}

/// `GET /v1/keys/{version}`: a version of the trust root with its cosignatures; it never changes. A relying
/// party that pinned the version before can accept it.
pub(super) async fn keys_version(
    State(app): State<Arc<App>>,
    number: Result<Path<u64>, axum::extract::rejection::PathRejection>,
) -> Result<Response, Problem> {
    let Path(number) = number
        .map_err(|_| Problem::new(Code::MalformedRequest, "a trust root's version is a whole number"))?;
    let newest = app.service.keys.root().version();
    let unknown = || Problem::new(Code::TrustRootUnknown, format!("the newest version is {newest}"));
    if number > newest {
        return Err(unknown());
    }
    let directory = app.config.server.data_dir.clone();
    let json = blocking(move || signing_keys::version(&directory, number).map_err(Problem::internal)).await?;
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, IMMUTABLE)];
    Ok((headers, json.ok_or_else(unknown)?).into_response())
}

/// The number in a path.
type Number = Result<Path<u64>, axum::extract::rejection::PathRejection>;

/// `GET /v1/seals/{n}`: a seal, CBOR. It never changes, and is gone once its signatures are pruned.
pub(super) async fn seal(State(app): State<Arc<App>>, number: Number) -> Result<Response, Problem> {
    match entry(app, number).await? {
        LogEntry::Signed(seal) => Ok((cbor(IMMUTABLE), seal.encode()).into_response()),
        LogEntry::Pruned(SealHeader { seal_number, .. }) => {
            Err(Refused::SealPruned { number: seal_number }.into())
        }
    }
}

/// `GET /v1/seals/{n}/header`: the header of a seal, CBOR, whether the seal is pruned or not. It never changes.
pub(super) async fn seal_header(State(app): State<Arc<App>>, number: Number) -> Result<Response, Problem> {
    let header = entry(app, number).await?.header().encode();
    Ok((cbor(IMMUTABLE), header).into_response())
}

/// `GET /v1/seals/{n}/pruned`: the header of a seal with its path to a later seal of the same keys, CBOR: a
/// [`trefoil_attest::PrunedSeal`]. The later seal changes over time.
pub(super) async fn pruned_seal(State(app): State<Arc<App>>, number: Number) -> Result<Response, Problem> {
    let number = parse(number)?;
    let pruned = blocking(move || {
        Ok(log_store::pruned(app.service.node.store.as_ref(), number)
            .map_err(|cause| app.service.log.unlogged(cause))?)
    });
    let none = || {
        let detail =
            format!("no later seal of the same keys signs seal {number}; /v1/seals/{number} may have it");
        Problem::new(Code::SealUnknown, detail)
    };
    let pruned = pruned.await?.ok_or_else(none)?;
    Ok((cbor("public, max-age=60"), pruned.encode()).into_response())
}

fn parse(number: Number) -> Result<u64, Problem> {
    let Path(number) =
        number.map_err(|_| Problem::new(Code::MalformedRequest, "a seal is named by a whole number"))?;
    Ok(number)
}

async fn entry(app: Arc<App>, number: Number) -> Result<LogEntry, Problem> {
    let number = parse(number)?;
    let entry = blocking(move || {
        Ok(log_store::entry(app.service.node.store.as_ref(), number)
            .map_err(|cause| app.service.log.unlogged(cause))?)
    });
    entry.await?.ok_or_else(|| Problem::new(Code::SealUnknown, "no seal has this number yet"))
}

fn cbor(cache_control: &'static str) -> [(HeaderName, &'static str); 2] {
    [(header::CONTENT_TYPE, "application/cbor"), (header::CACHE_CONTROL, cache_control)]
}

/// `GET /v1/fhe/parameters`: the parameters of the encrypted match, to check its security.
pub(super) async fn fhe_parameters() -> Result<Response, Problem> {
    body::answer(StatusCode::OK, &parameters())
}

/// The encrypted match.
pub(super) fn parameters() -> Value {
    let width =
        |width: Width| json!({ "numbers": width.numbers(), "lanes": width.lanes(), "scale": width.scale() });
    json!({
        "scheme": "BFV",
        "ring_degree": 4096,
        "plaintext_modulus": 65537,
        "ciphertext_moduli": [140_720_308_191_233_u64, 140_700_980_543_489_u64],
        "secret": "ternary",
        "error": "centred binomial, k = 21",
        "lanes": trefoil_matching::LANES,
        "widths": Width::ALL.map(width),
        "keys": { "plain": "per-subject", "shared": "per-tenant" },
        "probe_modes": ["plain", "shared"],
    })
}

/// `GET /v1/fhe/keys/{tenant}`: how a tenant's faces are encrypted, and the key to which devices seal their shares. The key is
/// the key-holder's. A device accepts it only under a fingerprint that the key-holder's operator gave it.
pub(super) async fn fhe_keys(
    State(app): State<Arc<App>>,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    let tenant = TenantId::new(tenant);
    app.service.tenants.expect_tenant(&tenant).await;
    let read = move |service: &Service| {
        let tenant = service.tenants.tenant(&tenant)?;
        let key = service.node.key_holder.sealing_key()?;
        Ok(FheKeys {
            tenant: Hex(tenant.id.to_bytes()),
            probe_mode: tenant.policy.probe,
            epochs: tenant.keys.iter().map(PublicKey::epoch).collect(),
            sealing_key: Base64(key.to_bytes().to_vec()),
            sealing_key_fingerprint: Hex(key.fingerprint().0),
        })
    };
    body::answer(StatusCode::OK, &app.ask(read).await?)
}

/// `GET /.well-known/trefoil-configuration`
pub(super) async fn configuration(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let configuration = described(app.service.keys.root().issuer(), app.config.proofs.session_life_s);
    body::answer(StatusCode::OK, &configuration)
}

/// The discovery document of the service of this issuer.
pub(super) fn described(issuer: &str, session_life_s: u64) -> Value {
    json!({
        "issuer": issuer,
        "api_version": "v1",
        "openapi": "/openapi.json",
        "keys": "/v1/keys",
        "jwks": "/.well-known/jwks.json",
        "keys_version": "/v1/keys/{version}",
        "seals": "/v1/seals/{number}",
        "seal_headers": "/v1/seals/{number}/header",
        "pruned_seals": "/v1/seals/{number}/pruned",
        "log_head": "/v1/log/head",
        "log_inclusion": "/v1/log/inclusion/{seal}/{size}",
        "log_consistency": "/v1/log/consistency/{old_size}/{size}",
        "log_checkpoint": "/v1/log/checkpoint",
        "log_tile": "/v1/log/tile/{level}/{index}",
        "log_cosignatures": "/v1/log/cosignatures",
        "fhe_parameters": "/v1/fhe/parameters",
        "proof_sessions": "/v1/proof-sessions",
        "authentications": "/v1/authentications",
        "authentication_batches": "/v1/authentications/batch",
        "circuits": trefoil_zkp::Circuit::ALL.map(trefoil_zkp::Circuit::name),
        "signature_families": trefoil_attest::Family::ALL.map(|family| family.to_string()),
        "fhe_keys": "/v1/fhe/keys/{tenant}",
        "probe_modes": ["plain", "shared"],
        "attestation_forms": ["full", "compact", "none"],
        "request_freshness_s": trefoil_service::FRESHNESS_S,
        "session_life_s": session_life_s,
        "epoch_s": trefoil_zkp::EPOCH_SECONDS,
        "attestation_life_s_max": trefoil_attest::LIFETIME_SECONDS_MAX,
    })
}
