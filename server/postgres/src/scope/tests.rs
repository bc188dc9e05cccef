//! Each tenant's rows, and what the policies cost.

use super::*;
use crate::link::Link;
use crate::node::stored;
use crate::roles::tests::{link, migrated};
use crate::table::{RowMac, Rows};
use crate::tests::{SECRET, open};
use std::cell::Cell;
use std::time::{Duration, Instant};
use trefoil_storage::store::suite::{self, H, T, fill};
use trefoil_storage::store::{Session, StoreError, Subject};
use trefoil_storage::table::{Column as _, Record as _};
use trefoil_storage::table::{Records as _, Rows as _};
use trefoil_testing::postgres::Server;

const OTHER: TenantId = TenantId::new([2; 16]);

/// Tables with rows of tenants, and the column that has the tenant. What nodes have changed is read by all of them.
fn tables(server: &Server, name: &str) -> Vec<(String, String)> {
    let found = server.sql(
        name,
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'
         AND (column_name = 'tenant' OR (table_name = 'tenants' AND column_name = 'id')) AND table_name <> 'changes' ORDER BY 1",
    );
    found.lines().filter_map(|line| line.split_once('|')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

/// Adds a row of the other tenant for each of the first.
fn doubled(server: &Server, name: &str, (table, key): &(String, String)) {
    let columns = server.sql(
        name,
        &format!("SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_name = '{table}'"),
    );
    let other = format!("'\\x{}'::bytea", hex::encode(OTHER.as_bytes()));
    let copied = columns.split(", ").map(|column| match column {
        column if column == key => other.clone(),
        "number" if table == "audit" => "number + 1000".to_owned(),
        column => column.to_owned(),
    });
    let copied: Vec<String> = copied.collect();
    server.sql(name, &format!("INSERT INTO {table} ({columns}) SELECT {} FROM {table}", copied.join(", ")));
}

fn count(link: &Link, sql: &str) -> u64 {
    link.told(sql).unwrap().unwrap()[0].as_ref().unwrap().parse().unwrap()
}

/// Claim V106: With the role that serves, a transaction for one tenant reads, changes, deletes and adds no row of another, also where its
/// statement has no condition and where it shares a transaction with those of other tenants.
#[test]
fn a_transaction_of_one_tenant_reads_changes_and_deletes_no_row_of_another() {
    let Some(server) = Server::shared() else { return };
    let (_, serving, name) = migrated(server);
    let store = open(&serving).unwrap();
    fill(&store);
    drop(store);
    // The note of a write of usage is the service's, and no tenant's.
    server.sql(&name, "DELETE FROM idempotency WHERE generation = 0");
    let (tables, link) = (tables(server, &name), link(&serving));
    assert_eq!(tables.len(), 13, "{tables:?}");
    for table in &tables {
        doubled(server, &name, table);
    }
    for (table, key) in &tables {
        let all = format!("SELECT count(*) FROM {table}");
        let theirs = format!("{key} = '\\x{}'", hex::encode(OTHER.as_bytes()));
        assert_eq!(count(&link, &all), 0, "{table} without a scope");
        link.batch(&Scope::All.set("")).unwrap();
        let both = count(&link, &all);
        assert!(both >= 2 && both == 2 * count(&link, &format!("{all} WHERE {theirs}")), "{table}");
        link.batch(&format!("BEGIN; {}", Scope::One(T).local())).unwrap();
        assert_eq!(count(&link, &all), both / 2, "{table}");
        assert_eq!(count(&link, &format!("{all} WHERE {theirs}")), 0, "{table}");
        // Rights of columns and tables are a matter of their own: each statement changes nothing, or is refused.
        for change in [
            format!("UPDATE {table} SET mac = '' WHERE {theirs}"),
            format!("DELETE FROM {table} WHERE {theirs}"),
        ] {
            link.batch("SAVEPOINT one").unwrap();
            match link.execute(&change, &[]) {
                Ok(changed) => assert_eq!(changed, 0, "{change}"),
                Err(StoreError::Fault(told)) => {
                    assert!(told.contains("permission denied for table"), "{told}")
                }
                Err(other) => panic!("{change}: {other}"),
            }
            link.batch("ROLLBACK TO one").unwrap();
        }
        let moved = format!(
            "INSERT INTO {table} SELECT (jsonb_populate_record(r, jsonb_build_object('{key}', '\\x03'))).* FROM {table} AS r"
        );
        let Err(StoreError::Fault(told)) = link.batch(&moved) else {
            panic!("{table}: a row of another tenant")
        };
        assert!(told.contains("violates row-level security"), "{told}");
        link.batch("ROLLBACK; RESET trefoil.tenant").unwrap();
    }
    // What the settings leave behind shows nothing either.
    assert_eq!(count(&link, "SELECT count(*) FROM sessions"), 0);
}

fn sessions(rows: &Rows<'_>) -> Result<Vec<Session>, StoreError> {
    rows.select("", &[])
}

/// Claim V106.
///
/// Statements without a condition, on the threads that read and write, where writes of many tenants share a transaction.
#[test]
fn each_call_of_the_store_is_held_to_its_tenant_also_in_a_shared_transaction() {
    let Some(server) = Server::shared() else { return };
    let (_, serving, name) = migrated(server);
    let store = &open(&serving).unwrap().0;
    let of = |number: u8| TenantId::new([number; 16]);
    let session = |tenant, id| Session { tenant, ..suite::session(id) };
    std::thread::scope(|scope| {
        for number in 1..9 {
            scope.spawn(move || {
                for id in 0..20 {
                    let found = store.write(Call::of(&of(number)), move |rows| {
                        rows.put(&session(of(number), id))?;
                        sessions(rows)
                    });
                    let found = found.unwrap();
                    assert!(found.len() == usize::from(id) + 1, "{}", found.len());
                    assert!(found.iter().all(|session| session.tenant == of(number)));
                    let read = store.read(Call::of(&of(number)), sessions).unwrap();
                    assert!(
                        read.len() > usize::from(id)
                            && read.iter().all(|session| session.tenant == of(number))
                    );
                }
            });
        }
    });
    assert_eq!(store.read(Call::ALL, sessions).unwrap().len(), 160);
    assert_eq!(store.read(Call { is_long: true, ..Call::of(&of(3)) }, sessions).unwrap().len(), 20);
    assert_eq!(store.write(Call::of(&of(3)), |rows| rows.delete::<Session>("true", &[])), Ok(20));
    assert!(
        store.write(Call::of(&of(4)), move |rows| rows.put(&session(of(5), 99))).is_err(),
        "a row of another"
    );
    assert_eq!(server.sql(&name, "SELECT count(*), count(DISTINCT tenant) FROM sessions"), "140|7");
}

/// A figure for people, not an assertion: medians without and with a scope, of a read of one row and of a transaction that writes one.
#[test]
fn a_scope_and_its_policies_take_this_long() {
    let Some(server) = Server::shared() else { return };
    let (owner, serving, _) = migrated(server);
    fill(&open(&serving).unwrap());
    let (links, mac) = ([link(&owner), link(&serving)], RowMac::of(&SECRET));
    let key = [T.value(), H.value()];
    let condition = format!("WHERE {}", Subject::TABLE.keyed());
    let mut times: [[Vec<Duration>; 2]; 2] = Default::default();
    for round in 0..1200_u16 {
        let with = usize::from(round % 2);
        let rows = Rows { link: &links[with], mac: &mac, sum: Cell::default(), telling: None };
        let scope = (with == 1).then_some(Scope::One(T));
        let begun = Instant::now();
        scope.iter().for_each(|scope| rows.link.set_scope(*scope));
        assert!(rows.one::<Subject>(&condition, &key).unwrap().is_some());
        times[0][with].push(begun.elapsed());
        // The next one comes from another tenant.
        scope.iter().for_each(|_| rows.link.set_scope(Scope::All));
        rows.number("SELECT 1::bigint", &[]).unwrap();
        let session = suite::session((round % 200) as u8);
        let begun = Instant::now();
        let local = scope.map(|scope| format!("{};", scope.local())).unwrap_or_default();
        stored(rows.link, &format!("BEGIN; {local}"), "FOR UPDATE").unwrap();
        rows.put(&session).unwrap();
        rows.link.batch("UPDATE node SET term = term WHERE id = 0; COMMIT").unwrap();
        times[1][with].push(begun.elapsed());
    }
    for (what, mut times) in ["a read of one row", "a transaction of one row"].into_iter().zip(times) {
        let [without, with] = times.each_mut().map(|times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        });
        println!("{what}: {without:?} without a scope, {with:?} with one");
    }
}
