//! `trefoil keys`

use super::{fail, time};
use crate::server::TRUST_ROOT_FILE;
use crate::trust;
use clap::{Subcommand, ValueEnum};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_attest::{KeySetStatus, TrustRoot, TrustedKeySet};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  trefoil keys show --data-dir trefoil-data\n  \
    trefoil keys export-trust-root --data-dir trefoil-data > trust-root.json\n  \
    trefoil keys export-trust-root --format cbor --output trust-root.cbor")]
pub(super) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Issuer, key sets and their validity.
    Show(Source),
    /// The trust root that `trefoil verify --trust-root` reads. Deliver it over a channel you trust.
    ExportTrustRoot {
        #[command(flatten)]
        source: Source,
        /// Form of the file.
        #[arg(long, value_enum, default_value_t = Form::Json)]
        format: Form,
        /// File to write; absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(clap::Args)]
struct Source {
    /// Data directory of a service that has been started at least once.
    #[arg(long, value_name = "DIR", default_value = "trefoil-data")]
    data_dir: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// For people and tools.
    Json,
    /// Canonical and small.
    Cbor,
}

impl Keys {
    pub(super) fn run(self) -> ExitCode {
        let done = match self.command {
            Command::Show(source) => source.open().map(|root| print!("{}", describe(&root))),
            Command::ExportTrustRoot { source, format, output } => {
                source.open().and_then(|root| export(&root, format, output.as_deref()))
            }
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(&cause, 1),
        }
    }
}

impl Source {
    fn open(&self) -> Result<TrustRoot, String> {
        let path = self.data_dir.join(TRUST_ROOT_FILE);
        let bytes = std::fs::read(&path).map_err(|cause| {
            format!("{}: {cause}; start the service once, or give --data-dir", path.display())
        })?;
        trust::read(&bytes).map_err(|cause| format!("{}: {cause}", path.display()))
    }
}

fn export(root: &TrustRoot, format: Form, output: Option<&Path>) -> Result<(), String> {
    let bytes = match format {
        Form::Json => trust::to_json(root).into_bytes(),
        Form::Cbor => root.encode(),
    };
    match output {
        Some(path) => std::fs::write(path, bytes).map_err(|cause| format!("{}: {cause}", path.display())),
        None => std::io::stdout().write_all(&bytes).map_err(|cause| format!("standard output: {cause}")),
    }
}

fn describe(root: &TrustRoot) -> String {
    let mut text = format!("issuer   {}\n", root.issuer());
    for TrustedKeySet { keys, status } in root.key_sets() {
        let status = match *status {
            KeySetStatus::Active => "active".to_owned(),
            KeySetStatus::Retired { since } => format!("retired since {}", time::format(since)),
            KeySetStatus::Revoked { since } => format!("revoked since {}", time::format(since)),
        };
        let (from, until) = (time::format(keys.not_before), time::format(keys.not_after));
        text += &format!(
            "key set  {}\n  status {status}\n  valid  {from} until {until}\n",
            hex::encode(keys.id())
        );
        for family in trefoil_attest::Family::ALL {
            text += &format!("  key    {family}, {} bytes\n", keys.public_key(family).len());
        }
    }
    text
}
