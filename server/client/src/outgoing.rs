//! A request before it has a credential.

use super::error::ClientError;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

/// See the module.
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Bytes,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Outgoing {
    /// A request without a body.
    pub(super) fn get(path: impl Into<String>) -> Outgoing {
        Outgoing { method: Method::GET, path: path.into(), body: Bytes::new(), headers: Vec::new() }
    }

    /// A request that deletes.
    pub(super) fn delete(path: impl Into<String>) -> Outgoing {
        Outgoing { method: Method::DELETE, ..Outgoing::get(path) }
    }

    /// A request that changes something and has no body.
    pub(super) fn post_empty(path: impl Into<String>) -> Outgoing {
        Outgoing { method: Method::POST, ..Outgoing::get(path) }
    }

    /// A body of JSON.
    pub(super) fn post_json(path: impl Into<String>, body: &impl serde::Serialize) -> Outgoing {
        // Only map keys that are not strings and failing `Serialize` implementations cannot become JSON; the
        // client's types have neither.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Outgoing::post(path, body, HeaderValue::from_static("application/json"))
    }

    /// A JSON body of a PUT.
    pub(super) fn put_json(path: impl Into<String>, body: &impl serde::Serialize) -> Outgoing {
        Outgoing { method: Method::PUT, ..Outgoing::post_json(path, body) }
    }

    /// A body of bytes.
    pub(super) fn post_bytes(path: impl Into<String>, body: Vec<u8>) -> Outgoing {
        Outgoing::post(path, body, HeaderValue::from_static("application/octet-stream"))
    }

    /// A body of text.
    pub(super) fn post_text(path: impl Into<String>, body: String) -> Outgoing {
        Outgoing::post(path, body.into_bytes(), HeaderValue::from_static("text/plain"))
    }

    /// Adds a header.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Result<Outgoing, ClientError> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| ClientError::Argument("a header value holds control characters"))?;
        self.headers.push((HeaderName::from_static(name), value));
        Ok(self)
    }

    fn post(path: impl Into<String>, body: Vec<u8>, kind: HeaderValue) -> Outgoing {
        Outgoing {
            method: Method::POST,
            path: path.into(),
            body: body.into(),
            headers: vec![(CONTENT_TYPE, kind)],
        }
    }

    /// Method and path.
    pub(super) fn route(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}
