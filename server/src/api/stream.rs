//! Authentications in a stream: a line of JSON for each, and a line for each answer as soon as there is one.
//!
//! A login of a stream is handled like a single one: its caller is looked up again, and it has its own place among the tenant's requests in
//! flight and its own turn among those of the peer ([`Peer`]). A stream saves a head and an exchange for each, and the wait for a batch's last answer.
//! No more than [`STREAM_IN_FLIGHT_MAX`] are in flight or wait to be taken: a peer that does not read answers is not read.

use super::authentications::in_time;
use super::body;
use super::caller::Caller;
use super::lines::Lines;
use super::sizes::EMBEDDING_JSON_BYTES_MAX;
use crate::app::App;
use crate::listener::Peer;
use crate::problem::{Code, Problem};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{FutureExt as _, stream};
use serde::de::IgnoredAny;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use trefoil_api::{Authenticated, JSON_LINES, Outcome, STREAM_IN_FLIGHT_MAX, StreamedOutcome};
use trefoil_service::directory::api_keys::Known;
use trefoil_service::tenant::Scope;
use trefoil_service::usage::Used;

/// The route, for metrics.
pub(super) const STREAMS: &str = "/v1/authentications/stream";
/// Pause between two checks whether a stream that sends nothing may continue.
const LOOK: Duration = Duration::from_millis(500);

/// `POST /v1/authentications/stream`
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    body::check_media_type(request.headers(), JSON_LINES)?;
    let peer = request.extensions().get::<Peer>().cloned();
    let peer = peer.ok_or_else(|| Problem::internal("a stream came without a connection"))?;
    let open = app.metrics.stream();
    // One more than the waiting answers, for the one that ends the stream.
    let (answers, answered) = mpsc::channel(STREAM_IN_FLIGHT_MAX + 1);
    let slots = Arc::new(Semaphore::new(STREAM_IN_FLIGHT_MAX));
    let stream = Stream { app, peer: peer.clone(), caller, slots, answers, logins: JoinSet::new() };
    let lines = Lines::new(request.into_body(), EMBEDDING_JSON_BYTES_MAX);
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        peer.in_turn(stream.run(lines)).await;
        drop(open);
    });
    let answers = stream::unfold((answered, reading), next_answer);
    Ok(([(header::CONTENT_TYPE, JSON_LINES)], Body::from_stream(answers)).into_response())
}

/// Dropping the answer ends these tasks, so that nothing is decided for a peer that is gone.
type Answers = (mpsc::Receiver<Bytes>, JoinSet<()>);

async fn next_answer((mut answered, mut reading): Answers) -> Option<(Result<Bytes, JoinError>, Answers)> {
    let next = match answered.recv().await {
        Some(answer) => Ok(answer),
        // A stream that broke must not look like one that ended.
        None => Err(reading.join_next().await?.err()?),
    };
    Some((next, (answered, reading)))
}

/// A stream that is read.
struct Stream {
    app: Arc<App>,
    peer: Peer,
    /// The caller that began it; its place is that of the stream.
    caller: Caller,
    slots: Arc<Semaphore>,
    answers: mpsc::Sender<Bytes>,
    logins: JoinSet<()>,
}

impl Stream {
    async fn run(mut self, mut lines: Lines) {
        let mut number = 0;
        let ended = loop {
            // The semaphore is never closed.
            let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { return };
            number += 1;
            match self.next(&mut lines).await {
                Ok(Some((line, _))) if line.trim_ascii().is_empty() => {}
                Ok(Some((line, known))) => self.begin(number, line, known, slot),
                Ok(None) => break None,
                Err(problem) => break Some(problem),
            }
        };
        while self.logins.join_next().await.is_some() {}
        if let Some(problem) = ended {
            self.app.metrics.refused_entry(STREAMS, problem.code());
            let last = self.peer.part(line_of(number, true, &Err(problem)), ());
            let _ = self.answers.send(last).await;
            lines.discard().await;
        }
    }

    /// The next line and its caller, or `None` at the end.
    async fn next(&self, lines: &mut Lines) -> Result<Option<(Vec<u8>, Known)>, Problem> {
        let idle = self.app.limits.now().idle_timeout();
        let began = Instant::now();
        loop {
            let Ok(line) = timeout(LOOK.min(idle), lines.next()).await else {
                self.known()?;
                if began.elapsed() >= idle {
                    let seconds = idle.as_secs();
                    let detail =
                        format!("no line ended within {seconds} s; an empty line keeps a stream open");
                    return Err(Problem::new(Code::BodyTimeout, detail));
                }
                continue;
            };
            return line?.map(|line| Ok((line, self.known()?))).transpose();
        }
    }

    /// The caller, if a line may still be begun.
    fn known(&self) -> Result<Known, Problem> {
        if self.peer.leaves() {
            let detail = "the connection ends; send this line and those after it on another one";
            return Err(Problem::new(Code::Draining, detail));
        }
        self.caller.again(&self.app)
    }

    /// Begins the login in a line.
    fn begin(&mut self, number: u64, line: Vec<u8>, known: Known, slot: OwnedSemaphorePermit) {
        let (app, peer, answers) = (Arc::clone(&self.app), self.peer.clone(), self.answers.clone());
        let uses = Arc::clone(&known.uses);
        let caller = Caller::of(&app, known);
        self.logins.spawn(async move {
            let decided = AssertUnwindSafe(decide(&app, caller.as_ref(), &line)).catch_unwind();
            let written = peer.works(async {
                let answer = decided.await.unwrap_or_else(|_| Err(Problem::internal("a login panicked")));
                let refused = answer.as_ref().err().map(Problem::code);
                if let Some(code) = refused {
                    uses.count(Used::Refused);
                    app.metrics.refused_entry(STREAMS, code);
                }
                peer.answered(refused.map_or(StatusCode::OK, Code::status));
                line_of(number, false, &answer)
            });
            let part = peer.part(written.await, (slot, caller));
            // If the peer is gone, the answer has no receiver.
            let _ = answers.send(part).await;
        });
        while self.logins.try_join_next().is_some() {}
    }
}

async fn decide(app: &App, caller: Result<&Caller, &Problem>, line: &[u8]) -> Result<Authenticated, Problem> {
    let caller = caller.map_err(Problem::clone)?;
    let _work = caller.work(app).await?;
    let began_ns = app.service.clock.monotonic_ns();
    app.service.check_room()?;
    in_time(app, caller, began_ns, line).await.map_err(|problem| match problem.code() {
        Code::MalformedJson => not_json(line),
        _ => problem,
    })
}

/// The parser counts lines within what it reads, which is one.
fn not_json(line: &[u8]) -> Problem {
    let cause = serde_json::from_slice::<IgnoredAny>(line).err();
    let column = cause.map_or(0, |cause| cause.column());
    let detail = format!("the line is not JSON at column {column}; a login is an object in one line");
    Problem::new(Code::MalformedJson, detail)
}

/// A line of the answer.
fn line_of(line: u64, ended: bool, answer: &Result<Authenticated, Problem>) -> Vec<u8> {
    let outcome = match answer {
        Ok(answer) => Outcome::Answered(answer),
        Err(problem) => Outcome::Refused { problem: problem.member() },
    };
    // All of its keys are text, so it has a JSON form.
    let mut text = serde_json::to_vec(&StreamedOutcome { line, ended, outcome }).unwrap_or_default();
    text.push(b'\n');
    text
}
