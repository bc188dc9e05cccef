//! Files of different ages or installations in one data directory: nothing starts from them, and `doctor` says so too.

use crate::world::*;
use std::fs;
use trefoil_pipeline::Clock;
use trefoil_server::config::DatabaseUrl;
use trefoil_server::server::Server;
use trefoil_testing::copy;

/// A service whose store is a file, in any run of the tests.
fn config(data: &Path) -> Config {
    let mut config = service::config(data);
    config.store.url = DatabaseUrl::default();
    config
}

async fn login(service: &Service, person: &Person, face: &[f32; 128], nonce: u64) -> Decision {
    answer(&service.login(person, face, nonce).await).decision
}

/// Removes what SQLite has beside a database too.
fn remove(data: &Path, name: &str) {
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(data.join(format!("{name}{end}")));
    }
}

/// The exit code of `doctor`, and what it prints.
fn doctor(data: &Path) -> (Option<i32>, String) {
    let doctor = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["doctor", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .output()
        .unwrap();
    (doctor.status.code(), doctor.out())
}

/// Why nothing starts, and what `doctor` prints, which must end with 2.
async fn refused(data: &Path, clock: &Arc<TestClock>) -> [String; 2] {
    let (code, told) = doctor(data);
    assert_eq!(code, Some(2), "{told}");
    let started = Server::start(config(data), Arc::clone(clock) as Arc<dyn Clock>).await;
    [started.err().unwrap_or_else(|| panic!("it starts: {told}")).to_string(), told]
}

const STORE: [&str; 2] = ["store.sqlite", "store.sqlite.mark"];
const VAULT: [&str; 2] = ["vault.sqlite", "vault.sqlite.mark"];

/// The files that are put into the newest directory, from where, and what the refusal says. A file that is not there is removed.
const CASES: [(&[&str], &str, &str); 16] = [
    (&["store.sqlite"], "older", "an older copy"),
    (&STORE, "older", "the store is older than the vault"),
    (
        &["store.sqlite", "store.sqlite.mark", "vault.sqlite.mark"],
        "older",
        "the store is older than the vault",
    ),
    (&["vault.sqlite"], "older", "the vault is older than seal"),
    (&VAULT, "older", "the vault is older than seal"),
    (&["vault.sqlite", "vault.sqlite.mark", "store.sqlite.mark"], "older", "the vault is older than seal"),
    (&["store.sqlite", "vault.sqlite"], "older", "an older copy"),
    (&["store.sqlite", "vault.sqlite", "vault.sqlite.mark"], "older", "an older copy"),
    (&["store.sqlite", "store.sqlite.mark", "vault.sqlite"], "older", "older"),
    (&["store.sqlite.mark"], "foreign", "store.sqlite.mark is not the file that was made in this directory"),
    (&["vault.sqlite.mark"], "foreign", "vault.sqlite.mark is not the file that was made in this directory"),
    (&["store.sqlite", "store.sqlite.mark"], "foreign", "store.sqlite.mark is not the file"),
    (&["store.sqlite"], "foreign", "store.sqlite"),
    (&["vault.sqlite"], "foreign", "vault.sqlite"),
    (&["installation.toml"], "foreign", "is not the file that was made in this directory"),
    (&["installation.toml"], "nowhere", "installation.toml is missing beside"),
];

/// Claim V28.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_different_ages_or_installations_do_not_start_and_doctor_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let data = place("data");
    let service = Service::new(config(&data)).await;
    let people = service.people(2, 1, 71).await;
    service.welcome(&people[0]).await;
    assert_eq!(login(&service, &people[0], &people[0].face, 1).await, Decision::Match);
    let service = service.restart_after(async |_| copy(&data, &place("older"))).await;
    assert_eq!(login(&service, &people[0], &people[1].face, 2).await, Decision::NoMatch);
    let service = service.restart().await;
    assert_eq!(login(&service, &people[0], &people[0].face, 3).await, Decision::Match);
    let clock = Arc::clone(&service.customer.clock);
    clock.advance(10);
    assert!(service.server.shutdown().await);
    let foreign =
        Server::start(config(&place("foreign")), Arc::clone(&clock) as Arc<dyn Clock>).await.unwrap();
    assert!(foreign.shutdown().await);

    let (code, told) = doctor(&data);
    assert_ne!(code, Some(2), "{told}");
    for (names, from, says) in CASES {
        let mixed = place("mixed");
        copy(&data, &mixed);
        for name in names {
            remove(&mixed, name);
            let _ = fs::copy(place(from).join(name), mixed.join(name));
        }
        // The second try does not make it newer.
        for _ in 0..2 {
            let [why, _] = refused(&mixed, &clock).await;
            assert!(why.contains(says), "{names:?} {from}: {why}");
            assert!(why.contains("backup"), "{names:?} {from}: {why}");
        }
    }
    // The keys and the record are gone, the databases are not.
    let mixed = place("mixed");
    copy(&data, &mixed);
    for entry in fs::read_dir(&mixed).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if !name.contains("sqlite") && entry.is_file() {
            fs::remove_file(entry).unwrap();
        }
    }
    let [why, _] = refused(&mixed, &clock).await;
    assert!(why.contains("installation.toml is missing beside"), "{why}");
    // What a power cut leaves: marks that are older than their files.
    copy(&data, &mixed);
    for name in ["store.sqlite.mark", "vault.sqlite.mark"] {
        fs::copy(place("older").join(name), mixed.join(name)).unwrap();
    }
    let started = Server::start(config(&mixed), Arc::clone(&clock) as Arc<dyn Clock>).await.unwrap();
    assert!(started.shutdown().await);
}

/// What `serve` refuses without other files being wrong: a write-ahead log that is gone, and a row that another program wrote.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_refuses_the_stored_data_that_a_start_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let (data, killed) = (folder.path().join("data"), folder.path().join("killed"));
    let service = Service::new(config(&data)).await;
    service.welcomed(1, 72).await;
    // As a kill of the process leaves it.
    copy(&data, &killed);
    let clock = Arc::clone(&service.customer.clock);
    clock.advance(10);
    assert!(service.server.shutdown().await);
    fs::remove_file(killed.join("store.sqlite-wal")).unwrap();
    let [why, told] = refused(&killed, &clock).await;
    assert!(why.contains("write-ahead log"), "{why}");
    assert!(told.contains("start-refused") && told.contains("write-ahead log"), "{told}");

    let edited = rusqlite::Connection::open(data.join("store.sqlite")).unwrap();
    edited.execute("UPDATE tenants SET name = x'00'", []).unwrap();
    drop(edited);
    let [why, told] = refused(&data, &clock).await;
    assert!(why.contains("somebody else wrote to this file"), "{why}");
    assert!(told.contains("start-refused") && told.contains("somebody else wrote"), "{told}");
}
