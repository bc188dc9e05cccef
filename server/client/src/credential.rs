//! Values of the header `Authorization`. They are secrets: debug output does not show them, and their memory is overwritten when the last clone
//! is dropped. Copies in buffers of the HTTP and TLS libraries are not.

use crate::error::ClientError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use zeroize::Zeroizing;

const BEARER: &str = "Bearer ";
const BASIC: &str = "Basic ";
/// Before the id of an API key.
const API_KEY: &str = "trefoil_";
/// Hexadecimal digits of that id.
const ID_DIGITS: usize = 16;

/// Not an API key. The text is not shown, because it may be a secret.
const NO_API_KEY: ClientError = ClientError::Argument(
    "only an API key, as the service showed it, can be exchanged for an access token; an access token cannot",
);

/// Shows an API key or a token.
pub(crate) fn bearer(text: &str) -> Result<HeaderValue, ClientError> {
    secret([BEARER, text].concat().into_bytes())
}

/// Shows the API key of a value of [`bearer`] as the secret of an OAuth client (RFC 6749 section 2.3.1). The client is named by the key's id, which
/// the key contains. Neither has a character that a form encodes.
pub(crate) fn basic(bearer: &HeaderValue) -> Result<HeaderValue, ClientError> {
    let shown = bearer.to_str().ok().and_then(|value| value.strip_prefix(BEARER));
    let (id, key) = shown.and_then(|key| Some((id(key)?, key))).ok_or(NO_API_KEY)?;
    let client = Zeroizing::new([id, ":", key].concat());
    let mut value = Zeroizing::new(vec![0; BASIC.len() + client.len().div_ceil(3) * 4]);
    let (scheme, encoded) = value.split_at_mut(BASIC.len());
    scheme.copy_from_slice(BASIC.as_bytes());
    STANDARD.encode_slice(client.as_bytes(), encoded).map_err(|_| NO_API_KEY)?;
    secret(std::mem::take(&mut *value))
}

/// The id in an API key.
fn id(key: &str) -> Option<&str> {
    let (id, secret) = key.strip_prefix(API_KEY)?.split_once('_')?;
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (is_id && !secret.is_empty() && secret.bytes().all(is_secret)).then_some(id)
}

fn secret(value: Vec<u8>) -> Result<HeaderValue, ClientError> {
    let owner = Bytes::from_owner(Zeroizing::new(value));
    let mut value = HeaderValue::from_maybe_shared(owner)
        .map_err(|_| ClientError::Argument("the API key or token holds control characters"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "trefoil_0123456789abcdef_-Secret_9";

    #[test]
    fn an_api_key_is_shown_as_an_oauth_client() {
        let value = basic(&bearer(KEY).unwrap()).unwrap();
        let encoded = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
        let client = STANDARD.decode(encoded).unwrap();
        assert_eq!(client, format!("0123456789abcdef:{KEY}").as_bytes());
    }

    #[test]
    fn what_is_no_api_key_is_refused_and_not_repeated() {
        for other in [
            "",
            "secret-of-nobody",
            "trefoil_access_abcdefghijklmnop",
            "trefoil_0123456789abcdef_",
            "trefoil_0123456789ABCDEF_secret",
            "trefoil_0123456789abcde_secret",
            "trefoil_0123456789abcdef_sec ret",
            "trefoil_0123456789abcdef_sec:ret",
            " trefoil_0123456789abcdef_secret",
        ] {
            let refused = basic(&bearer(other).unwrap()).unwrap_err().to_string();
            assert!(refused.contains("only an API key"), "{refused}");
            assert!(other.is_empty() || !refused.contains(other), "{refused}");
        }
        assert!(bearer("trefoil_0123456789abcdef_sec\nret").is_err());
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let bearer = bearer(KEY).unwrap();
        for value in [basic(&bearer).unwrap(), bearer] {
            assert_eq!(format!("{value:?}"), "Sensitive");
        }
    }
}
