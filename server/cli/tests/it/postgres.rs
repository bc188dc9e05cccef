//! A service whose store is in PostgreSQL.

use crate::http::{Endpoint, Reply};
use crate::key_holder_process::{KeyHolder, listen};
use crate::nodes::copied;
use crate::program::Program;
use crate::service::{self, Customer, Person, Service, TestClock, answer, templates_path};
use hyper::Method;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trefoil_api::Decision;
use trefoil_attest::Seal;
use trefoil_pipeline::Clock;
use trefoil_server::config::{Config, DatabaseUrl};
use trefoil_server::server::{Server as Trefoil, StartError};
use trefoil_testing::postgres::Server;

/// How soon a request is refused while the database is away, and how soon it is found again.
const REFUSED_WITHIN: Duration = Duration::from_secs(2);
const BACK_WITHIN: Duration = Duration::from_secs(5);

fn config(data: &Path, url: &str) -> Config {
    let mut config = service::config(data);
    config.store.url = DatabaseUrl(url.to_owned());
    config.store.timeout_ms = 10_000;
    config
}

async fn login(service: &Service, person: &Person, nonce: u64) -> Reply {
    service.authenticate(&service.request(person, &person.face, nonce)).await
}

/// Claim V90.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_postgresql_survives_a_restart_and_its_log_stays_one_chain() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let config = config(&folder.path().join("data"), &url);
    let service = Service::new(config.clone()).await;
    let people = service.people(3, 1, 21).await;
    for person in &people {
        service.welcome(person).await;
    }
    let first = answer(&login(&service, &people[0], 1).await);
    let denied = service.authenticate(&service.request(&people[0], &people[1].face, 2)).await;
    assert_eq!((first.decision, answer(&denied).decision), (Decision::Match, Decision::NoMatch));
    let path = format!("/v1/subjects/{}/revoke", hex::encode(people[1].handle));
    let revoked = service.public.send(Method::POST, &path, &[], "").await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    let gone = service.public.send(Method::DELETE, &templates_path(&people[2]), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert!(!folder.path().join("data/store.sqlite").exists());

    let service = service.restart(config).await;
    let second = answer(&login(&service, &people[0], 3).await);
    assert_eq!(second.decision, Decision::Match);
    assert!(second.seal_number > first.seal_number);
    for (nonce, person) in (4..).zip(&people[1..]) {
        let refused = login(&service, person, nonce).await;
        assert!([404, 410].contains(&refused.status.as_u16()), "{}", refused.text());
    }
    is_one_chain(&service.public, second.seal_number).await;
    assert!(service.server.shutdown().await);
}

/// Every seal up to this one names the one before it.
pub(crate) async fn is_one_chain(public: &Endpoint, newest: u64) {
    let mut previous = None;
    for number in 0..=newest {
        let reply = public.get(&format!("/v1/seals/{number}")).await;
        assert_eq!(reply.status, 200, "seal {number}: {}", reply.text());
        let header = Seal::decode(&reply.body).unwrap().header;
        assert_eq!(header.seal_number, number);
        assert!(previous.is_none_or(|digest| digest == header.previous), "seal {number}");
        previous = Some(header.digest());
    }
}

/// Sends a request of each kind, and asserts that each is refused in time.
async fn all_are_refused(service: &Service, person: &Person, nonce: u64) {
    let first = Instant::now();
    let begun = Instant::now();
    let refused = login(service, person, nonce).await;
    assert!(begun.elapsed() < REFUSED_WITHIN, "a login: {:?}", begun.elapsed());
    let code = refused.json()["code"].as_str().unwrap_or_default().to_owned();
    assert!(
        refused.status == 503 && ["unsealed", "store-unavailable"].contains(&code.as_str()),
        "{}",
        refused.text()
    );
    let begun = Instant::now();
    service.enrol(person, &format!("again-{nonce}")).await.problem(503, "store-unavailable");
    assert!(begun.elapsed() < REFUSED_WITHIN, "an enrolment: {:?}", begun.elapsed());
    let begun = Instant::now();
    let deleted = service.public.send(Method::DELETE, &templates_path(person), &[], "").await;
    deleted.problem(503, "store-unavailable");
    assert!(begun.elapsed() < REFUSED_WITHIN, "an erasure: {:?}", begun.elapsed());
    // Of three nodes, one that was asked nothing sees it when it looks by itself.
    loop {
        let ready = service.admin.get("/readyz").await;
        if ready.status == 503 {
            return;
        }
        assert!(first.elapsed() < REFUSED_WITHIN, "{}", ready.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Claim V92: A PostgreSQL server that is stopped, killed or frozen costs 503 within 2 s, and the service finds it again within 5 s, with
/// one log and no write lost or doubled. So does each of three nodes. An enrolment whose commit came after its 503 is there for the
/// repetition, and its subject logs in.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_stopped_or_frozen_is_503_in_2_s_and_back_within_5_s() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let mut config = config(&folder.path().join("data"), &url);
    config.store.timeout_ms = 1_000;
    // On three nodes the register begins anew, and refuses the requests of the time before: a clock that stands would not get past it.
    let tenant = json!({"name": "shop", "policy": service::policy()});
    let service = Service::at(config, tenant, TestClock::of_machine()).await;
    let people = service.people(2, 1, 22).await;
    for person in &people {
        service.welcome(person).await;
    }
    let mut newest = answer(&login(&service, &people[0], 1).await).seal_number;
    for (round, how) in ["fast", "immediate", "frozen"].into_iter().enumerate() {
        let nonce = 100 * (round as u64 + 1);
        match how {
            "frozen" => server.freeze(true),
            how => server.stop(how),
        }
        all_are_refused(&service, &people[1], nonce).await;
        all_are_refused(&service, &people[1], nonce + 1).await;
        match how {
            "frozen" => server.freeze(false),
            _ => server.go(),
        }
        let begun = Instant::now();
        // Who is enrolled is refused with another code than one of the database.
        while service.enrol(&people[1], &format!("back-{nonce}")).await.status == 503 {
            assert!(begun.elapsed() < BACK_WITHIN, "{how}: no change");
        }
        let reply = loop {
            let reply = login(&service, &people[0], nonce + 10 + begun.elapsed().as_millis() as u64).await;
            if reply.status == 200 {
                break reply;
            }
            assert!(begun.elapsed() < BACK_WITHIN, "{how}: {}", reply.text());
        };
        let answer = answer(&reply);
        assert!(answer.decision == Decision::Match && answer.seal_number > newest, "{how}");
        newest = answer.seal_number;
        assert_eq!(service.admin.get("/readyz").await.status, 200);
    }
    is_one_chain(&service.public, newest).await;
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_node_is_refused_by_name_and_so_is_another_store_for_the_same_keys() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let clock = Arc::new(TestClock::default());
    let data = folder.path().join("data");
    let first = service::start(config(&data, &url), &clock).await;
    let start = async |config: Config| {
        Trefoil::start(config, Arc::clone(&clock) as Arc<dyn Clock>).await.err().expect("it is refused")
    };
    let refused = start(config(&folder.path().join("other"), &url)).await;
    let told = refused.to_string();
    assert!(matches!(refused, StartError::Database(_)), "{told}");
    let name = url.split(['/', '?']).nth(3).unwrap();
    assert!(told.contains(&format!("/{name} is in use by another process (server process ")), "{told}");
    assert!(
        !folder.path().join("other/master.key").exists(),
        "no keys are made for a database that it cannot use"
    );
    assert!(first.shutdown().await);

    let refused = start(config(&folder.path().join("other"), &url)).await.to_string();
    assert!(refused.contains("the database belongs to another installation"), "{refused}");
    assert!(refused.contains("`trefoil keys add-node") && !refused.contains("--store-restored"), "{refused}");
    let mut plain = config(&data, "");
    plain.store.url = DatabaseUrl(String::new());
    let refused = start(plain).await.to_string();
    assert!(refused.contains("is in a PostgreSQL database: start with --store"), "{refused}");
    let file = folder.path().join("file");
    let mut plain = service::config(&file);
    plain.store.url = DatabaseUrl(String::new());
    assert!(service::start(plain, &clock).await.shutdown().await);
    let refused = start(config(&file, &url)).await.to_string();
    assert!(refused.contains("is in its file store.sqlite: start without --store"), "{refused}");
}

/// Claim V92.
///
/// The commit comes after the caller was told that the database gave no answer. The caller repeats the request with its key.
#[tokio::test(flavor = "multi_thread")]
async fn an_enrolment_whose_commit_came_late_is_there_and_its_subject_logs_in() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let mut config = config(&folder.path().join("data"), &url);
    config.store.timeout_ms = 1_000;
    let service = Service::new(config).await;
    let people = service.people(1, 1, 24).await;
    assert_eq!(service.prove(&people[0]).await.status, 201);
    server.sql(
        &name,
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END $$;
         CREATE TRIGGER late BEFORE INSERT ON templates FOR EACH ROW EXECUTE FUNCTION late();
         CREATE TRIGGER late BEFORE INSERT ON idempotency FOR EACH ROW EXECUTE FUNCTION late();",
    );
    service.enrol(&people[0], "key").await.problem(503, "store-unavailable");
    // Waits for the transaction, which has both locks.
    server.sql(&name, "DROP TRIGGER late ON templates; DROP TRIGGER late ON idempotency;");
    assert_eq!(server.sql(&name, "SELECT count(*) FROM templates"), "1", "it was stored");
    assert_eq!(server.sql(&name, "SELECT count(*) FROM leftovers"), "0", "nothing will be forgotten");
    let again = service.enrol(&people[0], "key").await;
    assert_eq!(again.status, 201, "{}", again.text());
    assert_eq!(answer(&login(&service, &people[0], 1).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}

/// What erasing means there: the rows are gone at once, and the bytes with VACUUM FULL.
#[tokio::test(flavor = "multi_thread")]
async fn erased_bytes_are_gone_from_the_tables_after_a_vacuum() {
    let Some(server) = Server::start(&[]) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let service = Service::new(config(&folder.path().join("data"), &url)).await;
    let people = service.people(2, 1, 23).await;
    for person in &people {
        service.welcome(person).await;
    }
    let handle = hex::encode(people[0].handle);
    let wrapped = format!("SELECT encode(wrapped_key, 'hex') FROM templates WHERE handle = '\\x{handle}'");
    let mark = hex::decode(server.sql(&name, &wrapped)).unwrap();
    assert_eq!(mark.len(), 60);
    let base = server.data().join("base");
    let is_there = || {
        server.sql(&name, "CHECKPOINT");
        let folders = std::fs::read_dir(&base).unwrap().map(|entry| entry.unwrap().path());
        let files =
            folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
        files
            .filter_map(|file| std::fs::read(file).ok())
            .any(|bytes| trefoil_testing::contains(&bytes, &mark))
    };
    assert!(is_there());
    let gone = service.public.send(Method::DELETE, &templates_path(&people[0]), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert_eq!(server.sql(&name, &wrapped), "", "no query returns it any more");
    server.sql(&name, "VACUUM FULL templates");
    server.sql(&name, "VACUUM FULL template_bytes");
    assert!(!is_there(), "a dead row was kept");
    assert_eq!(answer(&login(&service, &people[1], 7).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_takes_the_store_as_a_flag_and_its_commands_know_where_it_is() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let data = folder.path().join("data");
    let variables = [("TREFOIL_STORE_URL", url.as_str()), ("TREFOIL_STORE_TIMEOUT_MS", "10000")];
    let program = Program::start(&data, std::process::Stdio::null(), &variables);
    program.serves(3).await;
    let trefoil = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_trefoil"))
            .args(arguments)
            .arg("--data-dir")
            .arg(&data)
            .env("TREFOIL_BACKUP_PASSPHRASE", "correct horse battery staple")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), text)
    };
    let (_, told) = trefoil(&["doctor", "--store", &url]);
    assert!(told.contains("in use by server process") && told.contains("newest seal"), "{told}");
    assert!(told.contains("database-rights") && told.contains("is a superuser"), "{told}");
    let (_, told) = trefoil(&["doctor"]);
    assert!(
        told.contains("keeps its store in PostgreSQL") && told.contains("give --config, or --store"),
        "{told}"
    );
    assert!(program.terminate().success());
    let (code, told) = trefoil(&["serve", "--store", &url, "--store-restored", "--listen", "127.0.0.1:0"]);
    assert!(code == Some(1) && told.contains("nothing was restored. Start without"), "{told}");
    let name = url.split(['/', '?']).nth(3).unwrap();
    server.sql(name, "UPDATE node SET generation = generation - 1");
    let (code, told) = trefoil(&["doctor", "--store", &url]);
    assert!(code == Some(2) && told.contains("start-refused") && told.contains("does not vouch"), "{told}");
    let elsewhere = url.replace(name, "nowhere");
    let (_, told) = trefoil(&["serve", "--store", &elsewhere, "--listen", "127.0.0.1:0"]);
    assert!(
        told.contains("\"nowhere\" does not exist") && told.contains("create it, see FLEET.md"),
        "{told}"
    );
    let backup = folder.path().join("backup").display().to_string();
    let (code, told) = trefoil(&["backup", &backup]);
    assert!(code == Some(1) && told.contains("PostgreSQL's tools") && told.contains("FLEET.md"), "{told}");
    let (code, told) = trefoil(&[
        "serve",
        "--store",
        "postgres://u:secret@db.example/d?sslmode=require",
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_ne!(code, Some(0), "{told}");
    assert!(told.contains("use verify-full") && !told.contains("secret"), "{told}");
    let (code, told) = trefoil(&["serve", "--store", "postgres://u:secret@db.example/d", "--print-config"]);
    assert!(
        code == Some(0) && told.contains("postgres://u:***@db.example/d") && !told.contains("secret"),
        "{told}"
    );
}

/// Claim V90.
///
/// A node that is killed while it writes has lost nothing that it acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_loses_no_acknowledged_write() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let data = folder.path().join("data");
    let variables = [("TREFOIL_STORE_URL", url.as_str()), ("TREFOIL_STORE_TIMEOUT_MS", "10000")];
    let mut acknowledged = 0;
    for round in 0..trefoil_testing::volume(100, 3) {
        let mut program = Program::start(&data, std::process::Stdio::null(), &variables);
        let admin = program.admin.clone();
        let policy =
            json!({"embedder": "facenet-128", "threshold": {"fmr_class": 3}, "audiences": ["a.example"]});
        let tenant = json!({"name": "t", "policy": policy}).to_string();
        let create =
            async || admin.try_send(Method::POST, "/v1/tenants", &[], tenant.clone().into_bytes()).await;
        // At least one is answered, however busy the machine is.
        assert_eq!(create().await.unwrap().status, 201);
        let creating = async {
            let mut made = 1;
            while let Ok(reply) = create().await {
                assert_eq!(reply.status, 201, "{}", reply.text());
                made += 1;
            }
            made
        };
        let killing = async {
            tokio::time::sleep(Duration::from_millis(300 + 97 * (round as u64 % 7))).await;
            program.kill();
        };
        let (made, ()) = tokio::join!(creating, killing);
        acknowledged += made;
        let stored: usize = server.sql(&name, "SELECT count(*) FROM tenants").parse().unwrap();
        assert!(stored >= acknowledged, "round {round}: {stored} of {acknowledged}");
        // Those that were stored and whose answer was lost count from here on.
        acknowledged = stored;
    }
    let program = Program::start(&data, std::process::Stdio::null(), &variables);
    let audit: usize = server.sql(&name, "SELECT count(*) FROM audit").parse().unwrap();
    assert!(audit >= acknowledged, "each with its entry in the audit trail");
    program.serves(1).await;
    assert!(program.terminate().success());
}

/// A login with the machine's clock, by which the programs go.
async fn login_now(customer: &mut Customer, person: &Person, nonce: u64) -> Reply {
    customer.clock = Arc::new(TestClock::of_machine());
    customer.authenticate(&customer.request(person, &person.face, nonce)).await
}

/// Claim V94: A process that stands by serves only after the one before it has ended, and then goes on with all that was acknowledged: its
/// sessions, its one log, and no nonce accepted twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_over_with_all_that_was_acknowledged_sessions_and_one_log() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let (vault, one, two) =
        (folder.path().join("vault"), folder.path().join("one"), folder.path().join("two"));
    let address = listen();
    KeyHolder::init(&vault, &one, &address);
    let key_holder = KeyHolder::start(&vault, &address);
    let variables = [
        ("TREFOIL_STORE_URL", url.as_str()),
        ("TREFOIL_STORE_TIMEOUT_MS", "10000"),
        ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
    ];
    let mut first = Program::start(&one, std::process::Stdio::null(), &variables);
    let (public, admin) = (first.public.clone(), first.admin.clone());
    let tenant = json!({"name": "shop", "policy": service::policy()});
    let mut customer = Customer::new(public, admin, Arc::new(TestClock::of_machine()), tenant).await;
    let people = customer.people(2, 1, 24).await;
    customer.welcome(&people[0]).await;
    copied(&one, &two);

    let own: Vec<(String, String)> = variables
        .iter()
        .chain(&[("TREFOIL_STORE_STANDBY", "true")])
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let log = folder.path().join("two.log");
    let written = std::fs::File::create(&log).unwrap();
    let waiting = tokio::task::spawn_blocking(move || {
        let own: Vec<_> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Program::start(&two, written, &own)
    });
    while !std::fs::read_to_string(&log).unwrap().contains("stands by") {
        assert!(!waiting.is_finished(), "it did not wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // What happens at the first node while the second one waits.
    customer.welcome(&people[1]).await;
    let replayed = customer.request(&people[0], &people[0].face, 1);
    let before = answer(&customer.authenticate(&replayed).await);
    assert_eq!(before.decision, Decision::Match);
    assert!(!waiting.is_finished(), "two nodes at once");

    first.kill();
    let second = waiting.await.unwrap();
    customer.moved((second.public.clone(), second.admin.clone()));
    assert_ne!(customer.authenticate(&replayed).await.status, 200, "a nonce was accepted twice");
    let begun = Instant::now();
    // Requests that the first node may have attested are refused for some seconds.
    let after = loop {
        let reply = login_now(&mut customer, &people[1], 2 + begun.elapsed().as_millis() as u64).await;
        if reply.status == 200 {
            break answer(&reply);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", reply.text());
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(after.decision, Decision::Match, "with a session that was opened at the first node");
    assert!(after.seal_number > before.seal_number);
    assert_ne!(customer.authenticate(&replayed).await.status, 200, "a nonce was accepted twice");
    is_one_chain(&customer.public, after.seal_number).await;

    // A third process that stands by ends at a signal.
    let third = folder.path().join("three");
    copied(&folder.path().join("two"), &third);
    let log = folder.path().join("three.log");
    let mut child = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args([
            "serve",
            "--standby",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
            "--data-dir",
        ])
        .arg(&third)
        .envs(variables)
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    while !std::fs::read_to_string(&log).unwrap().contains("stands by") {
        assert!(child.try_wait().unwrap().is_none(), "it did not wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(second.terminate().success());
}
