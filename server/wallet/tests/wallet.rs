//! A wallet and the issuer that it has its credentials from.

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_api::{AttestationForm, Nonce, Vector};
use trefoil_issuer::{Issuer, NewMember};
use trefoil_types::IssuerKeyId;
use trefoil_wallet::OpenRequest;
use trefoil_wallet::credentials::sealed::{Cost, SealedError};
use trefoil_wallet::credentials::{CredentialError, CredentialFile};
use trefoil_wallet::wallet::{Session, Wallet, WalletError};
use trefoil_zkp::TenantId;
use trefoil_zkp::envelope::ProofEnvelope;

const CHEAP: Cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
const PASSPHRASE: &[u8] = b"passphrase of a test";
const NOW: u64 = 1_795_000_000;
const TENANT: TenantId = TenantId::new([7; 16]);

fn rng() -> StdRng {
    StdRng::seed_from_u64(6)
}

/// An issuer with the wallet as its member, and the credential.
fn credential(wallet: &Wallet, directory: &std::path::Path, seed: u64) -> (Issuer, CredentialFile) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut issuer = Issuer::init(directory, TENANT, 1, PASSPHRASE, CHEAP, &mut rng).unwrap();
    let expiry = trefoil_zkp::epoch_at(NOW) + 100;
    let commitment = wallet.commitment();
    let ann = NewMember { name: "ann".to_owned(), commitment, level: 2, expiry, roles: 0 };
    issuer.add(&[ann], &mut rng).unwrap();
    issuer.publish(PASSPHRASE, false, NOW, &mut rng).unwrap();
    let file = issuer.credential("ann").unwrap();
    (issuer, file)
}

#[test]
fn a_wallet_proves_what_it_received_and_survives_sealing() {
    let parent = tempfile::tempdir().unwrap();
    let mut wallet = Wallet::create(&mut rng());
    let (_, file) = credential(&wallet, &parent.path().join("issuer"), 1);
    assert!(matches!(wallet.prove(&TENANT, "a", None, NOW, &mut rng()), Err(WalletError::NoCredential)));
    wallet.receive(file, None).unwrap();
    let OpenRequest { envelope, session, level } =
        wallet.prove(&TENANT, "shop.example", None, NOW, &mut rng()).unwrap();
    let envelope = ProofEnvelope::decode(&envelope).unwrap();
    let verified = trefoil_zkp::verify(&envelope.statement, &envelope.proof).unwrap();
    assert_eq!(verified.statement_digest(), &session.id().0);
    assert_eq!(
        (envelope.statement.level, wallet.handle(&TENANT).0),
        (2, envelope.statement.handle.to_bytes())
    );
    assert!(matches!(wallet.prove(&TENANT, "a", Some(3), NOW, &mut rng()), Err(WalletError::Holder(_))));
    let id = session.id();
    let session = Session { tenant: TENANT, level, opened_at: NOW, expires_at: NOW + 10, holder: session };
    wallet.opened(session, NOW);

    let sealed = wallet.seal(PASSPHRASE, CHEAP, &mut rng()).unwrap();
    assert!(matches!(
        Wallet::open(&sealed, b"another one"),
        Err(WalletError::Sealed(SealedError::Passphrase))
    ));
    let again = Wallet::open(&sealed, PASSPHRASE).unwrap();
    assert_eq!((again.commitment(), again.credentials().len()), (wallet.commitment(), 1));
    assert_eq!(again.only_tenant(), Some(TENANT));
    let kept = again.session("shop.example").unwrap();
    assert_eq!((kept.holder.id(), kept.tenant, kept.level), (id, TENANT, 2));
    assert_eq!([0, 8, 9, 10, 99].map(|later| kept.is_due(NOW + later)), [false, false, true, true, true]);
    assert!(matches!(again.session("bank.example"), Err(WalletError::NoSession)));
    let nonce = || Nonce::new(vec![1; 16]).unwrap();
    let request = |wallet: &Wallet| {
        let session = wallet.session("shop.example").unwrap();
        session.holder.authentication(Vector::new([0.5; 128]), nonce(), NOW, AttestationForm::Full)
    };
    assert_eq!(request(&again).mac, request(&wallet).mac, "the session key was kept");
}

#[test]
fn credentials_of_others_of_other_issuers_and_older_ones_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let mut wallet = Wallet::create(&mut rng());
    let (mut issuer, old) = credential(&wallet, &parent.path().join("one"), 1);
    let key = issuer.identity().public_key.id();
    let mut stranger = Wallet::create(&mut StdRng::seed_from_u64(9));
    let refused = stranger.receive(old.clone(), None);
    assert!(matches!(refused, Err(WalletError::Credential(CredentialError::Path))));
    assert!(
        matches!(wallet.receive(old.clone(), Some(&IssuerKeyId::new([0; 32]))), Err(WalletError::Issuer(got)) if got == key)
    );
    let mut unsigned = old.clone();
    unsigned.signature.0[9] ^= 1;
    assert!(matches!(wallet.receive(unsigned, None), Err(WalletError::Credential(CredentialError::Root(_)))));
    issuer.publish(PASSPHRASE, false, NOW, &mut rng()).unwrap();
    let new = issuer.credential("ann").unwrap();
    assert_eq!(wallet.receive(new, Some(&key)).unwrap().root().generation, 2);
    assert!(matches!(wallet.receive(old, None), Err(WalletError::Older { got: 1, known: 2 })));
    let (_, foreign) = credential(&wallet, &parent.path().join("two"), 2);
    assert!(
        matches!(wallet.receive(foreign.clone(), None), Err(WalletError::IssuerChanged { known, .. }) if known == key)
    );
    wallet.forget(&TENANT).unwrap();
    assert!(wallet.forget(&TENANT).is_err());
    wallet.receive(foreign, None).unwrap();
}
