//! From one version of a trust root to the next: every broken link of the chain is refused. With `TREFOIL_BLESS=rotation` the
//! cases are written to `crypto/attest/testdata/rotation.json` and the roots beside it, for other verifiers.

use rand::rngs::StdRng;
use serde_json::{Value, json};
use trefoil_attest::{Cosignature, Family, KeySetStatus, TrustRoot, TrustedKeySet, UpdateError};
use trefoil_sign::SigningKeys;

use crate::fixture::{
    ISSUER, NOT_AFTER, NOT_BEFORE, NOW, blesses, read_json, read_root, rng, write, write_json,
};

const RETIRED: KeySetStatus = KeySetStatus::Retired { since: NOW };
const REVOKED: KeySetStatus = KeySetStatus::Revoked { since: NOW };
/// Retired so late that its seals verify until its validity ends.
const FOR_EVER: KeySetStatus = KeySetStatus::Retired { since: u64::MAX };

/// Three key sets: `a` signs in version 1, `b` in version 2, `c` in version 3.
struct Issuer {
    a: SigningKeys,
    b: SigningKeys,
    c: SigningKeys,
    rng: StdRng,
}

type Listed<'a> = [(&'a SigningKeys, KeySetStatus)];

fn active(keys: &SigningKeys) -> (&SigningKeys, KeySetStatus) {
    (keys, KeySetStatus::Active)
}

fn listed(sets: &Listed<'_>) -> Vec<TrustedKeySet> {
    sets.iter().map(|(keys, status)| TrustedKeySet { keys: keys.public().clone(), status: *status }).collect()
}

fn cosigned(root: TrustRoot, by: &mut [&mut SigningKeys], rng: &mut StdRng) -> TrustRoot {
    let cosignatures = by.iter_mut().map(|keys| keys.cosign(&root, rng).unwrap()).collect();
    root.with_cosignatures(cosignatures).unwrap()
}

impl Issuer {
    fn new() -> Self {
        let mut rng = rng();
        let mut keys = || SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut rng).unwrap();
        let (a, b, c) = (keys(), keys(), keys());
        Self { a, b, c, rng }
    }

    fn first(&self) -> TrustRoot {
        TrustRoot::new(ISSUER, listed(&[(&self.a, KeySetStatus::Active)])).unwrap()
    }

    /// Version 2, cosigned by `a` and `b`.
    fn second(&mut self, first: &TrustRoot) -> TrustRoot {
        let sets = listed(&[(&self.b, KeySetStatus::Active), (&self.a, RETIRED)]);
        cosigned(first.successor(sets).unwrap(), &mut [&mut self.a, &mut self.b], &mut self.rng)
    }

    /// Version 3, cosigned by `b` and `c`.
    fn third(&mut self, second: &TrustRoot) -> TrustRoot {
        let sets = listed(&[(&self.c, KeySetStatus::Active), (&self.b, RETIRED), (&self.a, RETIRED)]);
        cosigned(second.successor(sets).unwrap(), &mut [&mut self.b, &mut self.c], &mut self.rng)
    }

    /// A version 2 with these key sets, cosigned by `a` and `b`.
    fn second_with(&mut self, first: &TrustRoot, sets: Vec<TrustedKeySet>) -> TrustRoot {
        cosigned(first.successor(sets).unwrap(), &mut [&mut self.a, &mut self.b], &mut self.rng)
    }
}

/// `root` with other cosignatures.
fn with(root: &TrustRoot, cosignatures: &[&Cosignature]) -> TrustRoot {
    root.clone().with_cosignatures(cosignatures.iter().map(|&one| one.clone()).collect()).unwrap()
}

/// Name, pinned version, offered version, and the code of the refusal.
fn cases() -> Vec<(&'static str, TrustRoot, TrustRoot, &'static str)> {
    let mut issuer = Issuer::new();
    let first = issuer.first();
    let second = issuer.second(&first);
    let third = issuer.third(&second);
    let again =
        issuer.second_with(&first, listed(&[(&issuer.b, KeySetStatus::Active), (&issuer.a, REVOKED)]));
    let after_again = issuer.third(&again);
    let [by_a, by_b] = [&second.cosignatures()[0], &second.cosignatures()[1]];
    let by_c = issuer.c.cosign(&second, &mut issuer.rng).unwrap();
    let swapped = |one: &Cosignature, other: &Cosignature| Cosignature {
        signatures: other.signatures.clone(),
        ..one.clone()
    };
    let (a_as_b, b_as_a) = (swapped(by_b, by_a), swapped(by_a, by_b));
    let third_by = [&third.cosignatures()[0], &third.cosignatures()[1]];
    let elsewhere = TrustRoot::new("https://other.example", first.key_sets().to_vec()).unwrap();
    let dropped = listed(&[active(&issuer.b)]);
    let vanished = issuer.second_with(&first, dropped);
    let revived = listed(&[
        active(&issuer.c),
        active(&issuer.b),
        (&issuer.a, KeySetStatus::Retired { since: NOW + 1 }),
    ]);
    let revived =
        cosigned(second.successor(revived).unwrap(), &mut [&mut issuer.b, &mut issuer.c], &mut issuer.rng);
    // Two sets sign from version 2 on. In version 3 one of them is replaced, without the other.
    let joined = issuer.second_with(&first, listed(&[active(&issuer.b), active(&issuer.a)]));
    let one_of_two = listed(&[active(&issuer.c), (&issuer.b, RETIRED), active(&issuer.a)]);
    let one_of_two = joined.successor(one_of_two).unwrap();
    let one_of_two = cosigned(one_of_two, &mut [&mut issuer.b, &mut issuer.c], &mut issuer.rng);
    let alone = with(&one_of_two, &[&one_of_two.cosignatures()[0]]);
    // Key sets that leave, and some that join without a cosignature of their own. One active set cosigns each version.
    let mut by = |pinned: &TrustRoot, sets: &[(&SigningKeys, KeySetStatus)], signer: &mut SigningKeys| {
        cosigned(pinned.successor(listed(sets)).unwrap(), &mut [signer], &mut issuer.rng)
    };
    let Issuer { a, b, c, .. } = &Issuer::new();
    let forgotten = by(&again, &[active(b)], &mut issuer.b);
    let reprieved = by(&again, &[active(b), (a, FOR_EVER)], &mut issuer.b);
    let left = by(&second, &[active(b)], &mut issuer.b);
    let returned = by(&left, &[active(b), (a, RETIRED)], &mut issuer.b);
    let uncosigned = by(&first, &[active(a), (c, FOR_EVER)], &mut issuer.a);
    let never = by(&first, &[active(a), (c, REVOKED)], &mut issuer.a);
    vec![
        ("the next version", first.clone(), second.clone(), "accepted"),
        ("the version after it", second.clone(), third.clone(), "accepted"),
        ("the pinned version itself", second.clone(), second.clone(), "accepted"),
        ("a skipped version", first.clone(), third.clone(), "skipped"),
        ("a rollback", second.clone(), first.clone(), "rollback"),
        ("another version 2", second.clone(), again.clone(), "fork"),
        ("a version after another one", second.clone(), after_again, "other-previous"),
        ("another issuer", elsewhere, second.clone(), "issuer"),
        ("no cosignature", first.clone(), with(&second, &[]), "not-cosigned-by-old"),
        ("no cosignature of the old keys", first.clone(), with(&second, &[by_b]), "not-cosigned-by-old"),
        ("no cosignature of the new keys", first.clone(), with(&second, &[by_a]), "not-cosigned-by-new"),
        ("swapped cosignatures", first.clone(), with(&second, &[&b_as_a, &a_as_b]), "signature"),
        ("the old keys in place of the new", first.clone(), with(&second, &[by_a, &a_as_b]), "signature"),
        ("the old keys twice", first.clone(), with(&second, &[by_a, by_a]), "unexpected-cosigner"),
        ("strange keys", first.clone(), with(&second, &[by_a, by_b, &by_c]), "unexpected-cosigner"),
        ("cosignatures of another version", first.clone(), with(&second, &third_by), "signature"),
        ("an active key set dropped", first.clone(), vanished, "vanished"),
        ("a retired key set trusted for longer", second.clone(), revived, "resurrected"),
        ("a second active key set", first.clone(), joined.clone(), "accepted"),
        ("one of two active key sets replaced", joined.clone(), one_of_two, "accepted"),
        ("one of two replaced without the new one", joined, alone, "not-cosigned-by-new"),
        ("a revoked key set dropped", again.clone(), forgotten, "vanished"),
        ("a revoked key set retired for ever", again, reprieved, "resurrected"),
        ("a retired key set dropped", second, left.clone(), "accepted"),
        ("a dropped key set listed again", left, returned, "never-active"),
        ("a new key set that is retired for ever", first.clone(), uncosigned, "never-active"),
        ("a new key set that is revoked", first, never, "never-active"),
    ]
}

/// Claim S14: The next version of a trust root is signed by old and new keys, and seals of a revoked key set no longer verify. A revoked
/// set stays in every later version, and a set joins only as active, with its own cosignature. A node of a fleet changes its own keys
/// alone.
#[test]
fn every_broken_link_is_refused_and_named() {
    for (name, pinned, next, expect) in cases() {
        let decided = pinned.accept(&next);
        let code = decided.as_ref().map_or_else(UpdateError::code, |()| "accepted");
        assert_eq!(code, expect, "{name}: {decided:?}");
        assert_eq!(TrustRoot::decode(&next.encode()).unwrap(), next, "{name}");
        assert_eq!(TrustRoot::from_json(&next.to_json()).unwrap(), next, "{name}");
    }
}

#[test]
fn each_family_of_each_cosigner_is_required() {
    let mut issuer = Issuer::new();
    let first = issuer.first();
    let second = issuer.second(&first);
    for cosigner in 0..2 {
        for family in Family::ALL {
            let mut cosignatures = second.cosignatures().to_vec();
            let id = cosignatures[cosigner].key_set_id;
            cosignatures[cosigner].signatures[family.index()][100] ^= 1;
            let altered = second.clone().with_cosignatures(cosignatures).unwrap();
            assert_eq!(first.accept(&altered), Err(UpdateError::Signature { id, family }));
        }
    }
}

#[test]
fn a_revocation_needs_no_new_keys() {
    let mut issuer = Issuer::new();
    let first = TrustRoot::new(
        ISSUER,
        listed(&[(&issuer.a, KeySetStatus::Active), (&issuer.b, KeySetStatus::Active)]),
    );
    let first = first.unwrap();
    let sets = listed(&[(&issuer.a, KeySetStatus::Active), (&issuer.b, REVOKED)]);
    let next = cosigned(first.successor(sets).unwrap(), &mut [&mut issuer.a], &mut issuer.rng);
    assert_eq!(first.accept(&next), Ok(()));
    let back = listed(&[(&issuer.a, KeySetStatus::Active), (&issuer.b, KeySetStatus::Active)]);
    let back = next.successor(back).unwrap();
    let back = cosigned(back, &mut [&mut issuer.a, &mut issuer.b], &mut issuer.rng);
    assert_eq!(next.accept(&back), Err(UpdateError::Resurrected(issuer.b.id())));
}

#[test]
fn shared_rotation_vectors_are_decided_as_stated() {
    if blesses("rotation") {
        let vectors = vectors();
        write_json("rotation.json", &vectors);
        write("trust-root-2.json", read_root(vectors["cases"][0]["next"].as_str().unwrap()).to_json());
    }
    let manifest = read_json("rotation.json");
    let cases = manifest["cases"].as_array().unwrap();
    assert!(cases.len() >= 27);
    for case in cases {
        let root = |field: &str| read_root(case[field].as_str().unwrap());
        let decided = root("pinned").accept(&root("next"));
        let code = decided.as_ref().map_or_else(UpdateError::code, |()| "accepted");
        assert_eq!(code, case["expect"], "{}", case["name"]);
    }
}

/// Writes each trust root once, by its number, and names it in the cases.
fn vectors() -> Value {
    let mut written: Vec<Vec<u8>> = Vec::new();
    let mut file = |root: &TrustRoot| {
        let bytes = root.encode();
        let number = written.iter().position(|other| *other == bytes).unwrap_or_else(|| {
            written.push(bytes.clone());
            written.len() - 1
        });
        let name = format!("rotation-{number}.cbor");
        write(&name, bytes);
        name
    };
    let cases: Vec<Value> = cases()
        .iter()
        .map(|(name, pinned, next, expect)| {
            json!({ "name": name, "pinned": file(pinned), "next": file(next), "expect": expect })
        })
        .collect();
    json!({ "format": "trefoil:rotation-vectors/1", "cases": cases })
}
