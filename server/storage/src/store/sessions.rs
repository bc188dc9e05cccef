//! Proof sessions, and what else ends by itself.

use super::StoreError;
use super::fleet::Item;
use super::operators::Create;
use super::records::{Idempotency, Session};
use super::rows::{Call, Calls, Tables};
use crate::table::{Column as _, Record as _, Records as _, Value, key};
use trefoil_types::{SessionId, TenantId};

/// What a store keeps of sessions. See [`super::Store`].
pub trait Sessions: Tables {
    /// Adds or replaces proof sessions. One that has ended, whose row is empty, stays so. Returns whether there was none.
    fn put_sessions(&self, sessions: Vec<Session>) -> Result<bool, StoreError> {
        let mut tenants = sessions.iter().map(|session| session.tenant);
        let first = tenants.next();
        let tenant = first.filter(|first| tenants.all(|tenant| tenant == *first));
        self.change(Call { tenant, ..Call::ALL }, move |rows| {
            let live = "length(sessions.wrapped) > 0 OR length(excluded.wrapped) = 0";
            sessions.iter().try_fold(true, |all, session| {
                if session.wrapped.is_empty() {
                    rows.tell(session.tenant, Item::Session(session.id))?;
                }
                Ok(all & rows.put_row(&Session::TABLE, &session.values(), Some(live))?)
            })
        })
    }

    /// How many proof sessions of all tenants end after `now` and have not been ended.
    fn count_sessions(&self, now: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE expires_at > $1 AND length(wrapped) > 0";
        self.look(Call::ALL, move |rows| Ok(rows.number(sql, &[Value::bound(now)])?.unwrap_or(0)))
    }

    /// At most `limit` proof sessions of a tenant that end after `now`, by identifier, starting behind `after`.
    fn live_sessions(
        &self,
        tenant: &TenantId,
        after: Option<&SessionId>,
        now: u64,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let sql = "WHERE tenant = $1 AND id > $2 AND expires_at > $3 ORDER BY id LIMIT $4";
        let (tenant, after) = (*tenant, after.map_or(Vec::new(), |after| after.as_bytes().to_vec()));
        self.look(Call::of(&tenant), move |rows| {
            rows.select(sql, &[tenant.value(), after.value(), Value::bound(now), Value::limit(limit)])
        })
    }

    /// A proof session, even if it has expired.
    fn session(&self, tenant: &TenantId, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let (tenant, id) = (*tenant, *id);
        self.look(Call::of(&tenant), move |rows| rows.get(&key([&tenant, &id])))
    }

    /// Removes sessions that expired before `now`, and idempotency records and requests of operators made before `idempotency_before`.
    fn expire(&self, now: u64, idempotency_before: u64) -> Result<(), StoreError> {
        self.change(Call::LONG, move |rows| {
            // A node whose clock is ahead of the database's removes nothing early.
            let ahead = rows.clean(now)?;
            let [now, before] =
                [now, idempotency_before].map(|time| [Value::bound(time.saturating_sub(ahead))]);
            rows.delete::<Session>("expires_at < $1", &now)?;
            rows.delete::<Idempotency>("created_at < $1", &before)?;
            rows.delete::<Create>("created_at < $1", &before).map(drop)
        })
    }

    /// Removes all sessions, whenever they expire, as after a restoration.
    fn remove_sessions(&self) -> Result<(), StoreError> {
        self.change(Call::LONG, |rows| rows.delete::<Session>("true", &[]).map(drop))
    }
}

impl<T: Tables + ?Sized> Sessions for T {}
