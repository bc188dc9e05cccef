//! The Merkle tree under a seal (RFC 9162 section 2.1), with 32 nodes hashed at a time by the SHA-256 kernel.
//!
//! Its slow twin is [`MerkleTree::new`].

use trefoil_attest::tree::{Hash, MerkleTree, TreeHasher, leaf_hash, node_hash};
use trefoil_kernels::Cpu;
use trefoil_kernels::sha256::{INITIAL_STATE, LANES, Words, compress};

/// The tree over `entries`, the same as [`MerkleTree::new`] makes; none if there is no entry.
#[must_use]
pub fn seal_tree(entries: &[Hash]) -> Option<MerkleTree> {
    MerkleTree::hashed_by(&InLanes(Cpu::detected()), entries)
}

/// Fewer nodes than this are hashed one by one: all lanes together cost as much as about eight of them.
const FEW: usize = 8;

/// Words of a hash.
const HASH_WORDS: usize = 8;

/// Hashes on this processor's lanes.
struct InLanes(Cpu);

impl TreeHasher for InLanes {
    fn leaves(&self, entries: &[Hash], hashes: &mut [Hash]) {
        for (entries, hashes) in entries.chunks(LANES).zip(hashes.chunks_mut(LANES)) {
            if entries.len() < FEW {
                hashes.iter_mut().zip(entries).for_each(|(hash, entry)| *hash = leaf_hash(entry));
                continue;
            }
            // SHA-256(0x00 | entry): 33 bytes, one block.
            let mut block = [[0; LANES]; 16];
            write_words(&mut block, entries.iter().map(|entry| &entry[..]));
            let last = shift_in(0x00, &mut block[..HASH_WORDS]);
            block[HASH_WORDS] = last.map(|word| word | PADDING);
            block[15] = [8 * 33; LANES];
            let mut state = initial();
            compress(self.0, &mut state, &block);
            read_state(&state, hashes);
        }
    }

    fn nodes(&self, children: &[[Hash; 2]], parents: &mut [Hash]) {
        for (children, parents) in children.chunks(LANES).zip(parents.chunks_mut(LANES)) {
            if children.len() < FEW {
                let pairs = parents.iter_mut().zip(children);
                pairs.for_each(|(parent, [left, right])| *parent = node_hash(left, right));
                continue;
            }
            // SHA-256(0x01 | left | right): 65 bytes, two blocks.
            let mut block = [[0; LANES]; 16];
            write_words(&mut block, children.iter().map(|pair| pair.as_flattened()));
            let last = shift_in(0x01, &mut block);
            let mut state = initial();
            compress(self.0, &mut state, &block);
            let mut block = [[0; LANES]; 16];
            block[0] = last.map(|word| word | PADDING);
            block[15] = [8 * 65; LANES];
            compress(self.0, &mut state, &block);
            read_state(&state, parents);
        }
    }
}

/// The one bit that begins the padding, after one byte of a word.
const PADDING: u32 = 0x0080_0000;

fn initial() -> [Words; 8] {
    INITIAL_STATE.map(|word| [word; LANES])
}

/// The words of each lane's message, big-endian.
fn write_words<'a>(block: &mut [Words; 16], messages: impl Iterator<Item = &'a [u8]>) {
    for (lane, message) in messages.enumerate() {
        for (row, word) in block.iter_mut().zip(message.as_chunks().0) {
            row[lane] = u32::from_be_bytes(*word);
        }
    }
}

/// Moves each lane's message back by one byte, with `first` in front; what falls off its end is the first byte of the words
/// returned.
fn shift_in(first: u8, block: &mut [Words]) -> Words {
    let mut carried = [u32::from(first) << 24; LANES];
    for row in block {
        for (word, carried) in row.iter_mut().zip(&mut carried) {
            (*word, *carried) = (*carried | *word >> 8, *word << 24);
        }
    }
    carried
}

fn read_state(state: &[Words; 8], hashes: &mut [Hash]) {
    for (lane, hash) in hashes.iter_mut().enumerate() {
        for (bytes, row) in hash.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = row[lane].to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};
    use trefoil_kernels::Tier;

    /// Claim S3: The tree under a seal does not depend on how many nodes are hashed together.
    #[test]
    fn every_tier_gives_the_tree_of_one_node_after_the_other() {
        let entries: Vec<Hash> = (0..400u32).map(|i| Sha256::digest(i.to_be_bytes()).into()).collect();
        for tier in Tier::available() {
            for size in (0..140).chain([255, 256, 257, 400]) {
                let entries = &entries[..size];
                let (ours, plain) =
                    (MerkleTree::hashed_by(&InLanes(Cpu::at_most(tier)), entries), MerkleTree::new(entries));
                assert_eq!(ours.as_ref().map(MerkleTree::root), plain.as_ref().map(MerkleTree::root));
                let (Some(ours), Some(plain)) = (ours, plain) else { continue };
                assert!((0..=size as u64).all(|leaf| ours.path(leaf) == plain.path(leaf)), "{tier:?} {size}");
            }
        }
    }
}
