//! Programs of two versions on one database.

use super::*;
use crate::schema::{PROGRAM, Program, Step};
use std::sync::atomic::AtomicBool;

/// The program before this one.
const BEFORE: &Program = &Program { steps: PROGRAM.steps.split_at(1).0 };
/// A later one, with a step that only adds, and one with a step that others cannot use.
const ADDS: &Program = &Program {
    steps: &[
        PROGRAM.steps[0],
        PROGRAM.steps[1],
        Step { sql: "ALTER TABLE sessions ADD COLUMN later bigint", oldest: 2 },
    ],
};
const BREAKS: &Program = &Program {
    steps: &[
        ADDS.steps[0],
        ADDS.steps[1],
        ADDS.steps[2],
        Step { sql: "ALTER TABLE sessions DROP COLUMN later", oldest: 5 },
    ],
};

type Opened = Result<(Postgres, Supervisor), StoreError>;

fn open_as(url: &str, fleet: Option<&str>, migrate: bool, program: &'static Program) -> Opened {
    let supervisor = Supervisor::default();
    let address = Address::read(url, &crate::PasswordFiles::default()).unwrap();
    let opening = Opening { fleet: fleet.map(str::to_owned), migrate, ..Opening::default() };
    Ok((Postgres::open_as(&supervisor, &address, &SECRET, PATIENCE, (opening, program))?, supervisor))
}

fn refused(opened: Opened) -> String {
    match opened.map(drop) {
        Err(StoreError::Unusable(told)) => told,
        other => panic!("{other:?}"),
    }
}

/// A node of this program upgrades the tables while one of the program before writes, and each sees what the other does.
#[test]
fn nodes_of_two_adjacent_versions_use_the_tables_at_a_time() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (old, watched) = open_as(&url, Some("old"), false, BEFORE).unwrap();
    let at_old = follow(&old);
    let told = refused(open_as(&url, Some("new"), false, PROGRAM));
    assert!(told.contains("have version 2") && told.contains("--migrate"), "{told}");
    let stop = AtomicBool::new(false);
    let (new, seals) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                old.put_seal(number, vec![1], vec![]).unwrap();
                number += 1;
            }
            number
        });
        let opened = open_as(&url, Some("new"), true, PROGRAM);
        stop.store(true, Ordering::Relaxed);
        (opened, writing.join().unwrap())
    });
    let (new, _) = new.unwrap();
    let at_new = follow(&new);
    assert!(seals > 0);
    assert_eq!(new.last_seal(), Ok(Some((seals - 1, vec![1]))));
    let [a, b] = [1, 2].map(|id| tenant(TenantId::new([id; 16])));
    old.create_tenant(a.clone(), note()).unwrap();
    hears(&at_new, "the tenant of the old node", |news| news.tenants == [T]);
    new.create_tenant(b.clone(), note()).unwrap();
    hears(&at_old, "the tenant of the new node", |news| news.tenants == [T]);
    old.put_sessions(vec![ended(1)]).unwrap();
    new.put_sessions(vec![ended(2)]).unwrap();
    for (store, heard, id) in [(&new, &at_new, 1), (&old, &at_old, 2)] {
        let id = SessionId::new([id; 32]);
        hears(heard, "the other's session", |news| news.sessions.contains(&(T, id)));
        assert!(store.session(&T, &id).unwrap().is_some());
        assert_eq!(store.registry().unwrap().tenants, [a.clone(), b.clone()]);
    }
    assert_eq!(watched.death(), None);
    // Either starts again beside the other, and both take the rows of both for whole.
    drop(old);
    let (old, _) = open_as(&url, Some("old"), false, BEFORE).unwrap();
    drop(new);
    drop(open_as(&url, Some("new"), false, PROGRAM).unwrap());
    drop(old);
    for program in [BEFORE, PROGRAM] {
        assert_eq!(open_as(&url, None, false, program).unwrap().0.registry().unwrap().tenants.len(), 2);
    }
}

#[test]
fn a_step_that_breaks_older_programs_waits_for_their_nodes_and_then_keeps_them_out() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (running, _) = open_as(&url, Some("host/17"), false, PROGRAM).unwrap();
    let told = refused(open_as(&url, Some("later"), true, BREAKS));
    assert!(told.contains("while these nodes use them") && told.contains("host/17"), "{told}");
    running.put_seal(0, vec![1], vec![]).unwrap();
    drop(open_as(&url, Some("later"), true, ADDS).unwrap());
    running.put_seal(1, vec![1], vec![]).unwrap();
    drop(running);
    drop(open_as(&url, Some("later"), true, BREAKS).unwrap());
    for fleet in [None, Some("older")] {
        let told = refused(open_as(&url, fleet, true, ADDS));
        assert!(told.contains("for programs of version 5 or later, and this one has 4"), "{told}");
    }
    assert_eq!(open_as(&url, None, false, BREAKS).unwrap().0.last_seal(), Ok(Some((1, vec![1]))));
}

/// One that lost its connection for as long as the upgrade took may come back afterwards.
#[test]
fn a_node_whose_tables_became_those_of_later_programs_ends() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let (store, watched) = open_as(&url, Some("one"), false, PROGRAM).unwrap();
    let _heard = follow(&store);
    let kept = server.sql(&name, "SELECT term, generation, registry, encode(sum, 'hex') FROM node");
    let [term, generation, registry, sum] = kept.split('|').collect::<Vec<_>>().try_into().unwrap();
    let mac = RowMac::of(&SECRET);
    let sum = mac.show(&hex::decode(sum).unwrap()).unwrap();
    let numbers =
        ["5", term, generation, registry].map(|number| Value::number(number.parse::<u64>().unwrap()));
    let code = hex::encode(mac.sign("node", &[&numbers[..], &[Value::bytes(sum.bytes())]].concat()));
    server.sql(&name, &format!("UPDATE node SET version = 5, mac = '\\x{code}'"));
    // It hears of it without a write.
    until("it ends", || watched.death().is_some());
    let why = &watched.death().unwrap().why;
    assert!(why.contains("for programs of version 5 or later"), "{why}");
    assert!(matches!(store.put_seal(0, vec![1], vec![]), Err(StoreError::Unusable(_))));
}
