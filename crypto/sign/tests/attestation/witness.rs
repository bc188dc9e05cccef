//! Checkpoints and their cosignatures: signed here, verified by `trefoil-attest` with another implementation.

use trefoil_attest::witness::{Checkpoint, Witness, WitnessError};
use trefoil_sign::WitnessKey;

use crate::fixture::{ISSUER, NOW, blesses, read_text, rng, write};

fn checkpoint() -> Checkpoint {
    Checkpoint { origin: ISSUER.into(), size: 17, root: [9; 32] }
}

fn witnesses() -> [WitnessKey; 3] {
    let mut rng = rng();
    ["a.example/w", "b.example/w", "c.example/w"].map(|name| WitnessKey::generate(name, &mut rng).unwrap())
}

fn note(checkpoint: &Checkpoint, lines: &[String]) -> String {
    format!("{}\n{}", checkpoint.text(), lines.concat())
}

#[test]
fn a_quorum_of_known_witnesses_is_required() {
    let [a, b, c] = witnesses();
    let line = |key: &WitnessKey| key.cosign(&checkpoint(), NOW).unwrap();
    let known = [a.witness().clone(), b.witness().clone()];
    let verify = |lines: &[String], needed| Checkpoint::verify(&note(&checkpoint(), lines), &known, needed);
    let (read, cosigned) = verify(&[line(&a), line(&c), line(&b)], 2).unwrap();
    assert_eq!(read, checkpoint());
    let names: Vec<&str> = cosigned.iter().map(|one| one.witness.as_str()).collect();
    assert_eq!(names, ["a.example/w", "b.example/w"]);
    assert_eq!(cosigned[0].time, NOW);
    let too_few = WitnessError::TooFew { needed: 2, found: 1 };
    assert_eq!(verify(&[line(&a), line(&c)], 2).unwrap_err(), too_few, "an unknown witness does not count");
    assert_eq!(verify(&[line(&a), line(&a)], 2).unwrap_err(), too_few, "nor one that signs twice");
    assert_eq!(verify(&[], 1).unwrap_err(), WitnessError::TooFew { needed: 1, found: 0 });
}

#[test]
fn a_cosignature_is_for_one_head_one_log_one_witness_and_one_time() {
    let [a, b, _] = witnesses();
    let known = [a.witness().clone(), b.witness().clone()];
    let line = a.cosign(&checkpoint(), NOW).unwrap();
    let others = [
        Checkpoint { size: 18, ..checkpoint() },
        Checkpoint { root: [8; 32], ..checkpoint() },
        Checkpoint { origin: "https://other.example".into(), ..checkpoint() },
    ];
    let refused = Err(WitnessError::Signature { witness: "a.example/w".into() });
    for other in others {
        let verified = Checkpoint::verify(&note(&other, std::slice::from_ref(&line)), &known, 0);
        assert_eq!(verified, refused);
    }
    // Base64 character 8 and later hold the time and the signature; those before hold the key id.
    let start = line.rfind(' ').unwrap() + 1;
    for at in (start + 8..line.len() - 4).step_by(61) {
        let mut altered = line.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).unwrap();
        assert_eq!(Checkpoint::verify(&note(&checkpoint(), &[altered]), &known, 0), refused, "{at}");
    }
    // Times beyond 2^63 - 1 are no times.
    let verify =
        |time| Checkpoint::verify(&note(&checkpoint(), &[a.cosign(&checkpoint(), time).unwrap()]), &known, 1);
    assert_eq!(verify(i64::MAX as u64).unwrap().1[0].time, i64::MAX as u64);
    assert_eq!(verify(1 << 63), refused);
    let renamed = line.replace("a.example", "b.example");
    assert_eq!(Checkpoint::verify(&note(&checkpoint(), &[renamed]), &known, 0).unwrap().1, []);
}

#[test]
fn a_checkpoint_has_one_text() {
    let text = checkpoint().text();
    assert_eq!(text, "https://auth.example\n17\nCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\n");
    let refused =
        |note: &str| assert_eq!(Checkpoint::verify(note, &[], 0), Err(WitnessError::Note), "{note:?}");
    assert!(Checkpoint::verify(&format!("{text}\n"), &[], 0).is_ok());
    refused(&text);
    refused("");
    refused(&format!("{text}extension\n\n"));
    refused(&format!("{text}\nno signature line\n"));
    refused(&format!("{text}\n\u{2014} name !\n"));
    refused(&format!("{text}\n\u{2014} name AAA=\n"));
    for (from, to) in
        [("17", "017"), ("17", "+17"), ("17", "0"), ("Qk=", "Ql="), ("https://auth.example\n", "\n")]
    {
        refused(&format!("{}\n", text.replacen(from, to, 1)));
    }
}

#[test]
fn verifier_keys_read_back_and_others_are_refused() {
    let [a, ..] = witnesses();
    let text = a.witness().verifier_key();
    assert!(text.starts_with("a.example/w+"));
    assert_eq!(Witness::parse(&text).unwrap(), *a.witness());
    assert_eq!(WitnessKey::from_seed("a.example/w", a.seed()).unwrap().witness(), a.witness());
    for other in
        [text.replace("a.example", "b.example"), text[1..].to_owned(), "a+b".to_owned(), String::new()]
    {
        assert_eq!(Witness::parse(&other), Err(WitnessError::Key));
    }
    for name in ["", "a b", "a+b", "a\n", &"x".repeat(256)] {
        assert!(WitnessKey::generate(name, &mut rng()).is_err(), "{name:?}");
    }
}

/// The note and the key in `crypto/attest/testdata`, which the fuzzer starts from.
#[test]
fn the_kept_note_is_one_of_these_witnesses() {
    let [a, b, _] = witnesses();
    if blesses("witness") {
        let lines = [&a, &b].map(|key| key.cosign(&checkpoint(), NOW).unwrap());
        write("checkpoint.txt", note(&checkpoint(), &lines));
        write("witness.txt", a.witness().verifier_key());
    }
    let key = Witness::parse(&read_text("witness.txt")).unwrap();
    assert_eq!(key, *a.witness());
    let known = [key, b.witness().clone()];
    let (head, cosigned) = Checkpoint::verify(&read_text("checkpoint.txt"), &known, 2).unwrap();
    assert_eq!(head, checkpoint());
    assert!(cosigned.iter().all(|one| one.time == NOW), "{cosigned:?}");
}
