//! The reference that both listeners serve: their description, a page that shows it, and an explanation of each problem.

use super::routes::table::Routes;
use super::{body, page};
use crate::openapi::Operation;
use crate::problem::{Code, Explained, Problem};
use axum::extract::Path;
use axum::handler::Handler;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;

/// Adds the routes. Each listener serves its own description.
pub(super) fn routes<H: Handler<T, Arc<crate::app::App>>, T: 'static>(routes: Routes, document: H) -> Routes {
    routes
        .route(
            Operation::get("/v1/problems/{code}", "problem")
                .says("Explain a problem.", "The `type` of a problem document is a path to this answer.")
                .path::<String>("code", "The problem's code.", Code::SessionExpired.name())
                .answers::<Explained>(
                    200,
                    "Cause, cure, and whether to retry.",
                    &Code::SessionExpired.explain(),
                )
                .fails(&[Code::RouteUnknown]),
            problem,
        )
        .route(
            Operation::get("/openapi.json", "openapi")
                .says("This description.", "OpenAPI 3.1, of the routes of this listener.")
                .answers_like(
                    "The description.",
                    json!({ "openapi": "3.1.0", "info": {}, "paths": {}, "components": {} }),
                ),
            document,
        )
        .route(
            Operation::get("/reference", "reference")
                .says("A page that shows this description.", "It loads nothing from elsewhere.")
                .answers_text("text/html", "The page.", "<!doctype html>..."),
            async || page::file("text/html; charset=utf-8", include_str!("../page/reference.html")),
        )
        .route(
            Operation::get("/reference/page.js", "referenceScript")
                .says("Its script.", "Part of the page.")
                .answers_text("text/javascript", "The script.", "..."),
            async || page::file("text/javascript; charset=utf-8", include_str!("../page/reference.js")),
        )
        .route(
            Operation::get("/reference/page.css", "referenceStyle")
                .says("Its style.", "Part of the page.")
                .answers_text("text/css", "The style.", "..."),
            async || page::file("text/css; charset=utf-8", include_str!("../page/reference.css")),
        )
}

/// `GET /v1/problems/{code}`
async fn problem(Path(code): Path<String>) -> Result<Response, Problem> {
    let unknown = || {
        let problem = Problem::new(Code::RouteUnknown, "no problem has the code that this path ends with");
        problem.cured(
            "Take the path from the member `type` of a problem, or a code from the list in API.md, Problems.",
        )
    };
    body::answer(StatusCode::OK, &Code::named(&code).ok_or_else(unknown)?.explain())
}

/// A description, made once at the start.
pub(super) fn json_file(text: &'static str) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")];
    (headers, text).into_response()
}
