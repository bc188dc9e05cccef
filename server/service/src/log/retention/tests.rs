//! Pruned logs: what stays, what is archived, and what an auditor and a relying party can still check.

use super::*;
use crate::log::log_audit::{AuditError, Audited, Source, audit};
use crate::log::log_store::chain_head;
use crate::scratch::scratch;
use std::collections::HashSet;
use tempfile::TempDir;
use trefoil_attest::tree::Hash;
use trefoil_attest::{Family, KeySetStatus, Seal, Suite, TrustedKeySet, VerifyError, verify_pruned_seal};
use trefoil_pipeline::ChainHead;
use trefoil_sign::SigningKeys;
use trefoil_storage::store::{Log as _, Sqlite, Tables as _};
use trefoil_testing::volume;
use trefoil_types::KeySetId;

const ISSUER: &str = "https://auth.example";
const START: u64 = 1_800_000_000;

fn header(head: &ChainHead, key_set_id: [u8; 32], time: u64) -> SealHeader {
    SealHeader {
        issuer: ISSUER.to_owned(),
        key_set_id: KeySetId::new(key_set_id),
        seal_number: head.next_number(),
        previous: head.previous,
        log_root: head.log.root(),
        tree_size: 1,
        root: [head.next_number() as u8; 32],
        time,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    }
}

fn put(store: &dyn Store, head: &mut ChainHead, seal: &Seal) {
    let completed = head.log.clone().push(&seal.header.digest());
    head.follow(&seal.header);
    store.put_seal(seal.header.seal_number, seal.encode(), completed).unwrap();
}

/// A seal a second, with signatures of zeros, from `head` on; those from `rotated` on are of other keys.
fn fill(store: &dyn Store, head: &mut ChainHead, count: u64, rotated: u64) {
    for _ in 0..count {
        let number = head.next_number();
        let header = header(head, [u8::from(number >= rotated); 32], START + number);
        put(
            store,
            head,
            &Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) },
        );
    }
}

fn pruner(store: &dyn Store, archive: Option<&Path>) -> Pruner {
    let keeping = Keeping { full_s: 30, checkpoint_s: 50, archive: archive.map(Path::to_owned) };
    let mut pruner = Pruner::new(keeping, store).unwrap();
    // A file of its own size would take thousands of seals.
    pruner.group = pruner.group.min(32);
    pruner
}

fn run(pruner: &mut Pruner, store: &dyn Store, now: u64) -> Result<u64, RetentionError> {
    let retained = Retained::default();
    while pruner.step(store, now, &retained)? {}
    Ok(retained.counts()[0])
}

/// Numbers of the seals that have their signatures.
fn signed_ones(store: &dyn Store) -> HashSet<u64> {
    let newest = store.last_seal().unwrap().unwrap().0;
    (0..=newest).filter(|number| signed(store, *number).is_ok()).collect()
}

fn reopened_after(test: impl Fn(&dyn Store)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let store = Sqlite::open(&path, &[7; 32]).unwrap();
    test(&store);
    drop(store);
    Sqlite::open(&path, &[7; 32]).expect("the sum of the rows followed");
}

#[test]
fn old_seals_lose_their_signatures_and_checkpoints_and_newer_ones_keep_theirs() {
    reopened_after(|store| {
        let mut head = ChainHead::GENESIS;
        fill(store, &mut head, 200, 120);
        let now = START + 199;
        let count = run(&mut pruner(store, None), store, now).unwrap();
        // Whole groups of 16 that are older than 30 s: up to 159. A period of 50 s ends where the time is a multiple of it.
        let last = (199 - 30) / 16 * 16;
        let ends = |number: u64| (START + number) / 50 != (START + number + 1) / 50 || number == 119;
        let kept: HashSet<u64> = (0..200).filter(|number| *number >= last || ends(*number)).collect();
        assert_eq!(signed_ones(store), kept);
        assert_eq!(count, 200 - kept.len() as u64);
        assert_eq!(chain_head(store, |_| Ok(())).unwrap(), head);
        // Every proof is still available, also for pruned seals.
        for number in 0..200 {
            assert!(log_store::entry(store, number).unwrap().is_some());
            assert_eq!(
                log_store::pruned(store, number).unwrap().is_some(),
                number != 119 && number != 199,
                "{number}"
            );
        }
        for number in (0..199).step_by(7) {
            assert!(log_store::inclusion(store, number, 199).unwrap().is_some());
            assert_eq!(log_store::consistency(store, number, 199).unwrap().is_some(), number > 0);
        }
        // A restarted process finds nothing to do, and continues as time passes.
        assert_eq!(run(&mut pruner(store, None), store, now).unwrap(), 0);
        fill(store, &mut head, 100, 120);
        assert!(run(&mut pruner(store, None), store, now + 100).unwrap() > 80);
        assert!(!signed_ones(store).contains(&180) && signed_ones(store).contains(&119));
    });
}

#[test]
fn nothing_goes_before_its_time_and_the_newest_seal_never() {
    reopened_after(|store| {
        let mut head = ChainHead::GENESIS;
        let mut pruner = pruner(store, None);
        assert_eq!(run(&mut pruner, store, u64::MAX).unwrap(), 0, "an empty log");
        fill(store, &mut head, 16, u64::MAX);
        assert_eq!(run(&mut pruner, store, u64::MAX).unwrap(), 0, "the newest would go");
        fill(store, &mut head, 1, u64::MAX);
        assert_eq!(run(&mut pruner, store, START + 44).unwrap(), 0);
        assert!(run(&mut pruner, store, START + 45).unwrap() > 0);
        assert!(signed_ones(store).contains(&16));
    });
}

/// The seals of all files, by number.
fn archived(directory: &Path) -> Vec<Seal> {
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut seals = Vec::new();
    for file in files {
        assert_eq!(file.extension().unwrap(), "cborseq");
        let bytes = std::fs::read(&file).unwrap();
        // The length of a seal here is that of the first.
        let length = bytes.len() / 32;
        let numbers = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let first: u64 = numbers.split('-').nth(1).unwrap().parse().unwrap();
        let mut at = 0;
        while at < bytes.len() {
            // Numbers are encoded in one to three bytes.
            let seal = (length.saturating_sub(8)..length + 8)
                .find_map(|length| Seal::decode(bytes.get(at..at + length)?).ok())
                .unwrap_or_else(|| panic!("{}: no seal at {at}", file.display()));
            at += seal.encode().len();
            assert_eq!(seal.header.seal_number, first + seals.len() as u64 - first);
            seals.push(seal);
        }
    }
    seals
}

/// A store that stops working in the middle, as a process does that is killed.
struct Killed<'a> {
    store: &'a Sqlite,
    steps: AtomicU64,
}

impl Killed<'_> {
    fn prune(&self, pruner: &mut Pruner) -> bool {
        let retained = Retained::default();
        while self.steps.fetch_sub(1, Ordering::Relaxed) > 0 {
            if !pruner.step(self.store, u64::MAX, &retained).unwrap() {
                return true;
            }
        }
        false
    }
}

/// Claim V16: No seal is pruned before it is in the archive, whenever the process is killed.
#[test]
fn a_process_killed_at_any_step_archives_every_seal_once_and_whole() {
    for steps in 0..8 {
        let ((store, _folder), directory) = (scratch(), tempfile::tempdir().unwrap());
        let mut head = ChainHead::GENESIS;
        fill(&store, &mut head, 100, 40);
        let whole: Vec<Vec<u8>> = (0..96).map(|number| store.seal(number).unwrap().unwrap()).collect();
        // Between archive and prune.
        let mut first = pruner(&store, Some(directory.path()));
        if steps == 0 {
            assert!(first.begin(&store, u64::MAX, &Retained::default()).unwrap());
            std::fs::write(
                directory.path().join("seals-00000000000000000032-00000000000000000063.draft"),
                "half",
            )
            .unwrap();
        }
        Killed { store: &store, steps: AtomicU64::new(steps) }.prune(&mut first);
        run(&mut pruner(&store, Some(directory.path())), &store, u64::MAX).unwrap();
        let found: Vec<Vec<u8>> = archived(directory.path()).iter().map(Seal::encode).collect();
        assert!(found == whole, "killed after {steps} steps: {} seals", found.len());
        assert!(signed_ones(&store).len() < 10);
    }
}

/// Claim V16.
#[test]
fn no_seal_goes_that_is_not_in_the_archive() {
    let ((store, _folder), directory) = (scratch(), tempfile::tempdir().unwrap());
    let mut head = ChainHead::GENESIS;
    fill(&store, &mut head, 100, u64::MAX);
    let missing = directory.path().join("missing");
    let refused = run(&mut pruner(&store, Some(&missing)), &store, u64::MAX).unwrap_err();
    assert!(refused.to_string().contains("missing"), "{refused}");
    assert_eq!(signed_ones(&store).len(), 100);
    // A file of this name with other content.
    let name = directory.path().join(format!("seals-{:020}-{:020}.cborseq", 0, 31));
    std::fs::write(&name, "other").unwrap();
    let refused = run(&mut pruner(&store, Some(directory.path())), &store, u64::MAX).unwrap_err();
    assert!(refused.to_string().contains("move it away"), "{refused}");
    assert_eq!(signed_ones(&store).len(), 100);
    std::fs::remove_file(name).unwrap();
    run(&mut pruner(&store, Some(directory.path())), &store, u64::MAX).unwrap();
    assert_eq!(archived(directory.path()).len(), 96);
}

#[test]
fn the_file_system_gets_back_what_old_seals_took() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let store = Sqlite::open(&path, &[7; 32]).unwrap();
    let mut head = ChainHead::GENESIS;
    fill(&store, &mut head, 1500, u64::MAX);
    let length = || {
        store.checkpoint().unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let before = length();
    run(&mut pruner(&store, None), &store, u64::MAX).unwrap();
    while store.shrink(1 << 20).unwrap() {}
    let after = length();
    assert!(before > 1500 * 21_000 && after < 1500 * 700 + (3 << 20), "{before} bytes, then {after}");
    drop(store);
    let store = Sqlite::open(&path, &[7; 32]).unwrap();
    assert_eq!(chain_head(&store, |_| Ok(())).unwrap(), head);
}

/// A store as an auditor reads it.
struct Read<'a>(&'a dyn Store);

impl Source for Read<'_> {
    fn newest(&self) -> Result<Option<u64>, String> {
        Ok(self.0.last_seal().unwrap().map(|(number, _)| number))
    }

    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.seal(number).unwrap())
    }

    fn checkpoint(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn consistency(&self, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, String> {
        Ok(log_store::consistency(self.0, old_size, size).unwrap())
    }
}

/// A log that two key sets signed, and the trust root of both.
struct Signed {
    store: Sqlite,
    folder: TempDir,
    trust_root: TrustRoot,
    /// Where the second begins.
    rotated: u64,
    last: u64,
}

fn signed_log() -> Signed {
    let (rotated, last) = (40, volume(200, 80) as u64);
    let mut keys = [(); 2].map(|()| SigningKeys::generate(START, START + 10_000, &mut rand::rng()).unwrap());
    let trusted =
        |keys: &SigningKeys| TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let trust_root = TrustRoot::new(ISSUER, keys.iter().map(trusted).collect()).unwrap();
    let ((store, folder), mut head) = (scratch(), ChainHead::GENESIS);
    for number in 0..=last {
        let signer = &mut keys[usize::from(number >= rotated)];
        let header = header(&head, signer.id().to_bytes(), START + number);
        put(&store, &mut head, &signer.sign_seal(header, &mut rand::rng()).unwrap());
    }
    Signed { store, folder, trust_root, rotated, last }
}

/// A copy of a store in which some seals are changed.
fn edited(store: &Sqlite, edit: impl Fn(Seal) -> Vec<u8>, at: u64) -> (Sqlite, TempDir) {
    let (copy, folder) = scratch();
    let (newest, _) = store.last_seal().unwrap().unwrap();
    for number in 0..=newest {
        let bytes = store.seal(number).unwrap().unwrap();
        let bytes = if number == at { edit(Seal::decode(&bytes).unwrap()) } else { bytes };
        let completed = 0..=(number + 1).trailing_zeros() as u8;
        let nodes = completed.map(|level| store.log_node(level, number >> level).unwrap().unwrap());
        copy.put_seal(number, bytes, nodes.collect()).unwrap();
    }
    (copy, folder)
}

/// Claim V15: An audit of a pruned log covers every seal, and fails if no signature covers one.
#[test]
fn a_pruned_log_is_audited_whole_and_each_of_its_seals_verifies_offline() {
    let Signed { store, folder: _folder, trust_root, rotated, last } = signed_log();
    let all = |store: &dyn Store| audit(&Read(store), &trust_root, &Head::default(), None);
    let Audited { head: before, notices, .. } = all(&store).unwrap();
    assert_eq!(notices, []);
    let pruned = run(&mut pruner(&store, None), &store, u64::MAX).unwrap();
    let Audited { head: after, notices, .. } = all(&store).unwrap();
    assert_eq!(after, before, "the same head as before it was pruned");
    assert_eq!(notices, [Notice::Pruned { signed: last + 1 - pruned, pruned }]);
    for number in (0..last).filter(|number| *number != rotated - 1) {
        let seal = log_store::pruned(&store, number).unwrap().unwrap();
        assert_eq!(verify_pruned_seal(&seal, &trust_root), Ok(()), "{number}");
    }
    // The owner drops the signatures of a checkpoint: those of a later one suffice, but not those of other keys.
    let without = |number| edited(&store, |seal| seal.header.encode(), number);
    let checkpoints = signed_ones(&store);
    let middle =
        checkpoints.iter().copied().find(|number| *number >= rotated && *number + 20 < last).unwrap();
    assert_eq!(all(&without(middle).0).unwrap().head, before);
    let (lost, _lost) = without(rotated - 1);
    let first =
        checkpoints.iter().copied().filter(|number| *number < rotated - 1).max().map_or(0, |last| last + 1);
    assert!(matches!(all(&lost), Err(AuditError::Unsigned(number)) if number == first));
    assert!(log_store::pruned(&lost, rotated - 2).unwrap().is_none(), "and says so");
    let (newest, _newest) = without(last);
    assert!(matches!(all(&newest), Err(AuditError::Unsigned(_))));
    // Another header in place of a pruned one, and an invalid signature.
    let checkpoint =
        |seal: Seal| Seal { signatures: seal.signatures.map(|bytes| vec![0; bytes.len()]), ..seal }.encode();
    let (unsigned, _unsigned) = edited(&store, checkpoint, middle);
    assert!(matches!(all(&unsigned), Err(AuditError::Seal { number, .. }) if number == middle));
    let other = |seal: Seal| SealHeader { time: seal.header.time + 1, ..seal.header }.encode();
    let (altered, _altered) = edited(&store, other, middle);
    assert!(matches!(all(&altered), Err(AuditError::Chain(number)) if number == middle + 1));
    // Keys that were revoked sealed nothing, pruned or not.
    let status = |keys: &TrustedKeySet, status| TrustedKeySet { keys: keys.keys.clone(), status };
    let [old, new] = trust_root.key_sets() else { panic!("two key sets") };
    let sets =
        vec![status(old, KeySetStatus::Revoked { since: START + 500 }), status(new, KeySetStatus::Active)];
    let revoked = TrustRoot::new(ISSUER, sets).unwrap();
    assert!(matches!(
        audit(&Read(&store), &revoked, &Head::default(), None),
        Err(AuditError::Seal { number: 0, .. })
    ));
    let seal = log_store::pruned(&store, 0).unwrap().unwrap();
    assert!(matches!(verify_pruned_seal(&seal, &revoked), Err(VerifyError::RevokedKeySet { .. })));
}

/// A store in which a seal was made, and the one before it pruned, after an auditor had asked for the newest.
struct Late<'a>(Read<'a>, std::cell::Cell<bool>);

impl Source for Late<'_> {
    fn newest(&self) -> Result<Option<u64>, String> {
        let newest = self.0.newest()?;
        Ok(if self.1.replace(true) { newest } else { newest.map(|newest| newest - 30) })
    }

    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        self.0.entry(number)
    }

    fn checkpoint(&self) -> Result<Option<String>, String> {
        self.0.checkpoint()
    }

    fn consistency(&self, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, String> {
        self.0.consistency(old_size, size)
    }
}

#[test]
fn an_audit_whose_newest_seal_is_pruned_meanwhile_goes_on_to_one_that_signs_for_it() {
    let Signed { store, folder: _folder, trust_root, last, .. } = signed_log();
    run(&mut pruner(&store, None), &store, u64::MAX).unwrap();
    assert!(signed(&store, last - 30).is_err(), "pruned");
    let source = Late(Read(&store), false.into());
    let head = audit(&source, &trust_root, &Head::default(), None).unwrap().head;
    assert_eq!(head.log.size(), last + 1);
}

/// Claim V15.
#[test]
fn audits_and_proofs_go_on_while_seals_are_pruned() {
    let Signed { store, folder: _folder, trust_root, last, .. } = signed_log();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut rounds = 0;
                while rounds == 0 || !done.load(Ordering::Relaxed) {
                    audit(&Read(&store), &trust_root, &Head::default(), None).unwrap();
                    for number in 0..last {
                        log_store::entry(&store, number).unwrap().unwrap();
                        log_store::inclusion(&store, number, last).unwrap().unwrap();
                    }
                    rounds += 1;
                }
            })
        });
        let mut pruner = pruner(&store, None);
        while pruner.step(&store, u64::MAX, &Retained::default()).unwrap() {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert!(signed_ones(&store).len() < 30);
}
