//! The description of one route.

use crate::openapi::needs::Needs;
use crate::problem::Code;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use trefoil_api::{Role, Scope};
use trefoil_attest::Kind;

/// The media type of most bodies.
pub(crate) const JSON: &str = "application/json";

/// An HTTP method that routes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// Who may call.
#[derive(Clone, Copy)]
pub(crate) enum Caller {
    Anyone,
    Tenant(Scope),
    /// A tenant, with an API key of any scope.
    AnyKey,
    Operator(Needs),
}

/// The schema of a value.
pub(crate) enum Shape {
    /// Of a type.
    Of(fn(&mut SchemaGenerator) -> Schema),
    /// Of values like this one: the same members, of the same kinds.
    Like(Value),
    /// Bytes or text that another specification defines.
    Opaque,
    /// Text.
    Text,
}

/// Where a parameter is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    /// A header that may be absent: the ETag that the request depends on.
    Condition,
    /// A header that may be absent.
    OptionalHeader,
}

/// A parameter.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
    pub(crate) example: Value,
}

/// A body, of a request or of an answer.
pub(crate) struct Body {
    pub(crate) media_type: &'static str,
    pub(crate) shape: Shape,
    pub(crate) about: String,
    pub(crate) example: Option<Value>,
}

/// A route and its description.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) caller: Caller,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) request: Option<Body>,
    pub(crate) status: u16,
    pub(crate) answer: Option<Body>,
    /// Other answers in text: the status, what it says, an example.
    pub(crate) others: Vec<(u16, &'static str, &'static str)>,
    /// Whether it answers 304 to a caller that has the answer.
    pub(crate) polled: bool,
    /// Headers of the answer, beside those of every answer.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) codes: Vec<Code>,
}

impl Method {
    /// As the document writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Post => "post",
            Method::Put => "put",
            Method::Delete => "delete",
        }
    }
}

impl Shape {
    /// Of a type.
    pub(crate) fn of<T: JsonSchema>() -> Shape {
        Shape::Of(|generator| generator.subschema_for::<T>())
    }
}

impl Operation {
    /// A route that anyone may call and that answers 200 without a body.
    pub(crate) fn new(method: Method, path: &'static str, id: &'static str) -> Operation {
        Operation {
            method,
            path,
            id,
            summary: "",
            description: "",
            caller: Caller::Anyone,
            parameters: Vec::new(),
            request: None,
            status: 200,
            answer: None,
            others: Vec::new(),
            polled: false,
            headers: Vec::new(),
            // The head is checked before the route is known, and any handler may panic.
            codes: vec![
                Code::HeadTooLarge,
                Code::MalformedRequest,
                Code::TransferCodingUnknown,
                Code::Internal,
            ],
        }
    }

    pub(crate) fn get(path: &'static str, id: &'static str) -> Operation {
        Operation::new(Method::Get, path, id)
    }

    pub(crate) fn post(path: &'static str, id: &'static str) -> Operation {
        Operation::new(Method::Post, path, id)
    }

    /// What it does in a line, and more that a caller should know.
    pub(crate) fn says(mut self, summary: &'static str, description: &'static str) -> Operation {
        (self.summary, self.description) = (summary, description);
        self
    }

    /// Only with an API key of this scope.
    pub(crate) fn for_tenants(mut self, scope: Scope) -> Operation {
        self.caller = Caller::Tenant(scope);
        self.fails(&[
            Code::CallerUnauthenticated,
            Code::TenantDisabled,
            Code::ScopeMissing,
            Code::QuotaExceeded,
            Code::Draining,
            Code::StoreUnavailable,
        ])
    }

    /// With any API key.
    pub(crate) fn for_any_key(mut self) -> Operation {
        self.caller = Caller::AnyKey;
        self.fails(&[
            Code::CallerUnauthenticated,
            Code::TenantDisabled,
            Code::QuotaExceeded,
            Code::Draining,
            Code::StoreUnavailable,
        ])
    }

    /// For operators of every role: it changes nothing.
    pub(crate) fn for_viewers(mut self) -> Operation {
        self.caller = Caller::Operator(Needs { role: Role::Viewer, changes: None });
        self.fails(&[Code::CallerUnauthenticated, Code::StoreUnavailable])
    }

    /// For operators of this role and those above it: it makes a change of this kind.
    pub(crate) fn changes(mut self, role: Role, kind: Kind) -> Operation {
        self.caller = Caller::Operator(Needs { role, changes: Some(kind) });
        self.fails(&[Code::CallerUnauthenticated, Code::RoleMissing]).writes()
    }

    fn parameter(mut self, parameter: Parameter) -> Operation {
        self.parameters.push(parameter);
        self
    }

    /// A segment of the path.
    pub(crate) fn path<T: JsonSchema>(
        self,
        name: &'static str,
        about: &'static str,
        example: impl Serialize,
    ) -> Operation {
        let (shape, example) = (Shape::of::<T>(), value(&example));
        self.parameter(Parameter { name, place: Place::Path, about, shape, example })
            .fails(&[Code::MalformedRequest])
    }

    /// A parameter of the query, which may be absent.
    pub(crate) fn query<T: JsonSchema>(
        self,
        name: &'static str,
        about: &'static str,
        example: impl Serialize,
    ) -> Operation {
        let (shape, example) = (Shape::of::<T>(), value(&example));
        self.parameter(Parameter { name, place: Place::Query, about, shape, example })
            .fails(&[Code::MalformedRequest])
    }

    /// The header under which a request may be repeated.
    pub(crate) fn idempotent(mut self, about: &'static str) -> Operation {
        let shape = Shape::Like(Value::Null);
        let example = json!("0c8a4f1e6d2b");
        self.parameters.push(Parameter {
            name: "Idempotency-Key",
            place: Place::Header,
            about,
            shape,
            example,
        });
        self.headers.push((
            "Idempotent-Replayed",
            "`true` where the answer is that of an earlier request with this Idempotency-Key",
        ));
        self.fails(&[Code::IdempotencyKeyMissing, Code::IdempotencyInFlight, Code::IdempotencyKeyReused])
    }

    /// The header under which a creation may be repeated, which may be absent. The answer is not repeated where it has a secret.
    pub(crate) fn created_once(mut self) -> Operation {
        let about = "Use a fresh key for each creation. For a day, the same key with the same bytes creates nothing more.";
        let (shape, example) = (Shape::Like(Value::Null), json!("0c8a4f1e6d2b"));
        let (name, place) = ("Idempotency-Key", Place::OptionalHeader);
        self.parameters.push(Parameter { name, place, about, shape, example });
        self.fails(&[Code::MalformedRequest, Code::IdempotencyInFlight, Code::IdempotencyKeyReused])
    }

    /// The header `If-Match`, which may be absent.
    pub(crate) fn conditional(self, about: &'static str) -> Operation {
        let (name, place) = ("If-Match", Place::Condition);
        let (shape, example) = (Shape::Like(Value::Null), json!("\"1\""));
        self.parameter(Parameter { name, place, about, shape, example }).fails(&[Code::MalformedRequest])
    }

    /// An `ETag`, and 304 to `If-None-Match` that names it. That header is no parameter, because HTTP says that a malformed one is ignored.
    pub(crate) fn polled(mut self, tag: &'static str) -> Operation {
        self.polled = true;
        self.header("ETag", tag)
    }

    /// A body in JSON.
    pub(crate) fn takes<T: JsonSchema>(self, bytes_max: usize, example: &impl Serialize) -> Operation {
        let about = format!("At most {bytes_max} bytes.");
        let body = Body { media_type: JSON, shape: Shape::of::<T>(), about, example: Some(value(example)) };
        self.takes_body(body).fails(&[Code::MalformedJson, Code::FieldInvalid])
    }

    /// Any body.
    pub(crate) fn takes_body(mut self, body: Body) -> Operation {
        self.request = Some(body);
        self.fails(&[
            Code::MediaTypeUnsupported,
            Code::ContentCodingUnsupported,
            Code::BodyTooLarge,
            Code::BodyTimeout,
        ])
    }

    /// Answers with JSON.
    pub(crate) fn answers<T: JsonSchema>(
        self,
        status: u16,
        about: &'static str,
        example: &impl Serialize,
    ) -> Operation {
        let (media_type, shape) = (JSON, Shape::of::<T>());
        let example = Some(value(example));
        self.answers_body(status, Body { media_type, shape, about: about.to_owned(), example })
    }

    /// Answers with JSON like this.
    pub(crate) fn answers_like(self, about: &'static str, example: Value) -> Operation {
        let (media_type, shape) = (JSON, Shape::Like(example.clone()));
        self.answers_body(200, Body { media_type, shape, about: about.to_owned(), example: Some(example) })
    }

    /// Answers with any body.
    pub(crate) fn answers_body(mut self, status: u16, body: Body) -> Operation {
        (self.status, self.answer) = (status, Some(body));
        self
    }

    /// Answers with text of this media type.
    pub(crate) fn answers_text(
        self,
        media_type: &'static str,
        about: &'static str,
        example: &'static str,
    ) -> Operation {
        let (about, example) = (about.to_owned(), Some(json!(example)));
        self.answers_body(200, Body { media_type, shape: Shape::Text, about, example })
    }

    /// Answers with CBOR, which `crypto/attest/NOTES.md` specifies.
    pub(crate) fn answers_cbor(self, about: &'static str) -> Operation {
        let (media_type, about) = ("application/cbor", about.to_owned());
        self.answers_body(200, Body { media_type, shape: Shape::Opaque, about, example: None })
    }

    /// Another answer in text, with this status.
    pub(crate) fn also(mut self, status: u16, about: &'static str, example: &'static str) -> Operation {
        self.others.push((status, about, example));
        self
    }

    /// A header of the answer.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Operation {
        self.headers.push((name, about));
        self
    }

    /// The problems that it may answer with, beside those that follow from its parameters and body.
    pub(crate) fn fails(mut self, codes: &[Code]) -> Operation {
        for code in codes {
            if !self.codes.contains(code) {
                self.codes.push(*code);
            }
        }
        self
    }

    /// It reads the store.
    pub(crate) fn reads(self) -> Operation {
        self.fails(&[Code::StorageDamaged, Code::StoreUnavailable])
    }

    /// It writes to the store.
    pub(crate) fn writes(self) -> Operation {
        self.reads().fails(&[Code::Overloaded, Code::DiskLow])
    }

    /// It asks the key-holder.
    pub(crate) fn asks_key_holder(self) -> Operation {
        self.fails(&[Code::KeyHolderUnavailable, Code::KeyHolderForbids])
    }
}

/// As JSON. Every key of an example is text.
fn value(example: &impl Serialize) -> Value {
    serde_json::to_value(example).unwrap_or_default()
}
