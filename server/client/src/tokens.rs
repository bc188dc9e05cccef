//! Access tokens: for some minutes they do what their API key may do, or less (OAuth 2.0 client credentials, RFC 6749 section 4.4).
//!
//! # Sharing
//!
//! Clones of a client share its token, and so do their tasks. After four fifths of a token's life one task exchanges the API key for the next one, and the
//! others send the present one meanwhile. Without a valid token they wait for that task. If its exchange fails, those that waited get the same error,
//! so a service that is away costs one attempt and not one for each of them. If the task is dropped, one that waits takes its place.

use crate::credential;
use crate::error::{ClientError, ProblemDocument, answer};
use arc_swap::ArcSwapOption;
use hyper::header::HeaderValue;
use hyper::http::response;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};
use trefoil_api::{Scope, Token};
use zeroize::Zeroizing;

/// Where API keys are exchanged.
pub(crate) const PATH: &str = "/oauth2/token";
const ROUTE: &str = "POST /oauth2/token";
/// The code of a request with a token that has ended. Nothing was attempted.
pub(crate) const UNKNOWN: &str = "caller-unauthenticated";

/// A token is replaced after this part of its life: two minutes before its end if it lasts ten.
const RENEWED_AFTER: (u32, u32) = (4, 5);
/// Pause after a failed renewal, while the token is still valid.
const RENEWAL_PAUSE: Duration = Duration::from_secs(10);
/// Longest life that is believed. The service's tokens last ten minutes.
const LIFE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A credential in place of an API key, from [`Client::access_token`](crate::Client::access_token). It ends with the key, and when the service
/// restarts. Its memory is overwritten when it is dropped.
pub struct AccessToken {
    text: Zeroizing<String>,
    scopes: Vec<Scope>,
    valid_for: Duration,
}

impl AccessToken {
    /// The token, which [`Client::new`](crate::Client::new) takes as its `api_key`. It is a secret.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it may be used for.
    #[must_use]
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// How long it is valid, from the moment at which it was requested.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.valid_for
    }

    /// Reads the answer to an [`Exchange`].
    pub(crate) fn read(body: &[u8]) -> Result<AccessToken, ClientError> {
        let token: Token = serde_json::from_slice(body).map_err(|cause| answer(ROUTE, &cause))?;
        let Token { access_token, token_type, expires_in, scope } = token;
        let text = Zeroizing::new(access_token);
        if !token_type.eq_ignore_ascii_case("bearer") {
            return Err(answer(ROUTE, &format!("a token of the type {token_type:?}, not Bearer")));
        }
        let named = |given: &Scope| scope.split(' ').any(|name| name == given.name());
        let scopes = Scope::ALL.into_iter().filter(named).collect();
        let valid_for = Duration::from_secs(expires_in).min(LIFE_MAX);
        Ok(AccessToken { text, scopes, valid_for })
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccessToken { text: _, scopes, valid_for } = self;
        f.debug_struct("AccessToken")
            .field("scopes", scopes)
            .field("valid_for", valid_for)
            .finish_non_exhaustive()
    }
}

/// A request for a token.
#[derive(Clone)]
pub(crate) struct Exchange {
    /// Shows the API key.
    pub(crate) basic: HeaderValue,
    /// The body.
    pub(crate) form: String,
}

impl Exchange {
    /// For a token with these scopes of an API key, or with all of them.
    pub(crate) fn new(basic: HeaderValue, scopes: Option<&[Scope]>) -> Result<Exchange, ClientError> {
        let grant = "grant_type=client_credentials";
        let form = match scopes {
            None => grant.to_owned(),
            // The service takes an empty list for no list.
            Some([]) => {
                return Err(ClientError::Argument(
                    "name at least one scope, or give None for all of the key's",
                ));
            }
            Some(scopes) => {
                let names: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
                format!("{grant}&scope={}", names.join("+"))
            }
        };
        Ok(Exchange { basic, form })
    }

    /// Why there is no token: the service says so as OAuth does (RFC 6749 section 5.2), or with a problem.
    pub(crate) fn refused(head: &response::Parts, body: &[u8]) -> ClientError {
        #[derive(Deserialize)]
        struct Refusal {
            error: String,
            error_description: String,
        }
        let status = head.status.as_u16();
        if let Ok(problem) = serde_json::from_slice::<ProblemDocument>(body) {
            return ClientError::Problem(Box::new(problem));
        }
        let Ok(Refusal { error, error_description }) = serde_json::from_slice(body) else {
            return ClientError::Status { route: ROUTE.to_owned(), status };
        };
        let request_id = head.headers.get("request-id").and_then(|id| id.to_str().ok());
        ClientError::Problem(Box::new(ProblemDocument {
            r#type: "about:blank".to_owned(),
            title: "There is no access token".to_owned(),
            status,
            code: error,
            // It has the next step too.
            detail: error_description,
            cure: String::new(),
            request_id: request_id.unwrap_or_default().to_owned(),
        }))
    }
}

/// The token that a client sends in place of its API key. See the module for how tasks share it.
pub(crate) struct Tokens {
    exchange: Exchange,
    held: ArcSwapOption<Held>,
    /// Held by the task that exchanges the key. In it is the last exchange that failed.
    exchanging: Mutex<Option<Failed>>,
}

/// A token and its times.
struct Held {
    bearer: HeaderValue,
    /// From then on another one is requested.
    due: Instant,
    /// From then on the service refuses it.
    ends: Instant,
}

/// An exchange that failed.
struct Failed {
    at: Instant,
    cause: ClientError,
}

impl Tokens {
    /// Without a token: the first request gets one.
    pub(crate) fn new(exchange: Exchange) -> Tokens {
        Tokens { exchange, held: ArcSwapOption::empty(), exchanging: Mutex::new(None) }
    }

    /// What is sent for each token.
    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The value of `Authorization` for a request that begins now. `exchange` is run if it is time for another token.
    pub(crate) async fn bearer(
        &self,
        now: Instant,
        exchange: impl Future<Output = Result<AccessToken, ClientError>>,
    ) -> Result<HeaderValue, ClientError> {
        if let Some(bearer) = self.present(now) {
            return Ok(bearer);
        }
        let held = self.held.load_full();
        let valid = held.as_ref().filter(|held| now < held.ends);
        let mut last = match (self.exchanging.try_lock(), valid) {
            (Ok(alone), _) => alone,
            (Err(_), Some(valid)) => return Ok(valid.bearer.clone()),
            (Err(_), None) => self.exchanging.lock().await,
        };
        if let Some(bearer) = self.present(now) {
            return Ok(bearer);
        }
        if let Some(failed) = last.as_ref().filter(|failed| now < failed.at) {
            return Err(failed.cause.clone());
        }
        match (exchange.await.and_then(|token| Held::new(&token, now)), valid) {
            (Ok(next), _) => {
                let bearer = next.bearer.clone();
                self.held.store(Some(Arc::new(next)));
                Ok(bearer)
            }
            (Err(_), Some(valid)) => {
                let (bearer, due, ends) = (valid.bearer.clone(), now + RENEWAL_PAUSE, valid.ends);
                // Unless it was forgotten meanwhile.
                self.replace(
                    &held,
                    Some(Arc::new(Held { bearer: bearer.clone(), due: due.min(ends), ends })),
                );
                Ok(bearer)
            }
            (Err(cause), None) => Err(noted(&mut last, cause)),
        }
    }

    /// The service refused this token: the next request gets another one.
    pub(crate) fn forget(&self, refused: &HeaderValue) {
        let held = self.held.load_full();
        if held.as_ref().is_some_and(|held| held.bearer == *refused) {
            self.replace(&held, None);
        }
    }

    /// The token, if it is not time for another one.
    fn present(&self, now: Instant) -> Option<HeaderValue> {
        self.held.load().as_ref().filter(|held| now < held.due).map(|held| held.bearer.clone())
    }

    /// Replaces what is held if it is still `before`.
    fn replace(&self, before: &Option<Arc<Held>>, after: Option<Arc<Held>>) {
        drop(self.held.compare_and_swap(before, after));
    }
}

/// Notes for those that wait why there is no token.
fn noted(last: &mut MutexGuard<'_, Option<Failed>>, cause: ClientError) -> ClientError {
    **last = Some(Failed { at: Instant::now(), cause: cause.clone() });
    cause
}

impl Held {
    /// A token that was requested at this time.
    fn new(token: &AccessToken, requested: Instant) -> Result<Held, ClientError> {
        let (part, whole) = RENEWED_AFTER;
        let due = requested + token.valid_for * part / whole;
        Ok(Held { bearer: credential::bearer(token.text())?, due, ends: requested + token.valid_for })
    }
}

#[cfg(test)]
mod tests;
