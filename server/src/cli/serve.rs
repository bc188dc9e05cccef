//! `trefoil serve`

use super::{USAGE, fail};
use crate::clock::SystemClock;
use crate::config::{Config, Log, LogFormat, Overrides};
use crate::server::Server;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[derive(clap::Args)]
#[command(after_help = "Precedence: defaults < --config file < TREFOIL_<SECTION>_<KEY> < flags.\n\n\
    Examples:\n  trefoil serve\n  trefoil serve --data-dir /var/lib/trefoil --listen 0.0.0.0:8443\n  \
    trefoil serve --config trefoil.toml --print-config   check a file and see what it amounts to\n  \
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
}

impl Serve {
    pub(super) fn run(self) -> ExitCode {
        // A variable that is not UTF-8 cannot be one of ours.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let config = match Config::load(self.config.as_deref(), environment, &self.overrides) {
            Ok(config) => config,
            Err(cause) => return fail(&cause, USAGE),
        };
        if self.print_config {
            print!("{}", config.to_toml());
            return ExitCode::SUCCESS;
        }
        if let Err(cause) = start_log(&config.log) {
            return fail(&format_args!("log.filter: {cause}"), USAGE);
        }
        if config.server.protect_memory
            && let Err(cause) = trefoil_key_holder::memory::protect()
        {
            return fail(&format_args!("memory cannot be protected: {cause}"), 1);
        }
        match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(serve(config)),
            Err(cause) => fail(&cause, 1),
        }
    }
}

async fn serve(config: Config) -> ExitCode {
    // Before anything is printed: whoever reads an address may send a signal at once.
    let signals = signals();
    let server = match Server::start(config, Arc::new(SystemClock::default())).await {
        Ok(server) => server,
        Err(cause) => return fail(&cause, 1),
    };
    println!("public API    https://{}", server.public_address());
    println!("admin API     https://{}", server.admin_address());
    println!("certificate   {}", server.certificate_path().display());
    println!("admin token   {}", server.admin_token_path().display());
    println!("trust root    {}", server.trust_root_path().display());
    match stopped_by(signals).await {
        Ok(name) => tracing::info!(signal = name, "shutting down"),
        Err(cause) => tracing::error!(%cause, "no signal can be received, shutting down"),
    }
    if server.shutdown().await {
        ExitCode::SUCCESS
    } else {
        fail(&"some requests were not answered in time", 1)
    }
}

/// SIGTERM and SIGINT, taken from now on.
fn signals() -> std::io::Result<[Signal; 2]> {
    Ok([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?])
}

async fn stopped_by(signals: std::io::Result<[Signal; 2]>) -> std::io::Result<&'static str> {
    let [mut terminate, mut interrupt] = signals?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
    }
}

/// Logs go to standard error; standard output carries answers.
fn start_log(log: &Log) -> Result<(), tracing_subscriber::filter::ParseError> {
    let filter = EnvFilter::builder().parse(&log.filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
