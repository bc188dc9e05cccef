#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests count what several threads do"
)]
use super::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{Attributes, Circuit, CredentialTree, Secret, SessionClaim, Witness};

/// A clock that moves when a test says so.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn unix_s(&self) -> u64 {
        0
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A pool whose verifications wait for a word of the test, and are counted.
struct Gated {
    pool: ProofPool,
    clock: Arc<Hand>,
    go: mpsc::Sender<()>,
    verifications: Arc<AtomicUsize>,
    counters: Arc<ProofCounters>,
}

fn gated(workers: usize, queue: usize) -> Gated {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let verifications = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&verifications);
    let verify = move |envelope: &ProofEnvelope| {
        // The test drops its end to let everything pass.
        let _ = wait.lock().unwrap().recv();
        counter.fetch_add(1, Ordering::SeqCst);
        trefoil_zkp::verify(&envelope.statement, &envelope.proof)
    };
    let (clock, counters) = (Arc::new(Hand::default()), Arc::<ProofCounters>::default());
    let config = PoolConfig { workers, queue, deadline: Duration::from_secs(2) };
    let shared = Arc::clone(&clock) as Arc<dyn Clock>;
    let pool = ProofPool::start_with(
        Box::new(verify),
        config,
        shared,
        Arc::clone(&counters),
        &Supervisor::default(),
    )
    .unwrap();
    Gated { pool, clock, go, verifications, counters }
}

/// A proof of tenant `[tenant; 16]` under the session key `[key; 32]`.
fn envelope(tenant: u8, key: u8) -> Arc<ProofEnvelope> {
    let mut rng = StdRng::seed_from_u64(1);
    let secret = Secret::random(&mut rng);
    let attributes = Attributes::new(1000, 3, 0, 0, &mut rng).unwrap();
    let leaf = trefoil_zkp::leaf(&trefoil_zkp::commitment(&secret), &attributes);
    let path = CredentialTree::from_leaves(&[leaf]).unwrap().path(0).unwrap();
    let witness = Witness { secret, attributes, index: 0, path };
    let (session_key, account_key) =
        (SessionKey::from_bytes([key; 32]), trefoil_types::AccountKeyId::new([0; 32]));
    let statement = witness.statement(&SessionClaim {
        circuit: Circuit::Cred2,
        tenant: TenantId::new([tenant; 16]),
        audience: "shop.example",
        root_generation: 1,
        epoch: 900,
        level: 2,
        policy_id: 1,
        key_commitment: &session_key.commitment(),
        account_key,
    });
    let proof = trefoil_zkp::prove(&witness, &statement, &mut rng).unwrap();
    let audience = "shop.example".to_owned();
    Arc::new(ProofEnvelope { statement, audience, session_key, account_key, policy_id: 1, proof })
}

/// Another caller with each call, so that none reaches its quota.
fn caller() -> ApiKeyId {
    static CALLERS: AtomicU64 = AtomicU64::new(1000);
    ApiKeyId::new(CALLERS.fetch_add(1, Ordering::SeqCst).to_le_bytes())
}

fn altered(envelope: &ProofEnvelope, at: usize) -> Arc<ProofEnvelope> {
    let mut altered = envelope.clone();
    altered.proof[at] ^= 1;
    Arc::new(altered)
}

fn rejected(outcome: Result<Outcome, oneshot::error::RecvError>) -> bool {
    matches!(outcome, Ok(Err(Unverified::Refused(_))))
}

/// Claim I15: One statement is verified once, a late one never.
#[test]
fn equal_statements_are_verified_once() {
    let Gated { pool, go, verifications, .. } = gated(1, 4);
    let envelope = envelope(1, 1);
    let answers: Vec<_> = (0..10)
        .map(|_| pool.join(caller(), Arc::clone(&envelope)).unwrap_or_else(|_| panic!("room")))
        .collect();
    drop(go);
    for answer in answers {
        let verified = answer.blocking_recv().unwrap().unwrap();
        assert_eq!(*verified.statement(), envelope.statement);
    }
    assert_eq!(verifications.load(Ordering::SeqCst), 1);
}

#[test]
fn a_verification_that_panics_costs_its_uploads_and_no_thread() {
    let (supervisor, [bad, good]) = (Supervisor::default(), [1, 2].map(|key| envelope(1, key)));
    let id = bad.statement.digest();
    let verify = move |envelope: &ProofEnvelope| {
        assert!(envelope.statement.digest() != id, "this test has a verification panic");
        trefoil_zkp::verify(&envelope.statement, &envelope.proof)
    };
    let config = PoolConfig { workers: 1, queue: 4, deadline: Duration::from_secs(2) };
    let (clock, counters) = (Arc::<Hand>::default(), Arc::default());
    let pool = ProofPool::start_with(Box::new(verify), config, clock, counters, &supervisor).unwrap();
    let join = |envelope: &Arc<ProofEnvelope>| {
        pool.join(caller(), Arc::clone(envelope)).unwrap_or_else(|_| panic!("room"))
    };
    let [first, second] = [join(&bad), join(&good)];
    assert!(first.blocking_recv().is_err(), "dropped, which the waiting request sees as a fault");
    assert!(second.blocking_recv().unwrap().is_ok());
    assert_eq!(supervisor.death(), None);
}

#[test]
fn a_panicking_proof_thread_is_named_and_waiting_uploads_fail() {
    struct Sabotage;
    impl Clock for Sabotage {
        fn unix_s(&self) -> u64 {
            0
        }

        fn monotonic_ns(&self) -> u64 {
            let here = std::thread::current().name().is_some_and(|name| name.starts_with("proof-"));
            assert!(!here, "this test has a proof thread panic");
            0
        }
    }
    let supervisor = Supervisor::default();
    let config = PoolConfig { workers: 1, queue: 8, deadline: Duration::from_secs(2) };
    let verify = |envelope: &ProofEnvelope| trefoil_zkp::verify(&envelope.statement, &envelope.proof);
    let (clock, counters) = (Arc::new(Sabotage), Arc::default());
    let pool = ProofPool::start_with(Box::new(verify), config, clock, counters, &supervisor).unwrap();
    for key in 1..=4 {
        // A proof after the panic is not even taken.
        if let Ok(waiting) = pool.join(caller(), envelope(1, key)) {
            assert!(waiting.blocking_recv().is_err());
        }
    }
    assert_eq!(supervisor.death().unwrap().thread, "proof-0");
}

#[test]
fn a_refused_proof_refuses_only_its_own_bytes() {
    let Gated { pool, go, verifications, .. } = gated(1, 4);
    let good = envelope(1, 1);
    let bad = altered(&good, 50_000);
    let [first, second, third] = [&bad, &bad, &good]
        .map(|envelope| pool.join(caller(), Arc::clone(envelope)).unwrap_or_else(|_| panic!("room")));
    drop(go);
    assert!(rejected(first.blocking_recv()) && rejected(second.blocking_recv()));
    assert!(third.blocking_recv().unwrap().is_ok());
    assert_eq!(verifications.load(Ordering::SeqCst), 2);
    // A refusal is not remembered.
    assert!(pool.join(caller(), good).unwrap_or_else(|_| panic!("room")).blocking_recv().unwrap().is_ok());
}

#[test]
fn a_proof_that_waited_too_long_or_for_nobody_is_not_verified() {
    let Gated { pool, clock, go, verifications, counters } = gated(1, 8);
    let running = pool.join(caller(), envelope(1, 1)).unwrap_or_else(|_| panic!("room"));
    // Until the thread has taken the first proof, the others could be taken in its place.
    while pool.depth() > 0 {
        std::thread::yield_now();
    }
    let late = pool.join(caller(), envelope(1, 2)).unwrap_or_else(|_| panic!("room"));
    drop(pool.join(caller(), envelope(1, 3)).unwrap_or_else(|_| panic!("room")));
    clock.0.store(2_000_000_001, Ordering::SeqCst);
    let timely = pool.join(caller(), envelope(1, 4)).unwrap_or_else(|_| panic!("room"));
    drop(go);
    assert!(running.blocking_recv().unwrap().is_ok(), "its verification had begun");
    assert_eq!(late.blocking_recv().unwrap(), Err(Unverified::Late));
    assert!(timely.blocking_recv().unwrap().is_ok());
    assert_eq!(verifications.load(Ordering::SeqCst), 2);
    let counted: Vec<_> = counters.events().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counted, [("late", 1), ("abandoned", 1)]);
}

#[test]
fn a_tenant_holds_half_of_the_queue_a_caller_a_quarter_and_a_statement_a_few_uploads() {
    let Gated { pool, go, .. } = gated(1, 8);
    let join = |caller: u8, key: u8| pool.join(ApiKeyId::new([caller; 8]), envelope(1, key));
    let refused = |caller: u8, key: u8| join(caller, key).err();
    let mut kept: Vec<_> = [1, 2].map(|key| join(1, key)).into();
    assert_eq!(refused(1, 5), Some(Refused::TooManyProofs("proofs of this API key")));
    kept.extend([3, 4].map(|key| join(2, key)));
    assert_eq!(refused(3, 6), Some(Refused::TooManyProofs("proofs of this tenant")));
    let other = envelope(2, 1);
    let followers: Vec<_> =
        std::iter::repeat_with(|| pool.join(caller(), Arc::clone(&other))).take(100).collect();
    assert_eq!(followers.iter().filter(|joined| joined.is_ok()).count(), FOLLOWERS_MAX + 1);
    drop(go);
    for joined in kept.into_iter().map(|joined| joined.unwrap_or_else(|_| panic!("room"))) {
        assert!(joined.blocking_recv().unwrap().is_ok());
    }
    for joined in followers.into_iter().flatten() {
        assert!(joined.blocking_recv().unwrap().is_ok());
    }
}
