//! A rotation of template keys while subjects are deleted and enrolled: it ends by itself, and only those who stayed are left.

use crate::rotation::{self, populate};
use crate::world::*;

/// Rotations at full volume, and subjects of each.
const ROTATIONS: usize = 24;
const SUBJECTS: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn rotations_end_while_subjects_come_and_go_and_raise_the_generation_of_who_stays() {
    let service = Service::own(service::lenient(), |_| ()).await;
    let people = populate(&service, 6).await;
    let generation = async |handle: &[u8]| -> u64 {
        let subject = service.public.get(&format!("/v1/subjects/{}", hex::encode(handle))).await;
        subject.json()["generation"].as_u64().unwrap()
    };
    let before = generation(people[0].handle.as_bytes()).await;
    let rotations = volume(ROTATIONS, 12);
    for round in 0..rotations {
        let handle = |number: usize| {
            let mut handle = [0xdd; 32];
            handle[..2].copy_from_slice(&[round as u8, number as u8]);
            hex::encode(handle)
        };
        let face: [f32; 128] = std::array::from_fn(|k| ((k * 7919) % 1009) as f32 - 504.0);
        let enrolled = (0..SUBJECTS).map(async |number| {
            let handle = handle(number);
            service.public.enrol(hex::decode(&handle).unwrap(), &face, &handle).await.is(201)
        });
        join_all(enrolled).await;
        rotation::begin(&service).await;
        // From the end, which the rotation reaches last: some are deleted in the middle of their renewal.
        let erased = (0..SUBJECTS).rev().map(async |number| {
            let path = format!("/v1/subjects/{}/templates", handle(number));
            service.public.delete(&path).await.is(200)
        });
        join_all(erased).await;
        let status = rotation::ended(&service).await;
        assert_eq!((&status["renewed"], &status["left"]), (&json!(6), &json!(0)), "{status}");
    }
    assert!(generation(people[0].handle.as_bytes()).await >= before + rotations as u64);
}
