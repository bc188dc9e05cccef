//! Two heads and a proof: proofs of many sizes, and what is refused.

use std::convert::Infallible;

use serde_json::{Map, Value, json};
use trefoil_attest::log::{Frontier, consistency};
use trefoil_attest::tree::{Hash, MerkleTree, leaf_hash, node_hash, verify_consistency};

use super::{committed, hash, hashes, hexes, list, text};

/// Boundaries of the tree's shape.
const SIZES: [u64; 23] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200];
/// Sizes at the ends of what numbers hold: of a `double`, of 32 and of 63 bits.
const LARGE: [(u64, u64); 9] = [
    (1, 1 << 63),
    ((1 << 63) - 1, 1 << 63),
    ((1 << 32) - 1, (1 << 32) + 1),
    (1, (1 << 53) + 1),
    (3, 1 << 53),
    ((1 << 52) + 3, (1 << 53) + 1),
    ((1 << 53) - 1, (1 << 53) + 1),
    (1 << 53, (1 << 53) + 1),
    ((1 << 53) + 1, (1 << 53) + 2),
];

#[derive(Clone)]
struct Heads {
    old_size: u64,
    old_root: Hash,
    size: u64,
    root: Hash,
    proof: Vec<Hash>,
}

impl Heads {
    fn small(old_size: u64, size: u64) -> Self {
        let tree = |size: u64| {
            let leaves = (0..size).map(|index| leaf_hash(&index.to_be_bytes())).collect();
            MerkleTree::from_leaf_hashes(leaves).unwrap()
        };
        let (old, new) = (tree(old_size), tree(size));
        let proof = new.consistency(old_size).unwrap();
        Self { old_size, old_root: old.root(), size, root: new.root(), proof }
    }

    /// Of a log whose entries are all the same, so that it can be longer than anything that fits a machine.
    fn large(old_size: u64, size: u64) -> Self {
        let mut perfect = vec![leaf_hash(&[])];
        for level in 0..63 {
            perfect.push(node_hash(&perfect[level], &perfect[level]));
        }
        let node = |level: u8, _| Ok::<_, Infallible>(perfect[usize::from(level)]);
        let root = |size| {
            let Ok(log) = Frontier::load(size, node);
            log.root()
        };
        let Ok(proof) = consistency(old_size, size, node);
        Self { old_size, old_root: root(old_size), size, root: root(size), proof: proof.unwrap() }
    }

    fn verify(&self) -> bool {
        verify_consistency(self.old_size, &self.old_root, self.size, &self.root, &self.proof)
    }

    fn to_json(&self) -> Value {
        json!({
            "old_size": self.old_size.to_string(),
            "old_root": hex::encode(self.old_root),
            "size": self.size.to_string(),
            "root": hex::encode(self.root),
            "proof": hexes(&self.proof),
        })
    }

    /// `value`, with what it lacks taken from `base`; a number in its proof is a node of the base's.
    fn from_json(value: &Value, base: Option<&Self>) -> Self {
        let size = |name: &str| value.get(name).map(|size| text(size).parse().unwrap());
        let root = |name: &str| value.get(name).map(hash);
        let proof = value.get("proof").map(|proof| match base {
            None => hashes(proof),
            Some(base) => {
                let node =
                    |node: &Value| node.as_u64().map_or_else(|| hash(node), |at| base.proof[at as usize]);
                list(proof).iter().map(node).collect()
            }
        });
        Self {
            old_size: size("old_size").or(base.map(|base| base.old_size)).unwrap(),
            old_root: root("old_root").or(base.map(|base| base.old_root)).unwrap(),
            size: size("size").or(base.map(|base| base.size)).unwrap(),
            root: root("root").or(base.map(|base| base.root)).unwrap(),
            proof: proof.or(base.map(|base| base.proof.clone())).unwrap(),
        }
    }

    fn flip(&mut self, bit: usize) {
        let mut parts: Vec<&mut Hash> = vec![&mut self.old_root, &mut self.root];
        parts.extend(&mut self.proof);
        parts[bit / 256][bit % 256 / 8] ^= 1 << (bit % 8);
    }
}

fn valid() -> Vec<Heads> {
    let mut pairs = Vec::new();
    for size in SIZES {
        let mut old =
            [1, size.div_ceil(2), size.next_power_of_two() / 2, size - 1, size, 2 * size / 3].to_vec();
        old.sort_unstable();
        old.dedup();
        pairs.extend(old.into_iter().filter(|&old| old > 0).map(|old| Heads::small(old, size)));
    }
    pairs.extend(LARGE.map(|(old, size)| Heads::large(old, size)));
    pairs
}

pub(crate) fn make() -> Value {
    let valid = valid();
    let mut refused = Vec::new();
    for (of, heads) in valid.iter().enumerate() {
        let bits: Vec<_> =
            (0..2 + heads.proof.len()).map(|part| 256 * part + (37 * of + 101 * part) % 256).collect();
        refused.push(json!({ "of": of, "flip": bits }));
        for change in changes(heads) {
            let mut case = Map::from_iter([("of".to_owned(), json!(of))]);
            case.extend(change.as_object().unwrap().clone());
            refused.push(Value::Object(case));
        }
    }
    json!({ "valid": valid.iter().map(Heads::to_json).collect::<Vec<_>>(), "refused": refused })
}

/// What else is refused: heads that are not these, and proofs that are not this one. A true pair of heads has one proof
/// only, or SHA-256 a collision.
fn changes(heads: &Heads) -> Vec<Value> {
    let Heads { old_size, size, ref proof, .. } = *heads;
    let (old_root, root) = (hex::encode(heads.old_root), hex::encode(heads.root));
    let all: Vec<Value> = (0..proof.len()).map(Value::from).collect();
    let with = |more: Value| [&all[..], &[more]].concat();
    let mut changes = vec![
        json!({ "proof": with(json!("00".repeat(32))) }),
        json!({ "proof": with(json!(root)) }),
        json!({ "old_size": "0" }),
        json!({ "old_size": (size + 1).to_string() }),
        // Of a tree that is higher by one: the proof ends below its root.
        json!({ "size": size.saturating_mul(2).to_string() }),
    ];
    if (old_size, size) == (1, 200) {
        changes.extend([64, 65, 1_000].map(|nodes| json!({ "proof": vec![0; nodes] })));
    }
    if old_size < size {
        let swapped = json!({ "old_size": size.to_string(), "size": old_size.to_string() });
        changes.extend([swapped, json!({ "old_root": root, "root": old_root }), json!({ "root": old_root })]);
        let mut whole = json!({ "old_size": size.to_string(), "size": old_size.to_string() });
        whole
            .as_object_mut()
            .unwrap()
            .extend([("old_root".into(), json!(root)), ("root".into(), json!(old_root))]);
        changes.push(whole);
        changes.push(json!({ "size": old_size.to_string() }));
    }
    if let [first, .., last] = &all[..] {
        let without = |out: &Value| all.iter().filter(|node| *node != out).cloned().collect::<Vec<_>>();
        changes.extend([json!({ "proof": without(first) }), json!({ "proof": without(last) })]);
        changes.push(json!({ "proof": all.iter().rev().collect::<Vec<_>>() }));
    }
    // A third of them is enough.
    if size < 1 << 32 && (old_size + size) % 3 == 0 {
        for (old, new) in
            [(old_size + 1, size), (old_size - 1, size), (old_size, size + 1), (old_size, size - 1)]
        {
            if (1..=new).contains(&old) {
                let other = Heads::small(old, new).proof;
                changes.extend((other != *proof).then(|| json!({ "proof": hexes(&other) })));
            }
        }
    }
    changes.retain(|change| {
        // Of uniform logs, whose nodes are alike, a proof backwards can be the proof.
        let changed = Heads::from_json(change, Some(heads));
        let same = changed.to_json() == heads.to_json();
        assert!(same || !changed.verify(), "{old_size} to {size}: {change}");
        !same
    });
    changes
}

#[test]
fn heads_are_connected_by_their_own_proof_only() {
    let vectors = committed();
    let valid: Vec<Heads> =
        list(&vectors["valid"]).iter().map(|heads| Heads::from_json(heads, None)).collect();
    for heads in &valid {
        assert!(heads.verify(), "{}", heads.to_json());
    }
    let (mut flipped, mut changed) = (0, 0);
    for case in list(&vectors["refused"]) {
        let heads = Heads::from_json(case, Some(&valid[case["of"].as_u64().unwrap() as usize]));
        let Some(bits) = case.get("flip") else {
            assert!(!heads.verify(), "{case}");
            changed += 1;
            continue;
        };
        for bit in list(bits) {
            let mut heads = heads.clone();
            heads.flip(bit.as_u64().unwrap() as usize);
            assert!(!heads.verify(), "bit {bit} of {case}");
            flipped += 1;
        }
    }
    let counts = (valid.len(), flipped, changed);
    assert!(counts.0 >= 90 && counts.1 >= 900 && counts.2 >= 900, "{counts:?}");
}
