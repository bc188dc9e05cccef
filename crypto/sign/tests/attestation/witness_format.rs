//! Keys, messages and lines of witnesses byte for byte as C2SP specifies them: tlog-cosignature with ML-DSA-44 (commit
//! 01194db1 of github.com/C2SP/C2SP), signed-note and tlog-checkpoint 1.0.0. What is expected here is made from the text of
//! these, or comes from others (`testdata/PROVENANCE.md`), never from the code under test.

use base64ct::{Base64, Encoding as _};
use fips204::ml_dsa_44;
use fips204::traits::{KeyGen as _, SerDes as _, Signer as _, Verifier as _};
use sha2::{Digest as _, Sha256};
use trefoil_attest::witness::{Checkpoint, Witness, WitnessError};
use trefoil_sign::WitnessKey;

/// The specification's example: checkpoint, witness and time.
const TEXT: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const NAME: &str = "witness.example.com/w1";
const TIME: u64 = 1_679_315_147;
const SEED: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31,
];

fn checkpoint() -> Checkpoint {
    let root = Base64::decode_vec("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=").unwrap();
    Checkpoint {
        origin: "example.com/behind-the-sofa".into(),
        size: 20_852_163,
        root: root.try_into().unwrap(),
    }
}

/// `cosigned_message` of the example.
fn message() -> Vec<u8> {
    let mut bytes = b"subtree/v1\n\0".to_vec();
    bytes.extend([22]);
    bytes.extend(b"witness.example.com/w1");
    bytes.extend([0, 0, 0, 0, 0x64, 0x18, 0x50, 0xcb]);
    bytes.extend([27]);
    bytes.extend(b"example.com/behind-the-sofa");
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0, 0, 0x01, 0x3e, 0x2d, 0xc3]);
    bytes.extend(checkpoint().root);
    bytes
}

fn pair() -> (Vec<u8>, ml_dsa_44::PrivateKey) {
    let (public, secret) = ml_dsa_44::KG::keygen_from_seed(&SEED);
    (public.into_bytes().to_vec(), secret)
}

/// The first four bytes of the hash of name, newline, type and key.
fn key_id(name: &str, kind: u8, public_key: &[u8]) -> Vec<u8> {
    Sha256::digest([name.as_bytes(), b"\n", &[kind], public_key].concat())[..4].to_vec()
}

/// A note of the example with one signature line.
fn note(name: &str, key_id: &[u8], time: [u8; 8], signature: &[u8]) -> String {
    let line = Base64::encode_string(&[key_id, &time, signature].concat());
    format!("{TEXT}\n\u{2014} {name} {line}\n")
}

fn sign(message: &[u8], context: &[u8]) -> Vec<u8> {
    pair().1.try_sign_with_seed(&[0; 32], message, context).unwrap().to_vec()
}

#[test]
fn what_others_cosigned_verifies() {
    let witness = WitnessKey::from_seed(NAME, &SEED).unwrap().witness().clone();
    let note = include_str!("../../testdata/c2sp_cosignature.txt");
    // The lines of the log and of the witness's Ed25519 key are those of the specification, and unknown here.
    let (read, cosigned) = Checkpoint::verify(note, &[witness], 1).unwrap();
    assert_eq!((read, cosigned.len()), (checkpoint(), 1));
    assert_eq!((cosigned[0].witness.as_str(), cosigned[0].time), (NAME, TIME));
    assert!(note.ends_with(&cosigned[0].line));

    let key = include_str!("../../testdata/torchwood_mldsa_key.txt").trim_end();
    let log = Witness::parse(key).unwrap();
    assert_eq!(log.verifier_key(), key);
    let note = include_str!("../../testdata/torchwood_mldsa_checkpoint.txt");
    let (read, cosigned) = Checkpoint::verify(note, std::slice::from_ref(&log), 1).unwrap();
    assert_eq!((read.origin.as_str(), read.size, cosigned[0].time), ("example.com/mldsa-log", 1, 0));
    for (from, to) in [("\n1\n", "\n2\n"), ("\n+zo", "\n+zp"), ("AAAAAkjFv", "AAABkjFvC")] {
        let altered = note.replacen(from, to, 1);
        assert_ne!(altered, note);
        let refused = WitnessError::Signature { witness: "example.com/mldsa-log".into() };
        assert_eq!(Checkpoint::verify(&altered, std::slice::from_ref(&log), 0), Err(refused), "{from}");
    }
}

#[test]
fn key_message_and_line_are_those_of_the_specification() {
    let key = WitnessKey::from_seed(NAME, &SEED).unwrap();
    let (public_key, _) = pair();
    let id = key_id(NAME, 0x06, &public_key);
    let encoded = Base64::encode_string(&[&[0x06], &public_key[..]].concat());
    assert_eq!(key.witness().verifier_key(), format!("{NAME}+{}+{encoded}", hex::encode(&id)));
    assert_eq!(checkpoint().text(), TEXT);
    assert_eq!(checkpoint().cosigned_message(NAME, TIME).unwrap(), message());

    let signature = sign(&message(), &[]);
    let by_hand = note(NAME, &id, TIME.to_be_bytes(), &signature);
    let line = key.witness().signature_line(TIME, &signature);
    assert_eq!(format!("{TEXT}\n{line}"), by_hand);
    let (read, cosigned) = Checkpoint::verify(&by_hand, std::slice::from_ref(key.witness()), 1).unwrap();
    assert_eq!((read, cosigned[0].time), (checkpoint(), TIME));

    // What our key signs, which is hedged, is a signature of that message.
    let line = key.cosign(&checkpoint(), TIME).unwrap();
    let blob = line.trim_end().strip_prefix("\u{2014} witness.example.com/w1 ").unwrap();
    let blob = Base64::decode_vec(blob).unwrap();
    assert_eq!(blob[..12], [&id[..], &TIME.to_be_bytes()].concat());
    let public_key = ml_dsa_44::PublicKey::try_from_bytes(public_key.try_into().unwrap()).unwrap();
    assert!(public_key.verify(&message(), &blob[12..].try_into().unwrap(), &[]));
}

#[test]
fn signatures_of_other_messages_and_lines_of_other_keys_do_not_count() {
    let witness = [WitnessKey::from_seed(NAME, &SEED).unwrap().witness().clone()];
    let (public_key, _) = pair();
    let (id, time) = (key_id(NAME, 0x06, &public_key), TIME.to_be_bytes());
    let replaced = |from: &[u8], to: &[u8]| {
        let message = message();
        let at = message.windows(from.len()).position(|window| window == from).unwrap();
        [&message[..at], to, &message[at + from.len()..]].concat()
    };
    let refused = Err(WitnessError::Signature { witness: NAME.into() });
    let others = [
        ("another label", sign(&replaced(b"subtree/v1\n\0", b"mtc-subtree/v1\n\0"), &[])),
        ("no end of the label", sign(&replaced(b"v1\n\0", b"v1\n"), &[])),
        ("another witness", sign(&replaced(b"com/w1", b"com/w2"), &[])),
        ("another time", sign(&replaced(&time, &(TIME + 1).to_be_bytes()), &[])),
        ("time, little end first", sign(&replaced(&time, &TIME.to_le_bytes()), &[])),
        ("the message of Ed25519", sign(format!("cosignature/v1\ntime {TIME}\n{TEXT}").as_bytes(), &[])),
        ("a context", sign(&message(), b"subtree/v1")),
    ];
    for (what, signature) in others {
        let verified = Checkpoint::verify(&note(NAME, &id, time, &signature), &witness, 1);
        assert_eq!(verified, refused, "{what}");
    }
    let signature = sign(&message(), &[]);
    let later = note(NAME, &id, (TIME + 1).to_be_bytes(), &signature);
    assert_eq!(Checkpoint::verify(&later, &witness, 1), refused);
    let unknown = Err(WitnessError::TooFew { needed: 1, found: 0 });
    let of_ed25519 = key_id(NAME, 0x04, &public_key);
    assert_eq!(Checkpoint::verify(&note(NAME, &of_ed25519, time, &signature), &witness, 1), unknown);
    let elsewhere = "witness.example.com/w2";
    assert_eq!(Checkpoint::verify(&note(elsewhere, &id, time, &signature), &witness, 1), unknown);
}
