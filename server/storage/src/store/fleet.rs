//! A store that several nodes use at a time.
//!
//! Each node keeps tenants, templates and verdicts in memory, and the others change them. So each change of a row that is kept in memory is told to
//! every node, which has heard of it within [`STALE_MAX`] or is unready ([`super::Tables::unready`]). A change of the registry is refused on a node that has
//! not heard of the one before.

use super::StoreError;
use crate::record;
use std::any::Any;
use std::fmt;
use std::time::{Duration, Instant};
use trefoil_types::{Handle, SessionId, TenantId};

/// Age of what a node knows, above which it answers no caller.
pub const STALE_MAX: Duration = Duration::from_millis(1000);

/// What nodes changed since the last news.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Nothing that is in memory can be relied on.
    pub everything: bool,
    /// Any of the tenants, API keys, roots, issuers' keys and operators.
    pub registry: bool,
    /// Tenants of which one of these changed.
    pub tenants: Vec<TenantId>,
    /// Operators.
    pub operators: bool,
    /// Subjects whose template is another one, or none, or revoked.
    pub subjects: Vec<(TenantId, Handle)>,
    /// Sessions that a tenant ended.
    pub sessions: Vec<(TenantId, SessionId)>,
}

impl News {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == News::default()
    }
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A subject's template.
    Subject(Handle),
    /// A session that a tenant ended.
    Session(SessionId),
    /// The tenant itself or one of its policies, API keys, roots and issuers' keys; of the service's own tenant the operators.
    Registry,
}

/// A change of what other nodes have in memory, as a row. Each node reads them in order; they are kept for minutes.
pub struct Change {
    /// The number of the transaction.
    pub generation: u64,
    /// Counts the changes of the transaction.
    pub number: u64,
    /// The tenant that it is about.
    pub tenant: TenantId,
    kind: u8,
    item: [u8; 32],
    at: u64,
}
record!("changes", 2, Rows, Change { generation, number, tenant, kind, item, at });

impl Change {
    /// A change of an item at this time, Unix seconds.
    pub fn new(generation: u64, number: u64, tenant: TenantId, item: Item, at: u64) -> Change {
        let (kind, item) = match item {
            Item::Subject(handle) => (1, handle.to_bytes()),
            Item::Session(id) => (2, id.to_bytes()),
            Item::Registry => (3, [0; 32]),
        };
        Change { generation, number, tenant, kind, item, at }
    }

    /// What changed; `None` if this program does not know it.
    pub fn item(&self) -> Option<Item> {
        match self.kind {
            1 => Some(Item::Subject(Handle::new(self.item))),
            2 => Some(Item::Session(SessionId::new(self.item))),
            3 => Some(Item::Registry),
            _ => None,
        }
    }
}

/// Takes over news. An error means that they were not taken over; they come again.
pub type Apply = Box<dyn FnMut(&News) -> Result<(), String> + Send>;

/// Work that one node at a time does for a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Rotates its template keys.
    KeyRotation,
    /// Sets its policy at the key-holder and in the store.
    Policy,
}

/// The right to some work, until it is dropped.
pub trait Right: Send {
    /// Asks the database; an error once another node may have the right.
    fn check(&self) -> Result<(), StoreError>;
}

/// What a shared store has beside a store of one process. Calls block.
pub trait Fleet: Send + Sync {
    /// From now on tells this node's news to `apply`, on a thread of the store.
    fn follow(&self, apply: Apply) -> Result<(), StoreError>;
    /// Returns once this node has heard of every change of the registry until now.
    fn catch_up(&self) -> Result<(), StoreError>;
    /// Whether this node has heard of every change that was there at this time.
    fn has_heard_since(&self, asked: Instant) -> bool;
    /// Whether this node has not heard of the others for longer than [`STALE_MAX`]. Does not block.
    fn is_stale(&self) -> bool;
    /// Waits until this node alone may extend the log of seals. What it returns gives that up when it is dropped. The database also ends it after
    /// a few seconds, so that a node that hangs stops no other; then the seal that it stores is refused as a conflict.
    fn log_turn(&self) -> Result<Box<dyn Any + Send>, StoreError>;
    /// Waits until this node alone may change the registry, so that no other node changes what the change goes by. What it returns gives that up when it
    /// is dropped. The database also ends it after a few seconds; then a change may be refused because another node was faster.
    fn registry_turn(&self) -> Result<Box<dyn Any + Send>, StoreError>;
    /// Waits this long for the right to do this work for a tenant; `None` if another has it then.
    fn right(&self, work: Work, of: &TenantId, wait: Duration) -> Result<Option<Box<dyn Right>>, StoreError>;
    /// Whether some node has that right.
    fn is_at_work(&self, work: Work, tenant: &TenantId) -> Result<bool, StoreError>;
    /// Whether this node is the one that does the work of which one copy suffices.
    fn keeps_house(&self) -> bool;
    /// The nodes, as of some seconds ago.
    fn nodes(&self) -> Vec<Node>;
    /// What this node needed for its part in the fleet so far.
    fn figures(&self) -> Figures;
    /// Tells the other nodes, within seconds, of this one's keys.
    fn announce(&self, keys: NodeKeys);
}

/// Figures of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How old what it knows of the others' changes is.
    pub news_age: Duration,
    /// Turns that it took in the log.
    pub log_turns: u64,
    /// How long it waited for all of them.
    pub log_turn_wait: Duration,
}

/// A node as the database sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, which it gave.
    pub name: String,
    /// Where it connects from.
    pub address: String,
    /// Since when its connection stands, Unix seconds.
    pub since: u64,
    /// Whether it is the one that [`Fleet::keeps_house`].
    pub keeps_house: bool,
    /// Its keys, once it has told of them.
    pub keys: Option<NodeKeys>,
}

/// The keys of a node in a few bytes, as it tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeKeys {
    /// The first bytes of the key set that it signs with.
    pub key_set: [u8; 4],
    /// Version of its trust root.
    pub version: u64,
    /// The first bytes of the digest of that version.
    pub digest: [u8; 3],
}

impl fmt::Display for NodeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", hex::encode(self.key_set), self.version, hex::encode(self.digest))
    }
}

impl NodeKeys {
    /// What a node told; `None` if it is cut off or something else.
    pub fn read(text: &str) -> Option<NodeKeys> {
        let (key_set, root) = text.split_once(' ')?;
        let (version, digest) = root.split_once(':')?;
        Some(NodeKeys { key_set: bytes(key_set)?, version: version.parse().ok()?, digest: bytes(digest)? })
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
}
