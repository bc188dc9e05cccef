//! The files of a PostgreSQL database and its write-ahead log, after everything that a service does with secrets: they have neither a face nor a key
//! nor a token.

use crate::canary::files_below;
use crate::scan::{Patterns, face_patterns, search};
use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use trefoil_server::config::DatabaseUrl;
use trefoil_testing::contains;
use trefoil_testing::postgres::Server;

fn add(patterns: &mut Patterns, name: &str, bytes: &[u8]) {
    patterns.entry(bytes[..8].try_into().unwrap()).or_default().push((bytes.to_vec(), name.to_owned()));
}

/// A token as text, its secret part, and the bytes of that.
fn add_token(patterns: &mut Patterns, name: &str, token: &str, parts: usize) {
    let secret = token.splitn(parts, '_').last().unwrap();
    add(patterns, &format!("{name}, text"), secret.as_bytes());
    add(patterns, &format!("{name}, bytes"), &URL_SAFE_NO_PAD.decode(secret).unwrap());
}

/// The beginning of a face as requests carry it.
fn add_face(patterns: &mut Patterns, index: usize, person: &Person) {
    let bytes: Vec<u8> = person.face.iter().flat_map(|x| x.to_le_bytes()).collect();
    add(patterns, &format!("base64, face {index}"), &STANDARD.encode(bytes).as_bytes()[..64]);
}

/// The names of what is found in the tables, and in the write-ahead log.
fn found(server: &Server, database: &str, patterns: &Patterns) -> [BTreeSet<String>; 2] {
    server.sql(database, "CHECKPOINT");
    let oid = server.sql(database, "SELECT oid FROM pg_database WHERE datname = current_database()");
    let below = |folder: &Path| {
        let files = files_below(folder);
        // A file may go meanwhile.
        let read = files.iter().filter_map(|file| std::fs::read(file).ok());
        read.flat_map(|bytes| search(&bytes, patterns)).collect()
    };
    [format!("base/{oid}"), "pg_wal".to_owned()].map(|folder| below(&server.data().join(folder)))
}

/// Claim V93: An edit of any column of any row in PostgreSQL is refused when the row is read, and a removed or earlier row of a tenant,
/// policy, API key, operator or root at the next start. The way to the database is verified TLS unless it stays on the machine, and no
/// password is shown. No face, API key, token, `master.key` or `pepper.key` is in the files of the database or in its write-ahead log after
/// enrolments and logins.
#[tokio::test(flavor = "multi_thread")]
async fn no_face_key_or_token_is_in_the_files_or_the_write_ahead_log_of_a_database() {
    let Some(server) = Server::start(&[]) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let mut config = service::config(&folder.path().join("data"));
    config.store.url = DatabaseUrl(url);
    config.store.timeout_ms = 60_000;
    let service = Service::new(config).await;
    let people = service.welcomed(3, 26).await;
    let key = service.api_key(&["authenticate"]).await;
    let caller = service.public.with_bearer(&key);
    for (shown, expected) in [(0, Decision::Match), (1, Decision::NoMatch)] {
        let login = service.request(&people[0], &people[shown].face, 1 + shown as u64);
        let body = serde_json::to_value(&login).unwrap();
        assert_eq!(caller.post("/v1/authentications", &body).await.decision(), expected);
    }
    let ann = service.admin.post("/v1/operators", &json!({"name": "ann", "role": "viewer"})).await.json();
    let ann = ann["token"].as_str().unwrap();
    service.admin.with_bearer(ann).get("/v1/tenants").await.is(200);

    let mut patterns = face_patterns(people.iter().map(|person| &person.face));
    people.iter().enumerate().for_each(|(index, person)| add_face(&mut patterns, index, person));
    add_token(&mut patterns, "API key", &key, 3);
    add_token(&mut patterns, "operator's token", ann, 5);
    add(&mut patterns, "admin token", service.admin.bearer.as_ref().unwrap().as_bytes());
    for name in ["master.key", "pepper.key"] {
        add(&mut patterns, name, &std::fs::read(folder.path().join("data").join(name)).unwrap());
    }
    assert_eq!(found(&server, &database, &patterns), [BTreeSet::new(), BTreeSet::new()]);
    assert!(service.server.shutdown().await);
    assert_eq!(found(&server, &database, &patterns), [BTreeSet::new(), BTreeSet::new()]);

    // What is there is found: the handle, and each of these once somebody stores it.
    let handle = people[0].handle.to_bytes();
    let files = files_below(&server.data());
    let has = |part: &str| {
        let of = files.iter().filter(|file| file.display().to_string().contains(part));
        of.filter_map(|file| std::fs::read(file).ok()).any(|bytes| contains(&bytes, &handle))
    };
    assert!(has("/base/") && has("/pg_wal/"));
    let all: Vec<&(Vec<u8>, String)> = patterns.values().flatten().collect();
    let rows: Vec<String> = all.iter().map(|(bytes, _)| format!("('\\x{}')", hex::encode(bytes))).collect();
    server.sql(
        &database,
        &format!("CREATE TABLE planted (bytes bytea); INSERT INTO planted VALUES {}", rows.join(",")),
    );
    let names: BTreeSet<String> = all.iter().map(|(_, name)| name.clone()).collect();
    let [stored, logged] = found(&server, &database, &patterns);
    assert_eq!(stored, names);
    // The head of a page of the write-ahead log may be in the middle of one.
    assert!(logged.len() > names.len() * 9 / 10, "{} of {}", logged.len(), names.len());
}
