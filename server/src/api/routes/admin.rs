//! Routes of the admin listener.

use super::USAGE;
use super::table::Routes;
use crate::api::sizes::{JSON_BYTES_MAX, SIGNED_JSON_BYTES_MAX};
use crate::api::{admin, operators, page, reference, roots, usage};
use crate::openapi::{Listener, Method, Operation, examples};
use crate::problem::Code;
use axum::response::Response;
use std::sync::LazyLock;
use trefoil_api::{
    ApiKeyPage, AuditPage, ChangedOperator, ChangedPolicy, ChangedTenant, CreateApiKey, CreateOperator,
    CreateOperatorToken, CreateTenant, CreatedApiKey, CreatedOperatorToken, CreatedTenant, DeletedTenant,
    Hex, Operator, OperatorPage, PolicyPage, RegisterIssuerKey, RegisteredIssuerKey, ResetAttempts,
    ResetMalformed, RevokedApiKey, Role, RotationStatus, ServiceStatus, SetPolicy, StartedRotation,
    TenantDetail, TenantPage, UsagePage,
};
use trefoil_attest::Kind;

/// Routes of the admin listener.
pub(crate) fn routes() -> Routes {
    let routes = Routes::new(Listener::Admin);
    reference::routes(health(operators(keys(policies(tenants(routes))))), document)
}

/// `GET /openapi.json`
async fn document() -> Response {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| routes().document().to_string());
    reference::json_file(&DOCUMENT)
}

const ETAG: &str = "The version of the policy, in quotes.";

/// A route of one tenant, which adds the role that it needs.
fn of_tenant(operation: Operation) -> Operation {
    operation.path::<Hex<16>>("tenant", "The tenant.", examples::TENANT).fails(&[Code::TenantUnknown])
}

fn tenants(routes: Routes) -> Routes {
    let path = "/v1/tenants/{tenant}";
    routes
        .route(
            Operation::post("/v1/tenants", "createTenant")
                .says("Create a tenant.", "Each request creates another tenant, with version 1 of its policy.")
                .changes(Role::Operator, Kind::TenantCreated)
                .created_once()
                .header("Idempotent-Replayed", "`true` where an earlier request with this Idempotency-Key created it")
                .takes::<CreateTenant>(16 * JSON_BYTES_MAX, &examples::create_tenant())
                .answers::<CreatedTenant>(201, "The tenant's identifier.", &examples::created_tenant())
                .writes()
                .asks_key_holder()
                .fails(&[Code::TenantExists]),
            admin::create_tenant,
        )
        .route(
            Operation::get("/v1/tenants", "listTenants")
                .says("List the tenants.", "In the order of their identifiers, at most 256 at a time.")
                .for_viewers()
                .query::<Hex<16>>(
                    "from",
                    "Where the page begins: `next` of the page before.",
                    examples::TENANT,
                )
                .answers::<TenantPage>(200, "A page of tenants.", &examples::tenants()),
            admin::tenants,
        )
        .route(
            of_tenant(Operation::get(path, "showTenant"))
                .for_viewers()
                .says("Show a tenant.", "With its policy and the generation of its newest credential root.")
                .answers::<TenantDetail>(200, "The tenant.", &examples::shown_tenant())
                .header("ETag", ETAG),
            admin::tenant,
        )
        .route(
            of_tenant(Operation::new(Method::Delete, path, "deleteTenant"))
                .changes(Role::Owner, Kind::TenantDeleted)
                .says(
                    "Delete a disabled tenant.",
                    "Destroys its templates with their keys at the key-holder, its sessions, API keys and policies. Its root log stays public. \
                     Repeated, it answers 404.",
                )
                .answers::<DeletedTenant>(200, "What was destroyed.", &examples::deleted_tenant())
                .asks_key_holder()
                .fails(&[Code::TenantInUse]),
            admin::delete_tenant,
        )
        .route(
            of_tenant(Operation::post("/v1/tenants/{tenant}/disable", "disableTenant"))
                .changes(Role::Operator, Kind::TenantDisabled)
                .says(
                    "Disable a tenant.",
                    "All of its API keys get 403 `tenant-disabled`; nothing is deleted.",
                )
                .answers::<ChangedTenant>(200, "The tenant.", &examples::disabled_tenant())
                .writes(),
            admin::disable,
        )
        .route(
            of_tenant(Operation::post("/v1/tenants/{tenant}/enable", "enableTenant"))
                .changes(Role::Operator, Kind::TenantEnabled)
                .says("Enable a tenant.", "Its API keys are accepted again.")
                .answers::<ChangedTenant>(200, "The tenant.", &examples::enabled_tenant())
                .writes(),
            admin::enable,
        )
        .route(
            of_tenant(Operation::post("/v1/tenants/{tenant}/reset-malformed", "resetMalformed"))
                .changes(Role::Operator, Kind::MalformedReset)
                .says(
                    "Reset the count of a tenant's malformed jobs.",
                    "Do this once their cause is found: logins of a tenant that they froze are decided again.",
                )
                .answers::<ResetMalformed>(200, "That it was reset.", &examples::reset_malformed())
                .asks_key_holder(),
            admin::reset_malformed,
        )
        .route(
            of_tenant(Operation::post(
                "/v1/tenants/{tenant}/subjects/{handle}/reset-attempts",
                "resetAttempts",
            ))
            .changes(Role::Operator, Kind::AttemptsReset)
            .says(
                "End the delay of a locked-out subject.",
                "Also forgets its failures of the day. The template's total budget stays spent. A key-holder in \
                 another process does this only for its own operator.",
            )
            .path::<Hex<32>>("handle", "The subject.", examples::HANDLE)
            .answers::<ResetAttempts>(200, "That it was reset.", &examples::reset_attempts())
            .asks_key_holder()
            .fails(&[Code::SubjectUnknown]),
            admin::reset_attempts,
        )
}

fn policies(routes: Routes) -> Routes {
    routes
        .route(
            of_tenant(Operation::new(Method::Put, "/v1/tenants/{tenant}/policy", "setPolicy"))
                .changes(Role::Operator, Kind::PolicyChanged)
                .says(
                    "Change a tenant's policy.",
                    "Makes the next version, which attestations name from then on, and tells the key-holder first. `embedder` and `probe` stay. \
                     Sending the policy in force makes no version and tells the key-holder again: the cure for `policy-out-of-step`.",
                )
                .conditional("Makes the version only if this `ETag` is that of the policy in force.")
                .takes::<SetPolicy>(16 * JSON_BYTES_MAX, &examples::set_policy())
                .answers::<ChangedPolicy>(200, "The version, with its receipt.", &examples::changed_policy())
                .header("ETag", ETAG)
                .writes()
                .asks_key_holder()
                .fails(&[Code::PolicyOvertaken]),
            admin::set_policy,
        )
        .route(
            of_tenant(Operation::get("/v1/tenants/{tenant}/policies", "listPolicies"))
                .for_viewers()
                .says("List the versions of a tenant's policy.", "Oldest first, at most 8 at a time; none is ever deleted.")
                .query::<u32>("from", "Where the page begins: `next` of the page before.", 2)
                .answers::<PolicyPage>(200, "A page of versions.", &examples::policies())
                .reads(),
            admin::policies,
        )
}

fn keys(routes: Routes) -> Routes {
    let (keys, rotation) = ("/v1/tenants/{tenant}/api-keys", "/v1/tenants/{tenant}/key-rotation");
    routes
        .route(
            of_tenant(Operation::post(keys, "createApiKey"))
                .changes(Role::Operator, Kind::ApiKeyCreated)
                .created_once()
                .fails(&[Code::SecretShown])
                .says("Create an API key.", "The answer is the only time that the secret is shown.")
                .takes::<CreateApiKey>(JSON_BYTES_MAX, &examples::create_api_key())
                .answers::<CreatedApiKey>(201, "The key.", &examples::created_api_key())
                .writes(),
            admin::create_api_key,
        )
        .route(
            of_tenant(Operation::get(keys, "listApiKeys"))
                .for_viewers()
                .says("List a tenant's API keys.", "At most 256 at a time, without their secrets.")
                .query::<Hex<8>>("from", "Where the page begins: `next` of the page before.", examples::KEY)
                .answers::<ApiKeyPage>(200, "A page of keys.", &examples::api_keys()),
            admin::api_keys,
        )
        .route(
            of_tenant(Operation::new(Method::Delete, "/v1/tenants/{tenant}/api-keys/{id}", "revokeApiKey"))
                .changes(Role::Operator, Kind::ApiKeyRevoked)
                .says("Revoke an API key.", "It is refused from the answer on. A repetition gets the same answer.")
                .path::<Hex<8>>("id", "The key's public part.", examples::KEY)
                .answers::<RevokedApiKey>(200, "The revoked key.", &examples::revoked_api_key())
                .writes()
                .fails(&[Code::ApiKeyUnknown]),
            admin::revoke_api_key,
        )
        .route(
            of_tenant(Operation::get("/v1/tenants/{tenant}/usage", "tenantUsage"))
                .for_viewers()
                .says("Read what a tenant's API keys were used for.", USAGE)
                .query::<Hex<8>>("from", "Where the page begins: `next` of the page before.", examples::KEY)
                .answers::<UsagePage>(200, "A page of at most 64 keys.", &examples::usage())
                .reads(),
            usage::of_tenant,
        )
        .route(
            of_tenant(Operation::new(Method::Put, "/v1/tenants/{tenant}/issuer-key", "registerIssuerKey"))
                .changes(Role::Operator, Kind::IssuerKeyRegistered)
                .says("Register the issuer's key.", "Open sessions stay valid. The next root must be signed with this key.")
                .takes::<RegisterIssuerKey>(SIGNED_JSON_BYTES_MAX, &examples::register_issuer_key())
                .answers::<RegisteredIssuerKey>(200, "The key's name.", &examples::registered_issuer_key())
                .writes()
                .fails(&[Code::ProofModeMismatch]),
            roots::register_key,
        )
        .route(
            of_tenant(Operation::post(rotation, "rotateKeys"))
                .changes(Role::Operator, Kind::KeyRotationBegun)
                .says(
                    "Rotate the keys of a tenant's templates.",
                    "Subjects can log in meanwhile. Resumes a rotation that has stopped. A request while one runs changes nothing.",
                )
                .answers::<StartedRotation>(202, "The progress of the rotation.", &examples::started_rotation())
                .writes()
                .asks_key_holder(),
            admin::rotate_keys,
        )
        .route(
            of_tenant(Operation::get(rotation, "showKeyRotation"))
                .for_viewers()
                .says("Show the progress of the rotation of a tenant's keys.", "It changes nothing.")
                .answers::<RotationStatus>(200, "The progress of the rotation.", &examples::rotation())
                .reads(),
            admin::key_rotation,
        )
}

fn operators(routes: Routes) -> Routes {
    let operator = |operation: Operation| {
        operation
            .path::<Hex<8>>("operator", "The operator.", examples::OPERATOR)
            .fails(&[Code::OperatorUnknown])
    };
    let (one, tokens) = ("/v1/operators/{operator}", "/v1/operators/{operator}/tokens");
    routes
        .route(
            Operation::post("/v1/operators", "createOperator")
                .changes(Role::Owner, Kind::OperatorCreated)
                .created_once()
                .fails(&[Code::SecretShown])
                .says("Create an operator.", "With a token, which only this answer shows.")
                .takes::<CreateOperator>(JSON_BYTES_MAX, &examples::create_operator())
                .answers::<CreatedOperatorToken>(201, "Its token.", &examples::created_operator_token()),
            operators::create,
        )
        .route(
            Operation::get("/v1/operators", "listOperators")
                .for_viewers()
                .says("List the operators.", "In the order of their identifiers, at most 256 at a time.")
                .query::<Hex<8>>(
                    "from",
                    "Where the page begins: `next` of the page before.",
                    examples::OPERATOR,
                )
                .answers::<OperatorPage>(200, "A page of operators.", &examples::operators()),
            operators::list,
        )
        .route(
            operator(Operation::get(one, "showOperator"))
                .for_viewers()
                .says("Show an operator.", "With its tokens, without their secrets.")
                .answers::<Operator>(200, "The operator.", &examples::operator()),
            operators::show,
        )
        .route(
            operator(Operation::new(Method::Delete, one, "revokeOperator"))
                .changes(Role::Owner, Kind::OperatorRevoked)
                .says(
                    "Revoke an operator.",
                    "All of its tokens are refused from the answer on. The last owner cannot be revoked.",
                )
                .answers::<ChangedOperator>(200, "The operator.", &examples::revoked_operator())
                .fails(&[Code::LastOwner]),
            operators::revoke,
        )
        .route(
            operator(Operation::post(tokens, "createOperatorToken"))
                .changes(Role::Owner, Kind::OperatorTokenCreated)
                .created_once()
                .fails(&[Code::SecretShown])
                .says(
                    "Create another token of an operator.",
                    "To replace a token: create one, move to it, revoke the old one. At most two are valid at a time.",
                )
                .takes::<CreateOperatorToken>(JSON_BYTES_MAX, &examples::create_operator_token())
                .answers::<CreatedOperatorToken>(201, "The token.", &examples::created_operator_token())
                .fails(&[Code::OperatorConflict]),
            operators::create_token,
        )
        .route(
            operator(Operation::new(
                Method::Delete,
                "/v1/operators/{operator}/tokens/{number}",
                "revokeOperatorToken",
            ))
            .changes(Role::Owner, Kind::OperatorTokenRevoked)
            .says("Revoke a token of an operator.", "It is refused from the answer on.")
            .path::<u32>("number", "Which of the operator's tokens.", 1)
            .answers::<ChangedOperator>(200, "The operator.", &examples::changed_operator())
            .fails(&[Code::LastOwner]),
            operators::revoke_token,
        )
        .route(
            Operation::get("/v1/audit", "audit")
                .for_viewers()
                .says(
                    "Read the audit trail.",
                    "Changes by operators and refused attempts, oldest first, at most 256 at a time. Each entry has its receipt, whose seal \
                     `GET /v1/seals/{number}` gives.",
                )
                .query::<u64>("from", "Where the page begins: `next` of the page before.", 7)
                .query::<Hex<16>>("tenant", "Only entries of this tenant.", examples::TENANT)
                .answers::<AuditPage>(200, "A page of entries.", &examples::audit())
                .reads(),
            operators::audit,
        )
}

fn health(routes: Routes) -> Routes {
    routes
        .route(
            Operation::get("/v1/status", "status")
                .says(
                    "Show the service's health.",
                    "Findings with the next step, and the counts of `/metrics` as JSON. The page `/operator` shows the same.",
                )
                .for_viewers()
                .answers::<ServiceStatus>(200, "Its health.", &examples::status()),
            admin::status,
        )
        .route(
            Operation::get("/operator", "operatorPage")
                .says("The operator's page.", "It asks for the admin token, keeps it in memory, and loads nothing from elsewhere.")
                .answers_text("text/html", "The page.", "<!doctype html>..."),
            async || page::file("text/html; charset=utf-8", include_str!("../../page/operator.html")),
        )
        .route(
            Operation::get("/operator/page.js", "operatorScript")
                .says("Its script.", "Part of the page.")
                .answers_text("text/javascript", "The script.", "..."),
            async || page::file("text/javascript; charset=utf-8", include_str!("../../page/operator.js")),
        )
        .route(
            Operation::get("/operator/page.css", "operatorStyle")
                .says("Its style.", "Part of the page.")
                .answers_text("text/css", "The style.", "..."),
            async || page::file("text/css; charset=utf-8", include_str!("../../page/operator.css")),
        )
        .route(
            Operation::get("/livez", "live")
                .says("Whether the process answers.", "For supervisors.")
                .answers_text("text/plain", "It does.", "live\n"),
            admin::live,
        )
        .route(
            Operation::get("/readyz", "ready")
                .says(
                    "Whether the service takes requests.",
                    "For load balancers. Names key-holders that cannot be reached.",
                )
                .answers_text("text/plain", "It does.", "ready\n")
                .also(404, "It leaves: requests are answered, and new ones should go to another node.", "not ready: leaving, go to another node\n")
                .also(503, "It does not, and why.", "not ready: the service is shutting down\n"),
            admin::ready,
        )
        .route(
            Operation::get("/metrics", "metrics")
                .says("What the service counts.", "In Prometheus' text format.")
                .answers_text("text/plain", "The metrics.", "trefoil_ready 1\n"),
            admin::metrics,
        )
}
