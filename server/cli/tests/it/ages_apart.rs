//! A store and a vault of different ages that are not two files of one directory: the key-holder is another process, or the store is in PostgreSQL.

use crate::quorum;
use crate::world::*;
use std::fs;
use trefoil_host::backup::Passphrase;
use trefoil_pipeline::Clock;
use trefoil_server::config::DatabaseUrl;
use trefoil_server::server::Server;
use trefoil_service::backup;
use trefoil_testing::copy;
use trefoil_testing::postgres::Server as Postgres;
use zeroize::Zeroizing;

/// A process that should end and serves instead fails its test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the store is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Store {
    File,
    Alone,
    Fleet,
}

/// The directory of a service, and its database.
pub(crate) struct Place<'a> {
    pub(crate) config: Config,
    pub(crate) database: Option<(&'a Postgres, String)>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(data: &Path, store: Store, postgres: &'a Postgres) -> Place<'a> {
        let mut config = service::config(data);
        config.store.url = DatabaseUrl::default();
        config.store.fleet = store == Store::Fleet;
        let mut database = None;
        if store != Store::File {
            config.store.url = DatabaseUrl(postgres.database());
            config.store.timeout_ms = 60_000;
            let name = config.store.url.0.split(['/', '?']).nth(3).unwrap().to_owned();
            database = Some((postgres, name));
        }
        Place { config, database }
    }

    /// Copies the directory and the database, which nobody uses, aside or back.
    pub(crate) fn copy(&self, from: &str, to: &str) {
        let data = &self.config.server.data_dir;
        let at = |end: &str| if end.is_empty() { data.clone() } else { data.with_extension(end) };
        let _ = fs::remove_dir_all(at(to));
        copy(&at(from), &at(to));
        self.copy_database(from, to);
    }

    pub(crate) fn copy_database(&self, from: &str, to: &str) {
        if let Some((postgres, name)) = &self.database {
            postgres.sql("postgres", &format!("DROP DATABASE IF EXISTS {name}{to} WITH (FORCE)"));
            postgres.sql("postgres", &format!("CREATE DATABASE {name}{to} TEMPLATE {name}{from}"));
        }
    }

    pub(crate) async fn start(&self, clock: &Arc<TestClock>) -> Result<(), String> {
        caught_up(clock);
        let started = Server::start(self.config.clone(), Arc::clone(clock) as Arc<dyn Clock>).await;
        let server = started.map_err(|cause| cause.to_string())?;
        assert!(server.shutdown().await);
        Ok(())
    }
}

/// The nodes of a fleet go by the clock of their database.
fn caught_up(clock: &TestClock) {
    clock.advance(trefoil_host::unix_s().saturating_sub(clock.unix_s()));
}

/// A service that changes its store once more after it was copied as `old`, and ends. Returns its clock.
pub(crate) async fn grown(place: &Place<'_>) -> Arc<TestClock> {
    let service = Service::at(place.config.clone(), service::policy(), TestClock::going_on()).await;
    let between = async |clock: &Arc<TestClock>| {
        place.copy("", "old");
        caught_up(clock);
        clock.step(-10);
    };
    let service = service.restart_after(between).await;
    service.admin.tenant(&service::policy()).await;
    let clock = Arc::clone(&service.customer.clock);
    assert!(service.server.shutdown().await);
    place.copy("", "new");
    clock
}

/// Claim V28.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_store_with_its_marks_does_not_start_beside_a_newer_vault_elsewhere() {
    let Some(postgres) = Postgres::shared() else { return };
    for (store, seats) in [(Store::File, 1), (Store::File, 3), (Store::Alone, 1), (Store::Fleet, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
        let mut place = Place::new(&data, store, postgres);
        place.config.key_holder.timeout_ms = 60_000;
        let mut holders = match seats {
            1 => {
                let listen = listen();
                KeyHolder::init(&keys, &data, &listen);
                vec![KeyHolder::start(&keys, &listen)]
            }
            _ => quorum::init(&keys, &data).iter().map(|config| quorum::start(config)).collect(),
        };
        let urls: Vec<String> = holders.iter().map(|holder| holder.url().to_owned()).collect();
        match seats {
            1 => place.config.key_holder.url.clone_from(&urls[0]),
            _ => place.config.key_holder.quorum = urls,
        }
        let clock = grown(&place).await;
        place.copy("old", "");
        // The second try does not make it newer.
        for _ in 0..5 {
            let why = place.start(&clock).await.expect_err("it starts");
            let named = match store {
                Store::File => "store.sqlite counts",
                _ => "postgres://",
            };
            assert!(
                why.contains("the store is older than the vault") && why.contains(named),
                "{store:?}: {why}"
            );
            assert!(why.contains("the vault of its key-holder has seen"), "{store:?}: {why}");
            assert!(why.contains("from the newest backup"), "{store:?}: {why}");
        }
        place.copy("new", "");
        place.start(&clock).await.unwrap();

        // The ways back that the manual names.
        match store {
            Store::File => {
                let [old, made] = ["old", "made"].map(|end| data.with_extension(end));
                let words =
                    || Passphrase::new(Zeroizing::new(b"correct horse battery".to_vec())).ok().unwrap();
                backup::make(&old, &made, &words(), clock.unix_s(), &mut |_| ()).unwrap();
                fs::remove_dir_all(&data).unwrap();
                backup::restore(&made, &data, &words(), None, clock.unix_s(), &mut |_| ()).unwrap();
            }
            // The directory is as old as the database.
            _ => {
                place.copy("old", "");
                place.start(&clock).await.expect_err("it starts");
                place.config.store.restored = true;
            }
        }
        clock.advance(1);
        place.start(&clock).await.unwrap();
        place.config.store.restored = false;
        place.start(&clock).await.unwrap();
        // It is the newest now, with fewer transactions or not.
        place.copy("new", "");
        let why = place.start(&clock).await.expect_err("from before the restoration");
        assert!(why.contains("and a restoration at") && why.contains("the vault of its key-holder"), "{why}");
        holders.iter_mut().for_each(KeyHolder::kill);
    }
}

/// Claim V28.
///
/// The key-holder is away while the service starts.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_store_is_found_when_the_key_holder_comes_back_and_the_process_ends() {
    let Some(postgres) = Postgres::shared() else { return };
    for store in [Store::File, Store::Fleet] {
        let folder = tempfile::tempdir().unwrap();
        let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
        let mut place = Place::new(&data, store, postgres);
        let mut holder = KeyHolder::beside(&keys, &data);
        holder.url().clone_into(&mut place.config.key_holder.url);
        place.config.key_holder.timeout_ms = 60_000;
        let clock = grown(&place).await;
        holder.kill();
        place.copy("old", "");
        place.config.key_holder.timeout_ms = 500;
        caught_up(&clock);
        let server = Server::start(place.config.clone(), Arc::clone(&clock) as Arc<dyn Clock>).await.unwrap();
        holder.again();
        let death = tokio::time::timeout(PATIENCE, server.death()).await.expect("it ends");
        assert!(death.is_damage && death.why.contains("the store is older than the vault"), "{death:?}");
        server.shutdown().await;
    }
}

/// Claim V28.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_and_a_vault_of_different_ages_do_not_start() {
    let Some(postgres) = Postgres::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut place = Place::new(&data, Store::Alone, postgres);
    let clock = grown(&place).await;
    let only = |names: &[&str]| {
        place.copy("new", "");
        for name in names {
            fs::copy(data.with_extension("old").join(name), data.join(name)).unwrap();
        }
    };
    // With their marks. No seal was made since, so none shows it.
    only(&["vault.sqlite", "vault.sqlite.mark"]);
    let why = place.start(&clock).await.expect_err("an older vault starts");
    assert!(why.contains("vault.sqlite") && why.contains("--accept-older-vault"), "{why}");
    only(&[trefoil_service::POSTGRES_MARK]);
    place.copy_database("old", "");
    for _ in 0..5 {
        place.start(&clock).await.expect_err("an older database starts");
    }
    let why = place.start(&clock).await.expect_err("an older database starts");
    assert!(
        why.contains("the store is older than the vault") && why.contains("vault.sqlite has seen"),
        "{why}"
    );
    assert!(why.contains("postgres.mark that is there is as old as the database"), "{why}");
    assert!(!why.contains("--store-restored"), "{why}");
    // As it says: with the newest directory the start can tell, and names the flag, which then helps.
    place.copy("new", "");
    place.copy_database("old", "");
    let why = place.start(&clock).await.expect_err("an older database starts");
    assert!(why.contains("--store-restored"), "{why}");
    place.config.store.restored = true;
    clock.advance(1);
    place.start(&clock).await.unwrap();
    place.config.store.restored = false;
    place.start(&clock).await.unwrap();
    place.copy("old", "");
    place.start(&clock).await.expect("both of one age");
    place.copy("new", "");
    place.start(&clock).await.unwrap();
}
