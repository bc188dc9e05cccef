//! What a start opens of an installation, in this order. `trefoil doctor` goes the same way through a directory that is only looked at
//! ([`DataDir::look`]): nothing is made, noted or accepted there.

use super::store::{self, OpenStore, database_file};
use super::stored::{Stored, check_vault, introduce, refuse_older};
use super::{StartError, callers, not_opened};
use crate::config::{self, Config, Place};
use crate::listener::Claim;
use crate::tls::{CERTIFICATE_FILE, PRIVATE_KEY_FILE, Pair, TlsError};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use trefoil_attest::witness::Witness;
use trefoil_host::identity::Identity;
use trefoil_key_holder::vault::{SqliteVault, VAULT_FILE};
use trefoil_key_holder::{Quorum, Remote};
use trefoil_matching::{KeyHolder, KeyHolding, Local, StoreAge};
use trefoil_service::keys::signing_keys::{self, KeysError, Opened};
use trefoil_service::log::retention::Pruner;
use trefoil_service::login::past::{self, Past};
use trefoil_service::subjects::leftovers::Leftovers;
use trefoil_service::tenants::directory::Directory;
use trefoil_service::tenants::notes::Notes;
use trefoil_service::tenants::operators::Operators;
use trefoil_service::time;
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::store::{AcceptedClock, Register, Store};

/// The parts of an installation, which fit each other.
pub(super) struct Installation {
    pub(super) sockets: [Claim; 2],
    pub(super) issuer: String,
    /// `None` in a look without their passphrase.
    pub(super) keys: Option<Opened>,
    /// `None` in a look, if it is still to be made.
    pub(super) certificate: Option<Arc<Pair>>,
    pub(super) store: OpenStore,
    pub(super) stored: Stored,
    pub(super) key_holder: Arc<dyn KeyHolding>,
    /// That of a key-holder in this process.
    pub(super) vault: Option<Arc<SqliteVault>>,
    pub(super) register: Option<Arc<dyn Register>>,
    pub(super) past: Past,
    pub(super) leftovers: Leftovers,
    pub(super) notes: Notes,
    pub(super) operators: Operators,
    pub(super) accounts: Directory,
    pub(super) pruner: Option<Pruner>,
    pub(super) witnesses: Vec<Witness>,
}

impl Installation {
    /// Opens a directory, or looks at it.
    ///
    /// # Errors
    /// The first thing that is missing or wrong. In a look, [`StartError::Unfinished`] for what the first start has not made yet.
    pub(super) fn open(
        directory: &DataDir,
        sockets: [Option<TcpListener>; 2],
        config: &Config,
        now: impl Fn() -> u64 + Clone + Send + Sync + 'static,
        supervisor: &Supervisor,
    ) -> Result<Installation, StartError> {
        let stored = |what, cause: &dyn ToString| StartError::Stored { what, cause: cause.to_string() };
        // What may fail for a reason outside of the directory comes before the first keys: somebody who finds keys takes the installation for
        // complete.
        let sockets = claimed(sockets, config)?;
        let database = store::database(config)?;
        store::reach(config, database.as_ref(), directory)?;
        let issuer = config.issuer(signing_keys::kept_issuer(directory).as_deref())?;
        let keys = keys_of(directory, config, &issuer, now())?;
        let certificate = certificate(directory, &config.tls)?;
        // Before the store, which other nodes of a fleet change.
        let remote = elsewhere(supervisor, &config.key_holder, directory)?;
        let store = store::open(supervisor, directory, config, (database.as_ref(), remote.1.1), now())?;
        if config.store.accept_clock && !directory.is_still() {
            accept_clock(store.store.as_ref(), now())?;
        }
        let newest = || signing_keys::newest(directory.path());
        let trust_root = keys.as_ref().map_or_else(newest, |keys| Ok(keys.trust_root.clone()))?;
        let mut found = Stored::check(store.store.as_ref(), &trust_root, now())?;
        let (key_holder, vault) =
            key_holder(supervisor, config, directory, (now.clone(), remote), (&store, &found))?;
        store::tell_of_vaults(config, key_holder.as_ref(), found.sealed.as_ref());
        let register = store::register(supervisor, config, (database.as_ref(), directory.is_still()), &now)?;
        // A register remembers what was accepted before the start.
        let started_at = if register.is_some() { 0 } else { now() };
        let restored_at = found.restored.map(|restored| restored.time);
        let past = Past::of(store.store.as_ref(), started_at, restored_at);
        let (past, reached) = past.map_err(|cause| stored("seals", &cause))?;
        found.head.time = reached;
        let notes = Notes::new(&issuer);
        let (operators, accounts) = callers::open(config, directory, (&store.store, &key_holder), &notes)?;
        let pruner = config.retention.keeping().map(|keeping| Pruner::new(keeping, store.store.as_ref()));
        Ok(Installation {
            sockets,
            issuer,
            keys,
            certificate,
            leftovers: Leftovers::of(store.store.as_ref()).map_err(|cause| stored("store", &cause))?,
            store,
            stored: found,
            key_holder,
            vault,
            register,
            past,
            notes,
            operators,
            accounts,
            pruner: pruner.transpose().map_err(|cause| stored("seals", &cause))?,
            witnesses: config.witnesses.parse().map_err(|cause| stored("configuration", &cause))?,
        })
    }
}

/// Whether a start would refuse, where no service runs in the directory: nothing is changed. Keys are opened if their passphrase is there.
///
/// # Errors
/// The words of the start. [`StartError::Unfinished`] if a first start is to go on.
pub fn look(config: &Config, now: u64) -> Result<(), StartError> {
    let (directory, begun) = (DataDir::look(&config.server.data_dir)?, Instant::now());
    let now = move || now + begun.elapsed().as_secs();
    let found = Installation::open(&directory, [None, None], config, now, &Supervisor::default())?;
    found.certificate.map(drop).ok_or(StartError::Unfinished(CERTIFICATE_FILE))
}

/// The addresses of both listeners.
fn claimed([public, admin]: [Option<TcpListener>; 2], config: &Config) -> Result<[Claim; 2], StartError> {
    let take =
        |socket, address| Claim::take(socket, address).map_err(|cause| StartError::Bind { address, cause });
    Ok([take(public, config.server.listen)?, take(admin, config.server.admin_listen)?])
}

/// Opens the signing keys under their own lock and releases it on return: keys may be rotated while the
/// service runs, and the next start uses them.
fn keys_of(
    directory: &DataDir,
    config: &Config,
    issuer: &str,
    now: u64,
) -> Result<Option<Opened>, StartError> {
    let source = signing_keys::Source::of_process(&config.keys.passphrase_file);
    if !directory.is_still() {
        let directory = DataDir::open_for_keys(directory.path())?;
        return Ok(Some(signing_keys::open_or_make(&directory, issuer, &source, now)?));
    }
    if !signing_keys::are_there(directory.path()) {
        return Err(StartError::Unfinished("signing.keys"));
    }
    match signing_keys::open_or_make(directory, issuer, &source, now) {
        // Only the service's unit may have it.
        Err(KeysError::PassphraseMissing { .. }) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// A look makes no certificate.
fn certificate(directory: &DataDir, tls: &config::Tls) -> Result<Option<Arc<Pair>>, TlsError> {
    let is_own = tls.certificate.as_os_str().is_empty();
    let is_there = !is_own || directory.has(CERTIFICATE_FILE)? && directory.has(PRIVATE_KEY_FILE)?;
    let opened = (is_there || !directory.is_still()).then(|| Pair::open(tls, directory, SystemTime::now()));
    opened.transpose()
}

/// Takes this machine's clock for right although the newest seals are dated ahead of it.
fn accept_clock(store: &dyn Store, now: u64) -> Result<(), StartError> {
    let accepted = past::accept_clock(store, now)
        .map_err(|cause| StartError::Stored { what: "seals", cause: cause.to_string() })?;
    match accepted {
        Some(AcceptedClock { from, until, .. }) => {
            let (from, until) = (time::format(from), time::format(until));
            tracing::warn!(
                from,
                until,
                "the clock is accepted; requests that are dated in this time are refused for good"
            );
        }
        None => tracing::warn!("--accept-clock changes nothing: no seal is dated ahead of the clock"),
    }
    Ok(())
}

/// A key-holder, and its vault if it is in this process.
type OpenedKeyHolder = (Arc<dyn KeyHolding>, Option<Arc<SqliteVault>>);

/// The key-holder: a connection to one in another process, or one in this process with its vault in the data directory.
fn key_holder(
    supervisor: &Supervisor,
    config: &Config,
    directory: &DataDir,
    (now, remote): (impl Fn() -> u64 + Send + Sync + 'static, Elsewhere),
    (store, stored): (&OpenStore, &Stored),
) -> Result<OpenedKeyHolder, StartError> {
    let path = directory.join(VAULT_FILE);
    if let (Some(key_holder), seen) = remote {
        if path.exists() {
            tracing::warn!(path = %path.display(), "this vault is not used: the key-holder runs apart");
        }
        refuse_older(store.store.as_ref(), &store.path, seen)?;
        return Ok((key_holder, None));
    }
    let secret = directory.secret::<32>("vault.key")?;
    let file = database_file(directory, VAULT_FILE)?;
    let failed = |cause| not_opened(&path, cause);
    let vault = Arc::new(SqliteVault::open(supervisor, file, &secret).map_err(failed)?);
    let seen = introduce(store, (&vault, &path), config.store.restored)?;
    let accepts = config.key_holder.accept_older_vault;
    check_vault(&vault, &path, (stored.sealed.as_ref(), seen), (accepts, directory.is_still()))?;
    let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rand::rng(), now())
        .map_err(|cause| StartError::Stored { what: "key-holder's vault", cause: cause.to_string() })?;
    directory.note(VAULT_FILE)?;
    if !directory.is_still() {
        // A database that was restored is older than the vault has seen.
        vault.note_beside().map_err(failed)?;
    }
    Ok((Arc::new(Local::new(key_holder.into(), now)), Some(vault)))
}

/// A key-holder in another process, if there is one, and how new it has seen the store, if it answers.
type Elsewhere = (Option<Arc<dyn KeyHolding>>, StoreAge);

/// A connection to the key-holders in other processes, if the configuration names any.
fn elsewhere(
    supervisor: &Supervisor,
    config: &config::KeyHolder,
    directory: &DataDir,
) -> Result<Elsewhere, StartError> {
    let stored = |what, cause: &dyn ToString| StartError::Stored { what, cause: cause.to_string() };
    let identity = || {
        let credential = Identity::open(directory, trefoil_key_holder::cli::GATEWAY_IDENTITY);
        credential.map_err(|cause| stored("credential for the key-holder", &cause))
    };
    let failed = |cause: std::io::Error| stored("connection to the key-holder", &cause);
    let deadline = Instant::now() + config.bounds().timeout;
    let warn = |why: String| tracing::warn!(why, "started without a key-holder");
    let key_holder: Arc<dyn KeyHolding> =
        match config.place().map_err(|cause| stored("configuration", &cause))? {
            Place::Here => return Ok((None, (0, 0))),
            Place::One(address) => {
                let place = address.authority.clone();
                let remote =
                    Remote::start(supervisor, address, identity()?, config.bounds(), None).map_err(failed)?;
                remote.wait_until_ready(deadline).unwrap_or_else(|why| warn(format!("{place}: {why}")));
                Arc::new(remote)
            }
            Place::Three([one, two, three]) => {
                let at = [(one, identity()?), (two, identity()?), (three, identity()?)];
                let quorum = Quorum::start(supervisor, at, config.bounds()).map_err(failed)?;
                quorum.wait_until_ready(deadline).unwrap_or_else(warn);
                if let Some(cause) = quorum.misplaced() {
                    return Err(stored("key-holders", &cause));
                }
                Arc::new(quorum)
            }
        };
    let seen = key_holder.note_store((0, 0)).unwrap_or_default();
    Ok((Some(key_holder), seen))
}
