//! Rotation of a tenant's keys while its subjects log in.

use crate::enrolment::join_all;
use crate::key_holder::{KeyHolder, listen};
use crate::service::{self, Person, Service, answer, templates_path};
use hyper::Method;
use serde_json::{Value, json};
use std::path::Path;
use trefoil_server::config::Config;
use trefoil_server::wire::{Decision, Vector};

/// Subjects, and how many of them log in.
const SUBJECTS: usize = 352;
const PEOPLE: usize = 6;

/// A service of a tenant with these subjects.
async fn start(config: Config, keys: &str, attempts: Option<u32>, subjects: usize) -> (Service, Vec<Person>) {
    let mut policy = service::policy();
    if let Some(most) = attempts {
        policy["attempts"] = json!({"consecutive": most, "per_day": most, "per_generation": most});
    }
    let tenant = json!({"name": "shop", "keys": keys, "policy": policy});
    let service = Service::with_tenant(config, tenant).await;
    let people = service.people(PEOPLE as u32, 1, 61).await;
    for person in &people {
        service.welcome(person).await;
    }
    // The others have no sessions; their templates are renewed all the same.
    let others: Vec<(String, String)> = (PEOPLE..subjects)
        .map(|i| {
            let face = std::array::from_fn(|k| ((i * 131 + k * 7919) % 1009) as f32 - 504.0);
            let mut handle = [0xee; 32];
            handle[..8].copy_from_slice(&(i as u64).to_le_bytes());
            let body = json!({"embedding": Vector::new(face), "consent_ref": "form 7"});
            (format!("/v1/subjects/{}/templates", hex::encode(handle)), body.to_string())
        })
        .collect();
    for chunk in others.chunks(32) {
        let enrol = |(path, body): &(String, String)| {
            let (path, body) = (path.clone(), body.clone());
            let public = service.public.clone();
            async move { public.send(Method::POST, &path, &[("idempotency-key", &path)], body).await }
        };
        for reply in join_all(chunk.iter().map(enrol)).await {
            assert_eq!(reply.status, 201, "{}", reply.text());
        }
    }
    (service, people)
}

fn path(service: &Service) -> String {
    format!("/v1/tenants/{}/key-rotation", hex::encode(service.tenant))
}

async fn status(service: &Service) -> Value {
    let status = service.admin.get(&path(service)).await;
    assert_eq!(status.status, 200, "{}", status.text());
    status.json()
}

/// Everybody logs in as themselves and, where the budgets allow it, as somebody else, until `done` says so; every answer is
/// right.
async fn log_in_until(
    service: &Service,
    people: &[Person],
    strangers: bool,
    first: u64,
    done: impl Fn(&Value) -> bool,
) -> u64 {
    let mut nonce = first;
    loop {
        let stop = done(&status(service).await);
        let mut requests = Vec::new();
        for (i, person) in people.iter().enumerate() {
            for shown in [i, (i + 1) % people.len()].into_iter().take(1 + usize::from(strangers)) {
                nonce += 1;
                requests.push((shown == i, service.request(person, &people[shown].face, nonce)));
            }
        }
        let replies = join_all(requests.iter().map(|(_, request)| service.authenticate(request))).await;
        for ((own, _), reply) in requests.iter().zip(&replies) {
            let wanted = if *own { Decision::Match } else { Decision::NoMatch };
            assert_eq!(answer(reply).decision, wanted);
        }
        if stop {
            return nonce;
        }
    }
}

fn idle(status: &Value) -> bool {
    assert_ne!(status["state"], "stopped", "{status}");
    status["state"] == "idle"
}

/// Counts rows of the key-holder's vault.
fn rows(vault: &Path, of: &str) -> u64 {
    let connection = rusqlite::Connection::open(vault).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_under_logins_and_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (service, people) = start(service::config(&data), "per-subject", Some(100_000), SUBJECTS).await;
    assert_eq!(status(&service).await["state"], "idle");
    let begun = service.admin.post(&path(&service), &json!({})).await;
    assert_eq!((begun.status.as_u16(), &begun.json()["epoch"]), (202, &json!(1)));
    let again = service.admin.post(&path(&service), &json!({})).await;
    assert_eq!((again.status.as_u16(), &again.json()["epoch"]), (202, &json!(1)), "one at a time");
    // In the middle the process ends; the next one goes on by itself.
    let nonce =
        log_in_until(&service, &people, true, 0, |status| status["renewed"].as_u64().unwrap() >= 20).await;
    let service = service.restart(service::config(&data)).await;
    let nonce = log_in_until(&service, &people, true, nonce, idle).await;
    let ended = status(&service).await;
    assert_eq!(
        (&ended["epoch"], &ended["renewed"], &ended["left"]),
        (&json!(1), &json!(SUBJECTS), &json!(0))
    );
    // Deleted is deleted, and enrolled anew is under the new keys.
    let deleted = service.public.send(Method::DELETE, &templates_path(&people[0]), &[], Vec::new()).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(service.enrol(&people[0], "anew").await.status, 201);
    log_in_until(&service, &people, true, nonce, |_| true).await;
    assert!(service.server.shutdown().await);
    // The old keys are gone: neither the master key nor a salt is left.
    let vault = data.join("vault.sqlite");
    assert_eq!((rows(&vault, "epochs"), rows(&vault, "epochs WHERE epoch = 1")), (1, 1));
    assert_eq!((rows(&vault, "subjects"), rows(&vault, "subjects WHERE epoch = 0")), (SUBJECTS as u64, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_outlives_its_key_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data, listen) = (folder.path().join("keys"), folder.path().join("data"), listen());
    KeyHolder::init(&keys, &data, &listen);
    let mut keyholder = KeyHolder::start(&keys, &listen);
    let (service, people) = start(keyholder.config(&data), "per-tenant", None, 120).await;
    let nonce = log_in_until(&service, &people, false, 0, |_| true).await;
    assert_eq!(service.admin.post(&path(&service), &json!({})).await.status, 202);
    while status(&service).await["renewed"].as_u64().unwrap() < 5 {
        tokio::task::yield_now().await;
    }
    keyholder.kill();
    let keyholder = KeyHolder::start(&keys, &listen);
    loop {
        let ready = service.admin.get("/readyz").await;
        if ready.status == 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
    log_in_until(&service, &people, false, nonce, idle).await;
    assert_eq!(status(&service).await["renewed"], 120);
    assert!(service.server.shutdown().await);
    drop(keyholder);
    let vault = keys.join("vault.sqlite");
    assert_eq!((rows(&vault, "epochs"), rows(&vault, "subjects WHERE epoch = 0")), (1, 0));
    assert_eq!(rows(&vault, "subjects"), 120);
}
