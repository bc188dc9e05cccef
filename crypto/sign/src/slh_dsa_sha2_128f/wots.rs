//! WOTS+ (FIPS 205 section 5) for many one-time keys at once: every chain of every key is a lane.

use trefoil_kernels::sha256::{LANES, Words};

use super::address::{Address, AddressLanes, Kind};
use super::parameters::LEAVES;
use super::tree::Tree;
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append, lane};
use super::wipe::wipe;

/// Values of a digit, and of a chain: w.
pub(super) const W: usize = 16;

/// Chains of a key: 32 digits of the message and 3 of its checksum.
pub(super) const LEN: usize = 35;

/// SK.seed, then the values of one chain in every lane: each comes of the one before.
type ChainLanes = [NodeLanes; 1 + W];

/// The chains that a signature needs.
pub(super) struct Chains {
    /// Of each tree the chains of the leaf that signs, all values: which one is released depends on the root of the
    /// tree below, which comes out of the same computation. Everything below the released values is secret.
    signing: Secret,
    /// Keys in there: the signing leaf of each whole tree, then those alone.
    keys: usize,
    /// The chains of every leaf of the whole trees: first the leaf that signs of each, then the others.
    ends: Ends,
}

impl Chains {
    /// Algorithms 5 and 6 for every leaf of the trees `whole`, and for the leaf that signs of those in `alone`.
    pub(super) fn compute<C: Compression>(
        hash: &mut TweakedHash<C>,
        sk_seed: &NodeLanes,
        whole: &[Tree],
        alone: &[Tree],
    ) -> Self {
        let mut ends = Ends::new(whole.len() * LEAVES);
        let signing: Vec<Tree> = [whole, alone].concat();
        let mut kept = Secret(vec![[[[0; LANES]; 4]; 1 + W]; (signing.len() * LEN).div_ceil(LANES)]);
        let mut addresses = ChainAddresses::new(&signing);
        for (values, first) in kept.0.iter_mut().zip((0..).step_by(LANES)) {
            values[0] = *sk_seed;
            addresses.walk(hash, first, values);
            ends.put(0..whole.len(), signing.len(), first, &values[W]);
        }
        let others: Vec<Tree> = whole.iter().flat_map(Tree::with_the_other_leaves).collect();
        walk(hash, sk_seed, &others, |first, values| {
            ends.put(whole.len()..ends.leaves, others.len(), first, &values[W]);
        });
        Self { signing: kept, keys: signing.len(), ends }
    }

    /// The public keys of all leaves of the whole trees.
    pub(super) fn public_keys<C: Compression>(
        &self,
        hash: &mut TweakedHash<C>,
        whole: &[Tree],
    ) -> Vec<[Node; LEAVES]> {
        let leaves: Vec<Tree> =
            whole.iter().copied().chain(whole.iter().flat_map(Tree::with_the_other_leaves)).collect();
        let compressed = self.ends.public_keys(hash, &leaves);
        let mut keys = vec![[Node::default(); LEAVES]; whole.len()];
        let (signing, others) = compressed.split_at(whole.len());
        for (((keys, tree), signing), others) in
            keys.iter_mut().zip(whole).zip(signing).zip(others.chunks(LEAVES - 1))
        {
            let at = tree.leaf as usize;
            keys[..at].copy_from_slice(&others[..at]);
            keys[at] = *signing;
            keys[at + 1..].copy_from_slice(&others[at..]);
        }
        keys
    }

    /// Algorithm 7: the signature of `message` by the signing leaf of tree `tree`, counted from the first whole one
    /// to the last one alone.
    pub(super) fn sign(&self, tree: usize, message: Node, signature: &mut Vec<u8>) {
        for (chain, digit) in digits(message).into_iter().enumerate() {
            let at = chain * self.keys + tree;
            append(signature, lane(&self.signing.0[at / LANES][1 + digit], at % LANES));
        }
    }
}

/// For every leaf of `trees` the signature of the message that `message` gives for it (zeros for none), and its public
/// key.
pub(super) fn sign_with_every_leaf<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    trees: &[Tree],
    message: impl Fn(usize) -> Option<Node>,
) -> (Vec<[Node; LEN]>, Vec<[Node; LEAVES]>) {
    let keys: Vec<Tree> = trees.iter().flat_map(Tree::with_each_leaf).collect();
    let digits: Vec<Option<[usize; LEN]>> = (0..keys.len()).map(|key| message(key).map(digits)).collect();
    let mut signatures = vec![[Node::default(); LEN]; keys.len()];
    let mut ends = Ends::new(keys.len());
    walk(hash, sk_seed, &keys, |first, values| {
        ends.put(0..keys.len(), keys.len(), first, &values[W]);
        for (from, at) in (first..keys.len() * LEN).take(LANES).enumerate() {
            let (chain, key) = (at / keys.len(), at % keys.len());
            if let Some(digits) = &digits[key] {
                signatures[key][chain] = lane(&values[1 + digits[chain]], from);
            }
        }
    });
    let public_keys = ends.public_keys(hash, &keys);
    (signatures, public_keys.as_chunks().0.to_vec())
}

/// The public keys of all leaves of `trees`.
pub(super) fn leaves<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    trees: &[Tree],
) -> Vec<[Node; LEAVES]> {
    sign_with_every_leaf(hash, sk_seed, trees, |_| None).1
}

/// Computes all chains of all `keys`, and shows `visit` those of 32 lanes at a time with the number of the first.
fn walk<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    keys: &[Tree],
    mut visit: impl FnMut(usize, &ChainLanes),
) {
    let mut values = Secret(vec![[[[0; LANES]; 4]; 1 + W]]);
    let mut addresses = ChainAddresses::new(keys);
    values.0[0][0] = *sk_seed;
    for first in (0..keys.len() * LEN).step_by(LANES) {
        addresses.walk(hash, first, &mut values.0[0]);
        visit(first, &values.0[0]);
    }
}

/// Values that are wiped.
struct Secret(Vec<ChainLanes>);

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut().as_flattened_mut().as_flattened_mut());
    }
}

/// The addresses of the chains of some keys. Chain `c` of key `k` of `n` is number `c * n + k`, so that neighbouring lanes
/// differ in what is copied: the words of the keys. Nothing has to be gathered.
struct ChainAddresses {
    /// Words 0 to 3 of the addresses of the keys, then again from the first one, for one group of lanes more.
    words: [Vec<u32>; 4],
    keys: usize,
    lanes: AddressLanes,
}

impl ChainAddresses {
    fn new(keys: &[Tree]) -> Self {
        let around = || keys.iter().cycle().take(if keys.is_empty() { 0 } else { keys.len() + LANES });
        let words = [0, 1, 2, 3]
            .map(|word| around().map(|key| address(*key, Kind::WotsHash, 0).words()[word]).collect());
        Self { words, keys: keys.len(), lanes: AddressLanes([[0; LANES]; 6]) }
    }

    /// Computes the chains from number `first` up. The lanes behind the last one get more of the same kind, which nobody
    /// reads.
    fn walk<C: Compression>(&mut self, hash: &mut TweakedHash<C>, first: usize, values: &mut ChainLanes) {
        let (mut chain, mut key) = (first / self.keys, first % self.keys);
        for (row, words) in self.lanes.0.iter_mut().zip(&self.words) {
            row.copy_from_slice(&words[key..key + LANES]);
        }
        let mut filled = 0;
        while filled < LANES {
            let end = LANES.min(filled + self.keys - key);
            self.lanes.0[4][filled..end].fill((chain as u32) << 16);
            (filled, chain, key) = (end, chain + 1, 0);
        }
        self.lanes.set_kind(Kind::WotsPrf);
        hash.chain(&self.lanes, &mut values[..2]);
        self.lanes.set_kind(Kind::WotsHash);
        hash.chain(&self.lanes, &mut values[1..]);
    }
}

/// The last values of all chains of some leaves, by word: of leaf `l` of `n` and chain `c` at `c * n + l`.
struct Ends {
    words: [Vec<u32>; 4],
    leaves: usize,
}

impl Ends {
    fn new(leaves: usize) -> Self {
        // A reader reads whole groups of lanes.
        Self { words: [(); 4].map(|()| vec![0; leaves * LEN + LANES]), leaves }
    }

    /// Takes what `values` has of the leaves `leaves`, where lane 0 is number `first` of the chains of `keys` keys, of
    /// which these leaves are the first ones.
    fn put(&mut self, leaves: std::ops::Range<usize>, keys: usize, first: usize, values: &NodeLanes) {
        let mut from = 0;
        while from < LANES && first + from < keys * LEN {
            let (chain, key) = ((first + from) / keys, (first + from) % keys);
            let lanes = from..LANES.min(from + keys - key);
            let wanted = lanes.len().min(leaves.len().saturating_sub(key));
            let to = chain * self.leaves + leaves.start + key;
            for (row, words) in self.words.iter_mut().zip(values) {
                row[to..to + wanted].copy_from_slice(&words[from..from + wanted]);
            }
            from = lanes.end;
        }
    }

    /// The end of algorithm 6: the public keys of the `leaves`.
    fn public_keys<C: Compression>(&self, hash: &mut TweakedHash<C>, leaves: &[Tree]) -> Vec<Node> {
        let mut keys = Vec::with_capacity(leaves.len());
        for first in (0..leaves.len()).step_by(LANES) {
            let leaf = |lane: usize| leaves[(first + lane).min(leaves.len() - 1)];
            let addresses = AddressLanes::new(|lane| address(leaf(lane), Kind::WotsPk, 0));
            let compressed = hash.t(&addresses, LEN, |chain| {
                let from = chain * self.leaves + first;
                self.words.each_ref().map(|words| -> Words { *words[from..].first_chunk().expect("padded") })
            });
            keys.extend(
                (first..leaves.len()).take(LANES).enumerate().map(|(from, _)| lane(&compressed, from)),
            );
        }
        keys
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slh_dsa_sha2_128f::wipe::tests::wiped_by_drop;

    #[test]
    fn chains_are_wiped_when_they_are_dropped() {
        let chains = Secret(vec![[[[7; LANES]; 4]; 1 + W]; 3]);
        assert_eq!(wiped_by_drop(chains), 3 * (1 + W) * 4 * LANES);
    }
}
