//! What `serve` refuses, `doctor` finds while no service runs, in the same words.

use crate::ages_apart::{Place, Store, grown};
use crate::world::*;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use trefoil_testing::postgres::Server as Postgres;

/// What is wrong, with which store, and what both say.
const DAMAGES: [(&str, Store, &str); 14] = [
    ("nothing", Store::File, ""),
    ("nothing", Store::Alone, ""),
    ("nothing", Store::Fleet, ""),
    ("keys", Store::File, "signing.keys: "),
    ("passphrase", Store::File, "signing.keys: "),
    ("short-passphrase", Store::Alone, "shorter than 12 bytes"),
    ("version", Store::File, "is not the version 1 that trust-roots has"),
    ("port", Store::File, "cannot listen on "),
    ("admin-port", Store::Alone, "cannot listen on "),
    ("older-vault", Store::Alone, "vault.sqlite"),
    ("older-database", Store::Alone, "the store is older than the vault"),
    ("older-database", Store::Fleet, "the store is older than the vault"),
    ("row", Store::Fleet, "does not vouch for the tenants"),
    ("clock", Store::Fleet, "set them, because the nodes of a fleet judge"),
];

fn doctor(place: &Place<'_>) -> (Option<i32>, String) {
    let config = &place.config;
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    doctor.arg("doctor").arg("--data-dir").arg(&config.server.data_dir);
    doctor.args(["--listen", &config.server.listen.to_string()]);
    doctor.args(["--admin-listen", &config.server.admin_listen.to_string()]);
    doctor.env("TREFOIL_KEYS_PASSPHRASE_FILE", &config.keys.passphrase_file);
    if place.database.is_some() {
        doctor.env("TREFOIL_STORE_URL", &config.store.url.0).env("TREFOIL_STORE_TIMEOUT_MS", "60000");
        doctor.env("TREFOIL_STORE_FLEET", config.store.fleet.to_string());
    }
    if !config.key_holder.url.is_empty() {
        doctor.env("TREFOIL_KEYHOLDER_URL", &config.key_holder.url);
    }
    let told = doctor.output().unwrap();
    (told.status.code(), told.out())
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Claim V28.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_refuses_what_serve_refuses_in_the_same_words() {
    let Some(postgres) = Postgres::shared() else { return };
    for store in [Store::File, Store::Alone, Store::Fleet] {
        let folder = tempfile::tempdir().unwrap();
        let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
        let mut place = Place::new(&data, store, postgres);
        let mut holder = None;
        if store == Store::Fleet {
            let started = KeyHolder::beside(&keys, &data);
            started.url().clone_into(&mut place.config.key_holder.url);
            place.config.key_holder.timeout_ms = 60_000;
            holder = Some(started);
        }
        let clock = grown(&place).await;
        for (damage, _, says) in DAMAGES.into_iter().filter(|(_, of, _)| *of == store) {
            let config = place.config.clone();
            place.copy("new", "");
            let old = |name: &str| fs::copy(data.with_extension("old").join(name), data.join(name)).unwrap();
            let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
            let words = folder.path().join("words");
            let text = if damage == "passphrase" { "another passphrase" } else { "short" };
            fs::write(&words, text).unwrap();
            fs::set_permissions(&words, fs::Permissions::from_mode(0o600)).unwrap();
            match damage {
                "nothing" => {}
                "keys" => flip(&data.join("signing.keys")),
                "passphrase" | "short-passphrase" => place.config.keys.passphrase_file = words,
                "port" => place.config.server.listen = occupied.local_addr().unwrap(),
                "admin-port" => place.config.server.admin_listen = occupied.local_addr().unwrap(),
                "older-vault" => ["vault.sqlite", "vault.sqlite.mark"].map(old).into_iter().for_each(drop),
                "older-database" => {
                    old(trefoil_service::POSTGRES_MARK);
                    place.copy_database("old", "");
                }
                "row" => {
                    let (postgres, name) = place.database.as_ref().unwrap();
                    postgres.sql(name, "DELETE FROM tenants");
                }
                "version" => flip(&data.join("trust-roots/1.json")),
                "clock" => {
                    store::make_clock(&config.store.url.0);
                    store::set_clock(&config.store.url.0, trefoil_host::unix_s() + 1_000);
                }
                other => panic!("{other}"),
            }
            let (code, told) = doctor(&place);
            let started = place.start(&clock).await;
            match started {
                Ok(()) => assert!(says.is_empty() && code != Some(2), "{damage} {store:?} starts: {told}"),
                Err(why) => {
                    assert!(!says.is_empty() && why.contains(says), "{damage} {store:?}: {why}");
                    assert_eq!(code, Some(2), "{damage} {store:?}: {why}: {told}");
                    // Both times are in it.
                    let same = if damage == "clock" { says.to_owned() } else { why.replace('\n', " ") };
                    assert!(told.contains(&same), "{damage} {store:?}: {why}: {told}");
                }
            }
            place.config = config;
        }
        drop(holder);
    }
}

/// Names and contents of a directory.
fn contents(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
    all.sort();
    all
}

/// The process ended after it wrote its keys, and before the trust root.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_tells_an_interrupted_first_start_as_what_it_is_and_serve_finishes_it() {
    let Some(postgres) = Postgres::shared() else { return };
    for store in [Store::File, Store::Alone] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut place = Place::new(&data, store, postgres);
        trefoil(&["keys", "init", "--data-dir", data.to_str().unwrap()]).done();
        fs::remove_file(data.join("trust-root.json")).unwrap();
        fs::remove_dir_all(data.join("trust-roots")).unwrap();
        let record = fs::read_to_string(data.join("installation.toml")).unwrap();
        let kept = record.lines().filter(|line| !line.contains("trust-root"));
        fs::write(data.join("installation.toml"), kept.collect::<Vec<_>>().join("\n")).unwrap();
        let before = contents(&data);

        let (code, told) = doctor(&place);
        assert_eq!(code, Some(1), "{told}");
        assert!(
            told.contains("start-unfinished") && told.contains("the first start did not finish"),
            "{told}"
        );
        assert!(told.contains("Do: `trefoil serve` finishes it") && !told.contains("broken"), "{told}");

        // What would keep it from finishing is told too.
        let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = std::mem::replace(&mut place.config.server.listen, occupied.local_addr().unwrap());
        let (code, told) = doctor(&place);
        assert!(code == Some(2) && told.contains("cannot listen on "), "{told}");
        place.config.server.listen = listen;
        let words = folder.path().join("words");
        fs::write(&words, "another passphrase").unwrap();
        fs::set_permissions(&words, fs::Permissions::from_mode(0o600)).unwrap();
        let own = std::mem::replace(&mut place.config.keys.passphrase_file, words);
        let (code, told) = doctor(&place);
        assert!(
            code == Some(2) && told.contains("start-refused") && told.contains("signing.keys: "),
            "{told}"
        );
        place.config.keys.passphrase_file = own;
        assert_eq!(contents(&data), before);

        place.start(&std::sync::Arc::new(TestClock::going_on())).await.unwrap();
        let (code, told) = doctor(&place);
        assert!(code != Some(2) && !told.contains("start-unfinished"), "{told}");
    }
}
