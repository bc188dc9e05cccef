//! `kill -9` at any moment: nothing is accepted without a decision, and no counted failure is forgotten.

use crate::world::{Gateway, House, PATIENCE, TENANT, end_of_log, face_of, lenient, matcher, model, named};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Enrolment, KeyHolderError, KeyHolding as _, Lane, MatchJob, Model, split,
    unblind,
};
use trefoil_types::BatchId;

/// Claim M10.
#[test]
fn counted_failures_survive_a_kill() {
    for survive in ["kill", "power-cut"] {
        let house = House::new(survive);
        let running = house.start();
        let attempts = AttemptPolicy { failures_per_generation: 3, ..AttemptPolicy::UNLIMITED };
        let gateway =
            Gateway::new(&running, house.gateway(), DecisionPolicy::new(model(), 15_000, attempts), 4);
        let impostors = |batch: u8| gateway.job(batch, |index| gateway.people[(index + 1) % 4].1.clone());
        // One attempt before each kill: the record must be there although the process dies as soon as it has answered.
        let mut running = running;
        for batch in 0..3 {
            let remote = running.connected(house.gateway());
            assert_eq!(remote.decide(impostors(batch)).unwrap().lanes().bits(), 0);
            running.kill();
            running = house.start();
        }
        let remote = running.connected(house.gateway());
        let spent = remote.decide(gateway.honest(9));
        assert!(
            matches!(spent, Err(KeyHolderError::NoAttempts(lanes)) if lanes.bits() == 0b1111),
            "{survive}: three failures, so even the right face is refused: {spent:?}"
        );
    }
}

/// Both of a policy's models and the model of each template, as they were, and the previous one only while the policy has it.
#[test]
fn two_models_survive_a_kill() {
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let new = Model::of("wide", 512).unwrap();
    let both = DecisionPolicy { model: new, previous: Some((gateway.model, 15_000)), ..lenient(9_000) };
    gateway.remote.set_policy(TENANT, both).unwrap();
    let (blinded, blind) = split(&face_of(&mut StdRng::seed_from_u64(4), new.width()), &mut rand::rng());
    let (name, lane) = (named(9, 0), Lane::new(31).unwrap());
    let enrolment = Enrolment { name, lane, model: new, template: blinded.into() };
    let template = unblind(gateway.remote.enrol(enrolment).unwrap(), blind);
    let probe = face_of(&mut StdRng::seed_from_u64(4), new.width());
    let job =
        matcher(1).mask(BatchId::new([3; 16]), TENANT, 9_000, &gateway.key, &[(&template, &probe)]).unwrap();
    running.kill();
    let running = house.start();
    let remote = running.connected(house.gateway());
    let decide = |job: &MatchJob| remote.decide(job.clone()).map(|decisions| decisions.lanes().bits());
    assert_eq!((decide(&gateway.honest(1)), decide(&job)), (Ok(0b11), Ok(1 << 31)));
    remote.set_policy(TENANT, DecisionPolicy { previous: None, ..both }).unwrap();
    assert_eq!((decide(&gateway.honest(2)), decide(&job)), (Err(KeyHolderError::Model), Ok(1 << 31)));
}

#[test]
fn under_load_a_kill_refuses_and_a_restart_recovers() {
    const THREADS: usize = 4;
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Arc::new(Gateway::new(&running, house.gateway(), lenient(15_000), 32));
    let job = Arc::new(gateway.honest(1));
    let (stop, decided, refused) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (gateway, job) = (Arc::clone(&gateway), Arc::clone(&job));
            let (stop, decided, refused) = (Arc::clone(&stop), Arc::clone(&decided), Arc::clone(&refused));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match gateway.decide(&job) {
                        Ok(lanes) => {
                            assert_eq!(lanes, u32::MAX);
                            decided.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(KeyHolderError::Unavailable(_)) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        })
        .collect();
    let grows = |counter: &AtomicUsize, by: usize| {
        let before = counter.load(Ordering::Relaxed);
        while counter.load(Ordering::Relaxed) < before + by {
            std::thread::yield_now();
        }
    };
    for round in 0..3 {
        grows(&decided, 20);
        running.kill();
        // Requests under way have ended once every thread has been refused.
        grows(&refused, 100 * THREADS);
        let away = decided.load(Ordering::Relaxed);
        grows(&refused, 100 * THREADS);
        assert_eq!(decided.load(Ordering::Relaxed), away, "nothing is decided while nobody is there");
        assert!(gateway.remote.unready().is_some());
        running = house.start();
        let started = Instant::now();
        gateway.remote.wait_until_ready(started + PATIENCE).unwrap();
        println!("round {round}: ready {:?} after the restart", started.elapsed());
    }
    grows(&decided, 20);
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop(running);
    let decided = decided.load(Ordering::Relaxed);
    assert!(end_of_log(&house.data()).next >= decided as u64);
    let lines = lines_with(&house, "\"outcome\":\"decided\"");
    assert!(lines >= decided, "{decided} accepted, of which {lines} were decided");
    assert_eq!(lines_with(&house, &hex::encode(TENANT)), lines + 33);
}

/// The gateway pings twice a second, so it has not noticed most of these restarts when it asks next.
#[test]
fn a_restart_between_two_pings_costs_no_caller_anything() {
    let house = House::new("kill");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 4);
    let decide = |batch: u8| gateway.decide(&gateway.honest(batch));
    for round in 0..4 {
        // Idle connections of every thread.
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| decide(round))).collect();
            asked.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap().unwrap(), 0b1111));
        });
        running.kill();
        running = house.start();
        gateway.remote.wait_until_ready(Instant::now() + PATIENCE).unwrap();
        for _ in 0..20 {
            assert_eq!(decide(round).unwrap(), 0b1111, "round {round}");
        }
    }
}

/// Lines of the job log that contain `text`.
fn lines_with(house: &House, text: &str) -> usize {
    let files = std::fs::read_dir(house.data()).unwrap().map(|entry| entry.unwrap().path());
    let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| std::fs::read_to_string(path).unwrap().lines().filter(|line| line.contains(text)).count())
        .sum()
}

/// Claim V5.
/// Claim V41: An older vault under a newer job log is refused, unless the operator accepts it with a flag, and an older job log beside a
/// newer vault.
///
/// A vault from yesterday has budgets and templates from yesterday.
#[test]
fn an_older_vault_under_a_newer_log_is_refused_or_taken_by_name() {
    let house = House::new("power-cut");
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 3);
    running.kill();
    let files = ["vault.sqlite", "vault.sqlite-wal", "vault.sqlite-shm"].map(|name| house.data().join(name));
    let backup = files.each_ref().map(|path| std::fs::read(path).ok());
    let mut running = house.start();
    let remote = running.connected(house.gateway());
    remote.shred(crate::world::named(1, 0)).unwrap();
    let before = remote.status().unwrap().vaults[0].unwrap();
    running.kill();
    for (path, bytes) in files.iter().zip(&backup) {
        let _ = std::fs::remove_file(path);
        if let Some(bytes) = bytes {
            std::fs::write(path, bytes).unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        }
    }
    let refused = house.command(&[], &[]);
    let why = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(
        why.contains("the vault is older than the job log") && why.contains("--accept-older-vault"),
        "{why}"
    );

    let mut program = std::process::Command::new(crate::world::PROGRAM);
    program.arg("--accept-older-vault");
    let mut running = house.start_by(program);
    let remote = running.connected(house.gateway());
    let after = remote.status().unwrap().vaults[0].unwrap();
    assert_eq!((after.restored, before.restored), (1, 0), "every attestation will say so");
    assert!(after.generation > before.generation, "it is never again what it was");
    let decided = remote.decide(gateway.honest(1)).unwrap().lanes().bits();
    assert_eq!(decided, 0b111, "the template that was deleted is back, which is why it is refused");
    running.kill();
    let log = std::fs::read_to_string(house.data().join("jobs-0000000000000000.log")).unwrap();
    assert_eq!(log.matches("\"op\":\"accept-older-vault\"").count(), 1);
    end_of_log(&house.data());
    house.start();
}
