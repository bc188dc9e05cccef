//! The tweakable hash functions of FIPS 205 section 11.2.1 (SHA-256, n = 16), many at a time.
//!
//! All of them are `Trunc_16(SHA-256(PK.seed | 48 zeros | compressed address | message))`. The first block depends on
//! the key only, so its compression is done once. The address ends in the middle of a word, so message words are
//! shifted by half a word.

use trefoil_kernels::Cpu;
use trefoil_kernels::sha256::{self, INITIAL_STATE, LANES, Words};

use super::address::{Address, AddressLanes};
use super::wipe::wipe;

/// An n-byte value as big-endian words.
pub(super) type Node = [u32; 4];

/// One node of every lane.
pub(super) type NodeLanes = [Words; 4];

/// Bits of the first block and of an address, which the padding counts besides the message.
const PREFIX_BITS: u32 = 8 * (64 + 22);
const NODE_BITS: u32 = 8 * 16;

/// The one bit that begins the padding, in the low half of the word that ends the message.
const PADDING: u32 = 0x8000;

pub(super) fn node(bytes: &[u8; 16]) -> Node {
    let words = bytes.as_chunks::<4>().0;
    [0, 1, 2, 3].map(|i| u32::from_be_bytes(words[i]))
}

pub(super) fn append(signature: &mut Vec<u8>, node: Node) {
    node.iter().for_each(|word| signature.extend_from_slice(&word.to_be_bytes()));
}

/// The same node in every lane.
pub(super) fn broadcast(node: Node) -> NodeLanes {
    node.map(|word| [word; LANES])
}

/// The node of one lane.
pub(super) fn lane(lanes: &NodeLanes, lane: usize) -> Node {
    [lanes[0][lane], lanes[1][lane], lanes[2][lane], lanes[3][lane]]
}

/// The compression function of a signature. Tests replace it with a faulty one.
pub(super) trait Compression {
    /// As [`sha256::compress`].
    fn compress(&mut self, state: &mut [Words; 8], block: &[Words; 16]);

    /// As [`sha256::chain`].
    fn chain(&mut self, midstate: &[Words; 8], address: &[Words; 6], values: &mut [NodeLanes]);
}

impl Compression for Cpu {
    fn compress(&mut self, state: &mut [Words; 8], block: &[Words; 16]) {
        sha256::compress(*self, state, block);
    }

    fn chain(&mut self, midstate: &[Words; 8], address: &[Words; 6], values: &mut [NodeLanes]) {
        sha256::chain(*self, midstate, address, values);
    }
}

/// The tweakable hash functions under one PK.seed. Secrets pass through the fields: wiped on drop.
pub(super) struct TweakedHash<C> {
    compression: C,
    midstate: [Words; 8],
    state: [Words; 8],
    block: [Words; 16],
    pair: [NodeLanes; 2],
}

impl<C: Compression> TweakedHash<C> {
    pub(super) fn new(mut compression: C, pk_seed: Node) -> Self {
        let mut midstate = INITIAL_STATE.map(|word| [word; LANES]);
        let mut block = [[0; LANES]; 16];
        block[..4].copy_from_slice(&broadcast(pk_seed));
        compression.compress(&mut midstate, &block);
        Self { compression, midstate, state: midstate, block, pair: [[[0; LANES]; 4]; 2] }
    }

    /// F, and PRF with SK.seed as the message.
    pub(super) fn f(&mut self, addresses: &AddressLanes, message: &NodeLanes) -> NodeLanes {
        self.pair[0] = *message;
        self.compression.chain(&self.midstate, &addresses.0, &mut self.pair);
        self.pair[1]
    }

    /// F again and again: `values[i + 1]` becomes F of `values[i]`, under hash addresses that count up.
    pub(super) fn chain(&mut self, addresses: &AddressLanes, values: &mut [NodeLanes]) {
        self.compression.chain(&self.midstate, &addresses.0, values);
    }

    /// H: the parents of pairs of nodes.
    pub(super) fn h(&mut self, pairs: &[(Address, [Node; 2])]) -> Vec<Node> {
        let mut parents = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(LANES) {
            // Lanes without a pair repeat the last one.
            let pair = |lane: usize| &pairs[lane.min(pairs.len() - 1)];
            let sides = [0, 1].map(|side| gather(|lane| pair(lane).1[side]));
            let output = self.h_lanes(&AddressLanes::new(|lane| pair(lane).0), &sides);
            parents.extend((0..pairs.len()).map(|i| lane(&output, i)));
        }
        parents
    }

    /// H of one pair in every lane.
    pub(super) fn h_lanes(&mut self, addresses: &AddressLanes, [left, right]: &[NodeLanes; 2]) -> NodeLanes {
        self.begin(addresses);
        self.absorb(5, left);
        self.absorb(9, right);
        self.finish(14, PREFIX_BITS + 2 * NODE_BITS);
        self.output()
    }

    /// T_l: compresses `length` nodes of each lane to one. `nodes` gives node `i` of every lane.
    pub(super) fn t(
        &mut self,
        addresses: &AddressLanes,
        length: usize,
        nodes: impl Fn(usize) -> NodeLanes,
    ) -> NodeLanes {
        self.begin(addresses);
        let mut row = 5;
        for i in 0..length {
            row = self.absorb(row, &nodes(i));
        }
        self.finish(row + 1, PREFIX_BITS + length as u32 * NODE_BITS);
        self.output()
    }

    /// Starts a hash: the address fills the block up to the middle of row 5.
    fn begin(&mut self, addresses: &AddressLanes) {
        self.state = self.midstate;
        self.block[..6].copy_from_slice(&addresses.0);
    }

    /// Adds a node whose first half word belongs into `row`, and returns the row of its last half word. Compresses
    /// whenever a block is full.
    fn absorb(&mut self, row: usize, nodes: &NodeLanes) -> usize {
        let mut row = row;
        for words in nodes {
            self.block[row].iter_mut().zip(words).for_each(|(half, word)| *half |= word >> 16);
            row += 1;
            if row == self.block.len() {
                self.compression.compress(&mut self.state, &self.block);
                row = 0;
            }
            self.block[row].iter_mut().zip(words).for_each(|(half, word)| *half = word << 16);
        }
        row
    }

    /// Pads the message, of which `rows` rows of the block are filled, and compresses the last block.
    fn finish(&mut self, rows: usize, bits: u32) {
        self.block[rows - 1].iter_mut().for_each(|half| *half |= PADDING);
        self.block[rows..15].fill([0; LANES]);
        self.block[15] = [bits; LANES];
        self.compression.compress(&mut self.state, &self.block);
    }

    fn output(&self) -> NodeLanes {
        [self.state[0], self.state[1], self.state[2], self.state[3]]
    }
}

impl<C> Drop for TweakedHash<C> {
    fn drop(&mut self) {
        // The midstate is of PK.seed, which is public.
        wipe(self.state.as_flattened_mut());
        wipe(self.block.as_flattened_mut());
        wipe(self.pair.as_flattened_mut().as_flattened_mut());
    }
}

/// One node from each lane.
pub(super) fn gather(node: impl Fn(usize) -> Node) -> NodeLanes {
    let mut lanes = [[0; LANES]; 4];
    for lane in 0..LANES {
        for (row, word) in lanes.iter_mut().zip(node(lane)) {
            row[lane] = word;
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slh_dsa_sha2_128f::wipe::tests::wiped_by_drop;

    #[test]
    fn what_secrets_passed_through_is_wiped_when_it_is_dropped() {
        let mut hash = TweakedHash::new(Cpu::detected(), [7; 4]);
        hash.pair = [[[7; LANES]; 4]; 2];
        assert_eq!(wiped_by_drop(hash), (8 + 16 + 2 * 4) * LANES);
    }
}
