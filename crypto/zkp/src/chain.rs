//! The hash chain of a session: each authentication reveals one more value, and only the holder knows the next.
//!
//! A MAC under the session key tells the service that the holder made the request; the service knows that key, so no
//! third party learns anything from it. A chain convinces third parties too. The holder draws `v[length]` at random and computes
//!
//! ```text
//! v[i - 1] = SHA3-256("trefoil/chain-step/1" | context | u32 i | v[i])        tip = v[0]
//! ```
//!
//! The session's proof commits to tip and length ([`session::with_chain`](crate::session::with_chain)), request
//! number i reveals `v[i]`, and the service puts it into the attestation. A party with the commitment can check
//! it without the service, and the service can attest no more authentications than the holder made requests.
//! Position and context in each step keep a value from standing for another position or another session
//! (multi-target attacks on one-way chains: Hu, Jakobsson, Perrig, ACNS 2005).

mod holder;

use sha3::{Digest as _, Sha3_256};
pub use trefoil_attest::Reveal;

pub use self::holder::Chain;

/// Longest chain: the most hashes for a verifier without state.
pub const CHAIN_LENGTH_MAX: u32 = 65_536;
/// Furthest that one request may move the service's tip: up to 15 requests in a row may be lost on the way.
pub const CHAIN_STEPS_MAX: u32 = 16;

/// A session's commitment to its chain. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainCommitment {
    length: u32,
    tip: [u8; 32],
}

/// A chain of a length that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash chain of {0} values: choose 1 to 65536")]
pub struct ChainLength(pub u32);

/// Why a revealed value was refused. The tip has not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The position is not after the last accepted one.
    #[error("chain position {position} was used: the last accepted one is {last}; reveal the next value")]
    Used {
        /// Position received.
        position: u32,
        /// Last accepted position; 0 before the first.
        last: u32,
    },
    /// Too many positions were left out.
    #[error("chain position {position} is more than 16 after {last}: open a new session")]
    TooFar {
        /// Position received.
        position: u32,
        /// Last accepted position; 0 before the first.
        last: u32,
    },
    /// The chain has no such position.
    #[error("chain position {position} is beyond the chain's length {length}: open a new session")]
    BeyondEnd {
        /// Position received.
        position: u32,
        /// Values of the chain.
        length: u32,
    },
    /// The value does not lead to the tip.
    #[error("the revealed value does not belong to this session's chain and position")]
    Mismatch,
}

impl ChainCommitment {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 32;

    /// The commitment to a chain of `length` values above `tip`.
    ///
    /// # Errors
    /// [`ChainLength`] when the length is not one that a session may have.
    pub fn new(length: u32, tip: [u8; 32]) -> Result<ChainCommitment, ChainLength> {
        if (1..=CHAIN_LENGTH_MAX).contains(&length) {
            Ok(ChainCommitment { length, tip })
        } else {
            Err(ChainLength(length))
        }
    }

    /// Number of values that the holder can reveal.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The value at position 0.
    pub fn tip(&self) -> &[u8; 32] {
        &self.tip
    }

    /// u32 length, little-endian, and tip.
    pub fn encode(&self) -> [u8; ChainCommitment::BYTES] {
        let mut bytes = [0; ChainCommitment::BYTES];
        let (length, tip) = bytes.split_at_mut(4);
        length.copy_from_slice(&self.length.to_le_bytes());
        tip.copy_from_slice(&self.tip);
        bytes
    }

    /// Reads an encoding. Every accepted input is the encoding of its result.
    ///
    /// # Errors
    /// [`ChainLength`] when the length is not one that a session may have.
    pub fn decode(bytes: &[u8; ChainCommitment::BYTES]) -> Result<ChainCommitment, ChainLength> {
        let tip = std::array::from_fn(|i| bytes[4 + i]);
        ChainCommitment::new(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), tip)
    }

    /// Checks a revealed value without knowing earlier ones, as for a stored attestation: at most 65,536 hashes.
    /// The caller, or a [`ChainTip`], must ensure that no position counts twice.
    ///
    /// # Errors
    /// [`ChainError`] when the position is outside the chain, or the value is not the one at it.
    pub fn check(&self, context: &[u8; 32], reveal: &Reveal) -> Result<(), ChainError> {
        let Reveal { position, value } = *reveal;
        if position == 0 {
            return Err(ChainError::Used { position, last: 0 });
        }
        if position > self.length {
            return Err(ChainError::BeyondEnd { position, length: self.length });
        }
        if walk(context, value, position, 0) == self.tip { Ok(()) } else { Err(ChainError::Mismatch) }
    }
}

/// The service's side: the last accepted value of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainTip {
    context: [u8; 32],
    length: u32,
    position: u32,
    value: [u8; 32],
}

impl ChainTip {
    /// The tip of a new session. `context` is the session's context without the chain,
    /// [`session::context`](crate::session::context).
    pub fn new(context: [u8; 32], commitment: &ChainCommitment) -> ChainTip {
        ChainTip { context, length: commitment.length, position: 0, value: commitment.tip }
    }

    /// A tip as it was after `last` was accepted, for a service that stored `last` and not the tip.
    pub fn after(context: [u8; 32], commitment: &ChainCommitment, last: &Reveal) -> ChainTip {
        ChainTip { context, length: commitment.length, position: last.position, value: last.value }
    }

    /// Length of the encoding.
    pub const BYTES: usize = 32 + 4 + 4 + 32;

    /// Context, u32 length, u32 position and value, integers little-endian.
    pub fn encode(&self) -> [u8; ChainTip::BYTES] {
        let ChainTip { context, length, position, value } = self;
        let mut bytes = [0; ChainTip::BYTES];
        bytes[..32].copy_from_slice(context);
        bytes[32..36].copy_from_slice(&length.to_le_bytes());
        bytes[36..40].copy_from_slice(&position.to_le_bytes());
        bytes[40..].copy_from_slice(value);
        bytes
    }

    /// Reads an encoding; none of a chain that is too long, or beyond its end. The caller must know whether the tip was ever there.
    pub fn decode(bytes: &[u8; ChainTip::BYTES]) -> Option<ChainTip> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (length, position) = (word(32), word(36));
        let (context, value) = (std::array::from_fn(|i| bytes[i]), std::array::from_fn(|i| bytes[40 + i]));
        let allowed = (1..=CHAIN_LENGTH_MAX).contains(&length) && position <= length;
        allowed.then_some(ChainTip { context, length, position, value })
    }

    /// Accepts the value at a later position and moves there; an error changes nothing. At most
    /// [`CHAIN_STEPS_MAX`] hashes, one if nothing was lost. Values that were passed over can no longer be accepted.
    ///
    /// # Errors
    /// [`ChainError`] when the position is not a later one within reach, or the value is not the one at it.
    pub fn accept(&mut self, reveal: &Reveal) -> Result<(), ChainError> {
        let (position, last) = (reveal.position, self.position);
        if position <= self.length && position.saturating_sub(last) > CHAIN_STEPS_MAX {
            return Err(ChainError::TooFar { position, last });
        }
        self.catch_up(reveal)
    }

    /// Moves to a value that another service accepted, however far it is: as many hashes as positions, at most [`CHAIN_LENGTH_MAX`].
    /// An error changes nothing.
    ///
    /// # Errors
    /// [`ChainError`] when the position is not a later one, or the value is not the one at it.
    pub fn catch_up(&mut self, reveal: &Reveal) -> Result<(), ChainError> {
        let (Reveal { position, value }, last) = (*reveal, self.position);
        if position <= last {
            return Err(ChainError::Used { position, last });
        }
        if position > self.length {
            return Err(ChainError::BeyondEnd { position, length: self.length });
        }
        // Not a secret, because the holder has revealed it. So the comparison need not take constant time.
        if walk(&self.context, value, position, last) != self.value {
            return Err(ChainError::Mismatch);
        }
        (self.position, self.value) = (position, value);
        Ok(())
    }

    /// Last accepted position; 0 before the first.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// Last accepted value; the tip before the first.
    pub fn value(&self) -> &[u8; 32] {
        &self.value
    }

    /// Values that can still be revealed.
    pub fn left(&self) -> u32 {
        self.length - self.position
    }
}

/// `v[to]` from `v[from]`; `from` is not below `to`.
fn walk(context: &[u8; 32], mut value: [u8; 32], from: u32, to: u32) -> [u8; 32] {
    for position in (to + 1..=from).rev() {
        value = Sha3_256::new()
            .chain_update(b"trefoil/chain-step/1")
            .chain_update(context)
            .chain_update(position.to_le_bytes())
            .chain_update(value)
            .finalize()
            .into();
    }
    value
}

#[cfg(test)]
mod tests;
