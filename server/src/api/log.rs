//! The log of seals: its head and proofs about it.
//!
//! Seal `m` signs the root of the tree over seals `0..m`, so every seal is a signed head of size `m`, and no other
//! signature is needed. There are proofs for sizes up to the one that the newest seal signs.

use super::body;
use super::conditional::tagged;
use super::public::IMMUTABLE;
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;
use trefoil_attest::tree::Hash;
use trefoil_service::log::log_store::{self, LogError};
use trefoil_service::log::tiles::Tile;
use trefoil_storage::store::Store;

/// Two numbers of a path.
type Numbers = Result<Path<(u64, u64)>, PathRejection>;

/// `GET /v1/log/head`: the newest seal, CBOR. It signs the log of all seals before it.
pub(super) async fn head(State(app): State<Arc<App>>, asked: HeaderMap) -> Result<Response, Problem> {
    let (number, seal) = blocking(move || newest(app.service.node.store.as_ref())).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/cbor".to_owned()),
        (header::CONTENT_LOCATION, format!("/v1/seals/{number}")),
        (header::CACHE_CONTROL, "public, max-age=1".to_owned()),
    ];
    Ok(tagged(&asked, &number.to_string(), (headers, seal).into_response()))
}

/// `GET /v1/log/inclusion/{seal}/{size}`: the path of a seal in the log of the first `size` seals.
pub(super) async fn inclusion(State(app): State<Arc<App>>, numbers: Numbers) -> Result<Response, Problem> {
    let (seal, size) = parse(numbers)?;
    let path = prove(app, size, move |store| log_store::inclusion(store, seal, size)).await?;
    immutable(&json!({ "seal": seal, "size": size, "path": path }))
}

/// `GET /v1/log/consistency/{old_size}/{size}`: a proof that the log of `size` seals extends the log of `old_size`.
pub(super) async fn consistency(State(app): State<Arc<App>>, numbers: Numbers) -> Result<Response, Problem> {
    let (old_size, size) = parse(numbers)?;
    let proof = prove(app, size, move |store| log_store::consistency(store, old_size, size)).await?;
    immutable(&json!({ "old_size": old_size, "size": size, "proof": proof }))
}

/// `GET /v1/log/tile/{level}/{index}`: a tile of the log (C2SP tlog-tiles); `/v1/log` is the log's prefix. It never changes.
pub(super) async fn tile(
    State(app): State<Arc<App>>,
    name: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Problem> {
    let tile = name.ok().and_then(|Path((level, index))| Tile::parse(&level, &index)).ok_or_else(|| {
        let detail = "a tile is named like 0/x001/234 or entries/000.p/5 (c2sp.org/tlog-tiles)";
        Problem::new(Code::MalformedRequest, detail)
    })?;
    let bytes = blocking(move || {
        Ok(tile.read(app.service.node.store.as_ref()).map_err(|cause| app.service.log.unlogged(cause))?)
    });
    let none =
        || Problem::new(Code::SealUnknown, "the newest seal signs a log that ends before this tile does");
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, IMMUTABLE)];
    Ok((headers, bytes.await?.ok_or_else(none)?).into_response())
}

fn parse(numbers: Numbers) -> Result<(u64, u64), Problem> {
    let Path(numbers) =
        numbers.map_err(|_| Problem::new(Code::MalformedRequest, "seals and sizes are whole numbers"))?;
    Ok(numbers)
}

async fn prove(
    app: Arc<App>,
    size: u64,
    proof: impl FnOnce(&dyn Store) -> Result<Option<Vec<Hash>>, LogError> + Send + 'static,
) -> Result<Vec<String>, Problem> {
    blocking(move || {
        let (signed, _) = newest(app.service.node.store.as_ref())?;
        if size > signed {
            let detail = format!("the newest seal signs a log of {signed}; ask for at most that size");
            return Err(Problem::new(Code::SealUnknown, detail));
        }
        let proof =
            proof(app.service.node.store.as_ref()).map_err(|cause| app.service.log.unlogged(cause))?;
        let proof = proof.ok_or_else(|| {
            let detail = "a seal is below its log's size, and an old size is between 1 and the new one";
            Problem::new(Code::MalformedRequest, detail)
        })?;
        Ok(proof.iter().map(hex::encode).collect())
    })
    .await
}

fn newest(store: &dyn Store) -> Result<(u64, Vec<u8>), Problem> {
    store.last_seal()?.ok_or_else(|| Problem::new(Code::SealUnknown, "nothing has been sealed yet"))
}

fn immutable(answer: &serde_json::Value) -> Result<Response, Problem> {
    let mut response = body::answer(StatusCode::OK, answer)?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(IMMUTABLE));
    Ok(response)
}
