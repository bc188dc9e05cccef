//! Where the receipt of a change goes.

use std::path::PathBuf;
use trefoil_api::Receipt;

#[derive(clap::Args)]
pub(super) struct ReceiptFile {
    /// A file for the receipt, CBOR, which `trefoil verify` checks.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
}

impl ReceiptFile {
    /// Writes the receipt of what is `done` to the file, and says where it is.
    pub(super) fn keep(&self, receipt: Option<&Receipt>, done: &str) -> Result<String, String> {
        match (receipt, self.receipt.as_deref()) {
            (None, _) => {
                Ok("there is no receipt: the service could not seal one, and its log says why\n".to_owned())
            }
            (Some(_), None) => Ok(String::new()),
            (Some(receipt), Some(path)) => {
                crate::remote::write(Some(path), &receipt.attestation.0)
                    .map_err(|cause| format!("{done}; {cause}"))?;
                Ok(format!("receipt in {}\n", path.display()))
            }
        }
    }
}
