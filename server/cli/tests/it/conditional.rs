//! Repeated reads: a body that has not changed is not sent again.

use crate::world::*;

async fn asked(endpoint: &Endpoint, path: &str, known: &str) -> (u16, usize, String) {
    let reply = endpoint.send(Method::GET, path, &[("if-none-match", known)], "").await;
    let tag = reply.headers["etag"].to_str().unwrap().to_owned();
    (reply.status.as_u16(), reply.body.len(), tag)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trust_root_a_seal_and_a_subject_are_sent_again_only_when_they_changed() {
    let service = Service::start().await;
    let people = service.people(2, 1, 58).await;
    service.welcome(&people[0]).await;
    let subject = format!("/v1/subjects/{}", hex::encode(people[0].handle));
    let mut tags = Vec::new();
    for path in ["/v1/keys", "/v1/log/head", &subject] {
        let first = service.public.get(path).await;
        assert_eq!(first.status, 200);
        let tag = first.headers["etag"].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"0\", {tag}"), "*".to_owned()] {
            let reply = service.public.send(Method::GET, path, &[("if-none-match", &known)], "").await;
            assert_eq!((reply.status.as_u16(), reply.body.len()), (304, 0), "{path} {known}");
            for name in ["etag", "cache-control", "content-location"] {
                assert_eq!(reply.headers.get(name), first.headers.get(name), "{path} {name}");
            }
            assert!(reply.headers.contains_key("request-id") && !reply.headers.contains_key("content-type"));
        }
        let other = asked(&service.public, path, "\"77\"").await;
        assert_eq!(other, (200, first.body.len(), tag.clone()), "{path}");
        tags.push(tag);
    }

    // Another seal, and another template.
    let erased = service.public.delete(&format!("{subject}/templates")).await;
    assert_eq!(erased.status, 200);
    let gone = service.public.send(Method::GET, &subject, &[("if-none-match", &tags[2])], "").await;
    gone.problem(404, "subject-unknown");
    service.enrol(&people[0], "again").await.is(201);
    for (path, known, expected) in
        [("/v1/keys", &tags[0], 304), ("/v1/log/head", &tags[1], 200), (&subject, &tags[2], 200)]
    {
        let (status, _, tag) = asked(&service.public, path, known).await;
        assert_eq!((status, tag == *known), (expected, expected == 304), "{path}");
    }
}
