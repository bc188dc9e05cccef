//! The state after the journal's changes.

use super::change::{Change, Member};
use super::error::IssuerError;
use std::collections::{BTreeMap, HashMap};
use trefoil_wallet::credentials::{IssuerPublicKey, RootLog, SignedRoot};
use trefoil_zkp::{CAPACITY, TenantId};

/// The issuer's tenant and policy, and its public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The tenant.
    pub tenant: TenantId,
    /// Its policy's number.
    pub policy_id: u32,
    /// The key under which roots verify.
    pub public_key: IssuerPublicKey,
}

/// The state after all changes so far.
#[derive(Default)]
pub(super) struct State {
    pub(super) identity: Option<Identity>,
    pub(super) members: BTreeMap<u32, Member>,
    pub(super) by_name: HashMap<String, u32>,
    /// Indices below this were used.
    pub(super) next_index: u32,
    pub(super) next_serial: u32,
    /// Whether a member was removed or changed since the last root, so that the next one must withdraw older roots.
    pub(super) withdraws: bool,
    pub(super) roots: Vec<SignedRoot>,
    pub(super) log: Option<RootLog>,
}

impl State {
    /// Applies a change, which may come from a journal that another program wrote.
    pub(super) fn apply(&mut self, change: Change) -> Result<(), IssuerError> {
        match change {
            Change::Init { tenant, policy_id, public_key } => {
                let public_key =
                    IssuerPublicKey::from_bytes(&public_key).ok_or(IssuerError::Replay("an issuer key"))?;
                if self.identity.replace(Identity { tenant, policy_id, public_key }).is_some() {
                    return Err(IssuerError::Replay("a second beginning"));
                }
                self.log = Some(RootLog::new(tenant, None));
            }
            Change::Put(members) => members.into_iter().try_for_each(|member| self.put(member))?,
            Change::Revoke(indices) => {
                for index in indices {
                    let member = self.members.remove(&index);
                    let member = member.ok_or(IssuerError::Replay("the removal of nobody"))?;
                    self.by_name.remove(&member.name);
                    self.withdraws = true;
                }
            }
            Change::Publish(root) => {
                let missing = || IssuerError::Replay("a root before the beginning");
                let key = &self.identity.as_ref().ok_or_else(missing)?.public_key;
                self.log.as_mut().ok_or_else(missing)?.append(&root, key)?;
                self.roots.push(root);
                self.withdraws = false;
            }
        }
        Ok(())
    }

    fn put(&mut self, member: Member) -> Result<(), IssuerError> {
        if member.index >= CAPACITY {
            return Err(IssuerError::Replay("a member outside the tree"));
        }
        self.next_index = self.next_index.max(member.index + 1);
        self.next_serial = self.next_serial.max(member.attributes.serial().saturating_add(1));
        if let Some(old) = self.members.get(&member.index) {
            if old.name != member.name {
                return Err(IssuerError::Replay("two members in one place"));
            }
            self.withdraws = true;
        } else if self.by_name.insert(member.name.clone(), member.index).is_some() {
            return Err(IssuerError::Replay("two members of one name"));
        }
        self.members.insert(member.index, member);
        Ok(())
    }
}
