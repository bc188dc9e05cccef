//! Which path and method lead to which handler, each with what the API's description says of it.

mod admin;
mod public;

pub(crate) use admin::routes as admin;
pub(crate) use public::routes as public;

use crate::app::App;
use crate::openapi::{self, Listener, Method, Operation};
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use serde_json::Value;
use std::sync::Arc;

/// Routes that are described: there is no other way to add one.
pub(crate) struct Routes {
    listener: Listener,
    router: Router<Arc<App>>,
    operations: Vec<Operation>,
}

impl Routes {
    fn new(listener: Listener) -> Routes {
        Routes { listener, router: Router::new(), operations: Vec::new() }
    }

    pub(super) fn route<H: Handler<T, Arc<App>>, T: 'static>(
        mut self,
        operation: Operation,
        handler: H,
    ) -> Routes {
        let filter = match operation.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        self.router = self.router.route(operation.path, on(filter, handler));
        self.operations.push(operation);
        self
    }

    /// What leads requests to handlers.
    pub(super) fn router(self) -> Router<Arc<App>> {
        self.router
    }

    /// Methods and patterns.
    pub(crate) fn names(&self) -> Vec<(Method, &'static str)> {
        self.operations.iter().map(|operation| (operation.method, operation.path)).collect()
    }

    /// The description.
    pub(crate) fn document(&self) -> Value {
        openapi::document(self.listener, &self.operations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;
    use std::collections::BTreeSet;

    fn both() -> Vec<Operation> {
        [public(), admin()].into_iter().flat_map(|routes| routes.operations).collect()
    }

    #[test]
    fn every_route_has_a_description_an_example_of_each_body_and_an_error_response() {
        for Operation { path, id, summary, description, parameters, request, answer, codes, .. } in both() {
            assert!(
                summary.ends_with('.') && description.ends_with('.'),
                "{id}: {summary:?} {description:?}"
            );
            // The last two are what any route may answer.
            assert!(codes.len() >= 2, "{id}");
            for parameter in &parameters {
                assert!(
                    !parameter.about.is_empty() && !parameter.example.is_null(),
                    "{id}: {}",
                    parameter.name
                );
            }
            let named = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
            for name in named {
                assert!(parameters.iter().any(|parameter| parameter.name == name), "{path}: {name}");
            }
            for body in request.iter().chain(&answer) {
                let is_binary = ["application/octet-stream", "application/cbor"].contains(&body.media_type);
                assert!(
                    !body.about.is_empty() && body.example.is_some() != is_binary,
                    "{id}: {}",
                    body.media_type
                );
            }
        }
    }

    #[test]
    fn every_problem_is_one_of_some_route() {
        let told: BTreeSet<&str> =
            both().iter().flat_map(|operation| &operation.codes).map(|code| code.name()).collect();
        let nowhere: Vec<&str> =
            Code::ALL.into_iter().map(Code::name).filter(|name| !told.contains(name)).collect();
        // One of the listener and not of a route, and one that no request of today gets.
        assert_eq!(nowhere, ["method-not-allowed", "proof-mode-mismatch"]);
    }

    #[test]
    fn names_of_operations_are_unique_and_references_lead_somewhere() {
        for routes in [public(), admin()] {
            let mut ids = BTreeSet::new();
            for operation in &routes.operations {
                assert!(ids.insert(operation.id), "{}", operation.id);
            }
        }
        for document in [public().document(), admin().document()] {
            let text = document.to_string();
            for target in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
                assert!(document.pointer(target).is_some(), "{target}");
            }
        }
    }
}
