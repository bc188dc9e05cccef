//! A store for one test.

use tempfile::TempDir;
use trefoil_storage::store::Sqlite;

/// An empty store, and the folder that goes with it: to be dropped last.
pub(crate) fn scratch() -> (Sqlite, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Sqlite::open(&folder.path().join("store.sqlite"), &[7; 32]).expect("an empty store");
    (store, folder)
}
