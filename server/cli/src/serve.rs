//! `trefoil serve`

use super::exit::{USAGE, fail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use trefoil_host::systemd;
use trefoil_server::config::{Config, DEFAULTS, Overrides};
use trefoil_server::process::{Source, run_service};
use trefoil_service::login::clock::SystemClock;
use trefoil_storage::data_dir::DataDir;

#[derive(clap::Args)]
#[command(after_help = "Precedence: defaults < --config file < TREFOIL_<SECTION>_<KEY> < flags.\n\n\
    Examples:\n  trefoil serve\n  trefoil serve --data-dir /var/lib/trefoil --listen 0.0.0.0:8443 --public-url https://auth.example:8443\n  \
    trefoil serve --config trefoil.toml --print-config   check a file and print the effective settings\n  \
    TREFOIL_LOG_FORMAT=json trefoil serve --cadence per-batch")]
pub(super) struct Serve {
    /// TOML file; unknown keys are refused.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    /// Make a new installation if the data directory has none. Without this flag that is refused where a configuration file names the directory or systemd
    /// starts the service, because there it is more likely a mistyped name, or a disk that is not there.
    #[arg(long)]
    init: bool,
    /// Print the effective configuration as TOML and exit.
    #[arg(long)]
    print_config: bool,
    /// Print every setting with its meaning and its default as TOML and exit. Nothing is read.
    #[arg(long)]
    print_defaults: bool,
}

impl Serve {
    pub(super) fn run(self) -> ExitCode {
        if self.print_defaults {
            print!("{DEFAULTS}");
            return ExitCode::SUCCESS;
        }
        let Serve { config: file, overrides, print_config, init, .. } = self;
        let (watched, is_flag) = (file.clone(), overrides.data_dir.is_some());
        let load = move || Config::load(file.as_deref(), std::env::vars_os(), &overrides);
        let source = Source::new(watched.as_deref(), load);
        let config = match source.read() {
            Ok(config) => config,
            Err(cause) => return fail(&cause, USAGE),
        };
        if print_config {
            print!("{}", config.to_toml());
            return ExitCode::SUCCESS;
        }
        if !init
            && !DataDir::is_made(&config.server.data_dir)
            && (systemd::is_manager() || !is_flag && names_directory(watched.as_deref(), &config))
        {
            let directory = config.server.data_dir.display();
            let refused = format!(
                "there is no installation in {directory}: correct server.data_dir, mount its disk, or restore a backup there (`trefoil restore`). To make a \
                 new one start once with --init, or run `trefoil keys init`"
            );
            return fail(&refused, 1);
        }
        run_service(config, source, Arc::new(SystemClock::default()))
    }
}

/// Whether the data directory is that of the configuration file.
fn names_directory(file: Option<&Path>, config: &Config) -> bool {
    let read = file.and_then(|file| Config::load(Some(file), std::iter::empty(), &Overrides::default()).ok());
    let named = read.map(|read| read.server.data_dir);
    named.is_some_and(|named| named == config.server.data_dir && named != Config::embedded().server.data_dir)
}
