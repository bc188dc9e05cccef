//! How a command reaches a running service.

use crate::client::{Client, ClientError};
use std::path::{Path, PathBuf};
use trefoil_key_holder::output;

#[derive(clap::Args)]
pub(super) struct Remote {
    /// The service's public API, such as https://127.0.0.1:8443.
    #[arg(long, value_name = "URL")]
    service: String,
    /// The certificate that it must show, PEM; in its data directory if it is self-signed.
    #[arg(long, value_name = "FILE")]
    certificate: PathBuf,
    /// File whose first line is an API key.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl Remote {
    /// A client; without an API key it reaches what is public.
    pub(super) fn client(&self) -> Result<Client, String> {
        let api_key = self.api_key_file.as_deref().map(first_line).transpose()?.unwrap_or_default();
        let certificate = read(&self.certificate)?;
        Client::new(&self.service, &certificate, &api_key, 1).map_err(|cause| cause.to_string())
    }
}

/// Runs the calls of a command.
pub(super) fn block_on<T>(calls: impl Future<Output = Result<T, ClientError>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| format!("runtime: {cause}"))?;
    runtime.block_on(calls).map_err(|cause| cause.to_string())
}

/// The first line of a file.
pub(super) fn first_line(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(text.lines().next().unwrap_or("").trim().to_owned())
}

/// A whole file, with its name in the error.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Writes to a file, or to standard output without one.
pub(super) fn write(path: Option<&Path>, bytes: &[u8]) -> Result<(), String> {
    match path {
        Some(path) => std::fs::write(path, bytes).map_err(|cause| format!("{}: {cause}", path.display())),
        None => output::write(bytes).map_err(|cause| format!("standard output: {cause}")),
    }
}
