use super::*;
use std::sync::LazyLock;
use trefoil_attest::{KeySetStatus, SealHeader, Suite, TrustedKeySet};
use trefoil_pipeline::ChainHead;
use trefoil_sign::SigningKeys;

const ISSUER: &str = "https://auth.example";
const NOW: u64 = 1_800_000_000;

/// A log as bytes, its proofs made from them.
#[derive(Clone)]
struct Seals(Vec<Vec<u8>>);

impl Source for Seals {
    fn newest(&self) -> Result<Option<u64>, String> {
        Ok((self.0.len() as u64).checked_sub(1))
    }

    fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(number as usize).cloned().filter(|seal| !seal.is_empty()))
    }

    fn checkpoint(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn consistency(&self, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, String> {
        let digests: Vec<_> =
            self.0[..size as usize].iter().map(|seal| Seal::decode(seal).unwrap().header.digest()).collect();
        Ok(trefoil_attest::tree::MerkleTree::new(&digests).unwrap().consistency(old_size))
    }
}

/// Seals of each history.
const LENGTH: u64 = 9;

struct World {
    trust_root: TrustRoot,
    log: Seals,
    /// At `n`, a log with other seals from number `n` on: every place at which two histories can part.
    forks: Vec<Seals>,
}

impl World {
    /// One of them.
    fn fork(&self) -> &Seals {
        &self.forks[4]
    }
}

/// Histories of one length by the same keys.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut keys = SigningKeys::generate(NOW, NOW + 1000, &mut rand::rng()).unwrap();
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new(ISSUER, vec![active]).unwrap();
    let (mut log, mut forks) = (Vec::new(), Vec::new());
    let mut head = ChainHead::GENESIS;
    for number in 0..LENGTH {
        let (mut fork, mut other) = (log.clone(), head.clone());
        fork.extend((number..LENGTH).map(|number| seal(&mut keys, &mut other, number, 1)));
        forks.push(Seals(fork));
        log.push(seal(&mut keys, &mut head, number, 0));
    }
    World { trust_root, log: Seals(log), forks }
});

fn seal(keys: &mut SigningKeys, head: &mut ChainHead, number: u64, history: u8) -> Vec<u8> {
    let vaults = vec![Some(VaultState { generation: 10 + number, restored: 0 })];
    seal_of(keys, head, number, [history; 32], vaults)
}

fn seal_of(
    keys: &mut SigningKeys,
    head: &mut ChainHead,
    number: u64,
    root: Hash,
    vaults: Vec<Option<VaultState>>,
) -> Vec<u8> {
    let header = SealHeader {
        issuer: ISSUER.to_owned(),
        key_set_id: keys.id(),
        seal_number: number,
        previous: head.previous,
        log_root: head.log.root(),
        tree_size: 1,
        root,
        time: NOW + number,
        suite: Suite::One,
        vaults,
        restored: None,
    };
    head.follow(&header);
    keys.sign_seal(header, &mut rand::rng()).unwrap().encode()
}

fn cut(log: &Seals, length: usize) -> Seals {
    Seals(log.0[..length].to_vec())
}

fn run(log: &Seals, seen: &Head) -> Result<Head, AuditError> {
    audit(log, &WORLD.trust_root, seen, None).map(|(head, _)| head)
}

#[test]
fn an_audit_in_parts_ends_where_one_in_a_piece_does() {
    let whole = run(&WORLD.log, &Head::default()).unwrap();
    assert_eq!(whole.log.size(), 9);
    let mut head = Head::default();
    for length in [0, 1, 1, 4, 7, 9, 9] {
        head = run(&cut(&WORLD.log, length), &head).unwrap();
        let saved = head.to_json(ISSUER);
        assert_eq!(Head::from_json(saved.as_bytes(), ISSUER).unwrap(), head, "{length}");
    }
    assert_eq!(head, whole);
    let wrong = [
        Head::from_json(whole.to_json(ISSUER).replace("\"seals\": 9", "\"seals\": 7").as_bytes(), ISSUER),
        Head::from_json(whole.to_json("https://other.example").as_bytes(), ISSUER),
        Head::from_json(b"{}", ISSUER),
    ];
    assert!(wrong.iter().all(Result::is_err));
}

#[test]
fn a_log_that_was_cut_is_found_at_every_length() {
    for seen in 1..=9 {
        let head = run(&cut(&WORLD.log, seen), &Head::default()).unwrap();
        for length in 0..seen {
            let refused = run(&cut(&WORLD.log, length), &head).unwrap_err();
            assert!(matches!(refused, AuditError::Truncated { .. }), "{seen}, {length}: {refused}");
        }
    }
}

#[test]
fn a_fork_is_found_wherever_it_parts_and_however_much_was_seen() {
    let mut found = 0;
    for seen in 1..=LENGTH as usize {
        let head = run(&cut(&WORLD.log, seen), &Head::default()).unwrap();
        for (parts, fork) in WORLD.forks.iter().enumerate() {
            for length in seen..=LENGTH as usize {
                match run(&cut(fork, length), &head) {
                    // What was seen is of both histories.
                    Ok(grown) => assert!(seen <= parts && grown.log.size() == length as u64),
                    Err(AuditError::Forked(at)) => {
                        assert!(seen > parts && at == seen as u64 - 1, "{parts}, {seen}");
                        found += 1;
                    }
                    Err(other) => panic!("parts at {parts}, {seen} seen of {length}: {other}"),
                }
            }
        }
    }
    // At each length up to 9: as many places to part as were seen, with each length from there.
    assert_eq!(found, (1..=LENGTH).map(|seen| seen * (LENGTH - seen + 1)).sum::<u64>());
}

/// Of somebody who never looked at this log, but has what a witness of another history has signed.
#[test]
fn a_fork_is_found_by_a_witnessed_head_wherever_it_parts() {
    let World { log, forks, trust_root } = &*WORLD;
    for (parts, fork) in forks.iter().enumerate() {
        let digests: Vec<_> = fork.0.iter().map(|seal| Seal::decode(seal).unwrap().header.digest()).collect();
        for size in 1..LENGTH as usize {
            let tree = trefoil_attest::tree::MerkleTree::new(&digests[..size]).unwrap();
            let witnessed = Checkpoint { origin: ISSUER.to_owned(), size: size as u64, root: tree.root() };
            match audit(log, trust_root, &Head::default(), Some(&witnessed)) {
                Ok(_) => assert!(size <= parts, "parts at {parts}, {size} witnessed"),
                Err(AuditError::Witnessed(at)) => assert!(size > parts && at == size as u64),
                Err(other) => panic!("parts at {parts}, {size} witnessed: {other}"),
            }
        }
    }
}

#[test]
fn a_database_that_was_tampered_with_does_not_pass() {
    let (log, fork) = (&WORLD.log, WORLD.fork());
    let tampered = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut seals = log.clone();
        change(&mut seals.0);
        run(&seals, &Head::default()).unwrap_err()
    };
    assert!(matches!(tampered(&|seals| seals[5].clear()), AuditError::Missing(5)));
    assert!(matches!(tampered(&|seals| seals.swap(2, 3)), AuditError::Seal { number: 2, .. }));
    assert!(matches!(tampered(&|seals| drop(seals.remove(2))), AuditError::Seal { number: 2, .. }));
    assert!(matches!(tampered(&|seals| seals[6] = fork.0[6].clone()), AuditError::Chain(6)));
    // Every byte of a seal matters: a few of each part.
    for at in (0..log.0[3].len()).step_by(997) {
        let refused = tampered(&|seals| seals[3][at] ^= 1);
        assert!(matches!(refused, AuditError::Seal { number: 3, .. }), "byte {at}: {refused}");
    }
}

#[test]
fn an_issuer_that_commits_to_another_log_is_found() {
    let mut keys = SigningKeys::generate(NOW, NOW + 1000, &mut rand::rng()).unwrap();
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new(ISSUER, vec![active]).unwrap();
    let mut head = ChainHead::GENESIS;
    let first = seal(&mut keys, &mut head, 0, 0);
    let honest = head.clone();
    head.log.push(&[7; 32]);
    let wrong_root = seal(&mut keys, &mut head, 1, 0);
    let mut wrong_previous = ChainHead { previous: [7; 32], ..honest };
    let wrong_previous = seal(&mut keys, &mut wrong_previous, 1, 0);
    let run =
        |second: Vec<u8>| audit(&Seals(vec![first.clone(), second]), &trust_root, &Head::default(), None);
    assert!(matches!(run(wrong_root), Err(AuditError::LogRoot(1))));
    assert!(matches!(run(wrong_previous), Err(AuditError::Chain(1))));
}

#[test]
fn a_witnessed_head_must_lie_on_this_log() {
    let (World { log, trust_root, .. }, fork) = (&*WORLD, WORLD.fork());
    let witnessed = run(&cut(fork, 7), &Head::default()).unwrap().checkpoint(ISSUER).unwrap();
    assert_eq!(witnessed.size, 6);
    let with =
        |log: &Seals, seen: &Head, checkpoint: &Checkpoint| audit(log, trust_root, seen, Some(checkpoint));
    let none = Head::default();
    assert!(with(fork, &none, &witnessed).is_ok());
    assert!(matches!(with(log, &none, &witnessed), Err(AuditError::Witnessed(6))));
    let late = run(fork, &none).unwrap();
    assert!(matches!(with(fork, &late, &witnessed), Err(AuditError::CheckpointAge { .. })));
    assert!(matches!(with(&cut(fork, 5), &none, &witnessed), Err(AuditError::CheckpointAge { .. })));
    let other = Checkpoint { origin: "https://other.example".to_owned(), ..witnessed };
    assert!(matches!(with(fork, &none, &other), Err(AuditError::CheckpointOrigin(_))));
}

#[test]
fn a_source_with_false_proofs_is_found() {
    struct Lying(Seals);
    impl Source for Lying {
        fn newest(&self) -> Result<Option<u64>, String> {
            self.0.newest()
        }
        fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
            self.0.seal(number)
        }
        fn checkpoint(&self) -> Result<Option<String>, String> {
            self.0.checkpoint()
        }
        fn consistency(&self, _: u64, _: u64) -> Result<Option<Vec<Hash>>, String> {
            Ok(Some(vec![[0; 32]; 3]))
        }
    }
    let seen = run(&cut(&WORLD.log, 5), &Head::default()).unwrap();
    let refused = audit(&Lying(WORLD.log.clone()), &WORLD.trust_root, &seen, None).unwrap_err();
    assert!(matches!(refused, AuditError::Consistency { old_size: 5, size: 8 }));
}

/// The whole log as it goes back and is taken by name, with everything else about it right.
#[test]
fn an_older_vault_is_found_in_whatever_parts_the_log_is_audited_and_a_restored_one_is_a_notice() {
    let mut keys = SigningKeys::generate(NOW, NOW + 1000, &mut rand::rng()).unwrap();
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new(ISSUER, vec![active]).unwrap();
    let mut log_of = |states: &[Option<(u64, u64)>]| {
        let mut head = ChainHead::GENESIS;
        let state = |(generation, restored)| VaultState { generation, restored };
        let sealed = (0..)
            .zip(states)
            .map(|(number, vault)| seal_of(&mut keys, &mut head, number, [0; 32], vec![vault.map(state)]));
        Seals(sealed.collect())
    };
    let lying = log_of(&[Some((7, 0)), None, Some((5, 0))]);
    let honest = log_of(&[Some((7, 0)), None, Some((5, 1))]);
    for seen in 0..=2 {
        let saved = |log: &Seals| {
            let (head, notices) = audit(&cut(log, seen), &trust_root, &Head::default(), None).unwrap();
            assert_eq!(notices, []);
            Head::from_json(head.to_json(ISSUER).as_bytes(), ISSUER).unwrap()
        };
        let found = audit(&lying, &trust_root, &saved(&lying), None).unwrap_err();
        assert!(matches!(found, AuditError::OlderVault { seal: 2, seat: 1, .. }), "{seen}: {found}");
        let (_, notices) = audit(&honest, &trust_root, &saved(&honest), None).unwrap();
        assert!(matches!(notices[..], [Notice::Restored { seal: 2, seat: 1, .. }]), "{seen}: {notices:?}");
    }
}
