//! What every input must satisfy. The fuzzer calls this, and so does `tests/mutations.rs` of trefoil-attest with the
//! seeds and deterministic mutants of them, on the stable compiler.

use serde_json::Value;
use trefoil_attest::{Attestation, Nonce, Policy, Seal, Statement, TrustRoot, verify, verify_with_seal};

/// The honest encodings, from the vectors that all clients share: a full attestation, the compact form of it, a
/// compact one with a reveal, its seal.
const SEEDS: [&[u8]; 4] = [
    include_bytes!("../../testdata/full.cbor"),
    include_bytes!("../../testdata/compact.cbor"),
    include_bytes!("../../testdata/revealing.cbor"),
    include_bytes!("../../testdata/seal.cbor"),
];
const CASES: &str = include_str!("../../testdata/cases.json");
const TRUST_ROOT: &str = include_str!("../../testdata/trust-root.json");

/// What inputs are tried on.
pub struct Target {
    /// Honest inputs: [`SEEDS`] and the statement of the first.
    pub seeds: Vec<Vec<u8>>,
    seal: Seal,
    policy: Policy,
    now: u64,
}

impl Target {
    /// The vectors' seal, and the policy that accepts them.
    #[must_use]
    pub fn new() -> Self {
        let cases: Value = serde_json::from_str(CASES).expect("cases.json");
        let text = |name: &str| cases[name].as_str().expect("text").to_owned();
        let root = TrustRoot::from_json(TRUST_ROOT).expect("a trust root");
        let nonce = Nonce::Exactly(hex::decode(text("nonce")).expect("hexadecimal"));
        let mut seeds = SEEDS.map(<[u8]>::to_vec).to_vec();
        seeds.push(Attestation::decode(SEEDS[0]).expect("an attestation").statement.to_vec());
        Self {
            seeds,
            seal: Seal::decode(SEEDS[3]).expect("a seal"),
            policy: Policy::new(root, text("audience"), nonce),
            now: cases["now"].as_u64().expect("a number"),
        }
    }

    /// Tries one input on every decoder and on verification. Returns whether any decoder took it.
    ///
    /// # Panics
    /// Where something but an honest input verifies, or an input that decodes has another encoding.
    pub fn execute(&self, bytes: &[u8]) -> bool {
        let honest = self.seeds.iter().any(|seed| seed == bytes);
        let verified = verify(bytes, &self.policy, self.now);
        assert!(honest || verified.is_err(), "a forgery verifies: {}", hex::encode(bytes));
        // With the seal given, signatures inside a full attestation are not looked at; all else is.
        if verify_with_seal(bytes, &self.seal, &self.policy, self.now).is_ok() {
            let signed = |bytes| {
                let Attestation { statement, leaf_index, tree_size, path, evidence: _ } =
                    Attestation::decode(bytes).expect("what verifies decodes");
                (statement, leaf_index, tree_size, path)
            };
            let known = self.seeds[..3].iter().any(|seed| signed(seed) == signed(bytes));
            assert!(known, "a forgery verifies with the seal: {}", hex::encode(bytes));
        }
        let attestation = Attestation::decode(bytes);
        let statement = Statement::decode(bytes);
        let seal = Seal::decode(bytes);
        if let Ok(attestation) = &attestation {
            assert!(attestation.encode() == bytes, "not canonical: {}", hex::encode(bytes));
        }
        if let Ok(statement) = &statement {
            let encoded = statement.encode().expect("what decodes can be encoded");
            assert!(encoded == bytes, "not canonical: {}", hex::encode(bytes));
        }
        if let Ok(seal) = &seal {
            assert!(seal.encode() == bytes, "not canonical: {}", hex::encode(bytes));
        }
        attestation.is_ok() || statement.is_ok() || seal.is_ok()
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::new()
    }
}
