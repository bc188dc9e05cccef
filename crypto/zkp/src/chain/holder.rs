//! The holder's side of a chain.

use std::fmt;

use rand::{CryptoRng, RngExt};
use zeroize::{Zeroize, Zeroizing};

use super::{ChainCommitment, ChainLength, Reveal, walk};

/// A chain whose values are known.
///
/// Keeps at most log2(length) + 2 values and hashes log2(length) / 2 times per revealed one on average, at worst
/// half of the length once (13 ms for the longest chain). Wiped when dropped, not shown by `Debug`.
pub struct Chain {
    context: [u8; 32],
    seed: Zeroizing<[u8; 32]>,
    commitment: ChainCommitment,
    revealed: u32,
    /// Positions and values from the end of the chain downwards, each about half as far from the next value to be
    /// revealed as the one before it.
    checkpoints: Vec<(u32, [u8; 32])>,
}

impl Chain {
    /// A fresh chain of `length` values for the session of `context`, which is the session's context without the
    /// chain ([`SessionClaim::context`](crate::SessionClaim::context)). Production callers pass an OS-seeded generator.
    ///
    /// # Errors
    /// [`ChainLength`] when the length is not one that a session may have.
    pub fn random(
        context: [u8; 32],
        length: u32,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Chain, ChainLength> {
        Chain::restore(context, length, &Zeroizing::new(rng.random()), 0)
    }

    /// The chain that grows from `seed`, of which `revealed` values were revealed: for a holder that stored
    /// [`Chain::seed`]. Store the position before sending the value at it, or a value is revealed twice,
    /// which the service refuses.
    ///
    /// # Errors
    /// [`ChainLength`] when the length is not one that a session may have.
    pub fn restore(
        context: [u8; 32],
        length: u32,
        seed: &[u8; 32],
        revealed: u32,
    ) -> Result<Chain, ChainLength> {
        // Checks the length before anything is hashed.
        ChainCommitment::new(length, [0; 32])?;
        // Full capacity at once: growing would leave copies of values behind.
        let mut checkpoints = Vec::with_capacity(length.ilog2() as usize + 3);
        checkpoints.push((length, *seed));
        let tip = descend(&context, &mut checkpoints, 0);
        let commitment = ChainCommitment::new(length, tip)?;
        Ok(Chain {
            context,
            seed: Zeroizing::new(*seed),
            commitment,
            revealed: revealed.min(length),
            checkpoints,
        })
    }

    /// The commitment for the session's proof.
    pub fn commitment(&self) -> &ChainCommitment {
        &self.commitment
    }

    /// Secret from which [`Chain::restore`] makes this chain again.
    pub fn seed(&self) -> &Zeroizing<[u8; 32]> {
        &self.seed
    }

    /// Number of values that were revealed: the position of the last.
    pub fn revealed(&self) -> u32 {
        self.revealed
    }

    /// Reveals the next value; none is left at the end of the chain.
    pub fn reveal(&mut self) -> Option<Reveal> {
        let position = self.revealed + 1;
        if position > self.commitment.length() {
            return None;
        }
        self.revealed = position;
        Some(Reveal { position, value: descend(&self.context, &mut self.checkpoints, position) })
    }
}

/// `v[position]`, and checkpoints halfway down to it. The end of the chain is always a checkpoint, so there is one
/// at or above every position; those below are public by now and are dropped.
fn descend(context: &[u8; 32], checkpoints: &mut Vec<(u32, [u8; 32])>, position: u32) -> [u8; 32] {
    while checkpoints.len() > 1 && checkpoints.last().is_some_and(|(at, _)| *at < position) {
        checkpoints.pop();
    }
    loop {
        let (at, value) = checkpoints[checkpoints.len() - 1];
        if at == position {
            return value;
        }
        let middle = position + (at - position) / 2;
        checkpoints.push((middle, walk(context, value, at, middle)));
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        for (_, value) in &mut self.checkpoints {
            value.zeroize();
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Chain { commitment, revealed, .. } = self;
        f.debug_struct("Chain")
            .field("commitment", commitment)
            .field("revealed", revealed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::rng;

    #[test]
    fn few_values_are_kept_and_every_one_is_right() {
        for length in [1, 2, 3, 7, 8, 1000, 1024] {
            let mut values = vec![[9; 32]];
            for position in (1..=length).rev() {
                values.push(walk(&[5; 32], values[values.len() - 1], position, position - 1));
            }
            values.reverse();
            let mut chain = Chain::restore([5; 32], length, &[9; 32], 0).expect("in range");
            let capacity = chain.checkpoints.capacity();
            assert_eq!(*chain.commitment(), ChainCommitment::new(length, values[0]).expect("in range"));
            for position in 1..=length {
                assert_eq!(chain.reveal(), Some(Reveal { position, value: values[position as usize] }));
                assert!(chain.checkpoints.len() <= length.ilog2() as usize + 2, "{length}, {position}");
            }
            assert_eq!((chain.reveal(), chain.revealed()), (None, length));
            assert_eq!(chain.checkpoints.capacity(), capacity, "the buffer never moved");
        }
    }

    #[test]
    fn a_restored_chain_goes_on() {
        let mut chain = Chain::random([5; 32], 300, &mut rng(3)).expect("in range");
        for _ in 0..123 {
            chain.reveal();
        }
        let mut restored = Chain::restore([5; 32], 300, chain.seed(), chain.revealed()).expect("in range");
        assert_eq!(restored.commitment(), chain.commitment());
        for _ in 123..=300 {
            assert_eq!(restored.reveal(), chain.reveal());
        }
        let mut spent = Chain::restore([5; 32], 300, chain.seed(), u32::MAX).expect("in range");
        assert_eq!(spent.reveal(), None);
    }

    #[test]
    fn nothing_secret_is_shown() {
        let chain = Chain::restore([5; 32], 4, &[0xab; 32], 0).expect("in range");
        let text = format!("{chain:?}");
        assert!(text.contains("revealed: 0") && !text.contains("171, 171"), "{text}");
    }
}
