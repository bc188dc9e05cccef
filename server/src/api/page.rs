//! The page that verifies an attestation in the browser: three embedded files, and a policy that lets it load nothing
//! else. From a checkout the page works as a file, too. The script is made from `crypto/clients/typescript/page` and committed, so that building the server does not need
//! Node. The test command checks that it is up to date.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

/// Scripts and styles come from this origin only, requests go to it only, no page frames it, and no string becomes code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// `GET /verify`
pub(super) async fn document() -> Response {
    file("text/html; charset=utf-8", include_str!("../page/verify.html"))
}

/// `GET /verify.js`
pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("../page/verify.js"))
}

/// `GET /verify.css`
pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("../page/verify.css"))
}

pub(super) fn file(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 6] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=300"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    (headers, text).into_response()
}
