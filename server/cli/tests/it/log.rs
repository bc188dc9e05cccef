//! The log of seals and the rotation of keys: routes, proofs, and the programs of auditors and witnesses.

use crate::world::*;
use trefoil_attest::tree::{Hash, leaf_hash, verify_consistency, verify_inclusion};
use trefoil_attest::witness::{Checkpoint, issuer_line};
use trefoil_attest::{ExpectedNonce, Policy, Seal, TrustRoot, verify, verify_same_log};
use trefoil_storage::Supervisor;
use trefoil_storage::database::{Database, RowKey, fault};
use trefoil_storage::store::Sqlite;
use trefoil_types::KeySetId;

/// The value that `trefoil keys show` gives a relying party to pin.
fn shown_pin(data_dir: &str) -> String {
    let shown = trefoil(&["keys", "show", "--data-dir", data_dir]).ends(0, "sha3-256:");
    shown.lines().find_map(|line| line.strip_prefix("pin      ")).expect("a line for the pin").to_owned()
}

/// Makes `count` seals, one after the other.
async fn seal(service: &Service, person: &service::Person, from: u64, count: u64) -> Vec<Vec<u8>> {
    let mut attestations = Vec::new();
    for nonce in from..from + count {
        let answer = service.login(person, &person.face, nonce).await;
        attestations.push(service::answer(&answer).attestation.unwrap().0);
    }
    attestations
}

async fn fetch(service: &Service, number: u64) -> Seal {
    let seal = service.public.get(&format!("/v1/seals/{number}")).await;
    assert!(seal.headers["cache-control"].to_str().unwrap().contains("immutable"));
    Seal::decode(&seal.body).unwrap()
}

async fn proof(service: &Service, path: &str) -> Vec<Hash> {
    let reply = service.public.get(path).await.is(200);
    assert!(reply.headers["cache-control"].to_str().unwrap().contains("immutable"));
    let json = reply.json();
    let nodes = json["path"].as_array().or(json["proof"].as_array()).unwrap();
    nodes.iter().map(|node| hex::decode(node.as_str().unwrap()).unwrap().try_into().unwrap()).collect()
}

/// Claim S21.
#[tokio::test(flavor = "multi_thread")]
async fn every_seal_is_a_signed_head_and_proofs_verify_against_it() {
    let service = Service::start().await;
    let nothing = service::start(service::config(&service.file("empty")), &Arc::default()).await;
    service::endpoints(&nothing).0.get("/v1/log/head").await.problem(404, "seal-unknown");
    assert!(nothing.shutdown().await);
    let people = service.welcomed(1, 31).await;
    seal(&service, &people[0], 0, 6).await;
    let head = service.public.get("/v1/log/head").await;
    let newest = Seal::decode(&head.body).unwrap().header;
    let size = newest.seal_number;
    assert_eq!(head.headers["content-location"], format!("/v1/seals/{size}"));
    assert!(size >= 5, "each answer came before the next request");
    for number in 0..size {
        let header = fetch(&service, number).await.header;
        let path = proof(&service, &format!("/v1/log/inclusion/{number}/{size}")).await;
        assert!(verify_inclusion(&header.digest(), number, size, &path, &newest.log_root));
        let mut nodes = Vec::new();
        if number > 0 {
            nodes = proof(&service, &format!("/v1/log/consistency/{number}/{size}")).await;
            assert!(verify_consistency(number, &header.log_root, size, &newest.log_root, &nodes));
        }
        assert_eq!(verify_same_log(&header, &newest, &nodes, &path), Ok(()));
    }
    // The same as tiles.
    let [leaves, entries] = [format!("0/000.p/{size}"), format!("entries/000.p/{size}")];
    let leaves = service.public.get(&format!("/v1/log/tile/{leaves}")).await;
    let entries = service.public.get(&format!("/v1/log/tile/{entries}")).await;
    assert!(leaves.headers["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!((leaves.body.len(), entries.body.len()), (32 * size as usize, 34 * size as usize));
    for (number, (leaf, entry)) in (0..).zip(leaves.body.chunks(32).zip(entries.body.chunks(34))) {
        let digest = fetch(&service, number).await.header.digest();
        assert_eq!((leaf, entry), (&leaf_hash(&digest)[..], &[&[0, 32], &digest[..]].concat()[..]));
    }
    for beyond in [
        format!("/v1/log/inclusion/0/{}", size + 1),
        format!("/v1/log/consistency/1/{}", u64::MAX),
        format!("/v1/log/tile/entries/000.p/{}", size + 1),
        "/v1/log/tile/0/x001/234".to_owned(),
        "/v1/log/tile/1/000.p/1".to_owned(),
    ] {
        service.public.get(&beyond).await.problem(404, "seal-unknown");
    }
    for malformed in [
        format!("/v1/log/inclusion/{size}/{size}"),
        format!("/v1/log/consistency/0/{size}"),
        "/v1/log/consistency/3/2".to_owned(),
        "/v1/log/inclusion/x/1".to_owned(),
        "/v1/log/tile/entry/000".to_owned(),
        "/v1/log/tile/0/0".to_owned(),
        "/v1/log/tile/0/x001/".to_owned(),
    ] {
        service.public.get(&malformed).await.problem(400, "malformed-request");
    }
}

/// Claim S17.
#[tokio::test(flavor = "multi_thread")]
async fn audits_go_on_from_a_saved_head_and_find_a_tampered_database_and_a_forked_server() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let service = Service::new(service::config(&data)).await;
    let people = service.welcomed(1, 32).await;
    seal(&service, &people[0], 0, 3).await;
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let file = |name: &str| text(&directory.path().join(name));
    let (root, certificate) =
        (text(&service.server.trust_root_path()), text(&service.server.certificate_path()));
    let url = format!("https://{}", service.public.address);
    let (head, data_dir) = (file("head.json"), text(&data));
    let remote = |more: &[&str]| {
        let rest = ["--service", &url, "--ca", &certificate, "--trust-root", &root, "--head", &head];
        trefoil(&[&["log", "audit"], &rest[..], more].concat())
    };
    let offline = |data: &str, head: &str| {
        trefoil(&["log", "audit", "--data-dir", data, "--trust-root", &root, "--head", head])
    };
    remote(&[]).ends(0, "are right");
    seal(&service, &people[0], 10, 2).await;
    remote(&[]).ends(0, "are right");
    remote(&[]).ends(0, "0 seals checked");

    let pin = shown_pin(&data_dir);
    remote(&["--pin", &pin]).ends(0, "0 seals checked");
    let other = format!("sha3-256:{}", "5f".repeat(32));
    let refused = remote(&["--pin", &other]).ends(1, "version 1 of the trust root of https://auth.example");
    assert!(refused.contains(&format!("is {pin}, and {other} is pinned")), "{refused}");
    remote(&["--pin", &pin[..pin.len() - 2]]).ends(2, "64 hexadecimal digits");
    remote(&["--pin", &pin["sha3-256:".len()..]]).ends(2, "64 hexadecimal digits");

    let (name, key, note) = ("w.example/1", file("witness.key"), directory.path().join("note"));
    let witness = trefoil(&["log", "witness-key", "--name", name, "--output", &key]).ends(0, name);
    let cosigned =
        trefoil(&["log", "cosign", "--name", name, "--key", &key, "--trust-root", &root, "--head", &head]);
    std::fs::write(&note, cosigned.ends(0, "https://auth.example")).unwrap();
    let fresh = ["--checkpoint", &text(&note), "--witness", witness.trim(), "--witnesses", "1"];
    let fresh = [&["log", "audit", "--data-dir", &data_dir, "--trust-root", &root], &fresh[..]].concat();
    trefoil(&fresh).ends(0, "is cosigned by 1 witnesses or more");
    trefoil(&[&fresh[..fresh.len() - 1], &["2"]].concat()).ends(1, "1 of 2 required witnesses");
    assert!(service.server.shutdown().await);

    let copy = directory.path().join("copy");
    let tampered = |sql: &str| {
        // Anew, and with the write-ahead log: it holds what the database file does not have yet.
        let _ = std::fs::remove_dir_all(&copy);
        let status = Command::new("cp").args(["-r", &data_dir, &text(&copy)]).status().unwrap();
        assert!(status.success());
        let secret = std::fs::read(copy.join("master.key")).unwrap();
        drop(Sqlite::open(&copy.join("store.sqlite"), secret.as_array().unwrap()).unwrap());
        rusqlite::Connection::open(copy.join("store.sqlite")).unwrap().execute_batch(sql).unwrap();
        text(&copy)
    };
    let none = file("none.json");
    offline(&data_dir, &head).ends(0, "0 seals checked");
    offline(&tampered("DELETE FROM seals WHERE number > 2"), &head).ends(1, "the log was cut");
    offline(&tampered("DELETE FROM seals WHERE number = 1"), &none).ends(1, "seal 1 is missing");
    let replaced = "UPDATE seals SET bytes = (SELECT bytes FROM seals WHERE number = 0) WHERE number = 3";
    offline(&tampered(replaced), &none).ends(1, "it has the number 0");
    offline(&text(directory.path()), &none).ends(3, "store.sqlite");

    // A server that was set back to an older state and then sealed other decisions.
    let fork = directory.path().join("fork");
    let status = Command::new("cp").args(["-r", &data_dir, &text(&fork)]).status().unwrap();
    assert!(status.success());
    // Changed by its operator, who has the key of the rows.
    let secret = std::fs::read(fork.join("master.key")).unwrap();
    let key = RowKey::of(secret.as_array().unwrap());
    let store = fork.join("store.sqlite");
    let cut = Database::open(
        &store,
        trefoil_storage::store::VERSION,
        Sqlite::schema(),
        key,
        &Supervisor::default(),
    )
    .unwrap();
    cut.write(|connection| {
        let sql = "DELETE FROM seals WHERE number > 2; DELETE FROM log_nodes WHERE (number + 1) << level > 3";
        connection.execute_batch(sql).map_err(fault)
    })
    .unwrap();
    drop(cut);
    let clock = Arc::new(service::TestClock::default());
    clock.advance(60);
    let customer = service::Customer { clock, ..service.customer };
    let mut forked = Service::resumed(service::config(&fork), customer).await;
    let bearer = forked.api_key(&["enrol", "authenticate", "issue"]).await;
    forked.public = forked.public.with_bearer(&bearer);
    seal(&forked, &people[0], 20, 8).await;
    let url = format!("https://{}", forked.public.address);
    let certificate = text(&forked.server.certificate_path());
    let rest = ["--service", &url, "--ca", &certificate, "--trust-root", &root, "--head", &head];
    trefoil(&[&["log", "audit"], &rest[..]].concat()).ends(1, "the log has forked");
}

#[tokio::test(flavor = "multi_thread")]
async fn witnesses_hand_their_cosignatures_in_and_audits_find_them_there() {
    let directory = tempfile::tempdir().unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let file = |name: &str| text(&directory.path().join(name));
    let names = ["v.example/1", "w.example/1", "stranger.example/1"];
    let keys = names.map(|name| {
        let key = file(&name[..1]);
        trefoil(&["log", "witness-key", "--name", name, "--output", &key]).ends(0, name).trim().to_owned()
    });
    let data = directory.path().join("data");
    let mut config = service::config(&data);
    config.witnesses.keys = keys[..2].to_vec();
    let service = Service::new(config).await;
    let people = service.welcomed(1, 35).await;
    seal(&service, &people[0], 0, 3).await;
    let unwitnessed = service.public.get("/v1/log/checkpoint").await.text().to_owned();
    let newest = Seal::decode(&service.public.get("/v1/log/head").await.body).unwrap();
    let (text_of_head, signed) = unwitnessed.split_once("\n\n").unwrap();
    assert_eq!(format!("{text_of_head}\n"), Checkpoint::signed_by(&newest.header).unwrap().text());
    assert_eq!(signed, issuer_line(&newest).unwrap());
    let (root, ca) = (text(&service.server.trust_root_path()), text(&service.server.certificate_path()));
    let url = format!("https://{}", service.public.address);
    let head = file("head.json");
    let remote = ["--service", &url, "--ca", &ca, "--trust-root", &root];
    let audit = |more: &[&str]| trefoil(&[&["log", "audit"], &remote[..], more].concat());
    audit(&["--head", &head]).ends(0, "no witness was asked");
    audit(&["--witness", &keys[0], "--witnesses", "1"]).ends(3, "0 of 1 required witnesses");

    let cosign = |name: &str| {
        let arguments = ["--name", name, "--key", &file(&name[..1]), "--trust-root", &root, "--head", &head];
        trefoil(&[&["log", "cosign"], &arguments[..]].concat()).ends(0, "https://auth.example")
    };
    let hand_in = |note: &str| {
        let path = file("note");
        std::fs::write(&path, note).unwrap();
        trefoil(&["log", "hand-in", "--service", &url, "--ca", &ca, &path])
    };
    let (v, w, stranger) = (cosign(names[0]), cosign(names[1]), cosign(names[2]));
    hand_in(&stranger).ends(1, "cosignature-refused");
    hand_in(&v.replacen("https://auth", "https://other", 1)).ends(1, "does not verify");
    let flipped =
        if v.contains("+A") { v.replacen("+A", "+B", 1) } else { v[..v.len() - 9].to_owned() + "AAAAAAA=\n" };
    assert_eq!(hand_in(&flipped).status.code(), Some(1));
    assert_eq!(service.public.get("/v1/log/checkpoint").await.text(), unwitnessed);

    // One after the other, the first one twice: each is there once.
    for note in [&v, &w, &v] {
        hand_in(note).ends(0, "is shown as cosigned by");
    }
    let newest = service.public.get("/v1/log/checkpoint").await;
    let (checkpoint, lines) = v.split_once("\n\n").unwrap();
    let (_, others) = w.split_once("\n\n").unwrap();
    let size = checkpoint.lines().nth(1).unwrap();
    let own = issuer_line(&fetch(&service, size.parse().unwrap()).await).unwrap();
    assert_eq!(newest.text(), format!("{checkpoint}\n\n{own}{lines}{others}"));
    assert_eq!(service.public.get(&format!("/v1/log/checkpoint/{size}")).await.text(), newest.text());
    let first = service.public.get("/v1/log/checkpoint/1").await.text().to_owned();
    assert_eq!(first.split_once("\n\n").unwrap().1, issuer_line(&fetch(&service, 1).await).unwrap());
    for none in ["0", "999"] {
        service.public.get(&format!("/v1/log/checkpoint/{none}")).await.problem(404, "seal-unknown");
    }
    service.public.get("/v1/log/checkpoint/x").await.problem(400, "malformed-request");

    let both = ["--witness", &keys[0], "--witness", &keys[1], "--witnesses", "2"];
    audit(&both).ends(0, "is cosigned by 2 witnesses or more");
    // The service's list is not the auditor's.
    audit(&["--witness", &keys[2], "--witnesses", "1"]).ends(3, "0 of 1 required witnesses");
    let other =
        trefoil(&["log", "audit", "--service", &url, "--ca", &keys_file(&directory), "--trust-root", &root]);
    other.ends(3, "certificate");
    assert!(service.server.shutdown().await);
    let offline = ["log", "audit", "--data-dir", &text(&data), "--trust-root", &root];
    trefoil(&[&offline, &both[..]].concat()).ends(0, "is cosigned by 2 witnesses or more");
}

/// The certificate of somebody else.
fn keys_file(directory: &tempfile::TempDir) -> String {
    let path = directory.path().join("other.pem");
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&path, other.cert.pem()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_rotate_beside_a_running_service_and_pins_can_follow() {
    let service = Service::start().await;
    let people = service.welcomed(1, 33).await;
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let data_dir = text(&service.data());
    let pinned = service.file("pinned.json");
    std::fs::copy(service.server.trust_root_path(), &pinned).unwrap();

    let old_pin = shown_pin(&data_dir);
    // The clock of the program is the machine's, that of the service the tests'; validity covers both.
    let rotate = "--issuer https://auth.example --overlap 900000000";
    trefoil(&[&["keys", "rotate", "--data-dir", &data_dir][..], &words(rotate)].concat())
        .ends(0, "version  2");
    let old = seal(&service, &people[0], 0, 1).await.remove(0);
    service.public.get("/v1/keys/2").await.problem(404, "trust-root-unknown");
    let exported_root = text(&service.file("next.json"));
    let export = format!("keys export-trust-root --data-dir {data_dir} --version 2 --output {exported_root}");
    trefoil(&words(&export)).ends(0, "");
    let audit = ["log", "audit", "--data-dir", &data_dir, "--trust-root", &exported_root, "--pin"];
    trefoil(&[&audit[..], &[&old_pin]].concat())
        .ends(1, "version 2 of the trust root of https://auth.example follows");
    let accept = ["keys", "accept", "--pinned", &text(&pinned), "--next", &exported_root];
    let accepted = trefoil(&accept).ends(0, "version  2");
    let new_pin = shown_pin(&data_dir);
    assert!(new_pin != old_pin && accepted.contains(&new_pin), "{accepted}");
    trefoil(&[&audit[..], &[&new_pin]].concat()).ends(0, "are right");
    let next = TrustRoot::from_json(&std::fs::read_to_string(&pinned).unwrap()).unwrap();
    service.trust_root.accept(&next).unwrap();
    let served = text(&service.server.trust_root_path());
    trefoil(&["keys", "accept", "--pinned", &exported_root, "--next", &served]).ends(0, "version  2");

    let policy = Policy::new(next.clone(), AUDIENCE, ExpectedNonce::DangerousAny);
    let now = service.clock.unix_s();
    verify(&old, &policy, now).expect("the old keys verify within the overlap, under the new trust root");
    let data = service.data();
    assert!(service.server.shutdown().await);
    let customer = service.customer;

    let clock = std::sync::Arc::new(service::TestClock::default());
    // The new keys are valid from the machine's time on.
    let machine = trefoil_service::login::clock::SystemClock::default().unix_s();
    clock.advance(machine.max(now) + 60 - clock.unix_s());
    let customer = service::Customer { clock, ..customer };
    let mut again = Service::resumed(service::config(&data), customer).await;
    assert_eq!(again.trust_root, next, "a start takes the new keys up");
    let bearer = again.api_key(&["enrol", "authenticate", "issue"]).await;
    again.public = again.public.with_bearer(&bearer);
    let people = again.people(1, 2, 34).await;
    again.welcome(&people[0]).await;
    let new = seal(&again, &people[0], 1, 1).await.remove(0);
    let verified = verify(&new, &policy, again.clock.unix_s()).unwrap();
    assert_ne!(verified.seal().key_set_id, service_key(&old, &policy, now));
    let served = again.public.get("/v1/keys/2").await;
    assert!(served.headers["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!(TrustRoot::from_json(served.text()).unwrap(), next);
}

fn service_key(attestation: &[u8], policy: &Policy, now: u64) -> KeySetId {
    verify(attestation, policy, now).unwrap().seal().key_set_id
}
