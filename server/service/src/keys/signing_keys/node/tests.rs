use super::super::tests::{ISSUER, NOW, World};
use super::super::{KeySetStatus, Shown, open_or_make, revoke, rotate, version_file};
use super::*;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use trefoil_types::KeySetId;

/// A node that has served, and a place for others.
fn served() -> World {
    let world = World::new();
    let first = world.data();
    for (name, _) in SHARED {
        match name {
            ADMIN_TOKEN => first.write(name, b"the token").unwrap(),
            _ => first.keep(name, format!("bytes of {name}").as_bytes()).unwrap(),
        }
    }
    let served = Reached { count: 7, ..Reached::default() };
    first.high_water(POSTGRES_MARK).unwrap().reach(served).unwrap();
    drop(first);
    world.open().unwrap();
    world
}

fn place(world: &World, name: &str) -> PathBuf {
    world.path().with_file_name(name)
}

fn add(world: &World, name: &str) -> Result<TrustRoot, KeysError> {
    let to = place(world, name);
    add_node(&world.data(), ISSUER, &world.source, &to, NOW)
}

fn at(world: &World, name: &str) -> DataDir {
    DataDir::open_for_keys(&place(world, name)).unwrap()
}

fn open_at(world: &World, name: &str) -> Result<Opened, KeysError> {
    open_or_make(&at(world, name), ISSUER, &world.source, NOW)
}

fn refused<T>(outcome: Result<T, KeysError>) -> String {
    outcome.err().expect("it was not refused").to_string()
}

/// Copies one version from a directory to another, as an operator does.
fn carry(world: &World, from: &str, to: &str, number: u64) {
    let file = version_file(number);
    std::fs::copy(place(world, from).join(&file), place(world, to).join(&file)).unwrap();
}

fn statuses(root: &TrustRoot, ids: &[KeySetId]) -> Vec<KeySetStatus> {
    ids.iter().map(|id| root.key_set(id).unwrap().status).collect()
}

/// Every file below, by its name there.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(directory).unwrap().to_owned();
        match path.is_dir() {
            true => found.extend(files(&path).into_iter().map(|(inner, bytes)| (name.join(inner), bytes))),
            false => {
                assert_eq!(
                    path.metadata().unwrap().permissions().mode() & 0o777,
                    0o600,
                    "{}",
                    path.display()
                );
                found.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_node_has_what_nodes_share_and_keys_of_its_own() {
    let world = served();
    let one = world.open().unwrap();
    let root = add(&world, "two").unwrap();
    let two = open_at(&world, "two").unwrap();
    assert_ne!(one.keys.id(), two.keys.id());
    one.trust_root.accept(&root).unwrap();
    for opened in [world.open().unwrap(), two] {
        assert_eq!(opened.trust_root, root);
        assert!(root.key_set(&opened.keys.id()).is_some_and(|set| set.status == KeySetStatus::Active));
    }
    let (first, node) = (files(&world.path()), files(&place(&world, "two")));
    let own = [".gitignore", "installation.toml", "keys.passphrase", "signing.keys", "lock", "keys.lock"];
    let public = ["trust-root.json", "trust-roots/1.json", "trust-roots/2.json"];
    let shared = SHARED.iter().map(|(name, _)| *name).chain(public).chain([POSTGRES_MARK]);
    let mut expected: Vec<_> = own.into_iter().chain(shared.clone()).map(PathBuf::from).collect();
    expected.sort();
    assert_eq!(node.keys().cloned().collect::<Vec<_>>(), expected, "exactly these, all 0600");
    // The mark names the installation.
    for name in shared.filter(|name| *name != POSTGRES_MARK).map(Path::new) {
        assert!(first[name] == node[name], "{}", name.display());
    }
    for name in ["keys.passphrase", "signing.keys", "installation.toml"].map(Path::new) {
        assert!(first[name] != node[name], "{}", name.display());
    }
    let served = DataDir::open(&place(&world, "two")).unwrap();
    assert_eq!(served.high_water(POSTGRES_MARK).unwrap().reached().count, 7);
}

/// Claim S14.
#[test]
fn nodes_change_their_own_keys_alone_and_everybody_can_follow() {
    let world = served();
    let one = world.open().unwrap();
    let mut pinned = one.trust_root.clone();
    let mut accept = |next: &TrustRoot| {
        pinned.accept(next).unwrap();
        pinned = next.clone();
    };
    accept(&add(&world, "two").unwrap());
    accept(&add(&world, "three").unwrap());
    carry(&world, "data", "two", 3);
    let [two, three] = ["two", "three"].map(|name| open_at(&world, name).unwrap());
    let ids = [one.keys.id(), two.keys.id(), three.keys.id()];
    assert_eq!(two.trust_root.version(), 3, "it took the version that was copied");

    // The second node rotates without the keys of the others.
    let retired = KeySetStatus::Retired { since: NOW + 600 };
    let root = rotate(&at(&world, "two"), ISSUER, &world.source, 600, NOW).unwrap();
    accept(&root);
    assert_eq!(statuses(&root, &ids), [KeySetStatus::Active, retired, KeySetStatus::Active]);
    carry(&world, "two", "data", 4);
    // The first node revokes its own, and then, without its service being stopped, those of the third.
    let revoked = KeySetStatus::Revoked { since: NOW };
    let root = revoke(&world.data(), ISSUER, &world.source, &ids[0], NOW).unwrap();
    accept(&root);
    assert_eq!(statuses(&root, &ids), [revoked, retired, KeySetStatus::Active]);
    let own = world.open().unwrap().keys.id();
    let running = DataDir::open(&world.path()).unwrap();
    let root = revoke(&world.data(), ISSUER, &world.source, &ids[2], NOW).unwrap();
    drop(running);
    accept(&root);
    assert_eq!(statuses(&root, &ids), [revoked, retired, revoked]);
    assert_eq!(world.open().unwrap().keys.id(), own, "its own keys stay");
    carry(&world, "data", "two", 5);
    carry(&world, "data", "two", 6);
    assert_eq!(open_at(&world, "two").unwrap().trust_root, root);

    // A node whose keys another one revoked signs nothing, and makes no version of its own.
    for number in [4, 5, 6] {
        carry(&world, "data", "three", number);
    }
    let text = refused(open_at(&world, "three"));
    assert!(text.contains("version 6") && text.contains("another node made it"), "{text}");
    assert!(refused(rotate(&at(&world, "three"), ISSUER, &world.source, 0, NOW)).contains("version 6"));
}

#[test]
fn a_version_that_another_node_did_not_make_is_not_taken() {
    let world = served();
    let (one, shown) = (world.open().unwrap(), Shown::new(&world.open().unwrap()));
    let directory = world.path();
    assert!(matches!((shown.follow(&directory), shown.waiting(&directory)), (Ok(None), None)));
    // Of other keys, and half a file.
    let other = served();
    add(&other, "two").unwrap();
    let next = directory.join(version_file(2));
    std::fs::copy(other.path().join(version_file(2)), &next).unwrap();
    assert!(refused(shown.follow(&directory)).contains("2.json: made from another version before"));
    std::fs::write(&next, &std::fs::read(&next).unwrap()[..900]).unwrap();
    assert!(refused(shown.follow(&directory)).contains("2.json"));
    assert_eq!((*shown.root()).clone(), one.trust_root);
    assert_eq!(world.open().unwrap().trust_root, one.trust_root);
    assert!(shown.waiting(&directory).is_some());

    // A service that runs shows what was added beside it, and nothing that lists its keys no more.
    let root = add(&world, "two").unwrap();
    assert!(matches!(shown.follow(&directory), Ok(Some(2))));
    assert_eq!((*shown.root()).clone(), root);
    assert_eq!(shown.until(), Some(one.keys.public().not_after));
    assert_eq!(shown.retires(&directory), None);
    world.rotate();
    assert!(refused(shown.follow(&directory)).contains("if they were rotated, start the service again"));
    assert_eq!(shown.retires(&directory), Some(NOW + 600), "it has to be started again before");
    assert_eq!((*shown.root()).clone(), root);
}

#[test]
fn what_is_no_node_and_what_is_no_empty_directory_is_refused_by_name() {
    let world = World::new();
    world.open().unwrap();
    let text = refused(add(&world, "two"));
    assert!(text.contains("data/master.key is missing; name the data directory of a node"), "{text}");
    assert!(!place(&world, "two").exists(), "nothing is made");

    let world = served();
    add(&world, "two").unwrap();
    let after_first = [world.path(), place(&world, "two")].map(|path| files(&path));
    for name in ["two", "data"] {
        let text = refused(add(&world, name));
        assert!(text.contains(&format!("/{name} is not empty")), "{text}");
    }
    std::fs::write(place(&world, "file"), "").unwrap();
    for name in ["file", "file/two", "/proc/two"] {
        let text = refused(add(&world, name));
        let why = text.contains("cannot") || text.contains("is a file, not a directory");
        assert!(text.contains(name) && why, "{text}");
    }
    let after_all = [world.path(), place(&world, "two")].map(|path| files(&path));
    assert!(after_first == after_all, "a refusal changes nothing");
    std::fs::create_dir(place(&world, "open")).unwrap();
    std::fs::set_permissions(place(&world, "open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused(add(&world, "open")).contains("readable by others"));
}

/// The files of a new node in the order in which they are written.
const WRITTEN: [&str; 15] = [
    "node.unfinished",
    "lock",
    "installation.toml",
    "master.key",
    "pepper.key",
    "key-holder-client-certificate.pem",
    "key-holder-client-private-key.pem",
    "admin.token",
    "tls-certificate.pem",
    "tls-private-key.pem",
    "postgres.mark",
    "keys.passphrase",
    "signing.keys",
    "trust-roots/2.json",
    "trust-root.json",
];

fn write_all(directory: &Path, all: &BTreeMap<PathBuf, Vec<u8>>, names: &[&str]) {
    for name in names.iter().map(Path::new) {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        for folder in [directory, path.parent().unwrap()] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        std::fs::write(&path, all.get(name).map_or(&b""[..], Vec::as_slice)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// The files with a record that notes only these.
fn at_that_time(all: &BTreeMap<PathBuf, Vec<u8>>, noted: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let record = String::from_utf8(all[Path::new("installation.toml")].clone()).unwrap();
    let is_noted = |line: &&str| {
        let name = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        name.is_none_or(|(name, _)| noted.contains(&name))
    };
    let record = record.lines().filter(is_noted).collect::<Vec<_>>().join("\n");
    let mut files = all.clone();
    files.insert("installation.toml".into(), record.into_bytes());
    files
}

#[test]
fn a_kill_at_any_point_leaves_both_usable_or_a_command_that_can_be_repeated() {
    let world = served();
    let pinned = world.open().unwrap().trust_root;
    let before = files(&world.path());
    let root = add(&world, "whole").unwrap();
    let (after, whole) = (files(&world.path()), files(&place(&world, "whole")));
    let restore = |first: &BTreeMap<PathBuf, Vec<u8>>| {
        std::fs::remove_dir_all(world.path()).unwrap();
        let names: Vec<_> = first.keys().map(|name| name.to_str().unwrap()).collect();
        write_all(&world.path(), first, &names);
    };
    // Before the commit: the first node is as before, and no process starts from the other directory.
    for (written, noted) in
        (0..=WRITTEN.len()).flat_map(|all| (all.saturating_sub(1)..=all).map(move |noted| (all, noted)))
    {
        restore(&before);
        let name = format!("killed-{written}-{noted}");
        write_all(&place(&world, &name), &at_that_time(&whole, &WRITTEN[..noted]), &WRITTEN[..written]);
        assert_eq!(world.open().unwrap().trust_root, pinned);
        if written > 0 {
            let text = DataDir::open(&place(&world, &name)).unwrap_err().to_string();
            assert!(text.contains("repeat the command"), "{text}");
        }
        let other = add(&world, &name).unwrap();
        pinned.accept(&other).unwrap();
        assert_ne!(other, root, "keys of which nobody knows are not used");
        assert_eq!(open_at(&world, &name).unwrap().trust_root, other);
        assert_eq!(world.open().unwrap().trust_root, other);
    }
    // After it: the keys that were listed are used, whatever the first node has done meanwhile.
    for (number, rotated) in [false, true].into_iter().enumerate() {
        restore(&before);
        let name = format!("listed-{number}");
        write_all(&place(&world, &name), &whole, &WRITTEN);
        world.data().write(&version_file(2), &after[Path::new(&version_file(2))]).unwrap();
        let newest = if rotated { world.rotate() } else { root.clone() };
        assert_eq!(add(&world, &name).unwrap(), newest);
        let node = open_at(&world, &name).unwrap();
        assert_eq!(node.trust_root, newest);
        assert_eq!(newest.key_sets().len(), if rotated { 3 } else { 2 }, "no keys were made twice");
        assert!(root.key_set(&node.keys.id()).is_some());
        assert_eq!(world.open().unwrap().trust_root, newest);
    }
}
