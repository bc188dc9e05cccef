//! Logins in a stream: one long request, with an answer for each login as soon as it is decided.

use crate::client::Client;
use crate::error::{ClientError, ProblemDocument, answer};
use crate::outgoing::Outgoing;
use crate::unverified::Unverified;
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use serde::Serialize;
use tokio::sync::mpsc;
use trefoil_api::{
    Authenticated, Authentication, JSON_LINES, Outcome, StreamedOutcome, UnprovenAuthentication,
};

const PATH: &str = "/v1/authentications/stream";
const ROUTE: &str = "POST /v1/authentications/stream";
/// Longest line of an answer that is read: a full attestation in base64 has 40 KB.
const LINE_BYTES_MAX: usize = 256 * 1024;

/// The sending half of a stream. Dropping it ends the input; logins that were sent are still answered.
pub struct LoginSender {
    lines: mpsc::Sender<Bytes>,
    sent: u64,
}

/// The receiving half of a stream. Dropping it ends the stream, and undecided logins are abandoned.
pub struct LoginAnswers {
    body: Incoming,
    /// Received bytes that were not returned yet, and the length of the part that was searched for the end of a line.
    read: Vec<u8>,
    searched: usize,
}

/// The result of a login in a stream.
#[derive(Debug)]
pub struct StreamedLogin {
    /// Its number from [`LoginSender::send`].
    pub line: u64,
    /// Whether the service ended the stream: this login, if it was sent, and those after it were not attempted. Send them in another stream.
    pub ended: bool,
    /// The answer, on which you call `verified` with its request, or the problem, as of [`Client::authenticate`].
    pub answer: Result<Unverified<Authenticated>, ClientError>,
}

impl Client {
    /// Opens a stream of logins. Each is decided like one of [`Client::authenticate`], and answered in no particular order. The service reads
    /// no more than [`trefoil_api::STREAM_IN_FLIGHT_MAX`] ahead of the answers that you take, so take them while you send. Needs
    /// [`trefoil_api::Scope::Authenticate`].
    ///
    /// # Errors
    /// `quota-exceeded`, and [`ClientError`] in general, for the whole stream.
    pub async fn authenticate_stream(&self) -> Result<(LoginSender, LoginAnswers), ClientError> {
        let (lines, body) = self.0.stream(Outgoing::post_lines(PATH, JSON_LINES)).await?;
        Ok((LoginSender { lines, sent: 0 }, LoginAnswers { body, read: Vec::new(), searched: 0 }))
    }
}

impl LoginSender {
    /// Sends a login, and returns the number of its answer. Waits while the service reads nothing.
    ///
    /// # Errors
    /// When the stream has ended: [`LoginAnswers::next`] says why.
    pub async fn send(&mut self, request: &Authentication) -> Result<u64, ClientError> {
        self.line(request).await
    }

    /// Like [`LoginSender::send`], at a tenant whose policy asks for no proof.
    ///
    /// # Errors
    /// Those of [`LoginSender::send`].
    pub async fn send_unproven(&mut self, request: &UnprovenAuthentication) -> Result<u64, ClientError> {
        self.line(request).await
    }

    async fn line(&mut self, request: &impl Serialize) -> Result<u64, ClientError> {
        // All of the client's types have a JSON form.
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        let ended = |_| ClientError::Argument("the stream has ended; its last answer says why");
        self.lines.send(line.into()).await.map_err(ended)?;
        self.sent += 1;
        Ok(self.sent)
    }
}

impl LoginAnswers {
    /// The next answer, or `None` at the end. Cancel-safe: it may be dropped and called again.
    ///
    /// # Errors
    /// When the connection broke, so that the outcome of logins without an answer is unknown; and for a malformed answer.
    pub async fn next(&mut self) -> Result<Option<StreamedLogin>, ClientError> {
        loop {
            if let Some(end) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=self.searched + end).collect();
                self.searched = 0;
                return parse(&line).map(Some);
            }
            self.searched = self.read.len();
            if self.searched > LINE_BYTES_MAX {
                return Err(answer(ROUTE, &"a line of more than 256 KiB"));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.read.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(cause)) => return Err(broken(&cause.to_string())),
                None if self.read.is_empty() => return Ok(None),
                None => return Err(broken("the last line breaks off")),
            }
        }
    }
}

fn parse(line: &[u8]) -> Result<StreamedLogin, ClientError> {
    let outcome: StreamedOutcome<ProblemDocument> =
        serde_json::from_slice(line).map_err(|cause| answer(ROUTE, &cause))?;
    let StreamedOutcome { line, ended, outcome } = outcome;
    let answer = match outcome {
        Outcome::Answered(answer) => Ok(Unverified::login(answer)),
        Outcome::Refused { problem } => Err(ClientError::Problem(Box::new(problem))),
    };
    Ok(StreamedLogin { line, ended, answer })
}

fn broken(cause: &str) -> ClientError {
    ClientError::Unreachable { route: ROUTE.to_owned(), cause: cause.to_owned() }
}
