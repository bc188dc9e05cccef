//! A new root ends exactly the sessions that it should, at once.

use crate::members::{Proven, client};
use crate::world::*;
use rayon::prelude::*;
use tokio::task::JoinSet;
use trefoil_api::Enrolment;
use trefoil_client::{Client, ClientError};

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_credential_is_refused_at_the_next_request_and_others_go_on() {
    let service = Service::start().await;
    let client = client(&service, service.public.bearer.as_deref().unwrap(), 1);
    let mut members = Members::new(&service, 3, 1);
    service.publish(members.root(), 1).await;
    let mut sessions: Vec<Proven> =
        (0..3).map(|member| members.prove(member, 1, 10 + member as u64)).collect();
    for proven in &sessions {
        enrol(&client, &members, proven).await;
        client.open_session(proven.envelope.clone()).await.unwrap().without_verification();
    }
    let log_in = async |proven: &Proven, nonce: u64| {
        service.authenticate(&proven.request(&service, &members_face(&members, proven), nonce)).await
    };
    for proven in &sessions {
        log_in(proven, 1).await.matches();
    }

    // Somebody joins: the root changes, nobody's session ends.
    service.publish_keeping(members.root(), 2, 1).await;
    for proven in &sessions {
        log_in(proven, 2).await.matches();
    }
    // Member 2 proves again under the new root, so the next steps do not affect it.
    sessions[2] = members.prove(2, 2, 20);
    client.open_session(sessions[2].envelope.clone()).await.unwrap().without_verification();

    members.revoke(0);
    service.publish_keeping(members.root(), 3, 2).await;
    let log_in = async |proven: &Proven, nonce: u64| {
        service.authenticate(&proven.request(&service, &members_face(&members, proven), nonce)).await
    };
    log_in(&sessions[0], 3).await.problem(410, "session-expired");
    assert_eq!(log_in(&sessions[2], 3).await.decision(), Decision::Match, "an unrelated session goes on");
    // Member 1 had not proved again: its session ends too, and a new proof opens the next.
    log_in(&sessions[1], 3).await.problem(410, "session-expired");
    let again = members.prove(1, 3, 30);
    client.open_session(again.envelope.clone()).await.unwrap().without_verification();
    log_in(&again, 4).await.matches();

    // The revoked member can neither use the old root nor prove under the new one.
    let refused = client.open_session(sessions[0].envelope.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Some("proof-stale"));
    let now = trefoil_pipeline::Clock::unix_s(service.clock.as_ref());
    // Its path leads from the credential to a root that was never published.
    let envelope = members.holder(0, 3).open(service::AUDIENCE, now, &mut rand::rng()).unwrap().envelope;
    assert_eq!(client.open_session(envelope).await.unwrap_err().code(), Some("proof-stale"));
}

fn members_face(members: &Members, proven: &Proven) -> [f32; 128] {
    members.face(proven.member)
}

async fn enrol(client: &Client, members: &Members, proven: &Proven) {
    let embedding = trefoil_api::Vector::new(members.face(proven.member));
    let enrolment = Enrolment::of(vec![embedding], "form 7");
    let handle = proven.session.handle();
    client.enrol(handle, &enrolment, &hex::encode(handle.0)).await.unwrap().without_verification();
}

/// Members in the test below at full volume, and sessions of each: a thousand.
const MEMBERS: usize = 50;
const PER_MEMBER: usize = 20;

/// One answer: the session, and what came back.
type Outcome = (usize, Result<Decision, ClientError>);

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_across_a_root_change_and_no_wrong_decision() {
    let count = volume(MEMBERS, 3);
    // Members from this one on show somebody else's face.
    let impostors_from = count * 4 / 5;
    // Impostors try twenty times and more here, and must be refused for their faces, not for their number.
    let policy = with(service::policy(), "attempts", service::unlimited());
    let service = Service::own(policy, |config| {
        (config.proofs.session_life_s, config.proofs.queue) = (3000, 256);
        // As a service has by default; in the tests' small cache so many sessions would evict one another.
        config.proofs.cache_capacity = 100_000;
    })
    .await;
    let client = client(&service, service.public.bearer.as_deref().unwrap(), 16);
    let members = Members::new(&service, count, 2);
    // Every second session is proven under the second root, in parallel: a proof takes some 40 ms of a core.
    let sessions: Vec<Proven> = (0..count * PER_MEMBER)
        .into_par_iter()
        .map(|i| members.prove(i / PER_MEMBER, generation(i), i as u64))
        .collect();
    service.publish(members.root(), 1).await;
    service.publish_keeping(members.root(), 2, 1).await;
    for proven in sessions.iter().step_by(PER_MEMBER) {
        enrol(&client, &members, proven).await;
    }
    for some in sessions.chunks(32) {
        for opened in join_all(some.iter().map(|proven| client.open_session(proven.envelope.clone()))).await {
            opened.unwrap().without_verification();
        }
    }
    let requests = |nonce: u64| -> Vec<Authentication> {
        let shown = |proven: &Proven| match proven.member < impostors_from {
            true => proven.member,
            false => proven.member - 1,
        };
        sessions.iter().map(|proven| proven.request(&service, &members.face(shown(proven)), nonce)).collect()
    };

    let before = all_at_once(&client, requests(1)).await;
    // The root changes somewhere between the first and the last of these.
    let change = service.publish_keeping(members.root(), 3, 2);
    let (during, ()) = tokio::join!(all_at_once(&client, requests(2)), change);
    let after = all_at_once(&client, requests(3)).await;

    let wrong = |(session, outcome): &&Outcome, may_end: bool, must_end: bool| {
        let expected =
            if session / PER_MEMBER < impostors_from { Decision::Match } else { Decision::NoMatch };
        let old = generation(*session) == 1;
        match outcome {
            Ok(decision) => *decision != expected || (old && must_end),
            Err(problem) => !(old && may_end && problem.code() == Some("session-expired")),
        }
    };
    assert_eq!([before.len(), during.len(), after.len()], [sessions.len(); 3]);
    let count = |outcomes: &[Outcome], may_end, must_end| {
        let wrong: Vec<_> = outcomes.iter().filter(|outcome| wrong(outcome, may_end, must_end)).collect();
        assert!(wrong.is_empty(), "{} wrong, the first is {:?}", wrong.len(), wrong[0]);
    };
    count(&before, false, false);
    count(&during, true, false);
    count(&after, true, true);
}

fn generation(session: usize) -> u32 {
    1 + (session % 2) as u32
}

/// Sends all requests at one time.
async fn all_at_once(client: &Client, requests: Vec<Authentication>) -> Vec<Outcome> {
    let mut flying = JoinSet::new();
    for (session, request) in requests.into_iter().enumerate() {
        let client = client.clone();
        flying.spawn(async move {
            let answer = client.authenticate(&request).await;
            (session, answer.map(|answer| answer.without_verification().decision))
        });
    }
    flying.join_all().await
}
