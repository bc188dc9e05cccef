//! Backups of a running service, and what a restored one shows to relying parties and auditors that saw later seals.

use crate::key_holder::wait_for;
use crate::world::*;
use rand::RngExt as _;
use std::collections::HashSet;
use trefoil_attest::{LogError, Restoration, SealHeader, verify_same_log};
use trefoil_host::backup::{BackupError, MANIFEST_FILE, Manifest, Passphrase, check};
use trefoil_service::backup;
use zeroize::Zeroizing;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trefoil");
const WORDS: &str = "correct horse battery";
/// Rounds of backup, loss and restore, and kills of each command, at full volume.
const ROUNDS: usize = 20;
const KILLS: usize = 100;

fn passphrase(words: &str) -> Passphrase {
    let Ok(passphrase) = Passphrase::new(Zeroizing::new(words.as_bytes().to_vec())) else {
        panic!("too short")
    };
    passphrase
}

fn make(data: &Path, to: &Path, now: u64) -> Result<Manifest, BackupError> {
    backup::make(data, to, &passphrase(WORDS), now, &mut |_| ())
}

fn restore(from: &Path, into: &Path, now: u64) -> Result<Restoration, BackupError> {
    backup::restore(from, into, &passphrase(WORDS), None, now, &mut |_| ())
        .map(|(_, restoration)| restoration)
}

/// Logs in and gives the header of the seal.
async fn login(service: &Service, person: &Person, nonce: &mut u64) -> SealHeader {
    *nonce += 1;
    let reply = service.login(person, &person.face, *nonce).await;
    let answer = service::answer(&reply);
    assert_eq!(answer.decision, Decision::Match);
    let seal = crate::service::seal(&answer.attestation.as_ref().unwrap().0);
    seal.header
}

async fn open_session(service: &Service, person: &Person) {
    service.prove(person).await.is(201);
}

/// Enrols a new face; the handle.
async fn enrol(service: &Service, face: &Person, handle: Handle) -> u16 {
    let somebody = Person { handle, envelope: Vec::new(), key: face.key.clone(), ..*face };
    let key: [u8; 16] = rand::rng().random();
    service.enrol(&somebody, &hex::encode(key)).await.status.as_u16()
}

struct Auditor {
    head: PathBuf,
    trust_root: PathBuf,
}

impl Auditor {
    fn new(name: &str, service: &Service) -> Auditor {
        let trust_root = service.file("auditors-trust-root.json");
        std::fs::write(&trust_root, service.trust_root.to_json()).unwrap();
        Auditor { head: service.file(name), trust_root }
    }

    fn audit(&self, data: &Path, more: &[&str]) -> Output {
        let paths = [("--data-dir", data), ("--trust-root", &self.trust_root), ("--head", &self.head)];
        let mut audit = program(&["log", "audit"], &[]);
        for (flag, path) in paths {
            audit.arg(flag).arg(path);
        }
        audit.args(more).output().unwrap()
    }

    #[track_caller]
    fn passes(&self, data: &Path) -> String {
        self.audit(data, &[]).done()
    }

    #[track_caller]
    fn fails(&self, data: &Path, more: &[&str]) -> String {
        self.audit(data, more).ends(1, "")
    }
}

/// Every template of the store has its salt in the vault.
fn is_a_pair(data: &Path) -> usize {
    let rows = |file: &str, table: &str| -> HashSet<(Vec<u8>, u32)> {
        let database = rusqlite::Connection::open(data.join(file)).unwrap();
        let mut all = database.prepare(&format!("SELECT handle, generation FROM {table}")).unwrap();
        all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let (templates, salts) = (rows("store.sqlite", "templates"), rows("vault.sqlite", "subjects"));
    assert!(templates.is_subset(&salts), "a template without its salt is of nobody");
    templates.len()
}

/// Claim V30: A backup of a running service has both databases at one moment, and a restore has everything acknowledged before the backup
/// began. An auditor that kept a head sees a restoration and no fork.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_restored_and_whoever_kept_a_head_sees_a_restoration_and_no_fork() {
    let mut service = Service::own(service::lenient(), |_| ()).await;
    let (data, folder) = (service.data(), service.file(""));
    let person = service.welcomed(1, 71).await.remove(0);
    let auditors = ["after", "before"].map(|name| Auditor::new(name, &service));
    let [after, before] = &auditors;
    let mut nonce = 0;
    for round in 0..volume(ROUNDS, 2) {
        let kept: Vec<[u8; 32]> = (0..3).map(|_| rand::rng().random()).collect();
        for handle in &kept {
            assert_eq!(enrol(&service, &person, Handle::new(*handle)).await, 201);
        }
        login(&service, &person, &mut nonce).await;
        before.passes(&data);
        let to = folder.join(format!("backup-{round}"));
        let now = service.clock.unix_s();
        let (from, into) = (data.clone(), to.clone());
        let backup = tokio::task::spawn_blocking(move || make(&from, &into, now).unwrap());
        let mut during = Vec::new();
        while !backup.is_finished() {
            during.push(rand::rng().random::<[u8; 32]>());
            assert_eq!(enrol(&service, &person, Handle::new(during[during.len() - 1])).await, 201);
            login(&service, &person, &mut nonce).await;
        }
        let manifest = backup.await.unwrap();
        check(&to, &passphrase(WORDS)).unwrap();
        let lost = login(&service, &person, &mut nonce).await;
        after.passes(&data);
        let (mut restored, mut pairs) = (None, 0);
        service = service
            .restart_after(async |clock| {
                std::fs::rename(&data, folder.join(format!("lost-{round}"))).unwrap();
                clock.advance(20);
                let restoration = restore(&to, &data, clock.unix_s()).unwrap();
                assert_eq!(restoration.first, manifest.log.as_ref().unwrap().seal + 1);
                pairs = is_a_pair(&data);
                restored = Some(restoration);
            })
            .await;
        let restored = restored.unwrap();
        assert!(pairs > kept.len());
        for handle in kept.iter().chain(&during) {
            let again = enrol(&service, &person, Handle::new(*handle)).await;
            assert!(again == 409 || (again == 201 && during.contains(handle)), "{again}");
        }
        let refused = service.login(&person, &person.face, nonce).await;
        assert_eq!(refused.status, 404, "sessions have ended: {}", refused.text());
        open_session(&service, &person).await;
        let first = login(&service, &person, &mut nonce).await;
        // The entries before it are the receipts of the setup.
        assert_eq!(first.restored, Some(restored));
        assert!(first.seal_number > restored.first);
        assert_eq!(first.vaults[0].unwrap().restored, round as u64 + 1, "old budgets are shown");
        let second = login(&service, &person, &mut nonce).await;
        assert_eq!(second.restored, Some(restored));
        assert_eq!(verify_same_log(&lost, &second, &[], &[]), Err(LogError::Restored(restored)));
        // An auditor that saw the lost seals, one that saw only seals that remain, and one that never looked.
        let told = after.passes(&data);
        let entry = format!("restored from a backup at {}", trefoil_service::time::format(restored.time));
        assert!(
            told.contains(&format!("went on at seal {}.", restored.first)) && told.contains("are lost"),
            "{told}"
        );
        let told_before = before.passes(&data);
        assert!(told_before.contains(&entry) && !told_before.contains("are lost"), "{told_before}");
        for told in [&told, &told_before] {
            assert_eq!(told.matches("restored: the log was restored").count(), round + 1, "{told}");
        }
        let strict = Auditor { head: folder.join("none"), trust_root: after.trust_root.clone() };
        assert!(strict.fails(&data, &["--no-restores"]).contains("--no-restores refuses"));
        assert!(after.audit(&data, &["--no-restores"]).status.success(), "it was told before");
    }
}

/// Claim V33.
///
/// A plain copy that is put back, and a service that runs from both directories.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_put_back_and_a_service_that_lives_twice_are_forks() {
    let service = Service::start().await;
    let [data, copy, twin, to] = ["data", "copy", "twin", "backup"].map(|name| service.file(name));
    let person = service.welcomed(1, 72).await.remove(0);
    let mut nonce = 0;
    login(&service, &person, &mut nonce).await;
    let auditor = Auditor::new("head", &service);
    make(&data, &to, service.clock.unix_s()).unwrap();
    let put = |from: &Path, to: &Path| {
        let _ = std::fs::remove_dir_all(to);
        assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
    };
    let service = service.restart_after(async |_| put(&data, &copy)).await;
    let seen = login(&service, &person, &mut nonce).await;
    auditor.passes(&data);
    // The copy in place of the directory: nothing records a restoration.
    let service = service
        .restart_after(async |_| {
            std::fs::rename(&data, &twin).unwrap();
            put(&copy, &data);
        })
        .await;
    let other = login(&service, &person, &mut nonce).await;
    assert_eq!(verify_same_log(&seen, &other, &[], &[]), Err(LogError::Forked));
    assert!(auditor.fails(&data, &[]).contains("the log has forked"));
    // A restored service, while the old directory is used too: the old one's seals after the restoration show a fork.
    let mut restored = None;
    let mut service = service
        .restart_after(async |clock| {
            std::fs::remove_dir_all(&data).unwrap();
            clock.advance(20);
            restored = Some(restore(&to, &data, clock.unix_s()).unwrap());
        })
        .await;
    open_session(&service, &person).await;
    let kept = login(&service, &person, &mut nonce).await;
    assert_eq!(verify_same_log(&seen, &kept, &[], &[]), Err(LogError::Restored(restored.unwrap())));
    assert!(auditor.passes(&data).contains("are lost"));
    service.config.server.data_dir.clone_from(&twin);
    service = service.restart().await;
    let alive = login(&service, &person, &mut nonce).await;
    let late = Auditor::new("late", &service);
    late.passes(&twin);
    assert!(late.fails(&data, &[]).contains("cut") || late.fails(&data, &[]).contains("forked"));
    assert!(
        verify_same_log(&alive, &kept, &[], &[])
            .is_err_and(|cause| cause != LogError::Restored(restored.unwrap()))
    );
}

fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Claim V31: A damaged backup, a wrong passphrase and a target that is not empty are refused with their own errors. A backup shows no
/// secret without its passphrase.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_another_passphrase_and_data_in_the_way_are_refused_by_name() {
    let service = Service::start().await;
    let [data, to, into, elsewhere] = ["data", "backup", "into", "elsewhere"].map(|name| service.file(name));
    let now = service.clock.unix_s();
    make(&data, &to, now).unwrap();
    let names: Vec<String> =
        files_of(&to).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["files.sealed", "manifest.toml", "store.sqlite.sealed", "vault.sqlite.sealed"]);
    // Without the passphrase nothing in it can be read.
    let secrets =
        ["signing.keys", "master.key", "pepper.key", "vault.key", "tls-private-key.pem", "admin.token"];
    for path in files_of(&to) {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let secret = std::fs::read(data.join(secret)).unwrap();
            assert!(!trefoil_testing::contains(&bytes, &secret[..32]), "{}", path.display());
        }
        assert!(!trefoil_testing::contains(&bytes, b"SQLite format 3"), "{}", path.display());
    }
    let both = |why: &str| {
        let checked = check(&to, &passphrase(WORDS)).unwrap_err().to_string();
        let refused = restore(&to, &into, now + 9).unwrap_err().to_string();
        assert_eq!(checked, refused);
        assert!(checked.contains(why), "{checked}");
        assert!(!into.join("store.sqlite").exists());
    };
    for path in files_of(&to) {
        let good = std::fs::read(&path).unwrap();
        let places = volume(200, 8);
        for place in 0..places {
            let mut bad = good.clone();
            let at = if place == 0 { good.len() - 1 } else { rand::rng().random_range(0..good.len()) };
            bad[at] ^= 1 << (place % 8);
            std::fs::write(&path, &bad).unwrap();
            both(path.to_str().unwrap());
        }
        std::fs::write(&path, &good[..good.len() - 1]).unwrap();
        both(path.to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        both("missing");
        std::fs::write(&path, &good).unwrap();
    }
    // Somebody without the passphrase writes a file and a matching manifest.
    let (sealed, manifest) = (to.join("store.sqlite.sealed"), to.join(MANIFEST_FILE));
    let (good, text) = (std::fs::read(&sealed).unwrap(), std::fs::read_to_string(&manifest).unwrap());
    std::fs::write(&sealed, b"forged").unwrap();
    let sha3 = |bytes: &[u8]| {
        use sha3::Digest as _;
        hex::encode(sha3::Sha3_256::digest(bytes))
    };
    let forged =
        text.replace(&sha3(&good), &sha3(b"forged")).replace(&format!("bytes = {}", good.len()), "bytes = 6");
    let body = &forged[..forged.rfind("# sha3-256 ").unwrap()];
    std::fs::write(&manifest, format!("{body}# sha3-256 {}\n", sha3(body.as_bytes()))).unwrap();
    both("the passphrase does not open it");
    std::fs::write(&sealed, &good).unwrap();
    std::fs::write(&manifest, &text).unwrap();

    let other = passphrase("correct horse batterz");
    for refused in [
        check(&to, &other).unwrap_err(),
        backup::restore(&to, &into, &other, None, now + 9, &mut |_| ()).unwrap_err(),
    ] {
        assert!(matches!(refused, BackupError::Passphrase(_)), "{refused}");
    }
    assert!(Passphrase::new(Zeroizing::new(b"short".to_vec())).is_err());
    let over = restore(&to, &data, now + 9).unwrap_err();
    assert!(matches!(over, BackupError::Over(_)), "{over}");
    assert!(matches!(make(&data, &to, now), Err(BackupError::NotEmpty(_))));
    assert!(matches!(make(&data, &data.join("backup"), now), Err(BackupError::Inside(_))));
    assert!(matches!(make(&elsewhere, &into, now), Err(BackupError::NoData(_))));
    assert!(!elsewhere.exists());
    let _ = std::fs::remove_dir(&into);
    restore(&to, &into, now + 9).unwrap();
    assert!(matches!(restore(&to, &into, now + 9), Err(BackupError::Over(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_were_rotated_after_the_backup_and_a_clock_that_is_behind_are_refused() {
    let service = Service::start().await;
    let [data, to, late] = ["data", "backup", "behind"].map(|name| service.file(name));
    let person = service.welcomed(1, 74).await.remove(0);
    login(&service, &person, &mut 0).await;
    let now = service.clock.unix_s();
    make(&data, &to, now).unwrap();
    let behind = restore(&to, &late, now).unwrap_err().to_string();
    assert!(behind.contains("clock"), "{behind}");
    let serve = words("serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir");
    program(&serve, &[&late]).output().unwrap().ends(1, "did not end");
    let with = |root: &trefoil_attest::TrustRoot, into: &str| {
        let into = service.file(into);
        backup::restore(&to, &into, &passphrase(WORDS), Some(root), now + 9, &mut |_| ())
    };
    with(&service.trust_root, "same").unwrap();
    let rotate = words("keys rotate --issuer https://auth.example --data-dir");
    program(&rotate, &[&data]).output().unwrap().done();
    let newest = std::fs::read_to_string(data.join("trust-root.json")).unwrap();
    let newest = trefoil_attest::TrustRoot::from_json(&newest).unwrap();
    let refused = with(&newest, "rotated").unwrap_err().to_string();
    assert!(
        refused.contains("rotated or revoked after the backup") && refused.contains("remove "),
        "{refused}"
    );
}

/// Kills the program at a random moment of the time that it takes, or in every other round as soon as there is something in
/// `to`; whether it was done by then.
fn killed(mut program: Command, within: Duration, to: &Path, round: usize) -> bool {
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    if round.is_multiple_of(2) {
        std::thread::sleep(within.mul_f64(rand::rng().random()));
    } else {
        while child.try_wait().unwrap().is_none() && (!to.exists() || files_of(to).is_empty()) {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    let done = child.try_wait().unwrap().is_some();
    let _ = child.kill();
    let ended = child.wait().unwrap();
    assert!(!done || ended.success());
    ended.success()
}

fn program(arguments: &[&str], paths: &[&Path]) -> Command {
    let mut program = Command::new(PROGRAM);
    program.args(arguments).args(paths).env("TREFOIL_BACKUP_PASSPHRASE", WORDS);
    program
}

/// Claim V32: A killed backup or restore leaves nothing that passes as a whole one.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_or_restore_that_is_killed_leaves_nothing_that_is_taken_for_a_whole_one() {
    let service = Service::start().await;
    let [data, good, into] = ["data", "backup", "whole"].map(|name| service.file(name));
    let person = service.welcomed(1, 75).await.remove(0);
    for _ in 0..20 {
        assert_eq!(enrol(&service, &person, Handle::new(rand::rng().random())).await, 201);
    }
    let timed = Instant::now();
    let made = program(&["backup", "--data-dir"], &[&data, &good]).output().unwrap();
    let a_backup = timed.elapsed();
    made.done();
    let timed = Instant::now();
    let restored = program(&["restore"], &[&good]).arg("--into").arg(&into).output().unwrap();
    let a_restore = timed.elapsed();
    restored.done();
    let told = restored.text();
    for lost in
        ["API keys", "operators", "tenants", "subjects", "credentials", "policies", "keys", "files", "others"]
    {
        assert!(told.contains(&format!("\n  {lost:<12}")), "{lost}: {told}");
    }
    let (mut cut_backups, mut cut_restores) = (0, 0);
    for round in 0..volume(KILLS, 6) {
        let to = service.file(&format!("backup-{round}"));
        let done = killed(program(&["backup", "--data-dir"], &[&data, &to]), a_backup, &to, round);
        let checked = program(&["backup", "--check"], &[&to]).output().unwrap();
        assert!(checked.status.success() || !done);
        if !checked.status.success() {
            cut_backups += 1;
            checked.ends(1, "manifest.toml is missing");
            let refused = program(&["restore"], &[&to]).arg("--into").arg(service.file("no")).output();
            assert!(!refused.unwrap().status.success() && !service.file("no").exists());
        }
        let _ = std::fs::remove_dir_all(&to);
        let into = service.file(&format!("into-{round}"));
        let mut restore = program(&["restore"], &[&good]);
        restore.arg("--into").arg(&into);
        let done = killed(restore, a_restore, &into, round);
        if !into.exists() || trefoil_storage::data_dir::occupant(&into).unwrap().is_none() {
            assert!(!done);
            continue;
        }
        match trefoil_storage::data_dir::DataDir::open(&into) {
            Err(refused) => {
                assert!(!done && refused.to_string().contains("did not end"), "{refused}");
                cut_restores += 1;
            }
            Ok(directory) => {
                drop(directory);
                assert!(done || !into.join("restore.unfinished").exists());
                is_a_pair(&into);
            }
        }
        std::fs::remove_dir_all(&into).unwrap();
    }
    assert!(cut_backups > 0 && cut_restores > 0, "{cut_backups}, {cut_restores}");
    println!("{cut_backups} backups and {cut_restores} restores were cut short");
}

/// Claim V34: If only a key-holder is restored, every later seal shows it.
///
/// The gateway's log is complete; only the vault is older, and every seal shows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_holder_that_is_restored_alone_is_named_by_every_seal() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data, to) =
        (folder.path().join("keys"), folder.path().join("data"), folder.path().join("backup"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    let service = Service::new(key_holder.config(&data)).await;
    let person = service.welcomed(1, 76).await.remove(0);
    let mut nonce = 0;
    let auditor = Auditor::new("head", &service);
    assert_eq!(login(&service, &person, &mut nonce).await.vaults[0].unwrap().restored, 0);
    let backup = |more: &[&str], last: &Path| {
        program(&["key-holder"], &[]).args(more).arg(last).output().unwrap().done()
    };
    backup(&["backup", "--data-dir", keys.to_str().unwrap()], &to);
    let told = backup(&["backup", "--check"], &to);
    let made = told.lines().find_map(|line| line.strip_prefix("made at      ")?.split_once(", by version "));
    assert!(
        made.is_some_and(|(at, _)| at.ends_with('Z') && trefoil_service::time::parse(at).is_ok()),
        "{told}"
    );
    let gateways = make(&keys, &folder.path().join("other"), service.clock.unix_s()).unwrap_err();
    assert!(gateways.to_string().contains("trefoil key-holder backup"), "{gateways}");
    let other: [u8; 32] = rand::rng().random();
    assert_eq!(enrol(&service, &person, Handle::new(other)).await, 201);
    login(&service, &person, &mut nonce).await;
    auditor.passes(&data);
    key_holder.kill();
    std::fs::remove_dir_all(&keys).unwrap();
    backup(&["restore", to.to_str().unwrap(), "--into"], &keys);
    key_holder.again();
    wait_for(&service, 200).await;
    let sealed = login_when_seen(&service, &person, &mut nonce).await;
    assert_eq!((sealed.vaults[0].unwrap().restored, sealed.restored), (1, None), "the log was not restored");
    let told = auditor.passes(&data);
    assert!(told.contains("an older copy of the vault of key-holder 1 was taken, 1 times in all"), "{told}");
    assert!(!told.contains("restored: "), "{told}");
    trefoil_key_holder::job_log::read(&keys, &mut |_, _| ()).unwrap();
}

/// The first seal that shows a restored vault: the gateway looks once a second.
async fn login_when_seen(service: &Service, person: &Person, nonce: &mut u64) -> SealHeader {
    loop {
        wait_for(service, 200).await;
        let sealed = login(service, person, nonce).await;
        if sealed.vaults[0].is_some_and(|vault| vault.restored > 0) {
            return sealed;
        }
    }
}
