//! `trefoil serve`

use super::exit::{USAGE, fail};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use trefoil_server::config::{Config, DEFAULTS, Overrides};
use trefoil_server::process::{Source, run_service};
use trefoil_service::clock::SystemClock;

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
        let Serve { config: file, overrides, print_config, .. } = self;
        let watched = file.clone();
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
        run_service(config, source, Arc::new(SystemClock::default()))
    }
}
