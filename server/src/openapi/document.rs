//! The document, from the operations of a listener.

use super::listener::Listener;
use super::operation::{Body, Caller, Operation, Parameter, Place, Shape};
use crate::problem::{Code, Document, Problem};
use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The path of named schemas.
const SCHEMAS: &str = "/components/schemas";
const PREFIX: &str = "#/components/schemas/";

/// Makes schemas for requests and for answers. They differ: a field with a default need not be sent, and is always in the answer.
struct Schemas {
    sent: SchemaGenerator,
    answered: SchemaGenerator,
}

/// The OpenAPI document of these operations.
pub(crate) fn document(listener: Listener, operations: &[Operation]) -> Value {
    let mut schemas =
        Schemas { sent: generator(Contract::Deserialize), answered: generator(Contract::Serialize) };
    schemas.answered.subschema_for::<Document<'static>>();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for operation in operations {
        let described = described(operation, &mut schemas);
        // OpenAPI has no sign for a parameter with slashes.
        let path = operation.path.replace("{*", "{");
        paths.entry(path).or_default().insert(operation.method.name().to_owned(), described);
    }
    let (schemas, renamed) = schemas.finish();
    let mut paths = json!(paths);
    // Only answers refer to renamed schemas, and requests are under `requestBody` and `parameters`.
    for item in members(&mut paths).flat_map(members) {
        rename(&mut item["responses"], &renamed);
    }
    json!({
        "openapi": "3.1.0",
        "info": info(listener),
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{ "url": "/", "description": "this listener" }],
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": security_schemes(listener) },
    })
}

fn info(listener: Listener) -> Value {
    let (title, which) = match listener {
        Listener::Public => {
            ("Trefoil", "The public listener: logins, enrolments, roots, and what anyone verifies with.")
        }
        Listener::Admin => (
            "Trefoil, for operators",
            "The admin listener: tenants, API keys, operators, the audit trail, rotation, health.",
        ),
    };
    json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "description": format!(
            "{which}\n\nA refusal is `application/problem+json` (RFC 9457) with a stable `code`; its `type` is a path of this listener that \
             says cause, cure and whether to retry. A denied login is no refusal: it is 200 with `\"decision\": \"no_match\"`. Every answer has \
             the header `request-id`."
        ),
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    })
}

fn security_schemes(listener: Listener) -> Value {
    match listener {
        Listener::Public => json!({
            "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key of a tenant, `trefoil_...`. The tenant follows from the key. The scopes are `enrol`, `authenticate` and \
                                `issue`.",
            },
        }),
        Listener::Admin => json!({
            "operatorCredential": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of an operator, `trefoil_operator_...`, or the one in the file `admin.token` of the data directory. The roles \
                                are `viewer`, `operator` and `owner`; each may do what the one before it may. `x-trefoil-role` of a route is the \
                                lowest that it needs.",
            },
        }),
    }
}

fn generator(contract: Contract) -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = SCHEMAS.into();
            settings.meta_schema = None;
            settings.contract = contract;
        })
        .into_generator()
}

impl Schemas {
    /// All named schemas, and the new names of answer schemas whose name a request schema has.
    fn finish(mut self) -> (Value, Vec<(String, String)>) {
        let mut sent = self.sent.take_definitions(true);
        let answered = self.answered.take_definitions(true);
        let mut renamed = Vec::new();
        for (name, schema) in &answered {
            if sent.get(name).is_some_and(|other| other != schema) {
                renamed.push((name.clone(), format!("{name}Shown")));
            }
        }
        for (name, mut schema) in answered {
            rename(&mut schema, &renamed);
            let shown = renamed.iter().find(|(from, _)| *from == name).map(|(_, to)| to.clone());
            sent.insert(shown.unwrap_or(name), schema);
        }
        let mut schemas = Value::Object(sent);
        members(&mut schemas).for_each(plain);
        (schemas, renamed)
    }
}

/// Rewrites what generators of clients do not read, or read as something else. Removes links between items of the code from descriptions.
fn plain(schema: &mut Value) {
    let Ok(mut whole) = schemars::Schema::try_from(schema.take()) else { return };
    let rewrite = |schema: &mut schemars::Schema| {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        // The cases exclude each other: a value and `null`, or objects with other required members.
        if let Some(cases) = schema.remove("anyOf") {
            schema.insert("oneOf".to_owned(), cases);
        }
        // They have their own descriptions, and the TypeScript generator does not import a type that gets another one here.
        for case in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(case) = case.as_object_mut().filter(|case| case.contains_key("$ref")) {
                case.remove("description");
            }
        }
        // Its members have their own.
        if schema.get("default").is_some_and(Value::is_object) {
            schema.remove("default");
        }
        whole_number(schema);
        choice(schema);
    };
    RecursiveTransform(rewrite).transform(&mut whole);
    *schema = whole.to_value();
}

/// Whole numbers have the signed format in which they fit, because generators take an unsigned one for 32 bits, and bounds, because a validator
/// need not know the format. Those of 64 bits have no largest value: many programs cannot read 2^64 - 1.
fn whole_number(schema: &mut schemars::Schema) {
    let (format, max) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => ("int32", Some(u32::from(u8::MAX))),
        Some("uint16") => ("int32", Some(u32::from(u16::MAX))),
        Some("uint32") => ("int64", Some(u32::MAX)),
        Some("uint64" | "uint") => ("int64", None),
        _ => return,
    };
    schema.insert("format".to_owned(), format.into());
    for (name, bound) in [("minimum", Some(0)), ("maximum", max)] {
        if let Some(bound) = bound
            && schema.get(name).is_none()
        {
            schema.insert(name.to_owned(), bound.into());
        }
    }
}

/// One of several texts is an `enum`, with what each means in its description.
fn choice(schema: &mut schemars::Schema) {
    let Some(Value::Array(cases)) = schema.get("oneOf") else { return };
    let Some(texts) = cases.iter().map(|case| case.get("const")).collect::<Option<Vec<_>>>() else { return };
    let mut about = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (text, case) in texts.iter().zip(cases) {
        let means = case.get("description").and_then(Value::as_str).unwrap_or_default();
        about += &format!("\n* `{}`: {means}", text.as_str().unwrap_or_default());
    }
    let texts = texts.into_iter().cloned().collect::<Value>();
    schema.remove("oneOf");
    for (name, value) in [("type", "string".into()), ("enum", texts), ("description", about.into())] {
        schema.insert(name.to_owned(), value);
    }
}

fn members(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(|members| members.values_mut())
}

fn rename(value: &mut Value, renamed: &[(String, String)]) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some((_, to)) =
                    renamed.iter().find(|(from, _)| target.strip_prefix(PREFIX) == Some(from))
            {
                *target = format!("{PREFIX}{to}");
            }
            members.values_mut().for_each(|member| rename(member, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        _ => {}
    }
}

fn described(operation: &Operation, schemas: &mut Schemas) -> Value {
    let Operation { id, summary, description, caller, parameters, request, .. } = operation;
    let parameters: Vec<Value> =
        parameters.iter().map(|parameter| described_parameter(parameter, &mut schemas.sent)).collect();
    let security = match caller {
        Caller::Anyone => json!([]),
        Caller::Tenant(scope) => json!([{ "apiKey": [scope.name()] }]),
        Caller::AnyKey => json!([{ "apiKey": [] }]),
        Caller::Operator(_) => json!([{ "operatorCredential": [] }]),
    };
    let description = match caller {
        Caller::Operator(needs) => format!("{description} Needs the role `{}`.", needs.role.name()),
        Caller::Anyone | Caller::AnyKey | Caller::Tenant(_) => (*description).to_owned(),
    };
    let mut described = json!({
        "operationId": id,
        "summary": summary,
        "description": description,
        "security": security,
        "parameters": parameters,
        "responses": responses(operation, schemas),
    });
    if let Caller::Operator(needs) = caller {
        described["x-trefoil-role"] = json!(needs.role);
    }
    if let Some(body) = request {
        let (about, content) = (&body.about, content(body, &mut schemas.sent));
        described["requestBody"] = json!({ "required": true, "description": about, "content": content });
    }
    described
}

fn described_parameter(parameter: &Parameter, generator: &mut SchemaGenerator) -> Value {
    let Parameter { name, place, about, shape, example } = parameter;
    let (place, required) = match place {
        Place::Path => ("path", true),
        Place::Query => ("query", false),
        Place::Header => ("header", true),
        Place::Condition | Place::OptionalHeader => ("header", false),
    };
    let schema = match shape {
        _ if parameter.place == Place::Condition => {
            json!({ "type": "string", "pattern": "^(\\*|\"[0-9]{1,9}\")$" })
        }
        // A key that the caller chooses.
        _ if place == "header" => {
            json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" })
        }
        shape => schema(shape, generator),
    };
    json!({ "name": name, "in": place, "required": required, "description": about, "schema": schema, "example": example })
}

fn responses(operation: &Operation, schemas: &mut Schemas) -> Value {
    let Operation { status, answer, others, polled, headers, codes, .. } = operation;
    let mut said = json!({ "request-id": header("Names the answer in the service's log.") });
    for (name, about) in headers {
        said[*name] = header(about);
    }
    let unchanged = polled.then(|| json!({ "description": "`If-None-Match` names the `ETag` of the answer: the caller has it.", "headers": said }));
    let success = match answer {
        None => json!({ "description": "Done.", "headers": said }),
        Some(body) => {
            let content = content(body, &mut schemas.answered);
            json!({ "description": body.about, "headers": said, "content": content })
        }
    };
    let mut responses = Map::from_iter([(status.to_string(), success)]);
    if let Some(unchanged) = unchanged {
        responses.insert("304".to_owned(), unchanged);
    }
    for (status, about, example) in others {
        let content = json!({ "text/plain": { "schema": { "type": "string" }, "example": example } });
        responses.insert(status.to_string(), json!({ "description": about, "content": content }));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    for (status, codes) in by_status {
        responses.insert(status.to_string(), refusal(&codes));
    }
    Value::Object(responses)
}

fn header(about: &str) -> Value {
    json!({ "description": about, "schema": { "type": "string" } })
}

/// The answer with one status, for any of these reasons.
fn refusal(codes: &[Code]) -> Value {
    let mut headers = json!({ "request-id": header("Names the answer in the service's log.") });
    let unauthenticated = codes.contains(&Code::CallerUnauthenticated);
    if unauthenticated || codes.iter().any(|code| code.explain().retry_after_s.is_some()) {
        headers["Retry-After"] = json!({
            "description": "Seconds after which to repeat the request, or to send the next on this connection; absent where that makes no sense.",
            "schema": { "type": "integer", "minimum": 1 },
        });
    }
    if unauthenticated {
        headers["WWW-Authenticate"] = header("`Bearer`.");
    }
    let about = codes.iter().map(|code| {
        let explained = code.explain();
        format!(
            "* `{}`: {}. {} Retry: {}.",
            explained.code,
            explained.cause,
            explained.cure,
            explained.retry.name()
        )
    });
    let examples = codes.iter().map(|code| {
        let example = Problem::new(*code, code.explain().cause);
        let id = "0123456789abcdef0123456789abcdef";
        (
            code.name().to_owned(),
            json!({ "summary": code.explain().title, "value": example.document(Some(id)) }),
        )
    });
    let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
    json!({
        "description": about.collect::<Vec<_>>().join("\n"),
        "headers": headers,
        "content": { "application/problem+json": {
            "schema": {
                "allOf": [{ "$ref": format!("{PREFIX}Problem") }],
                "properties": { "code": { "enum": names } },
            },
            "examples": examples.collect::<Map<_, _>>(),
        } },
    })
}

/// The body by its media type.
fn content(body: &Body, generator: &mut SchemaGenerator) -> Value {
    let mut content = json!({ "schema": schema(&body.shape, generator) });
    if let Some(example) = &body.example {
        content["example"] = example.clone();
    }
    json!({ body.media_type: content })
}

fn schema(shape: &Shape, generator: &mut SchemaGenerator) -> Value {
    let mut schema = match shape {
        Shape::Of(of) => of(generator).to_value(),
        Shape::Like(value) => like(value),
        Shape::Opaque => json!({ "type": "string", "format": "binary" }),
        Shape::Text => json!({ "type": "string" }),
    };
    plain(&mut schema);
    schema
}

/// The schema of values with the members of this one.
fn like(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "integer", "format": "uint64" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(items) => json!({ "type": "array", "items": items.first().map_or(json!({}), like) }),
        Value::Object(members) => {
            let names: Vec<&String> = members.keys().collect();
            let properties: Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), like(value))).collect();
            json!({ "type": "object", "required": names, "properties": properties })
        }
    }
}
