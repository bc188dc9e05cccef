//! WOTS+ (FIPS 205 section 5) for all layers of the hypertree at once: every chain of every leaf is a lane.

use trefoil_kernels::sha256::LANES;
use zeroize::Zeroizing;

use super::address::{Address, AddressLanes, Kind};
use super::hypertree::{LEAVES, Tree};
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append, lane};

/// Values of a digit, and of a chain: w.
const W: usize = 16;

/// Chains of a key: 32 digits of the message and 3 of its checksum.
const LEN: usize = 35;

/// The chains of all leaves of some trees.
pub(super) struct Chains {
    /// Of each tree the chains of the leaf that signs, all values: which one is released depends on the root of the
    /// tree below, which comes out of the same computation. Everything below the released values is secret.
    signing: Zeroizing<Vec<[Node; W]>>,
    /// The last values of every leaf's chains.
    ends: Vec<[Node; LEN]>,
}

impl Chains {
    /// Algorithms 5 and 6 for every leaf of `trees`.
    pub(super) fn compute<C: Compression>(
        hash: &mut TweakedHash<C>,
        sk_seed: &NodeLanes,
        trees: &[Tree],
    ) -> Self {
        let leaves = trees.len() * LEAVES;
        let mut signing = Zeroizing::new(vec![[Node::default(); W]; trees.len() * LEN]);
        let mut ends = vec![[Node::default(); LEN]; leaves];
        let mut values = Zeroizing::new(vec![[[0; LANES]; 4]; W]);
        let chains: Vec<(usize, usize)> =
            (0..leaves).flat_map(|leaf| (0..LEN).map(move |chain| (leaf, chain))).collect();
        for chains in chains.chunks(LANES) {
            // Lanes without a chain repeat the last one.
            let mut addresses = AddressLanes::new(|lane| {
                let (leaf, chain) = chains[lane.min(chains.len() - 1)];
                address(trees, leaf, Kind::WotsPrf, chain)
            });
            values[0] = hash.f(&addresses, sk_seed);
            addresses.set_kind(Kind::WotsHash);
            hash.chain(&addresses, &mut values);
            for (from, &(leaf, chain)) in chains.iter().enumerate() {
                let tree = leaf / LEAVES;
                ends[leaf][chain] = lane(&values[W - 1], from);
                if leaf % LEAVES == trees[tree].leaf as usize {
                    signing[tree * LEN + chain] = std::array::from_fn(|step| lane(&values[step], from));
                }
            }
        }
        Self { signing, ends }
    }

    /// The public keys of all leaves, tree by tree: the end of algorithm 6.
    pub(super) fn public_keys<C: Compression>(
        &self,
        hash: &mut TweakedHash<C>,
        trees: &[Tree],
    ) -> Vec<[Node; LEAVES]> {
        let mut keys = vec![[Node::default(); LEAVES]; trees.len()];
        for first in (0..self.ends.len()).step_by(LANES) {
            let leaf = |lane: usize| (first + lane).min(self.ends.len() - 1);
            let addresses = AddressLanes::new(|lane| address(trees, leaf(lane), Kind::WotsPk, 0));
            let compressed = hash.t(&addresses, LEN, |lane, chain| self.ends[leaf(lane)][chain]);
            for (from, leaf) in (first..self.ends.len()).take(LANES).enumerate() {
                keys[leaf / LEAVES][leaf % LEAVES] = lane(&compressed, from);
            }
        }
        keys
    }

    /// Algorithm 7: the signature of `message` by the signing leaf of tree `tree`.
    pub(super) fn sign(&self, tree: usize, message: Node, signature: &mut Vec<u8>) {
        for (chain, digit) in self.signing[tree * LEN..].iter().zip(digits(message)) {
            append(signature, chain[digit]);
        }
    }
}

fn address(trees: &[Tree], leaf: usize, kind: Kind, chain: usize) -> Address {
    let tree = trees[leaf / LEAVES];
    Address {
        layer: tree.layer,
        tree: tree.index,
        kind,
        key_pair: (leaf % LEAVES) as u32,
        chain_or_height: chain as u32,
        hash_or_index: 0,
    }
}

/// Algorithm 4 and the checksum: digits to base 16, most significant first.
fn digits(message: Node) -> [usize; LEN] {
    let mut digits = [0; LEN];
    for (i, digit) in digits[..32].iter_mut().enumerate() {
        *digit = (message[i / 8] >> (28 - 4 * (i % 8)) & 15) as usize;
    }
    let checksum: usize = digits[..32].iter().map(|digit| W - 1 - digit).sum();
    digits[32..].copy_from_slice(&[checksum >> 8, checksum >> 4 & 15, checksum & 15]);
    digits
}
