//! `trefoil keys`: the first keys, and keys that somebody else may have.

use crate::world::*;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use trefoil_attest::{KeySetStatus, TrustRoot};
use trefoil_service::login::clock::SystemClock;
use trefoil_service::time;

const PASSPHRASE: &str = "chosen by an operator";

fn passphrase_file(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create_new(true).write(true).mode(0o600).open(&path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Every file below a directory, with its permissions and content.
fn files(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                found.insert(path.clone(), (mode, std::fs::read(path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn init_makes_encrypted_keys_once_and_shows_only_what_is_public() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data_dir = ["--data-dir", data.to_str().unwrap()];
    let passphrase = passphrase_file(directory.path(), "passphrase", PASSPHRASE);
    let init = ["keys", "init", "--issuer", "auth.example", "--passphrase-file", &passphrase];
    let made = trefoil(&[&init[..], &data_dir].concat());
    let (shown, errors) = (made.out(), made.err());
    assert_eq!((code(&made), errors.as_str()), (0, ""));
    assert!(shown.starts_with("issuer   auth.example\nversion  1\npin      sha3-256:"), "{shown}");
    assert!(shown.contains("status active"), "{shown}");
    // `keys show` is given no passphrase and reads the trust root only.
    assert_eq!(trefoil(&[&["keys", "show"], &data_dir[..]].concat()).done(), shown);

    let after_init = files(&data);
    let names: Vec<&str> =
        after_init.keys().map(|path| path.strip_prefix(&data).unwrap().to_str().unwrap()).collect();
    let expected = ".gitignore installation.toml keys.lock signing.keys trust-root.json trust-roots/1.json";
    assert_eq!(names, words(expected));
    assert!(after_init.values().all(|(mode, _)| *mode == 0o600));
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let root = TrustRoot::from_file(&after_init[&data.join("trust-root.json")].1).unwrap();
    assert_eq!((root.issuer(), root.version(), root.key_sets().len()), ("auth.example", 1, 1));

    // A second run refuses, with or without the passphrase.
    for arguments in [&init[..], &["keys", "init", "--issuer", "other.example"]] {
        let again = trefoil(&[arguments, &data_dir].concat());
        again.ends(1, "exists; `trefoil keys rotate` replaces keys");
        assert!(again.stdout.is_empty());
        assert!(files(&data) == after_init, "nothing has changed");
    }

    // The keys open with the passphrase, and with no other.
    let other = passphrase_file(directory.path(), "other", "chosen by somebody else");
    let rotate = ["keys", "rotate", "--issuer", "auth.example", "--passphrase-file"];
    trefoil(&[&rotate[..], &[&other], &data_dir].concat()).ends(1, "the passphrase does not open it");
    assert!(files(&data) == after_init, "nothing has changed");
    let before = SystemClock::default().unix_s();
    let shown = trefoil(&[&rotate[..], &[&passphrase, "--overlap", "600"], &data_dir].concat()).done();
    let until = (0..60).map(|later| time::format(before + 600 + later));
    let restart = |until| format!("restart this node before {until}: its old keys retire then");
    assert!(until.map(restart).any(|line| shown.contains(&line)), "{shown}");
}

#[test]
fn a_command_for_keys_that_are_not_there_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (none, empty) = (directory.path().join("node-9"), directory.path().join("empty"));
    std::fs::DirBuilder::new().mode(0o700).create(&empty).unwrap();
    let id = "ab".repeat(32);
    let passphrase = passphrase_file(directory.path(), "passphrase", PASSPHRASE);
    let reencrypt = ["reencrypt", "--new-passphrase-file", &passphrase];
    let changing: [&[&str]; 3] = [&["rotate"], &["revoke", &id], &reencrypt];
    let showing: [&[&str]; 3] = [&["show"], &["export-trust-root"], &["export-trust-root", "--version", "1"]];
    let at = |command: &[&str], data: &Path| {
        let issuer = if command[0] == "show" || command[0].starts_with("export") {
            &[][..]
        } else {
            &["--issuer", "auth.example"]
        };
        let place = ["--data-dir", data.to_str().unwrap()];
        trefoil(&[&["keys"], command, &place, issuer].concat()).ends(1, "")
    };
    for command in changing.into_iter().chain(showing) {
        let why = at(command, &none);
        assert!(why.contains("there is no directory"), "{why}");
        assert!(why.contains("name the service's with --data-dir"), "{why}");
        assert!(!none.exists(), "{command:?}");
    }
    for command in changing {
        let why = at(command, &empty);
        assert!(why.contains("signing.keys is missing; name the service's data directory"), "{why}");
        let names: Vec<_> =
            files(&empty).into_keys().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert!(names.iter().all(|name| name == "keys.lock" || name == "installation.toml"), "{names:?}");
    }
    let short = trefoil(&["keys", "revoke", "5a0c", "--data-dir", none.to_str().unwrap()]);
    short.ends(2, "64 hexadecimal digits; `trefoil keys show` prints them");
}

fn status(root: &TrustRoot, id: &str) -> Option<KeySetStatus> {
    root.key_sets().iter().find(|set| hex::encode(set.keys.id()) == id).map(|set| set.status)
}

/// Starts a service from the directory and stops it again, or says why it did not start.
fn starts(data: &str) -> Result<(), String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(words("serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir"))
        .arg(data)
        .env("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")
        .env("TREFOIL_SERVER_ISSUER", "https://auth.example")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept to the end: a service whose output has no reader ends.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    if lines.next().is_some_and(|line| line.unwrap().starts_with("public API")) {
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        assert!(child.wait().unwrap().success());
        return Ok(());
    }
    let output = child.wait_with_output().unwrap();
    output.ends(1, "");
    Err(output.err())
}

/// Claim S14.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_revoked_key_set_sealed_verifies_no_more_and_no_service_signs_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let data = file("data");
    let service = Service::new(service::config(Path::new(&data))).await;
    let people = service.welcomed(1, 12).await;
    let request = service.request(&people[0], &people[0].face, 1);
    let nonce = hex::encode(request.nonce.as_bytes());
    let answer = service::answer(&service.authenticate(&request).await);
    std::fs::write(file("full.cbor"), &answer.attestation.as_ref().unwrap().0).unwrap();
    let (pinned, next, at) = (file("pinned.json"), file("next.json"), service.clock.unix_s().to_string());
    let export = |output: &str, form: &str| {
        trefoil(&words(&format!("keys export-trust-root --data-dir {data} --output {output} {form}"))).done();
        TrustRoot::from_file(&std::fs::read(output).unwrap()).unwrap()
    };
    let verify = |root: &str| {
        let about = ["--audience", AUDIENCE, "--nonce", &nonce, "--at", &at, "--trust-root", root];
        trefoil(&[&["verify", &file("full.cbor")], &about[..]].concat())
    };
    assert_eq!(export(&pinned, ""), export(&file("pinned.cbor"), "--format cbor"));
    verify(&pinned).done();

    let id = hex::encode(service.trust_root.key_sets()[0].keys.id());
    let revoke =
        |id: &str| trefoil(&["keys", "revoke", id, "--data-dir", &data, "--issuer", "https://auth.example"]);
    revoke(&id).ends(1, "stop it, revoke, and start it again");
    assert!(service.server.shutdown().await);
    assert_eq!(code(&revoke("5a0c")), 2);
    let old_keys = std::fs::read(file("data/signing.keys")).unwrap();
    let shown = revoke(&id).done();
    assert!(shown.contains("status active") && shown.contains("status revoked since"), "{shown}");

    let root = export(&next, "");
    assert_eq!(root.version(), 2);
    assert!(matches!(status(&root, &id), Some(KeySetStatus::Revoked { .. })));
    verify(&next).ends(1, "is revoked since");
    // Anybody who pinned the version before can follow.
    trefoil(&["keys", "accept", "--pinned", &pinned, "--next", &next]).done();
    verify(&pinned).ends(1, "");

    assert_eq!(starts(&data), Ok(()));
    // The old keys, out of a backup or off a thief's disk, start no service.
    std::fs::write(file("data/signing.keys"), old_keys).unwrap();
    let why = starts(&data).unwrap_err();
    assert!(why.contains("does not list the keys"), "{why}");
}
