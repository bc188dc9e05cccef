//! Operators: their roles on every route, their tokens over their life, and the audit trail of what they did.

use crate::service::receipt;
use crate::world::*;
use trefoil_attest::{
    Actor, Change, Kind, SERVICE, Seal, Suite, VerifiedChange, What, verify_change, verify_change_with_seal,
};
use trefoil_server::description;
use trefoil_server::openapi::Listener;
use trefoil_storage::store::{Note, Operators as _, Sqlite};
use trefoil_types::{ApiKeyId, OperatorId, TenantId};

/// A new operator: the admin listener with its token, and its identifier.
async fn operator(service: &Service, name: &str, role: &str) -> (Endpoint, OperatorId) {
    let created = service.admin.post("/v1/operators", &json!({ "name": name, "role": role })).await.is(201);
    let created = created.json();
    let id = Hex::<8>::parse(created["operator_id"].as_str().unwrap()).unwrap();
    (service.admin.with_bearer(created["token"].as_str().unwrap()), OperatorId::new(id.0))
}

/// The secret part of an operator's token.
fn secret_of(token: &str) -> &str {
    token.splitn(5, '_').last().unwrap()
}

/// What a receipt in an answer says was done, and by whom.
fn told<'a>(service: &Service, bytes: &'a [u8], tenant: TenantId) -> VerifiedChange<'a> {
    verify_change(bytes, &service.trust_root, Some(&tenant), service.clock.unix_s()).unwrap()
}

fn role_of(route: &Value) -> Option<u8> {
    let role = route["x-trefoil-role"].as_str();
    assert_eq!(
        role.is_none(),
        route["security"] == json!([]),
        "a route has a role unless anyone may call it"
    );
    role.map(|role| 1 + ["viewer", "operator", "owner"].iter().position(|name| *name == role).unwrap() as u8)
}

/// Claim V60: A viewer's token changes nothing: every route of the admin listener refuses an operator below the role in the route table,
/// and the refusal is in the audit trail.
#[tokio::test(flavor = "multi_thread")]
async fn every_admin_route_keeps_to_the_role_of_the_table() {
    let service = Service::start().await;
    let callers = [
        (1, operator(&service, "viewer", "viewer").await.0),
        (2, operator(&service, "operator", "operator").await.0),
        (3, operator(&service, "owner", "owner").await.0),
        (3, service.admin.clone()),
    ];
    let nobody = Endpoint { bearer: None, ..service.admin.clone() };
    let (mut walked, mut changing) = (0, 0);
    for (path, item) in description::of(Listener::Admin)["paths"].as_object().unwrap() {
        for (method, route) in item.as_object().unwrap() {
            let Some(needed) = role_of(route) else { continue };
            let is_read = method == "get";
            assert_eq!(needed == 1, is_read, "{method} {path}: viewers read, and nothing else");
            // Identifiers that do not exist, so that the walk changes little.
            let named = path.replace("{tenant}", &"5a".repeat(16)).replace("{id}", &"5a".repeat(8));
            let named = named.replace("{handle}", &"5a".repeat(32));
            let named = named.replace("{operator}", &"5a".repeat(8)).replace("{number}", "9");
            let body = &route["requestBody"]["content"]["application/json"]["example"];
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let method: Method = method.to_uppercase().parse().unwrap();
            nobody
                .send(method.clone(), &named, &[], body.clone())
                .await
                .problem(401, "caller-unauthenticated");
            for (role, caller) in &callers {
                let reply = caller.send(method.clone(), &named, &[], body.clone()).await;
                if *role < needed {
                    let refused = reply.problem(403, "role-missing");
                    assert!(refused["detail"].as_str().unwrap().contains("it needs the role"), "{refused}");
                } else if store::is_fleet() && reply.status == 403 {
                    // What is for the operator of its key-holder, which is elsewhere.
                    reply.problem(403, "key-holder-forbids");
                } else {
                    assert_ne!(reply.status, 403, "{method} {path} as {role}: {}", reply.text());
                }
            }
            walked += 1;
            changing += usize::from(!is_read);
        }
    }
    assert!(walked >= 20 && changing >= 14, "{walked} {changing}");
    // Each refusal is in the trail: of a viewer every change, of an operator those of owners.
    let trail = service.admin.get("/v1/audit").await.json();
    let refused = trail["entries"].as_array().unwrap().iter().filter(|entry| entry["outcome"] == "refused");
    let by = |name: &str| refused.clone().filter(|entry| entry["operator_name"] == name).count();
    assert_eq!((by("viewer"), by("operator"), by("owner")), (changing, 5, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_tokens_live_and_end_and_the_first_owner_can_go() {
    let service = Service::start().await;
    let now = service.clock.unix_s();
    let body = json!({ "name": "ann", "role": "owner", "expires_at": now + 100 });
    let first = service.admin.post("/v1/operators", &body).await.json();
    let path = format!("/v1/operators/{}", first["operator_id"].as_str().unwrap());
    let ann = service.admin.with_bearer(first["token"].as_str().unwrap());
    let shown = ann.get(&path).await.json();
    let token = json!({ "number": 1, "created_at": now, "expires_at": now + 100, "revoked_at": null });
    assert_eq!(
        (&shown["name"], &shown["role"], &shown["tokens"]),
        (&json!("ann"), &json!("owner"), &json!([token]))
    );
    assert!(!shown.to_string().contains(secret_of(ann.bearer.as_ref().unwrap())));
    let listed = ann.get("/v1/operators").await.json();
    assert_eq!(listed["operators"].as_array().unwrap().len(), 2);
    assert_eq!(listed["operators"][0]["name"], "admin.token");

    // Rotation: two are taken, a third is not made.
    let second = ann.post(&format!("{path}/tokens"), &json!({})).await.json();
    let anew = service.admin.with_bearer(second["token"].as_str().unwrap());
    anew.post(&format!("{path}/tokens"), &json!({})).await.problem(409, "operator-conflict");
    ann.get(&path).await.is(200);
    let revoked = anew.delete(&format!("{path}/tokens/1")).await.json();
    assert_eq!(revoked["tokens"][0]["revoked_at"], now);
    assert!(revoked["receipt"].is_object(), "{revoked}");
    let again = anew.delete(&format!("{path}/tokens/1")).await.json();
    assert_eq!((&again["tokens"], &again["receipt"]), (&revoked["tokens"], &Value::Null));
    ann.get(&path).await.problem(401, "caller-unauthenticated");
    anew.delete(&format!("{path}/tokens/7")).await.problem(404, "operator-unknown");
    anew.delete("/v1/operators/0000000000000000/tokens/1").await.problem(404, "operator-unknown");
    anew.delete(&format!("/v1/operators/{}", "5a".repeat(8))).await.problem(404, "operator-unknown");
    let late = json!({ "name": "bob", "role": "viewer", "expires_at": now });
    anew.post("/v1/operators", &late).await.problem(422, "field-invalid");
    let nameless = json!({ "name": "", "role": "viewer" });
    anew.post("/v1/operators", &nameless).await.problem(422, "field-invalid");

    // The token of the data directory, while another owner has one, and after a restart.
    anew.delete("/v1/operators/0000000000000000").await.is(200);
    service.admin.get("/v1/tenants").await.problem(401, "caller-unauthenticated");
    anew.delete(&path).await.problem(409, "last-owner");
    let anew = anew.bearer.clone().unwrap();
    let service = service.restart().await;
    service.admin.get("/v1/tenants").await.problem(401, "caller-unauthenticated");
    let anew = service.admin.with_bearer(&anew);
    anew.get("/v1/tenants").await.is(200);
    let shown = anew.get("/v1/operators/0000000000000000").await.json();
    assert_eq!(shown["revoked_at"], now);

    // A viewer ends when its time is over.
    let viewer = json!({ "name": "v", "role": "viewer", "expires_at": service.clock.unix_s() + 50 });
    let viewer = anew.post("/v1/operators", &viewer).await.json();
    let viewer = service.admin.with_bearer(viewer["token"].as_str().unwrap());
    service.clock.advance(49);
    viewer.get("/v1/tenants").await.is(200);
    service.clock.advance(1);
    viewer.get("/v1/tenants").await.problem(401, "caller-unauthenticated");
}

/// Claim V59: The receipt of a tenant's creation shows, by the policy's digest, whether it asks for proofs.
/// Claim V61: Every change by an operator has an entry in the audit trail whose receipt verifies offline and names the operator, even if
/// the process ended between the change and its seal.
#[tokio::test(flavor = "multi_thread")]
async fn every_change_by_an_operator_answers_with_a_receipt_and_is_in_the_audit_trail() {
    let service = Service::start().await;
    let before = service.admin.get("/v1/audit").await.json()["entries"].as_array().unwrap().len();
    let (ann, id) = operator(&service, "Ann", "operator").await;
    let by = Some(Actor { operator: id, name: "Ann" });
    let mut expected = vec![("operator_created", Value::Null)];
    let tenant_policy = json!({ "name": "bank", "policy": service::policy() });

    let created = ann.post("/v1/tenants", &tenant_policy).await.json();
    let other = Hex::<16>::parse(created["tenant_id"].as_str().unwrap()).unwrap().0;
    let bytes = receipt(&created);
    let change = *told(&service, &bytes, TenantId::new(other)).change();
    let policies = ann.get(&format!("/v1/tenants/{}/policies", hex::encode(other))).await.json();
    let digest = policies["policies"][0]["policy_digest"].as_str().unwrap().to_owned();
    assert_eq!(change.what, What::TenantCreated { digest: Hex::parse(&digest).unwrap().0 });
    assert_eq!((change.by, change.changed_at), (by, service.clock.unix_s()));
    expected.push(("tenant_created", created["tenant_id"].clone()));

    let tenant = json!(hex::encode(service.tenant));
    let mut check = |action: &'static str, answer: &Value, what: What| {
        let bytes = receipt(answer);
        let change = *told(&service, &bytes, service.tenant).change();
        assert_eq!((change.what, change.by), (what, by), "{action}");
        expected.push((action, tenant.clone()));
    };
    let key = ann.post(&service.path("/api-keys"), &json!({ "scopes": ["enrol", "issue"] })).await.json();
    let key_id = ApiKeyId::new(Hex::parse(key["id"].as_str().unwrap()).unwrap().0);
    check("api_key_created", &key, What::ApiKeyCreated { key: key_id, scopes: 5 });
    let path = service.path(&format!("/api-keys/{}", key["id"].as_str().unwrap()));
    let revoked = ann.delete(&path).await.json();
    check("api_key_revoked", &revoked, What::ApiKeyRevoked { key: key_id });
    assert_eq!(ann.delete(&path).await.json()["receipt"], Value::Null, "nothing was changed again");
    for (path, action, what) in [
        ("/disable", "tenant_disabled", What::TenantDisabled),
        ("/enable", "tenant_enabled", What::TenantEnabled),
        ("/reset-malformed", "malformed_reset", What::MalformedReset),
    ] {
        if store::is_fleet() && path == "/reset-malformed" {
            // It is for the operator of its key-holder, which is elsewhere.
            continue;
        }
        let answer = ann.post(&service.path(path), &json!({})).await.json();
        check(action, &answer, what);
    }
    let policy = service::with(service::policy(), "level_min", json!(1));
    let changed = json!({ "policy": policy }).to_string();
    let changed = ann.send(Method::PUT, &service.path("/policy"), &[], changed).await.json();
    let digest = Hex::parse(changed["policy_digest"].as_str().unwrap()).unwrap().0;
    check("policy_changed", &changed, What::PolicyChanged { id: 1, version: 2, digest });
    let rotated = ann.post(&service.path("/key-rotation"), &json!({})).await.json();
    check("key_rotation_begun", &rotated, What::KeyRotationBegun { epoch: 1 });
    // A rotation without templates soon ends, by itself.
    let ended = ended_rotation(&service).await;
    assert_eq!((&ended["operator_id"], &ended["object"]), (&Value::Null, &json!("epoch 1")), "{ended}");
    expected.push(("key_rotation_ended", tenant.clone()));

    let (viewer, viewer_id) = operator(&service, "Vic", "viewer").await;
    expected.push(("operator_created", Value::Null));
    viewer.post(&service.path("/disable"), &json!({})).await.problem(403, "role-missing");
    expected.push(("tenant_disabled", tenant.clone()));

    let trail = viewer.get("/v1/audit").await.json();
    let entries = &trail["entries"].as_array().unwrap()[before..];
    let found: Vec<_> =
        entries.iter().map(|entry| (entry["action"].as_str().unwrap(), entry["tenant"].clone())).collect();
    assert_eq!(found, expected);
    let refused = entries.last().unwrap();
    assert_eq!(
        (&refused["outcome"], &refused["operator_id"], &refused["operator_name"]),
        (&json!("refused"), &json!(hex::encode(viewer_id)), &json!("Vic"))
    );
    every_entry_is_sealed(&service, entries).await;
    let text = trail.to_string();
    let secret = key["api_key"].as_str().unwrap().splitn(3, '_').last().unwrap();
    assert!(!text.contains(secret) && !text.contains(viewer.bearer.as_ref().unwrap()));

    // Of one tenant alone, and from an entry on.
    let own = viewer.get(&format!("/v1/audit?tenant={}", hex::encode(service.tenant))).await.json();
    assert!(own["entries"].as_array().unwrap().iter().all(|entry| entry["tenant"] == tenant), "{own}");
    let last = viewer.get(&format!("/v1/audit?from={}", refused["number"])).await.json();
    assert_eq!((&last["entries"], &last["next"]), (&json!([refused]), &Value::Null));
    viewer.get("/v1/audit?from=x").await.problem(400, "malformed-request");
}

/// The entry of the end of a rotation, once its receipt is there.
async fn ended_rotation(service: &Service) -> Value {
    for _ in 0..10_000 {
        let trail = service.admin.get("/v1/audit").await.json();
        let ended = |entry: &&Value| entry["action"] == "key_rotation_ended" && entry["receipt"].is_object();
        if let Some(entry) = trail["entries"].as_array().unwrap().iter().find(ended) {
            return entry.clone();
        }
    }
    panic!("the rotation does not end");
}

/// Each entry's receipt verifies offline and says what the entry says.
async fn every_entry_is_sealed(service: &Service, entries: &[Value]) {
    for entry in entries {
        let compact = receipt(entry);
        let seal = service.public.get(&format!("/v1/seals/{}", entry["receipt"]["seal_number"])).await;
        let seal = Seal::decode(&seal.body).unwrap();
        let (root, now) = (&service.trust_root, service.clock.unix_s());
        let verified = verify_change_with_seal(&compact, &seal, root, None, now).unwrap();
        let Change { tenant, what, by, changed_at, .. } = *verified.change();
        let action = match what {
            What::Refused { action } => action,
            _ => what.kind(),
        };
        assert_eq!(entry["receipt"]["id"], hex::encode(verified.digest()));
        assert_eq!((&entry["action"], &entry["at"]), (&json!(action.name()), &json!(changed_at)));
        assert_eq!(entry["outcome"] == "refused", what.kind() == Kind::Refused);
        assert_eq!(entry["operator_name"], json!(by.map(|by| by.name)));
        let of = (tenant != SERVICE).then(|| hex::encode(tenant));
        assert_eq!(entry["tenant"], json!(of));
    }
}

/// Claim V61.
///
/// A process that ended between a change and its seal.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_noted_and_not_sealed_is_sealed_by_the_next_start() {
    let service = Service::start().await;
    let data = service.data();
    let tenant = service.tenant;
    let service = service
        .restart_after(async |clock| {
            let change = Change {
                suite: Suite::One,
                issuer: "https://auth.example",
                tenant,
                changed_at: clock.unix_s(),
                salt: [7; 16],
                what: What::TenantDisabled,
                by: Some(Actor { operator: OperatorId::new([3; 8]), name: "Ann" }),
            };
            let note = Note { tenant, statement: change.encode().unwrap(), once: None };
            let secret = std::fs::read(data.join("master.key")).unwrap();
            let store = Sqlite::open(&data.join("store.sqlite"), secret.as_array().unwrap()).unwrap();
            let number = store.note(note).unwrap();
            assert_eq!(store.unsealed_notes(9).unwrap()[0].number, number);
        })
        .await;
    let trail = service.admin.get("/v1/audit").await.json();
    let entries = trail["entries"].as_array().unwrap();
    assert_eq!(entries.last().unwrap()["operator_name"], "Ann");
    every_entry_is_sealed(&service, entries).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_repeated_with_its_key_creates_nothing_more_and_shows_no_secret_again() {
    let service = Service::start().await;
    let data = service.data();
    let create = async |caller: &Endpoint, path: &str, key: &str, body: &Value| {
        caller.send(Method::POST, path, &[("idempotency-key", key)], body.to_string()).await
    };
    let tenant = json!({ "name": "bank", "policy": service::policy() });
    let first = create(&service.admin, "/v1/tenants", "a", &tenant).await;
    assert_eq!((first.status.as_u16(), first.headers.get("idempotent-replayed")), (201, None));
    let again = create(&service.admin, "/v1/tenants", "a", &tenant).await;
    assert_eq!(
        (again.status.as_u16(), &again.headers["idempotent-replayed"]),
        (201, &"true".parse().unwrap())
    );
    let [first, again] = [first, again].map(|reply| reply.json());
    assert_eq!(
        (&first["tenant_id"], &first["receipt"]["id"]),
        (&again["tenant_id"], &again["receipt"]["id"])
    );
    let other = json!({ "name": "bonk", "policy": service::policy() });
    create(&service.admin, "/v1/tenants", "a", &other).await.problem(422, "idempotency-key-reused");
    for key in ["", "a key", "a\tkey", &"k".repeat(256)] {
        create(&service.admin, "/v1/tenants", key, &other).await.problem(400, "malformed-request");
    }

    let (_, eve) = operator(&service, "eve", "viewer").await;
    let secrets = [
        (service.path("/api-keys"), json!({ "scopes": ["enrol"] }), "b", "id"),
        ("/v1/operators".to_owned(), json!({ "name": "ann", "role": "owner" }), "c", "operator_id"),
        (format!("/v1/operators/{eve}/tokens"), json!({}), "d", "operator_id"),
    ];
    for (path, body, key, name) in &secrets {
        let created = create(&service.admin, path, key, body).await.is(201);
        let shown = create(&service.admin, path, key, body).await.problem(409, "secret-shown");
        let id = created.json()[name].as_str().unwrap().to_owned();
        assert!(shown["detail"].as_str().unwrap().contains(&id), "{shown}");
        // One idempotency key on two routes counts as two, even with the same body.
        create(&service.admin, "/v1/tenants", key, &tenant).await.problem(422, "idempotency-key-reused");
    }
    let count = async |service: &Service| {
        let tenants = service.admin.get("/v1/tenants").await.json()["tenants"].as_array().unwrap().len();
        let keys =
            service.admin.get(&service.path("/api-keys")).await.json()["api_keys"].as_array().unwrap().len();
        (
            tenants,
            keys,
            service.admin.get("/v1/operators").await.json()["operators"].as_array().unwrap().len(),
        )
    };
    assert_eq!(count(&service).await, (2, 2, 3));
    let eve = service.admin.get(&format!("/v1/operators/{eve}")).await.json();
    assert_eq!(eve["tokens"].as_array().unwrap().len(), 2, "{eve}");
    // The same key from another operator counts as another one.
    let (bob, _) = operator(&service, "bob", "operator").await;
    let own = create(&bob, "/v1/tenants", "a", &tenant).await;
    assert_eq!((own.status.as_u16(), own.json()["tenant_id"] == first["tenant_id"]), (201, false));

    // A day, and a restart.
    let service = service.restart().await;
    let again = create(&service.admin, "/v1/tenants", "a", &tenant).await;
    assert_eq!(again.json()["tenant_id"], first["tenant_id"]);
    assert_eq!(count(&service).await, (3, 2, 4));
    let files =
        std::fs::read_dir(&data).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default());
    let secret = bob.bearer.unwrap();
    let secret = secret_of(&secret).as_bytes().to_vec();
    assert!(files.into_iter().all(|file| file.windows(secret.len()).all(|window| window != secret)));
}
