//! The callers of the service: operators, and tenants with their API keys.

use super::StartError;
use crate::config::Config;
use std::sync::Arc;
use trefoil_matching::KeyHolding;
use trefoil_service::tenants::directory::Directory;
use trefoil_service::tenants::notes::Notes;
use trefoil_service::tenants::operators::Operators;
use trefoil_service::tenants::tenant::Pepper;
use trefoil_storage::data_dir::{DataDir, DataDirError};
use trefoil_storage::store::Store;
use trefoil_storage::store::wrap::WrapKey;
use zeroize::Zeroizing;

/// The operator's token in the data directory.
pub const ADMIN_TOKEN_FILE: &str = "admin.token";

/// Loads them from the store.
pub(super) fn open(
    config: &Config,
    directory: &DataDir,
    (store, key_holder): (&Arc<dyn Store>, &Arc<dyn KeyHolding>),
    notes: &Notes,
) -> Result<(Operators, Directory), StartError> {
    let stored = |what, cause: String| StartError::Stored { what, cause };
    let pepper = Pepper::new(&*directory.secret::<32>("pepper.key")?);
    let token = admin_token(directory)?;
    let operators = Operators::load(Arc::clone(store), pepper.clone(), notes.clone(), token)
        .map_err(|cause| stored("operators", cause))?;
    let accounts = Directory::load(
        Arc::clone(store),
        Arc::clone(key_holder),
        WrapKey::new(&*directory.secret::<32>("master.key")?),
        pepper,
        config.proofs.verdict_room(),
        notes.clone(),
    )
    .map_err(|cause| stored("tenants", cause))?;
    Ok((operators, accounts))
}

/// 32 random bytes as hexadecimal, with a newline so that the file reads well.
fn admin_token(directory: &DataDir) -> Result<Zeroizing<String>, DataDirError> {
    let bytes = directory.file(ADMIN_TOKEN_FILE, || {
        let token = Zeroizing::new(hex::encode(rand::random::<[u8; 32]>()) + "\n");
        Zeroizing::new(token.as_bytes().to_vec())
    })?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    match text.len() {
        64.. => Ok(Zeroizing::new(text)),
        found => Err(DataDirError::Length {
            path: directory.join(ADMIN_TOKEN_FILE).display().to_string(),
            found,
            expected: 64,
        }),
    }
}
