//! The versions of tenants' policies.

use super::Directory;
use crate::refused::Refused;
use crate::tenants::notes::{By, Noted};
use crate::tenants::tenant::{POLICY_ID, Policy, Tenant, policy};
use std::sync::Arc;
use std::time::Duration;
use trefoil_attest::{What, policy_digest};
use trefoil_storage::store::fleet::{Fleet, Right, Work};
use trefoil_storage::store::{self, StoreError, TenantId, read_policy, write_policy};

/// Versions in one page of the list. The largest policy has 67 KB, so a page stays below what a client reads.
const PAGE: usize = 8;
/// How long a change waits for that of another node.
const FLEET_WAIT: Duration = Duration::from_secs(5);

/// A version of a tenant's policy.
pub struct PolicyVersion {
    /// Counts from 1.
    pub version: u32,
    /// Unix seconds.
    pub made_at: u64,
    /// The policy.
    pub policy: Policy,
}

impl Directory {
    /// Makes a policy the next version of a tenant's, and tells the key-holder. `if_version` is the version that it must follow. The policy
    /// in force gets no new version when it is sent again, but the key-holder is told again.
    ///
    /// The key-holder comes first. If this ends before the store has the version, the key-holder has a threshold without a version, and
    /// decides nothing ([`trefoil_matching::KeyHolderError::OtherThreshold`]) until the policy is set again. Nodes of a fleet take turns, and one
    /// whose policy the store refuses tells the key-holder the one in force.
    pub fn set_policy(
        &self,
        tenant: &TenantId,
        policy: Policy,
        if_version: Option<u32>,
        by: &By,
        now: u64,
    ) -> Result<(PolicyVersion, Noted), Refused> {
        let _turn = self.turn(tenant)?;
        let changing = self.change()?;
        let current = self.tenant(tenant)?;
        let present = current.policy_version;
        if if_version.is_some_and(|version| version != present) {
            return Err(Refused::PolicyOvertaken { present });
        }
        policy::check_change(&current.policy, &policy).map_err(Refused::Policy)?;
        for (model, embedder) in policy::dropped(&current.policy, &policy) {
            let templates = self.store.count_model(tenant, model)?;
            if templates > 0 {
                return Err(Refused::Policy(policy::in_use(&embedder, templates)));
            }
        }
        if policy != current.policy {
            self.room.check(&policy)?;
        }
        self.key_holder.set_policy(*tenant, policy::decision(&policy))?;
        let digest = policy_digest(&policy);
        let changed = |version| What::PolicyChanged { id: POLICY_ID, version, digest };
        if policy == current.policy {
            let (mut in_force, _) = self.policies(tenant, present)?;
            let in_force =
                in_force.pop().ok_or_else(|| Refused::fault("the store lacks the policy in force"))?;
            // Dated when it is sent again, since it names who did that.
            let again = (*tenant, now, changed(present));
            let noted = self.notes.with(again, Some(by), |note| self.store.note(note))?;
            return Ok((in_force, noted));
        }
        let version = present.checked_add(1).ok_or_else(|| Refused::fault("a policy has no version left"))?;
        let text = write_policy(&policy).map_err(Refused::fault)?;
        let record = store::PolicyVersion { tenant: *tenant, version, policy: text, made_at: now };
        let noted = self
            .notes
            .with((*tenant, now, changed(version)), Some(by), |note| self.store.put_policy(record, note));
        let noted = match (noted, self.store.fleet()) {
            (Err(cause), Some(fleet)) => {
                // News wait for it.
                drop(changing);
                self.tell_in_force(fleet, tenant);
                return Err(cause);
            }
            (noted, _) => noted?,
        };
        self.publish(Tenant {
            policy: policy.clone(),
            policy_version: version,
            ended: Arc::default(),
            ..Tenant::clone(&current)
        });
        Ok((PolicyVersion { version, made_at: now, policy }, noted))
    }

    /// The right to set a tenant's policy. Waits while another node does.
    fn turn(&self, tenant: &TenantId) -> Result<Option<Box<dyn Right>>, Refused> {
        let Some(fleet) = self.store.fleet() else { return Ok(None) };
        let busy = || StoreError::Unreachable("another node sets the tenant's policy".to_owned());
        Ok(Some(fleet.right(Work::Policy, tenant, FLEET_WAIT)?.ok_or_else(busy)?))
    }

    /// Tells the key-holder the policy in force, after another one that the store refused.
    fn tell_in_force(&self, fleet: &dyn Fleet, tenant: &TenantId) {
        let told = fleet.catch_up().map_err(Refused::from).and_then(|()| {
            let current = self.tenant(tenant)?;
            Ok(self.key_holder.set_policy(*tenant, policy::decision(&current.policy))?)
        });
        if let Err(cause) = told {
            let tenant = hex::encode(tenant);
            tracing::error!(tenant, %cause, "the key-holder may have a policy that is not in force: set the policy in force again");
        }
    }

    /// A page of the versions of a tenant's policy, starting at a version, and the start of the next page.
    pub fn policies(
        &self,
        tenant: &TenantId,
        from: u32,
    ) -> Result<(Vec<PolicyVersion>, Option<u32>), Refused> {
        self.tenant(tenant)?;
        let mut versions = self.store.policies(tenant, from, PAGE + 1)?;
        let next = versions.get(PAGE).map(|version| version.version);
        versions.truncate(PAGE);
        let read = |record: store::PolicyVersion| {
            let store::PolicyVersion { version, policy, made_at, .. } = record;
            let policy = read_policy(&policy).map_err(Refused::fault)?;
            Ok(PolicyVersion { version, made_at, policy })
        };
        Ok((versions.into_iter().map(read).collect::<Result<_, Refused>>()?, next))
    }
}
