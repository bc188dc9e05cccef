//! How many connections a process takes, of which FLEET.md has the sum.

/// Connections that read.
pub(crate) const READERS: usize = 4;
/// Connections to the register that a node takes beside those of its workers: for uploads of proofs, and for sessions that come from another node.
pub const LINKS_OF_HANDLERS: usize = 2;
/// Connections of a node of a fleet beside one for each of its workers: one that writes, those that read, one that hears of the other nodes, one each
/// for turns in the log and in the registry, and at the register those of the handlers and that of its keeper.
pub const CONNECTIONS_OF_A_NODE: usize = 1 + READERS + 1 + 2 + LINKS_OF_HANDLERS + 1;
/// Connections for which the limit of the role has room beside those of the nodes: for `trefoil doctor`, and for those of a process that has just ended.
pub const CONNECTIONS_BESIDE: usize = 5;
