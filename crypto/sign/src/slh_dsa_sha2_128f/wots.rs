//! WOTS+ (FIPS 205 section 5) for many one-time keys at once: every chain of every key is a lane.

use trefoil_kernels::sha256::LANES;
use zeroize::Zeroizing;

use super::address::{Address, AddressLanes, Kind};
use super::hypertree::{LEAVES, Tree};
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, lane};

/// Values of a digit, and of a chain: w.
pub(super) const W: usize = 16;

/// Chains of a key: 32 digits of the message and 3 of its checksum.
pub(super) const LEN: usize = 35;

/// The chains that a signature needs.
pub(super) struct Chains {
    /// Of each tree the chains of the leaf that signs, all values: which one is released depends on the root of the
    /// tree below, which comes out of the same computation. Everything below the released values is secret.
    signing: Zeroizing<Vec<[u128; W]>>,
    /// The last values of the chains of every leaf of the whole trees.
    ends: Vec<[Node; LEN]>,
}

impl Chains {
    /// Algorithms 5 and 6 for every leaf of the trees `whole`, and for the leaf that signs of those in `alone`.
    pub(super) fn compute<C: Compression>(
        hash: &mut TweakedHash<C>,
        sk_seed: &NodeLanes,
        whole: &[Tree],
        alone: &[Tree],
    ) -> Self {
        let leaves = whole.len() * LEAVES;
        let mut signing = Zeroizing::new(vec![[0; W]; (whole.len() + alone.len()) * LEN]);
        let mut ends = vec![[Node::default(); LEN]; leaves];
        let keys: Vec<Tree> =
            whole.iter().flat_map(Tree::with_each_leaf).chain(alone.iter().copied()).collect();
        walk(hash, sk_seed, &keys, |key, chain, values, from| {
            let tree = match key.checked_sub(leaves) {
                Some(beyond) => Some(whole.len() + beyond),
                None => {
                    ends[key][chain] = lane(&values[W - 1], from);
                    Some(key / LEAVES).filter(|&tree| whole[tree].leaf == keys[key].leaf)
                }
            };
            if let Some(tree) = tree {
                let slot = &mut signing[tree * LEN + chain];
                slot.iter_mut().zip(values).for_each(|(slot, values)| *slot = packed(lane(values, from)));
            }
        });
        Self { signing, ends }
    }

    /// The public keys of all leaves of the whole trees.
    pub(super) fn public_keys<C: Compression>(
        &self,
        hash: &mut TweakedHash<C>,
        whole: &[Tree],
    ) -> Vec<[Node; LEAVES]> {
        public_keys(hash, whole, &self.ends)
    }

    /// Algorithm 7: the signature of `message` by the signing leaf of tree `tree`, counted from the first whole one
    /// to the last one alone.
    pub(super) fn sign(&self, tree: usize, message: Node, signature: &mut Vec<u8>) {
        for (chain, digit) in self.signing[tree * LEN..].iter().zip(digits(message)) {
            signature.extend_from_slice(&chain[digit].to_be_bytes());
        }
    }
}

/// A node as one number, which is wiped in one store.
fn packed(node: Node) -> u128 {
    node.iter().fold(0, |number, &word| number << 32 | u128::from(word))
}

/// For every leaf of `trees` the signature of the message that `message` gives for it (zeros for none), and the last
/// values of its chains.
pub(super) fn sign_with_every_leaf<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    trees: &[Tree],
    message: impl Fn(usize) -> Option<Node>,
) -> (Vec<[Node; LEN]>, Vec<[Node; LEN]>) {
    let keys: Vec<Tree> = trees.iter().flat_map(Tree::with_each_leaf).collect();
    let digits: Vec<Option<[usize; LEN]>> = (0..keys.len()).map(|key| message(key).map(digits)).collect();
    let mut signatures = vec![[Node::default(); LEN]; keys.len()];
    let mut ends = signatures.clone();
    walk(hash, sk_seed, &keys, |key, chain, values, from| {
        if let Some(digits) = &digits[key] {
            signatures[key][chain] = lane(&values[digits[chain]], from);
        }
        ends[key][chain] = lane(&values[W - 1], from);
    });
    (signatures, ends)
}

/// The end of algorithm 6: the public keys of all leaves of `trees`, from the last values of their chains.
pub(super) fn public_keys<C: Compression>(
    hash: &mut TweakedHash<C>,
    trees: &[Tree],
    ends: &[[Node; LEN]],
) -> Vec<[Node; LEAVES]> {
    let mut keys = vec![[Node::default(); LEAVES]; trees.len()];
    for first in (0..ends.len()).step_by(LANES) {
        let leaf = |lane: usize| (first + lane).min(ends.len() - 1);
        let addresses = AddressLanes::new(|lane| {
            let leaf = leaf(lane);
            address(Tree { leaf: (leaf % LEAVES) as u32, ..trees[leaf / LEAVES] }, Kind::WotsPk, 0)
        });
        let compressed = hash.t(&addresses, LEN, |lane, chain| ends[leaf(lane)][chain]);
        for (from, leaf) in (first..ends.len()).take(LANES).enumerate() {
            keys[leaf / LEAVES][leaf % LEAVES] = lane(&compressed, from);
        }
    }
    keys
}

/// Computes all chains of all `keys` and shows `visit` each: index of the key, of the chain, all values, and which
/// lane of them is this chain's.
fn walk<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    keys: &[Tree],
    mut visit: impl FnMut(usize, usize, &[NodeLanes; W], usize),
) {
    let mut values = Zeroizing::new([[[0; LANES]; 4]; W]);
    let mut addresses = AddressLanes([[0; LANES]; 6]);
    let chains = keys.len() * LEN;
    for first in (0..chains).step_by(LANES) {
        let mut filled = 0;
        // Lanes without a chain keep an earlier one.
        while filled < LANES.min(chains - first) {
            let (key, chain) = ((first + filled) / LEN, (first + filled) % LEN);
            let end = LANES.min(filled + LEN - chain);
            addresses.set_chains(filled..end, address(keys[key], Kind::WotsPrf, chain));
            filled = end;
        }
        values[0] = hash.f(&addresses, sk_seed);
        addresses.set_kind(Kind::WotsHash);
        hash.chain(&addresses, &mut values[..]);
        for (from, chain) in (first..chains).take(LANES).enumerate() {
            visit(chain / LEN, chain % LEN, &values, from);
        }
    }
}

pub(super) fn address(key: Tree, kind: Kind, chain: usize) -> Address {
    Address {
        layer: key.layer,
        tree: key.index,
        kind,
        key_pair: key.leaf,
        chain_or_height: chain as u32,
        hash_or_index: 0,
    }
}

/// Algorithm 4 and the checksum: digits to base 16, most significant first.
pub(super) fn digits(message: Node) -> [usize; LEN] {
    let mut digits = [0; LEN];
    for (i, digit) in digits[..32].iter_mut().enumerate() {
        *digit = (message[i / 8] >> (28 - 4 * (i % 8)) & 15) as usize;
    }
    let checksum: usize = digits[..32].iter().map(|digit| W - 1 - digit).sum();
    digits[32..].copy_from_slice(&[checksum >> 8, checksum >> 4 & 15, checksum & 15]);
    digits
}
