//! Older copies of a key-holder's vault under a newer log of seals: refused, or taken by name, which every seal shows.

use crate::key_holder::wait_for;
use crate::quorum::{self, Three};
use crate::world::*;
use trefoil_api::PublishedRoot;
use trefoil_attest::{Attestation, Evidence, VaultState};
use trefoil_pipeline::Clock;
use trefoil_server::server::Server;
use trefoil_testing::copy;

/// Puts the vault of another data directory into this one.
fn put_vault(from: &Path, to: &Path) {
    for name in ["vault.sqlite", "vault.sqlite-wal", "vault.sqlite-shm"] {
        let _ = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// The statement about the vaults in the seal of an answer.
async fn login(service: &Service, person: &Person, face: &[f32; 128], nonce: u64) -> Sealed {
    let mut attempts = (0..).map(|attempt| service.request(person, face, nonce + 1000 * attempt));
    let reply = loop {
        let reply = service.authenticate(&attempts.next().unwrap()).await;
        // A connection to a key-holder that was killed may be noticed only by its use.
        if reply.status != 503 {
            break reply;
        }
        tokio::task::yield_now().await;
    };
    let answer = answer(&reply);
    let seal = crate::service::seal(&answer.attestation.as_ref().unwrap().0);
    Sealed { decision: answer.decision, number: seal.header.seal_number, vaults: seal.header.vaults }
}

#[derive(Debug)]
struct Sealed {
    decision: Decision,
    number: u64,
    vaults: Vec<Option<VaultState>>,
}

impl Sealed {
    fn alone(&self) -> VaultState {
        match self.vaults[..] {
            [Some(state)] => state,
            _ => panic!("{self:?}"),
        }
    }
}

fn audit(data: &Path, trust_root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["log", "audit", "--data-dir", data.to_str().unwrap()])
        .args(["--trust-root", trust_root.to_str().unwrap()])
        .output()
        .unwrap()
}

#[track_caller]
fn passes(output: &Output) -> String {
    output.done()
}

async fn refusal(config: &Config, clock: &Arc<TestClock>) -> String {
    let started = Server::start(config.clone(), Arc::clone(clock) as Arc<dyn Clock>).await;
    started.err().expect("it does not start").to_string()
}

/// Claim V5: An older copy of a key-holder's vault is refused under a newer log of seals, unless its operator accepts it with a flag, which
/// every later seal shows.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_vault_in_the_process_is_refused_or_taken_by_name_and_an_auditor_sees_it() {
    let service = Service::start().await;
    let (data, older, config) = (service.data(), service.file("older"), service.config.clone());
    let people = service.people(2, 1, 61).await;
    service.welcome(&people[0]).await;
    let (right, wrong) = (&people[0].face, &people[1].face);
    let first = login(&service, &people[0], right, 0).await;
    assert_eq!((first.decision, first.alone().restored), (Decision::Match, 0));
    assert!(first.alone().generation > 0, "a tenant and a subject were written");
    let root = service.server.trust_root_path();
    let service = service.restart_after(async |_| copy(&data, &older)).await;
    assert_eq!(login(&service, &people[0], wrong, 1).await.decision, Decision::NoMatch);
    // The vault's count is read at every start, so the next seal includes the row that the failure wrote.
    let mut service = service.restart().await;
    let last = login(&service, &people[0], right, 2).await;
    let (newest, number) = (last.alone(), last.number);
    assert!(newest.generation > first.alone().generation && newest.restored == 0, "{first:?} {newest:?}");
    let mut accepting = config.clone();
    accepting.key_holder.accept_older_vault = true;
    let between = async |clock: &Arc<TestClock>| {
        let plain = passes(&audit(&data, &root));
        assert!(!plain.contains("notice"), "{plain}");
        put_vault(&older, &data);
        for _ in 0..2 {
            let why = refusal(&config, clock).await;
            let counted = format!("the seal says {} and 0", newest.generation);
            let older = format!("the vault is older than seal {number}");
            assert!(why.contains(&older) && why.contains(&counted), "{why}");
            assert!(why.contains("from the newest backup") && why.contains("--accept-older-vault"), "{why}");
        }
    };
    service.config = accepting.clone();
    let service = service.restart_after(between).await;
    let taken = login(&service, &people[0], right, 3).await.alone();
    assert_eq!(taken.restored, 1);
    assert!(taken.generation > newest.generation, "it is never again what it was");
    // The flag does not count again where nothing is older.
    let service = service.restart().await;
    assert_eq!(login(&service, &people[0], right, 4).await.alone().restored, 1);
    let audited = passes(&audit(&data, &root));
    let notice = format!(
        "notice: seal {}: an older copy of the vault of key-holder 1 was taken, 1 times in all (0 before)",
        number + 1
    );
    assert!(audited.contains(&notice) && audited.matches("notice").count() == 1, "{audited}");

    // A missing vault is not an older copy, and no new one is made.
    assert!(service.server.shutdown().await);
    put_vault(data.parent().unwrap(), &data);
    let why = refusal(&config, &service.customer.clock).await;
    assert!(why.contains("vault.sqlite is missing") && why.contains("from one backup"), "{why}");
}

/// Claim V5.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_vault_elsewhere_is_refused_until_its_own_operator_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, older, data) =
        (folder.path().join("keys"), folder.path().join("older"), folder.path().join("data"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    let config = key_holder.config(&data);
    let service = Service::new(config.clone()).await;
    let people = service.people(2, 1, 62).await;
    service.welcome(&people[0]).await;
    let (right, wrong) = (&people[0].face, &people[1].face);
    key_holder.kill();
    copy(&keys, &older);
    key_holder.again();
    wait_for(&service, 200).await;
    assert_eq!(login(&service, &people[0], wrong, 1).await.decision, Decision::NoMatch);
    let service = service.restart().await;
    let newest = login(&service, &people[0], right, 2).await.alone();
    assert_eq!(newest.restored, 0);

    // With its job log, so that the key-holder itself notices nothing.
    key_holder.kill();
    copy(&older, &keys);
    key_holder.again();
    let mut service = service.restart().await;
    let why = wait_for(&service, 503).await;
    assert!(why.contains("the vault of key-holder 1 is older"), "{why}");
    assert!(why.contains(&format!("{} and 0 were seen", newest.generation)), "{why}");
    let refused = service.login(&people[0], right, 3).await;
    refused.problem(503, "key-holder-unavailable");
    assert!(
        refused.text().contains("start that key-holder once with --accept-older-vault"),
        "{}",
        refused.text()
    );
    // Operations that would raise the older vault's count, and so hide that it is older, are refused.
    let path = service.path("");
    service.enrol(&people[1], "into-the-older").await.problem(503, "key-holder-unavailable");
    service.public.delete(&service::templates_path(&people[0])).await.problem(503, "key-holder-unavailable");
    let tenant = serde_json::json!({"name": "other", "policy": service::policy()});
    service.admin.post("/v1/tenants", &tenant).await.problem(503, "key-holder-unavailable");
    for operation in ["reset-malformed", "key-rotation"] {
        let refused = service.admin.post(&format!("{path}/{operation}"), &serde_json::json!({})).await;
        refused.problem(503, "key-holder-unavailable");
    }

    key_holder.kill();
    key_holder.again_with(&["--accept-older-vault"]);
    wait_for(&service, 200).await;
    let taken = login(&service, &people[0], right, 4).await;
    assert_eq!((taken.decision, taken.alone().restored), (Decision::Match, 1));
    let audited = passes(&audit(&data, &service.server.trust_root_path()));
    assert!(audited.contains("the vault of key-holder 1 was taken, 1 times in all"), "{audited}");

    // One that has not shown its vault since the start may be an older copy.
    key_holder.kill();
    service.config.key_holder.timeout_ms = 500;
    let service = service.restart().await;
    service.login(&people[0], right, 5).await.problem(503, "key-holder-unavailable");
    key_holder.again();
    wait_for(&service, 200).await;
    assert!(service.server.shutdown().await);

    let mut by_the_gateway = config;
    by_the_gateway.key_holder.accept_older_vault = true;
    let why = refusal(&by_the_gateway, &service.customer.clock).await;
    assert!(why.contains("start the key-holder itself with this flag"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vault_that_was_never_seen_is_carried_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut three = Three::beside(&data, quorum::start);
    let mut config = three.config(&data);
    // Nothing is sealed yet, because the disk is full, so the next process knows only the vaults that it sees.
    let mut full = config.clone();
    full.disk.low_water_mib = 1 << 40;
    let mut service = Service::new(full).await;
    three.holders[1].kill();
    config.key_holder.timeout_ms = 3000;
    service.config = config;
    let service = service.restart().await;
    // A root's receipt needs no key-holder.
    let mut generation = 0;
    let mut seal = async || {
        generation += 1;
        let root = service.next_root([0; 32], generation, generation);
        let published: PublishedRoot = serde_json::from_slice(&service.send_root(&root).await.body).unwrap();
        let receipt = published.receipt.unwrap().attestation.0;
        match Attestation::decode(&receipt).unwrap().evidence {
            Evidence::Full(seal) => seal.header.vaults,
            Evidence::Compact(_) => panic!("a root's receipt is a full one"),
        }
    };
    let vaults = seal().await;
    assert!(matches!(vaults[..], [Some(_), None, Some(_)]), "{vaults:?}");
    three.back(1);
    let vaults = loop {
        let vaults = seal().await;
        if vaults[1].is_some() {
            break vaults;
        }
    };
    assert!(vaults.iter().all(Option::is_some), "{vaults:?}");
    three.holders[1].kill();
    let unchanged = seal().await;
    assert_eq!(unchanged[1], vaults[1], "what was seen last");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_with_an_older_vault_stops_writes_and_no_decision() {
    let folder = tempfile::tempdir().unwrap();
    let [seats, data, older] = ["three", "data", "older"].map(|name| folder.path().join(name));
    // However slow the machine is, no call is given up, and no budget is spent: a login that failed for either reason would be refused below.
    let mut three = Three::beside(&data, quorum::start_lax);
    let service = Service::with_policy(three.config(&data), service::lenient()).await;
    let people = service.people(2, 1, 64).await;
    service.welcome(&people[0]).await;
    let (right, wrong) = (&people[0].face, &people[1].face);
    let counted = async || service.admin.metric("trefoil_key_holder_vault_generation{seat=\"2\"}").await;
    login(&service, &people[0], right, 1).await;
    three.holders[1].kill();
    copy(&seats.join("2"), &older);
    three.back(1);
    wait_for(&service, 200).await;
    let copied: u64 = rusqlite::Connection::open(older.join("vault.sqlite"))
        .and_then(|vault| vault.query_row("SELECT generation FROM authentic", [], |row| row.get(0)))
        .unwrap();
    // Two of three decide each login, and the count is read every second.
    let mut nonce = 1;
    while counted().await <= copied {
        for face in [wrong, right] {
            nonce += 1;
            login(&service, &people[0], face, nonce).await;
        }
    }

    // With its job log, so that the key-holder itself notices nothing.
    three.holders[1].kill();
    copy(&older, &seats.join("2"));
    three.back(1);
    // Its count is read every second.
    let path = service::templates_path(&people[1]);
    let begun = Instant::now();
    let refused = loop {
        let deleted = service.public.delete(&path).await;
        if deleted.text().contains("the vault of key-holder 2 is older") {
            break deleted;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", deleted.text());
    };
    refused.problem(503, "key-holder-unavailable");
    service.enrol(&people[1], "into-the-older").await.problem(503, "key-holder-unavailable");
    for face in [right, wrong] {
        nonce += 1;
        let decided = login(&service, &people[0], face, nonce).await.decision;
        assert_eq!(decided, if face == right { Decision::Match } else { Decision::NoMatch });
    }
    wait_for(&service, 200).await;
}
