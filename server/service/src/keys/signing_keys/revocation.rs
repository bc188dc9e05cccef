//! Revokes a key set that may be compromised: its seals no longer verify, whatever time they name.
//!
//! The directory's own key set is replaced by new keys, as in a rotation. A retired one, and one of another node, only changes its status. In
//! each case the next version of the trust root is signed as [`TrustRoot::accept`] requires.
//!
//! No service signs with a revoked key set: revoking takes the lock that a running service of the directory holds, and a service starts
//! only with keys that its trust root lists as active. Another node is to be stopped by its operator. If the process dies before the new keys are stored, the next version
//! exists without its secret keys. A service then refuses to start until the revocation is repeated.

use super::{
    DataDir, DataDirError, KeySetId, KeySetStatus, KeysError, Source, TrustRoot, keep, lists, next,
    next_version, open, publish, replace, with_status,
};
use std::path::Path;

/// Revokes a key set from `now` on, and returns the version that says so.
pub fn revoke(
    directory: &DataDir,
    issuer: &str,
    source: &Source,
    id: &KeySetId,
    now: u64,
) -> Result<TrustRoot, KeysError> {
    let mut opened = open(directory, issuer, source)?;
    let status = opened.trust_root.key_set(id).map(|set| set.status);
    let is_own = *id == opened.keys.id();
    let is_elsewhere = status == Some(KeySetStatus::Active) && !is_own;
    let _no_service = (!is_elsewhere).then(|| without_service(directory)).transpose()?;
    let revoked = KeySetStatus::Revoked { since: now };
    match status {
        Some(KeySetStatus::Active) if is_own => replace(directory, source, opened, revoked, now),
        Some(KeySetStatus::Active | KeySetStatus::Retired { .. }) => {
            let key_sets = with_status(&opened.trust_root, id, revoked);
            let next = next_version(&opened.trust_root, key_sets, &mut [&mut opened.keys])?;
            keep(directory, &next)?;
            publish(directory, &next)?;
            Ok(next)
        }
        Some(KeySetStatus::Revoked { .. }) => {
            Err(KeysError::Revocation(format!("key set {} is revoked already", hex::encode(id))))
        }
        None => Err(KeysError::Revocation(format!(
            "no key set {} in the trust root; `trefoil keys show` lists them",
            hex::encode(id)
        ))),
    }
}

/// The lock that a service holds while it runs. A running service has its keys in memory, and may sign with a key set
/// that was retired since it started.
fn without_service(directory: &DataDir) -> Result<DataDir, KeysError> {
    DataDir::open(directory.path()).map_err(|cause| match cause {
        DataDirError::Locked { path, .. } => KeysError::Revocation(format!(
            "a service runs from {path} and may sign with this key set: stop it, revoke, and start it again"
        )),
        other => other.into(),
    })
}

/// Refuses keys that a stored but unpublished version revokes.
pub(super) fn refuse_half_revoked(
    directory: &Path,
    root: &TrustRoot,
    own: &KeySetId,
) -> Result<(), KeysError> {
    match after(directory, root).is_some_and(|next| revokes(&next, own)) {
        true => Err(KeysError::HalfRevoked { id: hex::encode(own) }),
        false => Ok(()),
    }
}

/// Refuses keys that the next version of another node revokes: it makes no keys active, as a revocation here would.
pub(super) fn refuse_revoked_elsewhere(
    directory: &Path,
    root: &TrustRoot,
    own: &KeySetId,
) -> Result<(), KeysError> {
    let Some(next) = after(directory, root).filter(|next| revokes(next, own)) else { return Ok(()) };
    let mut active = next.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
    match active.all(|set| lists(root, &set.keys.id())) {
        true => Err(KeysError::Revocation(format!(
            "version {} of the trust root revokes the signing keys of {}: another node made it. Nothing may sign with them; make this node's \
             directory anew with `trefoil keys add-node`",
            next.version(),
            directory.display()
        ))),
        false => Ok(()),
    }
}

fn after(directory: &Path, root: &TrustRoot) -> Option<TrustRoot> {
    next(directory, root).ok().flatten()
}

fn revokes(root: &TrustRoot, id: &KeySetId) -> bool {
    root.key_set(id).is_some_and(|set| matches!(set.status, KeySetStatus::Revoked { .. }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ISSUER, NOW, World};
    use super::super::{KEYS_FILE, TRUST_ROOT_FILE};
    use super::*;

    fn revoke_at(world: &World, id: &KeySetId, now: u64) -> Result<TrustRoot, KeysError> {
        revoke(&world.data(), ISSUER, &world.source, id, now)
    }

    fn status(root: &TrustRoot, id: &KeySetId) -> Option<KeySetStatus> {
        root.key_set(id).map(|set| set.status)
    }

    #[test]
    fn the_keys_of_today_are_revoked_and_others_take_their_place() {
        let world = World::new();
        let first = world.open().unwrap();
        let next = revoke_at(&world, &first.keys.id(), NOW).unwrap();
        first.trust_root.accept(&next).unwrap();
        let opened = world.open().unwrap();
        assert_eq!(opened.trust_root, next);
        assert_ne!(opened.keys.id(), first.keys.id());
        assert_eq!(status(&next, &opened.keys.id()), Some(KeySetStatus::Active));
        assert_eq!(status(&next, &first.keys.id()), Some(KeySetStatus::Revoked { since: NOW }));
        let again = revoke_at(&world, &first.keys.id(), NOW).unwrap_err().to_string();
        assert!(again.contains("is revoked already"), "{again}");
        let unknown = revoke_at(&world, &KeySetId::new([0; 32]), NOW).unwrap_err().to_string();
        assert!(unknown.contains("no key set 0000"), "{unknown}");
        assert_eq!(world.open().unwrap().trust_root, next, "a refusal changes nothing");
    }

    #[test]
    fn a_retired_set_is_revoked_and_the_keys_of_today_stay() {
        let world = World::new();
        let first = world.open().unwrap();
        let second = world.rotate();
        let signing = world.open().unwrap().keys.id();
        let old_root = std::fs::read(world.data().join(TRUST_ROOT_FILE)).unwrap();
        let third = revoke_at(&world, &first.keys.id(), NOW + 1).unwrap();
        second.accept(&third).unwrap();
        assert_eq!(status(&third, &first.keys.id()), Some(KeySetStatus::Revoked { since: NOW + 1 }));
        assert_eq!(world.open().unwrap().keys.id(), signing);
        // The process died before the version was published: the next start publishes it.
        world.data().write(TRUST_ROOT_FILE, &old_root).unwrap();
        assert_eq!(world.open().unwrap().trust_root, third);
        assert_eq!(std::fs::read(world.data().join(TRUST_ROOT_FILE)).unwrap(), third.to_json().as_bytes());
    }

    #[test]
    fn keys_do_not_sign_once_a_version_that_revokes_them_was_written() {
        let world = World::new();
        let first = world.open().unwrap();
        let read = |name: &str| std::fs::read(world.data().join(name)).unwrap();
        let (old_keys, old_root) = (read(KEYS_FILE), read(TRUST_ROOT_FILE));
        revoke_at(&world, &first.keys.id(), NOW).unwrap();
        // A copy of the old keys is useless.
        world.data().write(KEYS_FILE, &old_keys).unwrap();
        assert!(world.refused().contains("does not list the keys"));
        // The process died before the keys were replaced.
        world.data().write(TRUST_ROOT_FILE, &old_root).unwrap();
        assert!(world.refused().contains("repeat `trefoil keys revoke"));
        let repeated = revoke_at(&world, &first.keys.id(), NOW).unwrap();
        first.trust_root.accept(&repeated).unwrap();
        assert_eq!(world.open().unwrap().trust_root, repeated);
    }

    /// Claim I22.
    #[test]
    fn nothing_is_revoked_under_a_service_that_runs() {
        let world = World::new();
        let first = world.open().unwrap();
        let service = DataDir::open(world.data().path()).unwrap();
        let refused = revoke_at(&world, &first.keys.id(), NOW).unwrap_err().to_string();
        assert!(refused.contains("stop it, revoke, and start it again"), "{refused}");
        assert_eq!(world.open().unwrap().trust_root, first.trust_root);
        drop(service);
        assert!(revoke_at(&world, &first.keys.id(), NOW).is_ok());
    }
}
