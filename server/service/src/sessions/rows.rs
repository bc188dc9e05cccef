//! Proof sessions: when one ends, and the row from which it continues after its verdict was evicted or the service restarted.
//!
//! A row is the verdict of an accepted proof, sealed under the tenant's key together with tenant, session and end. The proof is not
//! kept, because only the holder of the keys in the data directory can make such a seal. A row that was edited, or moved to
//! another's place, does not open, and the session's holder proves again.

#![expect(
    clippy::disallowed_types,
    reason = "a session that is not in memory is read from the store, which takes longer"
)]

use crate::refused::Refused;
use crate::sessions::flights::{Asked, Flights};
use crate::tenants::directory::Directory;
use crate::tenants::tenant::Tenant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::RwLock;
use trefoil_cache::Value as _;
use trefoil_pipeline::Verdict;
use trefoil_storage::store::wrap::SessionName;
use trefoil_storage::store::{Handle, Session, SessionId, Store, StoreError, TenantId};
use trefoil_zkp::{EPOCH_SECONDS, Statement, proof_ends};
use zeroize::Zeroizing;

/// A session ends up to this part of its life early, so that sessions that are opened together do not end together.
const SPREAD: u64 = 10;

/// Words of a verdict in a row.
type Words = <Verdict as trefoil_cache::Value>::Words;
const VERDICT_BYTES: usize = size_of::<Words>();

/// Sessions in one page of the list.
const PAGE: usize = 256;

/// Rows that are read at a time, when it starts and when a subject is revoked.
const ROWS_PER_READ: usize = 1000;

/// When a session that is opened now ends: after the configured lifetime, or when its proof expires if that is earlier, less up to
/// a tenth of that time. The id determines how much less, so a session that is opened again ends at the same time.
pub fn end(statement: &Statement, id: &SessionId, now: u64, life_s: u64) -> u64 {
    let left = proof_ends(statement.epoch).saturating_sub(now).min(life_s);
    let [a, b, c, d, ..] = id.to_bytes();
    let early = u64::from(u32::from_le_bytes([a, b, c, d])) % (left / SPREAD + 1);
    now + left - early
}

/// The stored state of a session whose verdict is not in memory.
#[derive(Clone, Copy)]
pub enum Kept {
    /// It is open, and its verdict is in memory again.
    Live(Verdict),
    /// It ended, its root was withdrawn, or its row does not open.
    Over,
    /// It is open under a root of which this node has not heard yet.
    Ahead,
    /// The tenant ended it: its proof cannot open it again.
    Ended,
    /// There is no such session.
    Unknown,
}

/// The rows of sessions.
pub struct Sessions {
    store: Arc<dyn Store>,
    is_fleet: bool,
    rows: Arc<Rows>,
    /// Read-locked from reading a row until its verdict is in the cache, and write-locked while a session is ended.
    ending: Arc<RwLock<()>>,
    /// How many are open, and one; 0 before they were counted.
    open: AtomicU64,
}

/// An open session.
pub struct LiveSession {
    /// Its identifier.
    pub id: SessionId,
    /// When its proof was accepted, Unix seconds.
    pub opened_at: u64,
    /// When it ends by itself, Unix seconds.
    pub expires_at: u64,
}

/// Rows that are being read. If many logins and uploads miss the same session, one of them reads the row, and the others wait for its result.
type Rows = Flights<(TenantId, SessionId), (), Asker, Result<Kept, Refused>>;

/// A request that waits for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// Came before the present read began: if that finds no row, there was none.
    Before,
    /// Came since then: the row may have been stored after the read.
    Since,
}

/// The data for reading one row.
#[derive(Clone)]
struct Reading {
    store: Arc<dyn Store>,
    is_fleet: bool,
    ending: Arc<RwLock<()>>,
    tenant: Arc<Tenant>,
    id: SessionId,
    now: u64,
}

/// Reads a row for all requests that wait for it, until none is left.
struct Reader {
    rows: Arc<Rows>,
    of: (TenantId, SessionId),
    is_done: bool,
}

impl Sessions {
    /// The sessions in this store, which other nodes of a fleet may use too.
    pub fn new(store: Arc<dyn Store>, is_fleet: bool) -> Sessions {
        Sessions { store, is_fleet, rows: Arc::default(), ending: Arc::default(), open: AtomicU64::new(0) }
    }

    /// Counts the open sessions in the store. Call it every few seconds. Blocks.
    ///
    /// # Errors
    /// Those of the store; the count before stays.
    pub fn count(&self, now: u64) -> Result<(), StoreError> {
        self.open.store(self.store.count_sessions(now)? + 1, Ordering::Relaxed);
        Ok(())
    }

    /// How many were open when they were last counted.
    pub fn open(&self) -> Option<u64> {
        self.open.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Keeps the session of an accepted proof in the store and in the cache, unless the tenant ended it meanwhile. It was not open at `now`.
    pub async fn keep(
        &self,
        tenant: &Tenant,
        id: SessionId,
        verdict: &Verdict,
        now: u64,
        missed_at: Instant,
    ) -> Result<(), Refused> {
        let _open = self.ending.read().await;
        let (store, tenant_id) = (Arc::clone(&self.store), tenant.id);
        let row = blocking(move || store.session(&tenant_id, &id)).await?;
        if row.is_some_and(|row| is_ended(&row)) {
            return Err(Refused::SessionEnded);
        }
        // Another node may have ended it since its row was read.
        if !put(&self.store, seal(tenant, id, verdict, now)).await? {
            return Err(Refused::SessionEnded);
        }
        tenant.verdicts.fill(id, *verdict, now, missed_at);
        Ok(())
    }

    /// Ends a session: no request in it is accepted from now on, and its proof cannot open it again. A session that has ended already is unknown.
    pub async fn end(&self, tenant: &Tenant, id: SessionId, now: u64) -> Result<(), Refused> {
        let _alone = self.ending.write().await;
        let (store, tenant_id) = (Arc::clone(&self.store), tenant.id);
        let row = blocking(move || store.session(&tenant_id, &id)).await?;
        let row = row.filter(|row| now < row.expires_at && !is_ended(row)).ok_or(Refused::SessionUnknown)?;
        put(&self.store, ended(tenant, row)).await?;
        tenant.verdicts.remove(&id);
        Ok(())
    }

    /// Ends all open sessions of a subject, as [`Sessions::end`] ends one. A session that is opened at the same time may stay open.
    pub async fn end_all_of(&self, tenant: &Arc<Tenant>, handle: Handle, now: u64) -> Result<(), Refused> {
        let (store, of) = (Arc::clone(&self.store), Arc::clone(tenant));
        let own = blocking(move || open_of(&*store, &of, &handle, now)).await?;
        if own.is_empty() {
            return Ok(());
        }
        let _alone = self.ending.write().await;
        let (store, ids) = (Arc::clone(&self.store), own.iter().map(|row| row.id).collect::<Vec<_>>());
        let ended = own.into_iter().map(|row| ended(tenant, row)).collect();
        blocking(move || store.put_sessions(ended)).await?;
        ids.iter().for_each(|id| tenant.verdicts.remove(id));
        Ok(())
    }

    /// A page of a tenant's open sessions ordered by identifier, starting at one, and the start of the next page.
    pub fn list(
        &self,
        tenant: &Tenant,
        from: &SessionId,
        now: u64,
    ) -> Result<(Vec<LiveSession>, Option<SessionId>), Refused> {
        let rows = self.store.live_sessions(&tenant.id, before(from).as_ref(), now, PAGE + 1)?;
        let next = rows.get(PAGE).map(|row| row.id);
        let live = rows
            .into_iter()
            .take(PAGE)
            .filter(|row| open(tenant, row).is_some_and(|verdict| tenant.accepts(verdict.root_generation)));
        let live =
            live.map(|Session { id, opened_at, expires_at, .. }| LiveSession { id, opened_at, expires_at });
        Ok((live.collect(), next))
    }

    /// Looks up a session in the store, once for all requests that miss it now, and puts its verdict back into the cache. Verifies no proof.
    pub async fn revive(&self, tenant: &Arc<Tenant>, id: &SessionId, now: u64) -> Result<Kept, Refused> {
        let (store, is_fleet) = (Arc::clone(&self.store), self.is_fleet);
        let (ending, tenant_of) = (Arc::clone(&self.ending), Arc::clone(tenant));
        let reading = Reading { store, is_fleet, ending, tenant: tenant_of, id: *id, now };
        once(&self.rows, (tenant.id, *id), move || reading.clone().read()).await
    }

    /// Puts the verdicts of stored sessions back into the cache, as many as each tenant has room for, so that logins after a restart find
    /// them there.
    pub fn warm(&self, directory: &Directory, now: u64) {
        for tenant in directory.all() {
            let (mut after, mut room) = (None, tenant.verdicts.quota());
            while room > 0 {
                let rows = match self.store.live_sessions(
                    &tenant.id,
                    after.as_ref(),
                    now,
                    room.min(ROWS_PER_READ),
                ) {
                    Ok(rows) => rows,
                    Err(cause) => {
                        tracing::warn!(%cause, "the cache is not warmed: each session's next request reads its row");
                        return;
                    }
                };
                let Some(last) = rows.last() else { break };
                (after, room) = (Some(last.id), room - rows.len());
                directory.make_room_of(&tenant, rows.len(), now);
                let is_live = |verdict: &Verdict| tenant.accepts(verdict.root_generation);
                for row in &rows {
                    if let Some(verdict) = open(&tenant, row).filter(is_live) {
                        tenant.verdicts.insert(row.id, verdict, now);
                    }
                }
            }
        }
    }
}

/// The result of `read`, which runs once for all requests at the same time.
async fn once<F>(
    rows: &Arc<Rows>,
    of: (TenantId, SessionId),
    read: impl Fn() -> F + Send + 'static,
) -> Result<Kept, Refused>
where
    F: Future<Output = Result<Kept, Refused>> + Send + 'static,
{
    let (kept, is_first) = {
        let mut rows = rows.hold();
        let is_first = rows.waiting(&of).is_none();
        (rows.join(of, (), Asker::Since), is_first)
    };
    if is_first {
        // A task of its own, because the first caller may go away while others wait.
        let reader = Reader { rows: Arc::clone(rows), of, is_done: false };
        tokio::spawn(reader.read(read));
    }
    kept.await.unwrap_or_else(|_| Err(Refused::fault("a session's row was not read")))
}

impl Reader {
    async fn read<F>(mut self, read: impl Fn() -> F)
    where
        F: Future<Output = Result<Kept, Refused>>,
    {
        let present = |waiting: &mut [Asked<Asker, _>]| {
            waiting.iter_mut().for_each(|asked| asked.what = Asker::Before);
        };
        let is_there = |asked: Asked<Asker, _>| (!asked.has_gone()).then_some(asked);
        while self.rows.next(&self.of, is_there, present).is_some() {
            let kept = read().await;
            let is_live = matches!(kept, Ok(Kept::Live(_)));
            self.rows.answer(&self.of, |asker| (is_live || *asker == Asker::Before).then(|| kept.clone()));
        }
        self.is_done = true;
    }
}

impl Drop for Reader {
    /// Ends the wait of all requests if the reader is gone.
    fn drop(&mut self) {
        if !self.is_done {
            self.rows.end(&self.of);
        }
    }
}

impl Reading {
    async fn read(self) -> Result<Kept, Refused> {
        let Reading { store, is_fleet, ending, tenant, id, now } = self;
        let missed_at = Instant::now();
        let _open = ending.read().await;
        let tenant_id = tenant.id;
        let row = blocking(move || store.session(&tenant_id, &id)).await?;
        let Some(row) = row else { return Ok(Kept::Unknown) };
        if now >= row.expires_at {
            return Ok(Kept::Over);
        }
        if is_ended(&row) {
            return Ok(Kept::Ended);
        }
        let Some(verdict) = open(&tenant, &row) else {
            tracing::warn!(
                session = hex::encode(id),
                "a stored session does not open: its row was edited or another build wrote it; its holder proves again"
            );
            return Ok(Kept::Over);
        };
        if !tenant.accepts(verdict.root_generation) {
            let is_ahead = is_fleet && tenant.is_before(verdict.root_generation);
            return Ok(if is_ahead { Kept::Ahead } else { Kept::Over });
        }
        tenant.verdicts.fill(id, verdict, now, missed_at);
        Ok(Kept::Live(verdict))
    }
}

/// The rows of a subject's open sessions: only an opened row shows whose session it is, so all of the tenant's are read.
fn open_of(
    store: &dyn Store,
    tenant: &Tenant,
    handle: &Handle,
    now: u64,
) -> Result<Vec<Session>, StoreError> {
    let (mut own, mut after) = (Vec::new(), None);
    loop {
        let rows = store.live_sessions(&tenant.id, after.as_ref(), now, ROWS_PER_READ)?;
        let Some(last) = rows.last() else { return Ok(own) };
        after = Some(last.id);
        let is_own = |row: &Session| open(tenant, row).is_some_and(|verdict| verdict.handle == *handle);
        own.extend(rows.into_iter().filter(is_own));
    }
}

/// The row of a session that its tenant ends. It stays for as long as the proof counts, which could open the session again.
fn ended(tenant: &Tenant, row: Session) -> Session {
    let of_proof = open(tenant, &row).map(|verdict| proof_ends(verdict.epoch));
    // Of a row that does not open nobody knows the epoch. It was opened after the proof began to count, three epochs before its end.
    let expires_at = of_proof.unwrap_or(row.expires_at + 3 * EPOCH_SECONDS);
    Session { wrapped: Vec::new(), expires_at, ..row }
}

/// Whether a tenant ended the session of this row.
fn is_ended(row: &Session) -> bool {
    row.wrapped.is_empty()
}

/// The identifier before this one, if there is one.
fn before(id: &SessionId) -> Option<SessionId> {
    let mut bytes = id.to_bytes();
    for byte in bytes.iter_mut().rev() {
        let borrowed;
        (*byte, borrowed) = byte.overflowing_sub(1);
        if !borrowed {
            return Some(SessionId::new(bytes));
        }
    }
    None
}

/// Whether the session has not ended.
async fn put(store: &Arc<dyn Store>, row: Session) -> Result<bool, Refused> {
    let store = Arc::clone(store);
    blocking(move || store.put_sessions(vec![row])).await
}

/// Asks the store where it may block.
async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Refused> {
    Ok(tokio::task::spawn_blocking(ask).await.map_err(Refused::fault)??)
}

fn seal(tenant: &Tenant, id: SessionId, verdict: &Verdict, opened_at: u64) -> Session {
    let mut plain = Zeroizing::new(Vec::with_capacity(VERDICT_BYTES));
    plain.extend(verdict.to_words().iter().flat_map(|word| word.to_le_bytes()));
    let name = SessionName { tenant: tenant.id, id, expires_at: verdict.not_after };
    let wrapped = tenant.key.wrap_session(&name, &plain);
    Session { tenant: tenant.id, id, opened_at, expires_at: verdict.not_after, wrapped }
}

/// Opens a row, if this service sealed it for this tenant, session and end.
fn open(tenant: &Tenant, row: &Session) -> Option<Verdict> {
    let name = SessionName { tenant: tenant.id, id: row.id, expires_at: row.expires_at };
    let plain = tenant.key.open_session(&name, &row.wrapped).ok()?;
    let (words, []) = plain.as_chunks::<8>() else { return None };
    let words: &[[u8; 8]; size_of::<Words>() / 8] = words.try_into().ok()?;
    Some(Verdict::from_words(&words.map(u64::from_le_bytes)))
}

#[cfg(test)]
mod tests;
