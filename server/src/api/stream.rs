//! Authentications in a stream: a line of JSON for each, and a line for each answer as soon as there is one.
//!
//! A login of a stream is handled like a single one: its caller is looked up again, and it has its own place among the tenant's requests in
//! flight and its own turn among those of the peer ([`Peer`]). A stream saves a head and an exchange for each, and the wait for a batch's last answer.
//! No more than [`STREAM_IN_FLIGHT_MAX`] are in flight or wait to be taken: a peer that does not read answers is not read.

#![expect(
    clippy::disallowed_types,
    reason = "of one stream, whose peer is read only as fast as its answers are taken"
)]

use super::authentications::in_time;
use super::body;
use super::caller::Caller;
use super::failures::Failures;
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
use trefoil_service::usage::{KeyUses, Used};

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
    caller.stays(&app)?;
    body::check_media_type(request.headers(), JSON_LINES)?;
    let peer = request.extensions().get::<Peer>().cloned();
    let peer = peer.ok_or_else(|| Problem::internal("a stream came without a connection"))?;
    let open = app.metrics.stream();
    let failures = Failures::of(&request, STREAMS);
    // One more than the waiting answers, for the one that ends the stream.
    let (answers, answered) = mpsc::channel(STREAM_IN_FLIGHT_MAX + 1);
    let slots = Arc::new(Semaphore::new(STREAM_IN_FLIGHT_MAX));
    let logins = JoinSet::new();
    let stream = Stream { app, peer: peer.clone(), caller, slots, answers, logins, failures };
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
    /// Each ends with the code of its refusal, if it was refused.
    logins: JoinSet<Option<Code>>,
    failures: Failures,
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
        while let Some(login) = self.logins.join_next().await {
            self.ended(login);
        }
        if let Some(problem) = ended {
            self.failures.refused(&self.app, problem.code());
            self.app.metrics.refused_entry(STREAMS, problem.code());
            let last = self.peer.part(line_of(number, true, &Err(problem)), ());
            let _ = self.answers.send(last).await;
            lines.discard().await;
        }
    }

    /// A login has ended.
    fn ended(&mut self, login: Result<Option<Code>, JoinError>) {
        if let Ok(Some(code)) = login {
            self.failures.refused(&self.app, code);
        }
    }

    /// Has the log tell of logins that failed.
    fn tell(&mut self) {
        while let Some(login) = self.logins.try_join_next() {
            self.ended(login);
        }
        self.failures.tell(self.app.service.clock.monotonic_ns());
    }

    /// The next line and its caller, or `None` at the end.
    async fn next(&mut self, lines: &mut Lines) -> Result<Option<(Vec<u8>, Known)>, Problem> {
        let idle = self.app.limits.now().idle_timeout();
        let began = Instant::now();
        loop {
            let Ok(line) = timeout(LOOK.min(idle), lines.next()).await else {
                self.tell();
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
        let (peer, answers, uses) = (self.peer.clone(), self.answers.clone(), Arc::clone(&known.uses));
        let caller = Caller::of(&self.app, known);
        let app = Arc::clone(&self.app);
        let login = Login { app, peer, uses, number, line };
        self.logins.spawn(async move {
            let (written, refused) = login.peer.works(login.answer(caller.as_ref())).await;
            let part = login.peer.part(written, (slot, caller));
            // If the peer is gone, the answer has no receiver.
            let _ = answers.send(part).await;
            refused
        });
        self.tell();
    }
}

impl Drop for Stream {
    /// The peer may be gone before all of its logins have a line.
    fn drop(&mut self) {
        while let Some(login) = self.logins.try_join_next() {
            self.ended(login);
        }
    }
}

/// A login of a stream.
struct Login {
    app: Arc<App>,
    peer: Peer,
    uses: Arc<KeyUses>,
    number: u64,
    line: Vec<u8>,
}

impl Login {
    /// The line of its answer, and the code of its refusal if it was refused.
    async fn answer(&self, caller: Result<&Caller, &Problem>) -> (Vec<u8>, Option<Code>) {
        let decided = AssertUnwindSafe(decide(&self.app, caller, &self.line)).catch_unwind().await;
        let answer = decided.unwrap_or_else(|_| Err(Problem::internal("a login panicked")));
        let refused = answer.as_ref().err().map(Problem::code);
        if let Some(code) = refused {
            self.uses.count(Used::Refused);
            self.app.metrics.refused_entry(STREAMS, code);
        }
        let status = refused.map_or(StatusCode::OK, Code::status);
        self.peer.answered(status);
        (line_of(self.number, false, &answer), refused)
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
