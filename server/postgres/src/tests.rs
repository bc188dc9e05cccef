//! What PostgreSQL adds to the promises of a store: the lock, the count, the codes of rows, and what happens without an answer.

use super::*;
use std::time::Instant;
use trefoil_attest::Restoration;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::store::suite::{H, T, fill, note, session, tenant};
use trefoil_storage::store::*;
use trefoil_testing::postgres::Server;

pub(crate) const SECRET: [u8; 32] = [7; 32];
/// For tests that do not wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn address(url: &str) -> Address {
    Address::read(url, &PasswordFiles::default()).unwrap()
}

pub(crate) fn open_with(
    url: &str,
    patience: Duration,
    opening: Opening,
) -> Result<(Postgres, Supervisor), StoreError> {
    let supervisor = Supervisor::default();
    let store = Postgres::open(&supervisor, &address(url), &SECRET, patience, opening)?;
    Ok((store, supervisor))
}

pub(crate) fn open(url: &str) -> Result<Postgres, StoreError> {
    Ok(open_with(url, PATIENCE, Opening::default())?.0)
}

/// Claim P13.
/// Claim V90: PostgreSQL as a store keeps what every store promises, and the same tests of the service pass on it: kills lose nothing that
/// was acknowledged.
/// Claim V123.
#[test]
fn postgres_holds_what_a_store_promises() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    suite::holds(&open(&url).unwrap());
    // Its sums are those of the rows that are left.
    open(&url).unwrap();
}

/// Waits until something is so.
pub(crate) fn until_within(longest: Duration, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < longest, "{what}");
        std::thread::yield_now();
    }
}

/// Reads every row; the first error.
pub(crate) fn read_all(store: &Postgres) -> Result<(), StoreError> {
    store.registry()?;
    store.policies(&T, 0, 9)?;
    store.usage(&T, ApiKeyId::new([0; 8]), 0, 9)?;
    store.roots(&T, 0, 9)?;
    store.template(&T, &H)?;
    store.subjects(&T, &Handle::new([0; 32]), 9)?;
    store.leftovers()?;
    store.live_sessions(&T, None, 0, 9)?;
    store.idempotency(&T, "k")?;
    store.audit(0, None, 99)?;
    store.created(&OperatorId::new([1; 8]), "k")?;
    store.last_seal()?;
    store.seal(0)?;
    store.log_node(0, 0)?;
    store.cosignatures(7)?;
    store.last_restoration()?;
    store.accepted_clocks()?;
    store.reserve_renewal(&T, &H).map(drop)
}

/// Claim V93.
#[test]
fn a_row_that_somebody_else_wrote_is_refused_when_it_is_read() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let store = open(&url).unwrap();
    fill(&store);
    read_all(&store).unwrap();
    drop(store);
    let columns = server.sql(
        &name,
        "SELECT table_name, column_name, data_type FROM information_schema.columns
         WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
    );
    let (mut edits, mut tables) = (0, std::collections::BTreeSet::new());
    for line in columns.lines() {
        let [table, column, kind] = line.split('|').collect::<Vec<_>>().try_into().unwrap();
        if table == "changes" {
            // A process that is alone does not read it.
            continue;
        }
        tables.insert(table.to_owned());
        // Another number, and the same bytes with one more; NULL becomes something.
        let edit = match kind {
            "bigint" => format!("coalesce({column}, 0) + 1000"),
            _ => format!("coalesce({column}, '') || '\\x00'::bytea"),
        };
        server
            .sql(&name, &format!("CREATE TABLE kept AS TABLE {table}; UPDATE {table} SET {column} = {edit}"));
        let read = open_with(&url, PATIENCE, Opening::default()).and_then(|(store, _)| read_all(&store));
        // A row under another key is not found by its own: that is a row that went, which LIMITS.md names.
        let is_key = is_key(table, column);
        assert!(
            matches!(&read, Err(StoreError::Forged(_) | StoreError::Unusable(_)))
                || (is_key && matches!(&read, Ok(()) | Err(StoreError::Conflict))),
            "{table}.{column}: {read:?}"
        );
        let back = format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept");
        server.sql(&name, &back);
        edits += 1;
    }
    assert!(edits > 100 && tables.len() == 22, "{edits} edits in {tables:?}");
    read_all(&open(&url).unwrap()).unwrap();
}

/// Tables whose primary key does not begin with the tenant, and why.
const NOT_BY_TENANT: [(&str, &str, &str); 13] = [
    ("node", "id", "one row, of the installation"),
    ("tenants", "id", "this is the tenant"),
    ("operators", "id", "an operator is of the installation"),
    ("operator_tokens", "operator,number", "of an operator"),
    ("creates", "operator,key", "what an operator made, also before its tenant was there"),
    ("audit", "number", "one trail of all tenants, in the order in which the log has it"),
    ("seals", "number", "one log of all tenants"),
    ("log_nodes", "level,number", "one log of all tenants"),
    ("cosignatures", "size,witness", "one log of all tenants"),
    ("restorations", "restored_at", "one log of all tenants"),
    ("accepted_clocks", "id", "one log of all tenants"),
    ("changes", "generation,number", "each node reads those of all tenants in their order"),
    ("register", "id", "one row, of the server"),
];
/// Rows of seconds, in memory only, by a digest of what they are of.
const BY_DIGEST: [(&str, &str); 1] = [("register_nonces", "half")];

/// Claim V134: In PostgreSQL the primary key of each table begins with the tenant, then the subject where it has one, but for a list of
/// tables with the reason of each.
///
/// So the tables can be partitioned, or distributed by an engine that shards, by tenant.
#[test]
fn primary_keys_begin_with_the_tenant_and_then_the_subject_but_for_tables_that_have_a_reason() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    drop(open(&url).unwrap());
    server.sql(&name, crate::register::TABLES);
    let columns = |of: &str, order: &str| {
        format!(
            "(SELECT string_agg(attname, ',' ORDER BY {order}) FROM pg_attribute AS a WHERE a.attrelid = c.oid AND {of})"
        )
    };
    let keys = server.sql(
        &name,
        &format!(
            "SELECT relname, {}, {} FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
             WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY relname",
            columns("attnum = ANY (i.indkey)", "array_position(i.indkey::int2[], attnum)"),
            columns("attnum > 0 AND NOT attisdropped", "attnum"),
        ),
    );
    let (mut excepted, mut led) = (0, 0);
    for line in keys.lines() {
        let [table, key, columns] = line.split('|').collect::<Vec<_>>().try_into().unwrap();
        let excepted_as = NOT_BY_TENANT.iter().map(|(table, key, _)| (*table, *key)).chain(BY_DIGEST);
        if let Some((_, expected)) = excepted_as.into_iter().find(|(name, _)| *name == table) {
            assert_eq!(key, expected, "{table}: its reason may be gone");
            excepted += 1;
            continue;
        }
        let has_subject = columns.split(',').any(|column| column == "handle");
        let first = if has_subject { "tenant,handle" } else { "tenant" };
        let begins = key == first || key.starts_with(&format!("{first},"));
        assert!(
            begins,
            "the primary key of {table} is ({key}) and does not begin with {first}: change it, or name the reason here"
        );
        led += 1;
    }
    assert_eq!((excepted, led), (NOT_BY_TENANT.len() + BY_DIGEST.len(), 11), "{keys}");
}

/// Columns by which rows are searched, so that an edited row is not found.
fn is_key(table: &str, column: &str) -> bool {
    let of = |columns: &[&str]| columns.contains(&column);
    match table {
        "node" => of(&["id"]),
        "usage" => of(&["tenant"]),
        "template_bytes" | "templates" | "generations" => of(&["tenant", "handle"]),
        "sessions" => of(&["tenant"]),
        "idempotency" => of(&["tenant", "key"]),
        "creates" => of(&["operator", "key"]),
        "seals" | "audit" => of(&["number"]),
        "log_nodes" => of(&["level", "number"]),
        "cosignatures" => of(&["size"]),
        _ => false,
    }
}

/// Claim V93.
///
/// In tables that a start loads as a whole: an API key is not brought back, a root not taken away.
#[test]
fn a_row_that_was_removed_or_put_back_is_found_at_the_next_start() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let store = open(&url).unwrap();
    fill(&store);
    server.sql(&name, "CREATE TABLE kept AS TABLE api_keys");
    store.revoke_api_key(&ApiKeyId::new([1; 8]), 7, note()).unwrap();
    store
        .put_policy(PolicyVersion { tenant: T, version: 2, policy: "{2}".to_owned(), made_at: 7 }, note())
        .unwrap();
    drop(store);
    let kept = server.sql(&name, "SELECT count(*) FROM api_keys WHERE revoked_at = 7");
    assert_eq!(kept, "1");
    for (edit, back) in [
        (
            "CREATE TABLE now AS TABLE api_keys; DELETE FROM api_keys; INSERT INTO api_keys SELECT * FROM kept",
            "DELETE FROM api_keys; INSERT INTO api_keys SELECT * FROM now; DROP TABLE now",
        ),
        (
            "CREATE TABLE now AS TABLE roots; DELETE FROM roots",
            "INSERT INTO roots SELECT * FROM now; DROP TABLE now",
        ),
        (
            "CREATE TABLE now AS TABLE policies; DELETE FROM policies WHERE version = 2",
            "INSERT INTO policies SELECT * FROM now WHERE version = 2; DROP TABLE now",
        ),
        (
            "CREATE TABLE now AS TABLE operator_tokens; DELETE FROM operator_tokens",
            "INSERT INTO operator_tokens SELECT * FROM now; DROP TABLE now",
        ),
    ] {
        server.sql(&name, edit);
        let Err(StoreError::Forged(told)) = open(&url).map(drop) else { panic!("{edit}") };
        assert!(told.contains("one of them was removed, added or put back"), "{told}");
        server.sql(&name, back);
        read_all(&open(&url).unwrap()).unwrap();
    }
}

/// Claim V91: One process uses a PostgreSQL database: a second one is refused, and one that lost the lock to another writes nothing more
/// and ends. A database that lost acknowledged transactions is refused.
#[test]
fn one_process_uses_a_database_and_the_second_is_told_who() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (store, _) = open_with(&url, PATIENCE, Opening::default()).unwrap();
    let begun = Instant::now();
    let Err(StoreError::InUse(told)) = open(&url) else { panic!("two processes") };
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    for expected in
        ["is in use by another process (server process ", "user trefoil from this machine", "Stop that one"]
    {
        assert!(told.contains(expected), "{told}");
    }
    let inspected = Postgres::inspect(&address(&url), &SECRET, PATIENCE).unwrap();
    assert!(inspected.holder.is_some() && inspected.generation == Some(1), "{inspected:?}");
    store.create_tenant(tenant(T), note()).unwrap();
    drop(store);
    let store = open(&url).unwrap();
    assert_eq!(store.registry().unwrap().tenants, vec![tenant(T)]);
}

#[test]
fn another_installations_database_is_refused() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    open(&url).unwrap().create_tenant(tenant(T), note()).unwrap();
    let other =
        Postgres::open(&Supervisor::default(), &address(&url), &[8; 32], PATIENCE, Opening::default());
    assert!(matches!(other, Err(StoreError::Forged(_))), "{:?}", other.err());
}

/// Claim V91.
#[test]
fn a_process_whose_database_another_one_took_writes_no_more_and_ends() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let (first, watched) = open_with(&url, PATIENCE, Opening::default()).unwrap();
    first.create_tenant(tenant(T), note()).unwrap();
    // The first one's sessions are ended and kept out until the second one has the lock.
    let away = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '{name}' AND application_name = 'trefoil'"
    );
    let second = loop {
        server.sql("postgres", &away);
        match open(&url) {
            Ok(store) => break store,
            Err(StoreError::InUse(_)) => {}
            Err(other) => panic!("{other}"),
        }
    };
    second.put_seal(0, vec![1], vec![]).unwrap();
    drop(second);
    let refused = first.put_seal(1, vec![2], vec![]);
    let begun = Instant::now();
    while watched.death().is_none() && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    let why = &watched.death().expect("it ends").why;
    assert!(why.contains("what this one has in memory is old"), "{why}");
    assert!(
        matches!(refused, Err(StoreError::Unusable(_) | StoreError::Unreachable(_) | StoreError::InUse(_))),
        "{refused:?}"
    );
    assert!(
        first.put_seal(1, vec![2], vec![]).is_err()
            && first.last_seal().is_err()
            && first.unready().is_some()
    );
    assert_eq!(open(&url).unwrap().last_seal(), Ok(Some((0, vec![1]))), "the first one wrote nothing");
}

/// Claim V92.
#[test]
fn lost_sessions_are_made_again_and_writes_are_neither_lost_nor_doubled() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let (store, watched) = open_with(&url, PATIENCE, Opening::default()).unwrap();
    let mut taken = Vec::new();
    for number in 0..60_u64 {
        if number % 10 == 5 {
            server.sql(
                "postgres",
                &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
            );
        }
        let begun = Instant::now();
        let stored = loop {
            match store.put_seal(number, vec![1; 10], vec![[number as u8; 32]]) {
                Err(StoreError::Unreachable(_) | StoreError::InUse(_)) if begun.elapsed() < PATIENCE => {
                    std::thread::yield_now();
                }
                other => break other,
            }
        };
        // A commit whose answer was lost has happened.
        assert!(matches!(stored, Ok(()) | Err(StoreError::Conflict)), "{stored:?}");
        taken.push(number);
    }
    assert_eq!(watched.death(), None);
    for number in taken {
        assert_eq!(store.seal(number).unwrap(), Some(vec![1; 10]));
        assert_eq!(store.log_node(0, number).unwrap(), Some([number as u8; 32]), "both or neither");
    }
}

/// Claim V91.
#[test]
fn a_database_that_lost_acknowledged_transactions_is_refused_unless_it_was_restored() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let opening =
        |restored| Opening { mark: Some(directory.high_water("m").unwrap()), restored, ..Opening::default() };
    let (store, _) = open_with(&url, PATIENCE, opening(false)).unwrap();
    server.sql(&name, "CREATE TABLE kept AS TABLE node");
    store.put_seal(5, vec![5], vec![]).unwrap();
    let reached = directory.high_water("m").unwrap().reached().count;
    assert_eq!(reached, 2, "the mark follows each transaction");
    server.sql(&name, "DELETE FROM node; INSERT INTO node SELECT * FROM kept");
    let refused = store.put_seal(0, vec![1], vec![]);
    assert!(matches!(&refused, Err(StoreError::Unusable(_))), "{refused:?}");
    drop(store);
    let Err(StoreError::Unusable(told)) = open_with(&url, PATIENCE, opening(false)).map(drop) else {
        panic!("an older copy was taken")
    };
    assert!(
        told.contains("counts 1 transactions and 2 were acknowledged") && told.contains("--store-restored"),
        "{told}"
    );
    let (store, _) = open_with(&url, PATIENCE, opening(true)).unwrap();
    store.put_seal(0, vec![1], vec![]).unwrap();
    drop(store);
    server.sql(&name, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    let Err(StoreError::Unusable(told)) = open_with(&url, PATIENCE, opening(false)).map(drop) else {
        panic!("an empty database was taken")
    };
    assert!(told.contains("it is empty and was not before"), "{told}");
}

#[test]
fn a_restored_database_is_taken_while_no_node_runs_and_then_by_all() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let node = |name: &str, restored| {
        let fleet = Some(name.to_owned());
        open_with(&url, PATIENCE, Opening { restored, fleet, ..Opening::default() })
    };
    let running = node("vm/1", false).unwrap();
    let Err(StoreError::InUse(told)) = node("vm/2", true).map(drop) else { panic!("beside another node") };
    assert!(told.contains("of trefoil vm/1,") && told.contains("stop all nodes"), "{told}");
    drop(running);
    let _first = node("vm/2", true).unwrap();
    let _second = node("vm/3", false).unwrap();
}

#[test]
fn a_server_that_gives_no_answer_is_given_up_in_time_and_found_again() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.database();
    let (store, watched) = open_with(&url, Duration::from_secs(1), Opening::default()).unwrap();
    store.put_seal(0, vec![1], vec![]).unwrap();
    server.freeze(true);
    let timed = |call: &dyn Fn() -> Result<(), StoreError>| {
        let begun = Instant::now();
        let outcome = call();
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        assert!(matches!(&outcome, Err(StoreError::Unreachable(_))), "{outcome:?}");
    };
    timed(&|| store.put_seal(1, vec![1], vec![]));
    for _ in 0..3 {
        timed(&|| store.put_seal(1, vec![1], vec![]));
        timed(&|| store.seal(0).map(drop));
    }
    server.freeze(false);
    let begun = Instant::now();
    while !matches!(store.put_seal(1, vec![1], vec![]), Ok(()) | Err(StoreError::Conflict)) {
        assert!(begun.elapsed() < Duration::from_secs(5), "it does not recover: {:?}", store.unready());
        std::thread::yield_now();
    }
    assert_eq!((store.seal(1), watched.death()), (Ok(Some(vec![1])), None));
}

#[test]
fn a_statement_that_waits_for_a_lock_ends_in_time_and_undoes_itself_alone() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let (store, _) = open_with(&url, Duration::from_secs(1), Opening::default()).unwrap();
    store.put_seal(0, vec![1], vec![]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| server.sql(&name, "BEGIN; LOCK TABLE seals; SELECT pg_sleep(3); COMMIT"));
        let begun = Instant::now();
        // Until the other session has the lock, this succeeds.
        let mut number = 1;
        let refused = loop {
            let asked = Instant::now();
            match store.put_seal(number, vec![1], vec![]) {
                Ok(()) if begun.elapsed() < PATIENCE => number += 1,
                other => break (other, asked.elapsed()),
            }
        };
        assert!(matches!(&refused.0, Err(StoreError::Unreachable(_))), "{refused:?}");
        assert!(refused.1 < Duration::from_secs(2), "{refused:?}");
        let restoration = Restoration { time: 1, first: 0 };
        while store.put_restoration(restoration).is_err() {
            assert!(begun.elapsed() < 2 * PATIENCE, "{:?}", store.unready());
        }
    });
    assert_eq!(store.last_restoration(), Ok(Some(Restoration { time: 1, first: 0 })));
}

#[test]
fn a_clock_that_is_ahead_removes_nothing_early() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let store = open(&url).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let session = |id, expires_at| Session { expires_at, ..session(id) };
    store.put_sessions(vec![session(1, now - 100), session(2, now + 500)]).unwrap();
    store.expire(now + 1000, now + 1000).unwrap();
    let there = |id| store.session(&T, &SessionId::new([id; 32])).unwrap().is_some();
    assert_eq!([there(1), there(2)], [false, true]);
}

/// Claim V124.
///
/// A process that got no answer to its commit repeats the write.
#[test]
fn a_write_of_usage_that_is_repeated_counts_once() {
    use trefoil_storage::store::{UsageCounts, UsageWrite};
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let store = open(&url).unwrap();
    let add = |process, number, matched| {
        let counts = UsageCounts { matched, ..UsageCounts::default() };
        let row = Usage { tenant: T, api_key: ApiKeyId::new([1; 8]), day: 5, counts };
        store.add_usage(UsageWrite { process, number }, vec![row], 0).unwrap();
        store.usage(&T, ApiKeyId::new([0; 8]), 0, 9).unwrap()[0].counts.matched
    };
    assert_eq!(
        [add(1, 1, 2), add(1, 1, 2), add(2, 1, 30), add(1, 1, 2), add(1, 2, 400)],
        [2, 2, 32, 32, 432]
    );
    let name = url.split(['/', '?']).nth(3).unwrap();
    let notes = || server.sql(name, "SELECT count(*) FROM idempotency");
    assert_eq!(notes(), "2", "one for each process");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    store.expire(now, now - 86_400).unwrap();
    assert_eq!(notes(), "2", "for a day");
}

/// Claim V93.
#[test]
fn tls_to_the_database_is_verified() {
    let Some(server) = Server::start(&[]) else { return };
    let name = server.database().split(['/', '?']).nth(3).unwrap().to_owned();
    let make = |host: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    let (certificate, key) = make("localhost");
    let own = server.folder().join("server.crt");
    let private = server.folder().join("server.key");
    for (path, text) in [(&own, &certificate), (&private, &key)] {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        server.give_away(path);
    }
    let folder = tempfile::tempdir().unwrap();
    let roots = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, other) = (roots("right.pem", &certificate), roots("other.pem", &make("localhost").0));
    let url = |host: &str, roots: &str| {
        format!("postgres://trefoil@{host}:{}/{name}?sslmode=verify-full&sslrootcert={roots}", server.port())
    };
    let refused = |url: &str| match open(url).err() {
        Some(StoreError::Unreachable(told)) => told,
        other => panic!("{url}: {other:?}"),
    };
    let told = refused(&url("localhost", &right));
    assert!(told.contains("TLS"), "a server without it: {told}");
    for setting in [
        format!("ssl_cert_file = '{}'", own.display()),
        format!("ssl_key_file = '{}'", private.display()),
        "ssl = on".to_owned(),
    ] {
        server.sql("postgres", &format!("ALTER SYSTEM SET {setting}"));
    }
    server.sql("postgres", "SELECT pg_reload_conf()");
    let begun = Instant::now();
    let store = loop {
        match open(&url("localhost", &right)) {
            Ok(store) => break store,
            Err(_) if begun.elapsed() < PATIENCE => std::thread::yield_now(),
            Err(cause) => panic!("{cause}"),
        }
    };
    store.put_seal(0, vec![1], vec![]).unwrap();
    let sessions = format!(
        "SELECT count(*), bool_and(ssl), min(version) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '{name}'"
    );
    let found = server.sql("postgres", &sessions);
    assert!(found.ends_with("|t|TLSv1.3") && !found.starts_with('0'), "{found}");
    drop(store);
    assert!(refused(&url("localhost", &other)).contains("invalid peer certificate"));
    assert!(refused(&url("127.0.0.1", &right)).contains("invalid peer certificate"), "another name");
}
