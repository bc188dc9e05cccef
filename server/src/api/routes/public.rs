//! Routes of the public listener.

use super::USAGE;
use super::table::Routes;
use crate::api::sizes::{
    BATCH_JSON_BYTES_MAX, ENROLMENT_JSON_BYTES_MAX, LOGIN_JSON_BYTES_MAX, SIGNED_JSON_BYTES_MAX,
};
use crate::api::{
    authentications, batch, cosignatures, jwks, log, page, proof_sessions, public, reference, roots,
    subjects as subject_routes, templates, usage,
};
use crate::openapi::{Body, Listener, Method, Operation, Shape, examples};
use crate::problem::{Code, Document};
use axum::response::Response;
use serde_json::json;
use std::sync::LazyLock;
use trefoil_api::{
    AnyAuthentication, Authenticated, AuthenticatedBatch, AuthenticationBatch, EndedSession, Enrolled,
    Enrolment, Erased, FheKeys, Hex, OwnTenant, PROOF_MEDIA_TYPE, ProofSession, PublishRoot, PublishedRoot,
    Replaced, Revoked, RootLogPage, Scope, SessionPage, Subject, SubjectPage, UsagePage,
};

const DECIDED: [Code; 23] = [
    Code::DistinctFailures,
    Code::AudienceNotAllowed,
    Code::RequestMacInvalid,
    Code::SessionScope,
    Code::SubjectUnknown,
    Code::SessionUnknown,
    Code::SessionExpired,
    Code::NonceReplayed,
    Code::EmbeddingInvalid,
    Code::ProbeModeMismatch,
    Code::ShareRefused,
    Code::ProofModeMismatch,
    Code::RequestNotFresh,
    Code::BeforeRestart,
    Code::ClockBehind,
    Code::Undecided,
    Code::PolicyOutOfStep,
    Code::Unsealed,
    Code::TimedOut,
    Code::TenantUnknown,
    Code::Draining,
    Code::KeyHolderUnavailable,
    Code::KeyHolderForbids,
];

const MAC: &str = "`mac` is SHA3-256(\"trefoil/request-mac/1\" | session key (32 bytes) | session id (32) | handle (32) | u64 issued_at | probe \
                   digest (32) | u32 length | audience | u32 length | nonce), integers little-endian. The probe digest is SHA3-256(\"trefoil/probe/1\" | the embedding's numbers as little-endian 32-bit floats, whatever its form), in `shared` mode \
                   SHA3-256(\"trefoil/shared-probe/1\" | u32 length of open | open | sealed). A session takes each nonce once; \
                   `no_match` has one form for every reason. Where the tenant's policy says `\"proof\": \"none\"`, send no `session_id` and \
                   `mac`: the API key alone vouches for the login, a subject takes each nonce once, and the attestation says that there is \
                   no proof.";

const TEMPLATES: &str = "/v1/subjects/{handle}/templates";

const SUBJECT: &str = "Who the subject is at this tenant: the proof envelope has it; where the policy says `\"proof\": \"none\"`, 32 bytes that the tenant chose.";

/// Routes of the public listener.
pub(crate) fn routes() -> Routes {
    let routes = Routes::new(Listener::Public);
    reference::routes(
        pages(discovery(checkpoints_and_tiles(seals(used(logins(credential_roots(subjects(routes)))))))),
        document,
    )
}

/// `GET /openapi.json`
async fn document() -> Response {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| routes().document().to_string());
    reference::json_file(&DOCUMENT)
}

fn subjects(routes: Routes) -> Routes {
    let routes = routes
        .route(
            Operation::post(TEMPLATES, "enrol")
                .says(
                    "Enrol a subject.",
                    "Send `embeddings`, of 1 to 8 photographs, in the `plain` probe mode, `shares` and `issued_at` in the `shared` mode. A subject has one template. The same \
                     Idempotency-Key with the same bytes gets the same answer for a day.",
                )
                .for_tenants(Scope::Enrol)
                .path::<Hex<32>>("handle", SUBJECT, examples::HANDLE)
                .idempotent("Fresh for each enrolment, and the same when it is repeated.")
                .takes::<Enrolment>(ENROLMENT_JSON_BYTES_MAX, &examples::enrolment())
                .answers::<Enrolled>(201, "The subject is enrolled.", &examples::enrolled())
                .writes()
                .asks_key_holder()
                .fails(&[
                    Code::TemplateExists,
                    Code::EmbeddingInvalid,
                    Code::ProbeModeMismatch,
                    Code::ShareRefused,
                    Code::RequestNotFresh,
                ]),
            templates::enrol,
        )
        .route(
            Operation::new(Method::Put, TEMPLATES, "replaceTemplate")
                .says(
                    "Replace a subject's template.",
                    "In one step: logins meanwhile are decided with the old or with the new template. The body is that of an enrolment, and so is the \
                     Idempotency-Key. The old template and its key are destroyed. A subject that was revoked is active again.",
                )
                .for_tenants(Scope::Enrol)
                .path::<Hex<32>>("handle", SUBJECT, examples::HANDLE)
                .idempotent("Fresh for each replacement, and the same when it is repeated.")
                .takes::<Enrolment>(ENROLMENT_JSON_BYTES_MAX, &examples::enrolment())
                .answers::<Replaced>(200, "The template is replaced.", &examples::replaced())
                .writes()
                .asks_key_holder()
                .fails(&[
                    Code::SubjectUnknown,
                    Code::EmbeddingInvalid,
                    Code::ProbeModeMismatch,
                    Code::ShareRefused,
                    Code::RequestNotFresh,
                ]),
            templates::replace,
        )
        .route(
            Operation::get("/v1/tenant", "ownTenant")
                .says("Show counts of the tenant that the API key belongs to.", "Says how many subjects are locked out, and not which ones.")
                .for_tenants(Scope::Authenticate)
                .answers::<OwnTenant>(200, "The counts.", &examples::own_tenant()),
            subject_routes::tenant,
        )
        .route(
            Operation::get("/v1/subjects", "listSubjects")
                .says("List the subjects.", "Subjects with a template, active or revoked, in the order of their handles, at most 256 at a time. Nothing about a template is disclosed.")
                .for_tenants(Scope::Enrol)
                .query::<Hex<32>>("from", "Where the page begins: `next` of the page before.", examples::HANDLE)
                .answers::<SubjectPage>(200, "A page of subjects.", &examples::subjects())
                .reads(),
            subject_routes::list,
        )
        .route(
            Operation::get("/v1/subjects/{handle}", "showSubject")
                .says("Show a subject.", "When and with which consent it was enrolled, and whether it is revoked.")
                .for_tenants(Scope::Enrol)
                .path::<Hex<32>>("handle", SUBJECT, examples::HANDLE)
                .answers::<Subject>(200, "The subject.", &examples::subject())
                .polled("The template's generation, in quotes; of a revoked subject with `-` and the time.")
                .reads()
                .fails(&[Code::SubjectUnknown]),
            subject_routes::show,
        );
    ended_subjects(routes)
}

/// Revocation and deletion.
fn ended_subjects(routes: Routes) -> Routes {
    routes
        .route(
            Operation::post("/v1/subjects/{handle}/revoke", "revokeSubject")
                .says(
                    "Revoke a subject.",
                    "After the answer each of its logins is refused with `subject-unknown`, as if it had no template, and its open sessions have ended. The \
                     key-holder has forgotten the template's key, so the same template never decides again. The record stays; another template makes the \
                     subject active again, and a deletion erases it. A repetition has the same effect and the same `revoked_at`.",
                )
                .for_tenants(Scope::Enrol)
                .path::<Hex<32>>("handle", SUBJECT, examples::HANDLE)
                .answers::<Revoked>(200, "It is revoked, with its receipt.", &examples::revoked())
                .writes()
                .asks_key_holder()
                .fails(&[Code::SubjectUnknown]),
            subject_routes::revoke,
        )
        .route(
            Operation::new(Method::Delete, TEMPLATES, "deleteTemplate")
                .says("Delete a subject's template.", "Destroys it and its key. A repetition answers 404, because the template is gone.")
                .for_tenants(Scope::Enrol)
                .path::<Hex<32>>("handle", SUBJECT, examples::HANDLE)
                .answers::<Erased>(200, "What was destroyed, with its receipt.", &examples::erased())
                .writes()
                .asks_key_holder()
                .fails(&[Code::SubjectUnknown]),
            templates::delete,
        )
}

fn credential_roots(routes: Routes) -> Routes {
    routes
        .route(
            Operation::post("/v1/credentials/roots", "publishRoot")
                .says(
                    "Publish a credential root.",
                    "A new root withdraws older ones: sessions under a generation below its minimum end.",
                )
                .for_tenants(Scope::Issue)
                .takes::<PublishRoot>(SIGNED_JSON_BYTES_MAX, &examples::publish_root())
                .answers::<PublishedRoot>(201, "The end of the root log.", &examples::published_root())
                .writes()
                .fails(&[
                    Code::RootGenerationStale,
                    Code::IssuerKeyMissing,
                    Code::RootSignatureInvalid,
                    Code::ProofModeMismatch,
                ]),
            roots::publish,
        )
        .route(
            Operation::get("/v1/credentials/roots/{tenant}", "rootLog")
                .says(
                    "Read a tenant's root log.",
                    "Public, because a log that only the issuer can read is no evidence against the issuer.",
                )
                .path::<Hex<16>>("tenant", "The tenant.", examples::TENANT)
                .query::<u32>("from", "The generation at which the page begins.", 0)
                .answers::<RootLogPage>(200, "At most 64 roots.", &examples::root_log())
                .reads()
                .fails(&[Code::TenantUnknown]),
            roots::log,
        )
}

fn logins(routes: Routes) -> Routes {
    let envelope = Body {
        media_type: PROOF_MEDIA_TYPE,
        shape: Shape::Opaque,
        about: "A proof envelope, `TFP3`, which server/API.md specifies and `trefoil wallet prove` writes; server/api/testdata has vectors."
            .to_owned(),
        example: None,
    };
    let results = json!({ "results": [examples::authenticated()] });
    routes
        .route(
            Operation::post("/v1/proof-sessions", "openSession")
                .says("Open a session.", "One zero-knowledge proof for one audience. The same envelope gets the same session while it lasts.")
                .for_tenants(Scope::Authenticate)
                .takes_body(envelope)
                .answers::<ProofSession>(201, "The session is open.", &examples::session())
                .writes()
                .fails(&[
                    Code::AudienceNotAllowed,
                    Code::ProofRejected,
                    Code::ProofStale,
                    Code::ProofModeMismatch,
                    Code::SessionExpired,
                ]),
            proof_sessions::open,
        )
        .route(
            Operation::get("/v1/proof-sessions", "listSessions")
                .says("List the sessions.", "Open sessions in the order of their identifiers, at most 256 at a time.")
                .for_tenants(Scope::Authenticate)
                .query::<Hex<32>>("from", "Where the page begins: `next` of the page before.", examples::SESSION)
                .answers::<SessionPage>(200, "A page of sessions.", &examples::sessions())
                .reads(),
            proof_sessions::list,
        )
        .route(
            Operation::new(Method::Delete, "/v1/proof-sessions/{session_id}", "endSession")
                .says("End a session.", "No request in it is accepted after the answer, and its proof cannot open it again. A repetition answers 404.")
                .for_tenants(Scope::Authenticate)
                .path::<Hex<32>>("session_id", "The session.", examples::SESSION)
                .answers::<EndedSession>(200, "It ended, with its receipt.", &examples::ended_session())
                .writes()
                .fails(&[Code::SessionUnknown]),
            proof_sessions::end,
        )
        .route(
            Operation::post("/v1/authentications", "authenticate")
                .says("Decide one login.", MAC)
                .for_tenants(Scope::Authenticate)
                .takes::<AnyAuthentication>(LOGIN_JSON_BYTES_MAX, &examples::authentication())
                .answers::<Authenticated>(200, "Decided, also where it is `no_match`.", &examples::authenticated())
                .writes()
                .fails(&DECIDED),
            authentications::authenticate,
        )
        .route(
            Operation::post("/v1/authentications/batch", "authenticateBatch")
                .says("Decide 1 to 32 logins.", "Entries are independent: a malformed or refused entry affects no other.")
                .for_tenants(Scope::Authenticate)
                .takes::<AuthenticationBatch<'_>>(BATCH_JSON_BYTES_MAX, &examples::batch())
                .answers::<AuthenticatedBatch<Document<'_>, Authenticated>>(200, "One result for each, in their order.", &results)
                .writes(),
            batch::authenticate,
        )
}

fn used(routes: Routes) -> Routes {
    routes.route(
        Operation::get("/v1/usage", "usage")
            .says("Read what the tenant's API keys were used for.", USAGE)
            .for_any_key()
            .query::<Hex<8>>("from", "Where the page begins: `next` of the page before.", examples::KEY)
            .answers::<UsagePage>(200, "A page of at most 64 keys.", &examples::usage())
            .reads(),
        usage::own,
    )
}

fn seals(routes: Routes) -> Routes {
    let number = |operation: Operation| {
        operation.path::<u64>("number", "The seal's number.", 7).reads().fails(&[Code::SealUnknown])
    };
    let cached = |operation: Operation| operation.header("Cache-Control", "How long it may be kept.");
    let hash = examples::SESSION;
    routes
        .route(
            cached(number(Operation::get("/v1/seals/{number}", "seal")))
                .says("Fetch a seal.", "It never changes, and loses its signatures once it is old.")
                .answers_cbor("The seal, as crypto/attest/NOTES.md specifies it.")
                .fails(&[Code::SealPruned]),
            public::seal,
        )
        .route(
            cached(number(Operation::get("/v1/seals/{number}/header", "sealHeader")))
                .says("Fetch the header of a seal.", "Pruned or not; it never changes.")
                .answers_cbor("The header."),
            public::seal_header,
        )
        .route(
            cached(number(Operation::get("/v1/seals/{number}/pruned", "prunedSeal")))
                .says(
                    "Fetch a seal that was pruned.",
                    "Its header, with its path to a later seal of the same keys.",
                )
                .answers_cbor("The header and the path, which verify like the seal."),
            public::pruned_seal,
        )
        .route(
            cached(Operation::get("/v1/log/head", "logHead"))
                .says("Fetch the newest seal.", "It signs the log of all seals before it.")
                .answers_cbor("The seal.")
                .header("Content-Location", "Its own path, with its number.")
                .polled("The seal's number, in quotes.")
                .reads()
                .fails(&[Code::SealUnknown]),
            log::head,
        )
        .route(
            cached(Operation::get("/v1/log/inclusion/{seal}/{size}", "logInclusion"))
                .says("Prove that a seal is in the log.", "RFC 9162; the seal is below the size.")
                .path::<u64>("seal", "The seal's number.", 3)
                .path::<u64>("size", "The number of seals of the log.", 8)
                .answers_like("The path.", json!({ "seal": 3, "size": 8, "path": [hash] }))
                .reads()
                .fails(&[Code::SealUnknown]),
            log::inclusion,
        )
        .route(
            cached(Operation::get("/v1/log/consistency/{old_size}/{size}", "logConsistency"))
                .says("Prove that a log extends another.", "RFC 9162; the old size is from 1 to the new one.")
                .path::<u64>("old_size", "The number of seals of the old log.", 4)
                .path::<u64>("size", "The number of seals of the new log.", 8)
                .answers_like("The proof.", json!({ "old_size": 4, "size": 8, "proof": [hash] }))
                .reads()
                .fails(&[Code::SealUnknown]),
            log::consistency,
        )
}

fn checkpoints_and_tiles(routes: Routes) -> Routes {
    let cached = |operation: Operation| operation.header("Cache-Control", "How long it may be kept.");
    let note = "https://auth.example/log\n8\nRERERERERERERERERERERERERERERERERERERERERA=\n";
    routes
        .route(
            Operation::post("/v1/log/cosignatures", "cosign")
                .says(
                    "Hand in cosignatures of the log's head.",
                    "For witnesses. Sending a cosignature again is no error.",
                )
                .takes_body(Body {
                    media_type: "text/plain",
                    shape: Shape::Text,
                    about: "A cosigned checkpoint, a signed note of at most 64 KiB.".to_owned(),
                    example: Some(json!(note)),
                })
                .answers_like(
                    "The witnesses whose cosignatures were accepted.",
                    json!({ "size": 8, "witnesses": ["witness.example"] }),
                )
                .writes()
                .fails(&[Code::CosignatureRefused, Code::SealUnknown]),
            cosignatures::hand_in,
        )
        .route(
            cached(Operation::get("/v1/log/checkpoint", "checkpoint"))
                .says(
                    "Fetch the largest head that a witness has cosigned.",
                    "With all cosignatures of it, and the seal that signs it. Without witnesses, the newest head.",
                )
                .answers_text("text/plain", "A signed note.", note)
                .reads()
                .fails(&[Code::SealUnknown]),
            cosignatures::newest,
        )
        .route(
            cached(Operation::get("/v1/log/checkpoint/{size}", "checkpointOfSize"))
                .says("Fetch a head of the log.", "With the seal that signs it, and all cosignatures.")
                .path::<u64>("size", "The number of seals of the log.", 8)
                .answers_text("text/plain", "A signed note.", note)
                .reads()
                .fails(&[Code::SealUnknown]),
            cosignatures::of_size,
        )
        .route(
            cached(Operation::get("/v1/log/tile/{level}/{*index}", "logTile"))
                .says("Fetch a tile of the log.", "C2SP tlog-tiles, with the prefix `/v1/log`. It never changes.")
                .path::<String>("level", "A level of tiles, or `entries`.", "entries")
                .path::<String>("index", "Like `x001/234`; of a partial tile like `000.p/5`.", "000")
                .answers_body(
                    200,
                    Body {
                        media_type: "application/octet-stream",
                        shape: Shape::Opaque,
                        about: "Hashes, or entries with their lengths; an entry is the digest of a seal.".to_owned(),
                        example: None,
                    },
                )
                .reads()
                .fails(&[Code::SealUnknown]),
            log::tile,
        )
}

fn discovery(routes: Routes) -> Routes {
    routes
        .route(
            Operation::get("/v1/keys", "trustRoot")
                .says("Fetch the newest trust root.", "A trust root fetched from the service that it vouches for proves nothing: pin it from another channel.")
                .answers_like("The trust root.", examples::trust_root())
                .header("Cache-Control", "How long it may be kept.")
                .polled("A digest of the trust root, in quotes."),
            public::keys,
        )
        .route(
            Operation::get("/.well-known/jwks.json", "jwks")
                .says(
                    "The signing keys as a JWK Set.",
                    "The ML-DSA-65 keys that sign today, as AKP keys (RFC 9964). An attestation needs the signatures of all three families: verify it with the trust root.",
                )
                .answers::<jwks::Set>(200, "The keys.", &jwks::set(&examples::root()))
                .header("Cache-Control", "How long it may be kept."),
            jwks::keys,
        )
        .route(
            Operation::get("/v1/keys/{version}", "trustRootVersion")
                .says("Fetch a version of the trust root.", "It never changes. A relying party that pinned the version before can accept it.")
                .path::<u64>("version", "From 1 to the newest.", 1)
                .answers_like("The trust root.", examples::trust_root())
                .header("Cache-Control", "How long it may be kept.")
                .fails(&[Code::TrustRootUnknown]),
            public::keys_version,
        )
        .route(
            Operation::get("/v1/fhe/parameters", "fheParameters")
                .says("The encrypted match's parameters.", "To check its security.")
                .answers_like("The parameters.", public::parameters()),
            public::fhe_parameters,
        )
        .route(
            Operation::get("/v1/fhe/keys/{tenant}", "fheKeys")
                .says("How a tenant's faces are encrypted.", "A device accepts the sealing key only under a fingerprint from the key-holder's operator.")
                .path::<Hex<16>>("tenant", "The tenant.", examples::TENANT)
                .answers::<FheKeys>(200, "The keys.", &examples::fhe_keys())
                .asks_key_holder()
                .fails(&[Code::TenantUnknown]),
            public::fhe_keys,
        )
        .route(
            Operation::get("/.well-known/trefoil-configuration", "configuration")
                .says("The service's identity and its routes.", "For programs that know only its address.")
                .answers_like("The configuration.", public::described("https://auth.example", 3_600)),
            public::configuration,
        )
}

fn pages(routes: Routes) -> Routes {
    routes
        .route(
            Operation::get("/verify", "verifyPage")
                .says("The page that verifies in a browser.", "It loads nothing from elsewhere.")
                .answers_text("text/html", "The page.", "<!doctype html>..."),
            page::document,
        )
        .route(
            Operation::get("/verify.js", "verifyScript")
                .says("Its script.", "Part of the page.")
                .answers_text("text/javascript", "The script.", "..."),
            page::script,
        )
        .route(
            Operation::get("/verify.css", "verifyStyle")
                .says("Its style.", "Part of the page.")
                .answers_text("text/css", "The style.", "..."),
            page::style,
        )
}
