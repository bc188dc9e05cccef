//! Calls that the service refuses.

use super::{check, columns};
use crate::service::unlimited;
use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Enrolments of bob with one member changed: its name and value, the code, and what the problem names.
const ENROLMENTS: &str = r#"a number for text | consent_ref | 7 | field-invalid | integer | /consent_ref | expected a string
empty text | consent_ref | "" | field-invalid | 1 to 256 bytes | /consent_ref | Correct the fields
text too long | consent_ref | 257 letters | field-invalid | 1 to 256 bytes | /consent_ref | Correct the fields
unknown field | consent | "x" | field-invalid | unknown field `consent` | /consent | `consent_ref`
127 numbers | embeddings | 1 times 127 numbers | embedding-invalid | got 127 | /embeddings/0 | expected 128 numbers, which model test-128 gives
second of another model | embeddings | [OWN, 512 numbers] | embedding-invalid | got 512 | /embeddings/1 | expected 128 numbers, which model test-128 gives
512 long numbers | embeddings | 1 times 512 times 0.12345678901234568 | embedding-invalid | got 512 | /embeddings/0 | expected 128 numbers
513 numbers | embeddings | 1 times 513 numbers | field-invalid | got 513 | /embeddings/0 | a face has 2 to 512 numbers
one number | embeddings | [[1]] | field-invalid | got 1 | /embeddings/0 | a face has 2 to 512 numbers
words | embeddings | 1 times 128 times "x" | field-invalid | not a number | /embeddings/0/0 | takes no quotes around a number
beyond f32 | embeddings | 1 times 128 times 1e39 | field-invalid | number 1 | /embeddings/0 | beyond 3.4e38
zeros | embeddings | 1 times 128 times 0 | embedding-invalid | zero | /embeddings/0 | as the tenant's embedder gives them
one size | embeddings | 1 times 128 times 0.1 | embedding-invalid | same size | /embeddings/0 | send its output unchanged
base64 of URLs | embeddings | 1 times 342 pairs | field-invalid | standard alphabet | /embeddings/0 | expected base64
base64 of f64 | embeddings | 1 times 1024 bytes | embedding-invalid | got 256 | /embeddings/0 | 4 bytes for a number
base64 cut off | embeddings | 1 times 510 bytes | field-invalid | got 510 bytes | /embeddings/0 | 4 bytes (32-bit float)
int8 without its name | embeddings | 1 times 128 bytes | embedding-invalid | got 32 | /embeddings/0 | as `int8` 1
int8 in numbers | embeddings | [{"int8": [1, 2]}] | field-invalid | sequence | /embeddings/0/int8 | expected a string
another form | embeddings | [{"f64": ""}] | field-invalid | unknown field `f64` | /embeddings/0 | `int8`
a face alone | embeddings | 128 numbers | field-invalid | floating point | /embeddings/0 | expected an array of numbers
the member of a login | embedding | 128 numbers | field-invalid | unknown field `embedding` | /embedding | `embeddings`
no photograph | embeddings | [] | field-invalid | length 0 | /embeddings | 1 to 8 photographs
nine photographs | embeddings | 9 times 128 numbers | field-invalid | length 9 | /embeddings | 1 to 8 photographs
opposite photographs | embeddings | [OWN, OPPOSITE] | embedding-invalid | no direction in common | /embeddings | send fewer
shares where plain | shares | {"open": "", "sealed": ""} | probe-mode-mismatch | plain | `shares` | `embeddings`"#;

/// Logins of ann with one member changed, in the same way.
const LOGINS: &str = r#"clock behind | issued_at | AN_HOUR_AGO | request-not-fresh | 3600 s before the service's clock | /issued_at | set the clock
clock ahead | issued_at | IN_AN_HOUR | request-not-fresh | 3600 s after the service's clock | /issued_at | set the clock
time in words | issued_at | "2026-11-20T09:47:40Z" | field-invalid | string | /issued_at | expected a whole number
another audience | audience | "evil.example" | audience-not-allowed | allows the audiences | shop.example | use one of them
nonce too short | nonce | "00" | field-invalid | expected 32 to 128 hexadecimal digits | /nonce | Correct the fields
wrong MAC | mac | 64 zeros | request-mac-invalid | mac | session's key | Compute the MAC over exactly
unknown session | session_id | 64 zeros | session-unknown | session | POST /v1/proof-sessions | open a proof session first
session is no id | session_id | "x" | field-invalid | got 1 characters | /session_id | expected 64 hexadecimal digits
another form | attestation | "short" | field-invalid | unknown value | /attestation | `compact`
probe of 127 | embedding | 127 numbers | embedding-invalid | got 127 | /embedding | expected 128 numbers, which model test-128 gives"#;

/// Requests: the method, the path, headers beside the idempotency key that enrolments have, the body, the code, and what the problem names.
const REQUESTS: &str = r#"no JSON | POST BOB | - | embedding=1 | malformed-json | not JSON | line 1, column 1 | Send one JSON value
cut off | POST BOB | - | {"embeddings": [[1, | malformed-json | not JSON | line 1, column | Send one JSON value
empty | POST BOB | - | - | malformed-json | the body is empty | body | Send one JSON value
NaN | POST BOB | - | SECOND_NaN | malformed-json | number 2 is not a number | line 1, column | JSON has no NaN
no embedding | POST BOB | - | {"consent_ref": "form 7"} | probe-mode-mismatch | plain | `embeddings` | Send the face in the way
not an object | POST BOB | - | [1, 2] | field-invalid | invalid | pointer | Correct the fields
beyond every number | POST BOB | - | SECOND_1e999 | field-invalid | number 2 | /embeddings/0/1 | beyond 3.4e38
wrong content type | POST BOB | content-type: text/plain | ENROLMENT | media-type-unsupported | text/plain | Content-Type | send Content-Type: application/json
form | POST BOB | content-type: application/x-www-form-urlencoded | ENROLMENT | media-type-unsupported | a text of 33 characters | Content-Type | application/json
no idempotency key | POST BOB | no key | ENROLMENT | idempotency-key-missing | Idempotency-Key | header | fresh value
wrong method | GET BOB | - | - | method-not-allowed | not allowed | Allow | Use a method
wrong path | GET /v1/login | - | - | route-unknown | no such path | public listener | API.md lists the routes
admin route here | GET /v1/tenants | - | - | route-unknown | no such path | admin listener | Correct the path and the listener
subject is no id | POST /v1/subjects/ann/templates | - | ENROLMENT | malformed-request | 64 hexadecimal digits | path | Correct what
no key | POST BOB | authorization: | ENROLMENT | caller-unauthenticated | API key | Authorization | Bearer
another header | POST BOB | authorization: , x-api-key: trefoil_x | ENROLMENT | caller-unauthenticated | API key | Authorization | Bearer
basic | POST BOB | authorization: Basic eDp5 | ENROLMENT | caller-unauthenticated | API key | Authorization | Bearer
unknown key | POST BOB | authorization: Bearer trefoil_00 | ENROLMENT | caller-unauthenticated | API key | Authorization | trefoil admin api-key list
unknown subject | DELETE BOB | - | - | subject-unknown | Nothing is there to delete | path | correct the handle
enrolled already | POST ANN | - | ENROLMENT | template-exists | a template, active or revoked | PUT on this path | replace it, or delete it
unknown seal | GET /v1/seals/99999 | - | - | seal-unknown | no seal has this number | seal | GET /v1/log/head
seal by name | GET /v1/seals/last | - | - | malformed-request | whole number | seal | Correct what
unknown trust root | GET /v1/keys/9 | - | - | trust-root-unknown | newest version is 1 | trust root | from 1 to the newest
no proof | POST /v1/proof-sessions | content-type: application/octet-stream | x | proof-rejected | shorter | bytes | Make a new proof with the wallet
no session | POST /v1/authentications | - | UNPROVEN | field-invalid | asks for a credential proof | /session_id | open a proof session"#;

/// Tenants with one member of the policy changed, and other requests of an operator.
const OF_OPERATORS: &str = r#"a number for a threshold | threshold | 0.4 | field-invalid | a value of another kind | /policy/threshold | Correct the fields
no embedder | embedder | - | field-invalid | name the model | /policy/embedder | known are facenet-128 (LFW) 2
unknown class | threshold | {"fmr_class": 9} | field-invalid | no calibration | /policy/threshold | a score of your own calibration
no audience | audiences | [] | field-invalid | audiences | /policy/audiences | expected 1 to
a long life | attestation_lifetime_s | 3600 | field-invalid | 1 to 120 seconds | /policy/attestation_lifetime_s | Correct the fields
unknown scope | KEYS | {"scopes": ["all"]} | field-invalid | unknown value | /scopes/0 | `enrol`
expired from the start | KEYS | {"scopes": ["enrol"], "expires_at": 1} | field-invalid | is over | /expires_at | before the service's clock
login here | /v1/authentications | {} | route-unknown | no such path | public listener | Correct the path and the listener"#;

/// A value as the tables write it: JSON, or so many of something.
fn value(text: &str) -> Value {
    let (count, what) = text.split_once(' ').unwrap_or_default();
    let Ok(count) = count.parse::<usize>() else { return serde_json::from_str(text).unwrap() };
    match what {
        "letters" => json!("x".repeat(count)),
        "zeros" => json!("0".repeat(count)),
        "pairs" => json!("_-".repeat(count) + "=="),
        "bytes" => json!(BASE64.encode(vec![0; count])),
        "numbers" => json!((0..count).map(|i| i as f32 * 0.25 - 9.0).collect::<Vec<f32>>()),
        times => json!(vec![value(times.strip_prefix("times ").unwrap()); count]),
    }
}

/// The table with the person's own face and others in their places.
fn enrolments(own: &[f32; 128]) -> String {
    let face = |sign: f32| json!(own.map(|x| sign * x).as_slice()).to_string();
    let enrolments = ENROLMENTS.replace("512 numbers]", &format!("{}]", value("512 numbers")));
    enrolments.replace("OWN", &face(1.0)).replace("OPPOSITE", &face(-1.0))
}

/// Collects what an answer lacks of its `code | thing | place | next step`.
fn answered(mistake: &str, reply: &Reply, answer: &str, wrong: &mut Vec<String>) {
    let ([code, answer], text) = (columns(answer), reply.text());
    if serde_json::from_str::<Value>(text).is_ok_and(|problem| problem["code"] == code) {
        // A JSON text as a person reads it.
        check(mistake, &text.replace("\\\"", "\""), answer, wrong);
    } else {
        wrong.push(format!("{mistake}: not {code}: {text}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_wrong_is_answered_with_what_where_and_what_to_do() {
    let service = Service::own(with(service::policy(), "attempts", unlimited()), |_| ()).await;
    let people = service.people(2, 1, 11).await;
    service.welcome(&people[0]).await;
    let (ann, bob) = (service::templates_path(&people[0]), service::templates_path(&people[1]));
    let enrolment = json!({"embeddings": [Vector::new(people[1].face)], "consent_ref": "form 7"});
    let request = serde_json::to_value(service.request(&people[0], &people[0].face, 1)).unwrap();
    let now = service.clock.unix_s();
    let enrolments = enrolments(&people[1].face);
    let logins = LOGINS.replace("AN_HOUR_AGO", &(now - 3600).to_string());
    let logins = logins.replace("IN_AN_HOUR", &(now + 3600).to_string());
    let key = ("idempotency-key", "fresh");
    let mut wrong = Vec::new();
    for (table, path, body) in [(&enrolments, &*bob, &enrolment), (&logins, "/v1/authentications", &request)]
    {
        for row in table.lines() {
            let [mistake, member, changed, answer] = columns(row);
            let body = with(body.clone(), member, value(changed)).to_string();
            let reply = service.public.send(Method::POST, path, &[key], body).await;
            answered(mistake, &reply, answer, &mut wrong);
        }
    }
    let whole = enrolment.to_string();
    let mut unproven = request.clone();
    for name in ["session_id", "mac"] {
        unproven.as_object_mut().unwrap().remove(name);
    }
    for row in REQUESTS.lines() {
        let [mistake, target, headers, body, answer] = columns(row);
        let (method, path) = target.split_once(' ').unwrap();
        let path = path.replace("ANN", &ann).replace("BOB", &bob);
        let own = headers.split(", ").filter_map(|header| header.split_once(':'));
        let own = own.map(|(name, value)| (name, value.trim()));
        let headers: Vec<_> =
            [key].into_iter().filter(|_| method == "POST" && headers != "no key").chain(own).collect();
        let body = match (body, body.strip_prefix("SECOND_")) {
            (_, Some(number)) => {
                whole.replace("\"embeddings\":", &format!("\"embeddings\":[[0.5,{number}]],\"x\":"))
            }
            ("-", _) => String::new(),
            ("ENROLMENT", _) => whole.clone(),
            ("UNPROVEN", _) => unproven.to_string(),
            (body, _) => body.to_owned(),
        };
        let reply = service.public.send(method.parse().unwrap(), &path, &headers, body).await;
        answered(mistake, &reply, answer, &mut wrong);
    }
    let keys = service.path("/api-keys");
    for row in OF_OPERATORS.lines() {
        let [mistake, what, body, answer] = columns(row);
        let reply = match what {
            "KEYS" => service.admin.post(&keys, &value(body)).await,
            path if path.starts_with('/') => service.admin.post(path, &value(body)).await,
            member => {
                let mut policy = service::policy();
                match body {
                    "-" => drop(policy.as_object_mut().unwrap().remove(member)),
                    body => policy[member] = value(body),
                }
                service.admin.post("/v1/tenants", &json!({"name": "x", "policy": policy})).await
            }
        };
        answered(mistake, &reply, answer, &mut wrong);
    }
    let unknown = service.admin.get(&format!("/v1/tenants/{}", "00".repeat(16))).await;
    answered(
        "unknown tenant",
        &unknown,
        "tenant-unknown | tenant | identifier | trefoil admin tenant list",
        &mut wrong,
    );
    let stranger = service.admin.with_bearer("x").get("/v1/tenants").await;
    answered("wrong token", &stranger, "caller-unauthenticated | token | admin.token | Bearer", &mut wrong);
    let enrols = async |key: &str| {
        service.public.with_bearer(key).enrol(people[1].handle, &people[1].face, "fresh").await
    };
    let refused = enrols(&service.api_key(&["authenticate"]).await).await;
    answered(
        "scope missing",
        &refused,
        "scope-missing | scope `enrol` | API key | api-key create --scope",
        &mut wrong,
    );
    let brief = json!({"scopes": ["enrol"], "expires_at": now + 5});
    let brief = service.admin.post(&keys, &brief).await.field("api_key");
    service.clock.advance(6);
    let answer = "caller-unauthenticated | API key | Authorization | trefoil admin api-key list";
    answered("expired key", &enrols(&brief).await, answer, &mut wrong);
    service.admin.post(&service.path("/disable"), &json!({})).await.is(200);
    let refused = enrols(service.public.bearer.as_ref().unwrap()).await;
    answered(
        "disabled tenant",
        &refused,
        "tenant-disabled | disabled | tenant | trefoil admin tenant enable",
        &mut wrong,
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count = [ENROLMENTS, &logins, REQUESTS].map(|table| table.lines().count()).iter().sum::<usize>();
    assert_eq!((count, OF_OPERATORS.lines().count()), (60, 8));
}
