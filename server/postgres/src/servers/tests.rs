//! An old primary as a node meets it: it takes connections and answers reads, and its commits wait. And a server that says nothing at all.

use crate::link::Link;
use crate::tests::{address, until_within};
use crate::{Opening, Postgres, PostgresRegister};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use trefoil_storage::Supervisor;
use trefoil_storage::store::suite;
use trefoil_storage::store::{
    Log as _, Register as _, Session, Sessions as _, Spending, StoreError, Tables as _,
};
use trefoil_testing::postgres::Server;

const PATIENCE: Duration = Duration::from_secs(1);
/// A proof is that old at most, and the next one is given up after the patience.
const NOTICED: Duration = Duration::from_secs(3);

/// Has commits wait for this standby from now on.
fn standbys(server: &Server, names: &str) {
    server.sql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
    server.sql("postgres", "SELECT pg_reload_conf()");
    // Commits ask the checkpointer whether to wait. A new session has the setting of the server's first process, which by then has signalled the
    // checkpointer, and that one reads the setting before it makes a checkpoint.
    let shown = || server.sql("postgres", "SHOW synchronous_standby_names");
    until_within(Duration::from_secs(60), "the setting is not read", || shown() == names);
    server.sql("postgres", "CHECKPOINT");
}

fn session(id: u8) -> Vec<Session> {
    vec![suite::session(id)]
}

/// Claim V101: A server that is not the primary any more, and still takes connections and answers, gets nothing accepted: commits there are
/// not confirmed, and after a second no read, nonce or news from it counts. A commit that an administrator keeps from waiting is not
/// acknowledged. A node whose writes wait there for another one's commit turns to the next member. A member that says nothing does not keep
/// a node from the next one.
#[test]
fn a_commit_that_an_administrator_keeps_from_waiting_for_its_standby_is_not_acknowledged() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.database();
    let (patience, address) = (Duration::from_secs(60), address(&url));
    let opened = Postgres::open(&Supervisor::default(), &address, &[7; 32], patience, Opening::default());
    let store = opened.unwrap();
    store.put_sessions(session(1)).unwrap();
    // A proof that stays young, so that the only commit that waits is that of the sessions.
    address.servers.prove(0, 0, Instant::now() + Duration::from_secs(3600));
    standbys(&server, "gone");
    let written = std::thread::scope(|scope| {
        let writing = scope.spawn(|| store.put_sessions(session(2)));
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        until_within(patience, "no commit waits", || server.sql("postgres", cancel) == "t");
        writing.join().unwrap()
    });
    let told = written.unwrap_err().to_string();
    assert!(told.contains("no synchronous standby confirmed a commit"), "{told}");
    standbys(&server, "");
    until_within(patience, "it does not go on", || store.put_sessions(session(3)).is_ok());
}

/// Claim V101.
#[test]
fn where_commits_wait_for_a_standby_reads_and_nonces_do_not_count_either() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.database();
    let supervisor = Supervisor::default();
    let opening = Opening { fleet: Some("one".to_owned()), ..Opening::default() };
    let store = Postgres::open(&supervisor, &address(&url), &[7; 32], PATIENCE, opening).unwrap();
    store.fleet().unwrap().follow(Box::new(|_| Ok(()))).unwrap();
    let bounds = crate::register::Bounds { links_max: 2, keep_s: 180, late_s: 0, early_s: 1 << 40 };
    let (register, _) = PostgresRegister::open(&supervisor, &address(&url), PATIENCE, bounds).unwrap();
    let number = std::cell::Cell::new(0_u8);
    let spend = || {
        number.set(number.get().wrapping_add(1));
        register.spend(&[Spending { nonce: [number.get(); 16], issued_at: 1_800_000_000 }])
    };
    let read = || store.last_seal();
    assert!(spend().is_ok() && read().is_ok() && store.unready().is_none());
    // As on a primary whose synchronous standby has become the primary.
    standbys(&server, "gone");
    until_within(NOTICED, "nonces still count", || spend().is_err());
    until_within(NOTICED, "reads still count", || read().is_err());
    until_within(NOTICED, "the node says that it is ready", || store.unready().is_some());
    for _ in 0..5 {
        assert!(matches!(store.put_sessions(session(1)), Err(StoreError::Unreachable(_))));
        assert!(matches!(read(), Err(StoreError::Unreachable(_))));
        assert!(matches!(spend(), Err(StoreError::Unreachable(_))));
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let waiting: u32 = server.sql("postgres", waiting).parse().unwrap();
    assert!((1..20).contains(&waiting), "{waiting} calls pile up");
    standbys(&server, "");
    until_within(NOTICED, "it is not found again", || spend().is_ok() && read().is_ok());
    until_within(NOTICED, "the node is not ready", || store.unready().is_none());
}

/// Claim V101.
///
/// A commit that waits holds the row that each node's transaction counts in, so the others' transactions are given up by the server in time, and no
/// call goes without an answer.
#[test]
fn a_node_that_always_writes_leaves_a_server_where_another_ones_commit_waits() {
    let Some(server) = Server::start(&[]) else { return };
    let address = address(&server.database());
    let node = |name: &str| {
        let opening = Opening { fleet: Some(name.to_owned()), ..Opening::default() };
        Postgres::open(&Supervisor::default(), &address, &[7; 32], PATIENCE, opening).unwrap()
    };
    let nodes = ["one", "other"].map(node);
    let begun = std::sync::Barrier::new(3);
    // Never idle for as long as a node waits before it looks at its connection.
    let writes = |node: &Postgres| {
        node.put_sessions(session(1)).unwrap();
        begun.wait();
        while node.put_sessions(session(1)).is_ok() {}
        let told = || node.put_sessions(session(1)).unwrap_err().to_string();
        until_within(NOTICED, "it waits there for good", || {
            told().contains("another server may be the primary")
        });
    };
    std::thread::scope(|scope| {
        nodes.iter().for_each(|node| drop(scope.spawn(|| writes(node))));
        begun.wait();
        standbys(&server, "gone");
    });
    standbys(&server, "");
    for node in &nodes {
        until_within(NOTICED, "it does not go on", || node.put_sessions(session(1)).is_ok());
    }
}

/// Claim V101.
#[test]
fn a_server_that_takes_connections_and_says_nothing_leaves_time_for_the_next_one() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let database = url.split(['/', '?']).nth(3).unwrap();
    // The kernel takes the connections, and nobody reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", silent.local_addr().unwrap().port(), server.port());
    let both = address(&format!("postgres://trefoil@{hosts}/{database}?sslmode=disable"));
    let begun = Instant::now();
    let link = Link::open(&both, PATIENCE, PATIENCE).unwrap();
    assert!(begun.elapsed() < PATIENCE);
    link.batch("SELECT 1").unwrap();
    // The next connection goes there at once.
    let begun = Instant::now();
    Link::open(&both, PATIENCE, PATIENCE).unwrap();
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
}

/// Claim V101.
#[test]
fn a_connection_to_an_older_timeline_is_not_used_once_a_newer_one_is_known() {
    let Some(server) = Server::shared() else { return };
    let address = address(&server.database());
    let link = Link::open(&address, PATIENCE, PATIENCE).unwrap();
    link.assure().unwrap();
    let opened = Postgres::open(&Supervisor::default(), &address, &[7; 32], PATIENCE, Opening::default());
    let store = opened.unwrap();
    store.put_sessions(session(1)).unwrap();
    address.servers.prove(0, 2, Instant::now());
    let told = link.assure().unwrap_err().to_string();
    assert!(told.contains("was the primary before another one") && link.is_lost(), "{told}");
    let told = store.put_sessions(session(2)).unwrap_err().to_string();
    assert!(told.contains("was the primary before another one"), "{told}");
    assert!(Link::open(&address, PATIENCE, PATIENCE).is_err());
}
