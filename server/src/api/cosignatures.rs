//! Checkpoints of the log and their cosignatures: witnesses hand them in, auditors fetch them.

use super::body;
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;
use trefoil_attest::witness::WitnessError;

/// Largest checkpoint: 16 cosignatures of 3.5 KB, with names of 255 bytes.
const NOTE_BYTES_MAX: usize = 64 * 1024;

/// `POST /v1/log/cosignatures`: a checkpoint with cosignatures.
pub(super) async fn hand_in(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let note = body::bytes(request, "text/plain", 0, NOTE_BYTES_MAX, &app.limits).await?;
    let (size, witnesses) = blocking(move || {
        let note = std::str::from_utf8(&note)
            .map_err(|_| Problem::new(Code::MalformedRequest, WitnessError::Note.to_string()))?;
        Ok(app.service.log.cosign(note)?)
    })
    .await?;
    body::answer(StatusCode::OK, &json!({ "size": size, "witnesses": witnesses }))
}

/// `GET /v1/log/checkpoint`: the largest head that a witness has cosigned, with all cosignatures of it; without witnesses, the newest head.
pub(super) async fn newest(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    Ok(answer(app.ask(|service| service.log.checkpoint(None)).await?))
}

/// `GET /v1/log/checkpoint/{size}`: the head of the log of `size` seals, signed, with all cosignatures of it.
pub(super) async fn of_size(
    State(app): State<Arc<App>>,
    size: Result<Path<u64>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(size) = size.map_err(|_| Problem::new(Code::MalformedRequest, "a size is a whole number"))?;
    Ok(answer(app.ask(move |service| service.log.checkpoint(Some(size))).await?))
}

fn answer(note: String) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "public, max-age=1")];
    (headers, note).into_response()
}
