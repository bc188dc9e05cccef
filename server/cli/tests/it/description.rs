//! The description of the API, held against every answer that the test client gets.

use crate::http::Reply;
use hyper::Method;
use serde_json::Value;
use std::sync::LazyLock;
use trefoil_server::description;
use trefoil_server::openapi::Listener;

static DOCUMENTS: LazyLock<[Value; 2]> =
    LazyLock::new(|| [Listener::Public, Listener::Admin].map(description::of));

/// Answers that the listener gives itself, before or without a route, and faults that tests cause.
const OF_NO_ROUTE: [&str; 2] = ["route-unknown", "method-not-allowed"];

/// Asserts that the description of a route that the path leads to has the answer's status, media type and code.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, reply: &Reply) {
    let media_type = reply.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    let media_type = media_type.split(';').next().unwrap();
    let is_problem = media_type == "application/problem+json";
    let code = if is_problem { reply.json()["code"].as_str().unwrap().to_owned() } else { String::new() };
    if OF_NO_ROUTE.contains(&&*code) {
        return;
    }
    let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
    let mut responses = routes(path).filter_map(|item| item.get(&method)).map(|route| &route["responses"]);
    let status = reply.status.as_u16().to_string();
    let described = responses.clone().any(|responses| match responses.get(&status) {
        None => false,
        Some(response) if is_problem => response["content"][media_type]["examples"].get(&code).is_some(),
        Some(response) => response.get("content").is_none_or(|content| content.get(media_type).is_some()),
    });
    // A malformed path matches no route.
    assert!(
        described || responses.next().is_none(),
        "{method} {path}: the description has no {status} {media_type} {code}"
    );
}

/// The path items that a path leads to, of both listeners: the more literal one where two do.
fn routes(path: &str) -> impl Iterator<Item = &'static Value> + Clone {
    let path = path.split('?').next().unwrap().to_owned();
    DOCUMENTS.iter().filter_map(move |document| {
        let paths = document["paths"].as_object().unwrap();
        let exact = paths.get(&path).filter(|_| !path.contains('{'));
        exact.or_else(|| paths.iter().find(|(pattern, _)| leads(&path, pattern)).map(|(_, item)| item))
    })
}

fn leads(path: &str, pattern: &str) -> bool {
    let (mut segments, mut patterns) = (path.split('/'), pattern.split('/'));
    loop {
        match (segments.next(), patterns.next()) {
            (None, None) => return true,
            (Some(segment), Some(pattern)) if pattern.starts_with('{') || segment == pattern => {}
            _ => return false,
        }
    }
}
