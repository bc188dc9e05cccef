//! Cases about the device's signature: absent, by another key, over something else, in another place.

use serde_json::Value;
use trefoil_attest::{
    Account, Attestation, DeviceStatement, Proof, SessionId, Statement, TenantId, join, statement_digest,
};

use super::{Bases, case, edit, with, write};
use crate::fixture::{AccountKey, read, statement};

/// The full and the compact attestation with the signature of [`device`].
const FULL: &str = "device.cbor";
const COMPACT: &str = "device-compact.cbor";

pub(super) fn write_bases() {
    let signature = AccountKey::new(0x21).of(&statement());
    write(FULL, join(&read("full.cbor"), &signature).unwrap());
    write(COMPACT, join(&read("compact.cbor"), &signature).unwrap());
}

pub(super) fn cases(bases: &Bases) -> Vec<Value> {
    let (key, other) = (AccountKey::new(0x21), AccountKey::new(0x22));
    let pinned = |case: Value| with(case, "account_key", key.id().to_string());
    let found = |case: Value| with(case, "device", key.id().to_string());
    let joined = |name: &str, edits: &[Value], expect: &str| case(name, FULL, false, edits, expect);
    let mut cases = vec![
        found(joined("a device's signature", &[], "verified")),
        found(pinned(joined("a device's signature by the pinned key", &[], "verified"))),
        found(pinned(case("the same with its seal", FULL, true, &[], "verified"))),
        found(case("compact, with a device's signature", COMPACT, true, &[], "verified")),
        found(pinned(case("compact, by the pinned key", COMPACT, true, &[], "verified"))),
        pinned(case("compact without its seal, by the pinned key", COMPACT, false, &[], "seal-needed")),
        pinned(case("no device's signature", "full.cbor", false, &[], "no-device-signature")),
        pinned(case("no device's signature, compact", "compact.cbor", true, &[], "no-device-signature")),
        with(joined("another pinned key", &[], "account-key"), "account_key", other.id().to_string()),
        pinned(with(joined("the pinned key, another nonce", &[], "nonce"), "nonce", "04".repeat(32))),
    ];
    // What stands behind the bytes of `full.cbor`: 7, array(2), the key and the signature with three bytes of head each.
    let end = bases.full.len();
    let (public_key, signature) = (end + 5, end + 5 + 1312 + 3);
    let bytes = &bases.device;
    assert_eq!((bytes.len(), bytes[end], bytes[0]), (signature + 2420, 7, 0xa7));
    for at in [0, 1200, 2335, 2419] {
        let flipped = edit(signature + at, 1, &[bytes[signature + at] ^ 1]);
        let name = format!("byte {at} of the device's signature");
        cases.push(joined(&name, std::slice::from_ref(&flipped), "device-signature"));
        cases.push(pinned(joined(&format!("{name}, pinned"), &[flipped], "device-signature")));
    }
    for at in [0, 31, 32, 1311] {
        let flipped = edit(public_key + at, 1, &[bytes[public_key + at] ^ 1]);
        let name = format!("byte {at} of the account key");
        cases.push(joined(&name, std::slice::from_ref(&flipped), "device-signature"));
        cases.push(pinned(joined(&format!("{name}, pinned"), &[flipped], "account-key")));
    }
    // The hints of an ML-DSA-44 signature: 80 places, then the end of each of four rows (FIPS 204 algorithm 20).
    let hints = &bytes[signature + 2336..];
    let (count, first) = (usize::from(hints[83]), usize::from(hints[80]));
    assert!(count < 80 && first > 1);
    let behind = edit(signature + 2336 + count, 1, &[1]);
    cases.push(joined("a byte behind the hints of the device's signature", &[behind], "device-signature"));
    let swapped = edit(signature + 2336, 2, &[hints[1], hints[0]]);
    cases.push(joined("hints out of order in the device's signature", &[swapped], "device-signature"));

    for (name, message) in messages() {
        let by = |name: String, replaced: &[u8]| {
            pinned(joined(&name, &[edit(signature, 2420, replaced)], "device-signature"))
        };
        cases.push(by(format!("a device's signature over {name}"), &key.sign(&message).signature[..]));
    }
    let own = DeviceStatement::of(&statement()).unwrap().to_be_signed();
    let in_context = key.sign_in(b"x", &own).signature;
    let edits = [edit(signature, 2420, &in_context[..])];
    cases.push(pinned(joined("a device's signature with a context", &edits, "device-signature")));
    // Another person's key and signature over this statement.
    let theirs = other.of(&statement());
    let swapped =
        [edit(public_key, 1312, &theirs.public_key[..]), edit(signature, 2420, &theirs.signature[..])];
    cases.push(pinned(joined("by another person's key", &swapped, "account-key")));
    let mixed = [edit(signature, 2420, &theirs.signature[..])];
    cases.push(pinned(joined("by another person's key under the pinned one", &mixed, "device-signature")));
    // A device's signature is worth nothing without those of the seal.
    let unsealed = [edit(0, 1, &[0xa7]), edit(end, 0, &bytes[end..])];
    cases.push(pinned(case(
        "the pinned key, under a seal by other keys",
        "full-other-keys.cbor",
        false,
        &unsealed,
        "signature-falcon-512-padded-r3",
    )));
    cases.extend(without_proof(bases, &key).map(|case| with(case, "accept_no_proof", true)));
    cases.extend(encodings(bytes, end));
    cases
}

/// Messages of which a signature is not one for the vectors' statement.
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let one = DeviceStatement::of(&statement()).unwrap();
    let Statement { proof, .. } = statement();
    let proof = proof.unwrap();
    let proven = |proof: Proof| DeviceStatement { proof, ..one };
    let own = one.to_be_signed();
    let replaced = |from: &[u8], by: &[u8]| {
        let at = own.windows(from.len()).position(|window| window == from).unwrap();
        [&own[..at], by, &own[at + from.len()..]].concat()
    };
    // array(6), whose first item is the tenant.
    let payload = own.windows(4).position(|window| window == [0x86, 0x50, 1, 1]).unwrap();
    let payload = own[payload..].to_vec();
    let mut signed: Vec<(&str, Vec<u8>)> = [
        ("another tenant", DeviceStatement { tenant: TenantId::new([9; 16]), ..one }),
        ("another account", DeviceStatement { account: Account::new([9; 32]), ..one }),
        ("another audience", DeviceStatement { audience: "https://mall.example", ..one }),
        ("another nonce", DeviceStatement { nonce: &[4; 32], ..one }),
        ("a shorter nonce", DeviceStatement { nonce: &[3; 31], ..one }),
        ("another request", DeviceStatement { request_digest: [5; 32], ..one }),
        ("another circuit", proven(Proof { circuit: 4, ..proof })),
        ("another root", proven(Proof { root: [6; 32], ..proof })),
        ("another level", proven(Proof { level: 3, ..proof })),
        ("another epoch", proven(Proof { epoch: proof.epoch + 1, ..proof })),
        ("another session", proven(Proof { session: SessionId::new([11; 32]), ..proof })),
    ]
    .into_iter()
    .map(|(name, signed)| (name, signed.to_be_signed()))
    .collect();
    signed.extend([
        ("another format", replaced(b"trefoil:device/1", b"trefoil:device/2")),
        ("another algorithm", replaced(&[1, 0x38, 0x2f, 15], &[1, 0x38, 0x30, 15])),
        ("the payload alone", payload),
        ("the digest of the statement", statement_digest(&statement().encode().unwrap()).to_vec()),
        ("nothing", Vec::new()),
    ]);
    signed
}

/// A device has nothing to sign without a proof, and a pinned key needs one whatever else is accepted.
fn without_proof(bases: &Bases, key: &AccountKey) -> impl Iterator<Item = Value> {
    let bytes = &bases.without_proof;
    let pinned = with_key(key);
    let signature = key.of(&statement());
    let joined = join(bytes, &signature).unwrap();
    let edits = [edit(0, 1, &joined[..1]), edit(bytes.len(), 0, &joined[bytes.len()..])];
    let base = "without-proof.cbor";
    [
        pinned(case("no proof and no device's signature, pinned", base, false, &[], "no-proof")),
        case("a device's signature without a proof", base, false, &edits, "device-signature"),
        pinned(case("a device's signature without a proof, pinned", base, false, &edits, "no-proof")),
    ]
    .into_iter()
}

fn with_key(key: &AccountKey) -> impl Fn(Value) -> Value {
    let id = key.id().to_string();
    move |case| with(case, "account_key", id.clone())
}

/// Other encodings of key 7, which begins at `end`.
fn encodings(bytes: &[u8], end: usize) -> impl Iterator<Item = Value> {
    let (entry, signature) = (&bytes[end..], end + 5 + 1312);
    let seal =
        Attestation::decode(bytes).map(|attestation| attestation.path.last().copied()).unwrap().unwrap();
    let seal = bytes.windows(32).position(|window| window == seal).unwrap() + 32;
    assert_eq!(bytes[seal], 5, "the seal follows the path");
    [
        ("a device's signature that is not counted", vec![edit(0, 1, &[0xa6])]),
        ("a device's signature that is counted and absent", vec![edit(end, entry.len(), &[])]),
        ("two signatures of devices", vec![edit(0, 1, &[0xa8]), edit(bytes.len(), 0, entry)]),
        ("a device's signature before the seal", vec![edit(end, entry.len(), &[]), edit(seal, 0, entry)]),
        ("a device's signature under another key", vec![edit(end, 1, &[8])]),
        ("a device's signature that is null", vec![edit(end + 1, entry.len() - 1, &[0xf6])]),
        ("an account key alone", vec![edit(end + 1, 1, &[0x81]), edit(signature, 2423, &[])]),
        (
            "a third item beside key and signature",
            vec![edit(end + 1, 1, &[0x83]), edit(bytes.len(), 0, &[0x40])],
        ),
        (
            "key and signature without a length",
            vec![edit(end + 1, 1, &[0x9f]), edit(bytes.len(), 0, &[0xff])],
        ),
        ("an account key of 1311 bytes", vec![edit(end + 2, 4, &[0x59, 5, 0x1f])]),
        ("an account key of 1313 bytes", vec![edit(end + 2, 3, &[0x59, 5, 0x21, 0])]),
        ("a longer head of the account key", vec![edit(end + 2, 3, &[0x5a, 0, 0, 5, 0x20])]),
        ("a device's signature of 2419 bytes", vec![edit(signature, 4, &[0x59, 9, 0x73])]),
        ("a device's signature of 2421 bytes", vec![edit(signature, 3, &[0x59, 9, 0x75, 0])]),
        ("a device's signature that is text", vec![edit(signature, 1, &[0x79])]),
        ("a byte behind the device's signature", vec![edit(bytes.len(), 0, &[0])]),
        ("cut in the account key", vec![edit(end + 9, bytes.len() - end - 9, &[])]),
        ("cut before the device's signature", vec![edit(signature, bytes.len() - signature, &[])]),
        ("cut in the device's signature", vec![edit(bytes.len() - 1, 1, &[])]),
    ]
    .into_iter()
    .map(|(name, edits)| case(name, FULL, false, &edits, "malformed"))
}
