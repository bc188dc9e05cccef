//! Tests of the rows that the file keeps, deletes and refuses.

use super::*;
use trefoil_matching::{AttemptPolicy, DecisionPolicy, Model};

fn model(numbers: usize) -> Model {
    Model::of("model", numbers).unwrap()
}

/// Without keys.
fn tenant() -> TenantRecord {
    let policy = DecisionPolicy::new(model(128), 0, AttemptPolicy::default());
    let (keys, epochs) = (KeyStructure::PerSubject, Vec::new());
    TenantRecord { tenant: TenantId::new([1; 16]), keys, epochs, policy, malformed: 0, forgiven: 0 }
}

fn subject(generation: u32, epoch: u32, renewed_from: Option<u32>) -> SubjectRecord {
    let (lane, salt, attempts) = (Lane::new(17).unwrap(), [6; 32], AttemptRecord::default());
    let (handle, model) = (Handle::new([4; 32]), model(512));
    SubjectRecord { handle, generation, lane, model, epoch, renewed_from, salt, attempts }
}

#[test]
fn a_vault_remembers_and_forgets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.sqlite");
    let open = || SqliteVault::open(&Supervisor::default(), &path, &[9; 32]).unwrap();
    let previous = Some((model(512), -7));
    let policy = DecisionPolicy { previous, ..DecisionPolicy::new(model(128), -5, AttemptPolicy::default()) };
    let epochs = [0, 1].map(|epoch| EpochRecord {
        epoch,
        master: [2 + epoch as u8; 32],
        seed: [9; 32],
        tags: [[4; 32], [5; 32]],
    });
    let keys = KeyStructure::PerTenant;
    let tenant = TenantRecord { keys, epochs: epochs.to_vec(), policy, ..tenant() };
    let subject = subject(5, 1, Some(4));
    let older = SubjectRecord { generation: 4, epoch: 0, renewed_from: None, ..subject.clone() };
    let vault = open();
    vault.put_tenant(&tenant).unwrap();
    vault.put_tenant(&TenantRecord { malformed: 3, forgiven: 1, ..tenant.clone() }).unwrap();
    vault.put_subject(&TenantId::new([1; 16]), &older).unwrap();
    vault.put_subject(&TenantId::new([1; 16]), &subject).unwrap();
    assert_eq!(vault.opening_key().unwrap(), None);
    vault.put_opening_key(&[7; 99]).unwrap();
    assert_eq!(vault.opened_until(), Ok(0));
    [50, 90, 70].iter().for_each(|time| vault.put_opened_until(*time).unwrap());
    assert!(vault.put_subject(&TenantId::new([1; 16]), &subject).is_err());
    let failed = AttemptRecord {
        consecutive: 1,
        retry_at: 2,
        day: 3,
        day_failures: 4,
        day_attempts: 5,
        generation_failures: 6,
        generation_attempts: 7,
        version: 8,
    };
    let older_record = AttemptRecord { version: 7, ..AttemptRecord::default() };
    vault
        .put_attempts(
            &TenantId::new([1; 16]),
            &[(Handle::new([4; 32]), 5, failed), (Handle::new([8; 32]), 5, failed)],
        )
        .unwrap();
    vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 5, older_record)]).unwrap();
    drop(vault);

    let vault = open();
    let [read] = vault.tenants().unwrap().try_into().ok().unwrap();
    assert_eq!((read.malformed, read.forgiven, read.epochs[0].tags), (3, 1, [[4; 32], [5; 32]]));
    assert!(read.keys == keys && read.policy == policy);
    let masters: Vec<(u32, u8)> = read.epochs.iter().map(|epoch| (epoch.epoch, epoch.master[0])).collect();
    assert_eq!(masters, [(0, 2), (1, 3)]);
    assert_eq!(vault.opening_key().unwrap().unwrap().as_slice(), [7; 99]);
    assert_eq!(vault.opened_until(), Ok(90), "what is noted only rises");
    let made_of: Vec<_> =
        vault.subjects(&TenantId::new([1; 16])).unwrap().iter().map(|read| read.renewed_from).collect();
    assert_eq!(made_of, [None, Some(4)]);
    vault.erase_epoch(&TenantId::new([1; 16]), 0).unwrap();
    assert_eq!(vault.tenants().unwrap()[0].epochs.len(), 1);
    let [read] = vault.subjects(&TenantId::new([1; 16])).unwrap().try_into().ok().unwrap();
    assert!(read.salt == [6; 32] && read.epoch == 1 && read.lane == subject.lane && read.attempts == failed);
    assert_eq!(read.model, model(512));
    assert_eq!(read.renewed_from, Some(4));
    vault.delete_subject(&TenantId::new([1; 16]), &Handle::new([4; 32]), 5).unwrap();
    vault.delete_subject(&TenantId::new([1; 16]), &Handle::new([4; 32]), 5).unwrap();
    assert!(vault.subjects(&TenantId::new([1; 16])).unwrap().is_empty());
    drop(vault);
    let other = SqliteVault::open(&Supervisor::default(), &path, &[8; 32]).err();
    assert!(matches!(other, Some(StoreError::Altered(_))), "another key opens nothing: {other:?}");
}

#[test]
fn after_a_lost_write_attempts_wait_for_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let vault = SqliteVault::open(&Supervisor::default(), &folder.path().join("vault.db"), &[7; 32]).unwrap();
    let failed = AttemptRecord { consecutive: 1, version: 1, ..AttemptRecord::default() };
    // Written behind: the answer comes before the write, whose failure is only seen later.
    vault.database.write(|c| c.execute_batch("ALTER TABLE subjects RENAME TO gone").map_err(fault)).unwrap();
    vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 1, failed)]).unwrap();
    vault.database.write(|_| Ok(())).unwrap();
    assert!(
        vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 1, failed)]).is_err(),
        "no more failures go unrecorded"
    );
    assert!(vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 1, failed)]).is_err());
    vault.database.write(|c| c.execute_batch("ALTER TABLE gone RENAME TO subjects").map_err(fault)).unwrap();
    vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 1, failed)]).unwrap();
    assert!(!vault.attempts_lost.load(Ordering::Acquire));
}

#[test]
fn a_renewal_takes_the_place_of_one_before_and_of_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let vault =
        SqliteVault::open(&Supervisor::default(), &directory.path().join("vault.sqlite"), &[9; 32]).unwrap();
    let elsewhere = TenantRecord { tenant: TenantId::new([2; 16]), ..tenant() };
    vault.put_tenant(&tenant()).and_then(|()| vault.put_tenant(&elsewhere)).unwrap();
    let other_handle = SubjectRecord { handle: Handle::new([5; 32]), ..subject(10, 1, Some(4)) };
    // The old one, and renewals of it under other keys, of another, and of none.
    let stay = [subject(4, 0, None), subject(7, 2, Some(4)), subject(8, 1, Some(3)), subject(9, 1, None)];
    for record in stay.iter().chain([&other_handle, &subject(5, 1, Some(4))]) {
        vault.put_subject(&TenantId::new([1; 16]), record).unwrap();
    }
    vault.put_subject(&TenantId::new([2; 16]), &subject(5, 1, Some(4))).unwrap();
    // One that cannot be written erases nothing.
    assert!(vault.put_subject(&TenantId::new([1; 16]), &subject(9, 1, Some(4))).is_err());
    let generations = |tenant: u8| -> Vec<u32> {
        vault.subjects(&TenantId::new([tenant; 16])).unwrap().iter().map(|read| read.generation).collect()
    };
    assert_eq!(generations(1), [4, 5, 7, 8, 9, 10]);
    vault.put_subject(&TenantId::new([1; 16]), &subject(6, 1, Some(4))).unwrap();
    assert_eq!(generations(1), [4, 6, 7, 8, 9, 10]);
    assert_eq!(generations(2), [5]);
}

#[test]
fn a_vault_of_another_version_is_refused_with_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.sqlite");
    drop(SqliteVault::open(&Supervisor::default(), &path, &[9; 32]).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    let refused =
        SqliteVault::open(&Supervisor::default(), &path, &[9; 32]).err().map(|cause| cause.to_string());
    let text = "has schema version 2, this program knows 1; use the program that wrote it";
    assert!(refused.as_ref().is_some_and(|cause| cause.contains(text)), "{refused:?}");
}

/// Claim V25.
///
/// Twenty edits and more of one field each: none is served.
#[test]
fn a_vault_that_somebody_else_wrote_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.sqlite");
    let open = || SqliteVault::open(&Supervisor::default(), &path, &[9; 32]);
    let vault = open().unwrap();
    let epoch = EpochRecord { epoch: 0, master: [2; 32], seed: [9; 32], tags: [[4; 32], [5; 32]] };
    vault.claim(TenantId::new([1; 16]), "gateway").unwrap();
    vault.put_tenant(&TenantRecord { epochs: vec![epoch], malformed: 3, ..tenant() }).unwrap();
    vault.put_subject(&TenantId::new([1; 16]), &subject(5, 0, None)).unwrap();
    let spent = AttemptRecord {
        consecutive: 1,
        retry_at: 2,
        day: 3,
        day_failures: 4,
        day_attempts: 5,
        generation_failures: 6,
        generation_attempts: 7,
        version: 8,
    };
    vault.put_attempts(&TenantId::new([1; 16]), &[(Handle::new([4; 32]), 5, spent)]).unwrap();
    vault.put_opening_key(&[7; 99]).unwrap();
    vault.put_opened_until(50).unwrap();
    vault.note_store("gateway", (1, 2)).unwrap();
    drop(vault);
    let refuses = |edit: &str| {
        let refused = open().err();
        assert!(
            matches!(refused, Some(StoreError::Altered(_) | StoreError::Damaged(_))),
            "{edit}: {refused:?}"
        );
    };
    trefoil_testing::edit_fields(&path, refuses);
    for table in ["epochs", "subjects", "opening_key", "opened", "owners"] {
        let good = std::fs::read(&path).unwrap();
        Connection::open(&path).unwrap().execute(&format!("DELETE FROM {table}"), []).unwrap();
        refuses(table);
        std::fs::write(&path, good).unwrap();
    }
    open().unwrap();
}

#[test]
fn a_tenant_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.sqlite");
    let vault = SqliteVault::open(&Supervisor::default(), &path, &[9; 32]).unwrap();
    vault.claim(TenantId::new([1; 16]), "a").unwrap();
    // Repeated after a crash before the tenant was made.
    vault.claim(TenantId::new([1; 16]), "a").unwrap();
    assert_eq!(vault.claim(TenantId::new([1; 16]), "b"), Err(StoreError::Conflict));
    drop(vault);
    let vault = SqliteVault::open(&Supervisor::default(), &path, &[9; 32]).unwrap();
    assert!(
        vault.owns(&TenantId::new([1; 16]), "a")
            && !vault.owns(&TenantId::new([1; 16]), "b")
            && !vault.owns(&TenantId::new([2; 16]), "a")
    );
}
