//! What the role that serves may do, and what it may not.

use super::*;
use crate::tests::{PATIENCE, SECRET, address, open, read_all};
use std::collections::BTreeSet;
use trefoil_attest::{Family, Seal, SealHeader, Suite};
use trefoil_storage::store::suite::fill;
use trefoil_storage::store::{Log as _, suite};
use trefoil_testing::postgres::Server;
use trefoil_types::KeySetId;

/// A database with tables: its addresses for the owner and the role that serves, and its name.
pub(crate) fn migrated(server: &Server) -> (String, String, String) {
    let [owner, serving] = server.roles();
    let name = owner.split(['/', '?']).nth(3).unwrap().to_owned();
    let role = format!("serving_{name}");
    assert_eq!(migrate(&address(&owner), &SECRET, PATIENCE, Some(&role)), Ok(()));
    (owner, serving, name)
}

pub(crate) fn link(url: &str) -> Link {
    Link::open(&address(url), PATIENCE, CONNECT_MAX).unwrap()
}

fn rights_of(url: &str) -> Rights {
    rights(&link(url)).unwrap()
}

/// Claim V105: The role that serves does all that a store promises and cannot drop, empty, alter or make a table, remove a seal or a node
/// of the log, change an entry of the audit trail that has its receipt, or read another schema. A seal is replaced by its own header and by
/// nothing else. A fleet serves with that role.
#[test]
fn the_role_that_serves_can_do_all_that_a_store_promises() {
    let Some(server) = Server::shared() else { return };
    let (_, serving, _) = migrated(server);
    suite::holds(&open(&serving).unwrap());
    let (_, serving, name) = migrated(server);
    let store = open(&serving).unwrap();
    fill(&store);
    drop(store);
    read_all(&open(&serving).unwrap()).unwrap();
    let tables = server.sql(&name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    let granted: BTreeSet<&str> = GRANTS.iter().map(|(table, _)| *table).collect();
    assert_eq!(tables.lines().collect::<BTreeSet<_>>(), granted, "each table is granted for some use");
}

/// Claim V105.
///
/// Statements of somebody who has the password of the role that serves.
#[test]
fn a_thief_of_the_serving_password_drops_and_rewrites_nothing_that_is_sealed() {
    let Some(server) = Server::shared() else { return };
    let (_, serving, name) = migrated(server);
    let store = open(&serving).unwrap();
    fill(&store);
    server.sql(&name, "CREATE SCHEMA other; CREATE TABLE other.secret (of_another_service text)");
    let thief = link(&serving);
    let refused = |sql: &str| match thief.batch(sql) {
        Err(StoreError::Fault(told)) => assert!(told.contains("SQLSTATE 42501"), "{sql}: {told}"),
        other => panic!("{sql}: {other:?}"),
    };
    for (table, _) in GRANTS {
        refused(&format!("DROP TABLE {table}"));
        refused(&format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"));
        // PostgreSQL only warns that it grants nothing.
        thief.batch(&format!("GRANT ALL ON {table} TO serving_{name}")).unwrap();
        if !table.starts_with("register") {
            refused(&format!("TRUNCATE {table}"));
        }
    }
    for table in [
        "seals",
        "audit",
        "log_nodes",
        "cosignatures",
        "restorations",
        "accepted_clocks",
        "roots",
        "issuer_keys",
    ] {
        refused(&format!("DELETE FROM {table}"));
        refused(&format!("UPDATE {table} SET mac = mac, {} = NULL", column(table)));
    }
    thief.batch("SET trefoil.tenant = 'all'").unwrap();
    let sealed = "UPDATE audit SET receipt = NULL, mac = '' WHERE receipt IS NOT NULL";
    assert_eq!(server.sql(&name, "SELECT count(*) > 0 FROM audit WHERE receipt IS NOT NULL"), "t");
    assert_eq!(thief.execute(sealed, &[]), Ok(0), "a sealed entry stays as it is");
    refused("INSERT INTO node SELECT * FROM node");
    refused("DELETE FROM node");
    refused("CREATE TABLE more (x int)");
    refused("CREATE TEMP TABLE seals (x int)");
    refused(
        "CREATE OR REPLACE FUNCTION prune_seal(bigint, bytea, bytea) RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
    );
    refused("SELECT * FROM other.secret");
    refused("SET ROLE trefoil");
    refused(&format!("SET ROLE owner_{name}"));
    refused(&format!("ALTER DATABASE {name} SET search_path = other"));
    refused("SELECT pg_read_file('PG_VERSION')");
    drop(thief);
    assert_eq!(rights_of(&serving), Rights::default());
    read_all(&store).unwrap();
    assert_eq!(store.seal(0), Ok(Some(vec![1; 100])));
}

/// A column beside the key that the role may not change.
fn column(table: &str) -> &str {
    match table {
        "seals" => "bytes",
        "audit" => "statement",
        "log_nodes" => "hash",
        "cosignatures" => "line",
        "restorations" | "accepted_clocks" => "first_seal",
        "roots" => "root",
        _ => "key",
    }
}

fn seal(number: u64, issuer: &str) -> Seal {
    let header = SealHeader {
        issuer: issuer.to_owned(),
        key_set_id: KeySetId::new([1; 32]),
        seal_number: number,
        previous: [2; 32],
        log_root: [3; 32],
        tree_size: 1 << 20,
        root: [4; 32],
        time: 1 << 31,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    };
    Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) }
}

/// Claim V105.
#[test]
fn the_role_that_serves_prunes_a_seal_to_its_own_header_and_to_nothing_else() {
    let Some(server) = Server::shared() else { return };
    let (_, serving, _) = migrated(server);
    let store = open(&serving).unwrap();
    let [own, other] = ["auth.example", "evil.example"].map(|issuer| seal(7, issuer));
    let (whole, header) = (own.encode(), own.header.encode());
    store.put_seal(7, whole.clone(), vec![]).unwrap();
    let thief = link(&serving);
    let mut forged =
        vec![other.header.encode(), seal(8, "auth.example").header.encode(), vec![], whole.clone()];
    forged.extend([1, 40, 72, header.len() - 1].map(|length| header[..length].to_vec()));
    // The end of the header after less of its claims.
    forged.push([&header[..40], &header[header.len() - 40..]].concat());
    for byte in 0..header.len() {
        let mut edited = header.clone();
        edited[byte] ^= 1;
        forged.push(edited);
    }
    for forged in &forged {
        let sql = format!("SELECT prune_seal(7, '\\x{}', '\\x00')", hex::encode(forged));
        assert_eq!(thief.told(&sql), Ok(Some(vec![Some("0".to_owned())])), "{}", hex::encode(forged));
    }
    assert_eq!(store.seal(7), Ok(Some(whole)));
    let refused = store.prune_seals(vec![(7, other.header.encode())]);
    assert!(matches!(&refused, Err(StoreError::Fault(told)) if told.contains("seal 7")), "{refused:?}");
    for _ in 0..2 {
        store.prune_seals(vec![(7, header.clone()), (6, header.clone())]).unwrap();
        assert_eq!(store.seal(7), Ok(Some(header.clone())));
    }
    assert_eq!(store.last_pruned(), Ok(Some(7)));
}

/// Claim V105.
#[test]
fn a_role_with_too_many_rights_is_named_and_one_with_too_few_is_refused() {
    let Some(server) = Server::shared() else { return };
    let (owner, serving, name) = migrated(server);
    let role = format!("serving_{name}");
    assert_eq!(rights_of(&serving), Rights::default());
    assert_eq!(rights_of(&owner).excess.as_deref(), Some("owns the tables"));
    let superuser = rights_of(&server.address(&name)).excess.unwrap();
    assert!(superuser.contains("superuser"), "{superuser}");
    server.sql(&name, &format!("GRANT CREATE ON SCHEMA public TO {role}"));
    assert_eq!(rights_of(&serving).excess.as_deref(), Some("may make tables"));
    server
        .sql(&name, &format!("REVOKE CREATE ON SCHEMA public FROM {role}; GRANT DELETE ON seals TO {role}"));
    assert_eq!(rights_of(&serving).excess.as_deref(), Some("DELETE on seals"));
    // A role that has more than it needs works.
    open(&serving).unwrap();
    server.sql(
        &name,
        &format!("REVOKE INSERT ON sessions FROM {role}; REVOKE EXECUTE ON FUNCTION prune_seal FROM {role}"),
    );
    let Err(StoreError::Unusable(told)) = open(&serving).map(drop) else { panic!("it lacks rights") };
    for expected in ["INSERT on sessions, EXECUTE on prune_seal", "trefoil store migrate --serve-as"] {
        assert!(told.contains(expected), "{told}");
    }
    migrate(&address(&owner), &SECRET, PATIENCE, Some(&role)).unwrap();
    assert_eq!(rights_of(&serving), Rights::default());
    open(&serving).unwrap();
}

#[test]
fn a_role_that_owns_nothing_says_who_makes_the_tables() {
    let Some(server) = Server::shared() else { return };
    let [owner, serving] = server.roles();
    let name = owner.split(['/', '?']).nth(3).unwrap();
    server.sql(name, &format!("GRANT CONNECT ON DATABASE {name} TO serving_{name}"));
    let Err(StoreError::Fault(told)) = open(&serving).map(drop) else { panic!("it made tables") };
    assert!(told.contains("permission denied") && told.contains("trefoil store migrate"), "{told}");
    let missing = migrate(&address(&owner), &SECRET, PATIENCE, Some("nobody\"; DROP TABLE node; --"));
    assert!(
        matches!(&missing, Err(StoreError::Fault(told)) if told.contains("does not exist")),
        "{missing:?}"
    );
    let other = migrate(&address(&owner), &[8; 32], PATIENCE, None);
    assert!(matches!(other, Err(StoreError::Forged(_))), "{other:?}");
}

#[test]
fn a_session_has_its_own_settings_whatever_the_database_says() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let settings = [
        ("standard_conforming_strings", "off", "on"),
        ("bytea_output", "escape", "hex"),
        ("DateStyle", "German", "ISO, MDY"),
        ("TimeZone", "'Asia/Kathmandu'", "UTC"),
        ("idle_session_timeout", "300", "0"),
    ];
    for (name, value, _) in settings {
        server.sql("postgres", &format!("ALTER DATABASE {database} SET {name} = {value}"));
    }
    let link = link(&url);
    for (name, _, own) in settings {
        let told = link.told(&format!("SHOW {name}")).unwrap();
        assert_eq!(told, Some(vec![Some(own.to_owned())]), "{name}");
    }
}
