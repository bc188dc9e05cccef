//! What every input must satisfy. The fuzzer calls this, and so does `tests/it/mutations.rs` of trefoil-attest with the
//! seeds and deterministic mutants of them, on the stable compiler.

use serde_json::Value;
use trefoil_attest::witness::{Checkpoint, Witness};
use trefoil_attest::{
    Attestation, Change, Cosignature, ExpectedNonce, Policy, PrunedSeal, PublicKeySet, Seal, SealHeader,
    Statement, Succession, TrustRoot, account_key_id, verify, verify_pruned_seal, verify_seal,
    verify_succession, verify_with_seal,
};

/// The honest attestations, from the vectors that all clients share: a full one and the compact form of it.
const ATTESTATIONS: [&[u8]; 2] =
    [include_bytes!("../../testdata/full.cbor"), include_bytes!("../../testdata/compact.cbor")];
/// The full one with a device's signature.
const DEVICE: &[u8] = include_bytes!("../../testdata/device.cbor");
/// A succession of two account keys.
const DEVICES: &str = include_str!("../../testdata/device.json");
const SEAL: &[u8] = include_bytes!("../../testdata/seal.cbor");
/// Of the honest receipts.
const CHANGES_SEAL: &[u8] = include_bytes!("../../testdata/changes-seal.cbor");
/// Their receipts.
const CHANGES: &str = include_str!("../../testdata/changes.json");
const CASES: &str = include_str!("../../testdata/cases.json");
const TRUST_ROOT: &str = include_str!("../../testdata/trust-root.json");
/// Of an issuer that has one version only.
const PINNED: &str = include_str!("../../testdata/trust-root-other-issuer.json");
/// The same keys with another status.
const RETIRED: &str = include_str!("../../testdata/trust-root-retired.json");
/// A note with lines of two witnesses, and the first of them.
const NOTE: &str = include_str!("../../testdata/checkpoint.txt");
const WITNESS: &str = include_str!("../../testdata/witness.txt");

/// Longest input that is an edit, and most bytes that one replaces: more would mostly cross from field to field.
const EDIT_BYTES_MAX: usize = 64;
const REPLACED_MAX: usize = 8;

/// What an input can be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `Attestation::decode`.
    Attestation,
    /// The same, of the full attestation with the input as an edit of it.
    Edited,
    /// `Statement::decode`.
    Statement,
    /// `Change::decode`.
    Change,
    /// `Seal::decode`.
    Seal,
    /// `SealHeader::decode`.
    Header,
    /// `PrunedSeal::decode`.
    Pruned,
    /// `Succession::decode`.
    Succession,
    /// `PublicKeySet::decode`.
    KeySet,
    /// `TrustRoot::decode`.
    TrustRoot,
    /// `TrustRoot::from_json`.
    TrustRootText,
    /// `Checkpoint::verify`.
    Checkpoint,
    /// `Witness::parse`.
    Witness,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Attestation,
        Self::Edited,
        Self::Statement,
        Self::Change,
        Self::Seal,
        Self::Header,
        Self::Pruned,
        Self::Succession,
        Self::KeySet,
        Self::TrustRoot,
        Self::TrustRootText,
        Self::Checkpoint,
        Self::Witness,
    ];
}

/// What inputs are tried on.
pub struct Target {
    /// Honest inputs of every form, and a next version of a trust root with signatures that are none of it.
    pub seeds: Vec<Vec<u8>>,
    seal: Seal,
    changes_seal: Seal,
    trusted: TrustRoot,
    policy: Policy,
    now: u64,
    /// The bytes of the full attestation outside its signatures, where edits go.
    structure: Vec<usize>,
    pinned: TrustRoot,
    witness: Witness,
    /// The head in the note and when the witness saw it.
    seen: (Checkpoint, u64),
}

impl Target {
    /// The vectors' seal, and the policy that accepts them.
    #[must_use]
    pub fn new() -> Self {
        let cases: Value = serde_json::from_str(CASES).expect("cases.json");
        let text = |name: &str| cases[name].as_str().expect("text").to_owned();
        let trusted = TrustRoot::from_json(TRUST_ROOT).expect("a trust root");
        let pinned = TrustRoot::from_json(PINNED).expect("a trust root");
        let nonce = ExpectedNonce::Exactly(hex::decode(text("nonce")).expect("hexadecimal"));
        let seal = Seal::decode(SEAL).expect("a seal");
        let witness = Witness::parse(WITNESS).expect("a witness");
        let known = std::slice::from_ref(&witness);
        let (head, cosigned) = Checkpoint::verify(NOTE, known, 1).expect("a note");
        Self {
            seeds: seeds(&seal, &pinned),
            structure: structure(&seal),
            seal,
            changes_seal: Seal::decode(CHANGES_SEAL).expect("a seal"),
            policy: Policy::new(trusted.clone(), text("audience"), nonce),
            trusted,
            now: cases["now"].as_u64().expect("a number"),
            pinned,
            seen: (head, cosigned[0].time),
            witness,
        }
    }

    /// Tries one input on every decoder and on verification. Returns the forms that took it.
    ///
    /// # Panics
    /// Where something but an honest input verifies, or an input that decodes has another encoding.
    pub fn execute(&self, bytes: &[u8]) -> Vec<Form> {
        let mut taken = Vec::new();
        let mut note = |form, took| {
            if took {
                taken.push(form);
            }
        };
        note(Form::Attestation, self.attestation(bytes));
        note(Form::Edited, self.edited(bytes).is_some_and(|bytes| self.attestation(&bytes)));
        note(Form::Statement, statement(bytes));
        note(Form::Change, change(bytes));
        note(Form::Seal, self.seal(bytes));
        note(Form::Header, header(bytes));
        note(Form::Pruned, self.pruned(bytes));
        note(Form::Succession, succession(bytes));
        note(Form::KeySet, key_set(bytes));
        note(Form::TrustRoot, self.trust_root(bytes));
        if let Ok(text) = str::from_utf8(bytes) {
            note(Form::TrustRootText, self.trust_root_text(text));
            note(Form::Checkpoint, self.checkpoint(text));
            note(Form::Witness, witness(text));
        }
        taken
    }

    /// The full attestation with a short input as an edit: where, how many bytes are replaced, and by what. Few mutants
    /// of 22 KB decode, and a fuzzer makes its inputs shorter; so each short one is a full one besides.
    fn edited(&self, input: &[u8]) -> Option<Vec<u8>> {
        let (&[high, low, count], by) = input.split_first_chunk()?;
        let by = &by[..by.len().min(1 + usize::from(count) % REPLACED_MAX)];
        let at = self.structure[usize::from(u16::from_be_bytes([high, low])) % self.structure.len()];
        let mut bytes = ATTESTATIONS[0].to_vec();
        bytes.get_mut(at..at + by.len())?.copy_from_slice(by);
        (input.len() <= EDIT_BYTES_MAX).then_some(bytes)
    }

    fn attestation(&self, bytes: &[u8]) -> bool {
        let verified = verify(bytes, &self.policy, self.now);
        assert!(
            [ATTESTATIONS[0], DEVICE].contains(&bytes) || verified.is_err(),
            "a forgery verifies: {}",
            hex::encode(bytes)
        );
        // With the seal given, signatures inside a full attestation are not looked at; all else is.
        if verify_with_seal(bytes, &self.seal, &self.policy, self.now).is_ok() {
            let signed = |bytes| {
                let Attestation { statement, leaf_index, tree_size, path, evidence: _, device: _ } =
                    Attestation::decode(bytes).expect("what verifies decodes");
                (statement, leaf_index, tree_size, path)
            };
            let known = ATTESTATIONS.into_iter().any(|honest| signed(honest) == signed(bytes));
            assert!(known, "a forgery verifies with the seal: {}", hex::encode(bytes));
        }
        canonical(bytes, Attestation::decode(bytes), Attestation::encode).is_some()
    }

    fn seal(&self, bytes: &[u8]) -> bool {
        let Some(seal) = canonical(bytes, Seal::decode(bytes), Seal::encode) else { return false };
        let honest = [&self.seal, &self.changes_seal].map(|honest| &honest.header);
        let forged = !honest.contains(&&seal.header) && verify_seal(&seal, &self.trusted).is_ok();
        assert!(!forged, "a forged seal verifies: {}", hex::encode(bytes));
        true
    }

    /// The vectors have no seal whose log holds another, so no pruned seal verifies.
    fn pruned(&self, bytes: &[u8]) -> bool {
        let pruned = canonical(bytes, PrunedSeal::decode(bytes), PrunedSeal::encode);
        let Some(pruned) = pruned else { return false };
        let forged = verify_pruned_seal(&pruned, &self.trusted).is_ok();
        assert!(!forged, "a forged pruned seal verifies: {}", hex::encode(bytes));
        true
    }

    fn trust_root(&self, bytes: &[u8]) -> bool {
        let Some(root) = canonical(bytes, TrustRoot::decode(bytes), TrustRoot::encode) else { return false };
        let text = root.to_json();
        assert!(
            TrustRoot::from_json(&text).is_ok_and(|read| read == root),
            "another root in the text: {text}"
        );
        self.not_accepted(&root);
        true
    }

    fn trust_root_text(&self, text: &str) -> bool {
        let Ok(root) = TrustRoot::from_json(text) else { return false };
        let read = TrustRoot::decode(&root.encode());
        assert!(read.as_ref() == Ok(&root), "another root in binary: {text}");
        assert!(meaning(text) == meaning(&root.to_json()), "a root is something else than its text: {text}");
        self.not_accepted(&root);
        true
    }

    /// Nobody signed a version after the pinned one.
    fn not_accepted(&self, root: &TrustRoot) {
        let same = root.digest() == self.pinned.digest();
        assert!(same || self.pinned.accept(root).is_err(), "a forgery is accepted: {}", root.to_json());
    }

    fn checkpoint(&self, text: &str) -> bool {
        let known = std::slice::from_ref(&self.witness);
        let Ok((head, cosigned)) = Checkpoint::verify(text, known, 0) else { return false };
        let shown = format!("{}\n", head.text());
        assert!(text.starts_with(&shown), "another text of the head: {text:?}");
        for one in &cosigned {
            let seen = (&head, one.time) == (&self.seen.0, self.seen.1);
            assert!(seen, "a head verifies that the witness has not seen: {text:?}");
        }
        let lines: String = cosigned.iter().map(|one| one.line.as_str()).collect();
        let again = Checkpoint::verify(&(shown + &lines), known, cosigned.len());
        assert!(again == Ok((head, cosigned)), "a note cannot be shown to others: {text:?}");
        true
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::new()
    }
}

/// What was decoded, if it was. Its encoding is these bytes.
fn canonical<T, E>(bytes: &[u8], decoded: Result<T, E>, encode: impl Fn(&T) -> Vec<u8>) -> Option<T> {
    let decoded = decoded.ok()?;
    assert!(encode(&decoded) == bytes, "not canonical: {}", hex::encode(bytes));
    Some(decoded)
}

fn statement(bytes: &[u8]) -> bool {
    let encode = |statement: &Statement<'_>| statement.encode().expect("what decodes can be encoded");
    canonical(bytes, Statement::decode(bytes), encode).is_some()
}

/// The succession of the vectors.
fn honest_succession() -> Vec<u8> {
    let devices: Value = serde_json::from_str(DEVICES).expect("device.json");
    hex::decode(devices["succession"]["bytes"].as_str().expect("text")).expect("hexadecimal")
}

fn succession(bytes: &[u8]) -> bool {
    let Some(decoded) = canonical(bytes, Succession::decode(bytes), Succession::encode) else { return false };
    let key = account_key_id(&decoded.signatures[0].public_key);
    let verified = verify_succession(bytes, decoded.accounts[0], key);
    assert!(verified.is_err() || bytes == honest_succession(), "a forgery verifies: {}", hex::encode(bytes));
    true
}

fn change(bytes: &[u8]) -> bool {
    let encode = |change: &Change<'_>| change.encode().expect("what decodes can be encoded");
    let is_change = canonical(bytes, Change::decode(bytes), encode).is_some();
    assert!(
        !is_change || Statement::decode(bytes).is_err(),
        "a change and a decision: {}",
        hex::encode(bytes)
    );
    is_change
}

fn header(bytes: &[u8]) -> bool {
    let is_header = canonical(bytes, SealHeader::decode(bytes), SealHeader::encode).is_some();
    assert!(!is_header || Seal::decode(bytes).is_err(), "a header and a seal: {}", hex::encode(bytes));
    is_header
}

fn key_set(bytes: &[u8]) -> bool {
    canonical(bytes, PublicKeySet::decode(bytes), PublicKeySet::encode).is_some()
}

/// What a JSON text says: white space, order and escapes are free, and a field that is null may be left out.
fn meaning(text: &str) -> Value {
    fn without_nulls(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|_, field| !field.is_null());
                fields.values_mut().for_each(without_nulls);
            }
            Value::Array(items) => items.iter_mut().for_each(without_nulls),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).expect("what was read is JSON");
    without_nulls(&mut value);
    value
}

fn witness(text: &str) -> bool {
    let Ok(witness) = Witness::parse(text) else { return false };
    assert!(witness.verifier_key() == text, "another text of the key: {text:?}");
    true
}

fn structure(seal: &Seal) -> Vec<usize> {
    let [full, ..] = ATTESTATIONS;
    let place = |signature: &Vec<u8>| {
        let start = full.windows(signature.len()).position(|window| window == signature);
        let start = start.expect("the seal of the full attestation");
        start..start + signature.len()
    };
    let signatures = seal.signatures.each_ref().map(place);
    (0..full.len()).filter(|at| signatures.iter().all(|place| !place.contains(at))).collect()
}

fn seeds(seal: &Seal, pinned: &TrustRoot) -> Vec<Vec<u8>> {
    let [full, ..] = ATTESTATIONS;
    let keys = &pinned.key_sets()[0].keys;
    // Signatures by the right keys over something else: they are reached and refused.
    let cosignature = Cosignature { key_set_id: keys.id(), signatures: seal.signatures.clone() };
    let next = pinned.successor(pinned.key_sets().to_vec()).expect("a version 2");
    let next = next.with_cosignatures(vec![cosignature]).expect("one cosignature");
    let mut seeds = ATTESTATIONS.map(<[u8]>::to_vec).to_vec();
    seeds.extend([
        DEVICE.to_vec(),
        honest_succession(),
        SEAL.to_vec(),
        CHANGES_SEAL.to_vec(),
        seal.header.encode(),
        PrunedSeal { header: seal.header.clone(), path: vec![[0; 32]], checkpoint: seal.clone() }.encode(),
        Attestation::decode(full).expect("an attestation").statement.to_vec(),
        keys.encode(),
        pinned.encode(),
        next.encode(),
        PINNED.into(),
        RETIRED.into(),
        next.to_json().into_bytes(),
        NOTE.into(),
        WITNESS.into(),
        // An edit that changes nothing.
        vec![0, 45, 0, full[45]],
    ]);
    seeds.extend(changes());
    seeds
}

/// The changes of the vectors, which are one of each kind.
fn changes() -> Vec<Vec<u8>> {
    let vectors: Value = serde_json::from_str(CHANGES).expect("changes.json");
    let receipts = vectors["compact"].as_object().expect("receipts").values();
    let receipts = receipts.map(|receipt| hex::decode(receipt.as_str().expect("text")).expect("hexadecimal"));
    let statement = |receipt: Vec<u8>| Attestation::decode(&receipt).expect("a receipt").statement.to_vec();
    receipts.map(statement).filter(|bytes| Change::decode(bytes).is_ok()).collect()
}
