//! Tests of the files that a data directory makes, keeps and refuses.

use super::private_file::refuse_owner;
use super::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_secret_is_made_once_and_private() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let first = DataDir::open(&path).unwrap().secret::<32>("a.key").unwrap();
    let directory = DataDir::open(&path).unwrap();
    assert_eq!(*first, *directory.secret::<32>("a.key").unwrap());
    assert_ne!(*first, *directory.secret::<32>("b.key").unwrap());
    let mode = fs::metadata(path.join("a.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(matches!(directory.secret::<16>("a.key"), Err(DataDirError::Length { found: 32, .. })));
}

#[test]
fn an_exposed_secret_and_a_second_process_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let directory = DataDir::open(&path).unwrap();
    directory.secret::<32>("a.key").unwrap();
    fs::set_permissions(path.join("a.key"), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(directory.secret::<32>("a.key"), Err(DataDirError::Exposed { mode: 0o640, .. })));
    assert!(matches!(DataDir::open(&path), Err(DataDirError::Locked { .. })));
}

/// For a moment, a child of the process has a copy of the lock's file.
#[test]
fn a_directory_that_is_given_up_is_free_although_a_child_has_a_copy_of_the_lock() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let directory = DataDir::open(&path).unwrap();
    let _copy = directory.lock.as_ref().unwrap().try_clone().unwrap();
    drop(directory);
    DataDir::open(&path).unwrap();
}

fn said<T>(outcome: Result<T, DataDirError>) -> String {
    outcome.err().expect("it is refused").to_string()
}

/// Claim V27.
#[test]
fn what_was_made_in_a_directory_is_never_made_anew() {
    let parent = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&parent.path().join("data")).unwrap();
    let secret = directory.secret::<32>("pepper.key").unwrap();
    let path = directory.join("pepper.key");
    fs::remove_file(&path).unwrap();
    let cure = "Restore the whole directory from one backup";
    let missing = said(directory.secret::<32>("pepper.key"));
    assert!(
        missing.contains("pepper.key is missing")
            && missing.contains("no API key would be accepted")
            && missing.contains(cure),
        "{missing}"
    );
    directory.write("pepper.key", b"").unwrap();
    assert!(said(directory.secret::<32>("pepper.key")).contains("is empty"));
    // A secret of another installation has the right length.
    let other = DataDir::open(&parent.path().join("other")).unwrap();
    directory.write("pepper.key", &*other.secret::<32>("pepper.key").unwrap()).unwrap();
    let swapped = said(directory.secret::<32>("pepper.key"));
    assert!(swapped.contains("another installation") && swapped.contains(cure), "{swapped}");
    directory.write("pepper.key", &*secret).unwrap();
    assert_eq!(*directory.secret::<32>("pepper.key").unwrap(), *secret);

    assert!(!directory.database("store.sqlite").unwrap().exists);
    directory.write("store.sqlite", b"stands for a database").unwrap();
    directory.note("store.sqlite").unwrap();
    assert!(directory.database("store.sqlite").unwrap().exists);
    for damage in [None, Some(b"".as_slice())] {
        fs::remove_file(directory.join("store.sqlite")).unwrap();
        if let Some(bytes) = damage {
            directory.write("store.sqlite", bytes).unwrap();
        }
        let lost = said(directory.database("store.sqlite"));
        assert!(lost.contains("would begin again at 0 under the same keys") && lost.contains(cure), "{lost}");
        directory.write("store.sqlite", b"restored").unwrap();
    }
    // A file that an operator may replace is made again.
    let token =
        || directory.file("admin.token", || Zeroizing::new(rand::random::<[u8; 8]>().to_vec())).unwrap();
    let first = token();
    fs::remove_file(directory.join("admin.token")).unwrap();
    assert_ne!(first, token());
}

/// Claim V27.
#[test]
fn a_directory_whose_record_is_missing_or_damaged_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let directory = DataDir::open(&path).unwrap();
    directory.secret::<32>("master.key").unwrap();
    drop(directory);
    let (record, away) = (path.join("installation.toml"), parent.path().join("away"));
    fs::rename(&record, &away).unwrap();
    let refused = said(DataDir::open(&path));
    assert!(
        refused.contains("installation.toml is missing beside master.key")
            && refused.contains("from one backup"),
        "{refused}"
    );
    assert!(!record.exists(), "and nothing is noted");
    fs::rename(&away, &record).unwrap();
    for damaged in ["", "id = 7", "id = \"00\"\n[files]\n", "\u{0}"] {
        fs::write(&record, damaged).unwrap();
        let refused = said(DataDir::open(&path));
        assert!(refused.contains("installation.toml") && refused.contains("from one backup"), "{refused}");
    }
}

/// Claim V27.
#[test]
fn files_of_another_user_and_links_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let directory = DataDir::open(&path).unwrap();
    let user = rustix::process::geteuid().as_raw();
    refuse_owner(&path, user, user).unwrap();
    let refused = said(refuse_owner(&path, user + 1, user));
    assert!(
        refused.contains(&format!("belongs to user {}", user + 1)) && refused.contains("chown"),
        "{refused}"
    );
    if user == 0 {
        directory.secret::<32>("a.key").unwrap();
        std::os::unix::fs::chown(directory.join("a.key"), Some(12_345), None).unwrap();
        assert!(matches!(directory.secret::<32>("a.key"), Err(DataDirError::Owner { owner: 12_345, .. })));
        let database = directory.join("store.sqlite");
        fs::write(&database, "").unwrap();
        fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).unwrap();
        directory.database("store.sqlite").unwrap();
        std::os::unix::fs::chown(&database, Some(12_345), None).unwrap();
        assert!(matches!(directory.database("store.sqlite"), Err(DataDirError::Owner { .. })));
    }
    directory.secret::<32>("b.key").unwrap();
    fs::rename(directory.join("b.key"), parent.path().join("b")).unwrap();
    std::os::unix::fs::symlink(parent.path().join("b"), directory.join("b.key")).unwrap();
    assert!(said(directory.secret::<32>("b.key")).contains("not a link"));

    // A draft that is a link is neither followed nor kept.
    let elsewhere = parent.path().join("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join("c.key.draft")).unwrap();
    directory.write("c.key", b"secret").unwrap();
    assert_eq!(fs::read(&elsewhere).unwrap(), b"untouched");
    assert!(fs::symlink_metadata(directory.join("c.key")).unwrap().is_file());
    // The bytes are not written to a draft that another process has open.
    fs::write(directory.join("c.key.draft"), "stale").unwrap();
    let reader = File::open(directory.join("c.key.draft")).unwrap();
    directory.write("c.key", b"secret").unwrap();
    assert_eq!(io::read_to_string(reader).unwrap(), "stale");
}

/// Claim V28.
#[test]
fn a_mark_only_rises_and_a_damaged_one_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let directory = DataDir::open(&parent.path().join("data")).unwrap();
    let open = || directory.high_water("x.mark");
    let reached = |count| Reached { count, digest: [count as u8; 32] };
    open().unwrap().reach(reached(3)).unwrap();
    open().unwrap().reach(reached(2)).unwrap();
    assert_eq!(open().unwrap().reached(), reached(3));
    let good = fs::read(directory.join("x.mark")).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        directory.write("x.mark", &bad).unwrap();
        assert!(said(open()).contains("from one backup"), "byte {at}");
    }
    fs::remove_file(directory.join("x.mark")).unwrap();
    assert!(said(open()).contains("is missing"));
}

#[test]
fn a_file_in_place_of_the_directory_is_inspected_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, "").unwrap();
    assert!(matches!(inspect(&file)[..], [DataDirError::NotADirectory { .. }]));
}

#[test]
fn git_ignores_a_made_directory_which_still_counts_as_empty() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    make(&path).unwrap();
    assert_eq!(fs::read_to_string(path.join(GITIGNORE)).unwrap(), "*\n");
    assert_eq!(occupant(&path).unwrap(), None);
    drop(DataDir::open_unfinished_node(&path).unwrap());
    assert!(occupant(&path).unwrap().is_some());
    let own = parent.path().join("own");
    fs::create_dir(&own).unwrap();
    make(&own).unwrap();
    assert!(!own.join(GITIGNORE).exists(), "it is the operator's");
}

#[test]
fn a_look_makes_and_notes_nothing_and_refuses_what_an_opening_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let made = {
        let directory = DataDir::open(&path).unwrap();
        let looked = DataDir::look(&path).unwrap();
        assert!(looked.is_still() && !directory.is_still(), "beside the process that has the lock");
        (directory.secret::<32>("kept.key").unwrap(), looked.secret::<32>("kept.key").unwrap())
    };
    assert_eq!(made.0, made.1);
    let listing = || {
        let names = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = names.map(|name| (fs::read(&name).unwrap(), name)).collect();
        all.sort();
        all
    };
    let (before, looked) = (listing(), DataDir::look(&path).unwrap());
    looked.secret::<32>("other.key").unwrap();
    looked.keep("third.key", b"bytes").unwrap();
    looked.file("fourth", || Zeroizing::new(vec![1])).unwrap();
    looked.make_directory("fifth").unwrap();
    looked.replace_kept("kept.key", &[1; 32]).unwrap();
    let database = looked.database("store.sqlite").unwrap();
    assert!(database.is_still && !database.exists && database.mark.is_none());
    assert_eq!(listing(), before);
    fs::write(path.join("kept.key"), [7; 32]).unwrap();
    assert!(matches!(looked.secret::<32>("kept.key"), Err(DataDirError::Other { .. })));
    fs::remove_file(path.join("kept.key")).unwrap();
    assert!(matches!(looked.secret::<32>("kept.key"), Err(DataDirError::Lost { .. })));
    fs::write(path.join(DataDir::UNFINISHED), []).unwrap();
    assert!(matches!(DataDir::look(&path), Err(DataDirError::Unfinished { .. })));
}
