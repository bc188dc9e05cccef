//! Cases about the three receipts of a seal: missing, doubled, swapped, or signed by other keys or over another message.

use serde_json::Value;
use trefoil_attest::{Attestation, Family, KeySetStatus, PublicKeySet, Seal, TrustRoot};

use super::cbor::{argument, byte_strings};
use super::{Bases, case, edit, find, read, seal_of, with};
use crate::fixture::{edited, read_root};

/// Where the parts of a receipt are, each with its head.
#[derive(Clone)]
struct Receipt {
    whole: (usize, usize),
    protected: (usize, usize),
    signature: (usize, usize),
}

/// A full attestation in which the parts of its seal are known.
struct Sealed<'a> {
    bytes: &'a [u8],
    seal: Seal,
    /// The head of the seal, an array of four.
    head: usize,
    receipts: [Receipt; 3],
}

impl<'a> Sealed<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let seal = seal_of(bytes);
        let root = find(bytes, &seal.header.root);
        let mut at = root + 32;
        let receipts = Family::ALL.map(|_| {
            let start = at;
            assert_eq!(bytes[start..start + 2], [0xd2, 0x84]);
            let string = |head: usize| {
                let (length, content) = argument(bytes, head);
                (head, content + length)
            };
            let protected = string(start + 2);
            assert_eq!(bytes[protected.1..protected.1 + 2], [0xa0, 0xf6]);
            let signature = string(protected.1 + 2);
            at = signature.1;
            Receipt { whole: (start, at), protected, signature }
        });
        assert_eq!((bytes[root - 3], at), (0x84, bytes.len()), "the seal is an array of four and comes last");
        Self { bytes, seal, head: root - 3, receipts }
    }

    fn of(&self, family: Family) -> &Receipt {
        &self.receipts[family.index()]
    }

    fn part(&self, (start, end): (usize, usize)) -> &[u8] {
        &self.bytes[start..end]
    }

    /// An edit that puts `by` in the place of a part.
    fn replaced(&self, (start, end): (usize, usize), by: &[u8]) -> Value {
        edit(start, end - start, by)
    }

    /// An edit that puts a signature of the same length in the place of a family's own.
    fn signed(&self, family: Family, signature: &[u8]) -> Value {
        let (_, end) = self.of(family).signature;
        edit(end - signature.len(), signature.len(), signature)
    }
}

pub(super) fn cases(bases: &Bases) -> Vec<Value> {
    let own = Sealed::new(&bases.full);
    let mut cases = missing_cases(&own);
    cases.extend(doubled_cases(&own));
    cases.extend(swapped_cases(&own));
    cases.extend(header_cases(&own));
    cases.extend(message_cases(&own));
    cases.extend(key_cases(&own, &Sealed::new(&bases.other_keys)));
    let path = Attestation::decode(own.bytes).unwrap().path;
    let at = find(own.bytes, &path[0]);
    let swapped = [edit(at, 32, &path[1]), edit(find(own.bytes, &path[1]), 32, &path[0])];
    cases.push(case("path nodes swapped", "full.cbor", false, &swapped, "not-in-tree"));
    cases
}

fn malformed(name: &str, edits: &[Value]) -> Value {
    case(name, "full.cbor", false, edits, "malformed")
}

/// Edits go from the end to the beginning, so that the offsets of the earlier ones hold.
fn missing_cases(own: &Sealed<'_>) -> Vec<Value> {
    let missing = |family: Family| {
        let Receipt { whole, signature, .. } = own.of(family);
        let gone = own.replaced(*whole, &[]);
        let id = family.id();
        [
            malformed(&format!("{id} signature missing"), &[own.replaced(*signature, &[0x40])]),
            malformed(&format!("{id} receipt missing"), &[gone.clone(), edit(own.head, 1, &[0x83])]),
            malformed(&format!("{id} receipt missing and counted"), &[gone]),
        ]
    };
    Family::ALL.into_iter().flat_map(missing).collect()
}

fn doubled_cases(own: &Sealed<'_>) -> Vec<Value> {
    let doubled = |family: Family| {
        let Receipt { whole, .. } = own.of(family);
        let again = [edit(whole.1, 0, own.part(*whole)), edit(own.head, 1, &[0x85])];
        malformed(&format!("{} receipt doubled", family.id()), &again)
    };
    let mut cases: Vec<Value> = Family::ALL.into_iter().map(doubled).collect();
    for family in [Family::MlDsa65, Family::Falcon512] {
        for place in Family::ALL.into_iter().filter(|place| *place != family) {
            let name = format!("{} receipt in place of the {} one", family.id(), place.id());
            let receipt = own.part(own.of(family).whole);
            cases.push(malformed(&name, &[own.replaced(own.of(place).whole, receipt)]));
        }
    }
    cases
}

/// What belongs to one family in the place of another: signatures; receipts, each right in itself; and headers alone,
/// so that the lengths are right and only the algorithm is not.
fn swapped_cases(own: &Sealed<'_>) -> Vec<Value> {
    let mut cases = Vec::new();
    for (one, two) in [(0, 1), (0, 2), (1, 2)] {
        let (first, second) = (&own.receipts[one], &own.receipts[two]);
        let swapped = |part: fn(&Receipt) -> (usize, usize)| {
            let (first, second) = (part(first), part(second));
            [own.replaced(second, own.part(first)), own.replaced(first, own.part(second))]
        };
        let named =
            |what: &str| format!("{} and {} {what} swapped", Family::ALL[one].id(), Family::ALL[two].id());
        cases.push(malformed(&named("signatures"), &swapped(|receipt| receipt.signature)));
        // The receipts up to the second are taken out and put behind it in the order of the swap, which leaves the
        // SLH-DSA signature, the longest, where it is.
        let (start, end) = (first.whole.0, second.whole.0);
        let between = own.part((first.whole.1, end));
        let moved = [between, own.part(first.whole)].concat();
        let receipts = [edit(second.whole.1, 0, &moved), edit(start, end - start, &[])];
        let whole = [own.part(second.whole), between, own.part(first.whole)].concat();
        assert!(edited(own.bytes, &receipts)[start..].starts_with(&whole));
        cases.push(malformed(&named("receipts"), &receipts));
        let headers = swapped(|receipt| receipt.protected);
        let field = refused_at(&edited(own.bytes, &headers));
        assert_eq!(field, if one == 0 { "seal.alg" } else { "seal.protected" }, "refused for its length");
        cases.push(malformed(&named("headers"), &headers));
    }
    cases
}

/// One header that is not that of its family and seal.
fn header_cases(own: &Sealed<'_>) -> Vec<Value> {
    let altered = |family: Family| {
        let Receipt { protected, .. } = *own.of(family);
        let header = own.part(protected);
        let flipped = |at: usize| [edit(protected.0 + at, 1, &[header[at] ^ 1])];
        // The algorithm's last byte, key 4, and the key set.
        let kid = find(header, own.seal.header.key_set_id.as_bytes());
        assert_eq!(header[kid - 3..kid], [4, 0x58, 32]);
        let (algorithm, key_set) = (flipped(kid - 4), flipped(kid));
        for edits in [&algorithm, &key_set] {
            let field = refused_at(&edited(own.bytes, edits));
            assert!(["seal.alg", "seal.protected"].contains(&field), "refused at {field}");
        }
        [
            malformed(&format!("{} receipt with another algorithm", family.id()), &algorithm),
            malformed(&format!("{} receipt with another key set", family.id()), &key_set),
        ]
    };
    Family::ALL.into_iter().flat_map(altered).collect()
}

/// Right signatures by the right keys: those under a trust root.
fn message_cases(own: &Sealed<'_>) -> Vec<Value> {
    let others = read("rotation-1.cbor");
    let root = TrustRoot::decode(&others).unwrap();
    let (others, keys) = (byte_strings(&others), keys("trust-root.json"));
    let moved = |family: Family| {
        let fits = |bytes: &&Vec<u8>| bytes.len() == family.signature_bytes();
        let signature = others.iter().map(|(_, bytes)| bytes).find(fits).expect("a signature");
        let verifies = |message: &[u8]| family.verifies(keys.public_key(family), message, signature);
        assert!(verifies(&root.to_be_signed(&keys.id(), family)), "by the same key");
        assert!(!verifies(&own.seal.header.to_be_signed(family)), "over another message");
        let name = format!("{} signature over another message", family.id());
        let edits = [own.signed(family, signature)];
        case(&name, "full.cbor", false, &edits, &format!("signature-{}", family.id()))
    };
    Family::ALL.into_iter().map(moved).collect()
}

/// Signatures over the very bytes that are signed, by other keys: one, two, and all three of them.
fn key_cases(own: &Sealed<'_>, theirs: &Sealed<'_>) -> Vec<Value> {
    let (trusted, other) = (keys("trust-root.json"), keys("trust-root-other-keys.json"));
    assert_eq!(theirs.seal.header, own.seal.header);
    for family in Family::ALL {
        let message = own.seal.header.to_be_signed(family);
        let by = |keys: &PublicKeySet, seal: &Seal| {
            family.verifies(keys.public_key(family), &message, &seal.signatures[family.index()])
        };
        assert!(by(&other, &theirs.seal) && !by(&trusted, &theirs.seal), "{family} by the other key");
        assert!(by(&trusted, &own.seal) && !by(&other, &own.seal), "{family} by the trusted key");
    }
    let mut cases = Vec::new();
    for family in Family::ALL {
        let index = family.index();
        let edits = [own.signed(family, &theirs.seal.signatures[index])];
        let name = format!("{} signature by another key", family.id());
        cases.push(case(&name, "full.cbor", false, &edits, &format!("signature-{}", family.id())));
        let edits = [theirs.signed(family, &own.seal.signatures[index])];
        let name = format!("only the {} signature by the trusted key", family.id());
        // The fastest of the two that fail is named.
        let failing = if family == Family::Falcon512 { Family::MlDsa65 } else { Family::Falcon512 };
        let expect = format!("signature-{}", failing.id());
        cases.push(case(&name, "full-other-keys.cbor", false, &edits, &expect));
    }
    let falcon = format!("signature-{}", Family::Falcon512.id());
    cases.push(case("all signatures by other keys", "full-other-keys.cbor", false, &[], &falcon));
    let named: Vec<Value> = theirs
        .receipts
        .iter()
        .map(|receipt| {
            let kid = find(theirs.part(receipt.protected), trusted.id().as_bytes());
            edit(receipt.protected.0 + kid, 32, other.id().as_bytes())
        })
        .collect();
    let name = "all signatures by other keys, which are named";
    cases.push(case(name, "full-other-keys.cbor", false, &named, "unknown-key-set"));
    // The name of the key set is signed too.
    let name = "other keys named that are trusted and signed another name";
    let renamed = case(name, "full-other-keys.cbor", false, &named, &falcon);
    cases.push(with(renamed, "trust_root", "trust-root-other-keys.json"));
    cases
}

/// The key set of a trust root that has one.
fn keys(root: &str) -> PublicKeySet {
    let root = read_root(root);
    let [only] = root.key_sets() else { panic!("more than one key set") };
    assert_eq!(only.status, KeySetStatus::Active);
    only.keys.clone()
}

/// The field at which an attestation is refused.
fn refused_at(bytes: &[u8]) -> &'static str {
    Attestation::decode(bytes).expect_err("malformed").field
}
