//! Backups of a running key-holder, and `kill -9` of one at random moments under load.

use crate::world::{Gateway, House, PATIENCE, TENANT, end_of_log, lenient};
use rand::RngExt as _;
use std::collections::HashSet;
use std::path::Path;
use trefoil_types::Handle;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use trefoil_host::backup::{BackupError, Manifest, Passphrase};
use trefoil_key_holder::backup::{self, VAULT};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Enrolment, KeyHolderError, KeyHolding as _, Lane, TemplateName,
    split,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_testing::volume;

/// Rounds of backup and restore, and kills, at full volume.
const ROUNDS: usize = 20;
const KILLS: usize = 100;
const THREADS: usize = 3;

fn passphrase() -> Passphrase {
    let Ok(passphrase) = Passphrase::new(b"correct horse battery".to_vec().into()) else {
        panic!("too short")
    };
    passphrase
}

fn make(data: &Path, to: &Path) -> Result<Manifest, BackupError> {
    backup::make(data, to, &passphrase(), &[VAULT], |_| Ok(None), crate::world::now(), &mut |_| ())
}

fn restore(from: &Path, into: &Path) -> Result<Manifest, BackupError> {
    backup::restore(from, into, &passphrase(), &[VAULT], crate::world::now(), &mut |_| (), |_, _| Ok(()))
}

/// Enrols somebody; the name.
fn enrol(gateway: &Gateway, face: &Embedding) -> Result<TemplateName, KeyHolderError> {
    let mut rng = rand::rng();
    let name = TemplateName { tenant: TENANT, handle: Handle::new(rng.random()), generation: 1 };
    let (blinded, _) = split(face, &mut rng);
    let enrolment =
        Enrolment { name, lane: Lane::random(&mut rng), model: gateway.model, template: blinded.into() };
    gateway.remote.enrol(enrolment).map(|_| name)
}

/// Claim V30.
#[test]
fn a_backup_under_load_is_restored_with_what_was_acknowledged_and_counts_as_older() {
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 4);
    let face = gateway.people[0].1.clone();
    let job = gateway.honest(1);
    for round in 0..volume(ROUNDS, 2) {
        let kept: Vec<TemplateName> = (0..3).map(|_| enrol(&gateway, &face).unwrap()).collect();
        let state = gateway.remote.status().unwrap().vaults[0].unwrap();
        let to = house.folder.path().join(format!("backup-{round}"));
        let done = AtomicBool::new(false);
        let (manifest, during) = std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut during = 0;
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(gateway.decide(&job).unwrap(), 0b1111);
                    enrol(&gateway, &face).unwrap();
                    during += 1;
                }
                during
            });
            let manifest = make(&house.data(), &to).unwrap();
            done.store(true, Ordering::Relaxed);
            (manifest, load.join().unwrap())
        });
        assert!(during > 0);
        let counted = manifest.vault.unwrap();
        assert!(counted.generation >= state.generation && counted.restored == round as u64);
        running.kill();
        std::fs::rename(house.data(), house.folder.path().join(format!("lost-{round}"))).unwrap();
        restore(&to, &house.data()).unwrap();
        let lines = end_of_log(&house.data());
        running = house.start();
        gateway.remote.wait_until_ready(Instant::now() + PATIENCE).unwrap();
        let after = gateway.remote.status().unwrap().vaults[0].unwrap();
        assert_eq!(after.restored, round as u64 + 1);
        assert!(after.generation > counted.generation && after.generation >= lines.vault);
        assert_eq!(gateway.decide(&job).unwrap(), 0b1111, "nobody was lost");
        for name in kept {
            gateway.remote.shred(name).unwrap();
        }
        let log = newest_log(&house.data());
        assert_eq!(log.matches("\"op\":\"restore\"").count(), round + 1);
    }
}

fn newest_log(data: &Path) -> String {
    std::fs::read_to_string(data.join("jobs-0000000000000000.log")).unwrap()
}

/// Claim V32.
///
/// Budgets of a restored vault are those of the backup, which its count shows. An incomplete restoration does not start.
#[test]
fn budgets_that_go_back_are_counted_and_half_a_restore_does_not_start() {
    let house = House::new("power-cut");
    let mut running = house.start();
    let attempts = AttemptPolicy { failures_per_generation: 1, ..AttemptPolicy::UNLIMITED };
    let policy = DecisionPolicy::new(crate::world::model(), 15_000, attempts);
    let gateway = Gateway::new(&running, house.gateway(), policy, 2);
    let to = house.folder.path().join("backup");
    // The disk reserve is larger than any backed-up file, and contains nothing worth keeping.
    let reserve = house.data().join("disk.reserve");
    let reserve_file = std::fs::OpenOptions::new().create(true).write(true).truncate(false).open(&reserve);
    reserve_file.unwrap().set_len(17 << 20).unwrap();
    make(&house.data(), &to).unwrap();
    let sealed = std::fs::metadata(to.join("files.sealed")).unwrap();
    assert!(sealed.len() < 1 << 20, "{} bytes", sealed.len());
    let wrong = gateway.job(1, |index| gateway.people[1 - index].1.clone());
    assert_eq!(gateway.decide(&wrong).unwrap(), 0);
    let spent = gateway.decide(&gateway.honest(2));
    assert!(matches!(spent, Err(KeyHolderError::NoAttempts(_))), "{spent:?}");
    running.kill();
    std::fs::rename(house.data(), house.folder.path().join("lost")).unwrap();
    restore(&to, &house.data()).unwrap();
    std::fs::write(house.data().join("restore.unfinished"), "").unwrap();
    let refused = DataDir::open(&house.data()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("did not end"), "{refused}");
    let refused = house.command(&[], &[]);
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("did not end"), "{why}");
    std::fs::remove_file(house.data().join("restore.unfinished")).unwrap();
    let running = house.start();
    let remote = running.connected(house.gateway());
    assert_eq!(remote.status().unwrap().vaults[0].unwrap().restored, 1, "every seal shows it");
    assert_eq!(remote.decide(gateway.honest(3)).unwrap().lanes().bits(), 0b11, "which is why");
    // A file that does not belong to a data directory of this role is not left out silently.
    std::fs::write(house.data().join("store.sqlite"), "").unwrap();
    let foreign = make(&house.data(), &house.folder.path().join("other")).unwrap_err();
    assert!(foreign.to_string().contains("does not back up"), "{foreign}");
}

/// Claim V39.
///
/// One process of each role is killed while it serves: its answers stay true.
#[test]
fn a_key_holder_that_is_killed_at_any_moment_loses_nothing_that_it_acknowledged() {
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Arc::new(Gateway::new(&running, house.gateway(), lenient(15_000), 8));
    let (right, wrong) =
        (gateway.honest(1), gateway.job(2, |index| gateway.people[(index + 1) % 8].1.clone()));
    let face = gateway.people[0].1.clone();
    let (mut enrolled, mut shredded) = (HashSet::new(), Vec::new());
    let (mut decided, mut failures) = (0, 0);
    for _ in 0..volume(KILLS, 5) {
        let (acknowledged, enough) = (AtomicUsize::new(0), rand::rng().random_range(2..60));
        let (new, gone) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let (counts, stop) = (Mutex::new((0, 0)), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (gateway, right, wrong, face) = (&gateway, &right, &wrong, &face);
                let (new, gone, counts, acknowledged, stop) = (&new, &gone, &counts, &acknowledged, &stop);
                scope.spawn(move || {
                    for number in thread.. {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let told = match number % 4 {
                            0 => enrol(gateway, face).map(|name| new.lock().unwrap().push(name)),
                            1 => enrol(gateway, face).and_then(|name| {
                                gateway.remote.shred(name)?;
                                gone.lock().unwrap().push(name);
                                Ok(())
                            }),
                            2 => gateway.decide(right).map(|lanes| {
                                assert_eq!(lanes, 0xff);
                                counts.lock().unwrap().0 += 1;
                            }),
                            _ => gateway.decide(wrong).map(|lanes| {
                                assert_eq!(lanes, 0);
                                counts.lock().unwrap().1 += 1;
                            }),
                        };
                        match told {
                            Ok(()) => drop(acknowledged.fetch_add(1, Ordering::Relaxed)),
                            Err(KeyHolderError::Unavailable(_)) => std::thread::yield_now(),
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
            while acknowledged.load(Ordering::Relaxed) < enough {
                std::thread::yield_now();
            }
            running.kill();
            stop.store(true, Ordering::Relaxed);
        });
        enrolled.extend(new.into_inner().unwrap());
        shredded.extend(gone.into_inner().unwrap());
        let counted = counts.into_inner().unwrap();
        (decided, failures) = (decided + counted.0 + counted.1, failures + counted.1);
        running = house.start();
        gateway.remote.wait_until_ready(Instant::now() + PATIENCE).unwrap();
    }
    running.kill();
    let log = end_of_log(&house.data());
    let vault = rusqlite::Connection::open(house.data().join("vault.sqlite")).unwrap();
    let mut names = vault.prepare("SELECT handle, generation FROM subjects").unwrap();
    let there: HashSet<(Handle, u32)> = names
        .query_map([], |row| Ok((Handle::new(row.get(0)?), row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for TemplateName { handle, generation, .. } in &enrolled {
        assert!(there.contains(&(*handle, *generation)), "an enrolment is lost");
    }
    for TemplateName { handle, generation, .. } in &shredded {
        assert!(!there.contains(&(*handle, *generation)), "a deletion is undone");
    }
    // Each failed job is a failure of each of the eight, and each decision is in the log.
    let counted: usize = vault
        .query_row("SELECT min(generation_failures) FROM subjects WHERE generation = 0", [], |row| row.get(0))
        .unwrap();
    assert!(counted >= failures, "{counted} of {failures} failures");
    let lines = newest_log(&house.data()).matches("\"outcome\":\"decided\"").count();
    assert!(lines >= decided && log.next as usize >= decided, "{lines} of {decided} decisions");
    println!(
        "{decided} decisions, {failures} of them failures, {} enrolments and {} deletions were acknowledged, and none was lost",
        enrolled.len(),
        shredded.len()
    );
    // The directory is whole after all that.
    drop(DataDir::open(&house.data()).unwrap());
}
