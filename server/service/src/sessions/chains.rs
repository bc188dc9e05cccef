//! The positions of open sessions in their hash chains.
//!
//! A session whose proof commits to a chain reveals one value with each request. The last accepted value is state that
//! changes with every request, so it is not part of the cached verdict. It lives in memory, and between two runs in the session's
//! row (see [`crate::sessions::rows`]). If neither has it, the session ends and its holder proves again, because a service
//! that lost its position would accept the same value twice.
//!
//! In a fleet the positions here only say from where a value is checked. Which one was used last, at any node, is in the register.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login whose session has a hash chain, see ARCHITECTURE.md"
)]

use crate::refused::Refused;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trefoil_pipeline::{RevealRefused, SessionId, TenantId};
use trefoil_zkp::chain::{CHAIN_STEPS_MAX, ChainTip, Reveal};

/// Locks, so that I/O threads seldom meet.
const SHARDS: usize = 16;

/// See the module.
pub struct Chains {
    shards: [Mutex<HashMap<SessionId, Open>>; SHARDS],
    per_shard_max: usize,
}

struct Open {
    tenant: TenantId,
    tip: ChainTip,
    /// Unix seconds after which it is not needed.
    until: u64,
}

impl Chains {
    /// Room for at least `capacity` sessions of about 140 bytes.
    pub fn new(capacity: usize) -> Chains {
        Chains { shards: Default::default(), per_shard_max: capacity.div_ceil(SHARDS) }
    }

    /// Notes where a chain begins. A session that is open keeps its position, so that proving the same statement again
    /// does not make used values valid.
    pub fn open(&self, tenant: &TenantId, id: &SessionId, tip: ChainTip, until: u64) -> Result<(), Refused> {
        let mut shard = self.shard(id);
        if shard.len() >= self.per_shard_max && !shard.contains_key(id) {
            return Err(Refused::TooManyChains);
        }
        shard.entry(*id).or_insert(Open { tenant: *tenant, tip, until });
        Ok(())
    }

    /// Accepts one of the next values; an error changes nothing.
    pub(crate) fn accept(&self, id: &SessionId, reveal: &Reveal) -> Result<(), RevealRefused> {
        let mut shard = self.shard(id);
        let open = shard.get_mut(id).ok_or(RevealRefused::Unknown)?;
        Ok(open.tip.accept(reveal)?)
    }

    /// Whether a value at `position` is so far from the one that this process knows that it must catch up first.
    pub(crate) fn is_behind(&self, tenant: &TenantId, id: &SessionId, position: u32) -> bool {
        let shard = self.shard(id);
        let open = shard.get(id).filter(|open| open.tenant == *tenant);
        open.is_some_and(|open| position.saturating_sub(open.tip.position()) > CHAIN_STEPS_MAX)
    }

    /// Moves to a value that another node accepted, if it is of this chain and not behind. Hashes without the lock.
    pub(crate) fn catch_up(&self, id: &SessionId, last: &Reveal) -> Result<(), RevealRefused> {
        let mut tip = self.shard(id).get(id).ok_or(RevealRefused::Unknown)?.tip;
        if last.position > tip.position() {
            tip.catch_up(last)?;
        }
        if let Some(open) = self.shard(id).get_mut(id).filter(|open| open.tip.position() < tip.position()) {
            open.tip = tip;
        }
        Ok(())
    }

    /// Takes out the positions of all open sessions.
    pub(crate) fn take(&self) -> Vec<(TenantId, SessionId, ChainTip)> {
        let mut places = Vec::new();
        for shard in &self.shards {
            let open = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            places.extend(open.into_iter().map(|(id, open)| (open.tenant, id, open.tip)));
        }
        places
    }

    /// Forgets sessions that have ended.
    pub fn sweep(&self, now: u64) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, open| open.until > now);
        }
    }

    fn shard(&self, id: &SessionId) -> MutexGuard<'_, HashMap<SessionId, Open>> {
        self.shards[usize::from(id.as_bytes()[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use trefoil_zkp::chain::{Chain, ChainError};

    const CONTEXT: [u8; 32] = [1; 32];
    const TENANT: TenantId = TenantId::new([3; 16]);

    fn chain() -> (Chain, ChainTip) {
        let chain = Chain::random(CONTEXT, 100, &mut StdRng::seed_from_u64(1)).unwrap();
        let tip = ChainTip::new(CONTEXT, chain.commitment());
        (chain, tip)
    }

    #[test]
    fn each_value_is_accepted_once_and_in_order() {
        let (mut chain, tip) = chain();
        let chains = Chains::new(16);
        let id = [2; 32];
        let mut next = || chain.reveal().unwrap();
        let (first, second) = (next(), next());
        assert_eq!(chains.accept(&SessionId::new(id), &first), Err(RevealRefused::Unknown));
        chains.open(&TENANT, &SessionId::new(id), tip, 50).unwrap();
        chains.accept(&SessionId::new(id), &first).unwrap();
        assert_eq!(
            chains.accept(&SessionId::new(id), &first),
            Err(RevealRefused::Value(ChainError::Used { position: 1, last: 1 }))
        );
        let third = next();
        chains.accept(&SessionId::new(id), &third).unwrap();
        assert!(chains.accept(&SessionId::new(id), &second).is_err(), "a value that was passed over is gone");
        chains.open(&TENANT, &SessionId::new(id), tip, 50).unwrap();
        assert!(chains.accept(&SessionId::new(id), &first).is_err(), "opening again takes nothing back");
        let forged = Reveal { position: 4, value: [0; 32] };
        assert_eq!(
            chains.accept(&SessionId::new(id), &forged),
            Err(RevealRefused::Value(ChainError::Mismatch))
        );
        chains.sweep(50);
        assert_eq!(chains.accept(&SessionId::new(id), &next()), Err(RevealRefused::Unknown));
    }

    #[test]
    fn a_chain_that_is_far_behind_catches_up_and_never_goes_back() {
        let (mut chain, tip) = chain();
        let (chains, id) = (Chains::new(16), SessionId::new([2; 32]));
        chains.open(&TENANT, &id, tip, 50).unwrap();
        let all: Vec<Reveal> = std::iter::from_fn(|| chain.reveal()).collect();
        let far = CHAIN_STEPS_MAX + 1;
        assert!(chains.is_behind(&TENANT, &id, far) && !chains.is_behind(&TENANT, &id, far - 1));
        assert!(!chains.is_behind(&TenantId::new([4; 16]), &id, far), "another tenant's");
        assert!(chains.catch_up(&id, &Reveal { position: 60, value: [0; 32] }).is_err(), "no value of it");
        chains.catch_up(&id, &all[59]).unwrap();
        chains.catch_up(&id, &all[20]).unwrap();
        assert!(!chains.is_behind(&TENANT, &id, 61));
        assert_eq!(
            chains.accept(&id, &all[30]),
            Err(RevealRefused::Value(ChainError::Used { position: 31, last: 60 }))
        );
        chains.accept(&id, &all[60]).unwrap();
    }

    #[test]
    fn open_chains_are_bounded() {
        let (_, tip) = chain();
        let chains = Chains::new(SHARDS);
        assert_eq!(chains.open(&TENANT, &SessionId::new([0; 32]), tip, 50), Ok(()));
        assert_eq!(chains.open(&TENANT, &SessionId::new([16; 32]), tip, 50), Err(Refused::TooManyChains));
        assert_eq!(
            chains.open(&TENANT, &SessionId::new([0; 32]), tip, 50),
            Ok(()),
            "one that is open needs no room"
        );
        assert_eq!(chains.open(&TENANT, &SessionId::new([1; 32]), tip, 50), Ok(()));
    }
}
