//! A day of logins in a store, on a virtual clock: their disk space after retention.
//!
//! Store, rows, log tree, pruning, audit and proofs are those of the service. Logins come at random (Poisson) on a virtual clock, and a
//! seal starts by the rule of [`trefoil_pipeline::Floor`], which is computed here. A seal takes no time, so none covers more logins than the rule gives it.
//! Signatures that are verified later are real: those that retention leaves. The others are bytes of the same length.

use std::path::{Path, PathBuf};
use trefoil_types::SessionId;
use trefoil_types::TenantId;

use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use serde_json::json;
use trefoil_attest::{
    Family, KeySetStatus, Seal, SealHeader, Suite, TrustRoot, TrustedKeySet, VaultState, verify_pruned_seal,
};
use trefoil_pipeline::ChainHead;
use trefoil_server::config::Config;
use trefoil_service::retention::{Audited, Pruner, Retained, audit, pruned_seal};
use trefoil_sign::SigningKeys;
use trefoil_storage::store::{Note, Session, Sqlite, Store, Tenant};

use crate::Failure;
use crate::Report;
use crate::clock::WORLD_START_S;
use crate::distribution::{Distribution, rounded};

const ISSUER: &str = "https://auth.example";
const TENANT: TenantId = TenantId::new([1; 16]);
/// A wrapped session is about this long.
const SESSION_BYTES: usize = 320;
/// Between two sweeps of expired sessions, seconds.
const SWEEP_S: u64 = 60;

/// What to run.
#[derive(Clone, Debug)]
pub struct Day {
    /// Length, seconds of the virtual clock.
    pub seconds: u64,
    /// Logins per second on average.
    pub logins_per_s: u32,
    /// Pruned seals that are verified offline.
    pub checked: u64,
    /// Where the store is.
    pub folder: PathBuf,
    /// Seed of the arrivals.
    pub seed: u64,
    /// Seconds for which seals stay whole; the service's default where absent.
    pub full_s: Option<u64>,
}

/// The state of the run.
struct World {
    store: Sqlite,
    keys: SigningKeys,
    head: ChainHead,
    config: Config,
    rng: StdRng,
    logins: u64,
    waits_ms: Vec<f64>,
    sealed_whole: u64,
}

/// Fills a store for a day, prunes as the service does, then audits all of it.
///
/// # Errors
/// When the store fails.
pub fn day(day: &Day) -> Result<Report, Failure> {
    let folder = tempfile::tempdir_in(&day.folder).map_err(Failure::in_step("make a folder"))?;
    let path = folder.path().join("store.sqlite");
    let (mut world, trust_root) = World::new(day, &path)?;
    let retained = Retained::default();
    let keeping = world.config.retention.keeping();
    let keeping = keeping.ok_or_else(|| Failure::fault("the defaults prune nothing"))?;
    let mut pruner = Pruner::new(keeping, &world.store).map_err(Failure::in_step("prune"))?;
    let hourly = world.live(day, &mut pruner, &retained, &path)?;
    let bytes = world.bytes(&path)?;
    let World { store, head, logins, waits_ms, sealed_whole, config, mut rng, .. } = world;
    let seals = head.next_number();
    let found = audit(&path, &trust_root);
    let mut problem = match &found {
        Ok(audited) if *audited == (Audited { seals, pruned: retained.counts()[0] }) => None,
        Ok(audited) => Some(format!("the audit saw {audited:?}, and {seals} seals were made")),
        Err(cause) => Some(format!("the audit: {cause}")),
    };
    let mut checked = 0;
    for _ in 0..day.checked {
        let number = rng.random_range(0..seals - 1);
        match pruned_seal(&store, number).map_err(Failure::fault)? {
            Some(seal) if verify_pruned_seal(&seal, &trust_root).is_ok() => checked += 1,
            _ => problem = Some(format!("seal {number} does not verify from its header")),
        }
    }
    let pruned = retained.counts()[0];
    let per_login = |bytes: u64| rounded(bytes as f64 / logins as f64);
    let waits = Distribution::new(waits_ms);
    let (first, last) = (hourly.first().copied().unwrap_or(0), hourly.last().copied().unwrap_or(0));
    let growth =
        per_login(last.saturating_sub(first) * hourly.len() as u64 / (hourly.len() as u64 - 1).max(1));
    let seal_bytes = sealed_bytes();
    let result = json!({
        "seconds": day.seconds, "logins_per_s": day.logins_per_s, "logins": logins, "seals": seals,
        "logins_per_seal": rounded(logins as f64 / seals as f64), "seal_bytes": seal_bytes,
        "seal_floor_ms": config.pipeline.seal_floor_ms, "seal_floor_logins": config.pipeline.seal_floor_logins,
        "full_s": config.retention.full_s, "checkpoint_s": config.retention.checkpoint_s,
        "sessions": "one of each login, each for an hour",
        "store_bytes": bytes, "bytes_per_login": per_login(bytes),
        "bytes_per_login_that_stay": growth,
        "bytes_per_login_a_seal_each": seal_bytes, "store_bytes_by_hour": hourly,
        "wait_ms": { "p50": rounded(waits.median()), "p90": rounded(waits.p90()), "max": rounded(waits.percentile(100)) },
        "pruned": pruned, "signed_for_real": sealed_whole, "audited": found.as_ref().map(|found| found.seals).unwrap_or(0),
        "verified_offline": checked, "seed": day.seed,
        "accelerated": "arrivals and the floor on a virtual clock; a seal takes no time; signatures that retention drops are zeros of the same length; no HTTP, no match",
    });
    let summary = format!(
        "{logins} logins, {seals} seals, {pruned} pruned: {bytes} bytes, {} per login, of which {growth} stay\n\
         {} seals audited, {checked} of {} verified from their headers\n",
        per_login(bytes),
        found.map(|found| found.seals).unwrap_or(0),
        day.checked
    );
    Ok(Report { summary, result, problem })
}

impl World {
    /// An empty store, and the trust root of the keys that will sign.
    fn new(day: &Day, path: &Path) -> Result<(World, TrustRoot), Failure> {
        let mut config = Config::embedded();
        config.retention.full_s = day.full_s.unwrap_or(config.retention.full_s);
        let rng = || StdRng::seed_from_u64(day.seed);
        let keys = SigningKeys::generate(WORLD_START_S, WORLD_START_S + day.seconds + 1000, &mut rng());
        let keys = keys.map_err(Failure::in_step("make keys"))?;
        let trusted = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
        let trust_root = TrustRoot::new(ISSUER, vec![trusted]).map_err(Failure::in_step("trust the keys"))?;
        let store = Sqlite::open(path, &[7; 32]).map_err(Failure::in_step("open a store"))?;
        let note = Note { tenant: TENANT, statement: Vec::new(), once: None };
        store.create_tenant(tenant(), note).map_err(Failure::in_step("make a tenant"))?;
        let (head, waits_ms) = (ChainHead::GENESIS, Vec::new());
        let world = World { store, keys, head, config, rng: rng(), logins: 0, waits_ms, sealed_whole: 0 };
        Ok((world, trust_root))
    }

    /// The store's bytes after each hour, or after each tenth of a shorter time.
    fn live(
        &mut self,
        day: &Day,
        pruner: &mut Pruner,
        retained: &Retained,
        path: &Path,
    ) -> Result<Vec<u64>, Failure> {
        let floor_s = self.config.pipeline.seal_floor_ms as f64 / 1000.0;
        let enough = self.config.pipeline.seal_floor_logins;
        let seconds = day.seconds as f64;
        let part = (seconds / 10.0).min(3600.0);
        let (mut next, mut began) = (self.gap(day), f64::NEG_INFINITY);
        let (mut hourly, mut swept, mut looked) = (Vec::new(), 0, 0);
        while next < seconds {
            // The first waiting login, and those that arrive until the floor is over or enough of them wait.
            let mut arrived = vec![next];
            next += self.gap(day);
            let due = (began + floor_s).max(arrived[0]);
            while next < due && arrived.len() < enough {
                arrived.push(next);
                next += self.gap(day);
            }
            began = if arrived.len() >= enough { arrived[arrived.len() - 1] } else { due };
            self.waits_ms.extend(arrived.iter().map(|at| (began - at) * 1000.0));
            self.seal(day, began, arrived.len() as u64)?;
            let now = WORLD_START_S + began as u64;
            if began as u64 > looked {
                looked = began as u64;
                while pruner.step(&self.store, now, retained).map_err(Failure::in_step("prune"))? {}
            }
            if began as u64 >= swept + SWEEP_S {
                swept = began as u64;
                self.store.expire(now, 0).map_err(Failure::in_step("expire sessions"))?;
            }
            if began >= part * (hourly.len() + 1) as f64 {
                hourly.push(self.bytes(path)?);
            }
        }
        Ok(hourly)
    }

    /// Seconds to the next login.
    fn gap(&mut self, day: &Day) -> f64 {
        -(1.0 - self.rng.random::<f64>()).ln() / f64::from(day.logins_per_s)
    }

    fn seal(&mut self, day: &Day, began: f64, logins: u64) -> Result<(), Failure> {
        let mut root = [0; 32];
        self.rng.fill_bytes(&mut root);
        let seconds = began as u64;
        let header = SealHeader {
            issuer: ISSUER.to_owned(),
            key_set_id: self.keys.id(),
            seal_number: self.head.next_number(),
            previous: self.head.previous,
            log_root: self.head.log.root(),
            tree_size: logins,
            root,
            time: WORLD_START_S + seconds,
            suite: Suite::One,
            vaults: vec![Some(VaultState { generation: self.head.next_number(), restored: 0 })],
            restored: None,
        };
        let completed = self.head.log.clone().push(&header.digest());
        self.head.follow(&header);
        let number = header.seal_number;
        let retention = &self.config.retention;
        // The last seals of a period, and those that are whole at the end, with some seconds to spare because the last one is not known.
        let stays =
            (header.time + 2) % retention.checkpoint_s < 4 || seconds + retention.full_s + 10 > day.seconds;
        let seal = if stays {
            self.sealed_whole += 1;
            self.keys.sign_seal(header, &mut self.rng).map_err(Failure::in_step("sign"))?
        } else {
            Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) }
        };
        self.store.put_seal(number, seal.encode(), completed).map_err(Failure::in_step("store a seal"))?;
        let sessions = (0..logins).map(|login| self.session(login, seconds)).collect();
        self.store.put_sessions(sessions).map_err(Failure::in_step("store sessions"))?;
        self.logins += logins;
        Ok(())
    }

    fn session(&self, login: u64, seconds: u64) -> Session {
        let mut id = [0; 32];
        // Uniform, as digests are.
        StdRng::seed_from_u64(self.logins + login).fill_bytes(&mut id);
        Session {
            tenant: TenantId::new([1; 16]),
            id: SessionId::new(id),
            expires_at: WORLD_START_S + seconds + 3600,
            wrapped: vec![5; SESSION_BYTES],
        }
    }

    /// Size of the file, complete without its write-ahead log.
    fn bytes(&self, path: &Path) -> Result<u64, Failure> {
        while self.store.shrink(16 << 20).map_err(Failure::in_step("shrink"))? {}
        self.store.checkpoint().map_err(Failure::in_step("checkpoint"))?;
        std::fs::metadata(path).map(|file| file.len()).map_err(Failure::in_step("look at the store"))
    }
}

fn tenant() -> Tenant {
    Tenant {
        id: TENANT,
        name: "shop".to_owned(),
        policy: "{}".to_owned(),
        policy_version: 1,
        public_key: Vec::new(),
        next_key: None,
        wrapped_key: Vec::new(),
        created_at: WORLD_START_S,
        disabled_at: None,
        deleted_at: None,
    }
}

/// The signatures alone.
fn sealed_bytes() -> u64 {
    let bytes: usize = Family::ALL.iter().map(|family| family.signature_bytes()).sum();
    bytes as u64
}
