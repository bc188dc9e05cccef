//! Attested matches, looked for in the job logs of the key-holders that decided them.

use crate::key_holder::wait_for;
use crate::key_holder_process::{lax, trefoil as of_key_holder};
use crate::quorum::{self, Three};
use crate::service::{unlimited, unproven};
use crate::unproven::{Application, face};
use crate::world::*;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Account, Attestation, BatchId, LogEntry, SealHeader, Statement, TenantId, statement_digest,
};
use trefoil_host::identity::Identity;
use trefoil_key_holder::{Bounds, Remote};
use trefoil_matching::KeyHolding as _;
use trefoil_pipeline::ChainHead;
use trefoil_service::keys::signing_keys::{self, Source};
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::DataDir;
use trefoil_testing::copy;

const PEOPLE: u8 = 8;
/// Seconds by which the clocks may differ.
const SKEW: i64 = 60;

const FIRST_FILE: &str = "jobs-0000000000000000.log";

/// What an auditor gets of a service.
struct Evidence {
    data: PathBuf,
    root: PathBuf,
    /// Attestations.
    kept: PathBuf,
}

/// A gateway, and the attestations that its relying party keeps.
struct Shop {
    service: Service,
    app: Application,
    evidence: Evidence,
    nonce: u64,
}

impl Shop {
    /// Its clock is as far behind as it may be once it was restarted, so that no match is later than a log.
    async fn new(config: Config) -> Shop {
        let clock = TestClock::going_on();
        clock.step(-SKEW - 10);
        let service = Service::at(config, policy(), clock).await;
        let app = Application::new(&service, with(unproven(), "attempts", unlimited())).await;
        for handle in 1..=PEOPLE {
            app.enrol(handle, &face(handle.into())).await;
        }
        let (data, root, kept) = (service.data(), service.server.trust_root_path(), service.file("kept"));
        std::fs::create_dir(&kept).unwrap();
        Shop { service, app, evidence: Evidence { data, root, kept }, nonce: 0 }
    }

    /// Keeps the attestations of so many logins, each with the own face.
    async fn logins(&mut self, count: usize) {
        wait_for(&self.service, 200).await;
        let nonces: Vec<u64> = (0..count as u64).map(|nonce| self.nonce + nonce).collect();
        self.nonce += count as u64;
        for nonces in nonces.chunks(64) {
            join_all(nonces.iter().map(async |&nonce| {
                let handle = 1 + (nonce % u64::from(PEOPLE)) as u8;
                let own = face(handle.into());
                let mut replies = (0..).map(async |again| {
                    let mut request = self.app.request(handle, &own, nonce + (again << 32));
                    if nonce % 50 != 0 {
                        request.attestation = AttestationForm::Compact;
                    }
                    self.app.send(&request).await
                });
                let answer = loop {
                    let reply = replies.next().unwrap().await;
                    // A connection to a key-holder that was killed may be noticed only by its use.
                    if reply.status != 503 {
                        break reply.matches();
                    }
                };
                self.evidence.keep(&nonce.to_string(), &answer.attestation.unwrap().0);
            }))
            .await;
        }
    }

    async fn restart(self) -> Shop {
        let Shop { service, mut app, evidence, nonce } = self;
        let service = service.restart().await;
        app.public = Endpoint { bearer: app.public.bearer.clone(), ..service.public.clone() };
        Shop { service, app, evidence, nonce }
    }

    async fn closed(self) -> Evidence {
        assert!(self.service.server.shutdown().await);
        self.evidence
    }
}

impl Evidence {
    fn keep(&self, name: &str, attestation: &[u8]) {
        std::fs::write(self.kept.join(name), attestation).unwrap();
    }

    /// Audits with these job logs.
    fn audit(&self, logs: &[&Path]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        program.args(["log", "audit", "--data-dir"]).arg(&self.data).arg("--trust-root").arg(&self.root);
        program.arg("--attestations").arg(&self.kept);
        program.args(logs.iter().flat_map(|log| [Path::new("--jobs"), log]));
        program.output().unwrap()
    }

    /// What a service that was taken over states under one more seal of its log: with its own keys, and without a job.
    fn forge(&self, statements: &[Statement<'_>]) -> Vec<Vec<u8>> {
        let directory = DataDir::open(&self.data).unwrap();
        let source = Source::of_process(Path::new(""));
        let mut keys = signing_keys::open(&directory, statements[0].issuer, &source).unwrap().keys;
        let store = rusqlite::Connection::open(self.data.join("store.sqlite")).unwrap();
        let mut rows = store.prepare("SELECT bytes FROM seals ORDER BY number").unwrap();
        let seals = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        let headers: Vec<SealHeader> =
            seals.map(|seal| LogEntry::decode(&seal.unwrap()).unwrap().header().clone()).collect();
        let mut head = ChainHead::GENESIS;
        headers.iter().for_each(|header| head.follow(header));
        let statements: Vec<Vec<u8>> = statements.iter().map(|one| one.encode().unwrap()).collect();
        let digests: Vec<[u8; 32]> = statements.iter().map(|one| statement_digest(one)).collect();
        let tree = MerkleTree::new(&digests).unwrap();
        let header = SealHeader {
            seal_number: head.next_number(),
            previous: head.previous,
            log_root: head.log.root(),
            tree_size: tree.size(),
            root: tree.root(),
            ..headers.last().unwrap().clone()
        };
        let (number, seal) = (header.seal_number, keys.sign_seal(header, &mut rand::rng()).unwrap());
        store.execute("INSERT INTO seals (number, bytes) VALUES (?, ?)", (number, seal.encode())).unwrap();
        (0..)
            .zip(&statements)
            .map(|(leaf, one)| seal.attestation(one, leaf, &tree.path(leaf).unwrap()))
            .collect()
    }

    /// Keeps made-up matches, each like an honest one but for a thing, and checks that audits name them and no other.
    fn names_what_is_made_up(&self, logs: &[&[&Path]]) {
        let honest = std::fs::read(self.kept.join("1")).unwrap();
        let honest = Statement::decode(Attestation::decode(&honest).unwrap().statement).unwrap();
        // The earliest time for which the logs can tell.
        let log = std::fs::read_to_string(logs[0][0].join(FIRST_FILE)).unwrap();
        let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let issued_at = first["at"].as_u64().unwrap() - SKEW.cast_unsigned();
        let honest = Statement { issued_at, expires_at: issued_at + 60, ..honest };
        let account = Account::new([0xac; 32]);
        let made_up = [
            Statement { batch_id: BatchId::new([1; 16]), request_digest: [2; 32], account, ..honest.clone() },
            Statement { batch_id: BatchId::new([3; 16]), ..honest.clone() },
            Statement { request_digest: [4; 32], ..honest.clone() },
            Statement { account, place: 31 - honest.place, ..honest.clone() },
            Statement { tenant: TenantId::new([6; 16]), ..honest.clone() },
            Statement { nonce: &[7; 32], ..honest.clone() },
        ];
        for (number, attestation) in (1..).zip(self.forge(&made_up)) {
            self.keep(&format!("made-up-{number}"), &attestation);
        }
        for logs in logs {
            let told = self.audit(logs).ends(1, "6 attested matches were decided by no key-holder");
            for number in 1..=made_up.len() {
                let named =
                    format!("NOT DECIDED {}: cti ", self.kept.join(format!("made-up-{number}")).display());
                assert_eq!(told.matches(&named).count(), 1, "{told}");
            }
            assert!(told.contains(&format!("account {}", "ac".repeat(32))), "{told}");
        }
    }
}

fn start(keys: &Path, listen: &str) -> KeyHolder {
    KeyHolder::run(lax(&mut of_key_holder(&["key-holder"], keys, listen)))
}

/// Asks it so many times for its status, each of which is a line of its log.
fn ask(keys: &Path, key_holder: &KeyHolder, times: usize) {
    let file = |what: &str| keys.join(format!("operator-{what}.pem"));
    let operator = Identity::read(&file("certificate"), &file("private-key")).unwrap();
    let (patience, address) = (Duration::from_secs(60), key_holder.url().parse().unwrap());
    let bounds = Bounds { timeout: patience, connections: 1 };
    let remote = Remote::start(&Supervisor::default(), address, operator, bounds, None).unwrap();
    remote.wait_until_ready(Instant::now() + patience).unwrap();
    (0..times).for_each(|_| drop(remote.status().unwrap()));
}

/// Claim V180: An attested match that no key-holder decided is named by an audit with the key-holder's job log, whatever the service signs. Honest matches
/// are all there, also after restarts, and those that a restoration of the key-holder lost are counted as such.
#[tokio::test(flavor = "multi_thread")]
async fn a_match_that_the_key_holder_did_not_decide_is_named_and_honest_ones_are_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let [keys, data, backup, older, other] =
        ["keys", "data", "backup", "older", "other"].map(|name| folder.path().join(name));
    let (listen, elsewhere) = (listen(), listen());
    KeyHolder::init(&keys, &data, &listen);
    let mut key_holder = start(&keys, &listen);
    ask(&keys, &key_holder, 1);
    let mut config = service::config(&data);
    key_holder.url().clone_into(&mut config.key_holder.url);
    config.key_holder.timeout_ms = 60_000;
    let mut shop = Shop::new(config).await;
    let part = volume(100_000, 320) / 4;
    shop.logins(part).await;
    key_holder.kill();
    copy(&keys, &older);
    key_holder = start(&keys, &listen);
    shop.logins(part).await;
    let mut shop = shop.restart().await;
    shop.logins(part).await;
    let denied = shop.app.send(&shop.app.request(1, &face(99), u64::MAX)).await;
    shop.evidence.keep("denied", &answer(&denied).attestation.unwrap().0);

    let program = |command: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_trefoil"))
            .args(command)
            .env("TREFOIL_BACKUP_PASSPHRASE", "a passphrase")
            .output();
        done.unwrap().done()
    };
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    program(&["key-holder", "backup", "--data-dir", &path(&keys), &path(&backup)]);
    shop.logins(8).await;
    key_holder.kill();
    std::fs::remove_dir_all(&keys).unwrap();
    program(&["key-holder", "restore", &path(&backup), "--into", &path(&keys)]);
    key_holder = start(&keys, &listen);
    shop.logins(part).await;
    key_holder.stop();
    let evidence = shop.closed().await;
    let told =
        evidence.audit(&[&keys]).ends(0, &format!("{} attested matches are in the job logs", 4 * part));
    assert!(told.contains("8 attested matches are of a time that a job log lost"), "{told}");
    assert!(told.contains("of key-holder 1, "), "{told}");

    // Logs that are not this one.
    let log = |name: &str, change: &dyn Fn(&Path)| {
        let copied = folder.path().join(name);
        copy(&keys, &copied);
        change(&copied);
        evidence.audit(&[&copied])
    };
    let edit = |directory: &Path, name: &str, edit: &dyn Fn(&str) -> String| {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        let edited = edit(&text);
        assert_ne!(text, edited);
        std::fs::write(directory.join(name), edited).unwrap();
    };
    let lines = |text: &str, count: usize| text.split_inclusive('\n').take(count).collect::<String>();
    log("cut", &|at| edit(at, FIRST_FILE, &|text| lines(text, text.lines().count() - 1)))
        .ends(1, "the log was cut or replaced");
    log("edited", &|at| edit(at, FIRST_FILE, &|text| text.replacen("\"lanes\":", "\"lanes\":1", 1)))
        .ends(1, "it does not follow from the line before");
    log("resigned", &|at| edit(at, "jobs.head", &|text| text.replacen("\"lines\":", "\"lines\":1", 1)))
        .ends(1, "its signature does not verify");
    log("unsigned", &|at| std::fs::remove_file(at.join("jobs.head")).unwrap())
        .ends(3, "has no job log with a signed head");
    // Another key-holder's.
    KeyHolder::init(&other, &folder.path().join("gateway"), &elsewhere);
    let mut stranger = start(&other, &elsewhere);
    ask(&other, &stranger, 1);
    stranger.stop();
    evidence.audit(&[&other]).ends(1, "no head that the seals show is in this log");
    // An older copy that went on by itself.
    let mut fork = start(&older, &elsewhere);
    // Beyond the next head that the gateway saw, at its busiest.
    ask(&older, &fork, 1000);
    fork.stop();
    evidence.audit(&[&older]).ends(1, "the log has forked: seal ");

    evidence.names_what_is_made_up(&[&[&keys]]);
}

/// Claim V180.
#[tokio::test(flavor = "multi_thread")]
async fn of_three_key_holders_two_logs_name_a_match_that_was_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut three = Three::beside(&data, quorum::start_lax);
    let mut shop = Shop::new(three.config(&data)).await.restart().await;
    shop.logins(24).await;
    three.holders[1].kill();
    shop.logins(24).await;
    three.back(1);
    shop.logins(24).await;
    three.holders.iter_mut().for_each(KeyHolder::stop);
    let evidence = shop.closed().await;
    let [one, two, last] = ["1", "2", "3"].map(|seat| folder.path().join("three").join(seat));
    for logs in [&[&one, &two, &last][..], &[&last, &two], &[&one, &two]] {
        let logs: Vec<&Path> = logs.iter().map(|log| log.as_path()).collect();
        evidence.audit(&logs).ends(0, "72 attested matches are in the job logs");
    }
    let told = evidence.audit(&[&two, &last]).ends(0, "of key-holder 2, ");
    assert!(told.contains("of key-holder 3, "), "{told}");
    evidence.audit(&[&one]).ends(3, "give two or three different job logs");
    evidence.audit(&[&one, &one]).ends(3, "give two or three different job logs");
    evidence.names_what_is_made_up(&[&[&one, &two, &last], &[&last, &one]]);
}

/// The key-holder in a service's process keeps no log.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_holder_apart_there_is_no_job_log_and_an_audit_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = Shop::new(service::config(&folder.path().join("data"))).await;
    shop.logins(8).await;
    let (keys, listen) = (folder.path().join("keys"), listen());
    KeyHolder::init(&keys, &folder.path().join("gateway"), &listen);
    let mut key_holder = start(&keys, &listen);
    ask(&keys, &key_holder, 1);
    key_holder.stop();
    let evidence = shop.closed().await;
    evidence.audit(&[&keys]).ends(3, "the key-holder is in the service's process, where none is kept");
    evidence.audit(&[]).ends(2, "--jobs");
}
