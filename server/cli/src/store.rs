//! `trefoil store`

use super::exit::{fail, text};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_server::config::{Config, Overrides};
use trefoil_server::server::database;
use trefoil_storage::data_dir::{DataDir, read_private};
use zeroize::Zeroizing;

/// The key of the codes in the rows.
const KEY: &str = "master.key";

#[derive(Args)]
pub(super) struct Store {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the tables in PostgreSQL as their owner, and grant the role of the service what it needs.
    Migrate(Migrate),
}

#[derive(Args)]
#[command(
    after_help = "It takes the address of the role that owns the tables, which the service need not know, and the data directory of any node, for its\n\
    master.key. Nodes may run meanwhile.\n\n\
    Example:\n  trefoil store migrate --data-dir /var/lib/trefoil --store postgres://trefoil_owner@db.example/trefoil --serve-as trefoil"
)]
struct Migrate {
    /// TOML file, as for `trefoil serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    /// The role of the service. Without it no rights change.
    #[arg(long, value_name = "ROLE")]
    serve_as: Option<String>,
}

impl Store {
    pub(super) fn run(&self) -> ExitCode {
        let Command::Migrate(migrate) = &self.command;
        match migrate.run() {
            Ok(told) => {
                println!("{told}");
                ExitCode::SUCCESS
            }
            Err(cause) => fail(&cause, 1),
        }
    }
}

impl Migrate {
    fn run(&self) -> Result<String, String> {
        let config =
            Config::load(self.config.as_deref(), std::env::vars_os(), &self.overrides).map_err(text)?;
        let address = database(&config).map_err(text)?;
        let address = address.ok_or(
            "the store is a file, which `trefoil serve` makes: give --store postgres://OWNER@HOST/DATABASE",
        )?;
        let secret = key(&config.server.data_dir)?;
        let role = self.serve_as.as_deref();
        trefoil_postgres::migrate(&address, &secret, config.store.patience(), role).map_err(text)?;
        let granted = role.map(|role| format!(", and {role} may serve from them"));
        Ok(format!("{address}: its tables are there{}", granted.unwrap_or_default()))
    }
}

/// That of a node, which may run meanwhile, or a new one in a new directory.
fn key(directory: &Path) -> Result<Zeroizing<[u8; 32]>, String> {
    let path = directory.join(KEY);
    if !path.exists() {
        return DataDir::open(directory).and_then(|directory| directory.secret(KEY)).map_err(text);
    }
    let bytes = read_private(&path).map_err(text)?;
    let array = bytes.as_slice().try_into();
    array
        .map(Zeroizing::new)
        .map_err(|_| format!("{} has not 32 bytes: restore it from a backup", path.display()))
}
