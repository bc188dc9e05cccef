//! One login stored on disk, for `trefoil verify`.

use super::error::DemoError;
use super::load::{AUDIENCE, Login};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use trefoil_attest::TrustRoot;
use trefoil_types::{AccountKeyId, TenantId};

const ATTESTATION_FILE: &str = "login.attestation.cbor";
const TRUST_ROOT_FILE: &str = "trust-root.json";

/// Where a login was saved and how to verify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptLogin {
    /// The attestation.
    pub attestation: PathBuf,
    /// The trust root.
    pub trust_root: PathBuf,
    /// Arguments of `trefoil` that verify it; the time is that of the login, since an attestation is valid for two
    /// minutes at most.
    pub verify: Vec<String>,
}

impl KeptLogin {
    /// Saves a login and its trust root into `folder`, which is created if needed.
    pub(super) fn save(
        folder: &Path,
        login: &Login,
        tenant: TenantId,
        key: AccountKeyId,
        trust_root: &TrustRoot,
    ) -> Result<KeptLogin, DemoError> {
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |cause: std::io::Error| DemoError::Output { path, cause: cause.to_string() }
        };
        fs::create_dir_all(folder).map_err(unwritable(folder))?;
        let (attestation, root) = (folder.join(ATTESTATION_FILE), folder.join(TRUST_ROOT_FILE));
        fs::write(&attestation, &login.attestation).map_err(unwritable(&attestation))?;
        fs::write(&root, trust_root.to_json()).map_err(unwritable(&root))?;
        let verify = [
            "verify".to_owned(),
            attestation.display().to_string(),
            "--trust-root".to_owned(),
            root.display().to_string(),
            "--audience".to_owned(),
            AUDIENCE.to_owned(),
            "--nonce".to_owned(),
            hex::encode(login.request.nonce.as_bytes()),
            "--tenant".to_owned(),
            hex::encode(tenant),
            "--account-key".to_owned(),
            key.to_string(),
            "--at".to_owned(),
            login.received_at.to_string(),
        ];
        Ok(KeptLogin { attestation, trust_root: root, verify: verify.to_vec() })
    }

    /// The command line.
    pub(super) fn command(&self) -> String {
        let program = std::env::args().next().unwrap_or_else(|| "trefoil".to_owned());
        std::iter::once(&program).chain(&self.verify).map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("target/demo/login.cbor"), "target/demo/login.cbor");
        assert_eq!(quoted("my folder"), "'my folder'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
