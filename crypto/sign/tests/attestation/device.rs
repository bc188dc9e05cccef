//! The device's signature: who can make an attestation that a relying party with a pinned account key accepts; and successions.

use aws_lc_rs::signature::{KeyPair as _, ML_DSA_44, ML_DSA_44_SIGNING, PqdsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use trefoil_attest::{
    Account, Attestation, Decision, DeviceSignature, DeviceStatement, ExpectedNonce, Policy, Proof,
    SessionId, Statement, Succession, TenantId, VerifyError, account_key_id, join, succession_to_be_signed,
    verify, verify_change, verify_succession, verify_with_seal,
};

use crate::fixture::{AUDIENCE, AccountKey, Issued, NOW, blesses, edited, read_json, statement, write_json};

/// The nonce of a login that the relying party waits for now; [`statement`] has that of an earlier one.
const FRESH: [u8; 32] = [0x46; 32];

/// Keys of the person and of another, who may be the service.
fn keys() -> (AccountKey, AccountKey) {
    (AccountKey::new(1), AccountKey::new(2))
}

/// What the relying party waits for.
fn wanted() -> Statement<'static> {
    Statement { nonce: &FRESH, ..statement() }
}

/// What the service states under a good seal, what it joins, and why that is refused.
fn forged() -> Vec<(&'static str, Statement<'static>, Option<DeviceSignature>, &'static str)> {
    let (key, other) = keys();
    let wanted = wanted();
    let elsewhere =
        Statement { audience: "https://mall.example", account: Account::new([7; 32]), ..wanted.clone() };
    let under_pin = |by: DeviceSignature| DeviceSignature { public_key: key.public.clone(), ..by };
    let unproven = Statement { proof: None, ..wanted.clone() };
    let mut forged = vec![
        ("nothing is joined", wanted.clone(), None, "no-device-signature"),
        ("of the earlier login", wanted.clone(), Some(key.of(&statement())), "device-signature"),
        ("of a login with this nonce elsewhere", wanted.clone(), Some(other.of(&elsewhere)), "account-key"),
        (
            "the same under the pinned key",
            wanted.clone(),
            Some(under_pin(other.of(&elsewhere))),
            "device-signature",
        ),
        ("a key that the service made", wanted.clone(), Some(other.of(&wanted)), "account-key"),
        (
            "the same under the pinned key",
            wanted.clone(),
            Some(under_pin(other.of(&wanted))),
            "device-signature",
        ),
        ("no proof", unproven.clone(), Some(key.of(&wanted)), "no-proof"),
        ("neither", unproven, None, "no-proof"),
    ];
    let proven = |change: fn(&mut Proof)| {
        let mut proof = wanted.proof.unwrap();
        change(&mut proof);
        Statement { proof: Some(proof), ..wanted.clone() }
    };
    let altered = [
        ("another person's request", Statement { request_digest: [9; 32], ..wanted.clone() }),
        ("another account", Statement { account: Account::new([9; 32]), ..wanted.clone() }),
        ("another tenant", Statement { tenant: TenantId::new([9; 16]), ..wanted.clone() }),
        ("another session", proven(|proof| proof.session = SessionId::new([9; 32]))),
        ("a higher level", proven(|proof| proof.level = 9)),
        ("an ended session in a later hour", proven(|proof| proof.epoch += 1)),
        ("another root", proven(|proof| proof.root = [9; 32])),
        ("another circuit", proven(|proof| proof.circuit = 4)),
    ];
    let signed = || Some(key.of(&wanted));
    forged.extend(altered.map(|(name, altered)| (name, altered, signed(), "device-signature")));
    forged
}

/// Claim S22: A service that has all its signing keys, and every request and signature that devices ever sent it, makes no attestation that a relying
/// party with a pinned account key accepts for a nonce for which the person's device did not sign.
#[test]
fn a_service_with_all_its_keys_cannot_log_a_person_in() {
    let (key, _) = keys();
    let decided = |statement: &Statement<'_>, device: Option<DeviceSignature>| {
        let issued = Issued::with(statement, |header| header);
        let policy = Policy::new(issued.trust_root(), AUDIENCE, ExpectedNonce::Exactly(FRESH.to_vec()))
            .accept_no_proof()
            .account_key(key.id());
        let joined =
            |bytes: Vec<u8>| device.as_ref().map_or(bytes.clone(), |device| join(&bytes, device).unwrap());
        let full = verify(&joined(issued.full()), &policy, NOW).map(|verified| verified.device());
        let compact = joined(issued.compact());
        let compact = verify_with_seal(&compact, &issued.seal, &policy, NOW);
        assert_eq!(full, compact.map(|verified| verified.device()));
        full
    };
    for (name, statement, device, code) in forged() {
        assert_eq!(decided(&statement, device).map_err(|cause| cause.code()), Err(code), "{name}");
    }
    // The device takes part. It does not sign the answer: that a face matched is the service's word.
    let wanted = wanted();
    assert_eq!(decided(&wanted, Some(key.of(&wanted))), Ok(Some(key.id())));
    let worse = Statement { fmr_class: 1, policy_version: 1, template_generation: 1, ..wanted.clone() };
    assert_eq!(decided(&worse, Some(key.of(&wanted))), Ok(Some(key.id())));
}

#[test]
fn without_a_pin_a_device_signature_names_its_key_or_is_refused() {
    let (issued, key) = (Issued::new(), AccountKey::new(1));
    let (full, policy) = (issued.full(), issued.policy());
    assert_eq!(verify(&full, &policy, NOW).unwrap().device(), None);
    let joined = join(&full, &key.of(&statement())).unwrap();
    assert_eq!(verify(&joined, &policy, NOW).unwrap().device(), Some(key.id()));
    let wrong = join(&full, &key.sign(b"something else")).unwrap();
    assert_eq!(verify(&wrong, &policy, NOW).unwrap_err(), VerifyError::DeviceSignature);
    // Joined again, the later signature stands.
    assert_eq!(join(&wrong, &key.of(&statement())).unwrap(), joined);
    assert!(join(&full[1..], &key.of(&statement())).is_err());
    // A seal that is given vouches for the statement, never for the device.
    let verified = verify_with_seal(&wrong, &issued.seal, &policy, NOW);
    assert_eq!(verified.unwrap_err(), VerifyError::DeviceSignature);
    assert_eq!(Attestation::decode(&joined).unwrap().encode(), joined);
    let denied = Statement { decision: Decision::NoMatch, ..statement() };
    assert_eq!(DeviceStatement::of(&denied), DeviceStatement::of(&statement()));
    let receipt = join(&crate::fixture::read("change-full.cbor"), &key.sign(b"a receipt")).unwrap();
    let refused = verify_change(&receipt, &issued.trust_root(), None, NOW).unwrap_err();
    assert_eq!(refused, VerifyError::DeviceSignature);
}

/// A person moves from one wallet to another.
struct Moved {
    old: AccountKey,
    new: AccountKey,
    accounts: [Account; 2],
}

impl Moved {
    fn new() -> Self {
        let accounts = [Account::new([2; 32]), Account::new([0x12; 32])];
        Self { old: AccountKey::new(0x21), new: AccountKey::new(0x23), accounts }
    }

    fn succession(&self) -> Succession<'static> {
        let tenant = TenantId::new([1; 16]);
        let keys = [self.old.id(), self.new.id()];
        let message = succession_to_be_signed(&tenant, AUDIENCE, &self.accounts, &keys);
        let signatures = [self.old.sign(&message), self.new.sign(&message)];
        Succession { tenant, audience: AUDIENCE, accounts: self.accounts, signatures }
    }
}

/// Claim S23: An account passes to another account and key only with the signatures of both keys over all of it.
#[test]
fn every_byte_of_a_succession_matters() {
    let moved = Moved::new();
    let (old, new) = (moved.accounts[0], (moved.accounts[1], moved.new.id()));
    let succession = moved.succession();
    let bytes = succession.encode();
    assert_eq!(Succession::decode(&bytes).unwrap(), succession);
    assert_eq!(verify_succession(&bytes, old, moved.old.id()), Ok(new));
    assert_eq!(verify_succession(&bytes, new.0, moved.old.id()), Err(VerifyError::Account));
    let other = verify_succession(&bytes, old, moved.new.id());
    assert_eq!(other, Err(VerifyError::AccountKey(moved.old.id())));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(verify_succession(&changed, old, moved.old.id()).is_err(), "byte {at}");
        assert!(Succession::decode(&bytes[..at]).is_err(), "{at} bytes");
    }
    assert!(Succession::decode(&[&bytes[..], &[0]].concat()).is_err());
    // Neither key alone, nor the signatures of logins.
    for missing in 0..2 {
        let mut alone = succession.clone();
        alone.signatures[missing].signature = alone.signatures[1 - missing].signature.clone();
        let refused = verify_succession(&alone.encode(), old, moved.old.id());
        assert_eq!(refused, Err(VerifyError::DeviceSignature));
    }
    let signatures = [moved.old.of(&statement()), moved.new.of(&statement())];
    let of_logins = Succession { signatures, ..succession };
    assert_eq!(
        verify_succession(&of_logins.encode(), old, moved.old.id()),
        Err(VerifyError::DeviceSignature)
    );
}

/// Bytes that other implementations must compute, and successions that they must decide.
fn known_answers() -> Value {
    let key = |seed: u8| {
        let AccountKey { public, .. } = &AccountKey::new(seed);
        json!({"seed": hex::encode([seed; 32]), "public_key": hex::encode(&public[..]),
               "account_key": account_key_id(public).to_string()})
    };
    let long = "a".repeat(255);
    let statements = [
        statement(),
        Statement { nonce: &[0xff; 16], audience: "x", ..statement() },
        Statement { nonce: &[0; 64], audience: &long, ..statement() },
    ];
    let signed = statements.map(|statement| {
        let message = DeviceStatement::of(&statement).unwrap().to_be_signed();
        let signature = AccountKey::new(0x21).sign(&message).signature;
        json!({"statement": hex::encode(statement.encode().unwrap()), "signed": hex::encode(message),
               "seed": hex::encode([0x21; 32]), "signature": hex::encode(&signature[..])})
    });
    let moved = Moved::new();
    let bytes = moved.succession().encode();
    let case = |name: &str, edits: Value, key: &AccountKey, expect: &str| {
        json!({"name": name, "edits": edits, "account": moved.accounts[0].to_string(),
               "account_key": key.id().to_string(), "expect": expect})
    };
    let flipped = |at: usize| json!([{"at": at, "remove": 1, "insert": hex::encode([bytes[at] ^ 1])}]);
    let end = bytes.len();
    let find = |part: &[u8]| bytes.windows(part.len()).position(|window| window == part).unwrap();
    let cases = [
        case("a succession", json!([]), &moved.old, "verified"),
        case("of another key", json!([]), &moved.new, "account-key"),
        case("of another account", flipped(find(&[2; 32])), &moved.old, "account"),
        case("to another account", flipped(find(&[0x12; 32])), &moved.old, "device-signature"),
        case("for another audience", flipped(find(AUDIENCE.as_bytes())), &moved.old, "device-signature"),
        case("of another tenant", flipped(find(&[1; 16])), &moved.old, "device-signature"),
        case("the old key's signature", flipped(end - 3740), &moved.old, "device-signature"),
        case("the new key", flipped(end - 2500), &moved.old, "device-signature"),
        case("the new key's signature", flipped(end - 1), &moved.old, "device-signature"),
        case("another version", flipped(find(b"trefoil:succession/1") + 19), &moved.old, "malformed"),
        case("an array of eight", flipped(0), &moved.old, "malformed"),
        case("a byte too few", json!([{"at": end - 1, "remove": 1, "insert": ""}]), &moved.old, "malformed"),
        case("a byte too many", json!([{"at": end, "remove": 0, "insert": "00"}]), &moved.old, "malformed"),
    ];
    let message = succession_to_be_signed(
        &TenantId::new([1; 16]),
        AUDIENCE,
        &moved.accounts,
        &[moved.old.id(), moved.new.id()],
    );
    json!({
        "format": "trefoil:device-vectors/1",
        "keys": [key(0x21), key(0x22), key(0x23), key(0), key(0xff)],
        "signed": signed,
        "succession": {"bytes": hex::encode(&bytes), "signed": hex::encode(message),
                       "new_account": moved.accounts[1].to_string(), "new_account_key": moved.new.id().to_string()},
        "successions": cases,
    })
}

#[test]
fn known_answers_are_those_of_this_code_and_of_another_library() {
    let made = known_answers();
    if blesses("device") || blesses("bases") {
        write_json("device.json", &made);
    }
    assert!(read_json("device.json") == made, "device.json is out of date; set TREFOIL_BLESS=device");
    let bytes = |value: &Value| hex::decode(value.as_str().unwrap()).unwrap();
    for key in made["keys"].as_array().unwrap() {
        let other = PqdsaKeyPair::from_seed(&ML_DSA_44_SIGNING, &bytes(&key["seed"])).unwrap();
        assert_eq!(other.public_key().as_ref(), bytes(&key["public_key"]));
    }
    for one in made["signed"].as_array().unwrap() {
        let other = PqdsaKeyPair::from_seed(&ML_DSA_44_SIGNING, &bytes(&one["seed"])).unwrap();
        let public = UnparsedPublicKey::new(&ML_DSA_44, other.public_key());
        public.verify(&bytes(&one["signed"]), &bytes(&one["signature"])).unwrap();
    }
    let succession = bytes(&made["succession"]["bytes"]);
    for case in made["successions"].as_array().unwrap() {
        let of = |field: &str| case[field].as_str().unwrap();
        let bytes = edited(&succession, case["edits"].as_array().unwrap());
        let decided =
            verify_succession(&bytes, of("account").parse().unwrap(), of("account_key").parse().unwrap());
        let code = decided.as_ref().map_or_else(|cause| cause.code(), |_| "verified");
        assert_eq!(code, of("expect"), "{}", of("name"));
    }
}
