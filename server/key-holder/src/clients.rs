//! The clients of a key-holder and their rights: `clients.toml` in its data directory.
//!
//! A right is a set of requests, not a level. A client that may send batches must not be able to weaken the protection against
//! batches: it neither sets a policy nor lifts a freeze. A client that operates the key-holder decides nothing and enrols no subject.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;
use trefoil_host::identity::Fingerprint;
use trefoil_host::settings::located;
use trefoil_storage::data_dir::{DataDir, DataDirError};

/// The list of clients in the data directory.
pub const CLIENTS_FILE: &str = "clients.toml";

/// The requests that a client may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Create tenants within the operator's limits; enrol, shred and decide for the tenants that it created.
    Match,
    /// Set policies and lift freezes, of any tenant.
    Operate,
    /// Send parts of decisions, as one of three key-holders. Not allowed in the list: peers are in the configuration.
    #[serde(skip)]
    #[value(skip)]
    Peer,
}

/// One client. Its name owns the tenants that it creates, so a new certificate under the old name keeps them, and two
/// gateways of one operator may share a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Name in the job log.
    pub name: String,
    /// Fingerprint of its certificate, hexadecimal.
    pub fingerprint: String,
    /// What it may ask for.
    pub right: Right,
}

/// All clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// The clients.
    #[serde(default)]
    pub client: Vec<Client>,
}

/// Why the list cannot be used.
#[derive(Debug, Error)]
pub enum ClientsError {
    /// The data directory refused.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file is not a list of clients.
    #[error(
        "{path}: {cause}; each [[client]] has name, fingerprint and right, which is \"match\" or \"operate\""
    )]
    File {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
}

impl Clients {
    /// Reads the list of a data directory; empty if there is none.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn read(directory: &DataDir) -> Result<Clients, ClientsError> {
        let path = directory.join(CLIENTS_FILE);
        if !path.exists() {
            return Ok(Clients::default());
        }
        let bytes = directory.file(CLIENTS_FILE, Default::default)?;
        let refused = |cause: String| ClientsError::File { path: path.display().to_string(), cause };
        let text = trefoil_contents::text(&bytes).map_err(refused)?;
        let clients: Clients = toml::from_str(text).map_err(|cause| refused(located(text, &cause)))?;
        clients.by_fingerprint().map_err(refused)?;
        Ok(clients)
    }

    /// Adds a client, or changes name and right of the client with this fingerprint.
    ///
    /// # Errors
    /// [`DataDirError`] when the list cannot be written.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn authorise(
        &mut self,
        directory: &DataDir,
        name: &str,
        fingerprint: Fingerprint,
        right: Right,
    ) -> Result<(), DataDirError> {
        let fingerprint = fingerprint.to_string();
        self.client.retain(|client| client.fingerprint != fingerprint);
        self.client.push(Client { name: name.to_owned(), fingerprint, right });
        let text = toml::to_string(self).expect("every field has a TOML form");
        directory.write(CLIENTS_FILE, text.as_bytes())
    }

    /// The clients by the fingerprints of their certificates.
    pub(crate) fn by_fingerprint(&self) -> Result<HashMap<Fingerprint, Arc<Client>>, String> {
        let mut all = HashMap::new();
        for client in &self.client {
            let fingerprint: Fingerprint = client.fingerprint.parse()?;
            if client.name.is_empty() || client.name.len() > 64 {
                return Err("a name has 1 to 64 bytes".to_owned());
            }
            if all.insert(fingerprint, Arc::new(client.clone())).is_some() {
                return Err(format!("{fingerprint} is listed twice"));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_nobody_is_listed_twice() {
        let client = |name: &str, digit: &str| Client {
            name: name.to_owned(),
            fingerprint: digit.repeat(64),
            right: Right::Match,
        };
        let read = |client: Vec<Client>| Clients { client }.by_fingerprint().map(|all| all.len());
        // Two gateways of one operator may share a name, and so its tenants.
        assert_eq!(read(vec![client("a", "1"), client("a", "2")]), Ok(2));
        assert!(read(vec![client("a", "1"), client("b", "1")]).is_err());
        assert_eq!(read(vec![client(&"a".repeat(64), "1")]), Ok(1));
        assert!(read(vec![client("", "1")]).is_err() && read(vec![client(&"a".repeat(65), "1")]).is_err());
    }
}
