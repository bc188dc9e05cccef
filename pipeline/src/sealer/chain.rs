//! The chain of headers.

use std::any::Any;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use trefoil_attest::log::Frontier;
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{KeySetId, Restoration, SealHeader, Suite};

use crate::clock::Clock;
use crate::vaults::SeenVaults;

/// The fields of every seal about the sealing service.
#[derive(Clone)]
pub struct Origin {
    /// Its name.
    pub issuer: String,
    /// Its key-holders' vaults.
    pub vaults: Arc<SeenVaults>,
    /// The newest restoration of its log from a backup.
    pub restored: Option<Restoration>,
    /// The log, if other services extend it too. It then says what each header follows.
    pub shared: Option<Arc<dyn SharedLog>>,
}

impl Origin {
    /// A service without monitored vaults whose log was never restored.
    pub fn new(issuer: impl Into<String>) -> Origin {
        Origin { issuer: issuer.into(), vaults: Arc::default(), restored: None, shared: None }
    }
}

/// End of the seal chain: what the next seal follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Digest of the previous seal's header; zeros before the first.
    pub previous: [u8; 32],
    /// The log of all seals so far, which the next seal commits to.
    pub log: Frontier,
    /// The time of the previous seal, Unix seconds: the next one is not dated before it.
    pub time: u64,
}

impl ChainHead {
    /// Before the first seal.
    pub const GENESIS: ChainHead = ChainHead { previous: [0; 32], log: Frontier::EMPTY, time: 0 };

    /// Number of the next seal.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        self.log.size()
    }

    /// Advances to the seal with this header.
    pub fn follow(&mut self, header: &SealHeader) {
        self.previous = header.digest();
        self.log.push(&self.previous);
        self.time = header.time;
    }
}

/// A log that other services extend too.
pub trait SharedLog: Send + Sync {
    /// Waits until this service may extend the log, and says where it ends. `None` if it may not for now.
    fn turn(&self) -> Option<(ChainHead, LogTurn)>;
}

/// The right to extend a [`SharedLog`] by one seal, which its drop gives up.
pub struct LogTurn {
    _right: Box<dyn Any + Send>,
    until: u64,
}

impl LogTurn {
    /// What is dropped with it. The seal is dated at most `until`, Unix seconds, unless one before it is later: the log's own clock says so.
    pub fn new(right: impl Any + Send, until: u64) -> LogTurn {
        LogTurn { _right: Box::new(right), until }
    }
}

impl std::fmt::Debug for LogTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogTurn")
    }
}

/// What the next header follows.
pub(super) enum Follows {
    /// Our last one.
    Ours,
    /// The end of a log that others extend too, in our turn; `None` if it cannot be extended for now.
    Shared(Option<(ChainHead, LogTurn)>),
}

/// A header in its place.
pub(super) struct Placed {
    /// In the order of release.
    pub(super) place: u64,
    /// What it follows.
    pub(super) head: ChainHead,
    /// `None` if the log cannot be extended for now.
    pub(super) header: Option<SealHeader>,
    /// For a log that others extend too.
    pub(super) turn: Option<LogTurn>,
}

/// The predecessor of the next header. A header is made in microseconds, and signed after the chain has advanced.
pub(super) struct Chain {
    pub(super) origin: Origin,
    pub(super) key_set_id: KeySetId,
    /// The last header made, whose seal may not be signed yet.
    pub(super) head: ChainHead,
    /// Headers made so far, including those that were refused.
    pub(super) place: u64,
    /// Where to continue after a refused seal.
    pub(super) withdrawn: Receiver<ChainHead>,
}

impl Chain {
    /// The header over `tree`.
    pub(super) fn header(&mut self, tree: &MerkleTree, follows: Follows, clock: &dyn Clock) -> Placed {
        if let Some(head) = self.withdrawn.try_iter().last() {
            self.head = head;
        }
        let mut turn = None;
        let may_follow = match follows {
            Follows::Ours => true,
            Follows::Shared(Some((head, own))) => {
                (self.head, turn) = (head, Some(own));
                true
            }
            Follows::Shared(None) => false,
        };
        let (place, head) = (self.place, self.head.clone());
        self.place += 1;
        let until = turn.as_ref().map_or(u64::MAX, |turn| turn.until);
        let header = may_follow.then(|| self.next(tree, clock, until));
        Placed { place, head, header, turn }
    }

    /// Dated now, and never before another seal or what it names, even if the clock was set back.
    fn next(&mut self, tree: &MerkleTree, clock: &dyn Clock, until: u64) -> SealHeader {
        let restored_at = self.origin.restored.map_or(0, |restored| restored.time);
        let from = self.head.time.max(restored_at).max(clock.sealed_from());
        let header = SealHeader {
            issuer: self.origin.issuer.clone(),
            key_set_id: self.key_set_id,
            seal_number: self.head.next_number(),
            previous: self.head.previous,
            log_root: self.head.log.root(),
            tree_size: tree.size(),
            root: tree.root(),
            time: clock.unix_s().min(until).max(from),
            suite: Suite::One,
            vaults: self.origin.vaults.states(),
            restored: self.origin.restored,
        };
        self.head.follow(&header);
        header
    }
}
