//! One issuer, one sealed tree of statements, and what a relying party knows.

use serde_json::Value;
use std::env;
use std::path::PathBuf;
use trefoil_attest::{Account, AccountKeyId, BatchId, SessionId, TenantId};

use fips204::ml_dsa_44;
use fips204::traits::{KeyGen as _, SerDes as _, Signer as _};
use rand::{SeedableRng as _, rngs::StdRng};
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Attestation, Decision, DeviceSignature, DeviceStatement, Evidence, ExpectedNonce, Family, JobsHead,
    KeySetStatus, Policy, ProbeMode, Proof, PublicKeySet, Seal, SealHeader, Statement, Suite, TrustRoot,
    TrustedKeySet, VaultState, account_key_id, statement_digest,
};
use trefoil_sign::{Falcon512, MlDsa65, SignatureFamily, SigningKeys, SlhDsaSha2_128f};

pub(crate) const ISSUER: &str = "https://auth.example";
pub(crate) const AUDIENCE: &str = "https://shop.example";
pub(crate) const NONCE: [u8; 32] = [3; 32];
pub(crate) const NOW: u64 = 1_800_000_010;
pub(crate) const ISSUED_AT: u64 = NOW - 2;
pub(crate) const EXPIRES_AT: u64 = ISSUED_AT + 120;
/// Validity of the keys.
pub(crate) const NOT_BEFORE: u64 = NOW - 3600;
pub(crate) const NOT_AFTER: u64 = NOW + 3600;
/// Leaf of the statement that is attested, in a tree of [`LEAVES`].
pub(crate) const LEAF: u64 = 4;
pub(crate) const LEAVES: usize = 11;

/// Whether these shared vectors are to be made anew: `TREFOIL_BLESS` is `1` for all or the name of some.
pub(crate) fn blesses(vectors: &str) -> bool {
    env::var("TREFOIL_BLESS").is_ok_and(|what| what == "1" || what == vectors)
}

/// A file of the vectors that all verifiers share.
fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../attest/testdata").join(name)
}

pub(crate) fn read(name: &str) -> Vec<u8> {
    std::fs::read(testdata(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn read_text(name: &str) -> String {
    String::from_utf8(read(name)).unwrap()
}

pub(crate) fn read_json(name: &str) -> Value {
    serde_json::from_slice(&read(name)).unwrap()
}

pub(crate) fn read_root(name: &str) -> TrustRoot {
    TrustRoot::from_file(&read(name)).unwrap()
}

pub(crate) fn write(name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(testdata(name), bytes).unwrap();
}

pub(crate) fn write_json(name: &str, value: &Value) {
    write(name, serde_json::to_string_pretty(value).unwrap() + "\n");
}

/// What the edits of a case make of its base.
pub(crate) fn edited(bytes: &[u8], edits: &[Value]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let number = |field: &str| edit[field].as_u64().unwrap() as usize;
        let (at, end) = (number("at"), number("at") + number("remove"));
        bytes.splice(at..end, hex::decode(edit["insert"].as_str().unwrap()).unwrap());
    }
    bytes
}

pub(crate) fn rng() -> StdRng {
    StdRng::seed_from_u64(0x7365_616c)
}

pub(crate) fn statement() -> Statement<'static> {
    Statement {
        suite: Suite::One,
        issuer: ISSUER,
        tenant: TenantId::new([1; 16]),
        audience: AUDIENCE,
        account: Account::new([2; 32]),
        nonce: &NONCE,
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: 7,
        policy_version: 3,
        fmr_class: 4,
        embedder: "facenet-128/1",
        quantiser: "s175/1",
        template_generation: 9,
        proof: Some(Proof {
            circuit: 3,
            root: [5; 32],
            level: 2,
            epoch: 500_000,
            session: SessionId::new([10; 32]),
        }),
        batch_id: BatchId::new([6; 16]),
        place: 4,
        issued_at: ISSUED_AT,
        expires_at: EXPIRES_AT,
    }
}

/// States of three vaults: one that was never seen, one with a job log, and counts of every length.
pub(crate) fn vaults() -> Vec<Option<VaultState>> {
    let jobs = Some(JobsHead { lines: (1 << 53) + 2, digest: [11; 32] });
    let state = |generation, restored, jobs| Some(VaultState { generation, restored, jobs });
    vec![state(7, 0, None), None, state((1 << 53) + 1, 300, jobs)]
}

/// A sealed tree in which leaf [`LEAF`] is a given statement.
pub(crate) struct Issued {
    pub(crate) keys: SigningKeys,
    pub(crate) rng: StdRng,
    pub(crate) statement: Vec<u8>,
    pub(crate) tree: MerkleTree,
    pub(crate) seal: Seal,
}

impl Issued {
    pub(crate) fn new() -> Self {
        Self::with(&statement(), |header| header)
    }

    /// Seals `statement` under a header that `change` may alter before it is signed.
    pub(crate) fn with(statement: &Statement<'_>, change: impl FnOnce(SealHeader) -> SealHeader) -> Self {
        let mut rng = rng();
        let mut keys = SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut rng).unwrap();
        let statement = statement.encode().unwrap();
        let mut entries: Vec<[u8; 32]> = (0..LEAVES as u8).map(|leaf| [leaf; 32]).collect();
        entries[LEAF as usize] = statement_digest(&statement);
        let tree = MerkleTree::new(&entries).unwrap();
        let header = change(SealHeader {
            issuer: ISSUER.into(),
            key_set_id: keys.id(),
            seal_number: 17,
            previous: [8; 32],
            log_root: [9; 32],
            tree_size: tree.size(),
            root: tree.root(),
            time: ISSUED_AT + 1,
            suite: Suite::One,
            vaults: vaults(),
            restored: None,
        });
        let seal = keys.sign_seal(header, &mut rng).unwrap();
        Self { keys, rng, statement, tree, seal }
    }

    pub(crate) fn attestation(&self) -> Attestation<'_> {
        Attestation {
            statement: &self.statement,
            leaf_index: LEAF,
            tree_size: self.tree.size(),
            path: self.tree.path(LEAF).unwrap(),
            evidence: Evidence::Full(self.seal.clone()),
            device: None,
        }
    }

    pub(crate) fn full(&self) -> Vec<u8> {
        self.attestation().encode()
    }

    pub(crate) fn compact(&self) -> Vec<u8> {
        let evidence = Evidence::Compact(self.seal.reference());
        Attestation { evidence, ..self.attestation() }.encode()
    }

    pub(crate) fn trust_root(&self) -> TrustRoot {
        self.trust_root_with(KeySetStatus::Active)
    }

    pub(crate) fn trust_root_with(&self, status: KeySetStatus) -> TrustRoot {
        TrustRoot::new(ISSUER, vec![TrustedKeySet { keys: self.keys.public().clone(), status }]).unwrap()
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy::new(self.trust_root(), AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec()))
    }
}

/// The key with which a person's devices sign for one account.
pub(crate) struct AccountKey {
    secret: ml_dsa_44::PrivateKey,
    pub(crate) public: Box<[u8; 1312]>,
}

impl AccountKey {
    /// From 32 times this byte as seed.
    pub(crate) fn new(seed: u8) -> Self {
        let (public, secret) = ml_dsa_44::KG::keygen_from_seed(&[seed; 32]);
        Self { secret, public: Box::new(public.into_bytes()) }
    }

    pub(crate) fn id(&self) -> AccountKeyId {
        account_key_id(&self.public)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> DeviceSignature {
        self.sign_in(&[], message)
    }

    /// With a context, which is always empty. Deterministic, because vectors are.
    pub(crate) fn sign_in(&self, context: &[u8], message: &[u8]) -> DeviceSignature {
        let signature = Box::new(self.secret.try_sign_with_seed(&[0; 32], message, context).unwrap());
        DeviceSignature { public_key: self.public.clone(), signature }
    }

    /// What the device joins to an attestation of this statement.
    pub(crate) fn of(&self, statement: &Statement<'_>) -> DeviceSignature {
        self.sign(&DeviceStatement::of(statement).unwrap().to_be_signed())
    }
}

/// Keys that sign what another key set is named in. [`SigningKeys`] refuse to, and a thief would not.
pub(crate) struct OtherKeys {
    ml_dsa_65: MlDsa65,
    falcon_512: Falcon512,
    slh_dsa_sha2_128f: SlhDsaSha2_128f,
    rng: StdRng,
}

impl OtherKeys {
    pub(crate) fn new() -> Self {
        let mut rng = StdRng::seed_from_u64(0x6f74_6865_7273);
        Self {
            ml_dsa_65: MlDsa65::generate(&mut rng).unwrap(),
            falcon_512: Falcon512::generate(&mut rng).unwrap(),
            slh_dsa_sha2_128f: SlhDsaSha2_128f::generate(&mut rng).unwrap(),
            rng,
        }
    }

    pub(crate) fn public(&self) -> PublicKeySet {
        PublicKeySet {
            ml_dsa_65: Box::new(self.ml_dsa_65.public_key().try_into().unwrap()),
            falcon_512: Box::new(self.falcon_512.public_key().try_into().unwrap()),
            slh_dsa_sha2_128f: self.slh_dsa_sha2_128f.public_key().try_into().unwrap(),
            not_before: NOT_BEFORE,
            not_after: NOT_AFTER,
        }
    }

    /// The header as it is, whatever key set it names, signed with these keys.
    pub(crate) fn sign(&mut self, header: &SealHeader) -> Seal {
        let message = |family| header.to_be_signed(family);
        let signatures = [
            self.ml_dsa_65.sign(&message(Family::MlDsa65), &mut self.rng).unwrap(),
            self.falcon_512.sign(&message(Family::Falcon512), &mut self.rng).unwrap(),
            self.slh_dsa_sha2_128f.sign(&message(Family::SlhDsaSha2_128f), &mut self.rng).unwrap(),
        ];
        Seal { header: header.clone(), signatures }
    }
}
