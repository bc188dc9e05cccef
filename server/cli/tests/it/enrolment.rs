//! Enrolment, idempotency, deletion.

use crate::world::*;
use std::panic::Location;

#[tokio::test(flavor = "multi_thread")]
async fn an_enrolment_happens_once_per_idempotency_key_and_subject() {
    let service = Service::start().await;
    let people = service.people(2, 1, 1).await;
    let first = service.enrol(&people[0], "a").await;
    assert_eq!((first.status.as_u16(), first.json()["generation"].as_u64()), (201, Some(1)));
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let again = service.enrol(&people[0], "a").await;
    let without_receipt = |reply: &Reply| {
        let mut body = reply.json();
        assert!(body.as_object_mut().unwrap().remove("receipt").unwrap().is_object());
        body
    };
    assert_eq!((again.status.as_u16(), without_receipt(&again)), (201, without_receipt(&first)));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    service.enrol(&people[1], "a").await.problem(422, "idempotency-key-reused");
    service.enrol(&people[0], "b").await.problem(409, "template-exists");
    service.enrol(&people[0], "b").await.problem(409, "template-exists");
    service.enrol(&people[1], "b").await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_enrolments_of_one_subject_leave_one() {
    let service = Service::start().await;
    let people = service.people(1, 1, 2).await;
    let keys: Vec<String> = (0..8).map(|i| format!("k{i}")).collect();
    let mut statuses = Vec::new();
    let attempts = keys.iter().map(|key| service.enrol(&people[0], key));
    for reply in join_all(attempts).await {
        statuses.push(reply.status.as_u16());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201], vec![409; 7]].concat());
    service.prove(&people[0]).await.is(201);
    service.login(&people[0], &people[0].face, 1).await.matches();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_template_is_gone_and_its_generation_is_not_used_again() {
    let service = Service::start().await;
    let people = service.welcomed(1, 3).await;
    let person = &people[0];
    service.login(person, &person.face, 1).await.matches();
    let path = templates_path(person);
    service.public.delete(&path).await.is(200);
    service.public.delete(&path).await.problem(404, "subject-unknown");
    service.login(person, &person.face, 2).await.problem(404, "subject-unknown");
    let enrolled = service.enrol(person, "again").await;
    assert_eq!((enrolled.status.as_u16(), enrolled.json()["generation"].as_u64()), (201, Some(2)));
    service.login(person, &person.face, 3).await.matches();
}

/// Polls all futures on this task; enough for tests, and no dependency.
pub(crate) async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in pending.iter_mut().filter(|(_, output)| output.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *output = Some(value);
            }
        }
        if pending.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}

/// Waits until it is so; a test waits no longer than two minutes.
#[track_caller]
pub(crate) fn until(mut is: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let (caller, begun) = (Location::caller(), Instant::now());
    async move {
        while !is().await {
            assert!(begun.elapsed() < Duration::from_secs(120), "{caller}: it is never so");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
