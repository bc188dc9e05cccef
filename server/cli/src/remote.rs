//! The connection of a command to a running service.

use super::values::address;
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::time::Duration;
use trefoil_client::{Client, ClientError};
use trefoil_host::output;
use zeroize::Zeroizing;

#[derive(clap::Args)]
pub(super) struct Remote {
    /// The service's public API, such as https://127.0.0.1:8443.
    #[arg(long, value_name = "URL", value_parser = address)]
    service: String,
    #[command(flatten)]
    ca: Ca,
    /// File whose first line is an API key.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl Remote {
    /// A client; without an API key it reaches only public routes.
    pub(super) fn client(&self) -> Result<Reached, String> {
        let api_key = self.api_key_file.as_deref().map(first_line).transpose()?.unwrap_or_default();
        let (roots, identity) = (self.ca.roots()?, self.ca.identity()?);
        let identity = identity.as_deref().map(Vec::as_slice);
        let client = Client::with_identity(&self.service, &roots, identity, &api_key, 1)
            .map_err(|cause| self.ca.named(&self.service, &cause))?;
        // A person waits, who may have mistyped the port.
        Ok(Reached { client: client.retrying_for(Duration::ZERO), ca: self.ca.clone() })
    }
}

/// A client, and the certificate that it expects.
pub(super) struct Reached {
    client: Client,
    ca: Ca,
}

impl Deref for Reached {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Reached {
    /// Runs calls of this client to completion.
    pub(super) fn block_on<T>(
        &self,
        calls: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, String> {
        finished(calls)?.map_err(|cause| self.told(&cause))
    }

    /// An error of a call.
    pub(super) fn told(&self, cause: &ClientError) -> String {
        self.ca.told(cause)
    }
}

/// The certificate that a service must show; the same flags for every command.
#[derive(Clone, clap::Args)]
pub(super) struct Ca {
    /// The service's certificate or the one that signed it, PEM; the data directory has a self-signed one. Absent: the
    /// certificates that this machine trusts.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// PEM file with a certificate of yours and its key, for a service that demands one of its callers (`tls.client_ca`).
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl Ca {
    /// The trust anchors of the service's certificate, PEM.
    pub(super) fn roots(&self) -> Result<Vec<u8>, String> {
        match &self.ca {
            Some(path) => read(path).map_err(|cause| format!("{cause}; --ca takes a PEM file")),
            None => trefoil_client::system_roots().map_err(|cause| format!("{cause}; --ca names it")),
        }
    }

    /// The caller's certificate and its key, if there are any.
    pub(super) fn identity(&self) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        let read = |path: &PathBuf| {
            let bytes = read(path).map_err(|cause| format!("{cause}; --identity takes a PEM file"))?;
            Ok(Zeroizing::new(bytes))
        };
        self.identity.as_ref().map(read).transpose()
    }

    /// An error of a client for `url`, with the file if the file is the cause.
    pub(super) fn named(&self, url: &str, cause: &ClientError) -> String {
        match (cause, &self.ca) {
            (ClientError::Certificate(_), Some(path)) => format!("--ca {}: {cause}", path.display()),
            (ClientError::Identity(_), _) => format!("--identity: {cause}"),
            _ => format!("{url}: {cause}"),
        }
    }

    /// An error of a call, with the file if it does not fit the certificate that the service showed. The address is in the error.
    pub(super) fn told(&self, cause: &ClientError) -> String {
        match (cause, &self.ca) {
            (ClientError::Unreachable { cause: why, .. }, Some(path))
                if why.contains("invalid peer certificate") =>
            {
                format!("--ca {}: {cause}", path.display())
            }
            _ => cause.to_string(),
        }
    }
}

/// Runs the calls of a command to completion.
pub(super) fn block_on<T>(calls: impl Future<Output = Result<T, ClientError>>) -> Result<T, String> {
    finished(calls)?.map_err(|cause| cause.to_string())
}

/// What the calls of a command result in. A runtime's code is generic in what it runs, and there are a hundred commands: it is compiled once,
/// in [`run`], which saves build time.
pub(super) fn finished<T>(calls: impl Future<Output = T>) -> Result<T, String> {
    let mut result = None;
    run(pin!(async { result = Some(calls.await) }))?;
    result.ok_or_else(|| "the calls did not end".to_owned())
}

fn run(calls: Pin<&mut dyn Future<Output = ()>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| format!("runtime: {cause}"))?.block_on(calls);
    Ok(())
}

/// The first line of a file.
pub(super) fn first_line(path: &Path) -> Result<String, String> {
    let file = Zeroizing::new(read(path)?);
    let text = trefoil_contents::text(&file)
        .map_err(|cause| format!("{}: {cause}; give the file whose first line is meant", path.display()))?;
    Ok(text.lines().next().unwrap_or("").trim().to_owned())
}

/// A whole file, with its name in the error.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    read_at_most(path, u64::MAX)
}

/// A file of at most so many bytes, or standard input for `-`, without a byte order mark.
pub(super) fn read_at_most(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let name = path.display();
    let unreadable = |cause: std::io::Error| {
        format!("{name}: cannot be read ({cause}); check the path, and that you may read the file")
    };
    let mut bytes = Vec::new();
    let file: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path).map_err(unreadable)?;
        bytes.reserve(file.metadata().map_or(0, |about| about.len().min(bytes_max)) as usize + 1);
        Box::new(file)
    };
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("{name}: more than {bytes_max} bytes, at most so many are read"));
    }
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes[..] {
        return Err(format!("{name}: {}; save it in UTF-8", trefoil_contents::described(&bytes)));
    }
    bytes.drain(..bytes.len() - trefoil_contents::unmarked(&bytes).len());
    Ok(bytes)
}

/// Writes to a file, or to standard output without one.
pub(super) fn write(path: Option<&Path>, bytes: &[u8]) -> Result<(), String> {
    match path {
        Some(path) => std::fs::write(path, bytes).map_err(|cause| format!("{}: {cause}", path.display())),
        None => output::write(bytes).map_err(|cause| format!("standard output: {cause}")),
    }
}
