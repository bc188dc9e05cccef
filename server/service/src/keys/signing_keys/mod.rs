//! The signing keys of a data directory and the chain of trust roots that vouches for them.
//!
//! | file | what |
//! |---|---|
//! | `signing.keys` | the secret keys that sign today, encrypted (see `at_rest`) |
//! | `trust-root.json` | the newest trust root, for relying parties |
//! | `trust-roots/N.json` | every version, each cosigned by a key set of the one before |
//!
//! A rotation writes the next version first and replaces the keys last: replacing `signing.keys` commits it.
//! If the process dies before that, the new version is never used, because its keys are gone. If it dies after that,
//! the next start finds keys that the newest trust root does not list and moves on to the version that lists them.
//! After a rotation the old secret keys are gone, and the old public keys stay in the trust root as retired. A revocation (see
//! `revocation`) leaves them there as revoked.
//!
//! Each node of a fleet has a directory with keys of its own (see `node`), and one trust root lists those of all nodes as active. A version that
//! another node made comes into the directory as a file: it is taken if the version here accepts it and it lists the keys here.

mod at_rest;
mod error;
mod node;
mod passphrase;
mod revocation;
mod shown;

pub use error::KeysError;
pub use node::add_node;
pub use passphrase::{Passphrase, Source};
pub use revocation::revoke;
pub use shown::{Shown, root_told};

use error::KEYS_FILE;
use std::path::Path;
use trefoil_attest::{
    KEY_SETS_MAX, KeySetId, KeySetStatus, TrustRoot, TrustRootError, TrustedKeySet, UpdateError,
};
use trefoil_sign::SigningKeys;
use trefoil_storage::data_dir::{DataDir, DataDirError};
use zeroize::Zeroizing;

/// The newest trust root as JSON, which is public.
pub const TRUST_ROOT_FILE: &str = "trust-root.json";
/// Every version of the trust root.
const VERSIONS: &str = "trust-roots";
/// Lifetime of a key set: a year and a month, so that a yearly rotation has a margin.
const LIFETIME_S: u64 = 397 * 86_400;
/// New keys are valid a minute before they are made, for verifiers whose clock is behind.
const TOLERANCE_S: u64 = 60;

/// Keys and the trust root that lists them as active.
pub struct Opened {
    /// The private keys.
    pub keys: SigningKeys,
    /// The trust root, which relying parties pin.
    pub trust_root: TrustRoot,
}

/// The issuer of the directory's trust root; `None` if there is none or it is damaged, which opening the keys reports.
pub fn kept_issuer(directory: &DataDir) -> Option<String> {
    let bytes = std::fs::read(directory.join(TRUST_ROOT_FILE)).ok()?;
    Some(TrustRoot::from_file(&bytes).ok()?.issuer().to_owned())
}

/// Whether a directory has signing keys, of which only the name is looked at.
pub fn are_there(directory: &Path) -> bool {
    directory.join(KEYS_FILE).exists()
}

/// The keys and trust root of a directory, made if it has neither.
pub fn open_or_make(
    directory: &DataDir,
    issuer: &str,
    source: &Source,
    now: u64,
) -> Result<Opened, KeysError> {
    let opened = match directory.has(KEYS_FILE)? {
        true => open(directory, issuer, source)?,
        false => make(directory, issuer, source, now)?,
    };
    revocation::refuse_half_revoked(directory.path(), &opened.trust_root, &opened.keys.id())?;
    in_time(&opened.keys, now)?;
    Ok(opened)
}

fn in_time(keys: &SigningKeys, now: u64) -> Result<(), KeysError> {
    let (from, until) = (keys.public().not_before, keys.public().not_after);
    match now {
        _ if now < from => Err(KeysError::ClockBehind { from, now }),
        _ if now >= until => Err(KeysError::RunOut),
        _ => Ok(()),
    }
}

fn unsealed(path: &Path, file: &[u8], passphrase: &Passphrase) -> Result<SigningKeys, KeysError> {
    at_rest::open(file, passphrase.as_bytes())
        .map_err(|cause| KeysError::Keys { path: path.display().to_string(), cause: cause.to_string() })
}

/// Makes the first keys and version 1 of the trust root.
pub fn make(directory: &DataDir, issuer: &str, source: &Source, now: u64) -> Result<Opened, KeysError> {
    let keys_path = directory.join(KEYS_FILE);
    if directory.has(KEYS_FILE)? {
        return Err(KeysError::Exists { path: keys_path.display().to_string() });
    }
    if directory.has(TRUST_ROOT_FILE)? || directory.join(VERSIONS).exists() {
        return Err(KeysError::Apart(format!(
            "{} is missing beside a trust root; restore it from a backup, or move {TRUST_ROOT_FILE} and {VERSIONS} away \
             to start as an issuer that nobody trusts yet",
            keys_path.display()
        )));
    }
    let passphrase = source.find(directory)?;
    let keys = generate(now)?;
    let trust_root = first(issuer, &keys)?;
    directory.write(KEYS_FILE, &sealed(&keys, &passphrase))?;
    directory.note(KEYS_FILE)?;
    keep(directory, &trust_root)?;
    publish(directory, &trust_root)?;
    Ok(Opened { keys, trust_root })
}

/// The keys and trust root of a directory that has them. Finishes a rotation that was interrupted.
pub fn open(directory: &DataDir, issuer: &str, source: &Source) -> Result<Opened, KeysError> {
    let path = directory.join(KEYS_FILE);
    if !directory.has(KEYS_FILE)? {
        let cause =
            format!("{} is missing; name the service's data directory with --data-dir", path.display());
        return Err(KeysError::Apart(cause));
    }
    let missing = || Zeroizing::new(Vec::new());
    let passphrase = source.find(directory)?;
    let file = directory.file(KEYS_FILE, missing)?;
    let keys = unsealed(&path, &file, &passphrase)?;
    let trust_root = trust_root_for(directory, issuer, &keys)?;
    directory.note(KEYS_FILE)?;
    directory.note(TRUST_ROOT_FILE)?;
    let (found, configured) = (trust_root.issuer().to_owned(), issuer.to_owned());
    if found == configured {
        Ok(Opened { keys, trust_root })
    } else {
        Err(KeysError::Issuer { found, configured })
    }
}

/// Makes new keys, retires the old ones after `overlap_s`, and returns the version that says so. A running service
/// uses the old keys until it is started again; their seals verify until the keys are retired.
pub fn rotate(
    directory: &DataDir,
    issuer: &str,
    source: &Source,
    overlap_s: u64,
    now: u64,
) -> Result<TrustRoot, KeysError> {
    let opened = open(directory, issuer, source)?;
    let since = now.saturating_add(overlap_s);
    replace(directory, source, opened, KeySetStatus::Retired { since }, now)
}

/// Makes new keys and the next version of the trust root, in which the directory's old keys have this status. Key sets of other nodes stay.
fn replace(
    directory: &DataDir,
    source: &Source,
    Opened { keys: mut old, trust_root }: Opened,
    status: KeySetStatus,
    now: u64,
) -> Result<TrustRoot, KeysError> {
    let mut new = generate(now)?;
    let others = with_status(&trust_root, &old.id(), status);
    let next = next_version(&trust_root, joined_by(&new, others), &mut [&mut old, &mut new])?;
    let sealed = sealed(&new, &source.find(directory)?);
    keep(directory, &next)?;
    directory.write(KEYS_FILE, &sealed)?;
    publish(directory, &next)?;
    Ok(next)
}

/// The key sets of a trust root, one of them with another status.
fn with_status(trust_root: &TrustRoot, id: &KeySetId, status: KeySetStatus) -> Vec<TrustedKeySet> {
    let changed = |set: &TrustedKeySet| match set.keys.id() == *id {
        true => TrustedKeySet { status, ..set.clone() },
        false => set.clone(),
    };
    trust_root.key_sets().iter().map(changed).collect()
}

/// New keys before those that are there. If these are too many, the oldest retired ones go: they are last, and their seals no longer verify.
/// Revoked ones stay, see [`TrustRoot::accept`].
fn joined_by(new: &SigningKeys, others: Vec<TrustedKeySet>) -> Vec<TrustedKeySet> {
    let mut key_sets = vec![TrustedKeySet { keys: new.public().clone(), status: KeySetStatus::Active }];
    key_sets.extend(others);
    while key_sets.len() > KEY_SETS_MAX
        && let Some(oldest) =
            key_sets.iter().rposition(|set| matches!(set.status, KeySetStatus::Retired { .. }))
    {
        key_sets.remove(oldest);
    }
    key_sets
}

/// The next version with these key sets, which these keys sign.
fn next_version(
    trust_root: &TrustRoot,
    key_sets: Vec<TrustedKeySet>,
    signers: &mut [&mut SigningKeys],
) -> Result<TrustRoot, KeysError> {
    let next = trust_root.successor(key_sets).map_err(refused)?;
    let cosignatures = signers.iter_mut().map(|keys| keys.cosign(&next, &mut rand::rng()));
    let cosignatures = cosignatures.collect::<Result<_, _>>();
    let cosignatures = cosignatures.map_err(|cause| KeysError::Sign(cause.to_string()))?;
    let next = next.with_cosignatures(cosignatures).map_err(refused)?;
    trust_root.accept(&next).map_err(|cause: UpdateError| KeysError::Sign(cause.to_string()))?;
    Ok(next)
}

/// Encrypts the keys under another passphrase. The generated one, if it was the old one, is removed.
pub fn reencrypt(
    directory: &DataDir,
    issuer: &str,
    source: &Source,
    new: &Passphrase,
) -> Result<(), KeysError> {
    let Opened { keys, .. } = open(directory, issuer, source)?;
    directory.write(KEYS_FILE, &sealed(&keys, new))?;
    directory.remove(passphrase::GENERATED_FILE)?;
    Ok(())
}

/// The newest version of the trust root that can be reached in a directory, whose keys may wait for a later one. Needs no passphrase.
pub fn newest(directory: &Path) -> Result<TrustRoot, KeysError> {
    let mut root = read(&directory.join(TRUST_ROOT_FILE))?;
    while let Some(later) = next(directory, &root)? {
        root = later;
    }
    Ok(root)
}

/// The version of the trust root with this number, as JSON, if there is one.
pub fn version(directory: &Path, number: u64) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(directory.join(VERSIONS).join(format!("{number}.json"))) {
        Ok(json) => Ok(Some(json)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// The file for these keys.
fn sealed(keys: &SigningKeys, passphrase: &Passphrase) -> Vec<u8> {
    at_rest::seal(keys, passphrase.as_bytes(), passphrase.cost())
}

fn generate(now: u64) -> Result<SigningKeys, KeysError> {
    let (from, until) = (now.saturating_sub(TOLERANCE_S), now.saturating_add(LIFETIME_S));
    SigningKeys::generate(from, until, &mut rand::rng()).map_err(|cause| KeysError::Sign(cause.to_string()))
}

fn first(issuer: &str, keys: &SigningKeys) -> Result<TrustRoot, KeysError> {
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    TrustRoot::new(issuer, vec![active]).map_err(refused)
}

fn refused(cause: TrustRootError) -> KeysError {
    KeysError::Sign(cause.to_string())
}

/// The newest trust root, which must list the keys as active.
fn trust_root_for(directory: &DataDir, issuer: &str, keys: &SigningKeys) -> Result<TrustRoot, KeysError> {
    let path = directory.join(TRUST_ROOT_FILE);
    if !directory.has(TRUST_ROOT_FILE)? && !directory.join(VERSIONS).exists() {
        // The keys are of an interrupted first start.
        let root = first(issuer, keys)?;
        keep(directory, &root)?;
        publish(directory, &root)?;
        return Ok(root);
    }
    let root = read(&path)?;
    let (published, own) = (root.version(), keys.id());
    let stored = version(directory.path(), root.version()).ok().flatten();
    if stored.as_deref() != Some(root.to_json().as_bytes()) {
        return Err(KeysError::Apart(format!(
            "{} is not the version {} that {VERSIONS} has; restore the whole directory from one backup",
            path.display(),
            root.version()
        )));
    }
    let (newest, _) = followed(directory.path(), root, &own);
    if !lists(&newest, &own) {
        return Err(KeysError::Apart(format!(
            "{} does not list the keys in {KEYS_FILE} as active; restore both from one backup",
            path.display()
        )));
    }
    revocation::refuse_revoked_elsewhere(directory.path(), &newest, &own)?;
    if newest.version() > published {
        publish(directory, &newest)?;
    }
    Ok(newest)
}

/// The newest stored version that can be reached from `root` over versions that list these keys as active, and why the version after it is not
/// taken, if there is one.
fn followed(directory: &Path, mut root: TrustRoot, own: &KeySetId) -> (TrustRoot, Option<KeysError>) {
    loop {
        match next(directory, &root) {
            Ok(None) => return (root, None),
            Ok(Some(next)) if lists(&next, own) => root = next,
            Ok(Some(next)) => {
                let path = directory.join(version_file(next.version()));
                let cause = format!(
                    "{} does not list the keys that sign now as active; if they were rotated, start the service again",
                    path.display()
                );
                return (root, Some(KeysError::Apart(cause)));
            }
            Err(cause) => return (root, Some(cause)),
        }
    }
}

/// The stored version after this one, which this one accepts.
fn next(directory: &Path, root: &TrustRoot) -> Result<Option<TrustRoot>, KeysError> {
    let path = directory.join(version_file(root.version() + 1));
    if !path.exists() {
        return Ok(None);
    }
    let next = read(&path)?;
    match root.accept(&next) {
        Ok(()) => Ok(Some(next)),
        Err(cause) => Err(KeysError::Apart(format!("{}: {cause}", path.display()))),
    }
}

fn lists(root: &TrustRoot, id: &KeySetId) -> bool {
    root.key_set(id).is_some_and(|set| set.status == KeySetStatus::Active)
}

fn read(path: &Path) -> Result<TrustRoot, KeysError> {
    let named = |cause: &dyn ToString| KeysError::TrustRoot {
        path: path.display().to_string(),
        cause: cause.to_string(),
    };
    let bytes = std::fs::read(path).map_err(|cause| named(&cause))?;
    TrustRoot::from_file(&bytes).map_err(|cause| named(&cause))
}

fn version_file(number: u64) -> String {
    format!("{VERSIONS}/{number}.json")
}

/// Adds a version to the kept ones.
fn keep(directory: &DataDir, root: &TrustRoot) -> Result<(), KeysError> {
    directory.make_directory(VERSIONS)?;
    Ok(directory.write(&version_file(root.version()), root.to_json().as_bytes())?)
}

/// Makes a version the newest.
fn publish(directory: &DataDir, root: &TrustRoot) -> Result<(), KeysError> {
    directory.write(TRUST_ROOT_FILE, root.to_json().as_bytes())?;
    Ok(directory.note(TRUST_ROOT_FILE)?)
}

#[cfg(test)]
mod tests;
