//! Answers for callers that poll: with `If-None-Match` they get a body only when it changed.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The headers that a 304 repeats from the answer that it stands for (RFC 9110, section 15.4.5).
const REPEATED: [HeaderName; 3] = [header::CACHE_CONTROL, header::CONTENT_LOCATION, header::ETAG];

/// An answer with its `ETag`, or 304 for a caller that sends this tag. The tag must change whenever any part of the answer does.
pub(super) fn tagged(asked: &HeaderMap, tag: &str, mut answer: Response) -> Response {
    let tag = HeaderValue::try_from(format!("\"{tag}\"")).expect("digits in quotes are a header value");
    let known = asked.get_all(header::IF_NONE_MATCH).iter().any(|known| names(known, &tag));
    answer.headers_mut().insert(header::ETAG, tag);
    if !known {
        return answer;
    }
    let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
    for name in REPEATED {
        if let Some(value) = answer.headers_mut().remove(&name) {
            unchanged.headers_mut().insert(name, value);
        }
    }
    unchanged
}

/// Whether a list of tags, or `*`, names this tag. A proxy may have made the tag weak.
fn names(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let known = known.to_str().unwrap_or("").split(',').map(str::trim);
    let mut known = known.map(|known| known.strip_prefix("W/").unwrap_or(known));
    known.any(|known| known == "*" || known.as_bytes() == tag.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_tag_of_a_list_counts_weak_or_not_and_nothing_else_does() {
        let names =
            |known: &str| names(&HeaderValue::from_str(known).unwrap(), &HeaderValue::from_static("\"12\""));
        for known in ["\"12\"", "W/\"12\"", "\"1\", \"12\"", "*", "\"1\" ,W/\"12\" "] {
            assert!(names(known), "{known}");
        }
        for known in ["", "12", "\"1\"", "\"1\", \"2\"", "w/\"12\"", "\"12"] {
            assert!(!names(known), "{known}");
        }
    }
}
