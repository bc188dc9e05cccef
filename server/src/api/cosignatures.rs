//! Cosignatures of the log: witnesses hand them in, anybody who audits fetches them.
//!
//! What is stored is bounded without any account: a line costs a signature of a configured witness over a head that this
//! service has sealed, and of each witness one is kept for each head.

use super::body;
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;
use trefoil_attest::LogEntry;
use trefoil_attest::witness::{Checkpoint, Cosigned, Witness, WitnessError};
use trefoil_service::log_store;
use trefoil_storage::store::{Store, StoreError};

/// Largest checkpoint: 16 cosignatures of 3.5 KB, with names of 255 bytes.
const NOTE_BYTES_MAX: usize = 64 * 1024;

/// `POST /v1/log/cosignatures`: a checkpoint with cosignatures. Lines of other witnesses than those of the configuration are
/// passed over. A cosignature that is there already is no error.
pub(super) async fn hand_in(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let note = body::bytes(request, "text/plain", 0, NOTE_BYTES_MAX, &app.limits).await?;
    let (size, witnesses) = blocking(move || {
        let note = std::str::from_utf8(&note)
            .map_err(|_| Problem::new(Code::MalformedRequest, WitnessError::Note.to_string()))?;
        take(app.service.store.as_ref(), &app.service.witnesses, note)
    })
    .await?;
    body::answer(StatusCode::OK, &json!({ "size": size, "witnesses": witnesses }))
}

/// `GET /v1/log/checkpoint`: the largest head that a witness has cosigned, with all cosignatures of it.
pub(super) async fn newest(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let note = blocking(move || {
        let size = app.service.store.last_cosigned()?.ok_or_else(uncosigned)?;
        note(&app, size)
    });
    Ok(answer(note.await?))
}

/// `GET /v1/log/checkpoint/{size}`: the head of the log of `size` seals, with all cosignatures of it.
pub(super) async fn of_size(
    State(app): State<Arc<App>>,
    size: Result<Path<u64>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(size) = size.map_err(|_| Problem::new(Code::MalformedRequest, "a size is a whole number"))?;
    Ok(answer(blocking(move || note(&app, size)).await?))
}

fn take(store: &dyn Store, witnesses: &[Witness], note: &str) -> Result<(u64, Vec<String>), Problem> {
    let (checkpoint, cosigned) = Checkpoint::verify(note, witnesses, 1).map_err(|cause| match cause {
        WitnessError::Note => Problem::new(Code::MalformedRequest, cause.to_string()),
        WitnessError::TooFew { .. } => {
            let detail =
                "no witness of this service has cosigned it; its operator lists them under witnesses.keys";
            Problem::new(Code::CosignatureRefused, detail)
        }
        _ => Problem::new(Code::CosignatureRefused, cause.to_string()),
    })?;
    let size = checkpoint.size;
    let seal = store
        .seal(size)?
        .ok_or_else(|| Problem::new(Code::SealUnknown, format!("no seal signs a log of {size} yet")))?;
    let signed = Checkpoint::signed_by(LogEntry::decode(&seal).map_err(Problem::internal)?.header());
    if signed.as_ref() != Some(&checkpoint) {
        let detail = "the seals of this service lead to another root, or have another issuer";
        return Err(Problem::new(Code::CosignatureRefused, detail));
    }
    let mut names = Vec::with_capacity(cosigned.len());
    for Cosigned { witness, line, .. } in cosigned {
        match store.put_cosignature(size, witness.clone(), line) {
            Ok(()) | Err(StoreError::Conflict) => names.push(witness),
            Err(cause) => return Err(cause.into()),
        }
    }
    Ok((size, names))
}

fn note(app: &App, size: u64) -> Result<String, Problem> {
    log_store::checkpoint(app.service.store.as_ref(), size)
        .map_err(|cause| app.service.unlogged(cause))?
        .ok_or_else(uncosigned)
}

fn uncosigned() -> Problem {
    Problem::new(Code::SealUnknown, "no witness has cosigned this head of the log")
}

fn answer(note: String) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "public, max-age=1")];
    (headers, note).into_response()
}
