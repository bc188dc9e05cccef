use super::*;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_storage::data_dir::DataDirError;
use trefoil_wallet::credentials::sealed::SealedError;
use trefoil_zkp::{Secret, commitment};

const CHEAP: Cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
const PASSPHRASE: &[u8] = b"passphrase of a test";
const NOW: u64 = 1_795_000_000;

fn rng() -> StdRng {
    StdRng::seed_from_u64(5)
}

fn issuer(path: &Path) -> Issuer {
    Issuer::init(path, TenantId::new([7; 16]), 1, PASSPHRASE, CHEAP, &mut rng()).unwrap()
}

fn member(name: &str, commitment: Digest) -> NewMember {
    NewMember { name: name.to_owned(), commitment, level: 2, expiry: 500_000, roles: 0 }
}

fn commitments(count: usize) -> Vec<Digest> {
    let mut rng = rng();
    let canonical = |rng: &mut StdRng| {
        Digest::from_bytes(&std::array::from_fn(|i| match i % 4 {
            3 => rng.random::<u8>() & 0x3f,
            _ => rng.random(),
        }))
    };
    (0..count).map(|_| canonical(&mut rng).unwrap()).collect()
}

/// The root of exactly these members, built from nothing.
fn rebuilt(issuer: &Issuer) -> Digest {
    let end = issuer.members().map(|member| member.index + 1).max().unwrap_or(0);
    let mut leaves = vec![Digest::ZERO; end as usize];
    for member in issuer.members() {
        leaves[member.index as usize] = leaf(&member.commitment, &member.attributes);
    }
    CredentialTree::from_leaves(&leaves).unwrap().root()
}

fn publish(issuer: &mut Issuer, withdraw: bool) -> (u32, u32) {
    let root = issuer.publish(PASSPHRASE, withdraw, NOW, &mut rng()).unwrap();
    (root.generation, root.generation_min)
}

#[test]
fn members_come_change_and_go_and_all_of_it_survives() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("issuer");
    let ids = commitments(4);
    let mut open = issuer(&path);
    assert_eq!(publish(&mut open, false), (1, 1), "an empty tree has a root too");
    let all: Vec<_> = ["ann", "bob", "eve"].iter().zip(&ids).map(|(name, id)| member(name, *id)).collect();
    open.add(&all, &mut rng()).unwrap();
    assert_eq!(open.root(), rebuilt(&open));
    assert!(!open.is_published());
    assert!(matches!(open.credential("ann"), Err(IssuerError::Unpublished)));
    assert_eq!(publish(&mut open, false), (2, 1), "adding somebody ends nobody's session");
    open.update(&NewMember { level: 3, ..all[0].clone() }, &mut rng()).unwrap();
    assert_eq!(publish(&mut open, false), (3, 3), "an update does");
    open.revoke(&["eve".to_owned()]).unwrap();
    let root = open.root();
    assert_eq!(root, rebuilt(&open));
    drop(open);

    let mut open = Issuer::open(&path).unwrap();
    assert_eq!((open.root(), open.members().count(), open.roots().len()), (root, 2, 3));
    assert_eq!(publish(&mut open, false), (4, 4), "the revocation was not forgotten");
    assert_eq!(publish(&mut open, true), (5, 5));
    assert_eq!(open.member("ann").unwrap().attributes.level(), 3);
    open.add(&[member("zoe", ids[3])], &mut rng()).unwrap();
    assert_eq!((open.member("zoe").unwrap().index, open.root()), (3, rebuilt(&open)));
    assert_eq!(publish(&mut open, false), (6, 5));
    for _ in 7..=20 {
        publish(&mut open, false);
    }
    assert_eq!(publish(&mut open, false), (21, 6), "a service keeps sixteen");
    let log = open.roots().iter().try_fold(RootLog::new(TenantId::new([7; 16]), None), |mut log, root| {
        log.append(root, &open.identity().public_key).map(drop).map(|()| log)
    });
    assert_eq!(log.unwrap().last(), open.last_root());
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("issuer");
    assert!(matches!(Issuer::open(&path), Err(IssuerError::Uninitialised)));
    let ids = commitments(2);
    let mut open = issuer(&path);
    open.add(&[member("ann", ids[0])], &mut rng()).unwrap();
    let refused = |open: &mut Issuer, new: &[NewMember]| open.add(new, &mut rng()).unwrap_err();
    let twice = [member("bob", ids[1]), member("bob", ids[1])];
    assert!(matches!(refused(&mut open, &twice), IssuerError::Exists(name) if name == "bob"));
    assert!(matches!(refused(&mut open, &[member("ann", ids[1])]), IssuerError::Exists(_)));
    for name in ["", "a\n", &"x".repeat(65)] {
        assert!(matches!(
            refused(&mut open, &[member("c", ids[1]), member(name, ids[1])]),
            IssuerError::Name(_)
        ));
    }
    let late = NewMember { expiry: 1 << 24, ..member("d", ids[1]) };
    assert!(matches!(refused(&mut open, &[late]), IssuerError::Attributes { .. }));
    assert!(matches!(open.update(&member("bob", ids[1]), &mut rng()), Err(IssuerError::Unknown(_))));
    assert!(matches!(open.revoke(&["ann".to_owned(), "bob".to_owned()]), Err(IssuerError::Unknown(_))));
    assert_eq!(open.members().count(), 1);
    let wrong = open.publish(b"another passphrase", false, NOW, &mut rng());
    assert!(matches!(wrong, Err(IssuerError::Key(SealedError::Passphrase))));
    assert!(matches!(Issuer::open(&path), Err(IssuerError::Directory(DataDirError::Locked { .. }))));
    drop(open);
    let again = Issuer::init(&path, TenantId::new([7; 16]), 1, PASSPHRASE, CHEAP, &mut rng());
    assert!(matches!(again, Err(IssuerError::Initialised)));
}

#[test]
fn a_credential_is_good_for_its_commitment_only() {
    let parent = tempfile::tempdir().unwrap();
    let mut open = issuer(&parent.path().join("issuer"));
    let secrets: Vec<Secret> = (0..2).map(|i| Secret::random(&mut StdRng::seed_from_u64(i))).collect();
    let new = [member("ann", commitment(&secrets[0])), member("bob", commitment(&secrets[1]))];
    open.add(&new, &mut rng()).unwrap();
    publish(&mut open, false);
    let file = open.credential("ann").unwrap();
    let read = CredentialFile::from_json(file.to_json().as_bytes()).unwrap();
    assert_eq!(read, file);
    assert_eq!(file.verify(&commitment(&secrets[0])).as_ref(), Ok(open.last_root().unwrap()));
    use trefoil_wallet::credentials::CredentialError as Refused;
    assert_eq!(file.verify(&commitment(&secrets[1])), Err(Refused::Path));
    let mut altered = file.clone();
    altered.attributes.0[4] += 1;
    assert_eq!(altered.verify(&commitment(&secrets[0])), Err(Refused::Path), "the level is in the leaf");
    let json = file.to_json();
    let refused = |from: &str, to: &str| CredentialFile::from_json(json.replacen(from, to, 1).as_bytes());
    assert!(matches!(refused("credential/1", "credential/2"), Err(Refused::Format)));
    assert!(matches!(refused("\"index\"", "\"place\": 1, \"index\""), Err(Refused::Json(_))));
    assert!(open.credential("zoe").is_err());
}
