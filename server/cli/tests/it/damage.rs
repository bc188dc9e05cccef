//! Whatever happens to a file of the data directory: the service starts with everything that it acknowledged, or says which file is wrong
//! and what cures it. Damage under a running service ends it.

use crate::world::*;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use trefoil_pipeline::Clock;
use trefoil_server::server::Server;
use trefoil_testing::{copy, damage, rows};

/// A copy of both databases' rows, without those that count transactions and authenticate all others: looking makes files beside a database.
fn held(data: &Path, look: &Path) -> [Vec<Vec<Value>>; 2] {
    copy(data, look);
    ["store.sqlite", "vault.sqlite"].map(|name| {
        let database = Connection::open(look.join(name)).unwrap();
        let mut all = rows(&look.join(name));
        let counted = database
            .query_row("SELECT * FROM authentic", [], |row| (0..5).map(|at| row.get(at)).collect())
            .map(|row: Vec<Value>| all.retain(|other| *other != row));
        counted.unwrap();
        all
    })
}

/// A service with people who have logged in.
async fn used(data: &Path) -> Service {
    let service = Service::new(service::config(data)).await;
    let people = service.people(2, 1, 15).await;
    for person in &people {
        service.welcome(person).await;
        for nonce in 0..4 {
            service.login(person, &person.face, nonce).await.matches();
        }
    }
    service
}

async fn refused(data: &Path) -> String {
    let clock = Arc::new(TestClock::default()) as Arc<dyn Clock>;
    Server::start(service::config(data), clock).await.err().expect("it does not start").to_string()
}

/// Claim V27: No file of a data directory is silently replaced by a new one. Files of another installation or of another user, and links,
/// are refused.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_empty_is_refused_and_never_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, data) = (directory.path().join("whole"), directory.path().join("data"));
    assert!(used(&whole).await.server.shutdown().await);
    for (name, loss) in [
        ("store.sqlite", "the seal log would begin again at 0 under the same keys"),
        ("vault.sqlite", "no enrolled template could be matched"),
        ("pepper.key", "no API key would be accepted"),
        ("master.key", "nothing in the database that it protects can be read"),
        ("vault.key", "nothing in the database that it protects can be read"),
        ("tls-private-key.pem", "everyone who pinned the certificate would refuse the new one"),
        ("tls-certificate.pem", "everyone who pinned the certificate would refuse the new one"),
        ("signing.keys", "its seal log would have two histories"),
        ("trust-root.json", "its seal log would have two histories"),
        ("store.sqlite.mark", "an older copy of the database would not be noticed"),
    ] {
        for how in ["missing", "empty"] {
            copy(&whole, &data);
            fs::remove_file(data.join(name)).unwrap();
            if name == "trust-root.json" {
                fs::remove_dir_all(data.join("trust-roots")).unwrap();
            }
            if how == "empty" {
                fs::File::create(data.join(name)).unwrap();
                fs::set_permissions(data.join(name), Permissions::from_mode(0o600)).unwrap();
            }
            let why = refused(&data).await;
            assert!(
                why.contains(&format!("{name} is {how}"))
                    && why.contains(loss)
                    && why.contains("Restore the whole directory from one backup"),
                "{name}, {how}: {why}"
            );
            let made = fs::metadata(data.join(name)).map_or(0, |made| made.len());
            assert_eq!(made, 0, "{name} is not made anew");
        }
    }
    copy(&whole, &data);
    fs::remove_file(data.join("installation.toml")).unwrap();
    let why = refused(&data).await;
    assert!(why.contains("installation.toml is missing beside") && why.contains("backup"), "{why}");
}

/// Claim V40: A clean stop leaves nothing in a write-ahead log.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_clean_stop_copies_of_the_databases_alone_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let service = used(&data).await;
    let running = held(&data, &directory.path().join("running"));
    // SQLite itself empties the log when the last connection closes. This one stays open, like that of a task that has not ended.
    let open = ["store.sqlite", "vault.sqlite"].map(|name| {
        let connection = Connection::open(data.join(name)).unwrap();
        connection.query_row("SELECT count(*) FROM tenants", [], |row| row.get::<_, u64>(0)).unwrap();
        connection
    });
    assert!(service.server.shutdown().await);
    for (name, running) in ["store.sqlite", "vault.sqlite"].iter().zip(&running) {
        let log = data.join(format!("{name}-wal"));
        assert!(fs::metadata(&log).map_or(true, |log| log.len() == 0), "{name}");
        let alone = directory.path().join(name);
        fs::copy(data.join(name), &alone).unwrap();
        // A shutdown writes the last use of the API key, its use of the day and the note of that; it removes nothing.
        let rewritten = if *name == "store.sqlite" { 3 } else { 0 };
        assert!(rows(&alone).len() >= running.len(), "{name}");
        let lost = running.iter().filter(|row| !rows(&alone).contains(row)).count();
        assert!(lost <= rewritten, "{name}: {lost} rows are lost");
    }
    drop(open);
}

/// Claim V28: A damaged file (bits, bytes, pages, cut, missing, empty, older, of another installation; databases, their logs, keys, job
/// log) is refused with the cure, or the damage is in bytes that are never read. So are files of different ages or installations in one
/// directory, with their marks, and `trefoil doctor` says so too. The store may be a database, and the key-holder another process. Not
/// found: older copies of all that knows of each other, what a vault elsewhere wrote after the newest seal, and a write that a power cut
/// loses before it is counted.
#[tokio::test(flavor = "multi_thread")]
async fn every_damaged_file_is_refused_with_the_cure_or_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (other, older, whole, data, look) =
        (path("other"), path("older"), path("whole"), path("data"), path("look"));
    let service = used(&other).await;
    assert!(service.server.shutdown().await);
    let live = path("live");
    let service = used(&live).await;
    copy(&live, &older);
    let people = service.people(3, 2, 16).await;
    service.welcome(&people[2]).await;
    answer(&service.login(&people[2], &people[2].face, 1).await);
    // As a kill leaves it.
    copy(&live, &whole);
    assert!(service.server.shutdown().await);
    let good = held(&whole, &look);
    let names =
        "store.sqlite store.sqlite-wal store.sqlite.mark vault.sqlite vault.sqlite-wal vault.sqlite.mark
        master.key pepper.key vault.key signing.keys trust-root.json tls-certificate.pem tls-private-key.pem
        installation.toml";
    for name in words(names) {
        let (mut ended, mut harmless) = (0, 0);
        for round in 0..volume(300, 24) {
            copy(&whole, &data);
            let kind = damage(&data.join(name), round, &older, &other);
            if fs::read(data.join(name)).ok() == fs::read(whole.join(name)).ok() {
                continue;
            }
            let clock = Arc::new(TestClock::default());
            match Server::start(service::config(&data), Arc::clone(&clock) as Arc<dyn Clock>).await {
                Err(why) => {
                    ended += 1;
                    assert!(why.to_string().contains("backup"), "{name}, {kind}: {why}");
                }
                // The damage hit bytes that are never read, such as frames of the log that were checkpointed before.
                Ok(server) => {
                    harmless += 1;
                    assert_eq!(held(&data, &look), good, "{name}, {kind}: something is lost");
                    assert_eq!(server.trust_root(), service.trust_root, "{name}, {kind}");
                    let certificate = fs::read(whole.join("tls-certificate.pem")).unwrap();
                    assert_eq!(fs::read(server.certificate_path()).unwrap(), certificate, "{name}, {kind}");
                    assert!(server.shutdown().await);
                }
            }
        }
        assert!(ended > 0, "{name}: {harmless} damages were harmless, none was refused");
    }
}

/// Claim V29: Damage found under a running service ends it, and the log names the file and the cure.
#[tokio::test(flavor = "multi_thread")]
async fn damage_under_a_running_service_ends_it_with_the_file_and_the_cure() {
    let directory = tempfile::tempdir().unwrap();
    for round in ["a row", "the pages"] {
        let data = directory.path().join(round);
        let service = used(&data).await.restart().await;
        let store = data.join("store.sqlite");
        // Until the first write the process reads the pages that were checked at its start, whatever happens to the file.
        service.admin.tenant(&service::policy()).await;
        service.public.get("/v1/seals/1").await.is(200);
        if round == "a row" {
            let edit = "UPDATE seals SET bytes = (SELECT bytes FROM seals WHERE number = 0) WHERE number = 1";
            assert_eq!(Connection::open(&store).unwrap().execute(edit, []).unwrap(), 1);
        } else {
            // All but the first page, under the connections that are open.
            let file = fs::OpenOptions::new().write(true).open(&store).unwrap();
            let length = file.metadata().unwrap().len() as usize;
            std::os::unix::fs::FileExt::write_all_at(&file, &vec![0xa5; length - 16_384], 16_384).unwrap();
        }
        // Pages that a connection has in memory are good; some seal comes from the disk.
        let mut statuses = Vec::new();
        for number in 0..8 {
            let answered = service.public.get(&format!("/v1/seals/{number}")).await;
            statuses.push(answered.status.as_u16());
            if answered.status != 200 {
                answered.problem(503, "storage-damaged");
                break;
            }
        }
        assert_eq!(statuses.last(), Some(&503), "{round}: {statuses:?}");
        let ready = service.admin.get("/readyz").await;
        assert_eq!(ready.status, 503);
        assert!(
            ready.text().contains("store.sqlite") && ready.text().contains("from the newest backup"),
            "{}",
            ready.text()
        );
        let death = service.server.death().await.to_string();
        assert!(death.contains("store.sqlite: ") && death.contains("backup"), "{death}");
        service.server.shutdown().await;
    }
}
