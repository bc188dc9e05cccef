//! Nodes on one database: what each hears, what is refused, and turns in the log that end.

use super::*;
use crate::tests::{PATIENCE, SECRET, address, open_with, until_within};
use crate::{Opening, Postgres};
use trefoil_attest::SERVICE;
use trefoil_storage::store::fleet::News;
use trefoil_storage::store::suite::{T, api_key, note, root, session, tenant};
use trefoil_storage::store::{
    ApiKey, IssuerKey, Log as _, Note, Operator, Operators as _, Registry, Session, Sessions as _,
    Tables as _, Tenants as _,
};
use trefoil_testing::postgres::Server;
use trefoil_testing::volume;
use trefoil_types::{OperatorId, SessionId, TenantId};

type Heard = Receiver<News>;

fn open(url: &str, name: &str, patience: Duration) -> Result<(Postgres, Supervisor), StoreError> {
    open_with(url, patience, Opening { fleet: Some(name.to_owned()), ..Opening::default() })
}

/// A node, and what it hears.
fn node(url: &str, name: &str) -> (Postgres, Heard) {
    let (store, _) = open(url, name, PATIENCE).unwrap();
    let heard = follow(&store);
    (store, heard)
}

fn follow(store: &Postgres) -> Heard {
    let (tell, heard) = crossbeam_channel::unbounded();
    let apply = move |news: &News| tell.send(news.clone()).map_err(|cause| cause.to_string());
    store.fleet().unwrap().follow(Box::new(apply)).unwrap();
    heard
}

fn ended(id: u8) -> Session {
    Session { wrapped: Vec::new(), ..session(id) }
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    until_within(PATIENCE, what, is_so);
}

fn hears(heard: &Heard, what: &str, is_it: impl Fn(&News) -> bool) {
    until(what, || heard.try_iter().any(|news| is_it(&news)));
}

/// Claim V95.
#[test]
fn each_node_hears_what_another_changed_and_of_nothing_else() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let ((one, at_one), (two, at_two)) = (node(&url, "one"), node(&url, "two"));
    one.create_tenant(tenant(T), note()).unwrap();
    hears(&at_two, "the tenant", |news| news.tenants == [T] && !news.registry && !news.operators);
    // Its own change is in its memory already.
    one.put_sessions(vec![ended(1)]).unwrap();
    for heard in [&at_one, &at_two] {
        hears(heard, "the session", |news| news.sessions == [(T, SessionId::new([1; 32]))] && !news.registry);
    }
    let open = Session { wrapped: vec![1; 10], ..ended(2) };
    two.put_sessions(vec![open]).unwrap();
    two.note(note()).unwrap();
    two.put_seal(0, vec![1], vec![]).unwrap();
    two.put_sessions(vec![ended(3)]).unwrap();
    hears(&at_one, "the last", |news| {
        assert!(!news.registry && !news.everything && news.subjects.is_empty());
        assert!(
            news.sessions.iter().all(|(_, id)| *id != SessionId::new([2; 32])),
            "an open session is no news"
        );
        news.sessions.contains(&(T, SessionId::new([3; 32])))
    });
    assert_eq!((one.unready(), two.unready()), (None, None));
    assert_eq!(one.last_seal(), Ok(Some((0, vec![1]))));
}

/// Claim V96.
///
/// Writes of both go through one count and one sum, whose start then finds every row.
#[test]
fn writes_of_many_nodes_follow_one_another_and_the_next_start_finds_them_all() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let nodes = ["one", "two", "three"].map(|name| node(&url, name));
    std::thread::scope(|scope| {
        for (number, (store, _)) in (0_u64..).zip(&nodes) {
            scope.spawn(move || {
                for at in 0..10 {
                    store.put_seal(number * 10 + at, vec![number as u8], vec![]).unwrap();
                }
            });
            scope.spawn(move || {
                for at in 0..4 {
                    let id = TenantId::new([(number * 4 + at) as u8; 16]);
                    let begun = Instant::now();
                    loop {
                        store.fleet().unwrap().catch_up().unwrap();
                        match store.create_tenant(tenant(id), note()) {
                            Ok(_) => break,
                            Err(StoreError::Unreachable(told)) => {
                                assert!(told.contains("another node"), "{told}")
                            }
                            Err(other) => panic!("{other}"),
                        }
                        assert!(begun.elapsed() < PATIENCE);
                    }
                }
            });
        }
    });
    drop(nodes);
    let alone = Postgres::open(&Supervisor::default(), &address(&url), &SECRET, PATIENCE, Opening::default());
    let alone = alone.unwrap();
    assert_eq!(alone.registry().unwrap().tenants.len(), 12);
    assert!((0..30).all(|number| alone.seal(number).unwrap() == Some(vec![(number / 10) as u8])));
    assert_eq!(alone.audit(0, None, 100).unwrap().len(), 12, "no number twice");
    // A node does not come beside a process that is alone.
    let Err(StoreError::InUse(told)) = open(&url, "four", PATIENCE).map(drop) else {
        panic!("two kinds at once")
    };
    assert!(told.contains("no node of a fleet") && told.contains("--fleet"), "{told}");
}

/// Claim V113: A node of a fleet that starts verifies all rows of the registry without keeping the other nodes from writing.
///
/// While it reads all rows, which takes long in a large database.
#[test]
fn other_nodes_write_while_one_starts() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (one, _heard) = node(&url, "one");
    one.create_tenant(tenant(T), note()).unwrap();
    let address = address(&url);
    let held = Link::open(&address, PATIENCE, PATIENCE).unwrap();
    held.batch("BEGIN; LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE").unwrap();
    let waits = "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'tenants'::regclass AND NOT granted";
    std::thread::scope(|scope| {
        let starts = scope.spawn(|| open(&url, "two", PATIENCE).map(drop));
        until("it waits for the tenants", || {
            held.told(waits).unwrap().is_some_and(|row| row == [Some("t".to_owned())])
        });
        for id in 1..=5 {
            one.put_sessions(vec![ended(id)]).unwrap();
        }
        assert!(!starts.is_finished());
        held.batch("COMMIT").unwrap();
        starts.join().unwrap().unwrap();
    });
    // It was not there when the sum was made, and counts nevertheless.
    one.put_seal(0, vec![1], vec![]).unwrap();
}

/// Claim V111: A node of a fleet that hears of a change of a tenant, of its keys or of its roots reads the rows of that tenant and of no
/// other, each under its code.
///
/// Whatever the number of tenants.
#[test]
fn of_a_changed_tenant_its_own_rows_are_read_and_they_are_those_of_the_whole_registry() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let ((one, _heard), (two, at_two)) = (node(&url, "one"), node(&url, "two"));
    let id = |number: usize| TenantId::new(u128::to_be_bytes(number as u128 + 1));
    let of = |tenant| Note { tenant, ..note() };
    let tenants = volume(1000, 20);
    for number in 0..tenants {
        one.create_tenant(tenant(id(number)), of(id(number))).unwrap();
    }
    one.fleet().unwrap().catch_up().unwrap();
    for (number, generation) in [(0, 1), (0, 2), (0, 3), (7, 1), (7, 2)] {
        let (tenant, key) = (id(number), vec![generation as u8; 9]);
        one.publish_root(root(tenant, generation, generation.min(2))).unwrap();
        one.add_issuer_key(IssuerKey { tenant, number: generation, key, registered_at: 4 }, of(tenant))
            .unwrap();
        let key = api_key((number * 10) as u8 + generation as u8);
        one.add_api_key(ApiKey { tenant, ..key }, of(tenant)).unwrap();
    }
    two.fleet().unwrap().catch_up().unwrap();
    at_two.try_iter().for_each(drop);
    one.add_api_key(ApiKey { tenant: id(7), ..api_key(99) }, of(id(7))).unwrap();
    hears(&at_two, "one tenant", |news| {
        assert!(!news.registry && !news.everything && !news.operators, "{news:?}");
        news.tenants == [id(7)]
    });
    let all = two.registry().unwrap();
    assert_eq!((all.tenants.len(), all.api_keys.len(), all.roots.len()), (tenants, 6, 3));
    for number in [0, 7, 8] {
        let own = two.registry_of(&id(number)).unwrap();
        assert_eq!(own.tenants.len(), 1, "the rows of one");
        let mut wanted = all.clone();
        wanted.tenants.retain(|tenant| tenant.id == id(number));
        wanted.api_keys.retain(|key| key.tenant == id(number));
        wanted.roots.retain(|root| root.tenant == id(number));
        wanted.issuer_keys.retain(|key| key.tenant == id(number));
        assert_eq!(own, wanted);
    }
    // An operator is no tenant's.
    let operator = Operator {
        id: OperatorId::new([1; 8]),
        name: "ann".to_owned(),
        role: 0,
        created_at: 1,
        revoked_at: None,
    };
    one.put_operator(operator.clone(), None, of(SERVICE)).unwrap();
    hears(&at_two, "the operator", |news| {
        assert!(!news.registry && news.tenants.is_empty(), "{news:?}");
        news.operators
    });
    assert_eq!(two.operators().unwrap(), Registry { operators: vec![operator], ..Registry::default() });
    let name = url.split(['/', '?']).nth(3).unwrap();
    server.sql(
        name,
        &format!("UPDATE tenants SET policy_version = 9 WHERE id = '\\x{}'", hex::encode(id(7).as_bytes())),
    );
    assert!(matches!(two.registry_of(&id(7)), Err(StoreError::Forged(_))));
    assert!(two.registry_of(&id(8)).is_ok());
}

/// Claim V96.
#[test]
fn a_change_of_the_registry_from_an_old_copy_of_it_is_refused() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    // One does not listen, so it stays behind.
    let (behind, _watched) = open(&url, "behind", PATIENCE).unwrap();
    let (ahead, _heard) = node(&url, "ahead");
    ahead.create_tenant(tenant(T), note()).unwrap();
    let key = IssuerKey { tenant: T, number: 0, key: vec![1; 9], registered_at: 4 };
    let refused = behind.add_issuer_key(key.clone(), note());
    assert!(
        matches!(&refused, Err(StoreError::Unreachable(told)) if told.contains("another node")),
        "{refused:?}"
    );
    // What concerns no copy is taken, in the same transaction or another one.
    behind.put_seal(0, vec![1], vec![]).unwrap();
    behind.note(note()).unwrap();
    let heard = Arc::new(AtomicBool::default());
    let told = Arc::clone(&heard);
    let apply = move |_: &News| {
        told.store(true, Ordering::Release);
        Ok(())
    };
    behind.fleet().unwrap().follow(Box::new(apply)).unwrap();
    behind.fleet().unwrap().catch_up().unwrap();
    assert!(heard.load(Ordering::Acquire));
    behind.add_issuer_key(key, note()).unwrap();
    ahead.fleet().unwrap().catch_up().unwrap();
    assert_eq!(ahead.registry().unwrap().issuer_keys.len(), 1);
}

/// Claim V95.
#[test]
fn news_that_are_not_taken_over_make_a_node_unready_and_come_again() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (store, _watched) = open(&url, "deaf", PATIENCE).unwrap();
    let deaf = Arc::new(AtomicBool::new(false));
    let (tell, heard) = crossbeam_channel::unbounded();
    let is_deaf = Arc::clone(&deaf);
    let apply = move |news: &News| match is_deaf.load(Ordering::Acquire) {
        true => Err("meant by the test".to_owned()),
        false => tell.send(news.clone()).map_err(|cause| cause.to_string()),
    };
    store.fleet().unwrap().follow(Box::new(apply)).unwrap();
    deaf.store(true, Ordering::Release);
    let begun = Instant::now();
    store.put_sessions(vec![ended(1)]).unwrap();
    until("unready", || store.unready().is_some());
    assert!(begun.elapsed() >= STALE_MAX / 2, "{:?}", begun.elapsed());
    assert!(store.unready().unwrap().contains("has not heard of the other nodes"));
    deaf.store(false, Ordering::Release);
    hears(&heard, "again", |news| news.sessions == [(T, SessionId::new([1; 32]))]);
    until("ready", || store.unready().is_none());
}

#[test]
fn news_come_again_for_as_long_as_a_read_may_take() {
    let Some(server) = Server::shared() else { return };
    let (store, heard) = node(&server.database(), "one");
    store.put_sessions(vec![ended(1)]).unwrap();
    hears(&heard, "the session", |news| news.sessions.len() == 1);
    crossbeam_channel::after(AGAIN_MIN + 5 * POLL).recv().unwrap();
    heard.try_iter().for_each(drop);
    hears(&heard, "the session again", |news| news.sessions.len() == 1);
}

/// Claim V95.
///
/// Two locks hold a change up for longer than its caller waits, and each for shorter than a statement may.
#[test]
fn a_node_hears_of_its_own_change_whose_caller_had_given_up() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (patience, part) = (Duration::from_secs(2), Duration::from_millis(1250));
    let (store, _watched) = open(&url, "one", patience).unwrap();
    let heard = follow(&store);
    store.create_tenant(tenant(T), note()).unwrap();
    let address = address(&url);
    let locks = ["SELECT FROM node FOR UPDATE", "LOCK TABLE audit"].map(|lock| {
        let link = Link::open(&address, PATIENCE, PATIENCE).unwrap();
        link.batch(&format!("BEGIN; {lock}")).unwrap();
        link
    });
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| store.add_api_key(api_key(1), note()));
        for link in locks {
            crossbeam_channel::after(part).recv().unwrap();
            link.batch("COMMIT").unwrap();
        }
        let told = asked.join().unwrap();
        assert!(
            matches!(&told, Err(StoreError::Unreachable(why)) if why.contains("gave no answer within")),
            "{told:?}"
        );
    });
    heard.try_iter().for_each(drop);
    until("it is committed", || store.registry().unwrap().api_keys.len() == 1);
    hears(&heard, "its own change", |news| news.tenants == [T]);
    store.fleet().unwrap().catch_up().unwrap();
    store.add_api_key(api_key(2), note()).unwrap();
}

/// Claim V96.
#[test]
fn while_another_transaction_is_long_writes_alone_are_refused_and_at_once_afterwards_they_are_not() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let patience = Duration::from_secs(1);
    let (store, _watched) = open(&url, "one", patience).unwrap();
    let _heard = follow(&store);
    store.create_tenant(tenant(T), note()).unwrap();
    store.put_seal(0, vec![1], vec![]).unwrap();
    let address = address(&url);
    let other = Link::open(&address, PATIENCE, PATIENCE).unwrap();
    other.batch("BEGIN; SELECT FROM node FOR UPDATE").unwrap();
    let begun = Instant::now();
    while begun.elapsed() < 3 * patience {
        let refused = store.put_seal(1, vec![1], vec![]);
        assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
        assert_eq!((store.seal(0), store.unready()), (Ok(Some(vec![1])), None));
    }
    other.batch("COMMIT").unwrap();
    assert_eq!(store.put_seal(1, vec![1], vec![]), Ok(()));
}

/// Claim V135.
#[test]
fn a_turn_in_the_registry_is_one_nodes_and_keeps_no_turn_in_the_log_from_another() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let patience = Duration::from_secs(1);
    let ((one, _one), (two, _two)) =
        (open(&url, "one", patience).unwrap(), open(&url, "two", patience).unwrap());
    let (first, second) = (one.fleet().unwrap(), two.fleet().unwrap());
    let turn = first.registry_turn().unwrap();
    let refused = second.registry_turn().map(drop);
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    drop(second.log_turn().unwrap());
    std::thread::scope(|scope| {
        let waiting = [first, second].map(|node| scope.spawn(|| node.registry_turn().map(drop)));
        drop(turn);
        for turn in waiting {
            assert_eq!(turn.join().unwrap(), Ok(()));
        }
    });
}

/// Claim V97.
#[test]
fn a_turn_in_the_log_is_one_nodes_until_it_ends_or_the_node_hangs() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let patience = Duration::from_secs(1);
    let ((one, _one), (two, _two)) =
        (open(&url, "one", patience).unwrap(), open(&url, "two", patience).unwrap());
    let (first, second) = (one.fleet().unwrap(), two.fleet().unwrap());
    let turn = first.log_turn().unwrap();
    let refused = second.log_turn().map(drop);
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    drop(turn);
    drop(second.log_turn().unwrap());
    // One that does nothing loses it. It stores no second seal under a number.
    let turn = first.log_turn().unwrap();
    let begun = Instant::now();
    let taken = loop {
        match second.log_turn() {
            Ok(taken) => break taken,
            Err(_) => assert!(begun.elapsed() < 5 * patience, "a node that hangs stops the others"),
        }
    };
    two.put_seal(0, vec![2], vec![[2; 32]]).unwrap();
    drop(taken);
    assert_eq!(one.put_seal(0, vec![1], vec![[1; 32]]), Err(StoreError::Conflict));
    drop(turn);
    assert_eq!(one.put_seal(0, vec![2], vec![[2; 32]]), Ok(()), "the same seal, whose answer was lost");
    drop(first.log_turn().unwrap());
}

#[test]
fn one_node_keeps_house_and_another_does_once_it_is_gone() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (one, _) = node(&url, "one/1");
    until("the first", || one.fleet().unwrap().keeps_house());
    // As much as PostgreSQL keeps of a name.
    let keys = NodeKeys { key_set: [0xab; 4], version: 9999, digest: [0xcd; 3] };
    one.fleet().unwrap().announce(keys);
    let address = address(&url);
    let told = || Postgres::nodes_of(&address, PATIENCE).unwrap().into_iter().map(|node| node.keys);
    until("its keys", || told().eq([Some(keys)]));
    let (two, _) = node(&url, "two/2");
    let shown = || {
        let nodes = two.fleet().unwrap().nodes();
        nodes.into_iter().map(|node| (node.name, node.keeps_house)).collect::<Vec<_>>()
    };
    assert_eq!(shown(), [("one/1".to_owned(), true), ("two/2".to_owned(), false)]);
    assert!(!two.fleet().unwrap().keeps_house());
    drop(one);
    until("the second", || two.fleet().unwrap().keeps_house());
    until("the list", || shown() == [("two/2".to_owned(), true)]);
}

/// Claim V118.
#[test]
fn the_right_to_work_for_a_tenant_is_one_nodes_until_it_drops_it_or_its_session_ends() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let ((one, _), (two, _)) = (node(&url, "one"), node(&url, "two"));
    let right = |node: &Postgres, tenant, wait| {
        node.fleet().unwrap().right(Work::KeyRotation, &tenant, wait).unwrap()
    };
    let is_at_work = |tenant| two.fleet().unwrap().is_at_work(Work::KeyRotation, &tenant).unwrap();
    assert!(!is_at_work(T));
    let held = right(&one, T, Duration::ZERO).unwrap();
    assert!(is_at_work(T) && right(&two, T, POLL).is_none() && right(&one, T, POLL).is_none());
    let other = TenantId::new([2; 16]);
    assert!(!is_at_work(other) && right(&two, other, Duration::ZERO).is_some());
    held.check().unwrap();
    drop(held);
    let held = right(&two, T, PATIENCE).unwrap();
    held.check().unwrap();
    let end = format!(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l WHERE {}",
        crate::node::holds(rights::lock(Work::KeyRotation, &T))
    );
    server.sql(&name, &end);
    let taken = right(&one, T, PATIENCE).unwrap();
    assert!(held.check().is_err(), "another node has it");
    taken.check().unwrap();
}

/// Claim V97.
#[test]
fn a_database_that_went_back_ends_every_node() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let (store, watched) = open(&url, "one", PATIENCE).unwrap();
    store.fleet().unwrap().follow(Box::new(|_| Ok(()))).unwrap();
    server.sql(&name, "CREATE TABLE kept AS TABLE node");
    store.put_sessions(vec![ended(1)]).unwrap();
    until("it hears", || store.fleet().unwrap().catch_up().is_ok());
    crossbeam_channel::after(2 * POLL).recv().unwrap();
    server.sql(&name, "DELETE FROM node; INSERT INTO node SELECT * FROM kept");
    until("it ends", || watched.death().is_some());
    assert!(watched.death().unwrap().why.contains("lacked some"), "{:?}", watched.death());
    // A row that somebody else wrote ends one as well.
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    for edit in ["sum = sum || '\\x00'", "registry = registry + 1", "generation = generation + 1"] {
        let (store, watched) = open(&url, "two", PATIENCE).unwrap();
        store.fleet().unwrap().follow(Box::new(|_| Ok(()))).unwrap();
        server.sql(&name, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS TABLE node");
        server.sql(&name, &format!("UPDATE node SET {edit}"));
        until(edit, || watched.death().is_some());
        assert!(matches!(store.put_seal(0, vec![1], vec![]), Err(StoreError::Forged(_))), "{edit}");
        drop(store);
        server.sql(&name, "DELETE FROM node; INSERT INTO node SELECT * FROM kept");
    }
}
