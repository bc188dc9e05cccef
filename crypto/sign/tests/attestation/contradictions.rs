//! Makes `testdata/contradictions.json` (with `TREFOIL_BLESS` set), or checks that its cases are the ones listed here: attestations that
//! all verify, and how each two are related.

use trefoil_attest::{Account, BatchId, SessionId, TenantId};

use serde_json::{Value, json};
use trefoil_attest::{
    Attestation, Decision, Evidence, ExpectedNonce, Policy, Relation, Seal, SealHeader, Statement, compare,
    compare_statements, statement_digest, tree::MerkleTree, verify_with_seal,
};
use trefoil_sign::SigningKeys;

use crate::fixture::{
    ISSUED_AT, ISSUER, NOT_AFTER, NOT_BEFORE, NOW, blesses, read_json, read_root, rng, statement, vaults,
    write_json,
};

const OTHER_ISSUER: &str = "https://other.example";

/// Statements by name; the first is what the others are compared with.
fn statements() -> Vec<(&'static str, Statement<'static>)> {
    let one = statement();
    let proof = one.proof.expect("set");
    let later = ISSUED_AT + 1;
    vec![
        ("match", one.clone()),
        (
            "denial",
            Statement {
                decision: Decision::NoMatch,
                batch_id: BatchId::new([7; 16]),
                place: 0,
                ..one.clone()
            },
        ),
        (
            "again",
            Statement {
                batch_id: BatchId::new([8; 16]),
                issued_at: later,
                expires_at: later + 60,
                ..one.clone()
            },
        ),
        ("newer policy", Statement { batch_id: BatchId::new([8; 16]), policy_version: 4, ..one.clone() }),
        (
            "another request",
            Statement { request_digest: [5; 32], decision: Decision::NoMatch, ..one.clone() },
        ),
        ("another login", Statement { request_digest: [6; 32], nonce: &[9; 32], ..one.clone() }),
        ("another account", Statement { account: Account::new([9; 32]), ..one.clone() }),
        (
            "another session",
            Statement {
                proof: Some(trefoil_attest::Proof { session: SessionId::new([9; 32]), ..proof }),
                ..one.clone()
            },
        ),
        ("no proof", Statement { proof: None, ..one.clone() }),
        ("another tenant", Statement { tenant: TenantId::new([9; 16]), ..one.clone() }),
        ("another audience", Statement { audience: "https://mall.example", ..one.clone() }),
        ("another nonce", Statement { nonce: &[9; 32], ..one.clone() }),
        (
            "denial of another account",
            Statement { decision: Decision::NoMatch, account: Account::new([9; 32]), ..one.clone() },
        ),
        ("another issuer", Statement { issuer: OTHER_ISSUER, decision: Decision::NoMatch, ..one }),
    ]
}

/// Names of two statements and the code of their relation.
const PAIRS: [(&str, &str, &str); 16] = [
    ("match", "match", "same"),
    ("match", "again", "repeated"),
    ("match", "newer policy", "repeated"),
    ("match", "another request", "unrelated"),
    ("match", "another login", "unrelated"),
    ("match", "another issuer", "unrelated"),
    ("denial", "another request", "unrelated"),
    ("match", "denial", "contradiction-decision"),
    ("again", "denial", "contradiction-decision"),
    ("match", "denial of another account", "contradiction-decision"),
    ("match", "another account", "contradiction-account"),
    ("match", "another session", "contradiction-session"),
    ("match", "no proof", "contradiction-session"),
    ("match", "another tenant", "contradiction-tenant"),
    ("match", "another audience", "contradiction-audience"),
    ("match", "another nonce", "contradiction-nonce"),
];

/// Seals the statements of each issuer in one tree.
fn make() -> Value {
    let mut rng = rng();
    let mut keys = SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut rng).unwrap();
    let (mut attestations, mut seals) = (serde_json::Map::new(), Vec::new());
    for (number, issuer, trust_root) in
        [(18, ISSUER, "trust-root.json"), (19, OTHER_ISSUER, "trust-root-other-issuer.json")]
    {
        let encoded: Vec<_> = statements()
            .into_iter()
            .filter(|(_, statement)| statement.issuer == issuer)
            .map(|(name, statement)| (name, statement.encode().unwrap()))
            .collect();
        let entries: Vec<[u8; 32]> = encoded.iter().map(|(_, bytes)| statement_digest(bytes)).collect();
        let tree = MerkleTree::new(&entries).unwrap();
        let header = SealHeader {
            issuer: issuer.to_owned(),
            key_set_id: keys.id(),
            seal_number: number,
            previous: [8; 32],
            log_root: [9; 32],
            tree_size: tree.size(),
            root: tree.root(),
            time: ISSUED_AT + 2,
            suite: statement().suite,
            vaults: vaults(),
            restored: None,
        };
        let seal = keys.sign_seal(header, &mut rng).unwrap();
        for (leaf_index, (name, statement)) in (0..).zip(&encoded) {
            let attestation = Attestation {
                statement,
                leaf_index,
                tree_size: tree.size(),
                path: tree.path(leaf_index).unwrap(),
                evidence: Evidence::Compact(seal.reference()),
                device: None,
            };
            let bytes = hex::encode(attestation.encode());
            attestations.insert(
                (*name).to_owned(),
                json!({ "bytes": bytes, "seal": seals.len(), "trust_root": trust_root }),
            );
        }
        seals.push(hex::encode(seal.encode()));
    }
    let pairs: Vec<Value> = PAIRS
        .iter()
        .map(|(one, other, expect)| json!({ "one": one, "other": other, "expect": expect }))
        .collect();
    json!({
        "format": "trefoil:contradiction-vectors/1", "now": NOW, "seals": seals, "attestations": attestations, "pairs": pairs,
    })
}

/// Claim S9: Two attestations that give one request two decisions, accounts, sessions, tenants, audiences or nonces are evidence, in every
/// verifier. An attestation that does not verify is no evidence.
#[test]
fn contradictions_are_decided_as_stated_and_their_vectors_belong_together() {
    if blesses("contradictions") {
        write_json("contradictions.json", &make());
    }
    let vectors = read_json("contradictions.json");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let bytes = |value: &Value| hex::decode(text(value)).unwrap();
    let seals: Vec<Seal> =
        vectors["seals"].as_array().unwrap().iter().map(|seal| Seal::decode(&bytes(seal)).unwrap()).collect();
    let encoded: Vec<_> = statements()
        .into_iter()
        .map(|(name, statement)| {
            let case = &vectors["attestations"][name];
            let seal = &seals[case["seal"].as_u64().unwrap() as usize];
            (name, statement, bytes(&case["bytes"]), seal, read_root(&text(&case["trust_root"])))
        })
        .collect();
    let verified = |name: &str| {
        let (_, statement, bytes, seal, root) = encoded.iter().find(|(other, ..)| *other == name).unwrap();
        let policy = Policy::new(root.clone(), statement.audience, ExpectedNonce::DangerousAny)
            .any_decision()
            .accept_no_proof();
        let verified = verify_with_seal(bytes, seal, &policy, NOW).unwrap();
        assert_eq!(verified.statement(), statement, "{name}");
        verified
    };
    for (one, other, expect) in PAIRS {
        let (one, other) = (verified(one), verified(other));
        assert_eq!(compare(&one, &other).code(), expect);
        assert_eq!(compare(&other, &one).code(), expect, "in any order");
        assert_eq!(compare_statements(other.statement(), one.statement()).code(), expect);
        assert_eq!(compare(&one, &other).is_contradiction(), expect.starts_with("contradiction"));
    }
    let listed: Vec<_> = vectors["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (text(&pair["one"]), text(&pair["other"]), text(&pair["expect"])))
        .collect();
    assert_eq!(
        listed,
        PAIRS.map(|(one, other, expect)| (one.to_owned(), other.to_owned(), expect.to_owned()))
    );
    for relation in Relation::ALL {
        assert!(PAIRS.iter().any(|(.., expect)| *expect == relation.code()), "{relation}");
    }
}
