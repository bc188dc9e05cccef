//! The credit of a caller for proof uploads. An invalid proof costs much more than a valid one.
//!
//! Each API key has a credit that refills with time. An upload is admitted while the credit is positive, before a byte of
//! its body is read. Admission charges the cost of an invalid proof, [`COST_INVALID`]. When the outcome is known the
//! difference is refunded: a valid proof costs 1, one that names an old root or another epoch [`COST_STALE`]. A caller
//! that sends invalid proofs is therefore refused after a few uploads, however many it sends at once, and is admitted again at the
//! rate at which its credit refills. Nothing is remembered about the invalid proofs themselves.
//! The number of uploads that one caller has open is bounded as well, which bounds the memory that their bodies take.

#![expect(clippy::disallowed_types, reason = "for uploads of proofs, which take a thousand times longer")]

use crate::refused::Denied;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trefoil_types::ApiKeyId;

/// Cost of an upload that opens a session.
pub const COST_ACCEPTED: u32 = 1;
/// Cost of a well-formed upload that does not fit the present root, epoch, policy or audience.
pub const COST_STALE: u32 = 8;
/// Cost of an upload that is malformed or whose proof is refused. Reading and verifying one takes about a
/// millisecond, so with the default refill of 500 a second a flooder takes under one percent of a core.
pub const COST_INVALID: u32 = 64;

/// See the module.
pub struct Quota {
    config: QuotaConfig,
    /// At most one entry for each API key.
    callers: Mutex<HashMap<ApiKeyId, Account>>,
}

/// The bounds of one caller.
#[derive(Clone, Copy, Debug)]
pub struct QuotaConfig {
    /// Credit that is regained in a second.
    pub per_second: u32,
    /// Largest credit.
    pub credit_max: u32,
    /// Uploads open at one time.
    pub open_max: usize,
}

struct Account {
    /// In billionths of a unit, so that rounding loses nothing between two calls that are close in time.
    credit_nano: i128,
    at_ns: u64,
    open: usize,
}

/// An upload that was admitted. If it is dropped without [`Upload::settle`], its caller hung up, which costs [`COST_STALE`].
pub struct Upload {
    quota: Arc<Quota>,
    caller: ApiKeyId,
    settled: bool,
}

const NANO: i128 = 1_000_000_000;

impl Quota {
    /// Quotas with full credit for every caller.
    pub fn new(config: QuotaConfig) -> Arc<Quota> {
        Arc::new(Quota { config, callers: Mutex::default() })
    }

    /// Admits an upload, or says why not. `now_ns` never goes back.
    pub fn enter(self: &Arc<Self>, caller: ApiKeyId, now_ns: u64) -> Result<Upload, Denied> {
        let QuotaConfig { per_second, open_max, .. } = self.config;
        let mut callers = self.callers();
        let account = self.account(&mut callers, caller, now_ns);
        if account.credit_nano <= 0 {
            let missing = u64::try_from(1 - account.credit_nano).unwrap_or(u64::MAX);
            return Err(Denied::Exhausted(Duration::from_nanos(missing / u64::from(per_second.max(1)))));
        }
        if account.open >= open_max {
            return Err(Denied::Busy);
        }
        account.open += 1;
        account.credit_nano -= i128::from(COST_INVALID) * NANO;
        Ok(Upload { quota: Arc::clone(self), caller, settled: false })
    }

    /// Uploads open now, of all callers.
    pub fn open(&self) -> usize {
        self.callers().values().map(|account| account.open).sum()
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<ApiKeyId, Account>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller's account, refilled.
    fn account<'a>(
        &self,
        callers: &'a mut HashMap<ApiKeyId, Account>,
        caller: ApiKeyId,
        now_ns: u64,
    ) -> &'a mut Account {
        let full = i128::from(self.config.credit_max) * NANO;
        let fresh = Account { credit_nano: full, at_ns: now_ns, open: 0 };
        let account = callers.entry(caller).or_insert(fresh);
        let since = i128::from(now_ns.saturating_sub(account.at_ns));
        account.credit_nano = full.min(account.credit_nano + since * i128::from(self.config.per_second));
        account.at_ns = account.at_ns.max(now_ns);
        account
    }
}

impl Account {
    /// Refunds the part of the charge beyond `cost`.
    fn settle(&mut self, cost: u32, config: &QuotaConfig) {
        let full = i128::from(config.credit_max) * NANO;
        let back = i128::from(COST_INVALID) - i128::from(cost);
        self.credit_nano = full.min(self.credit_nano + back * NANO);
    }
}

impl Upload {
    /// The caller.
    pub(crate) fn caller(&self) -> ApiKeyId {
        self.caller
    }

    /// Sets the cost of the upload.
    pub fn settle(mut self, cost: u32) {
        self.settled = true;
        if let Some(account) = self.quota.callers().get_mut(&self.caller) {
            account.settle(cost, &self.quota.config);
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(account) = self.quota.callers().get_mut(&self.caller) {
            account.open -= 1;
            if !self.settled {
                account.settle(COST_STALE, &self.quota.config);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: QuotaConfig = QuotaConfig { per_second: 100, credit_max: 200, open_max: 3 };
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn invalid_uploads_shut_their_caller_out_until_the_credit_grew_back() {
        let quota = Quota::new(CONFIG);
        let refused = (0..10).take_while(|_| match quota.enter(ApiKeyId::new([1; 8]), 0) {
            Ok(upload) => {
                upload.settle(COST_INVALID);
                true
            }
            Err(_) => false,
        });
        assert_eq!(refused.count(), 4, "200 / 64, and one into debt");
        let Err(Denied::Exhausted(wait)) = quota.enter(ApiKeyId::new([1; 8]), 0) else { panic!("in debt") };
        assert_eq!(wait.as_millis(), 560, "56 units of debt at 100 a second");
        assert!(quota.enter(ApiKeyId::new([2; 8]), 0).is_ok(), "another caller does not pay for it");
        assert!(quota.enter(ApiKeyId::new([1; 8]), SECOND / 2).is_err());
        assert!(quota.enter(ApiKeyId::new([1; 8]), SECOND).is_ok());
    }

    #[test]
    fn valid_uploads_may_come_at_the_refill_rate_for_ever() {
        let quota = Quota::new(CONFIG);
        for i in 0..10_000 {
            let now = i * SECOND / 100;
            quota
                .enter(ApiKeyId::new([1; 8]), now)
                .unwrap_or_else(|_| panic!("paid for"))
                .settle(COST_ACCEPTED);
        }
    }

    #[test]
    fn many_uploads_at_once_reach_no_further_than_one_after_the_other() {
        let quota = Quota::new(QuotaConfig { open_max: 1000, ..CONFIG });
        let rubbish = |now: u64| {
            let uploads: Vec<_> =
                (0..1000).map_while(|_| quota.enter(ApiKeyId::new([1; 8]), now).ok()).collect();
            let count = uploads.len();
            uploads.into_iter().for_each(|upload| upload.settle(COST_INVALID));
            count
        };
        assert_eq!(rubbish(0), 4);
        assert_eq!(rubbish(SECOND), 1, "44 of credit");
        assert_eq!(rubbish(1000 * SECOND), 4, "idle time is not saved up");
    }

    #[test]
    fn open_uploads_are_bounded_and_those_that_hang_up_pay() {
        let quota = Quota::new(CONFIG);
        let enter = || quota.enter(ApiKeyId::new([1; 8]), 0);
        let held: Vec<_> = (0..3).map(|_| enter()).collect();
        assert_eq!((enter().err(), quota.open()), (Some(Denied::Busy), 3));
        drop(held);
        assert_eq!(quota.open(), 0);
        let hung_up = std::iter::repeat_with(enter).take_while(Result::is_ok).count();
        assert_eq!(hung_up, (200 - 3 * COST_STALE as usize).div_ceil(COST_STALE as usize));
    }
}
