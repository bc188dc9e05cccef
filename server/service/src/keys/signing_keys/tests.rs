use super::*;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

pub(super) const ISSUER: &str = "https://auth.example";
pub(super) const NOW: u64 = 1_800_000_000;

pub(super) struct World {
    directory: tempfile::TempDir,
    pub(super) source: Source,
}

impl World {
    pub(super) fn new() -> World {
        World {
            directory: tempfile::tempdir().unwrap(),
            source: Source { file: PathBuf::new(), credentials: None },
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn data(&self) -> DataDir {
        DataDir::open_for_keys(&self.path()).unwrap()
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.directory.path().join(name);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).truncate(true).write(true).mode(mode).open(&path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        path
    }

    pub(super) fn open(&self) -> Result<Opened, KeysError> {
        open_or_make(&self.data(), ISSUER, &self.source, NOW)
    }

    pub(super) fn refused(&self) -> String {
        self.open().err().expect("opened").to_string()
    }

    pub(super) fn rotate(&self) -> TrustRoot {
        rotate(&self.data(), ISSUER, &self.source, 600, NOW).unwrap()
    }
}

/// Claim I22: Signing keys are encrypted at rest, and none signs once it is revoked.
#[test]
fn keys_are_made_once_and_stored_encrypted() {
    let world = World::new();
    let first = world.open().unwrap();
    let again = world.open().unwrap();
    assert_eq!((first.keys.id(), &first.trust_root), (again.keys.id(), &again.trust_root));
    assert_eq!(first.trust_root.version(), 1);
    let stored = std::fs::read(world.data().join(KEYS_FILE)).unwrap();
    assert!(stored.starts_with(b"TFKEYS02"));
    assert!(matches!(make(&world.data(), ISSUER, &world.source, NOW), Err(KeysError::Exists { .. })));
}

#[test]
fn a_configured_file_comes_before_a_credential_and_both_before_a_generated_one() {
    let mut world = World::new();
    world.file("trefoil-keys-passphrase", "from systemd it comes\n", 0o400);
    world.source.credentials = Some(world.directory.path().into());
    world.source.file = world.file("configured", "from the configuration", 0o600);
    world.open().unwrap();
    assert!(!world.data().join(passphrase::GENERATED_FILE).exists());
    world.source.file = PathBuf::new();
    assert!(world.refused().contains("the passphrase does not open it"));
    world.source.credentials = None;
    assert!(world.refused().contains("set keys.passphrase_file"));
    world.source.file = world.file("configured", "from the configuration\n", 0o600);
    world.open().unwrap();
}

#[test]
fn passphrase_files_that_cannot_protect_are_refused() {
    let mut world = World::new();
    world.source.file = world.file("exposed", "long enough a passphrase", 0o644);
    assert!(world.refused().contains("readable by others"));
    world.source.file = world.file("short", "short\n\n\n\n\n\n\n\n\n\n", 0o600);
    assert!(world.refused().contains("shorter than 12 bytes"));
    world.source.file = world.file("long", &"x".repeat(4097), 0o600);
    assert!(world.refused().contains("longer than 4096 bytes"));
    world.source.file = world.directory.path().join("missing");
    assert!(world.refused().contains("missing"));
}

#[test]
fn another_passphrase_replaces_the_generated_one() {
    let mut world = World::new();
    let keys = world.open().unwrap().keys.id();
    let chosen = world.file("chosen", "chosen by an operator", 0o600);
    let new = Passphrase::read(&chosen).unwrap();
    reencrypt(&world.data(), ISSUER, &world.source, &new).unwrap();
    assert!(!world.data().join(passphrase::GENERATED_FILE).exists());
    assert!(world.refused().contains("set keys.passphrase_file"));
    // With a byte order mark and the line end of another editor.
    world.source.file = world.file("marked", "\u{feff}chosen by an operator\r\n", 0o600);
    assert_eq!(world.open().unwrap().keys.id(), keys);
}

#[test]
fn a_rotation_that_dies_at_any_point_leaves_keys_that_a_trust_root_lists() {
    let world = World::new();
    let first = world.open().unwrap();
    let read = |name: &str| std::fs::read(world.data().join(name)).unwrap();
    let (old_keys, old_root) = (read(KEYS_FILE), read(TRUST_ROOT_FILE));
    let second = world.rotate();
    let new_keys = read(KEYS_FILE);

    // Before the keys are replaced: the next version exists and is never used.
    world.data().write(KEYS_FILE, &old_keys).unwrap();
    world.data().write(TRUST_ROOT_FILE, &old_root).unwrap();
    assert_eq!(world.open().unwrap().trust_root, first.trust_root);
    let other = world.rotate();
    first.trust_root.accept(&other).unwrap();
    assert_ne!(other, second);

    // After the keys are replaced and before the trust root is: the next start finishes the rotation.
    world.data().write(TRUST_ROOT_FILE, &old_root).unwrap();
    assert_eq!(world.open().unwrap().trust_root, other);
    assert_eq!(TrustRoot::from_file(&read(TRUST_ROOT_FILE)).unwrap(), other);

    // Keys of another rotation are refused rather than used.
    world.data().write(KEYS_FILE, &new_keys).unwrap();
    assert!(world.refused().contains("restore both from one backup"));
}

#[test]
fn files_that_do_not_belong_together_are_refused_with_the_way_out() {
    let world = World::new();
    world.open().unwrap();
    let elsewhere = open_or_make(&world.data(), "https://other.example", &world.source, NOW);
    assert!(elsewhere.err().unwrap().to_string().contains("set server.issuer to https://auth.example"));
    let late = open_or_make(&world.data(), ISSUER, &world.source, NOW + LIFETIME_S);
    assert!(late.err().unwrap().to_string().contains("trefoil keys rotate"));
    // Not the keys' fault, and a rotation would retire good ones.
    let early = open_or_make(&world.data(), ISSUER, &world.source, NOW - 61).err().unwrap().to_string();
    assert!(early.contains(", 1 s later: set the clock") && !early.contains("rotate"), "{early}");
    let keys = world.data().join(KEYS_FILE);
    std::fs::remove_file(&keys).unwrap();
    assert!(world.refused().contains("Restore the whole directory from one backup"));
    world.data().write(KEYS_FILE, b"TFKEYS03 and more bytes than a header has, in all").unwrap();
    assert!(world.refused().contains("no key file of this version"));
}

#[test]
fn a_full_trust_root_drops_retired_key_sets_and_never_revoked_ones() {
    let keys = generate(NOW).unwrap();
    let set = |number: u8, status| {
        let mut set = TrustedKeySet { keys: keys.public().clone(), status };
        set.keys.slh_dsa_sha2_128f[0] ^= number + 1;
        set
    };
    let (retired, revoked) = (KeySetStatus::Retired { since: NOW }, KeySetStatus::Revoked { since: NOW });
    let full = |statuses: &dyn Fn(u8) -> KeySetStatus| {
        (0..KEY_SETS_MAX as u8).map(|number| set(number, statuses(number))).collect::<Vec<_>>()
    };
    let mut kept = full(&|number| if number == 5 { retired } else { revoked });
    let joined = joined_by(&keys, kept.clone());
    kept.remove(5);
    assert_eq!(joined[1..], kept[..]);
    let none_retired = TrustRoot::new(ISSUER, joined_by(&keys, full(&|_| revoked)));
    assert_eq!(none_retired, Err(TrustRootError::KeySetCount));
}
