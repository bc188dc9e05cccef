//! Access tokens for API keys by OAuth 2.0: client credentials (RFC 6749 section 4.4) and metadata (RFC 8414).

use super::body;
use super::caller::{authorization, check_ready};
use super::sizes::JSON_BYTES_MAX;
use super::uses::is_use_of;
use crate::app::App;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use trefoil_api::{Scope, Token, TokenError, TokenRequest};
use trefoil_service::Refused;
use trefoil_service::directory::access_tokens::AccessToken;
use trefoil_service::tenant::Scopes;
use zeroize::Zeroizing;

pub(super) const TOKEN_PATH: &str = "/oauth2/token";
pub(super) const FORM: &str = "application/x-www-form-urlencoded";
const GRANT: &str = "client_credentials";
const METHODS: [&str; 2] = ["client_secret_basic", "client_secret_post"];

/// The client: the id of an API key, and the key.
struct Client {
    id: String,
    secret: Zeroizing<String>,
}

/// `POST /oauth2/token`
pub(super) async fn token(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    check_ready(&app)?;
    let headers = request.headers().clone();
    let bytes = body::bytes(request, FORM, 0, JSON_BYTES_MAX, &app.limits).await.map_err(unread)?;
    let mut asked = parse(&bytes)?;
    match given(asked.grant_type.as_deref()) {
        Some(GRANT) => {}
        None => return Err(invalid("send `grant_type=client_credentials`")),
        Some(_) => {
            let detail = "send `grant_type=client_credentials`, which is the only grant there is";
            return Err(refused(Code::MalformedRequest, TokenError::UnsupportedGrantType, detail));
        }
    }
    let Client { id, secret } = client(&headers, &mut asked)?;
    let (service, now) = (&app.service, app.service.now());
    let known = service.found(|| service.directory.client(&id, &secret, now)).await.map_err(unknown)?;
    is_use_of(&known.uses);
    let scopes = scopes(given(asked.scope.as_deref()), known.scopes)?;
    answer(&app.service.directory.access_token(&known, scopes, now))
}

fn answer(AccessToken { text, scopes, life_s }: &AccessToken) -> Result<Response, Problem> {
    let scope = scopes.list().into_iter().map(Scope::name).collect::<Vec<_>>().join(" ");
    let (access_token, token_type) = (text.to_string(), "Bearer".to_owned());
    let token = Token { access_token, token_type, expires_in: *life_s, scope };
    let uncached = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    Ok((uncached, body::answer(StatusCode::OK, &token)?).into_response())
}

/// `GET /.well-known/oauth-authorization-server`
pub(super) async fn metadata(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let root = app.service.trust_root.root();
    let address = match app.config.server.public_url.as_str() {
        "" => root.issuer(),
        public_url => public_url,
    };
    body::answer(StatusCode::OK, &described(address.trim_end_matches('/')))
}

/// The metadata of the service that callers reach at this address.
pub(super) fn described(address: &str) -> Value {
    json!({
        "issuer": address,
        "token_endpoint": format!("{address}{TOKEN_PATH}"),
        "grant_types_supported": [GRANT],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": METHODS,
        "scopes_supported": Scope::ALL.map(Scope::name),
    })
}

/// The parameters, each at most once.
fn parse(bytes: &[u8]) -> Result<TokenRequest, Problem> {
    serde_urlencoded::from_bytes(bytes)
        // The cause could contain a secret of the request.
        .map_err(|_| invalid("the body is no form, or has a parameter twice; send each of `grant_type`, `scope`, `client_id` and `client_secret` once"))
}

/// A parameter without a value counts as absent (RFC 6749 section 3.2).
fn given(parameter: Option<&str>) -> Option<&str> {
    parameter.filter(|value| !value.is_empty())
}

/// Reads it from the header or from the body, and not from both.
fn client(headers: &HeaderMap, asked: &mut TokenRequest) -> Result<Client, Problem> {
    let secret = asked.client_secret.take().map(Zeroizing::new).filter(|secret| !secret.is_empty());
    let id = asked.client_id.take().filter(|id| !id.is_empty());
    let header = authorization(headers)
        .map_err(|_| invalid("the request has several `Authorization` headers; send one"))?;
    match (header, id, secret) {
        (Some(_), _, Some(_)) => {
            Err(invalid("send the API key in the header or as `client_secret`, and not in both"))
        }
        (Some(header), id, None) => {
            let client = header.to_str().ok().and_then(basic).ok_or_else(unnamed)?;
            match id.is_none_or(|id| id == client.id) {
                true => Ok(client),
                false => Err(invalid("`client_id` is another one than in the header; send it once")),
            }
        }
        (None, Some(id), Some(secret)) => Ok(Client { id, secret }),
        (None, ..) => Err(unnamed()),
    }
}

/// RFC 6749 section 2.3.1: both parts are form-encoded before they are joined.
fn basic(header: &str) -> Option<Client> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = Zeroizing::new(STANDARD.decode(encoded.trim()).ok()?);
    let (id, secret) = std::str::from_utf8(&joined).ok()?.split_once(':')?;
    // An id and a key have only characters that a form does not encode.
    Some(Client { id: id.to_owned(), secret: Zeroizing::new(secret.to_owned()) })
}

fn scopes(asked: Option<&str>, own: Scopes) -> Result<Scopes, Problem> {
    let Some(asked) = asked else { return Ok(own) };
    let named =
        |name: &str| Scope::ALL.into_iter().find(|scope| scope.name() == name && own.contains(*scope));
    let scopes: Option<Vec<Scope>> = asked.split(' ').map(named).collect();
    scopes.map(|scopes| Scopes::of(&scopes)).ok_or_else(|| {
        let own = own.list().into_iter().map(Scope::name).collect::<Vec<_>>().join(" ");
        let detail =
            format!("the API key has the scopes `{own}`; ask for some of them, separated by one space");
        Problem::new(Code::ScopeMissing, detail).oauth(TokenError::InvalidScope)
    })
}

fn refused(code: Code, error: TokenError, detail: &'static str) -> Problem {
    Problem::new(code, detail).oauth(error)
}

fn invalid(detail: &'static str) -> Problem {
    refused(Code::MalformedRequest, TokenError::InvalidRequest, detail)
}

fn unnamed() -> Problem {
    let detail = "send the API key's id and the API key as user and password of `Authorization: Basic`, or as `client_id` and `client_secret`";
    refused(Code::CallerUnauthenticated, TokenError::InvalidClient, detail)
}

fn unknown(cause: Refused) -> Problem {
    match cause {
        Refused::TenantDisabled => {
            let detail = "the operator disabled the tenant; ask the operator to enable it";
            refused(Code::TenantDisabled, TokenError::UnauthorizedClient, detail)
        }
        _ => {
            let detail = "send an API key that exists and is neither expired nor revoked, with its own id";
            refused(Code::CallerUnauthenticated, TokenError::InvalidClient, detail)
        }
    }
}

/// The OAuth error for a problem with the body.
fn unread(problem: Problem) -> Problem {
    match problem.code() {
        Code::MalformedRequest | Code::MediaTypeUnsupported => problem.oauth(TokenError::InvalidRequest),
        _ => problem,
    }
}
