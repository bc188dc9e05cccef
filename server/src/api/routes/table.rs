//! Routes, each with its description, so that the two cannot differ.

use crate::app::App;
use crate::openapi::{self, Caller, Listener, Method, Operation};
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use axum::{Extension, Router};
use serde_json::Value;
use std::sync::Arc;

/// Routes that are described: there is no other way to add one.
pub(crate) struct Routes {
    listener: Listener,
    router: Router<Arc<App>>,
    pub(super) operations: Vec<Operation>,
}

impl Routes {
    pub(super) fn new(listener: Listener) -> Routes {
        Routes { listener, router: Router::new(), operations: Vec::new() }
    }

    pub(crate) fn route<H: Handler<T, Arc<App>>, T: 'static>(
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
        let mut handler = on(filter, handler);
        if let Caller::Operator(needs) = operation.caller {
            handler = handler.layer(Extension(needs));
        }
        self.router = self.router.route(operation.path, handler);
        self.operations.push(operation);
        self
    }

    /// The router, which passes requests to handlers.
    pub(crate) fn router(self) -> Router<Arc<App>> {
        self.router
    }

    /// The description.
    pub(crate) fn document(&self) -> Value {
        openapi::document(self.listener, &self.operations)
    }
}
