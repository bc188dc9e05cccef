//! Makes the shared vectors of `crypto/attest/testdata` (with `TREFOIL_BLESS` set), or checks that the committed case
//! list belongs to the committed files.

mod cbor;
mod crafted;
mod device;
mod receipts;

use std::collections::HashSet;

use serde_json::{Value, json};
use trefoil_attest::{
    Attestation, Evidence, Family, KeySetStatus, PublicKeySet, Seal, Statement, TrustRoot, TrustedKeySet,
};

use self::cbor::{byte_strings, items};
use crate::fixture::{
    AUDIENCE, EXPIRES_AT, ISSUED_AT, ISSUER, Issued, NONCE, NOW, OtherKeys, blesses, read, read_json,
    statement, write, write_json,
};

/// The bytes that the cases edit.
struct Bases {
    full: Vec<u8>,
    compact: Vec<u8>,
    /// Full, under a seal of its own.
    without_proof: Vec<u8>,
    /// `full` with all three signatures by other keys.
    other_keys: Vec<u8>,
    /// `full` with a device's signature.
    device: Vec<u8>,
}

impl Bases {
    fn read() -> Self {
        Self {
            full: read("full.cbor"),
            compact: read("compact.cbor"),
            without_proof: read("without-proof.cbor"),
            other_keys: read("full-other-keys.cbor"),
            device: read("device.cbor"),
        }
    }
}

/// Claim S20: Rust, Python and TypeScript agree on ML-DSA-65 and Falcon-512 signatures that no signer makes: at the limits of bounds and
/// encodings they verify, one step beyond they do not. Also: `crypto/clients/python/tests/test_vectors.py`,
/// `crypto/clients/typescript/test/vectors.test.ts`.
/// Claim V54.
#[test]
fn shared_vectors_belong_together() {
    if blesses("bases") {
        write_bases();
    }
    if blesses("bases") || blesses("without-proof") {
        write("without-proof.cbor", without_proof());
    }
    if blesses("bases") || blesses("other-keys") {
        write_other_keys();
    }
    if blesses("bases") || blesses("two-active") {
        write("trust-root-two-active.json", two_active());
    }
    if blesses("bases") || blesses("device") {
        device::write_bases();
    }
    if blesses("crafted") {
        crafted::write_bases();
    }
    let cases = cases(&Bases::read());
    let names: HashSet<&str> = cases.iter().filter_map(|case| case["name"].as_str()).collect();
    assert_eq!(names.len(), cases.len(), "each case has a name of its own");
    let manifest = json!({
        "format": "trefoil:test-vectors/1",
        "now": NOW,
        "audience": AUDIENCE,
        "nonce": hex::encode(NONCE),
        "cases": cases,
    });
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        write_json("cases.json", &manifest);
    }
    assert!(
        read_json("cases.json") == manifest,
        "the case list is out of date; set TREFOIL_BLESS and look at the difference"
    );
}

fn trust_root(issuer: &str, keys: &PublicKeySet, status: KeySetStatus) -> Vec<u8> {
    let trusted = TrustedKeySet { keys: keys.clone(), status };
    TrustRoot::new(issuer, vec![trusted]).unwrap().to_json().into_bytes()
}

/// A trust root with the other keys and the keys of the bases, as of two nodes that sign today.
fn two_active() -> Vec<u8> {
    let active = |keys: &PublicKeySet| TrustedKeySet { keys: keys.clone(), status: KeySetStatus::Active };
    let both = vec![active(&OtherKeys::new().public()), active(Issued::new().keys.public())];
    TrustRoot::new(ISSUER, both).unwrap().to_json().into_bytes()
}

fn write_bases() {
    let issued = Issued::new();
    let keys = issued.keys.public();
    let retired = KeySetStatus::Retired { since: ISSUED_AT };
    let revoked = KeySetStatus::Revoked { since: NOW };
    write("full.cbor", issued.full());
    write("compact.cbor", issued.compact());
    write("seal.cbor", issued.seal.encode());
    write("trust-root.json", trust_root(ISSUER, keys, KeySetStatus::Active));
    write("trust-root-retired.json", trust_root(ISSUER, keys, retired));
    write("trust-root-revoked.json", trust_root(ISSUER, keys, revoked));
    let elsewhere = trust_root("https://other.example", keys, KeySetStatus::Active);
    write("trust-root-other-issuer.json", elsewhere);
}

/// A full attestation of a tenant that asks for no proof, by the keys of the others.
fn without_proof() -> Vec<u8> {
    Issued::with(&Statement { proof: None, ..statement() }, |header| header).full()
}

/// The full attestation that is there, with the signatures of other keys over the very bytes that its own are over.
fn write_other_keys() {
    let full = read("full.cbor");
    let mut other = OtherKeys::new();
    let attestation = Attestation::decode(&full).unwrap();
    let seal = other.sign(&seal_of(&full).header);
    let forged = Attestation { evidence: Evidence::Full(seal), ..attestation }.encode();
    write("full-other-keys.cbor", forged);
    write("trust-root-other-keys.json", trust_root(ISSUER, &other.public(), KeySetStatus::Active));
}

/// The seal in a full attestation.
fn seal_of(full: &[u8]) -> Seal {
    let Evidence::Full(seal) = Attestation::decode(full).unwrap().evidence else {
        panic!("not a full attestation")
    };
    seal
}

fn find(bytes: &[u8], needle: &[u8]) -> usize {
    let at = bytes.windows(needle.len()).position(|window| window == needle);
    at.unwrap_or_else(|| panic!("{needle:02x?} is not there"))
}

fn edit(at: usize, remove: usize, insert: &[u8]) -> Value {
    json!({ "at": at, "remove": remove, "insert": hex::encode(insert) })
}

fn case(name: &str, base: &str, seal: bool, edits: &[Value], expect: &str) -> Value {
    json!({
        "name": name,
        "base": base,
        "seal": seal,
        "trust_root": "trust-root.json",
        "edits": edits,
        "expect": expect,
    })
}

fn with(mut case: Value, field: &str, value: impl Into<Value>) -> Value {
    case[field] = value.into();
    case
}

fn cases(bases: &Bases) -> Vec<Value> {
    let mut cases = vec![
        case("full", "full.cbor", false, &[], "verified"),
        case("full with its seal", "full.cbor", true, &[], "verified"),
        case("compact with its seal", "compact.cbor", true, &[], "verified"),
    ];
    cases.extend(policy_cases());
    cases.extend(encoding_cases(bases));
    cases.extend(tree_cases(bases));
    cases.extend(signature_cases(bases));
    cases.extend(proof_cases(bases));
    cases.extend(device::cases(bases));
    cases.extend(receipts::cases(bases));
    cases.extend(crafted::cases());
    cases.extend(truncated_cases("cut at", "full.cbor", &bases.full));
    cases.extend(truncated_cases("compact, cut at", "compact.cbor", &bases.compact));
    cases
}

fn policy_cases() -> Vec<Value> {
    let refused = |name: &str, expect: &str| case(name, "full.cbor", false, &[], expect);
    let with_root = |name: &str, root: &str, expect: &str| with(refused(name, expect), "trust_root", root);
    vec![
        with(refused("another audience", "audience"), "audience", "https://mall.example"),
        with(refused("another nonce", "nonce"), "nonce", "04".repeat(32)),
        with(refused("another tenant", "tenant"), "tenant", "fe".repeat(16)),
        with(refused("expired", "expired"), "now", EXPIRES_AT + 10),
        with(refused("not yet valid", "not-yet-valid"), "now", ISSUED_AT - 11),
        with(refused("sealed in the future", "seal-time"), "now", ISSUED_AT - 10),
        with_root("revoked key set", "trust-root-revoked.json", "revoked-key-set"),
        with_root("retired key set", "trust-root-retired.json", "retired-key-set"),
        with_root("unknown key set", "trust-root-other-keys.json", "unknown-key-set"),
        with_root("another issuer", "trust-root-other-issuer.json", "issuer"),
        with_root("one of two active key sets", "trust-root-two-active.json", "verified"),
        with(
            case(
                "another active key set than the seal names",
                "full-other-keys.cbor",
                false,
                &[],
                "signature-falcon-512-padded-r3",
            ),
            "trust_root",
            "trust-root-two-active.json",
        ),
        case("compact without its seal", "compact.cbor", false, &[], "seal-needed"),
    ]
}

fn encoding_cases(bases: &Bases) -> Vec<Value> {
    let full = &bases.full;
    let end = full.len();
    let refused = |name: &str, edits: &[Value]| case(name, "full.cbor", false, edits, "malformed");
    let version = find(full, b"trefoil:attestation/1") + 20;
    let profile = find(full, b"trefoil:statement/3") + 18;
    let suite = find(full, &[0x3a, 0, 1, 0, 0, 0xab, 1, 1]) + 7;
    // The receipts' first two bytes after the tag: array(4), then the protected header.
    let receipt = find(full, &[0xd2, 0x84]);
    let unprotected = find(full, &[0xa0, 0xf6]);
    let seal_profile = find(full, b"trefoil:seal/3") + 13;
    // A list of three: two counts, null, and two counts with the head of a job log.
    let vaults = find(full, &[6, 0x83, 0x82, 7, 0, 0xf6, 0x84]) + 1;
    let head = find(full, &[0x58, 32, 11, 11]);
    vec![
        refused("empty", &[edit(0, end, &[])]),
        refused("last byte missing", &[edit(end - 1, 1, &[])]),
        refused("a byte too many", &[edit(end, 0, &[0])]),
        refused("longer map head", &[edit(0, 1, &[0xb8, 6])]),
        refused("indefinite map", &[edit(0, 1, &[0xbf]), edit(end, 0, &[0xff])]),
        refused("longer key", &[edit(1, 1, &[0x18, 0])]),
        refused("unknown version", &[edit(version, 1, b"2")]),
        refused("a statement of version 1", &[edit(profile, 1, b"1")]),
        refused("unknown key", &[edit(1, 1, &[7])]),
        refused("repeated key", &[edit(find(full, &[1, 0x59]), 1, &[0])]),
        refused("statement claims too many", &[edit(find(full, &[0xa8, 1, 0x74]), 1, &[0xa9])]),
        refused("a twelfth field", &[edit(suite - 2, 1, &[0xac])]),
        refused("no COSE_Sign1 tag", &[edit(receipt, 1, &[])]),
        refused("another tag", &[edit(receipt, 1, &[0xd1])]),
        refused("unprotected header not empty", &[edit(unprotected, 1, &[0xa1, 1, 1])]),
        refused("payload attached", &[edit(unprotected + 1, 1, &[0x40])]),
        refused("a seal of version 1", &[edit(seal_profile, 1, b"1")]),
        refused("vault states that are no list", &[edit(vaults, 1, &[0xa3])]),
        refused("four vault states", &[edit(vaults, 1, &[0x84])]),
        refused("two vault states and a third", &[edit(vaults, 1, &[0x82])]),
        refused("a vault state of one count", &[edit(vaults + 1, 1, &[0x81])]),
        refused("a vault state of three counts", &[edit(vaults + 1, 1, &[0x83])]),
        refused("the lines of a job log without their digest", &[edit(vaults + 5, 1, &[0x83])]),
        refused("a vault state of five", &[edit(vaults + 5, 1, &[0x85])]),
        refused("a digest of 31 bytes", &[edit(head + 1, 2, &[31])]),
        refused("a negative generation", &[edit(vaults + 2, 1, &[0x27])]),
        refused("an undefined vault state", &[edit(vaults + 4, 1, &[0xf7])]),
        refused("another generation in one receipt", &[edit(vaults + 2, 1, &[8])]),
        case("unknown suite", "full.cbor", false, &[edit(suite, 1, &[2])], "unknown-suite"),
    ]
}

fn tree_cases(bases: &Bases) -> Vec<Value> {
    let Bases { full, compact, .. } = bases;
    let attestation = Attestation::decode(full).unwrap();
    let seal = seal_of(full);
    let refused = |name: &str, at: usize, insert: &[u8], expect: &str| {
        case(name, "full.cbor", false, &[edit(at, insert.len(), insert)], expect)
    };
    let account = find(full, &[2; 32]);
    let path = find(full, &attestation.path[0]);
    let place = find(full, &[2, 11, 3, 4, 4, 0x84]);
    let root = find(full, &seal.header.root);
    let digest = find(compact, &seal.header.digest());
    vec![
        refused("another account", account, &[9], "not-in-tree"),
        refused("another session", find(full, &[10; 32]), &[11], "not-in-tree"),
        refused("match turned into a denial", find(full, &[5, 1, 6, 1]) + 1, &[0], "decision"),
        refused("another path node", path, &[!attestation.path[0][0]], "not-in-tree"),
        refused("another leaf", place + 3, &[5], "not-in-tree"),
        refused("a leaf outside the tree", place + 3, &[11], "not-in-tree"),
        refused("another tree size", place + 1, &[12], "tree-size-mismatch"),
        refused("another root", root, &[!seal.header.root[0]], "not-in-tree"),
        case(
            "compact naming another seal",
            "compact.cbor",
            true,
            &[edit(digest, 1, &[!compact[digest]])],
            "other-seal",
        ),
    ]
}

fn signature_cases(bases: &Bases) -> Vec<Value> {
    let full = &bases.full;
    let seal = seal_of(full);
    let start = |family: Family| find(full, &seal.signatures[family.index()][..64]);
    let mut cases: Vec<Value> = Family::ALL
        .into_iter()
        .flat_map(|family| {
            let (first, length) = (start(family), family.signature_bytes());
            let expect = format!("signature-{}", family.id());
            [("first", first), ("middle", first + length / 2), ("last", first + length - 1)].map(
                |(name, at)| {
                    let name = format!("{name} byte of the {} signature", family.id());
                    case(&name, "full.cbor", false, &[edit(at, 1, &[full[at] ^ 1])], &expect)
                },
            )
        })
        .collect();
    let zeroed = |family: Family| {
        let length = family.signature_bytes();
        let name = format!("{} signature of zeros", family.id());
        let expect = format!("signature-{}", family.id());
        case(&name, "full.cbor", false, &[edit(start(family), length, &vec![0; length])], &expect)
    };
    cases.push(zeroed(Family::MlDsa65));
    cases.push(zeroed(Family::Falcon512));
    let times = find(full, &[6, 0x1a, 0x6b, 0x49, 0xd2, 0x09]);
    cases.push(case(
        "one receipt with another time",
        "full.cbor",
        false,
        &[edit(times + 5, 1, &[0x0a])],
        "malformed",
    ));
    cases
}

/// Cut before and after every item of an attestation, those inside its byte strings too.
fn truncated_cases(name: &str, base: &str, bytes: &[u8]) -> Vec<Value> {
    let mut ends = Vec::new();
    items(bytes, 0, &mut ends);
    for (start, string) in byte_strings(bytes) {
        // Statements and headers are CBOR themselves; hashes are shorter, signatures longer.
        if (64..600).contains(&string.len()) {
            items(bytes, start, &mut ends);
        }
    }
    ends.sort_unstable();
    ends.dedup();
    ends.into_iter()
        .filter(|end| (1..bytes.len()).contains(end))
        .map(|end| {
            // With the seal, which a compact attestation needs to be read to its end.
            let seal = base == "compact.cbor";
            let edits = [edit(end, bytes.len() - end, &[])];
            case(&format!("{name} {end}"), base, seal, &edits, "malformed")
        })
        .collect()
}

/// A statement without a proof, which a policy refuses unless it accepts it; and proofs that are left out or made up.
fn proof_cases(bases: &Bases) -> Vec<Value> {
    let accepting = |case: Value| with(case, "accept_no_proof", true);
    let without =
        |name: &str, edits: &[Value], expect: &str| case(name, "without-proof.cbor", false, edits, expect);
    let proof = || {
        let statement = Attestation::decode(&bases.full).unwrap().statement;
        let at = find(statement, &[11, 0x85, 3]) + 1;
        statement[at..at + PROOF_BYTES].to_vec()
    };
    // The length of the statement, and its proof.
    let resized = |bytes: &[u8], by: isize, remove: usize, insert: &[u8]| {
        let statement = Attestation::decode(bytes).unwrap().statement;
        let start = find(bytes, statement);
        let size = statement.len().checked_add_signed(by).unwrap() as u16;
        let key: &[u8] = if remove == 1 { &[11, 0xf6] } else { &[11, 0x85, 3] };
        let at = start + find(statement, key) + 1;
        [edit(start - 2, 2, &size.to_be_bytes()), edit(at, remove, insert)]
    };
    let left_out = resized(&bases.full, 1 - PROOF_BYTES as isize, PROOF_BYTES, &[0xf6]);
    let made_up = resized(&bases.without_proof, PROOF_BYTES as isize - 1, 1, &proof());
    vec![
        without("no proof", &[], "no-proof"),
        accepting(without("no proof, which is accepted", &[], "verified")),
        accepting(case("a proof where none is needed", "full.cbor", false, &[], "verified")),
        case("the proof left out", "full.cbor", false, &left_out, "no-proof"),
        accepting(case(
            "the proof left out, which is accepted",
            "full.cbor",
            false,
            &left_out,
            "not-in-tree",
        )),
        without("a proof made up", &made_up, "not-in-tree"),
    ]
}

/// The proof of the vectors, encoded.
const PROOF_BYTES: usize = 76;
