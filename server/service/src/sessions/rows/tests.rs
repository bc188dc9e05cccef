use super::*;
use crate::tenants::tenant::accounts::AccountSecret;
use crate::tenants::tenant::{AttemptPolicy, Policy, ProbeMode, ProofNeed, Threshold};
use crate::tenants::verdicts::Verdicts;
use crate::tenants::wiring::VerdictCacheConfig;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trefoil_cache::Sampling;
use trefoil_storage::store::wrap::WrapKey;
use trefoil_storage::store::{self, Sqlite, Tenants as _};

const EPOCH: u32 = 498_611;
const START: u64 = EPOCH as u64 * EPOCH_SECONDS;
const ID: SessionId = SessionId::new([0xff; 32]);

fn tenant(id: u8, key: u8) -> Tenant {
    Tenant {
        id: TenantId::new([id; 16]),
        name: String::new(),
        created_at: 0,
        disabled_at: None,
        policy: Policy {
            embedder: "test-128".to_owned(),
            threshold: Threshold::Calibrated { score: 18_000, fmr_class: 3 },
            audiences: vec!["shop.example".to_owned()],
            proof: ProofNeed::Credential,
            level_min: 1,
            attestation_lifetime_s: 60,
            attempts: AttemptPolicy::default(),
            probe: ProbeMode::Plain,
            dimension: 128,
            previous: None,
            sessions_in_memory: None,
        },
        policy_version: 1,
        key: Arc::new(WrapKey::new(&[key; 32])),
        accounts: Arc::new(AccountSecret::new(Zeroizing::new([key; 32]))),
        keys: Vec::new(),
        roots: Vec::new(),
        issuer_keys: Vec::new(),
        in_flight: Arc::default(),
        ahead: Arc::default(),
        sources: Arc::default(),
        ended: Arc::default(),
        verdicts: Arc::new(Verdicts::new(VerdictCacheConfig { capacity: 1, sampling: Sampling::default() })),
    }
}

fn verdict(not_after: u64) -> Verdict {
    let mut words: Words = std::array::from_fn(|word| 7 + word as u64);
    let at = words.len() - 4;
    words[at] = not_after;
    let verdict = Verdict::from_words(&words);
    assert_eq!(verdict.not_after, not_after);
    verdict
}

#[test]
fn a_row_opens_as_it_was_sealed_and_in_its_own_place_only() {
    let (tenant_1, verdict) = (tenant(1, 9), verdict(START));
    let row = seal(&tenant_1, ID, &verdict, 10);
    assert_eq!((row.tenant, row.id, row.expires_at), (TenantId::new([1; 16]), ID, START));
    assert!(open(&tenant_1, &row) == Some(verdict), "as it was sealed");
    // Every field of the row, and the keys of another tenant or service.
    let refused = |change: fn(&mut Session)| {
        let mut edited = row.clone();
        change(&mut edited);
        assert!(open(&tenant_1, &edited).is_none());
    };
    refused(|row| row.expires_at += 1);
    refused(|row| row.id = SessionId::new(row.id.to_bytes().map(|byte| byte ^ 1)));
    refused(|row| row.wrapped[0] ^= 1);
    refused(|row| *row.wrapped.last_mut().unwrap() ^= 1);
    refused(|row| row.wrapped.truncate(20));
    refused(|row| row.wrapped.clear());
    assert!(open(&tenant(2, 9), &row).is_none());
    assert!(open(&tenant(1, 8), &row).is_none());
    for at in 0..row.wrapped.len() {
        let mut edited = row.clone();
        edited.wrapped[at] ^= 0x80;
        assert!(open(&tenant_1, &edited).is_none(), "byte {at}");
    }
}

type Read = Pin<Box<dyn Future<Output = Result<Kept, Refused>> + Send>>;

/// A store that answers with each of `kept` in turn, then always with the last, each after others could ask; and the number of its reads.
fn slow(kept: &[Result<Kept, Refused>]) -> (impl Fn() -> Read + Clone + 'static, Arc<AtomicUsize>) {
    let (kept, reads) = (kept.to_vec(), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&reads);
    let read = move || {
        let read = count.load(Ordering::Relaxed);
        count.store(read + 1, Ordering::Relaxed);
        let kept = kept[read.min(kept.len() - 1)].clone();
        let slowly = async move {
            tokio::task::yield_now().await;
            kept
        };
        Box::pin(slowly) as Read
    };
    (read, reads)
}

/// Claim I14: Of many who miss one session, one reads its row.
#[tokio::test]
async fn of_many_who_miss_one_session_one_reads_its_row() {
    let (read, reads) = slow(&[Ok(Kept::Live(verdict(START)))]);
    let (rows, of) = (Arc::<Rows>::default(), (TenantId::new([1; 16]), ID));
    let ask = |of| once(&rows, of, read.clone());
    let (one, two, other) = tokio::join!(ask(of), ask(of), ask((TenantId::new([2; 16]), ID)));
    for kept in [one, two, other] {
        assert!(matches!(kept, Ok(Kept::Live(found)) if found == verdict(START)));
    }
    assert_eq!(reads.load(Ordering::Relaxed), 2, "one for each tenant's session");
    assert_eq!(rows.hold().waiting(&of), None);
    // It is not remembered, because the row may have changed.
    assert!(ask(of).await.is_ok());
    assert_eq!(reads.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn who_asked_while_a_row_was_read_that_was_not_there_is_read_for_again() {
    let (read, reads) = slow(&[Ok(Kept::Unknown), Ok(Kept::Live(verdict(START)))]);
    let (rows, of) = (Arc::<Rows>::default(), (TenantId::new([1; 16]), ID));
    let early = once(&rows, of, read.clone());
    let late = async {
        while reads.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        once(&rows, of, read.clone()).await
    };
    let (early, late) = tokio::join!(early, late);
    assert!(matches!(early, Ok(Kept::Unknown)), "that was so when it was asked");
    assert!(matches!(late, Ok(Kept::Live(_))), "it may have been stored since");
    assert_eq!(reads.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_read_that_fails_is_told_and_one_whose_asker_went_away_goes_on_for_the_others() {
    let (read, _) = slow(&[Err(Refused::StoreBusy)]);
    let (rows, of) = (Arc::<Rows>::default(), (TenantId::new([1; 16]), ID));
    let failed = once(&rows, of, read).await;
    assert!(matches!(failed, Err(Refused::StoreBusy)));
    let (read, reads) = slow(&[Ok(Kept::Over)]);
    let mut given_up = Box::pin(once(&rows, of, read.clone()));
    tokio::select! {
        biased;
        _ = &mut given_up => panic!("it reads"),
        () = std::future::ready(()) => {}
    }
    let other = once(&rows, of, read.clone());
    drop(given_up);
    assert!(matches!(other.await, Ok(Kept::Over)));
    assert_eq!((reads.load(Ordering::Relaxed), rows.hold().waiting(&of)), (1, None));
    let broken = || -> std::future::Ready<_> { panic!("this test has a read panic") };
    assert!(matches!(once(&rows, of, broken).await, Err(Refused::Fault)), "nobody waits for ever");
    assert_eq!(rows.hold().waiting(&of), None);
}

/// A store that has this tenant.
fn store_with(tenant: &Tenant) -> (Arc<dyn Store>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("store"), &[7; 32]).unwrap();
    let record = store::Tenant {
        id: tenant.id,
        name: "shop".to_owned(),
        policy: "{}".to_owned(),
        policy_version: 1,
        public_key: vec![1; 37],
        next_key: None,
        wrapped_key: vec![1; 60],
        created_at: 1,
        disabled_at: None,
        deleted_at: None,
    };
    let note = store::Note { tenant: tenant.id, statement: vec![1; 200], once: None };
    store.create_tenant(record, note).unwrap();
    (Arc::new(store), folder)
}

/// A look-up that has read the row of a session must not put its verdict back after the session has ended: the end waits for it.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_waits_for_look_ups_that_have_read_its_row() {
    let (tenant, verdict, now) = (Arc::new(tenant(1, 9)), verdict(START), START - 100);
    let (store, _folder) = store_with(&tenant);
    let sessions = Sessions::new(Arc::clone(&store), false);
    let ends = async |of_subject: bool| match of_subject {
        true => sessions.end_all_of(&tenant, verdict.handle, now).await,
        false => sessions.end(&tenant, ID, now).await,
    };
    for of_subject in [false, true] {
        // Without the ended one, which no row replaces.
        store.expire(START + 1, 0).unwrap();
        store.put_sessions(vec![seal(&tenant, ID, &verdict, 10)]).unwrap();
        let looking_up = sessions.ending.read().await;
        let mut ending = std::pin::pin!(ends(of_subject));
        // Time passes only once nothing else can go on.
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut ending).await.is_err(), "it does not wait");
        tenant.verdicts.fill(ID, verdict, now, Instant::now());
        assert!(tenant.verdicts.get(&ID, now).is_some());
        drop(looking_up);
        ending.await.unwrap();
        assert!(tenant.verdicts.get(&ID, now).is_none(), "of a subject: {of_subject}");
        assert!(is_ended(&store.session(&tenant.id, &ID).unwrap().unwrap()));
    }
}

/// Claim P13.
///
/// A proof counts for longer than its session lasts, and expired rows are removed.
#[tokio::test]
async fn the_proof_of_a_session_that_was_ended_never_opens_it_again() {
    let (tenant, now, end) = (Arc::new(tenant(1, 9)), START + 10, proof_ends(EPOCH));
    let mut verdict = verdict(START + 60);
    verdict.epoch = EPOCH;
    let (store, _folder) = store_with(&tenant);
    let sessions = Sessions::new(Arc::clone(&store), false);
    for (how, until) in
        [("one", end), ("of a subject", end), ("a row that does not open", START + 60 + 10_800)]
    {
        sessions.keep(&tenant, ID, &verdict, now, Instant::now()).await.unwrap();
        match how {
            "one" => sessions.end(&tenant, ID, now).await.unwrap(),
            "of a subject" => sessions.end_all_of(&tenant, verdict.handle, now).await.unwrap(),
            _ => {
                let row = store.session(&tenant.id, &ID).unwrap().unwrap();
                store.put_sessions(vec![Session { wrapped: vec![1; 9], ..row }]).unwrap();
                sessions.end(&tenant, ID, now).await.unwrap();
            }
        }
        for now in [START + 61, end - 1] {
            store.expire(now, 0).unwrap();
            let again = sessions.keep(&tenant, ID, &verdict, now, Instant::now()).await;
            assert!(matches!(again, Err(Refused::SessionEnded)), "{how} at {now}");
        }
        store.expire(until + 1, 0).unwrap();
        assert_eq!(store.session(&tenant.id, &ID), Ok(None), "{how}: it is not kept for ever");
    }
}
