//! Chains that were cut, altered and continued.

use super::*;

fn entry(op: &str) -> Entry {
    Entry {
        op: op.to_owned(),
        outcome: "done".to_owned(),
        vault: 7,
        ..Entry::begun(1_800_000_000, "gateway")
    }
}

#[test]
fn the_chain_goes_on_after_a_restart_and_a_torn_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    for round in 0..3_u64 {
        let directory = DataDir::open(&path).unwrap();
        let log = JobLog::open(&directory).unwrap();
        assert_eq!(log.head().next, 2 * round);
        log.append(entry("decide")).unwrap();
        log.append(entry("enrol")).unwrap();
        assert_eq!(check(&path).unwrap(), log.head());
        assert_eq!(log.head().vault, 7);
        drop(log);
        append_to(&file_path(&path, 0)).unwrap().write_all(b"{\"n\":9,\"at\":").unwrap();
    }
}

#[test]
fn a_log_goes_on_in_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let log = JobLog::open(&directory).unwrap();
    log.append(entry("decide")).unwrap();
    log.state.lock().unwrap().bytes = FILE_BYTES;
    log.append(entry("decide")).unwrap();
    log.append(entry("decide")).unwrap();
    assert_eq!(files(directory.path()).unwrap().len(), 2);
    let head = log.head();
    assert_eq!(check(directory.path()).unwrap(), head);
    drop(log);
    assert_eq!(JobLog::open(&directory).unwrap().head(), head);
}

#[test]
fn altered_removed_and_inserted_lines_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let log = JobLog::open(&directory).unwrap();
    for op in ["create", "enrol", "decide", "decide"] {
        log.append(entry(op)).unwrap();
    }
    let path = file_path(directory.path(), 0);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let altered = text.replacen("enrol", "shred", 1);
    let removed = [lines[0], lines[2], lines[3], ""].join("\n");
    let inserted = [lines[0], lines[1], lines[1], lines[2], lines[3], ""].join("\n");
    // No line follows the last one, so only the mark protects it.
    let renumbered = text.replacen("\"n\":3", "\"n\":4", 1);
    let beheaded = [lines[1], lines[2], lines[3], ""].join("\n");
    for forged in [altered, removed, inserted, renumbered, beheaded] {
        std::fs::write(&path, forged).unwrap();
        assert!(matches!(check(directory.path()), Err(JobLogError::Broken { line: 1..=4, .. })));
        assert!(matches!(JobLog::open(&directory), Err(JobLogError::Broken { .. })));
    }
    std::fs::write(&path, text).unwrap();
    assert_eq!(check(directory.path()).unwrap(), log.head());
}

#[test]
fn nothing_follows_half_a_line_that_cannot_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let log = JobLog::open(&directory).unwrap();
    log.append(entry("decide")).unwrap();
    // A file that can be neither written nor cut.
    let read_only = File::open(file_path(directory.path(), 0)).unwrap();
    let writable = std::mem::replace(&mut log.state.lock().unwrap().file, read_only);
    log.append(entry("decide")).unwrap_err();
    log.state.lock().unwrap().file = writable;
    log.append(entry("decide")).unwrap_err();
    drop(log);
    assert_eq!(JobLog::open(&directory).unwrap().head().next, 1, "a restart looks at what is there");
}

/// A batch and its answer, shown later, can be matched to their line.
#[test]
fn digests_depend_on_everything_that_they_are_of_and_on_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| JobLog::open(&DataDir::open(&folder.path().join(name)).unwrap()).unwrap();
    let (log, other) = (open("data"), open("other"));
    let batch = |lane: usize, handle: u8, generation: u32| {
        std::array::from_fn(|at| (at == lane).then_some((Handle::new([handle; 32]), generation)))
    };
    let name = |tenant: u8, handle: u8, generation: u32| TemplateName {
        tenant: TenantId::new([tenant; 16]),
        handle: Handle::new([handle; 32]),
        generation,
    };
    let digests = [
        log.subjects(&TenantId::new([1; 16]), &batch(1, 2, 3)),
        log.subjects(&TenantId::new([2; 16]), &batch(1, 2, 3)),
        log.subjects(&TenantId::new([1; 16]), &batch(2, 2, 3)),
        log.subjects(&TenantId::new([1; 16]), &batch(1, 3, 3)),
        log.subjects(&TenantId::new([1; 16]), &batch(1, 2, 4)),
        other.subjects(&TenantId::new([1; 16]), &batch(1, 2, 3)),
        log.subject(&name(1, 2, 3)),
        log.subject(&name(2, 2, 3)),
        log.subject(&name(1, 3, 3)),
        log.subject(&name(1, 2, 4)),
        other.subject(&name(1, 2, 3)),
        log.answer("01", LaneSet::from_bits(1)),
        log.answer("02", LaneSet::from_bits(1)),
        log.answer("01", LaneSet::from_bits(1 << 31)),
        other.answer("01", LaneSet::from_bits(1)),
    ];
    for (i, one) in digests.iter().enumerate() {
        assert!(digests[..i].iter().all(|other| other != one), "{i}");
    }
    assert_eq!(log.answer("01", LaneSet::from_bits(1)), digests[11], "and on nothing else");
}
