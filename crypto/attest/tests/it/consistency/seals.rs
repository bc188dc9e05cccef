//! Two seals, as a client keeps them: of one log, or not.

use std::convert::Infallible;
use trefoil_types::KeySetId;

use serde_json::{Value, json};
use trefoil_attest::log::{Frontier, consistency, inclusion};
use trefoil_attest::tree::{Hash, MerkleTree, leaf_hash, node_hash};
use trefoil_attest::{
    Family, JobsHead, LogError, Restoration, Seal, SealHeader, Suite, VaultState, verify_same_log,
};

use super::{committed, hashes, hexes, list, text};

/// Runs of zeros from here on are stored as their length: the signatures, which nobody looks at here.
const ZEROS_MIN: usize = 600;

/// The second of three was never seen, and the third alone keeps a job log.
fn vault(seat: u64) -> Option<VaultState> {
    let jobs = (seat == 2).then_some(JobsHead { lines: 1 << 40, digest: [7; 32] });
    (seat != 1).then_some(VaultState { generation: 1 << (20 * seat), restored: seat, jobs })
}

/// A seal of this number over `log`, with signatures of zeros.
fn seal(issuer: &str, number: u64, previous: [u8; 32], log_root: Hash, root: u8) -> Seal {
    let header = SealHeader {
        issuer: issuer.to_owned(),
        key_set_id: KeySetId::new([3; 32]),
        seal_number: number,
        previous,
        log_root,
        tree_size: 1,
        root: [root; 32],
        time: 1_800_000_000 + number,
        suite: Suite::One,
        vaults: (0..number % 4).map(vault).collect(),
        restored: None,
    };
    Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) }
}

/// A log of seals, and its proofs.
#[derive(Clone, Default)]
struct Log {
    seals: Vec<Seal>,
    frontier: Frontier,
}

impl Log {
    fn grow(mut self, issuer: &str, size: usize, history: u8) -> Self {
        while self.seals.len() < size {
            let previous = self.seals.last().map_or([0; 32], |seal| seal.header.digest());
            let next = seal(issuer, self.frontier.size(), previous, self.frontier.root(), history);
            self.frontier.push(&next.header.digest());
            self.seals.push(next);
        }
        self
    }

    /// As [`Log::grow`], after the log was restored at `time`.
    fn restored(mut self, size: usize, time: u64, history: u8) -> Self {
        let restored = Restoration { first: self.frontier.size(), time };
        while self.seals.len() < size {
            let previous = self.seals.last().map_or([0; 32], |seal| seal.header.digest());
            let mut next = seal("a", self.frontier.size(), previous, self.frontier.root(), history);
            (next.header.restored, next.header.time) = (Some(restored), time + self.frontier.size());
            self.frontier.push(&next.header.digest());
            self.seals.push(next);
        }
        self
    }

    fn tree(&self, size: usize) -> MerkleTree {
        let digests: Vec<_> = self.seals[..size].iter().map(|seal| seal.header.digest()).collect();
        MerkleTree::new(&digests).unwrap()
    }

    fn proofs(&self, old: usize, new: usize) -> Proofs {
        let tree = self.tree(new);
        Proofs(tree.consistency(old as u64).unwrap_or_default(), tree.path(old as u64).unwrap())
    }
}

/// Of consistency and of inclusion.
#[derive(Clone, Default)]
struct Proofs(Vec<Hash>, Vec<Hash>);

/// A seal in pieces: bytes, and numbers of zeros.
fn pieces(seal: &Seal) -> Value {
    let bytes = seal.encode();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let zeros = bytes[at..].iter().take_while(|&&byte| byte == 0).count();
        if zeros >= ZEROS_MIN {
            pieces.extend([json!(hex::encode(&bytes[start..at])), json!(zeros)]);
            start = at + zeros;
        }
        at += zeros.max(1);
    }
    Value::Array(pieces)
}

fn joined(pieces: &Value) -> Vec<u8> {
    let piece = |piece: &Value| match piece.as_u64() {
        Some(zeros) => vec![0; zeros as usize],
        None => hex::decode(text(piece)).unwrap(),
    };
    list(pieces).iter().flat_map(piece).collect()
}

/// Seals 2^53 and the one after it: numbers that a `double` does not tell from each other.
fn far() -> (Seal, Seal, Proofs) {
    let size = 1 << 53;
    let mut perfect = vec![leaf_hash(&[7; 32])];
    (0..53).for_each(|level| perfect.push(node_hash(&perfect[level], &perfect[level])));
    let Ok(mut log) = Frontier::load(size, |level, _| Ok::<_, Infallible>(perfect[usize::from(level)]));
    let old = seal("a", size, [7; 32], log.root(), 0);
    let digest = old.header.digest();
    log.push(&digest);
    let new = seal("a", size + 1, digest, log.root(), 0);
    let node = |level: u8, number: u64| {
        Ok::<_, Infallible>(if number == size { leaf_hash(&digest) } else { perfect[usize::from(level)] })
    };
    let Ok(extends) = consistency(size, size + 1, node);
    let Ok(holds) = inclusion(size, size + 1, node);
    (old, new, Proofs(extends.unwrap(), holds.unwrap()))
}

/// The seals by name, and pairs of them with proofs and what is to be found.
struct Vectors {
    seals: Vec<(String, Seal)>,
    pairs: Vec<Value>,
}

impl Vectors {
    fn pair(&mut self, one: &str, other: &str, proofs: &Proofs, expect: &str) {
        let Proofs(consistency, inclusion) = proofs;
        self.pairs.push(json!({
            "one": one,
            "other": other,
            "consistency": hexes(consistency),
            "inclusion": hexes(inclusion),
            "expect": expect,
        }));
    }
}

pub(crate) fn make() -> Value {
    let common = Log::default().grow("a", 5, 0);
    let (a, b) = (common.clone().grow("a", 9, 1), common.clone().grow("a", 9, 2));
    let r = common.clone().restored(9, 1_800_000_007, 3);
    let s = common.clone().restored(9, 1_800_000_050, 4);
    let rr = Log { frontier: cut(&r, 7), seals: r.seals[..7].to_vec() }.restored(9, 1_800_000_020, 5);
    let c = Log::default().grow("c", 3, 0);
    let mut vectors = Vectors { seals: Vec::new(), pairs: Vec::new() };
    for (name, log, from) in
        [("a", &a, 0), ("b", &b, 5), ("c", &c, 2), ("r", &r, 5), ("s", &s, 5), ("rr", &rr, 7)]
    {
        let named = log.seals.iter().enumerate().skip(from);
        vectors.seals.extend(named.map(|(number, seal)| (format!("{name}{number}"), seal.clone())));
    }
    let SealHeader { previous, .. } = a.seals[4].header;
    vectors.seals.push(("lying4".to_owned(), seal("a", 4, previous, [9; 32], 1)));
    let (old, new, far) = far();
    let other = seal("a", old.header.seal_number + 1, [8; 32], new.header.log_root, 0);
    let named = [("far0", old), ("far1", new), ("far-other1", other)];
    vectors.seals.extend(named.map(|(name, seal)| (name.to_owned(), seal)));
    of_one_log(&mut vectors, &a, &b, &far);
    not_of_one_log(&mut vectors, &a, &b);
    restored(&mut vectors, &a, &r, &rr);
    vectors.pair("far0", "far-other1", &far, "forked");
    wrong_proofs(&mut vectors, &a);
    let seals: serde_json::Map<_, _> =
        vectors.seals.iter().map(|(name, seal)| (name.clone(), pieces(seal))).collect();
    json!({ "seals": seals, "pairs": vectors.pairs })
}

fn of_one_log(vectors: &mut Vectors, a: &Log, b: &Log, far: &Proofs) {
    for (old, new) in [(2, 7), (0, 1), (0, 6), (3, 4), (4, 8), (7, 8)] {
        let (one, other) = (format!("a{old}"), format!("a{new}"));
        vectors.pair(&one, &other, &a.proofs(old, new), "same-log");
        vectors.pair(&other, &one, &a.proofs(old, new), "same-log");
    }
    vectors.pair("a6", "a6", &Proofs::default(), "same-log");
    vectors.pair("a4", "b5", &b.proofs(4, 5), "same-log");
    vectors.pair("a3", "b8", &b.proofs(3, 8), "same-log");
    vectors.pair("far0", "far1", far, "same-log");
}

fn not_of_one_log(vectors: &mut Vectors, a: &Log, b: &Log) {
    vectors.pair("a2", "c2", &Proofs::default(), "issuer");
    for proofs in [Proofs::default(), a.proofs(5, 6), b.proofs(5, 6)] {
        vectors.pair("a6", "b6", &proofs, "forked");
        vectors.pair("a5", "b6", &proofs, "forked");
    }
    // Their logs agree: the histories part at the earlier seal itself.
    vectors.pair("a5", "b8", &b.proofs(5, 8), "inclusion");
    vectors.pair("b8", "a5", &b.proofs(5, 8), "inclusion");
    vectors.pair("a5", "b8", &a.proofs(5, 8), "consistency");
    for proofs in [a.proofs(6, 8), b.proofs(6, 8), Proofs::default()] {
        vectors.pair("a6", "b8", &proofs, "consistency");
    }
    vectors.pair("lying4", "a7", &a.proofs(4, 7), "consistency");
}

/// The right edge of a log's first seals.
fn cut(log: &Log, size: usize) -> Frontier {
    let mut frontier = Frontier::default();
    log.seals[..size].iter().for_each(|seal| drop(frontier.push(&seal.header.digest())));
    frontier
}

/// `r` and `s` are restored from the backup of the first five seals of `a`, `r` when seal 7 of `a` is made; `rr` from a backup of `r`.
fn restored(vectors: &mut Vectors, a: &Log, r: &Log, rr: &Log) {
    let none = Proofs::default();
    for (one, other) in [("a5", "r5"), ("a5", "r8"), ("a6", "r5"), ("a6", "r8"), ("r6", "s6"), ("r8", "s5")] {
        vectors.pair(one, other, &none, "restored");
        vectors.pair(other, one, &none, "restored");
    }
    vectors.pair("a6", "r8", &a.proofs(6, 8), "restored");
    vectors.pair("r8", "rr7", &none, "restored");
    // What is no part of what was lost must be of the restored log.
    vectors.pair("a4", "r5", &r.proofs(4, 5), "same-log");
    vectors.pair("a3", "r8", &r.proofs(3, 8), "same-log");
    vectors.pair("a2", "rr8", &rr.proofs(2, 8), "same-log");
    vectors.pair("r5", "rr8", &rr.proofs(5, 8), "same-log");
    vectors.pair("r6", "rr7", &rr.proofs(6, 7), "same-log");
    vectors.pair("lying4", "r8", &r.proofs(4, 8), "consistency");
    vectors.pair("lying4", "r5", &r.proofs(4, 5), "forked");
    // Sealed after the restoration: the service goes on with both.
    vectors.pair("a7", "r7", &none, "forked");
    vectors.pair("a7", "r8", &r.proofs(7, 8), "forked");
    vectors.pair("a8", "r6", &a.proofs(6, 8), "consistency");
    vectors.pair("r6", "b6", &none, "restored");
    // Lost by an earlier restoration, which only a seal of then shows.
    vectors.pair("a6", "rr8", &rr.proofs(6, 8), "consistency");
}

fn wrong_proofs(vectors: &mut Vectors, a: &Log) {
    let right = a.proofs(2, 7);
    let Proofs(extends, holds) = right.clone();
    let shorter = |proof: &[Hash]| proof[..proof.len() - 1].to_vec();
    let longer = |proof: &[Hash]| [proof, &[[0; 32]]].concat();
    let mut flipped = right.clone();
    flipped.0[1][31] ^= 1;
    flipped.1[0][0] ^= 0x80;
    let Proofs(other_extends, other_holds) = flipped;
    for wrong in [shorter(&extends), longer(&extends), other_extends, holds.clone(), Vec::new()] {
        vectors.pair("a2", "a7", &Proofs(wrong, holds.clone()), "consistency");
    }
    for wrong in [shorter(&holds), longer(&holds), other_holds, extends.clone(), Vec::new()] {
        vectors.pair("a2", "a7", &Proofs(extends.clone(), wrong), "inclusion");
    }
    let none = Vec::new;
    vectors.pair("a6", "a6", &Proofs(vec![[0; 32]], none()), "consistency");
    vectors.pair("a6", "a6", &Proofs(none(), vec![[0; 32]]), "inclusion");
    vectors.pair("a0", "a6", &Proofs(vec![[0; 32]], a.proofs(0, 6).1), "consistency");
    vectors.pair("a0", "a6", &Proofs::default(), "inclusion");
}

#[test]
fn two_seals_are_of_one_log_or_it_is_said_why_not() {
    let vectors = committed();
    let seal = |name: &Value| Seal::decode(&joined(&vectors["seals"][text(name)])).unwrap().header;
    let (mut same, mut other) = (0, 0);
    for pair in list(&vectors["pairs"]) {
        let (extends, holds) = (hashes(&pair["consistency"]), hashes(&pair["inclusion"]));
        let outcome = verify_same_log(&seal(&pair["one"]), &seal(&pair["other"]), &extends, &holds);
        let code = outcome.as_ref().map_or_else(LogError::code, |()| "same-log");
        assert_eq!(code, text(&pair["expect"]), "{pair}");
        *if outcome.is_ok() { &mut same } else { &mut other } += 1;
    }
    assert!(same >= 16 && other >= 28, "{same} of one log, {other} not");
}
