//! Values of the header `Authorization`. They are secrets: debug output does not show them, and their memory is overwritten when the last clone
//! is dropped. Copies in buffers of the HTTP and TLS libraries are not.

use crate::error::ClientError;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use zeroize::Zeroizing;

/// Shows an API key or a token.
pub(crate) fn bearer(text: &str) -> Result<HeaderValue, ClientError> {
    let owner = Bytes::from_owner(Zeroizing::new(["Bearer ", text].concat().into_bytes()));
    let mut value = HeaderValue::from_maybe_shared(owner)
        .map_err(|_| ClientError::Argument("the API key or token holds control characters"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        let bearer = bearer("trefoil_0123456789abcdef_-Secret_9").unwrap();
        assert_eq!(format!("{bearer:?}"), "Sensitive");
        assert!(super::bearer("trefoil_0123456789abcdef_sec\nret").is_err());
    }
}
