//! A service whose store is in PostgreSQL.

use crate::nodes::copied;
use crate::world::*;
use trefoil_attest::Seal;
use trefoil_pipeline::Clock;
use trefoil_server::config::DatabaseUrl;
use trefoil_server::server::{Server as Trefoil, StartError};
use trefoil_testing::postgres::Server;

fn config(data: &Path, url: &str) -> Config {
    let mut config = service::config(data);
    config.store.url = DatabaseUrl(url.to_owned());
    config.store.timeout_ms = 10_000;
    config
}

async fn login(service: &Service, person: &Person, nonce: u64) -> Reply {
    service.login(person, &person.face, nonce).await
}

/// Claim V90.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_postgresql_survives_a_restart_and_its_log_stays_one_chain() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let config = config(&folder.path().join("data"), &url);
    let service = Service::new(config.clone()).await;
    let people = service.welcomed(3, 21).await;
    let first = answer(&login(&service, &people[0], 1).await);
    let denied = service.login(&people[0], &people[1].face, 2).await;
    assert_eq!((first.decision, answer(&denied).decision), (Decision::Match, Decision::NoMatch));
    let path = format!("/v1/subjects/{}/revoke", hex::encode(people[1].handle));
    service.public.send(Method::POST, &path, &[], "").await.is(200);
    service.public.delete(&templates_path(&people[2])).await.is(200);
    assert!(!folder.path().join("data/store.sqlite").exists());

    let service = service.restart().await;
    let second = answer(&login(&service, &people[0], 3).await);
    assert_eq!(second.decision, Decision::Match);
    assert!(second.seal_number > first.seal_number);
    for (nonce, person) in (4..).zip(&people[1..]) {
        let refused = login(&service, person, nonce).await;
        assert!([404, 410].contains(&refused.status.as_u16()), "{}", refused.text());
    }
    is_one_chain(&service.public, second.seal_number).await;
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
    service.prove(&people[0]).await.is(201);
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
    service.enrol(&people[0], "key").await.is(201);
    login(&service, &people[0], 1).await.matches();
}

/// What erasing means there: the rows are gone at once, and the bytes with VACUUM FULL.
#[tokio::test(flavor = "multi_thread")]
async fn erased_bytes_are_gone_from_the_tables_after_a_vacuum() {
    let Some(server) = Server::start(&[]) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let service = Service::new(config(&folder.path().join("data"), &url)).await;
    let people = service.welcomed(2, 23).await;
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
    service.public.delete(&templates_path(&people[0])).await.is(200);
    assert_eq!(server.sql(&name, &wrapped), "", "no query returns it any more");
    server.sql(&name, "VACUUM FULL templates");
    server.sql(&name, "VACUUM FULL template_bytes");
    assert!(!is_there(), "a dead row was kept");
    login(&service, &people[1], 7).await.matches();
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
        let text = output.text();
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
    let unproven = "serve --store postgres://u:secret@db.example/d?sslmode=require --listen 127.0.0.1:0";
    let (code, told) = trefoil(&words(unproven));
    assert_ne!(code, Some(0), "{told}");
    assert!(told.contains("use verify-full") && !told.contains("secret"), "{told}");
    let (code, told) = trefoil(&["serve", "--store", "postgres://u:secret@db.example/d", "--print-config"]);
    assert!(
        code == Some(0) && told.contains("postgres://u:***@db.example/d") && !told.contains("secret"),
        "{told}"
    );
}

/// A login with the machine's clock, by which the programs go.
async fn login_now(customer: &mut Customer, person: &Person, nonce: u64) -> Reply {
    customer.clock = Arc::new(TestClock::of_machine());
    customer.login(person, &person.face, nonce).await
}

/// Claim V94: A process that stands by serves only after the one before it has ended, and then goes on with all that was acknowledged: its
/// sessions, its one log, and no nonce accepted twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_over_with_all_that_was_acknowledged_sessions_and_one_log() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let (vault, one, two) =
        (folder.path().join("vault"), folder.path().join("one"), folder.path().join("two"));
    let key_holder = KeyHolder::beside(&vault, &one);
    let variables = [
        ("TREFOIL_STORE_URL", url.as_str()),
        ("TREFOIL_STORE_TIMEOUT_MS", "10000"),
        ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
    ];
    let mut first = Program::start(&one, std::process::Stdio::null(), &variables);
    let mut customer = Customer::of(&first, service::policy()).await;
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
        .args(words("serve --standby --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir"))
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
