//! Verification of a fresh signature (FIPS 205 section 9.3), all layers side by side.
//!
//! A verifier climbs layer by layer, because what a layer signs is the root of the tree below, which comes out of the
//! climb. Who made the signature knows these roots. Given them, each layer can be checked alone: that its one-time
//! signature of the root below leads to its own root. If all do, and the last root is PK.root, then the climb would
//! have met the same roots, so it accepts too. False roots make a signature fail, never pass.

use trefoil_attest::SLH_DSA_SHA2_128F_SIGNATURE_BYTES;
use trefoil_kernels::sha256::LANES;

use super::address::{Address, AddressLanes, Kind};
use super::fors;
use super::message::{Selected, select};
use super::parameters::{HEIGHT, LAYERS};
use super::tree::{Tree, pair, path};
use super::tweaked_hash::{Compression, Node, TweakedHash, gather, lane, node};
use super::wots::{self, LEN, W};

/// Nodes of one layer's part of a signature: the one-time signature, then the authentication path.
const LAYER_NODES: usize = LEN + HEIGHT as usize;

/// Algorithm 20, `slh_verify_internal`, of a signature whose signer met `roots`, from the lowest layer up.
pub(super) fn verifies(
    compression: impl Compression,
    public_key: &[u8; 32],
    message: &[&[u8]],
    signature: &[u8],
    roots: &[Node; LAYERS],
) -> bool {
    let (nodes, rest) = signature.as_chunks::<16>();
    if signature.len() != SLH_DSA_SHA2_128F_SIGNATURE_BYTES || !rest.is_empty() {
        return false;
    }
    let [pk_seed, pk_root] = [0, 1].map(|i| &public_key.as_chunks::<16>().0[i]);
    let Selected { fors_message, tree, leaf } = select(&nodes[0], pk_seed, pk_root, message);
    let nodes: Vec<Node> = nodes[1..].iter().map(node).collect();
    let (fors_nodes, layers) = nodes.split_at(fors::SIGNATURE_NODES);
    let mut hash = TweakedHash::new(compression, node(pk_seed));
    let fors_key = fors::public_key(&mut hash, &fors_message, (tree, leaf), fors_nodes);
    let path = path(tree, leaf);
    let mut messages = [fors_key; LAYERS];
    messages[1..].copy_from_slice(&roots[..LAYERS - 1]);
    climb(&mut hash, &path, &messages, layers) == *roots && roots[LAYERS - 1] == node(pk_root)
}

/// Algorithms 8 and 11 in every layer: the roots to which the one-time signatures of `messages` lead.
fn climb<C: Compression>(
    hash: &mut TweakedHash<C>,
    path: &[Tree; LAYERS],
    messages: &[Node; LAYERS],
    nodes: &[Node],
) -> [Node; LAYERS] {
    let mut chains = Vec::with_capacity(LAYERS * LEN);
    for ((tree, message), nodes) in path.iter().zip(messages).zip(nodes.chunks(LAYER_NODES)) {
        for (chain, (digit, value)) in wots::digits(*message).into_iter().zip(nodes).enumerate() {
            chains.push(Chain { address: wots::address(*tree, Kind::WotsHash, chain), digit, value: *value });
        }
    }
    finish(hash, &mut chains);
    // Lanes without a layer repeat the last one.
    let layer = |lane: usize| lane.min(LAYERS - 1);
    let addresses = AddressLanes::new(|lane| wots::address(path[layer(lane)], Kind::WotsPk, 0));
    let keys = hash.t(&addresses, LEN, |chain| gather(|lane| chains[LEN * layer(lane) + chain].value));
    let mut climbed = std::array::from_fn(|layer| lane(&keys, layer));
    for height in 0..HEIGHT {
        let pairs: Vec<_> = path
            .iter()
            .zip(climbed)
            .zip(nodes.chunks(LAYER_NODES))
            .map(|((tree, node), nodes)| {
                let address = tree.node(height + 1, tree.leaf >> (height + 1));
                (address, pair(node, nodes[LEN + height as usize], tree.leaf >> height))
            })
            .collect();
        climbed.copy_from_slice(&hash.h(&pairs));
    }
    climbed
}

/// A chain of which a signature shows the value at `digit`.
struct Chain {
    address: Address,
    digit: usize,
    value: Node,
}

/// Walks all chains to their ends. Each lane takes the longest chain left whenever it has finished one, so that none waits.
fn finish<C: Compression>(hash: &mut TweakedHash<C>, chains: &mut [Chain]) {
    let mut waiting: Vec<usize> = (0..chains.len()).filter(|&chain| chains[chain].digit < W - 1).collect();
    waiting.sort_unstable_by_key(|&chain| std::cmp::Reverse(chains[chain].digit));
    let mut addresses = AddressLanes([[0; LANES]; 6]);
    let mut values = [[0; LANES]; 4];
    let mut taken = [None; LANES];
    loop {
        for (lane, taken) in taken.iter_mut().enumerate().filter(|(_, taken)| taken.is_none()) {
            *taken = waiting.pop();
            if let Some(chain) = *taken {
                addresses.set(lane, chains[chain].address);
                values.iter_mut().zip(chains[chain].value).for_each(|(row, word)| row[lane] = word);
            }
        }
        if taken.iter().all(Option::is_none) {
            return;
        }
        for (lane, chain) in taken.iter().enumerate().filter_map(|(lane, chain)| Some((lane, (*chain)?))) {
            addresses.set_hash(lane, chains[chain].digit as u32);
        }
        values = hash.f(&addresses, &values);
        for (from, taken) in taken.iter_mut().enumerate() {
            if let Some(chain) = taken.map(|chain| &mut chains[chain]) {
                chain.digit += 1;
                if chain.digit == W - 1 {
                    chain.value = lane(&values, from);
                    *taken = None;
                }
            }
        }
    }
}
