//! Chains that were cut, altered and continued.

use super::*;

fn check(directory: &Path) -> Result<Head, JobLogError> {
    read(directory, &mut |_, _| ()).map(|(end, _)| end)
}

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
    std::fs::remove_file(file_path(directory.path(), 0)).unwrap();
    assert_eq!(JobLog::open(&directory).unwrap().head(), head, "its older files were moved away");
}

#[test]
fn altered_removed_and_inserted_lines_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let log = JobLog::open(&directory).unwrap();
    for op in ["create", "enrol", "decide", "decide"] {
        log.append(entry(op)).unwrap();
    }
    log.sign(0, 0).unwrap();
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

/// Claim V181: A key-holder signs the head of its job log, so a log that is cut, altered or continued otherwise below that head is none of its own.
#[test]
fn one_signed_head_binds_every_line_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&folder.path().join("data")).unwrap();
    let log = JobLog::open(&directory).unwrap();
    let signed = |log: &JobLog, at: u64| {
        log.sign(3, at).unwrap();
        let (end, signed) = read(directory.path(), &mut |_, _| ()).unwrap();
        assert_eq!(end, log.head());
        signed.unwrap()
    };
    let empty = signed(&log, 100);
    assert_eq!((empty.lines, empty.digest, empty.at, empty.restored), (0, empty.signer(), 100, 3));
    for op in ["create", "enrol", "decide"] {
        log.append(entry(op)).unwrap();
    }
    assert_eq!(log.signed(), Some((0, empty.signer())), "what was signed, not what was written");
    let head = signed(&log, 101);
    assert_eq!((head.lines, head.digest, head.at), (3, log.head().digest, 101));
    assert_eq!(log.signed(), Some((3, head.digest)));
    assert_eq!(signed(&log, 102), head, "nothing was added");
    log.append(entry("decide")).unwrap();
    let mut seen = Vec::new();
    read(directory.path(), &mut |entry, head| seen.push((entry.op.clone(), head.next))).unwrap();
    assert_eq!(
        seen,
        [("create", 1), ("enrol", 2), ("decide", 3)].map(|(op, n)| (op.to_owned(), n)),
        "up to the head"
    );
    drop(log);
    let again = signed(&JobLog::open(&directory).unwrap(), 103);
    assert_eq!(again.signer(), head.signer(), "the key is that of the directory");

    let path = directory.join(HEAD_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read(directory.path(), &mut |_, _| ()).unwrap_err()
    };
    for (from, to) in
        [("\"lines\":4", "\"lines\":3"), ("\"at\":103", "\"at\":104"), ("\"restored\":3", "\"restored\":0")]
    {
        assert!(text.contains(from), "{text}");
        assert!(refused(&text.replacen(from, to, 1)).to_string().contains("its signature does not verify"));
    }
    for member in ["\"digest\":\"", "\"key\":\"", "\"signature\":\""] {
        let at = text.find(member).unwrap() + member.len();
        let flipped = if &text[at..=at] == "0" { "1" } else { "0" };
        let altered = [&text[..at], flipped, &text[at + 1..]].concat();
        assert!(refused(&altered).to_string().contains("its signature does not verify"), "{member}");
    }
    assert!(matches!(refused("{}"), JobLogError::Broken { .. }));
    std::fs::write(&path, &text).unwrap();
    // Whole chains that are not the signed one: shorter, and with another end.
    let lines = file_path(directory.path(), 0);
    let whole = std::fs::read_to_string(&lines).unwrap();
    let cut: String = whole.split_inclusive('\n').take(3).collect();
    let other = format!("{cut}{}", whole.lines().last().unwrap().replace("decide", "shred ") + "\n");
    for (chain, found) in [(cut, 3), (other, 4)] {
        std::fs::write(&lines, chain).unwrap();
        let refused = read(directory.path(), &mut |_, _| ()).unwrap_err();
        assert!(
            matches!(refused, JobLogError::OtherHead { lines: 4, found: end, .. } if end == found),
            "{refused}"
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read(directory.path(), &mut |_, _| ()).unwrap().1, None, "nothing is signed");
}

#[test]
fn a_line_has_the_leaves_that_matched_in_an_order_that_is_not_that_of_the_lanes() {
    let leaves = std::array::from_fn(|lane| [32 - lane as u8; 32]);
    assert_eq!(matched(&leaves, LaneSet::EMPTY), None);
    let two = matched(&leaves, LaneSet::from_bits(1 << 4 | 1 << 30)).unwrap();
    assert_eq!(two, hex::encode([[2; 32], [28; 32]].concat()));
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
