//! A PostgreSQL database that is restored to a point in time, while the key-holder's vault stays as it is.

use crate::fleet::{Fleet, NODES, is_one_log};
use crate::postgres::is_one_chain;
use crate::world::*;
use rand::RngExt as _;
use trefoil_api::Authenticated;
use trefoil_attest::{Attestation, Evidence, LogError, SealHeader, verify_same_log};
use trefoil_storage::data_dir::HighWater;
use trefoil_testing::postgres::{ARCHIVING, Server};

/// Logs in, again while the service refuses requests that the process before may have attested.
async fn tried(customer: &mut Customer, person: &Person) -> Reply {
    let begun = Instant::now();
    loop {
        customer.clock = Arc::new(TestClock::of_machine());
        let reply = customer.login(person, &person.face, rand::rng().random()).await;
        if reply.status != 503 || reply.json()["code"] != "before-restart" {
            return reply;
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn login(customer: &mut Customer, person: &Person) -> Authenticated {
    answer(&tried(customer, person).await)
}

fn header(answer: Authenticated) -> SealHeader {
    let attestation = answer.attestation.unwrap().0;
    match Attestation::decode(&attestation).unwrap().evidence {
        Evidence::Full(seal) => seal.header,
        Evidence::Compact(_) => panic!("it is full"),
    }
}

/// What an auditor says that keeps its head in this folder. The log passes.
fn audit(folder: &Path, program: &Program) -> String {
    let data = folder.join("data");
    let mut audit = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    audit.args(["log", "audit", "--service", &format!("https://{}", program.public.address)]);
    audit.arg("--ca").arg(data.join("tls-certificate.pem")).arg("--head").arg(folder.join("head"));
    audit.arg("--trust-root").arg(data.join("trust-root.json")).output().unwrap().done()
}

/// Waits until the clock shows a later second than this seal: only then does a restoration say that the seal was lost. A restoration by people takes
/// longer than that.
async fn is_after(seal: &SealHeader) {
    while trefoil_host::unix_s() <= seal.time {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A restored database is not taken for the one that it was.
fn is_refused(data: &Path, variables: &[(&str, &str)]) {
    let mut serve = Command::new("timeout");
    serve.args(["60", env!("CARGO_BIN_EXE_trefoil"), "serve", "--listen", "127.0.0.1:0", "--admin-listen"]);
    serve.args(["127.0.0.1:0", "--data-dir"]).arg(data).envs(variables.iter().copied());
    let refused = serve.output().unwrap();
    let why = refused.err();
    assert!(refused.status.code() == Some(1) && why.contains("start once with --store-restored"), "{why}");
}

/// Claim V102: A PostgreSQL database that is restored to a point in time is refused without a flag. With it the service says how many
/// acknowledged transactions are missing and how far the vault is ahead, every later seal shows the restoration, an auditor that kept a
/// head finds it and no fork, and a subject that was erased since matches nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_restored_to_a_point_in_time_says_what_it_lacks_and_relying_parties_see_it() {
    let Some(mut server) = Server::start(&ARCHIVING) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let (vault, data) = (folder.path().join("vault"), folder.path().join("data"));
    let key_holder = KeyHolder::beside(&vault, &data);
    let variables = [
        ("TREFOIL_STORE_URL", url.as_str()),
        ("TREFOIL_STORE_TIMEOUT_MS", "10000"),
        ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
    ];
    let program = Program::start(&data, Stdio::null(), &variables);
    let mut customer = Customer::of(&program, service::policy()).await;
    let people = customer.people(3, 1, 61).await;
    let [stays, erased, late] = &people[..] else { panic!("three people") };
    customer.welcome(stays).await;
    customer.welcome(erased).await;
    server.back_up();
    // After the copy, and before the moment.
    let kept = header(login(&mut customer, stays).await);
    server.name_moment("noon");
    customer.welcome(late).await;
    customer.public.delete(&templates_path(erased)).await.is(200);
    let lost = header(login(&mut customer, late).await);
    audit(folder.path(), &program);
    assert!(program.terminate().success());
    server.restore("noon");

    is_refused(&data, &variables);
    is_after(&lost).await;
    let log = folder.path().join("log");
    let program = Program::start_restored(&data, std::fs::File::create(&log).unwrap(), &variables);
    let told = std::fs::read_to_string(&log).unwrap();
    let number = |name: &str| -> u64 {
        let (_, after) = told.split_once(name).unwrap_or_else(|| panic!("{name}: {told}"));
        after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    assert!(number(" lacks=") >= 3 && number(" ahead=") >= 2, "{told}");
    customer.moved((program.public.clone(), program.admin.clone()));
    // Sessions have ended, also those that the copy has.
    tried(&mut customer, stays).await.is(404);
    customer.prove(stays).await.is(201);
    let after = login(&mut customer, stays).await;
    assert_eq!(after.decision, Decision::Match);
    // Relying parties with an attestation of either part, and auditors, see a restoration and no fork.
    let after = header(after);
    let restored = after.restored.expect("every later seal shows it");
    assert!(kept.seal_number < restored.first && restored.first <= lost.seal_number, "{restored:?}");
    assert_eq!(
        verify_same_log(&lost, &after, &[], &[]),
        Err(LogError::Restored(restored)),
        "{lost:?}, and then {after:?}"
    );
    let told = audit(folder.path(), &program);
    let noticed = format!("went on at seal {}.", restored.first);
    assert!(told.contains(&noticed) && told.contains("are lost"), "{told}");
    // The vault was not restored. Who was deleted since is in the store again, and matches nobody.
    customer.prove(erased).await.is(201);
    let again = tried(&mut customer, erased).await;
    assert!(again.status != 200 || answer(&again).decision == Decision::NoMatch, "{}", again.text());
    // Who was enrolled since enrols again. The vault has the generation that the store takes first, so the first try is to be repeated.
    let first = customer.enrol(late, "again").await;
    assert!(first.text().contains("from before the service was restored"), "{}", first.text());
    first.problem(503, "overloaded");
    customer.enrol(late, "again").await.is(201);
    customer.prove(late).await.is(201);
    assert_eq!(login(&mut customer, late).await.decision, Decision::Match);
    assert!(program.terminate().success());
}

/// Claim V133: A fleet whose database is restored to a point in time goes on once the node with the highest count was told so and the
/// others were started without the flag. Sessions have ended at each, and seals of each name the restoration in one log.
///
/// The node that noted the highest count says so to the log, and the others start without the flag.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_goes_on_from_a_point_in_time_when_one_node_was_told_and_its_log_is_one_at_each() {
    let Some(mut server) = Server::start(&ARCHIVING) else { return };
    let url = server.database();
    let mut fleet = Fleet::on(&url).await;
    let people = fleet.at(0).people(2, 1, 62).await;
    let [stays, late] = &people[..] else { panic!("two people") };
    fleet.at(0).welcome(stays).await;
    server.back_up();
    let kept = header(answer(&fleet.login(1, stays, &stays.face).await));
    server.name_moment("noon");
    fleet.at(1).welcome(late).await;
    // The last one to end has noted many more transactions than the others.
    fleet.nodes.drain(..NODES - 1).for_each(|node| assert!(node.terminate().success()));
    for _ in 0..30 {
        answer(&fleet.login(0, stays, &stays.face).await);
    }
    let lost = header(answer(&fleet.login(0, late, &late.face).await));
    assert!(fleet.nodes.pop().unwrap().terminate().success());
    server.restore("noon");

    let data = |node: usize| fleet.plan.folder.path().join(format!("node-{node}"));
    let reached = |node: &usize| HighWater::read(&data(*node).join("postgres.mark")).unwrap().count;
    let first = (0..NODES).max_by_key(reached).unwrap();
    assert_eq!(first, NODES - 1);
    let key_holder = fleet.plan.key_holders[0].url().to_owned();
    let variables = [
        ("TREFOIL_STORE_URL", url.as_str()),
        ("TREFOIL_STORE_FLEET", "true"),
        ("TREFOIL_STORE_TIMEOUT_MS", "10000"),
        ("TREFOIL_KEYHOLDER_URL", key_holder.as_str()),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
        ("TREFOIL_PROOFS_DEADLINE_MS", "60000"),
    ];
    is_refused(&data(first), &variables);
    is_after(&lost).await;
    let mut told = Some(Program::start_restored(&data(first), Stdio::null(), &variables));
    for node in 0..NODES {
        let others = || fleet.plan.started(node);
        let program = if node == first { told.take().unwrap() } else { others() };
        fleet.nodes.push(program);
    }

    // Sessions have ended at each. Who was enrolled since enrols again, which is to be repeated, as at one node.
    for node in 0..NODES {
        fleet.at(node);
        assert_eq!(tried(&mut fleet.customer, stays).await.status, 404, "node {node}");
    }
    fleet.at(0).prove(stays).await.is(201);
    fleet.at(1).enrol(late, "again").await.problem(503, "overloaded");
    fleet.at(2).enrol(late, "again").await.is(201);
    fleet.at(2).prove(late).await.is(201);
    let mut newest = 0;
    for node in 0..NODES {
        for person in [stays, late] {
            fleet.at(node);
            let reply = login(&mut fleet.customer, person).await;
            assert_eq!(reply.decision, Decision::Match, "node {node}");
            let after = header(reply);
            let restored = after.restored.expect("every later seal shows it");
            assert!(kept.seal_number < restored.first && restored.first <= lost.seal_number, "{restored:?}");
            let seen = verify_same_log(&lost, &after, &[], &[]);
            assert_eq!(seen, Err(LogError::Restored(restored)), "node {node}: {lost:?}, and then {after:?}");
            newest = newest.max(after.seal_number);
        }
    }
    for node in &fleet.nodes {
        is_one_chain(&node.public, newest).await;
    }
    assert!(is_one_log(&server, &fleet.plan.database).len() as u64 > newest);
}
