//! The state of the key-holder, which is read once a second, so that no request waits for it.

use crate::keys::budget_trips::BudgetTrips;
use crate::tenants::wiring::VerdictCache;
use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::Arc;
use trefoil_attest::{JobsHead, VAULTS_MAX, VaultState};
use trefoil_matching::{KeyHolding, Status};
use trefoil_pipeline::{Registry, SeenVaults, Tenants as _};
use trefoil_types::TenantId;

/// See the module.
pub struct KeyHolderWatch {
    status: ArcSwapOption<Status>,
    /// All, and those of tenants' `previous` models.
    trips: [ArcSwap<BudgetTrips>; 2],
    /// The newest state of each vault that this process, or the one that wrote the newest seal, has seen. Every seal has it.
    seen: Arc<SeenVaults>,
    older: ArcSwapOption<Older>,
}

/// Vaults that are older than their newest known state.
struct Older {
    why: String,
    /// Whether too few other key-holders remain to decide.
    most: bool,
}

/// How many of three key-holders decide. A single key-holder counts as well, unless its vault is too old.
const DECIDE: usize = 2;

/// The states of the vaults and job logs as a seal shows them.
pub fn shown(status: &Status) -> Vec<Option<VaultState>> {
    let jobs = status.jobs.iter().copied().chain(std::iter::repeat(None));
    let jobs = jobs.map(|head| head.map(|(lines, digest)| JobsHead { lines, digest }));
    let of = |(vault, jobs): (&Option<trefoil_matching::VaultState>, _)| {
        vault.map(|trefoil_matching::VaultState { generation, restored }| VaultState {
            generation,
            restored,
            jobs,
        })
    };
    status.vaults.iter().zip(jobs).map(of).collect()
}

/// The newer of two heads of one job log. Another node of a fleet may have seen a newer one, which a seal shows already.
fn newer(before: &VaultState, now: VaultState) -> VaultState {
    match before.restored == now.restored {
        true => VaultState { jobs: now.jobs.max(before.jobs), ..now },
        false => now,
    }
}

impl KeyHolderWatch {
    /// A watch that remembers these states of the vaults, in the order of the seats.
    pub fn new(seen: Vec<Option<VaultState>>) -> KeyHolderWatch {
        let older = seen.iter().any(Option::is_some).then(|| {
            let why = "the key-holder has not shown its vault since this process started, so it may be an older copy";
            Arc::new(Older { why: why.to_owned(), most: true })
        });
        KeyHolderWatch {
            status: ArcSwapOption::empty(),
            trips: Default::default(),
            seen: Arc::new(SeenVaults::new(seen)),
            older: ArcSwapOption::new(older),
        }
    }

    /// The states of the vaults for seals.
    pub fn vaults(&self) -> Arc<SeenVaults> {
        Arc::clone(&self.seen)
    }

    /// Takes over the states that another node of the fleet saw, as of a seal.
    pub fn hear(&self, sealed: &[Option<VaultState>]) {
        let mut seen = self.seen.states();
        if seen.len() != sealed.len() {
            return self.seen.set(sealed.to_vec());
        }
        for (own, sealed) in seen.iter_mut().zip(sealed) {
            *own = match (*own, *sealed) {
                (Some(own), Some(sealed)) if own.is_older_than(&sealed) => Some(newer(&own, sealed)),
                (Some(own), Some(sealed)) => Some(newer(&sealed, own)),
                (own, sealed) => sealed.or(own),
            };
        }
        self.seen.set(seen);
    }

    /// The key-holder's last reported counts; `None` if it never answered.
    pub fn status(&self) -> Option<Arc<Status>> {
        self.status.load_full()
    }

    /// How many attempts it refused lately because a budget was spent.
    pub fn budget_trips(&self) -> Arc<BudgetTrips> {
        self.trips[0].load_full()
    }

    /// How many attempts of a tenant it refused since the service began to watch: on templates of the present model, and of the `previous` one.
    pub(crate) fn trips_by_model(&self, tenant: &TenantId) -> [u64; 2] {
        let [all, previous] = self.trips.each_ref().map(|trips| trips.load().seen(tenant));
        [all.saturating_sub(previous), previous]
    }

    /// Why nothing may be written to the vaults, or `None`. A vault that is older than its newest known state has old budgets and deleted
    /// templates, and would count on from there.
    pub fn older_vault(&self) -> Option<String> {
        self.older.load().as_deref().map(|older| older.why.clone())
    }

    /// Why nothing may be decided, or `None`. Of three key-holders, a single one with an older vault changes no decision of
    /// the other two.
    pub(crate) fn too_many_older(&self) -> Option<String> {
        self.older.load().as_deref().filter(|older| older.most).map(|older| older.why.clone())
    }

    /// Asks the key-holder, at `now_s` of a clock that never steps, and stores public keys that it renewed. One thread at a time.
    pub fn look(&self, key_holder: &dyn KeyHolding, tenants: &Registry<VerdictCache>, now_s: u64) {
        for tenant in key_holder.stale() {
            match key_holder.public_keys(tenant) {
                Ok(keys) => tenants.renew_keys(&tenant, &keys),
                Err(cause) => {
                    tracing::warn!(tenant = hex::encode(tenant), %cause, "its public keys are out of date");
                }
            }
        }
        // The connection reports a key-holder that is away.
        if let Ok(status) = key_holder.status() {
            self.compare(&shown(&status));
            for (trips, counts) in self.trips.iter().zip([&status.trips, &status.trips_of_previous]) {
                trips.store(Arc::new(trips.load().then(counts, now_s)));
            }
            self.status.store(Some(Arc::new(status)));
        }
    }

    fn compare(&self, vaults: &[Option<VaultState>]) {
        let vaults = &vaults[..vaults.len().min(VAULTS_MAX)];
        if vaults.iter().all(Option::is_none) {
            return;
        }
        let mut seen = self.seen.states();
        if seen.len() != vaults.len() {
            // These are other key-holders than before, or the first: there is no state to compare with.
            seen = vec![None; vaults.len()];
        }
        let (mut older, mut count) = (None, 0);
        for (seat, (seen, now)) in (1..).zip(seen.iter_mut().zip(vaults)) {
            let Some(now) = *now else { continue };
            match *seen {
                Some(before) if now.is_older_than(&before) => {
                    older = Some(refusal(seat, &before, &now));
                    count += 1;
                }
                before => *seen = Some(before.map_or(now, |before| newer(&before, now))),
            }
        }
        if let Some(why) = &older
            && self.older_vault().as_ref() != Some(why)
        {
            tracing::error!(why, "an older vault");
        }
        let most = vaults.len() < DECIDE + count;
        self.older.store(older.map(|why| Arc::new(Older { why, most })));
        self.seen.set(seen);
    }
}

fn refusal(seat: usize, before: &VaultState, now: &VaultState) -> String {
    format!(
        "the vault of key-holder {seat} is older than the service has seen it: it counts {} transactions and was restored {} times, and \
         {} and {} were seen. Budgets and templates would be those of then: restore the newest vault, or, if there is none, start that \
         key-holder once with --accept-older-vault, which every seal will show",
        now.generation, now.restored, before.generation, before.restored
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(generation: u64, restored: u64) -> Option<VaultState> {
        Some(VaultState { generation, restored, jobs: None })
    }

    fn sealed(states: &[Option<VaultState>]) -> Vec<Option<VaultState>> {
        states.to_vec()
    }

    #[test]
    fn an_older_vault_is_noticed_until_the_newest_is_back() {
        let watch = KeyHolderWatch::new(sealed(&[vault(10, 0)]));
        let refused = |vaults: &[Option<VaultState>]| {
            watch.compare(vaults);
            assert_eq!(watch.older_vault(), watch.too_many_older(), "one that is alone");
            watch.older_vault().is_some()
        };
        assert!(refused(&[]) && refused(&[None]), "it was not seen yet");
        assert!(!refused(&[vault(10, 0)]) && !refused(&[vault(12, 0)]));
        assert!(refused(&[vault(11, 0)]), "it was 12");
        let why = watch.older_vault().unwrap();
        assert!(why.contains("key-holder 1 is older") && why.contains("counts 11 transactions"), "{why}");
        assert!(why.contains("12 and 0 were seen") && why.contains("--accept-older-vault"), "{why}");
        assert_eq!(watch.vaults().states(), sealed(&[vault(12, 0)]), "seals go on saying what was seen");
        assert!(refused(&[vault(11, 0)]) && !refused(&[vault(12, 0)]));
        assert!(!refused(&[vault(5, 1)]), "its operator has taken it by name");
        assert_eq!(watch.vaults().states(), sealed(&[vault(5, 1)]));
        assert!(refused(&[vault(4, 1)]));
        assert!(refused(&[vault(40, 0)]), "a copy from before it was taken, however much it has done since");
        assert_eq!(KeyHolderWatch::new(Vec::new()).older_vault(), None, "nothing was sealed");
    }

    #[test]
    fn seats_are_compared_each_with_itself_and_one_that_is_away_with_nothing() {
        let watch = KeyHolderWatch::new(sealed(&[None, None, vault(6, 0)]));
        watch.compare(&[vault(5, 0), None, None]);
        assert_eq!(watch.older_vault(), None);
        let states = watch.vaults().states();
        assert_eq!(states, sealed(&[vault(5, 0), None, vault(6, 0)]), "never seen, and seen last");
        for vaults in [[vault(5, 0), vault(9, 0), vault(7, 0)], [vault(5, 0), None, vault(8, 0)]] {
            watch.compare(&vaults);
            assert_eq!(watch.older_vault(), None);
        }
        watch.compare(&[vault(6, 0), vault(8, 0), vault(8, 0)]);
        assert!(watch.older_vault().unwrap().contains("key-holder 2 is older"));
        assert_eq!(watch.too_many_older(), None, "the other two decide");
        watch.compare(&[vault(5, 0), vault(8, 0), vault(8, 0)]);
        assert!(watch.too_many_older().is_some());
        watch.compare(&[vault(6, 0), vault(8, 0), vault(8, 0)]);
        let states = watch.vaults().states();
        assert_eq!(states, sealed(&[vault(6, 0), vault(9, 0), vault(8, 0)]));
    }

    #[test]
    fn what_another_node_sealed_is_taken_over_where_it_is_newer() {
        let watch = KeyHolderWatch::new(Vec::new());
        watch.hear(&sealed(&[vault(5, 0), None]));
        assert_eq!(watch.vaults().states(), sealed(&[vault(5, 0), None]), "nothing was seen here");
        watch.compare(&[vault(9, 0), vault(2, 0)]);
        watch.hear(&sealed(&[vault(7, 0), vault(4, 0)]));
        assert_eq!(watch.vaults().states(), sealed(&[vault(9, 0), vault(4, 0)]));
        watch.hear(&sealed(&[None, vault(1, 1)]));
        assert_eq!(
            watch.vaults().states(),
            sealed(&[vault(9, 0), vault(1, 1)]),
            "its operator has taken it by name"
        );
        watch.compare(&[vault(10, 0), vault(3, 0)]);
        assert!(
            watch.older_vault().is_some_and(|why| why.contains("key-holder 2")),
            "older than another node saw"
        );
    }

    #[test]
    fn other_key_holders_are_compared_with_nothing_and_a_reply_is_bounded() {
        let watch = KeyHolderWatch::new(sealed(&[vault(10, 0)]));
        watch.compare(&[vault(1, 0), vault(2, 0), vault(3, 0)]);
        assert_eq!(watch.older_vault(), None);
        watch.compare(&[vault(5, 0); 9]);
        assert_eq!(watch.vaults().states().len(), VAULTS_MAX, "a header with more would not be signed");
        assert_eq!(watch.older_vault(), None);
        watch.compare(&[vault(4, 0); 9]);
        assert!(watch.older_vault().is_some(), "however long the reply is");
    }

    #[test]
    fn a_seal_shows_the_newest_head_of_a_job_log_that_any_node_saw_unless_the_vault_was_restored() {
        let logged = |generation, restored, lines| {
            let jobs = Some(JobsHead { lines, digest: [lines as u8; 32] });
            vec![Some(VaultState { generation, restored, jobs })]
        };
        let watch = KeyHolderWatch::new(Vec::new());
        for (heard, state, shown) in [
            (false, logged(5, 0, 10), logged(5, 0, 10)),
            (true, logged(5, 0, 12), logged(5, 0, 12)),
            (false, logged(6, 0, 11), logged(6, 0, 12)),
            (true, logged(7, 0, 11), logged(7, 0, 12)),
            (false, logged(7, 0, 13), logged(7, 0, 13)),
            (false, logged(3, 1, 4), logged(3, 1, 4)),
            (true, logged(7, 0, 14), logged(3, 1, 4)),
            (true, logged(3, 2, 2), logged(3, 2, 2)),
        ] {
            if heard {
                watch.hear(&state)
            } else {
                watch.compare(&state)
            }
            assert_eq!(watch.vaults().states(), shown);
        }
        let status =
            Status { vaults: vec![Some(trefoil_matching::VaultState::default())], ..Status::default() };
        assert_eq!(shown(&status), [Some(VaultState::default())], "in the process there is no log");
        let jobs = vec![Some((9, [1; 32]))];
        let jobs = shown(&Status { jobs, ..status })[0].unwrap().jobs;
        assert_eq!(jobs, Some(JobsHead { lines: 9, digest: [1; 32] }));
    }
}
