//! Several authentications in one request. An entry goes through [`login`] like a single request. A batch saves a head, a
//! look-up of the caller and an answer for each.

use super::authentications::{json_bytes, late, login};
use super::body;
use super::caller::Caller;
use super::failures::{BATCHES, Failures};
use super::sizes::BATCH_JSON_BYTES_MAX;
use crate::app::App;
use crate::problem::Problem;
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
use trefoil_service::tenants::tenant::Scope;
use trefoil_service::tenants::usage::Used;

/// `POST /v1/authentications/batch`. Each entry is a login of its own. A refusal of the whole batch comes before any entry is begun.
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    mut caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    // Counts as the largest batch until its size is known.
    caller.widen(&app, BATCH_MAX)?;
    let mut work = caller.work(&app).await?;
    let began_ns = app.service.node.clock.monotonic_ns();
    app.service.log.check_room()?;
    let mut failures = Failures::of(&request);
    let bytes = body::json_bytes(request, BATCH_JSON_BYTES_MAX, &app.limits).await?;
    let UnreadBatch { authentications } = body::parse(&bytes)?;
    caller.only(authentications.len());
    work.only(authentications.len());
    let mut answers: Vec<_> = authentications.iter().map(|_| None).collect();
    let logins = authentications.iter().map(|entry| login(&app, &caller, entry.get().as_bytes()));
    let all = together(logins, &mut answers);
    // Entries without an answer by then are timed out.
    let _ = tokio::time::timeout(app.limits.answer_timeout(), all).await;
    app.service
        .logins
        .pace
        .answered_in(Duration::from_nanos(app.service.node.clock.monotonic_ns() - began_ns));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(late()))).collect();
    let mut bytes = 0;
    let results = answers.iter().map(|answer| match answer {
        Ok(answer) => {
            caller.decided(answer.decision);
            bytes += json_bytes(answer);
            Outcome::Answered(answer)
        }
        Err(problem) => {
            caller.used(Used::Refused);
            app.metrics.refused_entry(BATCHES, problem.code());
            failures.refused(&app, problem.code());
            Outcome::Refused { problem: problem.member() }
        }
    });
    let batch = AuthenticatedBatch { results: results.collect() };
    body::sized_answer(StatusCode::OK, &batch, bytes)
}

/// Logins of a batch that begin in one turn of its peer (`listener::turns`), in about 20 us. A turn for each would poll the whole connection, TLS and
/// all layers of the router with it, once for each login.
const LOGINS_PER_TURN: usize = 4;

/// Makes these logins at the same time. A few begin in each turn, so that other requests go between, and none waits for the answer of another.
async fn together<F: Future>(logins: impl Iterator<Item = F>, answers: &mut [Option<F::Output>]) {
    let mut waiting = FuturesUnordered::new();
    for (at, login) in logins.enumerate() {
        waiting.push(async move { (at, login.await) });
        if let Poll::Ready(Some((at, answer))) = poll_fn(|cx| Poll::Ready(waiting.poll_next_unpin(cx))).await
        {
            answers[at] = Some(answer);
        }
        if (at + 1).is_multiple_of(LOGINS_PER_TURN) {
            yield_now().await;
        }
    }
    while let Some((at, answer)) = waiting.next().await {
        answers[at] = Some(answer);
    }
}

/// [`trefoil_api::AuthenticationBatch`] as it is read: each request is still text, so that a malformed one affects no other.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use tokio::sync::Barrier;
    use tokio::task::LocalSet;

    #[tokio::test]
    async fn no_login_of_a_batch_waits_for_the_answer_of_another_and_answers_keep_their_order() {
        let (all_begun, begun) = (Barrier::new(BATCH_MAX), Cell::new(0));
        let login = async |number: usize| {
            begun.set(begun.get() + 1);
            all_begun.wait().await;
            // The last one is answered first.
            for _ in number..BATCH_MAX {
                yield_now().await;
            }
            number
        };
        let mut answers = vec![None; BATCH_MAX];
        together((0..BATCH_MAX).map(login), &mut answers).await;
        assert_eq!(answers, (0..BATCH_MAX).map(Some).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn logins_of_a_batch_let_others_go_between() {
        let (local, begun) = (LocalSet::new(), Rc::<Cell<usize>>::default());
        let batch = Rc::clone(&begun);
        local.spawn_local(async move {
            let logins = (0..BATCH_MAX).map(|_| async { batch.set(batch.get() + 1) });
            together(logins, &mut [None; BATCH_MAX]).await;
        });
        let seen = Rc::clone(&begun);
        let other = local.spawn_local(async move {
            for turn in 1..=BATCH_MAX {
                let most = LOGINS_PER_TURN * turn;
                assert!(seen.get() <= most, "{} logins went before turn {turn} of another", seen.get());
                yield_now().await;
            }
        });
        local.run_until(other).await.unwrap();
        local.await;
        assert_eq!(begun.get(), BATCH_MAX);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::hash_map(any::<String>(), inner, 0..4)
                    .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_batch_has_the_entries_that_were_sent_and_only_from_1_to_32(
            entries in prop::collection::vec(json(), 0..40),
        ) {
            let text = serde_json::json!({ "authentications": entries }).to_string();
            match body::parse::<UnreadBatch>(text.as_bytes()) {
                Ok(batch) => {
                    prop_assert!((1..=BATCH_MAX).contains(&entries.len()));
                    let read = batch.authentications.iter().map(|entry| serde_json::from_str(entry.get()).unwrap());
                    prop_assert_eq!(read.collect::<Vec<serde_json::Value>>(), entries);
                }
                Err(problem) => {
                    prop_assert!(!(1..=BATCH_MAX).contains(&entries.len()), "{problem:?}");
                    prop_assert_eq!(problem.code(), Code::FieldInvalid);
                }
            }
        }

        /// For any bytes the answer is that of a full parser: bytes that are not JSON are no batch.
        #[test]
        fn bytes_that_are_no_json_are_no_batch(
            mut text in prop::collection::vec(json(), 1..4)
                .prop_map(|entries| serde_json::json!({ "authentications": entries }).to_string().into_bytes()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in any::<prop::sample::Index>(),
        ) {
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            text.truncate(cut.index(2 * text.len()));
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
            match body::parse::<UnreadBatch>(&text) {
                Ok(batch) => prop_assert!(is_json && !batch.authentications.is_empty()),
                Err(problem) => {
                    let code = if is_json { Code::FieldInvalid } else { Code::MalformedJson };
                    prop_assert_eq!(problem.code(), code);
                }
            }
        }
    }
}
