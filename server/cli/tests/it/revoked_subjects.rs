//! A revoked subject is refused like one that was never enrolled, until its template is replaced; its record stays.

use crate::key_holder::wait_for;
use crate::members::Wallet;
use crate::nodes;
use crate::world::*;
use trefoil_attest::What;
use trefoil_storage::store::{Idempotency, Present, Sqlite, Subject, Subjects as _, Template};
use trefoil_types::TenantId;

/// Members of a published root; so many of them are enrolled.
async fn members(service: &Customer, enrolled: usize, count: usize, seed: u64) -> Members {
    let members = Members::new(service, count, seed);
    service.publish(members.root(), 1).await;
    for member in 0..enrolled {
        members.enrol(service, member).await;
    }
    members
}

fn handle(members: &Members, member: usize) -> Handle {
    Handle::new(members.holder(member, 1).handle().0)
}

async fn open(service: &Customer, members: &Members, member: usize) -> Wallet {
    members.open(service, member, 1, AUDIENCE).await
}

fn path(handle: &Handle, rest: &str) -> String {
    format!("/v1/subjects/{}{rest}", hex::encode(handle))
}

async fn revoke(service: &Customer, handle: &Handle) -> Reply {
    service.public.send(Method::POST, &path(handle, "/revoke"), &[], "").await
}

async fn replace(service: &Customer, handle: &Handle, face: &[f32], key: &str) -> Value {
    let face = (face, "form 8");
    let replaced = service.public.try_template(Method::PUT, handle, face, key).await.unwrap();
    replaced.is(200).json()
}

async fn shown(service: &Customer, handle: &Handle) -> Value {
    service.public.get(&path(handle, "")).await.json()
}

/// A refusal without what differs at each request.
fn told(reply: &Reply) -> Value {
    let mut told = reply.problem(404, "subject-unknown");
    told.as_object_mut().unwrap().remove("request_id");
    told
}

/// Generations of a subject whose keys the key-holder has.
fn keys(data: &Path, handle: &Handle) -> Vec<u32> {
    let vault = rusqlite::Connection::open(nodes::vault(data)).unwrap();
    let mut rows = vault.prepare("SELECT generation FROM subjects WHERE handle = ?").unwrap();
    let rows = rows.query_map([handle.as_bytes()], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn store(data: &Path) -> Sqlite {
    let secret = std::fs::read(data.join("master.key")).unwrap();
    Sqlite::open(&data.join("store.sqlite"), secret.as_array().unwrap()).unwrap()
}

/// Claim V76: A revoked subject is refused like one that was never enrolled, from the answer on, alone, in a batch and after a restart, its
/// open sessions end, and its receipt verifies. A gateway that loses its note of the revocation gets no decision from the key-holder. Only
/// a replacement makes the subject active again.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_subject_is_refused_as_one_that_never_was_until_its_template_is_replaced() {
    let service = Service::start().await;
    let data = service.data();
    let members = members(&service, 2, 3, 71).await;
    let (ann, bea, stranger) = (handle(&members, 0), handle(&members, 1), handle(&members, 2));
    let mut before = open(&service, &members, 0).await;
    let mut of_bea = open(&service, &members, 1).await;
    let mut of_stranger = open(&service, &members, 2).await;
    before.log_in(&service).await.matches();
    let active = shown(&service, &ann).await;
    assert_eq!((&active["state"], &active["revoked_at"]), (&json!("active"), &Value::Null));

    let narrow = service.public.with_bearer(&service.api_key(&["authenticate", "issue"]).await);
    narrow.send(Method::POST, &path(&ann, "/revoke"), &[], "").await.problem(403, "scope-missing");
    let other = service.neighbour(service::policy()).await;
    assert_eq!(told(&revoke(&other, &ann).await), told(&revoke(&service, &stranger).await));
    assert_eq!(shown(&service, &ann).await, active, "none of these did anything");

    let now = service.clock.unix_s();
    let first = revoke(&service, &ann).await.is(200);
    service.clock.advance(5);
    let again = revoke(&service, &ann).await;
    for said in [first.json(), again.json()] {
        let fields = (&said["handle"], &said["generation"], &said["revoked_at"]);
        assert_eq!(fields, (&json!(hex::encode(ann)), &json!(1), &json!(now)), "{said}");
        assert_eq!(service.receipt(&said), (What::Revoked { handle: ann, generation: 1 }, now));
    }
    assert_eq!(keys(&data, &ann), [0; 0], "nobody can decide with its template");
    let listed = service.public.get("/v1/subjects").await.json()["subjects"].clone();
    let of_ann = listed.as_array().unwrap().iter().find(|subject| subject["handle"] == active["handle"]);
    let mut expected = active.clone();
    (expected["state"], expected["revoked_at"]) = (json!("revoked"), json!(now));
    assert_eq!((of_ann, &shown(&service, &ann).await), (Some(&expected), &expected));
    let tag = service.public.get(&path(&ann, "")).await.headers["etag"].clone();
    assert_eq!(tag, format!("\"1-{now}\""), "another one than that of the active subject");

    // Its sessions have ended. In a new one it is told the same as somebody without a template.
    before.log_in(&service).await.problem(410, "session-expired");
    service.open(&before.envelope).await.problem(410, "session-expired");
    let mut after = open(&service, &members, 0).await;
    assert_eq!(told(&after.log_in(&service).await), told(&of_stranger.log_in(&service).await));
    let entries = [after.request(&service), of_bea.request(&service), of_stranger.request(&service)];
    let batch = json!({ "authentications": entries });
    let results = service.public.post("/v1/authentications/batch", &batch).await.json()["results"].clone();
    let codes = [&results[0]["problem"], &results[2]["problem"]];
    assert!(codes.iter().all(|problem| problem["code"] == "subject-unknown"), "{results}");
    assert_eq!(codes[0]["detail"], codes[1]["detail"]);
    assert_eq!(results[1]["decision"], "match", "{results}");

    let service = service.restart().await;
    after.log_in(&service).await.problem(404, "subject-unknown");
    assert_eq!(shown(&service, &ann).await, expected);
    // Only a replacement makes it active again: an enrolment finds the subject taken.
    service.public.enrol(ann, &members.face(0), "over").await.problem(409, "template-exists");
    let replaced = replace(&service, &ann, &members.face(0), "r1").await;
    assert_eq!((&replaced["generation"], &replaced["replaced"]), (&json!(2), &json!(1)), "{replaced}");
    assert_eq!(shown(&service, &ann).await["state"], "active");
    after.log_in(&service).await.matches();
    before.log_in(&service).await.problem(410, "session-expired");

    // Erased, it is enrolled again, and not revoked.
    revoke(&service, &bea).await.is(200);
    let erased = service.public.delete(&path(&bea, "/templates")).await;
    assert_eq!((erased.status.as_u16(), &erased.json()["generation"]), (200, &json!(1)), "{}", erased.text());
    revoke(&service, &bea).await.problem(404, "subject-unknown");
    members.enrol_again(&service, 1, "anew").await;
    assert_eq!(shown(&service, &bea).await["state"], "active");
    let mut of_bea = open(&service, &members, 1).await;
    of_bea.log_in(&service).await.matches();
}

/// Claim V76.
///
/// Logins that race with the revocation of their subject: none that is sent after that answer is accepted, in whatever session.
#[tokio::test(flavor = "multi_thread")]
async fn no_login_outruns_the_revocation_of_its_subject() {
    let service = Service::configured(|config| {
        // Most look-ups miss, so that templates and rows of sessions are read while the subject is revoked.
        config.proofs.cache_capacity = 1;
        config.store.templates_in_memory = 1;
    })
    .await;
    let members = members(&service, 4, 4, 72).await;
    for member in 0..4 {
        let handle = handle(&members, member);
        let mut wallets = Vec::new();
        for _ in 0..4 {
            wallets.push(open(&service, &members, member).await);
        }
        let service = &service;
        let logins = join_all(wallets.iter_mut().map(|wallet| async move {
            for _ in 0..8 {
                let reply = wallet.log_in(service).await;
                assert!(matches!(reply.status.as_u16(), 200 | 404 | 410), "{}", reply.text());
            }
        }));
        let revoked = async { assert_eq!(revoke(service, &handle).await.status, 200) };
        tokio::join!(logins, revoked);
        for wallet in &mut wallets {
            wallet.log_in(service).await.problem(410, "session-expired");
        }
        open(service, &members, member).await.log_in(service).await.problem(404, "subject-unknown");
    }
}

/// What a gateway whose operator takes the revocation back out of its store has: the template's rows, as they were.
fn forget_the_revocation(data: &Path, tenant: TenantId, handle: Handle) {
    let rows = rusqlite::Connection::open(data.join("store.sqlite")).unwrap();
    let sql = "SELECT lane, model, epoch, wrapped_key, wrapped, CAST(consent_ref AS TEXT), created_at
        FROM templates JOIN template_bytes USING (tenant, handle) WHERE handle = ?";
    let kept = rows.query_row(sql, [handle.as_bytes()], |row| {
        let subject = Subject {
            tenant,
            handle,
            generation: 1,
            lane: row.get(0)?,
            model: trefoil_matching::Model::from_bytes(row.get(1)?).unwrap(),
            epoch: row.get(2)?,
            wrapped_key: row.get(3)?,
            consent_ref: row.get(5)?,
            created_at: row.get(6)?,
            revoked_at: None,
        };
        Ok(Template { subject, wrapped: row.get(4)? })
    });
    drop(rows);
    let (store, kept) = (store(data), kept.unwrap());
    let (next, from) = store.reserve_replacement(&tenant, &handle).unwrap();
    assert!(matches!(from, Present { generation: 1, revoked_at: Some(_) }));
    let key = "k".to_owned();
    let answer =
        Idempotency { tenant, key, request_digest: [1; 32], generation: 1, replaced: None, created_at: 1 };
    // Only a reserved generation is taken, so the old one comes back by a renewal.
    let subject = Subject { generation: next, ..kept.subject.clone() };
    let anew = Template { subject, ..kept.clone() };
    assert_eq!(store.replace_template(anew, from, answer), Ok(true));
    assert_eq!(store.renew_template(kept.clone(), next), Ok(true));
    for name in store.leftovers().unwrap() {
        store.forget_leftover(&name).unwrap();
    }
    assert_eq!(store.template(&tenant, &handle), Ok(Some(kept)));
}

/// Claim V76.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_forgets_a_revocation_gets_no_decision() {
    let service = Service::start().await;
    let data = service.data();
    let members = members(&service, 2, 2, 73).await;
    let (revoked, tenant) = (handle(&members, 0), service.tenant);
    revoke(&service, &revoked).await.is(200);
    let service = service.restart_after(async |_| forget_the_revocation(&data, tenant, revoked)).await;
    assert_eq!(shown(&service, &revoked).await["state"], "active");
    let mut wallet = open(&service, &members, 0).await;
    wallet.log_in(&service).await.problem(404, "subject-unknown");
    let mut other = open(&service, &members, 1).await;
    other.log_in(&service).await.matches();
}

/// Claim V76.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_revocation_left_behind_is_forgotten_at_the_next_start() {
    let service = Service::start().await;
    let data = service.data();
    let members = members(&service, 1, 1, 74).await;
    let (revoked, tenant) = (handle(&members, 0), service.tenant);
    let service = service
        .restart_after(async |_| {
            assert_eq!(keys(&data, &revoked), [1]);
            assert!(store(&data).revoke_subject(&tenant, &revoked, 1).unwrap().is_some());
        })
        .await;
    assert_eq!(keys(&data, &revoked), [0; 0]);
    let mut wallet = open(&service, &members, 0).await;
    wallet.log_in(&service).await.problem(404, "subject-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_of_keys_ends_without_revoked_subjects_which_can_be_replaced_after_it() {
    let service = Service::start().await;
    let members = members(&service, 2, 2, 75).await;
    let revoked = handle(&members, 0);
    revoke(&service, &revoked).await.is(200);
    let rotation = service.path("/key-rotation");
    service.admin.post(&rotation, &json!({})).await.is(202);
    let ends = async {
        until(async || service.admin.get(&rotation).await.json()["state"] == "idle").await;
    };
    tokio::time::timeout(Duration::from_secs(60), ends).await.expect("the rotation ends");
    let (mut wallet, mut other) = (open(&service, &members, 0).await, open(&service, &members, 1).await);
    wallet.log_in(&service).await.problem(404, "subject-unknown");
    other.log_in(&service).await.matches();
    assert_eq!(shown(&service, &revoked).await["state"], "revoked");
    replace(&service, &revoked, &members.face(0), "r").await;
    wallet.log_in(&service).await.matches();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_while_the_key_holder_is_away_is_in_force_and_is_completed_by_a_repetition() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    // Each node finds for itself that its key-holder is back.
    let service = Service::new(key_holder.config(&data)).await.at_one_node();
    let members = members(&service, 1, 1, 76).await;
    let revoked = handle(&members, 0);
    let mut before = open(&service, &members, 0).await;
    before.log_in(&service).await.matches();
    key_holder.kill();
    revoke(&service, &revoked).await.problem(503, "key-holder-unavailable");
    let since = shown(&service, &revoked).await["revoked_at"].clone();
    assert!(since.is_u64(), "{since}");

    key_holder.again();
    wait_for(&service, 200).await;
    before.log_in(&service).await.problem(410, "session-expired");
    let mut after = open(&service, &members, 0).await;
    after.log_in(&service).await.problem(404, "subject-unknown");
    let again = revoke(&service, &revoked).await;
    assert_eq!((again.status.as_u16(), &again.json()["revoked_at"]), (200, &since), "{}", again.text());
    assert_eq!(service.receipt(&again.json()).0, What::Revoked { handle: revoked, generation: 1 });
}
