//! A wallet and the issuer that it has its credentials from.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::{BTreeSet, HashMap};
use trefoil_api::{AttestationForm, Nonce, Vector};
use trefoil_attest::{Succession, verify_succession};
use trefoil_issuer::{Issuer, NewMember};
use trefoil_types::IssuerKeyId;
use trefoil_wallet::credentials::sealed::{Cost, SealedError};
use trefoil_wallet::credentials::{CredentialError, CredentialFile};
use trefoil_wallet::wallet::{Session, Wallet, WalletError};
use trefoil_wallet::{OpenRequest, attested_digest};
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
    credential_of(wallet, directory, TENANT, seed)
}

/// The same of another tenant.
fn credential_of(
    wallet: &Wallet,
    directory: &std::path::Path,
    tenant: TenantId,
    seed: u64,
) -> (Issuer, CredentialFile) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut issuer = Issuer::init(directory, tenant, 1, PASSPHRASE, CHEAP, &mut rng).unwrap();
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

/// What a device shows in a login with `audience`, by name: all that is not a public constant of the tenant.
fn shown(wallet: &Wallet, tenant: &TenantId, audience: &str, seed: u64) -> Vec<(&'static str, Vec<u8>)> {
    let rng = &mut StdRng::seed_from_u64(seed);
    let OpenRequest { envelope, session, .. } = wallet.prove(tenant, audience, None, NOW, rng).unwrap();
    let ProofEnvelope { statement, session_key, proof, .. } = ProofEnvelope::decode(&envelope).unwrap();
    let nonce = Nonce::new(rng.random::<[u8; 32]>().to_vec()).unwrap();
    let face = Vector::new(std::array::from_fn::<_, 128, _>(|_| rng.random()));
    let request = session.authentication(face, nonce, NOW, AttestationForm::Full);
    let signature = session.sign(&request, &wallet.account_key(tenant, audience), rng);
    vec![
        ("scope", statement.scope.to_bytes().to_vec()),
        ("account", statement.account.to_bytes().to_vec()),
        ("handle", statement.handle.to_bytes().to_vec()),
        ("context", statement.ctx.to_vec()),
        ("session", session.id().0.to_vec()),
        ("session key", session_key.to_bytes().to_vec()),
        ("proof", proof),
        ("probe digest", request.probe_digest().to_vec()),
        ("request digest", attested_digest(&request).to_vec()),
        ("mac", request.mac.0.to_vec()),
        ("account key", signature.public_key.to_vec()),
        ("account key id", signature.account_key().to_bytes().to_vec()),
        ("signature", signature.signature.to_vec()),
    ]
}

/// The names of two parts that have eight bytes in common, which are not the zeros behind a signature's hints.
fn common<'a>(
    one: &'a [(&'static str, Vec<u8>)],
    other: &'a [(&'static str, Vec<u8>)],
) -> Vec<(&'a str, &'a str)> {
    let windows = |parts: &'a [(&'static str, Vec<u8>)]| {
        parts.iter().flat_map(|(name, bytes)| {
            bytes.windows(8).filter(|window| *window != [0; 8]).map(move |window| (window, *name))
        })
    };
    let known: HashMap<&[u8], &str> = windows(one).collect();
    windows(other).filter_map(|(window, name)| Some((*known.get(window)?, name))).collect()
}

/// Claim P19: Logins of one person with two audiences have nothing in common that her device shows but the tenant's handle, which the service alone sees,
/// and logins under two credentials nothing at all.
#[test]
fn a_device_shows_two_audiences_and_two_tenants_nothing_in_common() {
    let parent = tempfile::tempdir().unwrap();
    let mut wallet = Wallet::create(&mut rng());
    let tenants = [TENANT, TenantId::new([8; 16])];
    for (tenant, seed) in tenants.iter().zip(1..) {
        let (_, file) = credential_of(&wallet, &parent.path().join(seed.to_string()), *tenant, seed);
        wallet.receive(file, None).unwrap();
    }
    let shop = shown(&wallet, &TENANT, "shop.example", 1);
    let bank = shown(&wallet, &TENANT, "bank.example", 2);
    let elsewhere = shown(&wallet, &tenants[1], "shop.example", 3);
    let handles = common(&shop, &bank);
    assert!(!handles.is_empty() && handles.iter().all(|names| *names == ("handle", "handle")), "{handles:?}");
    assert_eq!(common(&shop, &elsewhere), []);
    assert_eq!(common(&bank, &elsewhere), []);
    // The key and the account are what a relying party recognises, in any session and from a wallet that was restored.
    let restored = Wallet::open(&wallet.seal(PASSPHRASE, CHEAP, &mut rng()).unwrap(), PASSPHRASE).unwrap();
    let again = shown(&restored, &TENANT, "shop.example", 4);
    let same: BTreeSet<&str> = common(&shop, &again).into_iter().map(|(name, _)| name).collect();
    assert_eq!(same, BTreeSet::from(["account", "account key", "account key id", "handle", "scope"]));
}

#[test]
fn two_wallets_make_a_succession_that_names_both_accounts() {
    let [old, new] = [1, 2].map(|seed| Wallet::create(&mut StdRng::seed_from_u64(seed)));
    let bytes = old.succession(&new, &TENANT, "shop.example", &mut rng());
    let succession = Succession::decode(&bytes).unwrap();
    let [key, next] = [&old, &new].map(|wallet| wallet.account_key(&TENANT, "shop.example").id());
    let [account, following] = succession.accounts;
    assert_eq!(verify_succession(&bytes, account, key), Ok((following, next)));
    assert_ne!((account, key), (following, next));
    assert!(verify_succession(&bytes, following, next).is_err());
}
