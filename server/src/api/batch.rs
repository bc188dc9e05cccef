//! Several authentications in one request. An entry goes through [`login`] as a request of its own does; here is what the request saves
//! them, which is a head, a caller's look-up and an answer each.

use super::authentications::{late, login};
use super::caller::Caller;
use super::{BATCH_JSON_BYTES_MAX, body};
use crate::app::App;
use crate::problem::Problem;
use crate::tenant::Scope;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::yield_now;
use trefoil_api::{AuthenticatedBatch, BATCH_MAX, Outcome};

/// `POST /v1/authentications/batch`. Each entry is a login of its own; what is refused of the whole is refused before any is begun.
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    mut caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    // As many as it may have, until it is known how many it has.
    caller.widen(&app, BATCH_MAX)?;
    let mut work = caller.work(&app).await?;
    let began_ns = app.clock.monotonic_ns();
    app.check_room()?;
    let bytes = body::json_bytes(request, BATCH_JSON_BYTES_MAX, &app.config.limits).await?;
    let UnreadBatch { authentications } = body::parse(&bytes)?;
    caller.only(authentications.len());
    work.only(authentications.len());
    let mut answers: Vec<_> = authentications.iter().map(|_| None).collect();
    let logins = authentications.iter().map(|entry| login(&app, &caller.tenant, entry.get().as_bytes()));
    let all = together(logins, &mut answers);
    // Without an answer in time are those that have none then.
    let _ = tokio::time::timeout(app.config.limits.answer_timeout(), all).await;
    app.pace.answered_in(Duration::from_nanos(app.clock.monotonic_ns() - began_ns));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(late()))).collect();
    let results = answers.iter().map(|answer| match answer {
        Ok(answer) => Outcome::Answered(answer),
        Err(problem) => {
            app.metrics.refused_entry(problem.code());
            Outcome::Refused { problem: problem.member() }
        }
    });
    body::answer(StatusCode::OK, &AuthenticatedBatch { results: results.collect() })
}

/// Makes these logins at the same time. Each begins in a turn of its own, as if it had come in a request of its own
/// (`listener::turns`), and none waits for the answer of another.
async fn together<F: Future>(logins: impl Iterator<Item = F>, answers: &mut [Option<F::Output>]) {
    let mut waiting = FuturesUnordered::new();
    for (at, login) in logins.enumerate() {
        waiting.push(async move { (at, login.await) });
        if let Poll::Ready(Some((at, answer))) = poll_fn(|cx| Poll::Ready(waiting.poll_next_unpin(cx))).await
        {
            answers[at] = Some(answer);
        }
        yield_now().await;
    }
    while let Some((at, answer)) = waiting.next().await {
        answers[at] = Some(answer);
    }
}

/// [`trefoil_api::AuthenticationBatch`] as it is read: each request is still text, so that one that is wrong refuses only itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnreadBatch<'a> {
    /// The requests in JSON, from 1 to [`BATCH_MAX`].
    #[serde(borrow, deserialize_with = "entries")]
    authentications: Vec<&'a RawValue>,
}

fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'de RawValue>, D::Error> {
    deserializer.deserialize_seq(Entries)
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of 1 to {BATCH_MAX} authentications")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::with_capacity(BATCH_MAX);
        while read.len() < BATCH_MAX {
            match entries.next_element()? {
                Some(entry) => read.push(entry),
                None if read.is_empty() => return Err(serde::de::Error::invalid_length(0, &self)),
                None => return Ok(read),
            }
        }
        let mut given = read.len();
        while entries.next_element::<IgnoredAny>()?.is_some() {
            given += 1;
        }
        match given {
            BATCH_MAX => Ok(read),
            given => Err(serde::de::Error::invalid_length(given, &self)),
        }
    }
}
