//! One proof, and the verdict on it.

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_pipeline::{TenantId, Verdict};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{Attributes, Circuit, CredentialTree, Secret, SessionClaim, Witness};

pub(crate) const SEED: u64 = 1;
pub(crate) const TENANT: TenantId = TenantId::new([7; 16]);
pub(crate) const ISSUER: &str = "trefoil.example";
pub(crate) const AUDIENCE: &str = "payments.example";
pub(crate) const NOW: u64 = 1_795_000_000;
pub(crate) const LANES: usize = trefoil_matching::LANES;
/// Generation of the root, policy and level of the proof.
pub(crate) const ROOT: u32 = 1;
pub(crate) const POLICY: u32 = 1;
pub(crate) const LEVEL: u8 = 2;

/// The verdict on the only holder's proof, usable for ten minutes.
pub(crate) fn verdict() -> Verdict {
    let mut rng = StdRng::seed_from_u64(SEED);
    let epoch = trefoil_zkp::epoch_at(NOW);
    let secret = Secret::random(&mut rng);
    let attributes = Attributes::new(epoch + 100, 3, 0, 0, &mut rng).expect("attributes");
    let mut tree = CredentialTree::new();
    tree.update(0, trefoil_zkp::leaf(&trefoil_zkp::commitment(&secret), &attributes)).expect("index");
    let witness = Witness { secret, attributes, index: 0, path: tree.path(0).expect("index") };
    let session_key = SessionKey::random(&mut rng);
    let statement = witness.statement(&SessionClaim {
        circuit: Circuit::Cred2,
        tenant: TENANT,
        audience: AUDIENCE,
        root_generation: ROOT,
        epoch,
        level: LEVEL,
        policy_id: POLICY,
        key_commitment: &session_key.commitment(),
        chain: None,
    });
    let proof = trefoil_zkp::prove(&witness, &statement, &mut rng).expect("proof");
    let verified = trefoil_zkp::verify(&statement, &proof).expect("valid proof");
    let envelope = ProofEnvelope {
        statement,
        audience: AUDIENCE.into(),
        session_key,
        policy_id: POLICY,
        chain: None,
        proof,
    };
    Verdict::new(&verified, &envelope, NOW + 600).expect("same statement")
}
