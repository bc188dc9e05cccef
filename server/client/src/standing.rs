//! A session that is always open: it is renewed before it ends, and when the service says that it has ended.

use crate::client::Client;
use crate::error::ClientError;
use crate::login::{Login, LoginError};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::Mutex;
use trefoil_api::{AttestationForm, Nonce, Vector};
use trefoil_attest::{TrustRoot, VerifyError, join};
use trefoil_types::{Account, AccountKeyId};
use trefoil_wallet::{Holder, HolderError, HolderSession};

/// How often a request is repeated, with a later time, after a restart of the service.
const RESTART_REPEATS_MAX: u32 = 8;
/// Pause before each repetition, because times are in seconds.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// One holder's session with one audience, renewed as needed. Many tasks may make requests; when they need a new session, one of them
/// opens it. Cloning is cheap and gives the same session.
#[derive(Clone)]
pub struct StandingSession(Arc<Standing>);

/// The clock, unix seconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

struct Standing {
    client: Client,
    holder: Holder,
    audience: String,
    trust_root: TrustRoot,
    clock: Clock,
    current: ArcSwapOption<Opened>,
    /// Held by the task that opens a session.
    opening: Mutex<()>,
}

/// A session and its times.
struct Opened {
    session: HolderSession,
    opened_at: u64,
    expires_at: u64,
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum StandingError {
    /// The credential cannot be proven.
    #[error(transparent)]
    Holder(#[from] HolderError),
    /// The service refused, or did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There was an answer, but it must not be accepted.
    #[error(transparent)]
    Login(LoginError),
    /// The service opened another session.
    #[error("the service opened another session than the one that was proven")]
    OtherSession,
    /// The proving task did not complete.
    #[error("the proof was not made: {0}")]
    Stopped(String),
}

impl From<LoginError> for StandingError {
    fn from(cause: LoginError) -> StandingError {
        match cause {
            LoginError::Client(cause) => StandingError::Client(cause),
            other => StandingError::Login(other),
        }
    }
}

impl StandingSession {
    /// A session of `holder` with `audience`. Attestations are verified under `trust_root`, the pinned one. The first request makes the
    /// first proof.
    #[must_use]
    pub fn new(
        client: Client,
        holder: Holder,
        audience: &str,
        trust_root: TrustRoot,
        clock: Clock,
    ) -> StandingSession {
        let (audience, current, opening) = (audience.to_owned(), ArcSwapOption::empty(), Mutex::new(()));
        let standing = Standing { client, holder, audience, trust_root, clock, current, opening };
        StandingSession(Arc::new(standing))
    }

    /// What a relying party pins beside the account.
    #[must_use]
    pub fn account_key(&self) -> AccountKeyId {
        self.0.holder.account_key(&self.0.audience).id()
    }

    /// The holder's account with the audience, which is in every attestation.
    #[must_use]
    pub fn account(&self) -> Account {
        self.0.holder.account(&self.0.audience)
    }

    /// Authenticates, verifies the attestation, and joins the device's signature to it, for a relying party that pins the account key. If the session is about to end, another one is opened in the background; if it has ended, one is
    /// opened first. If the service says that it has ended, the request is repeated once in a new session. The refused request was not attempted, so it
    /// spent nothing.
    ///
    /// # Errors
    /// Those of [`Client::login`], of [`Client::open_session`] and of [`Holder::open`].
    pub async fn authenticate(
        &self,
        probe: &Vector,
        nonce: &Nonce,
        form: AttestationForm,
    ) -> Result<Login, StandingError> {
        let opened = self.session().await?;
        match self.request(&opened, probe, nonce, form).await {
            Err(LoginError::Client(cause)) if cause.is_session_over() => {
                let opened = self.0.open(Some(&opened)).await?;
                Ok(self.request(&opened, probe, nonce, form).await?)
            }
            other => Ok(other?),
        }
    }

    async fn request(
        &self,
        opened: &Opened,
        probe: &Vector,
        nonce: &Nonce,
        form: AttestationForm,
    ) -> Result<Login, LoginError> {
        let mut repeats = 0;
        loop {
            let now = (self.0.clock)();
            let request = opened.session.authentication(probe.clone(), nonce.clone(), now, form);
            match self.0.client.login(&opened.session, &request, &self.0.trust_root, now).await {
                Ok(login) => {
                    let key = self.0.holder.account_key(&self.0.audience);
                    let signature = opened.session.sign(&request, &key, &mut rand::rng());
                    let attestation = join(&login.attestation, &signature).map_err(VerifyError::from)?;
                    return Ok(Login { attestation, ..login });
                }
                Err(LoginError::Client(cause))
                    if cause.is_before_restart() && repeats < RESTART_REPEATS_MAX =>
                {
                    tokio::time::sleep(RESTART_PAUSE).await;
                    repeats += 1;
                }
                other => return other,
            }
        }
    }

    /// The session to use now.
    async fn session(&self) -> Result<Arc<Opened>, StandingError> {
        let now = (self.0.clock)();
        match self.0.current.load_full() {
            Some(opened) if !opened.is_due(now) => Ok(opened),
            Some(opened) if now < opened.expires_at => {
                let (standing, stale) = (Arc::clone(&self.0), Arc::clone(&opened));
                // If it fails, a later request tries again. A request after the end of the session waits for it and reports the error.
                tokio::spawn(async move { standing.open(Some(&stale)).await.map(drop) });
                Ok(opened)
            }
            stale => self.0.open(stale.as_deref()).await,
        }
    }
}

impl Standing {
    /// Opens a session in place of `stale`, unless another task has.
    async fn open(self: &Arc<Self>, stale: Option<&Opened>) -> Result<Arc<Opened>, StandingError> {
        let _one_at_a_time = self.opening.lock().await;
        let replaced =
            |current: &Arc<Opened>| stale.is_none_or(|stale| stale.session.id() != current.session.id());
        if let Some(current) = self.current.load_full().filter(replaced) {
            return Ok(current);
        }
        let standing = Arc::clone(self);
        // Proving takes tens of milliseconds of computation.
        let proven = tokio::task::spawn_blocking(move || {
            standing.holder.open(&standing.audience, (standing.clock)(), &mut rand::rng())
        });
        let proven = proven.await.map_err(|cause| StandingError::Stopped(cause.to_string()))??;
        // The session's key is in the proof, and its logins are verified. The end says only when to open the next.
        let answer = self.client.open_session(proven.envelope).await?.without_verification();
        if answer.session_id != proven.session.id() {
            return Err(StandingError::OtherSession);
        }
        let (session, opened_at) = (proven.session, (self.clock)());
        let opened = Arc::new(Opened { session, opened_at, expires_at: answer.expires_at });
        self.current.store(Some(Arc::clone(&opened)));
        Ok(opened)
    }
}

impl Opened {
    fn is_due(&self, now: u64) -> bool {
        self.session.is_due(self.opened_at, self.expires_at, now)
    }
}
