//! A rotation of template keys while subjects are deleted and enrolled: it ends by itself, and only those who stayed are left.

use crate::enrolment::join_all;
use crate::rotation::populate;
use crate::service::{self, Service};
use hyper::Method;
use serde_json::{Value, json};
use trefoil_api::Vector;
use trefoil_testing::volume;

/// Rotations at full volume, and subjects of each.
const ROTATIONS: usize = 24;
const SUBJECTS: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn rotations_end_while_subjects_come_and_go_and_raise_the_generation_of_who_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = service::policy();
    policy["attempts"] = service::unlimited();
    let tenant = json!({"name": "shop", "policy": policy});
    let service = Service::with_tenant(service::config(&folder.path().join("data")), tenant).await;
    let people = populate(&service, 6).await;
    let path = format!("/v1/tenants/{}/key-rotation", hex::encode(service.tenant));
    let generation = async |handle: &[u8]| -> u64 {
        let subject = service.public.get(&format!("/v1/subjects/{}", hex::encode(handle))).await;
        subject.json()["generation"].as_u64().unwrap()
    };
    let before = generation(people[0].handle.as_bytes()).await;
    let rotations = volume(ROTATIONS, 12);
    for round in 0..rotations {
        let template = |number: usize| {
            let mut handle = [0xdd; 32];
            handle[..2].copy_from_slice(&[round as u8, number as u8]);
            format!("/v1/subjects/{}/templates", hex::encode(handle))
        };
        let face = Vector::new(std::array::from_fn(|k| ((k * 7919) % 1009) as f32 - 504.0));
        let body = json!({"embedding": face, "consent_ref": "form 7"}).to_string();
        let enrolled = (0..SUBJECTS).map(|number| {
            let (path, body) = (template(number), body.clone());
            let public = service.public.clone();
            async move { public.send(Method::POST, &path, &[("idempotency-key", &path)], body).await }
        });
        for reply in join_all(enrolled).await {
            assert_eq!(reply.status, 201, "{}", reply.text());
        }
        let begun = service.admin.post(&path, &json!({})).await;
        assert_eq!(begun.status, 202, "{}", begun.text());
        // From the end, which the rotation reaches last: some are deleted in the middle of their renewal.
        let erased = (0..SUBJECTS).rev().map(|number| {
            let (path, public) = (template(number), service.public.clone());
            async move { public.send(Method::DELETE, &path, &[], "").await }
        });
        for reply in join_all(erased).await {
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        loop {
            let status: Value = service.admin.get(&path).await.json();
            assert_ne!(status["state"], "stopped", "round {round}: {status}");
            if status["state"] == "idle" {
                assert_eq!((&status["renewed"], &status["left"]), (&json!(6), &json!(0)), "{status}");
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert!(generation(people[0].handle.as_bytes()).await >= before + rotations as u64);
    assert!(service.server.shutdown().await);
}
