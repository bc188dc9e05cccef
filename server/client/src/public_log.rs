//! The log of seals over the public API: no credential is needed.

use super::error::{ClientError, answer};
use super::outgoing::Outgoing;
use super::transport::Transport;
use serde::Deserialize;
use trefoil_api::Hex;
use trefoil_attest::Seal;
use trefoil_attest::tree::Hash;

/// A reader of one service's log. Its results are not verified.
pub struct PublicLog(Transport);

#[derive(Deserialize)]
struct Proof {
    proof: Vec<Hex<32>>,
}

#[derive(Deserialize)]
struct Taken {
    size: u64,
    witnesses: Vec<String>,
}

impl PublicLog {
    /// A reader at `base`, such as `https://127.0.0.1:8443`.
    ///
    /// # Errors
    /// When address or certificate cannot be used.
    pub fn new(base: &str, certificate_pem: &[u8]) -> Result<PublicLog, ClientError> {
        PublicLog::with_identity(base, certificate_pem, None)
    }

    /// Like [`PublicLog::new`], with a certificate and its key, PEM, for a service that demands one.
    ///
    /// # Errors
    /// When address, certificates or key cannot be used.
    pub fn with_identity(
        base: &str,
        certificate_pem: &[u8],
        identity_pem: Option<&[u8]>,
    ) -> Result<PublicLog, ClientError> {
        Ok(PublicLog(Transport::new(base, certificate_pem, identity_pem, 1)?))
    }

    /// The number of the newest seal; `None` if nothing has been sealed.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn newest(&self) -> Result<Option<u64>, ClientError> {
        let Some(bytes) = self.found("/v1/log/head").await? else { return Ok(None) };
        let seal = Seal::decode(&bytes).map_err(|cause| answer("GET /v1/log/head", &cause))?;
        Ok(Some(seal.header.seal_number))
    }

    /// A seal's bytes; `None` if no seal has this number.
    ///
    /// # Errors
    /// `seal-pruned` if its signatures are gone, and [`ClientError`] in general.
    pub async fn seal(&self, number: u64) -> Result<Option<Vec<u8>>, ClientError> {
        self.found(&format!("/v1/seals/{number}")).await
    }

    /// The log's entry for a seal: its bytes, or those of its header; `None` if no seal has this number.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, ClientError> {
        match self.seal(number).await {
            Err(cause) if cause.code() == Some("seal-pruned") => {
                self.found(&format!("/v1/seals/{number}/header")).await
            }
            found => found,
        }
    }

    /// The proof that the log of `size` seals extends the one of `old_size`.
    ///
    /// # Errors
    /// `seal-unknown` beyond what is signed, and [`ClientError`] in general.
    pub async fn consistency(&self, old_size: u64, size: u64) -> Result<Vec<Hash>, ClientError> {
        let path = format!("/v1/log/consistency/{old_size}/{size}");
        let Proof { proof } = self.0.json(Outgoing::get(path)).await?;
        Ok(proof.into_iter().map(|node| node.0).collect())
    }

    /// The largest head that witnesses have cosigned, or the newest without cosignatures, a note, if there is one.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn checkpoint(&self) -> Result<Option<String>, ClientError> {
        let path = "/v1/log/checkpoint";
        let Some(bytes) = self.found(path).await? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|cause| answer("GET /v1/log/checkpoint", &cause))
    }

    /// Hands in a checkpoint with cosignatures. Returns its size and the names of the witnesses whose cosignatures were accepted.
    ///
    /// # Errors
    /// `cosignature-refused`, `seal-unknown` if the service has not sealed that far, and [`ClientError`] in general.
    pub async fn hand_in(&self, note: &str) -> Result<(u64, Vec<String>), ClientError> {
        let outgoing = Outgoing::post_text("/v1/log/cosignatures", note.to_owned());
        let Taken { size, witnesses } = self.0.json(outgoing).await?;
        Ok((size, witnesses))
    }

    async fn found(&self, path: &str) -> Result<Option<Vec<u8>>, ClientError> {
        match self.0.bytes(Outgoing::get(path)).await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(ClientError::Problem(problem)) if problem.code == "seal-unknown" => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}
