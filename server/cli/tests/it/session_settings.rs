//! PostgreSQL with settings of the role, the database or a pooler that would change what is written: each session has its own, or is refused by name.
//! Those that the operator chooses by must not change under a running process.

use crate::key_holder::wait_for;
use crate::world::*;
use trefoil_pipeline::Clock;
use trefoil_server::config::{Config, DatabaseUrl};
use trefoil_server::server::Server as Trefoil;
use trefoil_testing::postgres::Server;

/// Settings that a role may have for reasons of another program.
const SETTINGS: [&str; 18] = [
    "standard_conforming_strings = off",
    "escape_string_warning = off",
    "bytea_output = escape",
    "client_encoding = latin1",
    "datestyle = 'German, DMY'",
    "timezone = 'Asia/Kathmandu'",
    "intervalstyle = iso_8601",
    "default_transaction_isolation = serializable",
    "default_transaction_deferrable = on",
    "synchronous_commit = off",
    "statement_timeout = 50",
    "lock_timeout = 1",
    "idle_in_transaction_session_timeout = 1",
    "idle_session_timeout = 300",
    "row_security = off",
    "transform_null_equals = on",
    "array_nulls = off",
    "extra_float_digits = -15",
];

/// A server of its own, the name of a database there, and the configuration of a service that keeps its store in it.
fn set_up(folder: &tempfile::TempDir) -> Option<(Server, String, Config)> {
    let server = Server::start(&[])?;
    let url = server.database();
    let database = url.split(['/', '?']).nth(3)?.to_owned();
    let mut config = service::config(&folder.path().join("data"));
    (config.store.url, config.store.timeout_ms) = (DatabaseUrl(url), 10_000);
    Some((server, database, config))
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_role_change_nothing_that_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let Some((server, database, config)) = set_up(&folder) else { return };
    for setting in SETTINGS {
        server.sql("postgres", &format!("ALTER DATABASE {database} SET {setting}"));
    }
    let service = Service::new(config.clone()).await;
    let people = service.welcomed(1, 73).await;
    let login = async |service: &Service, nonce| {
        answer(&service.login(&people[0], &people[0].face, nonce).await).decision
    };
    assert_eq!(login(&service, 1).await, Decision::Match);
    let service = service.restart().await;
    assert_eq!(login(&service, 2).await, Decision::Match);
    // Those of the moment after are not those of the start.
    for setting in SETTINGS {
        let name = setting.split(' ').next().unwrap();
        server.sql("postgres", &format!("ALTER DATABASE {database} RESET {name}"));
    }
    let service = service.restart().await;
    assert_eq!(login(&service, 3).await, Decision::Match);
}

/// A setting of the role or the database that changes while the service runs, and what the refusal says.
const CHANGED: [(&str, &str, &str); 4] = [
    (
        "DATABASE",
        "search_path = decoy, public",
        "search_path leads a session to the schemas pg_catalog, decoy, public",
    ),
    ("ROLE", "search_path = pg_catalog, decoy", "this process began with pg_catalog, public"),
    ("DATABASE", "default_transaction_read_only = on", "default_transaction_read_only is on"),
    ("DATABASE", "session_replication_role = replica", "session_replication_role = replica"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_other_schemas_than_the_first_or_that_may_not_write_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let Some((server, database, config)) = set_up(&folder) else { return };
    let service = Service::new(config.clone()).await;
    service.welcomed(1, 74).await;
    // Tables of the same names, which a session would read and write without an error.
    let tables = server.sql(&database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    let copies: String =
        tables.lines().map(|table| format!("CREATE TABLE decoy.{table} AS TABLE public.{table};")).collect();
    server.sql(&database, &format!("CREATE SCHEMA decoy; {copies}"));
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE usename = 'trefoil' AND datname = current_database() AND pid <> pg_backend_pid()";
    for (of, setting, says) in CHANGED {
        let name = setting.split(' ').next().unwrap();
        let alter = |what: &str| {
            let whose = if of == "ROLE" { "trefoil" } else { &database };
            server.sql("postgres", &format!("ALTER {of} {whose} {what}"));
        };
        alter(&format!("SET {setting}"));
        server.sql(&database, end);
        until(async || {
            let refused = wait_for(&service, 503).await;
            println!("{setting}: {refused}");
            refused.contains(says)
        })
        .await;
        alter(&format!("RESET {name}"));
        server.sql(&database, end);
        wait_for(&service, 200).await;
    }
    service.admin.tenant(&service::policy()).await;
    let counts = "SELECT (SELECT generation FROM decoy.node) < (SELECT generation FROM public.node)";
    assert_eq!(server.sql(&database, counts), "t", "the service went on where it began");
    // One that is there from the start, which it cannot do without.
    assert!(service.server.shutdown().await);
    server.sql("postgres", &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"));
    let started = Trefoil::start(config, Arc::clone(&service.customer.clock) as Arc<dyn Clock>).await;
    let why = started.err().expect("it starts").to_string();
    assert!(why.contains("default_transaction_read_only is on"), "{why}");
}
