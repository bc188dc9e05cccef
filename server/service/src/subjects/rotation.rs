//! Rotation of a tenant's template keys while its subjects log in.
//!
//! One thread per rotation. It takes templates of the old epoch one by one, blinds each, has the key-holder encrypt it under the
//! next keys, and replaces it in the store and in memory. Until the last is replaced both epochs decide; then the key-holder
//! erases the old one. A kill loses nothing: the store names the next key from the beginning to the end, every template
//! has its epoch, and a process that starts and finds a next key resumes the rotation. One that stopped for an error is tried again every
//! [`AGAIN`].
//!
//! In a fleet one node at a time rotates a tenant's keys: two would each replace at the key-holder what the other has stored. The others show its rotation as
//! running. A node that lost its right stops before the next template, and goes on once it has the right again. Each node looks every few seconds
//! whether a rotation is left at which nobody works, because its node is gone, and goes on with it.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "for rotations of keys, off the path of a login"
)]

use crate::refused::Refused;
use crate::subjects::Subjects;
use crate::tenants::notes::{By, Noted};
use crate::tenants::tenant::Tenant;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use trefoil_attest::What;
use trefoil_matching::{KeyHolderError, PublicKey, Renewal, TemplateName, blind, unblind};
use trefoil_storage::store::fleet::{Right, Work};
use trefoil_storage::store::wrap;
use trefoil_storage::store::{Handle, StoreError, Subject, TenantId};

/// Templates read at a time.
const CHUNK: usize = 64;
/// Pause after a temporary failure, such as a key-holder that is away.
const PAUSE: Duration = Duration::from_millis(200);

/// A rotation that stopped for an error is tried again after this time.
const AGAIN: Duration = Duration::from_secs(30);
/// Tries of a template that was deleted, enrolled or renewed again between two steps of its renewal.
const TRIES: usize = 5;
/// How long a node without the right may still be at one template, and the database may believe in a connection that is gone.
const FLEET_RENEWAL: Duration = Duration::from_secs(15);
/// How long a node that starts waits for the right of the process before.
const FLEET_START: Duration = Duration::from_secs(2);

/// The rotations of this process: the running ones, and how the last one of each tenant ended.
pub struct Rotations {
    subjects: Arc<Subjects>,
    tenants: Mutex<HashMap<TenantId, Ended>>,
    /// Every running rotation holds a read lock.
    running: RwLock<()>,
}

/// The progress of a tenant's rotation.
pub struct Standing {
    /// Whether it runs.
    pub state: State,
    /// The epoch of the newest keys.
    pub epoch: u32,
    /// Templates under them.
    pub renewed: u64,
    /// Templates that are still under the keys before.
    pub left: u64,
    /// Why it stopped.
    pub why: Option<String>,
}

/// Whether a tenant's keys are being rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No; every template is under the newest keys.
    Idle,
    /// Yes.
    Running,
    /// It has begun and has stopped.
    Stopped,
}

/// The outcome of a tenant's rotation in this process.
#[derive(Clone)]
enum Ended {
    Running,
    Done,
    /// With the epochs that the tenant had then.
    Failed((u32, u32), String, Instant),
}

impl Rotations {
    /// None has run in this process.
    pub fn new(subjects: Arc<Subjects>) -> Rotations {
        Rotations { subjects, tenants: Mutex::default(), running: RwLock::default() }
    }

    fn of(&self) -> MutexGuard<'_, HashMap<TenantId, Ended>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no rotation runs: once the service drains, each stops after its current template.
    pub fn wait(&self) {
        drop(self.running.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Begins or resumes a rotation of a tenant's keys. Returns its progress, and the note of its beginning.
    pub fn start(
        self: &Arc<Self>,
        tenant: TenantId,
        by: Option<&By>,
    ) -> Result<(Standing, Option<Noted>), Refused> {
        self.subjects.tenants.tenant(&tenant)?;
        if matches!(self.of().insert(tenant, Ended::Running), Some(Ended::Running)) {
            return Ok((self.status(&tenant)?, None));
        }
        match self.begin(tenant, by) {
            Ok(noted) => Ok((self.status(&tenant)?, noted)),
            Err(cause) => {
                self.failed(&tenant, &cause);
                Err(cause)
            }
        }
    }

    fn failed(&self, tenant: &TenantId, cause: &Refused) {
        let epochs = self.subjects.tenants.tenant(tenant).map_or((0, 0), |current| epochs(&current));
        self.of().insert(*tenant, Ended::Failed(epochs, cause.to_string(), Instant::now()));
    }

    /// Starts the thread, unless another node rotates the tenant's keys.
    fn begin(self: &Arc<Self>, tenant: TenantId, by: Option<&By>) -> Result<Option<Noted>, Refused> {
        let wait = if by.is_some() { Duration::ZERO } else { FLEET_START };
        let Some(alone) = Alone::of(&self.subjects, &tenant, wait)? else {
            self.of().remove(&tenant);
            return Ok(None);
        };
        let noted = begin(&self.subjects, &tenant, by)?;
        if self.subjects.tenants.tenant(&tenant)?.keys.len() == 1 {
            // Another node ended it.
            self.of().remove(&tenant);
            return Ok(None);
        }
        let (rotations, is_resumed) = (Arc::clone(self), noted.is_none());
        let run = move || {
            let _running = rotations.running.read().unwrap_or_else(PoisonError::into_inner);
            match run_alone(&rotations.subjects, &tenant, alone, is_resumed) {
                Ok(()) => drop(rotations.of().insert(tenant, Ended::Done)),
                // The next process resumes it.
                Err(Stop::Drains) => {}
                Err(Stop::Elsewhere) => drop(rotations.of().remove(&tenant)),
                Err(Stop::Failed(cause)) => {
                    tracing::error!(
                        tenant = hex::encode(tenant),
                        %cause,
                        "the rotation stopped, and is tried again"
                    );
                    rotations.failed(&tenant, &cause);
                }
            }
        };
        let thread = std::thread::Builder::new().name("key-rotation".to_owned()).spawn(run);
        thread.map(|_| noted).map_err(Refused::fault)
    }

    /// Resumes rotations that an earlier process began.
    pub fn resume(self: &Arc<Self>) {
        self.subjects.tenants.rotating().into_iter().for_each(|tenant| self.go_on(tenant));
    }

    /// Goes on with rotations that stopped for an error, and in a fleet with those at which no node works. Call it every few seconds.
    pub fn take_up(self: &Arc<Self>) {
        let fleet = self.subjects.node.store.fleet();
        for tenant in self.subjects.tenants.rotating() {
            let Ok(current) = self.subjects.tenants.tenant(&tenant) else { continue };
            let is_free = match self.of().get(&tenant) {
                Some(Ended::Running) => false,
                Some(Ended::Failed(then, _, at)) => *then != epochs(&current) || at.elapsed() >= AGAIN,
                Some(Ended::Done) | None => true,
            };
            // If the database gives no answer, the next look asks again.
            let is_left = fleet.is_none_or(|fleet| fleet.is_at_work(Work::KeyRotation, &tenant) == Ok(false));
            if is_free && is_left {
                self.go_on(tenant);
            }
        }
    }

    fn go_on(self: &Arc<Self>, tenant: TenantId) {
        if let Err(cause) = self.start(tenant, None) {
            tracing::warn!(tenant = hex::encode(tenant), %cause, "a rotation cannot go on yet; it is tried again");
            if self.subjects.node.store.fleet().is_some() && cause.is_passing() {
                self.of().remove(&tenant);
            }
        }
    }

    /// The progress of a tenant's rotation.
    pub fn status(&self, tenant: &TenantId) -> Result<Standing, Refused> {
        let fleet = self.subjects.node.store.fleet();
        let ended = self.of().get(tenant).cloned();
        let is_elsewhere = || fleet.map(|fleet| fleet.is_at_work(Work::KeyRotation, tenant));
        let is_running = matches!(ended, Some(Ended::Running)) || is_elsewhere().transpose()? == Some(true);
        if let Some(fleet) = fleet
            && !is_running
        {
            // Another node may have ended it a moment ago.
            fleet.catch_up()?;
        }
        let current = self.subjects.tenants.tenant(tenant)?;
        let (oldest, newest) = epochs(&current);
        let left = if oldest == newest { 0 } else { self.subjects.node.store.count_epoch(tenant, oldest)? };
        let (state, why) = match ended {
            _ if is_running => (State::Running, None),
            // Otherwise another node went on.
            Some(Ended::Failed(then, why, _)) if then == (oldest, newest) => (State::Stopped, Some(why)),
            _ if oldest != newest => (State::Stopped, None),
            _ => (State::Idle, None),
        };
        let renewed = self.subjects.node.store.count_epoch(tenant, newest)?;
        Ok(Standing { state, epoch: newest, renewed, left, why })
    }
}

fn epochs(tenant: &Tenant) -> (u32, u32) {
    let epoch = |key: Option<&PublicKey>| key.map_or(0, PublicKey::epoch);
    (epoch(tenant.keys.first()), epoch(tenant.keys.last()))
}

/// Makes the next keys known to all enrolments and matches, unless they are known already, or no operator asks and the rotation has ended elsewhere.
/// Returns the note of it.
fn begin(subjects: &Subjects, tenant: &TenantId, by: Option<&By>) -> Result<Option<Noted>, Refused> {
    let current = subjects.tenants.tenant(tenant)?;
    if current.keys.len() > 1 || by.is_none() {
        return Ok(None);
    }
    subjects.node.check_vaults()?;
    // From the moment the store has the next keys, it takes no template under those before. So none of this node waits between the key-holder and the store.
    let _none_enrols = subjects.enrolling.write().unwrap_or_else(PoisonError::into_inner);
    let next = subjects.node.key_holder.begin_rotation(*tenant)?;
    let what = What::KeyRotationBegun { epoch: next.epoch() };
    let keys = vec![current.keys[0].clone(), next];
    subjects.tenants.set_keys(tenant, (&current.keys, keys), (what, by), subjects.node.now()).map(Some)
}

/// The right to rotate a tenant's keys. A service without a fleet has it.
struct Alone(Option<Box<dyn Right>>);

impl Alone {
    /// Once this node knows what the one that had the right before did; `None` while another has it.
    fn of(subjects: &Subjects, tenant: &TenantId, wait: Duration) -> Result<Option<Alone>, Refused> {
        let Some(fleet) = subjects.node.store.fleet() else { return Ok(Some(Alone(None))) };
        let Some(right) = fleet.right(Work::KeyRotation, tenant, wait)? else { return Ok(None) };
        fleet.catch_up()?;
        Ok(Some(Alone(Some(right))))
    }

    fn is_lost(&self) -> bool {
        let checked = self.0.as_ref().map_or(Ok(()), |right| right.check());
        checked.inspect_err(|cause| tracing::warn!(%cause, "the rotation pauses")).is_err()
    }
}

/// Why a rotation ends before its end.
enum Stop {
    /// The process drains.
    Drains,
    /// Another node has the right to it, or may have it.
    Elsewhere,
    Failed(Refused),
}

impl From<Refused> for Stop {
    fn from(cause: Refused) -> Stop {
        Stop::Failed(cause)
    }
}

/// Runs a rotation, and after the loss of the right again.
fn run_alone(
    subjects: &Subjects,
    tenant: &TenantId,
    mut alone: Alone,
    mut is_resumed: bool,
) -> Result<(), Stop> {
    loop {
        if is_resumed && alone.0.is_some() {
            pause(subjects, FLEET_RENEWAL)?;
        }
        match run(subjects, tenant, &alone) {
            Err(Stop::Elsewhere) => drop(alone),
            ended => return ended,
        }
        (alone, is_resumed) = (again(subjects, tenant)?, true);
    }
}

/// The right again, unless another node gets it first.
fn again(subjects: &Subjects, tenant: &TenantId) -> Result<Alone, Stop> {
    let begun = Instant::now();
    loop {
        match Alone::of(subjects, tenant, Duration::ZERO) {
            Ok(Some(alone)) => return Ok(alone),
            Ok(None) if begun.elapsed() >= FLEET_RENEWAL => return Err(Stop::Elsewhere),
            Err(cause) if !cause.is_passing() => return Err(cause.into()),
            Ok(None) | Err(_) => pause(subjects, PAUSE)?,
        }
    }
}

fn pause(subjects: &Subjects, pause: Duration) -> Result<(), Stop> {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        if subjects.node.draining.load(Ordering::Relaxed) {
            return Err(Stop::Drains);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Renews all templates and ends the rotation.
fn run(subjects: &Subjects, tenant: &TenantId, alone: &Alone) -> Result<(), Stop> {
    let current = subjects.tenants.tenant(tenant)?;
    let (old, epoch) = epochs(&current);
    if old == epoch {
        // Another node ended it.
        return Ok(());
    }
    // Rows that no login can use: deletions that did not complete, and templates whose total budget is spent.
    let mut dead = HashSet::new();
    loop {
        let count = CHUNK + dead.len();
        let mut chunk =
            patiently(subjects, alone, || Ok(subjects.node.store.subjects_of_epoch(tenant, old, count)?))?;
        chunk.retain(|handle| !dead.contains(handle));
        if chunk.is_empty() {
            // And no other will be stored: see [`trefoil_storage::store::Subjects::enrol`].
            break;
        }
        for handle in chunk {
            let renewed = patiently(subjects, alone, || {
                let mut tries = (0..TRIES).map(|_| renew(subjects, &current, &handle));
                // What it is by now shows when it is read again.
                let last = tries.find(|renewed| !matches!(renewed, Ok(Renewed::Overtaken)));
                last.unwrap_or_else(|| Err(Refused::fault(KeyHolderError::Rotation)))
            })?;
            if matches!(renewed, Renewed::Dead) {
                dead.insert(handle);
            }
        }
    }
    patiently(subjects, alone, || Ok(subjects.node.key_holder.finish_rotation(*tenant, old)?))?;
    let next = current.keys.last().cloned().into_iter().collect();
    // No caller waits for it, and this may be another process than the one that began.
    let ended = (What::KeyRotationEnded { epoch }, None);
    subjects.log.seal_now(subjects.tenants.set_keys(
        tenant,
        (&current.keys, next),
        ended,
        subjects.node.now(),
    )?);
    Ok(())
}

/// Retries `step` while the key-holder or the disk cannot do it.
fn patiently<T>(
    subjects: &Subjects,
    alone: &Alone,
    step: impl Fn() -> Result<T, Refused>,
) -> Result<T, Stop> {
    while !subjects.node.draining.load(Ordering::Relaxed) {
        if alone.is_lost() {
            return Err(Stop::Elsewhere);
        }
        match subjects.node.check_vaults().and_then(|()| step()) {
            Ok(done) => return Ok(done),
            Err(cause) if cause.is_passing() => {
                std::thread::sleep(PAUSE);
            }
            Err(cause) => return Err(cause.into()),
        }
    }
    Err(Stop::Drains)
}

/// The outcome for one template.
enum Renewed {
    /// It is renewed, or gone, or was enrolled again.
    Done,
    /// The key-holder has shredded it, or its total budget is spent: no login can use it.
    Dead,
    /// It changed at the key-holder meanwhile.
    Overtaken,
}

/// Renews one template. A template that was deleted or enrolled again in the meantime stays as it is.
fn renew(subjects: &Subjects, tenant: &Tenant, handle: &Handle) -> Result<Renewed, Refused> {
    let Some(record) = subjects.node.store.template(&tenant.id, handle)? else { return Ok(Renewed::Done) };
    let template = subjects.opened(tenant, &record)?;
    let (old, _) = epochs(tenant);
    if template.epoch != old {
        return Ok(Renewed::Done);
    }
    let from = template.generation;
    let to = match subjects.node.store.reserve_renewal(&tenant.id, handle) {
        Err(StoreError::Conflict) => return Ok(Renewed::Done),
        other => other?,
    };
    let (blinded, share) = blind(&template, &mut rand::rng());
    let name = |generation| TemplateName { tenant: tenant.id, handle: *handle, generation };
    let encrypted = match subjects.node.key_holder.renew(Renewal { name: name(from), to, blinded }) {
        Err(KeyHolderError::UnknownSubjects(_) | KeyHolderError::NoAttempts(_)) => return Ok(Renewed::Dead),
        // Deleted between two steps of the key-holder.
        Err(KeyHolderError::Rotation) => return Ok(Renewed::Overtaken),
        other => other?,
    };
    let renewed = unblind(encrypted, share);
    let expected = (template.lane, template.model, tenant.keys.last().map(PublicKey::epoch));
    if (renewed.lane, renewed.model, Some(renewed.epoch)) != expected {
        return Err(Refused::fault("the key-holder renewed another template"));
    }
    let (lane, epoch, keys) = (renewed.lane.index() as u8, renewed.epoch, renewed.structure());
    let place = wrap::TemplatePlace { name: name(to), lane, keys, epoch };
    let wrapped = tenant.key.wrap_template(&place, &renewed.to_bytes());
    let subject = Subject { generation: to, lane, epoch, wrapped_key: wrapped.key, ..record.subject };
    let record = trefoil_storage::store::Template { subject, wrapped: wrapped.bytes };
    if subjects.node.store.renew_template(record, from)? {
        subjects.templates.insert(renewed);
    } else {
        subjects.node.key_holder.shred(name(to))?;
    }
    Ok(Renewed::Done)
}
