//! The clients: every person enrols, opens a session and logs in, over HTTPS.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the generator of load, which is no part of the service"
)]

use super::error::DemoError;
use super::plan::Plan;
use crate::progress::Stage;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use trefoil_api::{AttestationForm, Authentication, Decision, Enrolment, Hex, Nonce};
use trefoil_attest::{DecodeError, join};
use trefoil_client::{Client, ClientError, Holder, HolderSession};
use trefoil_pipeline::Clock as _;
use trefoil_service::login::clock::SystemClock;
use trefoil_wallet::AccountKey;

/// The relying party of the demonstration.
pub(super) const AUDIENCE: &str = "https://shop.example";
/// Enrolments and proof uploads in flight: enough to keep the disk and the verifiers busy, fewer than the service's
/// proof queue holds.
const SETUP_CONCURRENCY: usize = 32;
/// Tries of one login before the demonstration gives up: sessions may end at a change of the hour, and a full
/// queue refuses.
const TRIES_MAX: usize = 50;
/// Pause before a request that found a queue full is sent again.
const BACKOFF: Duration = Duration::from_millis(100);

/// A login with its answer and the expected values of its attestation.
pub(super) struct Login {
    /// Index into the plan's attempts.
    pub(super) attempt: usize,
    /// The decision in the answer.
    pub(super) decision: Decision,
    /// The attestation as received, and once it is [`Login::join`]ed with the signature of the person's device.
    pub(super) attestation: Vec<u8>,
    /// The request as the client sent it.
    pub(super) request: Authentication,
    /// The session in which it was made.
    pub(super) session: Arc<HolderSession>,
    /// Time of the answer, Unix seconds.
    pub(super) received_at: u64,
    /// From sending the request to the end of the answer.
    pub(super) latency: Duration,
}

impl Login {
    /// Signs as the person's device does. After the load, because devices are not on the service's processors.
    pub(super) fn join(&mut self, key: &AccountKey) -> Result<(), DecodeError> {
        let signature = self.session.sign(&self.request, key, &mut rand::rng());
        self.attestation = join(&self.attestation, &signature)?;
        Ok(())
    }
}

/// The wallets of all people and the client of the service.
pub(super) struct Clients {
    client: Client,
    plan: Arc<Plan>,
    holders: Vec<Holder>,
    sessions: Vec<Mutex<Option<Arc<HolderSession>>>>,
    provers: Semaphore,
    sent_again: AtomicUsize,
}

impl Clients {
    /// Wallets that have no sessions yet. At most `provers` proofs are computed at a time.
    pub(super) fn new(client: Client, plan: Arc<Plan>, holders: Vec<Holder>, provers: usize) -> Arc<Clients> {
        let sessions = holders.iter().map(|_| Mutex::new(None)).collect();
        let (provers, sent_again) = (Semaphore::new(provers), AtomicUsize::new(0));
        Arc::new(Clients { client, plan, holders, sessions, provers, sent_again })
    }

    /// Requests that were sent again because a queue was full or a session had ended.
    pub(super) fn sent_again(&self) -> usize {
        self.sent_again.load(Ordering::Relaxed)
    }

    /// The key with which a person's device signs.
    pub(super) fn account_key(&self, attempt: usize) -> AccountKey {
        self.holders[self.plan.attempts[attempt].person].account_key(AUDIENCE)
    }

    /// Enrols all people.
    pub(super) async fn enrol(self: &Arc<Self>, stage: &Stage) -> Result<(), DemoError> {
        let people = self.holders.len();
        for_each(self, 0..people, SETUP_CONCURRENCY, stage, |clients, person| async move {
            let photographs = vec![clients.plan.template(person)];
            let enrolment = Enrolment::of(photographs, format!("demonstration-{person}"));
            let handle = clients.holders[person].handle();
            let key = format!("enrol-{person}");
            let enrolled = clients.client.enrol(handle, &enrolment, &key).await;
            enrolled
                .map_err(DemoError::call("enrolment"))
                .map(|enrolled| drop(enrolled.without_verification()))
        })
        .await
        .map(drop)
    }

    /// Proves the credentials of all people and opens their sessions.
    pub(super) async fn open_sessions(self: &Arc<Self>, stage: &Stage) -> Result<(), DemoError> {
        let people = self.holders.len();
        for_each(self, 0..people, SETUP_CONCURRENCY, stage, |clients, person| async move {
            clients.session(person, None).await.map(drop)
        })
        .await
        .map(drop)
    }

    /// Makes the attempts in `range`, `concurrency` at a time.
    pub(super) async fn log_in(
        self: &Arc<Self>,
        range: std::ops::Range<usize>,
        concurrency: usize,
        stage: &Stage,
    ) -> Result<Vec<Login>, DemoError> {
        for_each(
            self,
            range,
            concurrency,
            stage,
            |clients, attempt| async move { clients.attempt(attempt).await },
        )
        .await
    }

    async fn attempt(self: Arc<Self>, index: usize) -> Result<Login, DemoError> {
        let attempt = &self.plan.attempts[index];
        let mut stale = None;
        let mut failure = None;
        for _ in 0..TRIES_MAX {
            let session = self.session(attempt.person, stale).await?;
            let (nonce, probe) = (fresh_nonce(), self.plan.probe(attempt));
            let request = session.authentication(probe, nonce, unix_now(), AttestationForm::Full);
            let started = Instant::now();
            let cause = match self.client.authenticate(&request).await {
                Ok(answer) => {
                    // All attestations are verified after the load, which their verification would slow.
                    let answer = answer.without_verification();
                    return Ok(Login {
                        attempt: index,
                        decision: answer.decision,
                        attestation: answer.attestation.map_or_else(Vec::new, |attestation| attestation.0),
                        request,
                        session,
                        received_at: unix_now(),
                        latency: started.elapsed(),
                    });
                }
                Err(cause) => cause,
            };
            match cause.code() {
                _ if cause.is_session_over() => stale = Some(session.id()),
                Some("overloaded" | "quota-exceeded") => tokio::time::sleep(BACKOFF).await,
                _ => return Err(DemoError::call("login")(cause)),
            }
            self.sent_again.fetch_add(1, Ordering::Relaxed);
            failure = Some(cause);
        }
        let cause = failure.map_or_else(String::new, |cause| cause.to_string());
        Err(DemoError::Step { step: "login", cause })
    }

    /// The person's session; a new one if there is none or if it is the `stale` one.
    async fn session(
        self: &Arc<Self>,
        person: usize,
        stale: Option<Hex<32>>,
    ) -> Result<Arc<HolderSession>, DemoError> {
        let mut slot = self.sessions[person].lock().await;
        match &*slot {
            Some(session) if Some(session.id()) != stale => Ok(Arc::clone(session)),
            _ => {
                let session = Arc::new(self.open(person).await?);
                *slot = Some(Arc::clone(&session));
                Ok(session)
            }
        }
    }

    async fn open(self: &Arc<Self>, person: usize) -> Result<HolderSession, DemoError> {
        loop {
            let now = unix_now();
            let (opened, session) = self.prove_and_upload(person, now).await?;
            match opened {
                Ok(id) if id == session.id() => return Ok(session),
                Ok(_) => {
                    let cause = "the service names another session than the proof".to_owned();
                    return Err(DemoError::Step { step: "proof session", cause });
                }
                Err(cause) if cause.code() == Some("overloaded") => tokio::time::sleep(BACKOFF).await,
                Err(cause) => return Err(DemoError::call("proof session")(cause)),
            }
            self.sent_again.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn prove_and_upload(
        self: &Arc<Self>,
        person: usize,
        now: u64,
    ) -> Result<(Result<Hex<32>, ClientError>, HolderSession), DemoError> {
        let failed = |cause: String| DemoError::Step { step: "proof", cause };
        let permit = self.provers.acquire().await.map_err(|cause| failed(cause.to_string()))?;
        let clients = Arc::clone(self);
        // Proving is computation, so its threads are separate from those that serve and send.
        let proving = move || clients.holders[person].open(AUDIENCE, now, &mut rand::rng());
        let proven = tokio::task::spawn_blocking(proving).await.map_err(|cause| failed(cause.to_string()))?;
        drop(permit);
        let request = proven.map_err(|cause| failed(cause.to_string()))?;
        let opened = self.client.open_session(request.envelope).await;
        Ok((opened.map(|opened| opened.without_verification().session_id), request.session))
    }
}

/// Runs `job` for each index with `concurrency` of them in flight; stops at the first error.
async fn for_each<T, F>(
    clients: &Arc<Clients>,
    range: std::ops::Range<usize>,
    concurrency: usize,
    stage: &Stage,
    job: fn(Arc<Clients>, usize) -> F,
) -> Result<Vec<T>, DemoError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, DemoError>> + Send + 'static,
{
    let next = Arc::new(AtomicUsize::new(range.start));
    let mut tasks = JoinSet::new();
    for _ in 0..concurrency.min(range.len()) {
        let (clients, next, stage, end) = (Arc::clone(clients), Arc::clone(&next), stage.clone(), range.end);
        tasks.spawn(async move {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= end {
                    return Ok(done);
                }
                done.push(job(Arc::clone(&clients), index).await?);
                stage.step();
            }
        });
    }
    let mut all = Vec::with_capacity(range.len());
    while let Some(finished) = tasks.join_next().await {
        let finished =
            finished.map_err(|cause| DemoError::Step { step: "client", cause: cause.to_string() })?;
        all.extend(finished?);
    }
    Ok(all)
}

/// 128 random bits, as a relying party issues them.
fn fresh_nonce() -> Nonce {
    let bytes: [u8; 16] = rand::random();
    Nonce::new(bytes.to_vec()).expect("16 bytes are a nonce")
}

/// Unix seconds.
pub(super) fn unix_now() -> u64 {
    SystemClock::default().unix_s()
}
