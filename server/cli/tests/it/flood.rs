//! Honest callers get their answers while invalid proofs arrive at full speed.

use crate::members::client;
use crate::world::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::JoinSet;
use trefoil_api::Enrolment;

/// Uploads that the flooder keeps in flight.
const FLOOD: usize = 64;
/// Logins of the honest caller while the flood lasts, at full volume.
const LOGINS: usize = 200;
/// Memory that the flood may add to the process, which holds both sides of it.
const GROWTH_BYTES_MAX: u64 = 512 << 20;

/// Tells the child below that it is one; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_FLOOD";

#[test]
fn a_flood_of_invalid_proofs_costs_honest_callers_nothing_but_time() {
    // A process of its own, so that the memory that is measured is this test's.
    let name = "flood::honest_callers_are_answered_while_the_flood_lasts";
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap()
        .done();
}

/// Not a test of its own: the child of the one above.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn honest_callers_are_answered_while_the_flood_lasts() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    // Ten invalid proofs, and one more each minute: however slow the machine is, the flooder is soon out of credit.
    let service = Service::configured(|config| {
        (config.proofs.credit_max, config.proofs.credit_per_s) = (640, 1);
    })
    .await;
    let proofs = &service.config.proofs;
    let (queue_max, uploads_max) = (proofs.queue as u64, proofs.uploads_per_caller as u64);
    let members = Members::new(&service, 12, 31);
    service.publish(members.root(), 1).await;
    let honest = client(&service, service.public.bearer.as_deref().unwrap(), 2);
    let proven: Vec<_> = (0..12).map(|member| members.prove(member, 1, member as u64)).collect();
    let handle = proven[0].session.handle();
    let enrolment = Enrolment::of(vec![Vector::new(members.face(0))], "form 7");
    honest.enrol(handle, &enrolment, "once").await.unwrap().without_verification();
    honest.open_session(proven[0].envelope.clone()).await.unwrap().without_verification();

    // For sessions that are never opened: a known proof is not verified again.
    let unopened: Vec<_> = (0..4).map(|member| members.prove(member, 1, 100 + member as u64)).collect();
    let flooder = client(&service, &service.api_key(&["authenticate"]).await, 4);
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut flood = JoinSet::new();
    for lane in 0..FLOOD {
        let mut bad = unopened[lane % unopened.len()].envelope.clone();
        // Past the first grinding check, so that a verification is not cheap.
        let at = bad.len() / 3 + lane;
        bad[at] ^= 1;
        let (flooder, stop, sent) = (flooder.clone(), Arc::clone(&stop), Arc::clone(&sent));
        flood.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let code = flooder.open_session(bad.clone()).await.unwrap_err().code().map(str::to_owned);
                let refused = ["proof-rejected", "quota-exceeded", "overloaded"];
                assert!(code.as_deref().is_some_and(|code| refused.contains(&code)), "{code:?}");
                sent.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while sent.load(Ordering::Relaxed) < FLOOD as u64 {
        tokio::task::yield_now().await;
    }
    let before = resident_bytes();
    for nonce in 0..volume(LOGINS, 60) as u64 {
        let request = proven[0].request(&service, &members.face(0), nonce);
        let answer = honest.authenticate(&request).await.unwrap().without_verification();
        assert_eq!(answer.decision, Decision::Match);
        if nonce % 20 == 0 {
            let next = 1 + (nonce / 20) as usize;
            honest.open_session(proven[next].envelope.clone()).await.unwrap().without_verification();
            assert!(service.metric("trefoil_proof_queue_depth").await <= queue_max);
            assert!(service.metric("trefoil_proof_uploads_open").await <= 2 * uploads_max);
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    stop.store(true, Ordering::Relaxed);
    flood.join_all().await;
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes");
    // The caller's credit paid for a few invalid proofs; the others were never read.
    let verified = service.metric("trefoil_proofs_total{outcome=\"refused\"}").await;
    let unread = service.metric("trefoil_proof_uploads_total{event=\"credit_exhausted\"}").await;
    assert!(verified > 0 && unread > 0, "{verified} verified, {unread} not read");
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
