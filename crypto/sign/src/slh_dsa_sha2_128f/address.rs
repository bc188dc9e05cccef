//! Addresses (FIPS 205 section 4.2) in their compressed form of 22 bytes (section 11.2), as SHA-256 words.

use trefoil_kernels::sha256::{LANES, Words};

/// The use of a hash: the `type` of an address.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    WotsHash = 0,
    WotsPk = 1,
    Tree = 2,
    ForsTree = 3,
    ForsRoots = 4,
    WotsPrf = 5,
    ForsPrf = 6,
}

/// One address. The last two words have a meaning for each kind.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) layer: u8,
    pub(super) tree: u64,
    pub(super) kind: Kind,
    pub(super) key_pair: u32,
    /// Chain address, or height in the tree.
    pub(super) chain_or_height: u32,
    /// Hash address, or index in the tree.
    pub(super) hash_or_index: u32,
}

impl Address {
    /// The 22 bytes as big-endian words. The low half of the last word is zero: the message begins there.
    pub(super) fn words(self) -> [u32; 6] {
        let Self { layer, tree, kind, key_pair, chain_or_height, hash_or_index } = self;
        [
            u32::from(layer) << 24 | (tree >> 40) as u32,
            (tree >> 8) as u32,
            (tree as u32) << 24 | (kind as u32) << 16 | key_pair >> 16,
            key_pair << 16 | chain_or_height >> 16,
            chain_or_height << 16 | hash_or_index >> 16,
            hash_or_index << 16,
        ]
    }
}

/// One address for every lane.
pub(super) struct AddressLanes(pub(super) [Words; 6]);

impl AddressLanes {
    pub(super) fn new(address: impl Fn(usize) -> Address) -> Self {
        let mut lanes = Self([[0; LANES]; 6]);
        (0..LANES).for_each(|lane| lanes.set(lane, address(lane)));
        lanes
    }

    pub(super) fn set(&mut self, lane: usize, address: Address) {
        for (row, word) in self.0.iter_mut().zip(address.words()) {
            row[lane] = word;
        }
    }

    /// Indices in a tree from `first` up, below 2^16.
    pub(super) fn set_indices(&mut self, first: usize) {
        for (word, index) in self.0[5].iter_mut().zip(first as u32..) {
            *word = index << 16;
        }
    }

    /// The hash address of one lane, below 2^16.
    pub(super) fn set_hash(&mut self, lane: usize, hash: u32) {
        self.0[5][lane] = hash << 16;
    }

    pub(super) fn set_kind(&mut self, kind: Kind) {
        self.0[2].iter_mut().for_each(|word| *word = *word & 0xff00_ffff | (kind as u32) << 16);
    }
}
