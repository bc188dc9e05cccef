//! Two heads and a proof: proofs of many sizes, up to those at the ends of what a `double`, 32 and 63 bits hold, and what is refused:
//! bits flipped, other heads, and proofs that are not this one. A true pair of heads has one proof only, or SHA-256 a collision.

use serde_json::Value;
use trefoil_attest::tree::{Hash, verify_consistency};

use super::{committed, hash, hashes, list, text};

#[derive(Clone)]
struct Heads {
    old_size: u64,
    old_root: Hash,
    size: u64,
    root: Hash,
    proof: Vec<Hash>,
}

impl Heads {
    fn verify(&self) -> bool {
        verify_consistency(self.old_size, &self.old_root, self.size, &self.root, &self.proof)
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

#[test]
fn heads_are_connected_by_their_own_proof_only() {
    let vectors = committed();
    let valid: Vec<Heads> =
        list(&vectors["valid"]).iter().map(|heads| Heads::from_json(heads, None)).collect();
    for (heads, stated) in valid.iter().zip(list(&vectors["valid"])) {
        assert!(heads.verify(), "{stated}");
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
