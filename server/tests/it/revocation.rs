//! A new root ends the sessions that it should, at once, and no others.

use crate::members::{Members, Proven, client};
use crate::service::{self, Service, answer};
use trefoil_server::client::Client;
use trefoil_server::wire::{Decision, Enrolment};

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_credential_is_refused_at_the_next_request_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let client = client(&service, service.public.bearer.as_deref().unwrap(), 1);
    let mut members = Members::new(&service, 3, 1);
    service.publish(members.root(), 1).await;
    let mut sessions: Vec<Proven> =
        (0..3).map(|member| members.prove(member, 1, 10 + member as u64)).collect();
    for proven in &sessions {
        enrol(&client, &members, proven).await;
        client.open_session(proven.envelope.clone()).await.unwrap();
    }
    let log_in = async |proven: &Proven, nonce: u64| {
        service.authenticate(&proven.request(&service, &members_face(&members, proven), nonce)).await
    };
    for proven in &sessions {
        assert_eq!(answer(&log_in(proven, 1).await).decision, Decision::Match);
    }

    // Somebody joins: the root changes, nobody's session ends.
    service.publish_keeping(members.root(), 2, 1).await;
    for proven in &sessions {
        assert_eq!(answer(&log_in(proven, 2).await).decision, Decision::Match);
    }
    // Member 2 proves again under the new root, and does not notice what follows.
    sessions[2] = members.prove(2, 2, 20);
    client.open_session(sessions[2].envelope.clone()).await.unwrap();

    members.revoke(0);
    service.publish_keeping(members.root(), 3, 2).await;
    let log_in = async |proven: &Proven, nonce: u64| {
        service.authenticate(&proven.request(&service, &members_face(&members, proven), nonce)).await
    };
    log_in(&sessions[0], 3).await.problem(410, "session-expired");
    assert_eq!(
        answer(&log_in(&sessions[2], 3).await).decision,
        Decision::Match,
        "an unrelated session goes on"
    );
    // Member 1 had not proved again: its session ends too, and a new proof opens the next.
    log_in(&sessions[1], 3).await.problem(410, "session-expired");
    let again = members.prove(1, 3, 30);
    client.open_session(again.envelope.clone()).await.unwrap();
    assert_eq!(answer(&log_in(&again, 4).await).decision, Decision::Match);

    // The revoked member can neither use the old root nor prove under the new one.
    let refused = client.open_session(sessions[0].envelope.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Some("proof-stale"));
    let now = trefoil_pipeline::Clock::unix_s(service.clock.as_ref());
    // Its path leads from the credential to a root that was never published.
    let envelope = members.holder(0, 3).open(service::AUDIENCE, now, &mut rand::rng()).unwrap().envelope;
    assert_eq!(client.open_session(envelope).await.unwrap_err().code(), Some("proof-stale"));
    assert!(service.server.shutdown().await);
}

fn members_face(members: &Members, proven: &Proven) -> [f32; 128] {
    members.face(proven.member)
}

async fn enrol(client: &Client, members: &Members, proven: &Proven) {
    let embedding = trefoil_server::wire::Vector::new(members.face(proven.member));
    let enrolment = Enrolment { embedding, consent_ref: "form 7".to_owned() };
    let subject = proven.session.subject();
    client.enrol(subject, &enrolment, &hex::encode(subject.0)).await.unwrap();
}
