//! A capture has the timing and shape of requests, and no names.

use crate::http::Endpoint;
use crate::service::{self, Person, Service, answer};
use serde_json::json;
use std::path::Path;
use trefoil_api::Decision;
use trefoil_server::capture::{Captured, read};
use trefoil_server::server::StartError;
use trefoil_types::TenantId;

/// Seven requests of two people: their sessions, a login each, a batch of both, a login with a wrong MAC, and the keys.
async fn log_in(service: &Service, [one, other]: [&Person; 2]) {
    for (at, person) in [one, other].into_iter().enumerate() {
        let reply = service.authenticate(&service.request(person, &person.face, at as u64)).await;
        assert_eq!(answer(&reply).decision, Decision::Match);
    }
    let entries = [one, other].map(|person| service.request(person, &person.face, 7));
    let reply =
        service.public.post("/v1/authentications/batch", &json!({ "authentications": entries })).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut forged = service.request(one, &one.face, 9);
    forged.mac.0[0] ^= 1;
    assert_eq!(service.authenticate(&forged).await.status, 403);
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    assert_eq!(stranger.get("/v1/keys").await.status, 200);
}

fn of<'a>(captured: &'a [Captured], route: &str) -> Vec<&'a Captured> {
    captured.iter().filter(|request| request.route == route).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_has_the_shape_of_every_request_and_no_subject() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    let file = directory.path().join("capture");
    config.capture.file.clone_from(&file);
    let service = Service::new(config).await.at_one_node();
    let people = service.people(2, 1, 5).await;
    for person in &people {
        service.welcome(person).await;
    }
    log_in(&service, [&people[0], &people[1]]).await;
    let tenant = service.tenant;
    assert!(service.server.shutdown().await);

    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(", 0 lost\n"), "{text}");
    let captured = read(&text).unwrap();
    let logins = of(&captured, "POST /v1/authentications");
    assert_eq!(logins.iter().map(|login| login.status).collect::<Vec<_>>(), [200, 200, 403]);
    let [batch] = of(&captured, "POST /v1/authentications/batch")[..] else { panic!("{captured:?}") };
    let subjects: Vec<u64> = logins[..2].iter().flat_map(|login| login.subjects.clone()).collect();
    assert_eq!(batch.subjects, subjects, "the same people, in the order of the batch");
    assert_eq!(logins[2].subjects, subjects[..1]);
    assert!(subjects[0] != subjects[1]);
    assert!(logins.iter().chain([&batch]).all(|request| request.tenant == logins[0].tenant));
    assert!(batch.request_bytes > logins[0].request_bytes && logins[0].request_bytes > 500);
    assert!(logins[0].answer_bytes > 500 && logins[0].took_us > 0);
    let [keys] = of(&captured, "GET /v1/keys")[..] else { panic!("{captured:?}") };
    assert!(keys.tenant.is_none() && keys.subjects.is_empty() && keys.request_bytes == 0);
    assert!(captured.iter().all(|request| !request.route.contains("tenants")), "operators are not captured");

    names_nobody(&text, &people, tenant);
}

fn names_nobody(text: &str, people: &[Person], tenant: TenantId) {
    for person in people {
        for secret in [hex::encode(person.handle), hex::encode(person.session_id), hex::encode(tenant)] {
            assert!(!text.contains(&secret[..16]), "{secret} is in {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_does_not_write_over_a_capture() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.capture.file = directory.path().join("capture");
    std::fs::write(&config.capture.file, "kept").unwrap();
    let file = config.capture.file.clone();
    let refused = refusal(config).await;
    assert!(refused.contains("capture.file") && refused.contains("does not exist"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    let mut config = service::config(&directory.path().join("other"));
    config.capture.file = Path::new("/no/such/directory/capture").to_owned();
    assert!(refusal(config).await.contains("in a directory that does"));
}

async fn refusal(config: trefoil_server::config::Config) -> String {
    let clock = std::sync::Arc::<service::TestClock>::default();
    let started: Result<_, StartError> = trefoil_server::server::Server::start(config, clock).await;
    started.err().map(|cause| cause.to_string()).unwrap_or_default()
}
