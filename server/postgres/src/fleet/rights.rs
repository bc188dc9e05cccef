//! Rights to work that one node at a time does for a tenant: advisory locks, each of a connection of its own.

use super::Place;
use crate::link::Link;
use crate::node::{holds, is_true};
use crate::table::Rows;
use std::time::{Duration, Instant};
use trefoil_storage::store::StoreError;
use trefoil_storage::store::fleet::{Right, Work};
use trefoil_storage::table::Rows as _;
use trefoil_types::TenantId;

/// Between two tries to get one.
const PAUSE: Duration = Duration::from_millis(20);

struct Held(Link);

impl Right for Held {
    fn check(&self) -> Result<(), StoreError> {
        self.0.batch("SELECT 1")?;
        // An old primary still has its locks.
        self.0.assure()
    }
}

/// The lock. Tenants' identifiers are random.
pub(super) fn lock(work: Work, tenant: &TenantId) -> i64 {
    let of_work = match work {
        Work::KeyRotation => i64::from_be_bytes(*b"trefoil\x04"),
        Work::Policy => i64::from_be_bytes(*b"trefoil\x05"),
    };
    let half = u128::from_be_bytes(*tenant.as_bytes()) >> 64;
    of_work ^ (half as u64).cast_signed()
}

pub(super) fn right(
    place: &Place,
    work: Work,
    of: &TenantId,
    wait: Duration,
) -> Result<Option<Box<dyn Right>>, StoreError> {
    let (begun, link) = (Instant::now(), place.open()?);
    link.batch(&place.named)?;
    let tried = format!("pg_try_advisory_lock({})", lock(work, of));
    while !is_true(&link, &tried)? {
        if begun.elapsed() >= wait {
            return Ok(None);
        }
        #[expect(clippy::disallowed_methods, reason = "off the path of a login, where it may block")]
        std::thread::sleep(PAUSE);
    }
    Ok(Some(Box::new(Held(link))))
}

pub(crate) fn is_at_work(rows: &Rows<'_>, work: Work, tenant: &TenantId) -> Result<bool, StoreError> {
    let held = format!("SELECT count(*) FROM pg_locks AS l WHERE {}", holds(lock(work, tenant)));
    Ok(rows.number(&held, &[])?.unwrap_or(0) > 0)
}
