//! The device's signature over logins at a real service.

use crate::members::Members;
use crate::world::*;
use trefoil_attest::{ExpectedNonce, Policy, VerifyError, join, verify};
use trefoil_wallet::HolderSession;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::record::{NotBacked, ProofRecord};

/// Claim S24: A person's devices sign with one key in every session, from a wallet that was stored and read, and the session's proof shows it.
/// A copied session makes requests and signs nothing that a relying party with a pin accepts.
#[tokio::test(flavor = "multi_thread")]
async fn one_key_signs_in_every_session_and_a_copied_session_has_it_not() {
    let service = Service::start().await;
    let members = Members::enrolled(&service, 2, 45).await;
    let rng = &mut rand::rng();
    let (key, other) =
        (members.holder(0, 1).account_key(AUDIENCE), members.holder(1, 1).account_key(AUDIENCE));
    let pinned = key.id();
    let mut earlier = None;
    for _ in 0..2 {
        let mut wallet = members.open(&service, 0, 1, AUDIENCE).await;
        let request = wallet.request(&service);
        let stored = HolderSession::from_bytes(&wallet.session.to_bytes()).unwrap();
        let attestation = answer(&service.authenticate(&request).await).attestation.unwrap().0;
        let now = service.clock.unix_s();
        let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
        let policy = Policy::new(service.trust_root.clone(), AUDIENCE, nonce).account_key(pinned);
        assert_eq!(verify(&attestation, &policy, now).unwrap_err(), VerifyError::NoDeviceSignature);
        let signature = stored.sign(&request, &key, rng);
        let joined = join(&attestation, &signature).unwrap();
        let verified = verify(&joined, &policy, now).unwrap();
        assert_eq!(verified.device(), Some(pinned));

        let record = ProofRecord::from(&ProofEnvelope::decode(&wallet.envelope).unwrap());
        assert_eq!((record.account_key, record.verify().is_ok()), (pinned, true));
        assert_eq!(record.backs(verified.statement(), verified.device()), Ok(()));
        let foreign = record.backs(verified.statement(), Some(other.id()));
        assert_eq!(foreign, Err(NotBacked::Field("account key")));

        // Who copies the session has its key and no account key: another one, or a signature that the device made before.
        let thief = join(&attestation, &stored.sign(&request, &other, rng)).unwrap();
        assert_eq!(verify(&thief, &policy, now).unwrap_err(), VerifyError::AccountKey(other.id()));
        if let Some(earlier) = earlier.replace(signature) {
            let replayed = join(&attestation, &earlier).unwrap();
            assert_eq!(verify(&replayed, &policy, now).unwrap_err(), VerifyError::DeviceSignature);
        }
    }
}
