//! The crate against a second implementation: `testdata/reference.py` wrote the vectors.

use serde_json::Value;
use trefoil_attest::RequestHeader;
use trefoil_types::{AccountKeyId, Handle, SessionId, TenantId};
use trefoil_zkp::{
    Attributes, Circuit, CredentialTree, DEPTH, Digest, MerklePath, Secret, SessionClaim, Statement, Witness,
    account, commitment, handle, leaf, prove, scope,
    session::{SessionKey, request_mac},
    verify,
};

#[test]
fn the_empty_tree_has_the_reference_root() {
    assert_eq!(CredentialTree::new().root(), digest(&vectors()["empty_tree_root"]));
}

/// Claim P9: A second implementation computes the same hashes, trees and statements.
#[test]
fn hashes_trees_and_statements_agree_with_the_reference() {
    let vectors = vectors();
    let members = vectors["members"].as_array().expect("members");
    assert!(members.len() >= 3, "the vector file has lost its cases");
    for member in members {
        let session_key = SessionKey::from_bytes(bytes(&member["session_key"]));
        let witness = witness(member);
        assert_eq!(commitment(&witness.secret), digest(&member["commitment"]));
        let own_leaf = leaf(&commitment(&witness.secret), &witness.attributes);
        assert_eq!(own_leaf, digest(&member["leaf"]));

        let tree = tree(member, own_leaf);
        assert_eq!(tree.root(), digest(&member["root"]));
        assert_eq!(tree.path(witness.index), Ok(witness.path.clone()));
        assert_eq!(witness.path.root(witness.index, &own_leaf), tree.root());

        let (tenant, audience) = (bytes(&member["tenant"]), text(&member["audience"]));
        let own = scope(&TenantId::new(tenant), audience);
        assert_eq!(own, digest(&member["scope"]));
        assert_eq!(account(&witness.secret, &own), digest(&member["account"]));
        for elsewhere in member["accounts_elsewhere"].as_array().expect("accounts") {
            let scope = scope(&TenantId::new(bytes(&elsewhere["tenant"])), text(&elsewhere["audience"]));
            assert_eq!(account(&witness.secret, &scope), digest(&elsewhere["account"]));
            assert_ne!(elsewhere["account"], member["account"]);
        }
        assert_eq!(handle(&witness.secret, &TenantId::new(tenant)), digest(&member["handle"]));

        let seed = witness.secret.account_key_seed(&TenantId::new(tenant), audience);
        assert_eq!(*seed, bytes(&member["account_key_seed"]));
        assert_eq!(session_key.commitment(), bytes(&member["key_commitment"]));
        let statement = statement(member, &witness, &session_key);
        assert_eq!(statement.ctx, bytes(&member["ctx"]));
        assert_eq!(hex::encode(statement.encode()), text(&member["statement"]));
        assert_eq!(statement.digest(), bytes(&member["statement_digest"]));
        assert_eq!(Statement::decode(&statement.encode()).as_ref(), Ok(&statement));

        let header = RequestHeader {
            session_id: SessionId::new(statement.digest()),
            handle: Handle::new(statement.handle.to_bytes()),
            audience,
            nonce: &hex::decode(text(&member["nonce"])).expect("hex"),
            issued_at: member["issued_at"].as_u64().expect("number"),
            probe_digest: &bytes(&member["probe_digest"]),
        };
        assert_eq!(request_mac(&session_key, &header), bytes(&member["request_mac"]));
    }
}

/// The circuit's own idea of the hashes: a proof of the reference's statement can be made and verifies.
#[test]
fn the_circuit_proves_the_reference_statements() {
    for member in vectors()["members"].as_array().expect("members") {
        let session_key = SessionKey::from_bytes(bytes(&member["session_key"]));
        let witness = witness(member);
        let statement = statement(member, &witness, &session_key);
        let proof = prove(&witness, &statement, &mut rand::rng()).expect("the reference's member is valid");
        verify(&statement, &proof).expect("an honest proof");
    }
}

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../testdata/vectors.json")).expect("vectors.json is JSON")
}

fn witness(member: &Value) -> Witness {
    let siblings: Vec<Digest> = member["path"].as_array().expect("path").iter().map(digest).collect();
    let siblings: [Digest; DEPTH] = siblings.try_into().expect("20 siblings");
    Witness {
        secret: Secret::from_bytes(&bytes(&member["secret"])).expect("canonical"),
        attributes: Attributes::from_bytes(&bytes(&member["attributes"])).expect("in range"),
        index: number(&member["index"]),
        path: MerklePath::new(siblings),
    }
}

fn tree(member: &Value, own_leaf: Digest) -> CredentialTree {
    let mut tree = CredentialTree::new();
    for (index, leaf) in member["other_leaves"].as_object().expect("leaves") {
        tree.update(index.parse().expect("an index"), digest(leaf)).expect("in the tree");
    }
    tree.update(number(&member["index"]), own_leaf).expect("in the tree");
    tree
}

fn statement(member: &Value, witness: &Witness, session_key: &SessionKey) -> Statement {
    witness.statement(&claim(member, &session_key.commitment()))
}

fn claim<'a>(member: &'a Value, key_commitment: &'a [u8; 32]) -> SessionClaim<'a> {
    SessionClaim {
        circuit: Circuit::Cred2,
        tenant: TenantId::new(bytes(&member["tenant"])),
        audience: text(&member["audience"]),
        root_generation: number(&member["root_generation"]),
        epoch: number(&member["epoch"]),
        level: u8::try_from(number(&member["required_level"])).expect("a level"),
        policy_id: number(&member["policy_id"]),
        key_commitment,
        account_key: AccountKeyId::new(bytes(&member["account_key"])),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a u32")
}

fn bytes<const N: usize>(value: &Value) -> [u8; N] {
    hex::decode(text(value)).expect("hex").try_into().expect("the right length")
}

fn digest(value: &Value) -> Digest {
    Digest::from_bytes(&bytes(value)).expect("canonical")
}
