//! How long a session lives: across the hour and across restarts, until its end or a revocation. An edited row opens none.

use crate::nodes::copied;
use crate::world::*;
use rusqlite::Connection;
use std::collections::HashMap;
use trefoil_api::Nonce;
use trefoil_attest::{Attestation, Statement, TrustRoot, statement_digest};
use trefoil_client::{Clock, HolderError, LoginError, StandingError, StandingSession};
use trefoil_server::server::Server;
use trefoil_types::SessionId;
use trefoil_zkp::{EPOCH_SECONDS, ProveError};

/// The default of `proofs.session_life_s`.
const LIFE_S: u64 = 3600;

/// A service whose tenant has `count` members, enrolled.
async fn service_with(count: usize) -> (Service, Members) {
    let service = Service::start().await;
    let members = Members::enrolled(&service, count, 41).await;
    (service, members)
}

/// Verifications of proofs since the process started.
async fn verifications(service: &Service) -> u64 {
    service.metric("trefoil_proofs_total{outcome=\"accepted\"}").await
}

/// To the last minute of the present hour.
fn to_minute_59(service: &Service) {
    let now = service.clock.unix_s();
    service.clock.advance(EPOCH_SECONDS - 60 - now % EPOCH_SECONDS);
}

/// Claim P14: A new hour, a restart or a crash ends no session, and no proof is verified again.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_opened_just_before_the_hour_works_half_an_hour_after_it() {
    let (service, members) = service_with(1).await;
    to_minute_59(&service);
    let opened = service.clock.unix_s();
    let mut wallet = members.open(&service, 0, 1, AUDIENCE).await;
    assert!((opened + LIFE_S * 9 / 10..=opened + LIFE_S).contains(&wallet.expires_at));
    let listed = service.public.get("/v1/proof-sessions").await.json();
    assert_eq!(listed["sessions"][0]["opened_at"], opened, "{listed}");
    service.clock.advance(31 * 60);
    wallet.log_in(&service).await.matches();
    service.clock.advance(wallet.expires_at - service.clock.unix_s() - 1);
    wallet.log_in(&service).await.matches();
    service.clock.advance(1);
    wallet.log_in(&service).await.problem(410, "session-expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_see_how_many_sessions_are_open() {
    let service = Service::start().await;
    let people = service.welcomed(3, 44).await;
    let ended = format!("/v1/proof-sessions/{}", hex::encode(people[0].session_id));
    service.public.delete(&ended).await.is(200);
    // They are counted every ten seconds.
    until(async || service.metric("trefoil_open_sessions").await == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_of_the_hour_before_counts_to_the_end_of_this_one() {
    let (service, members) = service_with(2).await;
    to_minute_59(&service);
    let now = service.clock.unix_s();
    let proven: Vec<_> = (0..2).map(|member| members.prove_at(member, 1, now)).collect();
    // Uploaded 20 minutes into the next hour, of which 40 are left.
    service.clock.advance(60 + 20 * 60);
    let next = (now / EPOCH_SECONDS + 2) * EPOCH_SECONDS;
    let opened = service.open(&proven[0].envelope).await.is(201);
    let expires_at = opened.json()["expires_at"].as_u64().unwrap();
    assert!((next - 240..=next).contains(&expires_at), "{}", next - expires_at);
    // An hour later it is two hours old.
    service.clock.advance(40 * 60);
    assert_eq!(service.clock.unix_s(), next);
    service.open(&proven[1].envelope).await.problem(422, "proof-stale");
    // A client whose clock is ahead proves the next hour; one that is two ahead is not believed.
    let ahead = members.prove_at(1, 1, next + EPOCH_SECONDS);
    service.open(&ahead.envelope).await.is(201);
    let ahead = members.prove_at(1, 1, next + 2 * EPOCH_SECONDS);
    service.open(&ahead.envelope).await.problem(422, "proof-stale");
}

/// Claim P15: No proof or session outlives its credential.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_proven_of_a_credential_outlives_it() {
    let (service, members) = service_with(1).await;
    // The credential proves up to hour E + 100, so that it is over at the end of hour E + 101.
    service.clock.advance(101 * EPOCH_SECONDS);
    let over = (service.clock.unix_s() / EPOCH_SECONDS + 1) * EPOCH_SECONDS;
    let mut wallet = members.open(&service, 0, 1, AUDIENCE).await;
    assert!(wallet.expires_at <= over && wallet.expires_at > over - EPOCH_SECONDS / 10 - 1);
    service.clock.advance(wallet.expires_at - service.clock.unix_s() - 1);
    wallet.log_in(&service).await.matches();
    service.clock.advance(over - service.clock.unix_s());
    wallet.log_in(&service).await.problem(410, "session-expired");
    let refused = members.holder(0, 1).open(AUDIENCE, over, &mut rand::rng());
    assert!(matches!(refused, Err(HolderError::Prove(ProveError::Expired))));
}

/// Claim P16: Sessions opened together end at different times, and renewal loses no request.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_opened_together_do_not_end_together() {
    let (service, members) = service_with(24).await;
    let opened = service.clock.unix_s();
    let mut wallets = Vec::new();
    for member in 0..24 {
        wallets.push(members.open(&service, member, 1, AUDIENCE).await);
    }
    let mut in_one_second: HashMap<u64, usize> = HashMap::new();
    for wallet in &wallets {
        assert!((opened + LIFE_S * 9 / 10..=opened + LIFE_S).contains(&wallet.expires_at));
        *in_one_second.entry(wallet.expires_at).or_default() += 1;
    }
    // 24 ends of 361 seconds: four in one would happen once in 30,000 runs.
    assert!(in_one_second.len() >= 16 && in_one_second.values().all(|ends| *ends < 4), "{in_one_second:?}");
    wallets.sort_by_key(|wallet| wallet.expires_at);
    service.clock.advance(wallets[0].expires_at - opened);
    let (first, last) = (0, wallets.len() - 1);
    wallets[first].log_in(&service).await.problem(410, "session-expired");
    wallets[last].log_in(&service).await.matches();
    // Proven again, the same statement gives the same session, with the same end.
    let again = service.open(&wallets[last].envelope).await.json();
    assert_eq!(again["expires_at"], wallets[last].expires_at);
}

/// Claim P14.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_ends_no_session_and_verifies_no_proof() {
    let (mut service, members) = service_with(1).await;
    let mut wallet = members.open(&service, 0, 1, AUDIENCE).await;
    for _ in 0..3 {
        wallet.log_in(&service).await.matches();
    }
    assert_eq!(verifications(&service).await, 1);
    for _ in 0..2 {
        service = service.restart().await;
        wallet.log_in(&service).await.matches();
        // The upload itself returns the session that is open.
        let opened = service.open(&wallet.envelope).await;
        assert_eq!((opened.status.as_u16(), &opened.json()["expires_at"]), (201, &wallet.expires_at.into()));
        assert_eq!(verifications(&service).await, 0, "a stored session is not verified again");
    }

    // The files as a crash leaves them.
    let crashed = service.file("crashed");
    copied(&service.data(), &crashed);
    service.config.server.data_dir = crashed;
    service = service.restart().await;
    wallet.log_in(&service).await.matches();
    assert_eq!(verifications(&service).await, 0);
}

/// The counts of the verdict cache for the tenant since the process started.
#[cfg(feature = "cache-engine")]
async fn counted(service: &Service, outcome: &str) -> u64 {
    let labels = format!("tenant=\"{}\",outcome=\"{outcome}\"", hex::encode(service.tenant));
    service.metric(&format!("trefoil_verdict_cache_operations_total{{{labels}}}")).await
}

/// Verdict look-ups, whatever their result.
#[cfg(feature = "cache-engine")]
async fn look_ups(service: &Service) -> u64 {
    let mut count = 0;
    for outcome in ["hit", "absent", "stale", "contended"] {
        count += counted(service, outcome).await;
    }
    count
}

#[cfg(feature = "cache-engine")]
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_one_look_up() {
    let (service, members) = service_with(2).await;
    let mut service = service.at_one_node();
    let mut wallets =
        [members.open(&service, 0, 1, AUDIENCE).await, members.open(&service, 1, 1, AUDIENCE).await];
    let before = look_ups(&service).await;
    for _ in 0..5 {
        for wallet in &mut wallets {
            wallet.log_in(&service).await.matches();
        }
    }
    assert_eq!(look_ups(&service).await - before, 10);
    // A refused one too.
    let mut forged = wallets[0].request(&service);
    forged.mac.0[0] ^= 1;
    service.authenticate(&forged).await.problem(403, "request-mac-invalid");
    assert_eq!(look_ups(&service).await - before, 11);
    // After a restart the stored sessions are in the cache again: each login is a hit.
    service = service.restart().await.at_one_node();
    for wallet in &mut wallets {
        wallet.log_in(&service).await.matches();
    }
    assert_eq!((look_ups(&service).await, counted(&service, "hit").await), (2, 2));
}

/// Claim P13.
#[tokio::test(flavor = "multi_thread")]
async fn revocation_ends_a_session_after_a_restart_too() {
    let (mut service, mut members) = service_with(2).await;
    let mut revoked = members.open(&service, 0, 1, AUDIENCE).await;
    let mut stays = members.open(&service, 1, 1, AUDIENCE).await;
    revoked.log_in(&service).await.matches();
    service = service.restart().await;
    revoked.log_in(&service).await.matches();
    members.revoke(0);
    service.publish(members.root(), 2).await;
    revoked.log_in(&service).await.problem(410, "session-expired");
    service = service.restart().await;
    revoked.log_in(&service).await.problem(410, "session-expired");
    service.open(&revoked.envelope).await.problem(422, "proof-stale");
    // The member that was not revoked proves again, under the new root.
    stays.log_in(&service).await.problem(410, "session-expired");
    let mut again = members.open(&service, 1, 2, AUDIENCE).await;
    again.log_in(&service).await.matches();
}

/// Claim P17: A service does not start on a store whose sessions were edited.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_sessions_were_edited_does_not_start() {
    let (service, members) = service_with(2).await;
    let data = service.data();
    let mut wallets = Vec::new();
    for member in 0..2 {
        wallets.push(members.open(&service, member, 1, AUDIENCE).await);
    }
    assert!(service.server.shutdown().await);
    let id = |member: usize| wallets[member].session.id().0;
    // A longer life; another session's verdict with its key; the first byte moved to the end; an empty value.
    let original = std::fs::read(data.join("store.sqlite")).unwrap();
    for edit in [
        "UPDATE sessions SET expires_at = expires_at + 3600 WHERE id = ?1",
        "UPDATE sessions SET wrapped = (SELECT wrapped FROM sessions WHERE id = ?2), \
         expires_at = (SELECT expires_at FROM sessions WHERE id = ?2) WHERE id = ?1",
        "UPDATE sessions SET wrapped = CAST(substr(wrapped, 2) || substr(wrapped, 1, 1) AS BLOB) WHERE id = ?1",
        "UPDATE sessions SET wrapped = x'' WHERE id = ?1",
    ] {
        let store = Connection::open(data.join("store.sqlite")).unwrap();
        let ids = &[id(1), id(0)][..1 + usize::from(edit.contains("?2"))];
        assert_eq!(store.execute(edit, rusqlite::params_from_iter(ids)).unwrap(), 1, "{edit}");
        drop(store);
        let clock = Arc::clone(&service.customer.clock) as Arc<dyn trefoil_pipeline::Clock>;
        let refused = Server::start(service::config(&data), clock).await.err().expect(edit).to_string();
        assert!(refused.contains("a row was edited"), "{edit}: {refused}");
        std::fs::write(data.join("store.sqlite"), &original).unwrap();
    }

    service.customer.clock.advance(10);
    let service = Service::resumed(service.config.clone(), service.customer).await;
    for wallet in &mut wallets {
        wallet.log_in(&service).await.matches();
    }
    assert_eq!(verifications(&service).await, 0);
}

/// A device's clock.
fn clock_of(service: &Service) -> Clock {
    let clock = Arc::clone(&service.clock);
    Arc::new(move || clock.unix_s())
}

/// Claim P16.
#[tokio::test(flavor = "multi_thread")]
async fn a_standing_session_is_renewed_before_it_ends_and_no_request_fails() {
    let (service, mut members) = service_with(2).await;
    let (holder, face) = (members.holder(1, 1), Vector::new(members.face(1)));
    let client = members.client(&service, 4);
    let (root, clock) = (service.trust_root.clone(), clock_of(&service));
    let standing = StandingSession::new(client, holder, AUDIENCE, root, clock);
    let mut sessions: Vec<(SessionId, usize)> = Vec::new();
    // Three hours, a login every four minutes.
    for login in 0..45_u8 {
        let nonce = Nonce::new(vec![login; 16]).unwrap();
        let form = if login % 2 == 0 { AttestationForm::Full } else { AttestationForm::Compact };
        let answered = standing.authenticate(&face, &nonce, form).await.unwrap();
        assert_eq!((answered.decision, answered.account), (Decision::Match, standing.account()));
        let attestation = Attestation::decode(&answered.attestation).unwrap();
        let statement = trefoil_attest::Statement::decode(attestation.statement).unwrap();
        assert_eq!(statement.account, standing.account());
        let session = statement.proof.unwrap().session;
        match sessions.last_mut() {
            Some((last, logins)) if *last == session => *logins += 1,
            _ => sessions.push((session, 1)),
        }
        service.clock.advance(240);
    }
    assert!((3..=6).contains(&sessions.len()), "{sessions:?}");
    assert!(sessions.iter().all(|(_, logins)| *logins <= 16), "{sessions:?}");

    // A revocation of somebody else ends it in between: the login notices, and continues with a credential under the next root.
    let clock = clock_of(&service);
    let face = Vector::new(members.face(1));
    members.revoke(0);
    let (old, new) = (members.holder(1, 1), members.holder(1, 2));
    let nonce = |byte| Nonce::new(vec![byte; 16]).unwrap();
    service.publish(members.root(), 2).await;
    let standing = |holder| {
        let (client, root) = (members.client(&service, 1), service.trust_root.clone());
        StandingSession::new(client, holder, AUDIENCE, root, Arc::clone(&clock))
    };
    let refused = standing(old).authenticate(&face, &nonce(100), AttestationForm::Full).await;
    assert!(
        refused.unwrap_err().to_string().contains("proof-stale"),
        "its credential is to be fetched again"
    );
    let renewed = standing(new);
    renewed.authenticate(&face, &nonce(101), AttestationForm::Full).await.unwrap();
    service.publish_keeping(members.root(), 3, 3).await;
    let error = renewed.authenticate(&face, &nonce(102), AttestationForm::Full).await.unwrap_err();
    assert!(error.to_string().contains("proof-stale"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_accepts_no_login_but_under_the_trust_root_that_it_pinned() {
    let (service, members) = service_with(1).await;
    let other = Service::start().await;
    let face = Vector::new(members.face(0));
    let standing = |root: &TrustRoot| {
        let (client, holder) = (members.client(&service, 1), members.holder(0, 1));
        StandingSession::new(client, holder, AUDIENCE, root.clone(), clock_of(&service))
    };
    let nonce = |byte| Nonce::new(vec![byte; 16]).unwrap();
    for (byte, form) in [(1, AttestationForm::Full), (2, AttestationForm::Compact)] {
        let refused = standing(&other.trust_root).authenticate(&face, &nonce(byte), form).await.unwrap_err();
        assert!(matches!(refused, StandingError::Login(LoginError::Attestation(_))), "{refused}");
        let own = standing(&service.trust_root);
        // Without an attestation to verify nothing is sent, so the nonce can be used for another login.
        let refused = own.authenticate(&face, &nonce(byte + 10), AttestationForm::None).await.unwrap_err();
        assert!(matches!(refused, StandingError::Login(LoginError::Unattested)), "{refused}");
        own.authenticate(&face, &nonce(byte + 10), form).await.unwrap();
    }
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_says_how_long_sessions_live() {
    let service = Service::configured(|config| {
        assert_eq!(config.proofs.session_life_s, LIFE_S);
        config.proofs.session_life_s = 1800;
    })
    .await;
    let configuration = service.public.get("/.well-known/trefoil-configuration").await.json();
    let number = |name: &str| configuration[name].as_u64();
    assert_eq!((number("session_life_s"), number("epoch_s")), (Some(1800), Some(3600)));
    assert_eq!(number("attestation_life_s_max"), Some(120));
    assert_eq!(configuration["circuits"], serde_json::json!(["cred/2", "cred/2u"]));
}

/// Claim P18: One wallet has one account with an audience, over hours and restarts, and attestations for two audiences share nothing that a
/// stranger's would not share.
///
/// The course of one account: one wallet, two audiences, three hours, two restarts.
#[tokio::test(flavor = "multi_thread")]
async fn one_wallet_has_one_account_with_an_audience_over_hours_and_restarts_and_another_elsewhere() {
    let (mut service, members) = service_with(2).await;
    let audiences = [AUDIENCE, "bank.example"];
    // By member and audience: what was attested in each hour.
    let mut attested: HashMap<(usize, &str), Vec<Value>> = HashMap::new();
    for hour in 0..3 {
        for member in 0..2 {
            for audience in audiences {
                let mut wallet = members.open(&service, member, 1, audience).await;
                for _ in 0..2 {
                    let answered = answer(&wallet.log_in(&service).await);
                    assert_eq!(answered.decision, Decision::Match);
                    let said = statement(&answered.attestation.as_ref().unwrap().0);
                    attested.entry((member, audience)).or_default().push(said);
                }
            }
        }
        if hour < 2 {
            service = service.restart().await;
            service.clock.advance(EPOCH_SECONDS);
        }
    }
    assert!(service.server.shutdown().await);

    let values = |member, audience, pointer: &str| -> Vec<String> {
        attested[&(member, audience)].iter().map(|view| view.pointer(pointer).unwrap().to_string()).collect()
    };
    let distinct = |mut values: Vec<String>| {
        values.sort();
        values.dedup();
        values.len()
    };
    let mut accounts = Vec::new();
    for member in 0..2 {
        for audience in audiences {
            assert_eq!(distinct(values(member, audience, "/account")), 1, "one account in all attestations");
            assert_eq!(distinct(values(member, audience, "/proof/epoch")), 3);
            assert_eq!(distinct(values(member, audience, "/proof/session")), 3, "a session for each proof");
            accounts.extend(values(member, audience, "/account").into_iter().take(1));
        }
    }
    assert_eq!(distinct(accounts), 4, "another account for each wallet and audience");

    // Values that one wallet's statements to two audiences share are in a stranger's statements too, so they do not link the wallet.
    let common = |one: (usize, &'static str), other: (usize, &'static str)| -> Vec<String> {
        let mut found: Vec<String> = attested[&one]
            .iter()
            .zip(&attested[&other])
            .flat_map(|(one, other)| {
                leaves(one).into_iter().filter(|leaf| leaves(other).contains(leaf)).collect::<Vec<_>>()
            })
            // Drawn at random from the places of the batch, so it is often the same for anybody.
            .filter(|leaf| !leaf.starts_with("/batch/place"))
            .collect();
        found.sort();
        found.dedup();
        found
    };
    let own = common((0, audiences[0]), (0, audiences[1]));
    let strangers = common((0, audiences[0]), (1, audiences[1]));
    assert_eq!(own, strangers);
    let secret = ["/account", "/proof/session", "/request_digest", "/nonce", "/batch/id", "/digest"];
    assert!(own.iter().all(|leaf| !secret.iter().any(|name| leaf.starts_with(name))), "{own:?}");
    assert!(own.iter().any(|leaf| leaf.starts_with("/proof/root")), "they are of one tenant: {own:?}");
}

/// All that an attestation says.
fn statement(attestation: &[u8]) -> Value {
    let encoded = Attestation::decode(attestation).unwrap().statement;
    let said = Statement::decode(encoded).unwrap();
    let proof = said.proof.unwrap();
    json!({
        "digest": hex::encode(statement_digest(encoded)),
        "suite": said.suite.number(),
        "issuer": said.issuer,
        "tenant": said.tenant.to_string(),
        "audience": said.audience,
        "account": said.account.to_string(),
        "nonce": hex::encode(said.nonce),
        "request_digest": hex::encode(said.request_digest),
        "decision": said.decision.name(),
        "probe_mode": said.probe_mode.name(),
        "policy": [said.policy_id, said.policy_version],
        "fmr_class": said.fmr_class,
        "model": [said.embedder, said.quantiser],
        "template_generation": said.template_generation,
        "proof": {
            "circuit": proof.circuit,
            "root": hex::encode(proof.root),
            "level": proof.level,
            "epoch": proof.epoch,
            "session": proof.session.to_string(),
        },
        "batch": { "id": said.batch_id.to_string(), "place": said.place },
        "issued_at": said.issued_at,
        "expires_at": said.expires_at,
    })
}

/// Every value of a JSON document with its place.
fn leaves(view: &Value) -> Vec<String> {
    fn walk(at: String, view: &Value, found: &mut Vec<String>) {
        match view {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| walk(format!("{at}/{name}"), field, found))
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, item)| walk(format!("{at}/{i}"), item, found))
            }
            value => found.push(format!("{at} {value}")),
        }
    }
    let mut found = Vec::new();
    walk(String::new(), view, &mut found);
    found
}

/// Claim V26.
#[tokio::test(flavor = "multi_thread")]
async fn a_standing_session_makes_its_request_again_after_a_restart() {
    let (service, members) = service_with(1).await;
    let face = Vector::new(members.face(0));
    let standing = |service: &Service| {
        let (clock, root) = (clock_of(service), service.trust_root.clone());
        StandingSession::new(members.client(service, 1), members.holder(0, 1), AUDIENCE, root, clock)
    };
    let nonce = |byte| Nonce::new(vec![byte; 16]).unwrap();
    standing(&service).authenticate(&face, &nonce(1), AttestationForm::Full).await.unwrap();
    let service = service.restart_at_once(async |_| ()).await;
    // The clock advances only after the service has refused the request, however long that takes.
    let (standing, before) = (standing(&service), nonce(2));
    let login = standing.authenticate(&face, &before, AttestationForm::Full);
    tokio::pin!(login);
    let time = async {
        while service
            .metric("trefoil_http_problems_total{code=\"before-restart\",route=\"/v1/authentications\"}")
            .await
            == 0
        {
            tokio::task::yield_now().await;
        }
        service.clock.advance(6);
    };
    tokio::select! {
        _ = &mut login => panic!("it is answered in the second of the restart"),
        () = time => {}
    }
    assert_eq!(login.await.unwrap().decision, Decision::Match);
}
