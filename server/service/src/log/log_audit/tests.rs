use super::*;
use std::sync::LazyLock;
use trefoil_attest::{KeySetStatus, Seal, SealHeader, Suite, TrustedKeySet};
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

    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
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
    let vaults = vec![Some(VaultState { generation: 10 + number, ..VaultState::default() })];
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
    audit(log, &WORLD.trust_root, seen, None).map(|audited| audited.head)
}

#[test]
fn an_audit_in_parts_ends_where_one_in_a_piece_does() {
    let whole = run(&WORLD.log, &Head::default()).unwrap();
    assert_eq!(whole.log.size(), 9);
    let mut head = Head::default();
    for length in [0, 1, 1, 4, 7, 9, 9] {
        head = run(&cut(&WORLD.log, length), &head).unwrap();
        assert_eq!(Head::try_from(head.kept()).unwrap(), head, "{length}");
    }
    assert_eq!(head.marks.kept().len(), 4, "each audit that saw more leaves a mark");
    assert_eq!(Head { marks: whole.marks.clone(), ..head }, whole);
    let kept = whole.kept();
    let wrong = [
        KeptHead { seals: 7, ..kept.clone() },
        KeptHead { signed_root: None, ..kept.clone() },
        KeptHead { sealed_at: None, ..kept.clone() },
        KeptHead { vaults: vec![None; VAULTS_MAX + 1], ..kept.clone() },
        KeptHead { marks: vec![(10, [0; 32])], ..kept },
    ]
    .map(Head::try_from);
    assert!(wrong.iter().all(Result::is_err));
}

#[test]
fn a_log_without_new_seals_is_refused_under_a_trust_root_of_other_keys() {
    let head = run(&WORLD.log, &Head::default()).unwrap();
    let keys = SigningKeys::generate(NOW, NOW + 1000, &mut rand::rng()).unwrap();
    let other = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let other = TrustRoot::new(ISSUER, vec![other]).unwrap();
    let refused = audit(&WORLD.log, &other, &head, None);
    assert!(matches!(refused, Err(AuditError::Seal { number: 8, .. })), "{refused:?}");
    assert_eq!(run(&WORLD.log, &head).unwrap(), head);
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
                    // Both histories have the seals that were seen.
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

/// A first audit of this log, with a checkpoint that a witness of another history has signed.
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
        fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
            self.0.entry(number)
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

/// Claim V6: An audit of the log, made in any number of steps, finds a vault that went back, and reports one whose restoration the operator
/// accepted.
///
/// A log whose vault goes back and is accepted by flag, with everything else correct.
#[test]
fn an_older_vault_is_found_in_whatever_parts_the_log_is_audited_and_a_restored_one_is_a_notice() {
    let mut keys = SigningKeys::generate(NOW, NOW + 1000, &mut rand::rng()).unwrap();
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new(ISSUER, vec![active]).unwrap();
    let mut log_of = |states: &[Option<(u64, u64)>]| {
        let mut head = ChainHead::GENESIS;
        let state = |(generation, restored)| VaultState { generation, restored, jobs: None };
        let sealed = (0..)
            .zip(states)
            .map(|(number, vault)| seal_of(&mut keys, &mut head, number, [0; 32], vec![vault.map(state)]));
        Seals(sealed.collect())
    };
    let lying = log_of(&[Some((7, 0)), None, Some((5, 0))]);
    let honest = log_of(&[Some((7, 0)), None, Some((5, 1))]);
    for seen in 0..=2 {
        let saved = |log: &Seals| {
            let Audited { head, notices, .. } =
                audit(&cut(log, seen), &trust_root, &Head::default(), None).unwrap();
            assert_eq!(notices, []);
            Head::try_from(head.kept()).unwrap()
        };
        let found = audit(&lying, &trust_root, &saved(&lying), None).unwrap_err();
        assert!(matches!(found, AuditError::OlderVault { seal: 2, seat: 1, .. }), "{seen}: {found}");
        let notices = audit(&honest, &trust_root, &saved(&honest), None).unwrap().notices;
        assert!(matches!(notices[..], [Notice::Restored { seal: 2, seat: 1, .. }]), "{seen}: {notices:?}");
    }
}

/// A service with keys that makes logs which diverge where they are restored.
struct Restoring {
    keys: SigningKeys,
    trust_root: TrustRoot,
}

/// The log so far, and its end.
#[derive(Clone)]
struct Branch {
    log: Seals,
    head: ChainHead,
    restored: Option<Restoration>,
}

impl Restoring {
    fn new() -> Restoring {
        let keys = SigningKeys::generate(NOW, NOW + 100_000, &mut rand::rng()).unwrap();
        let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
        Restoring { keys, trust_root: TrustRoot::new(ISSUER, vec![active]).unwrap() }
    }

    /// Seals up to `length` in all, the next at `time` and each a second after the one before.
    fn grow(&mut self, branch: &mut Branch, length: usize, time: u64) {
        for number in branch.log.0.len()..length {
            let header = SealHeader {
                issuer: ISSUER.to_owned(),
                key_set_id: self.keys.id(),
                seal_number: number as u64,
                previous: branch.head.previous,
                log_root: branch.head.log.root(),
                tree_size: 1,
                root: rand::random(),
                time: time + number as u64,
                suite: Suite::One,
                vaults: vec![Some(VaultState { generation: number as u64, ..VaultState::default() })],
                restored: branch.restored,
            };
            branch.head.follow(&header);
            let seal = self.keys.sign_seal(header, &mut rand::rng()).unwrap();
            branch.log.0.push(seal.encode());
        }
    }

    /// The log of `branch` as a backup after `length` seals has it, restored at `time`.
    fn restore(&mut self, branch: &Branch, length: usize, time: u64) -> Branch {
        let mut head = ChainHead::GENESIS;
        for seal in &branch.log.0[..length] {
            head.follow(&Seal::decode(seal).unwrap().header);
        }
        let restored = Some(Restoration { first: length as u64, time });
        Branch { log: cut(&branch.log, length), head, restored }
    }

    fn audit(&self, branch: &Branch, seen: &Head) -> Result<Audited, AuditError> {
        let audited = audit(&branch.log, &self.trust_root, seen, None)?;
        let saved = Head::try_from(audited.head.kept()).unwrap();
        assert_eq!(saved, audited.head);
        Ok(audited)
    }
}

const BEGUN: Branch = Branch { log: Seals(Vec::new()), head: ChainHead::GENESIS, restored: None };

/// Claim V33.
#[test]
fn whoever_kept_a_head_of_a_lost_part_finds_the_restoration_and_no_fork() {
    let mut service = Restoring::new();
    let mut old = BEGUN;
    service.grow(&mut old, 11, NOW);
    for backup in 0..=11 {
        let mut restored = service.restore(&old, backup, NOW + 50);
        service.grow(&mut restored, backup + 3, NOW + 50);
        let whole = service.audit(&restored, &Head::default()).unwrap();
        assert_eq!(whole.head.restorations, [Restoration { first: backup as u64, time: NOW + 50 }]);
        for seen in 0..=11 {
            for earlier in 0..=seen {
                // Two audits of the old log, then one of the restored.
                let part = |length| Branch { log: cut(&old.log, length), ..BEGUN };
                let first = service.audit(&part(earlier), &Head::default()).unwrap().head;
                let head = service.audit(&part(seen), &first).unwrap().head;
                let found = service.audit(&restored, &head).unwrap();
                assert_eq!(Head { marks: whole.head.marks.clone(), ..found.head }, whole.head);
                let lost = found.notices.iter().find_map(|notice| match notice {
                    Notice::Lost { seen, kept, .. } => Some((*seen, *kept)),
                    _ => None,
                });
                let kept = if earlier <= backup { earlier } else { 0 };
                let expected = (seen > backup).then_some((seen as u64, kept as u64));
                assert_eq!(lost, expected, "backup at {backup}, seen {earlier} and {seen}");
            }
        }
    }
}

/// Claim V33.
///
/// Seals seen before the backup must be in the log, whatever restoration the service claims.
#[test]
fn a_restoration_excuses_nothing_that_is_older_than_its_backup_or_newer_than_itself() {
    let mut service = Restoring::new();
    let mut old = BEGUN;
    service.grow(&mut old, 6, NOW);
    let seen_at = |service: &Restoring, length: usize, first: Head| {
        service.audit(&Branch { log: cut(&old.log, length), ..BEGUN }, &first).unwrap().head
    };
    let six = seen_at(&service, 6, seen_at(&service, 4, Head::default()));
    // Another history up to the backup: the mark at 4 is not in it.
    let mut other = BEGUN;
    service.grow(&mut other, 5, NOW);
    let mut rewritten = service.restore(&other, 5, NOW + 50);
    service.grow(&mut rewritten, 8, NOW + 50);
    assert!(matches!(service.audit(&rewritten, &six), Err(AuditError::Forked(3))));
    let four = seen_at(&service, 4, Head::default());
    assert!(matches!(service.audit(&rewritten, &four), Err(AuditError::Forked(3))));
    // The service goes on with the old log, and with a restored one: seal 7 is after the restoration.
    let mut alive = old.clone();
    service.grow(&mut alive, 8, NOW + 60);
    let late = service.audit(&alive, &six).unwrap().head;
    let mut restored = service.restore(&old, 4, NOW + 50);
    service.grow(&mut restored, 9, NOW + 50);
    assert!(matches!(service.audit(&restored, &late), Err(AuditError::Forked(7))));
    assert!(service.audit(&restored, &six).is_ok());
    // And the reverse: an auditor that saw the restored log detects the old one.
    let restored_head = service.audit(&restored, &six).unwrap().head;
    let refused = service.audit(&alive, &restored_head).unwrap_err();
    assert!(matches!(refused, AuditError::Truncated { .. } | AuditError::Forked(_)), "{refused}");
    // Two services on one backup, restored one after the other.
    let mut second = service.restore(&old, 4, NOW + 70);
    service.grow(&mut second, 9, NOW + 70);
    let moved = service.audit(&second, &restored_head).unwrap();
    assert_eq!(moved.head.restorations, [Restoration { first: 4, time: NOW + 70 }]);
    service.grow(&mut restored, 12, NOW + 80);
    let both = service.audit(&restored, &restored_head).unwrap().head;
    assert!(matches!(
        service.audit(&second, &both),
        Err(AuditError::Forked(11) | AuditError::Truncated { .. })
    ));
    assert!(service.audit(&restored, &moved.head).is_err(), "never back to an earlier restoration");
}

#[test]
fn restorations_of_restorations_are_followed_and_those_that_are_misdated_are_not() {
    let mut service = Restoring::new();
    let mut old = BEGUN;
    service.grow(&mut old, 6, NOW);
    let six = service.audit(&old, &Head::default()).unwrap().head;
    let mut once = service.restore(&old, 4, NOW + 50);
    service.grow(&mut once, 9, NOW + 50);
    let nine = service.audit(&once, &six).unwrap().head;
    let mut twice = service.restore(&once, 8, NOW + 90);
    service.grow(&mut twice, 12, NOW + 90);
    let both = [Restoration { first: 4, time: NOW + 50 }, Restoration { first: 8, time: NOW + 90 }];
    for seen in [&Head::default(), &six, &nine] {
        let found = service.audit(&twice, seen).unwrap();
        assert_eq!(found.head.restorations, both);
        let lost: Vec<_> = found
            .notices
            .iter()
            .filter_map(|notice| match notice {
                Notice::Lost { restored, .. } => Some(restored.first),
                _ => None,
            })
            .collect();
        // Of six seals, two were lost the first time; of nine, one the second time.
        let expected = match seen.log.size() {
            6 => vec![4],
            9 => vec![8],
            _ => vec![],
        };
        assert_eq!(lost, expected);
    }
    // A vault that went back with the log.
    let mut older = service.restore(&old, 2, NOW + 50);
    service.grow(&mut older, 4, NOW + 50);
    let found = service.audit(&older, &six).unwrap();
    assert!(found.notices.iter().any(|notice| matches!(notice, Notice::VaultSetBack { seat: 1, .. })));
    for (wrong, at) in [
        // It begins before itself, is older than its backup, and is omitted.
        (Some(Restoration { first: 3, time: NOW + 50 }), 4),
        (Some(Restoration { first: 4, time: NOW + 1 }), 4),
    ] {
        let mut misdated = Branch { restored: wrong, ..service.restore(&old, 4, NOW) };
        service.grow(&mut misdated, 6, NOW + 50);
        let refused = service.audit(&misdated, &Head::default()).unwrap_err();
        assert!(matches!(refused, AuditError::Restoration(number) if number == at), "{refused}");
    }
    let mut forgotten = Branch { restored: None, ..once.clone() };
    service.grow(&mut forgotten, 11, NOW + 60);
    assert!(matches!(service.audit(&forgotten, &nine), Err(AuditError::Restoration(9))));
}

#[test]
fn a_witnessed_head_of_a_lost_part_is_no_witness_of_the_restored_log() {
    let mut service = Restoring::new();
    let mut old = BEGUN;
    service.grow(&mut old, 7, NOW);
    let witnessed = service.audit(&old, &Head::default()).unwrap().head.checkpoint(ISSUER).unwrap();
    assert_eq!(witnessed.size, 6);
    let mut restored = service.restore(&old, 4, NOW + 50);
    service.grow(&mut restored, 9, NOW + 50);
    let with = |log: &Branch, checkpoint: &Checkpoint| {
        audit(&log.log, &service.trust_root, &Head::default(), Some(checkpoint))
    };
    let refused = with(&restored, &witnessed).unwrap_err();
    assert!(matches!(refused, AuditError::WitnessedLost { size: 6, first: 4, .. }), "{refused}");
    let newer = service.audit(&restored, &Head::default()).unwrap().head.checkpoint(ISSUER).unwrap();
    assert!(with(&restored, &newer).is_ok());
    // A head of the backup itself is still in the log, and another head of that size is not.
    let of_backup = service.audit(&Branch { log: cut(&old.log, 5), ..BEGUN }, &Head::default());
    assert!(with(&restored, &of_backup.unwrap().head.checkpoint(ISSUER).unwrap()).is_ok());
    let forged = Checkpoint { size: 3, root: [0; 32], ..newer };
    assert!(matches!(with(&restored, &forged), Err(AuditError::Witnessed(3))));
}

#[test]
fn marks_stay_few_and_near_enough_wherever_a_backup_was_made() {
    let mut marks = Marks::default();
    let last = 1_000_000;
    for size in 1..=last {
        marks.pass(size, [0; 32]);
    }
    assert!(marks.kept().len() <= 128, "{}", marks.kept().len());
    for backup in (300..last).step_by(997) {
        let (kept, _) = marks.newest_within(backup).unwrap();
        let (lost, behind) = (last - backup, backup - kept);
        assert!(behind <= 256 + lost, "{backup} of {last}: {kept}");
    }
    assert_eq!(Marks::of(marks.kept(), last).unwrap(), marks);
    assert!(Marks::of(marks.kept(), 1000).is_err());
    let mut twice = marks.kept();
    twice.insert(0, twice[0]);
    assert!(Marks::of(twice, last).is_err());
}
