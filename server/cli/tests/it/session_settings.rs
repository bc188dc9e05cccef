//! PostgreSQL with settings of the role, the database or a pooler that would change what is written: each session has its own, or is refused by name.

use crate::service::{self, Service, answer};
use trefoil_api::Decision;
use trefoil_server::config::DatabaseUrl;
use trefoil_testing::postgres::Server;

/// Settings that a role may have for reasons of another program.
const SETTINGS: [&str; 16] = [
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
];

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_role_change_nothing_that_is_stored() {
    let Some(server) = Server::start(&[]) else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let mut config = service::config(&folder.path().join("data"));
    config.store.url = DatabaseUrl(url.clone());
    config.store.timeout_ms = 10_000;
    for setting in SETTINGS {
        server.sql("postgres", &format!("ALTER DATABASE {database} SET {setting}"));
    }
    let service = Service::new(config.clone()).await;
    let people = service.people(1, 1, 73).await;
    service.welcome(&people[0]).await;
    let login = async |service: &Service, nonce| {
        answer(&service.authenticate(&service.request(&people[0], &people[0].face, nonce)).await).decision
    };
    assert_eq!(login(&service, 1).await, Decision::Match);
    let service = service.restart(config.clone()).await;
    assert_eq!(login(&service, 2).await, Decision::Match);
    // Those of the moment after are not those of the start.
    for setting in SETTINGS {
        let name = setting.split(' ').next().unwrap();
        server.sql("postgres", &format!("ALTER DATABASE {database} RESET {name}"));
    }
    let service = service.restart(config).await;
    assert_eq!(login(&service, 3).await, Decision::Match);
    assert!(service.server.shutdown().await);
}
