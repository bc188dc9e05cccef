//! `trefoil doctor`

mod examine;

use examine::examine;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use trefoil_api::{Finding, Level};
use trefoil_host::output;
use trefoil_pipeline::Clock as _;
use trefoil_server::config::{Config, Overrides};
use trefoil_service::login::clock::SystemClock;

#[derive(clap::Args)]
#[command(
    about = "Diagnose an installation: faults, their places, and what to do",
    after_help = "It checks the certificate, the keys, the clock, the key-holder, the disk, attempt budgets, databases, file modes and\n\
    owners, the nodes of a fleet, and the service if it runs. It changes nothing and keeps no lock, so nothing need be stopped. Run it as the user of the\n\
    service, with the flags and the environment of `trefoil serve`.\n\n\
    Examples:\n  trefoil doctor --data-dir /var/lib/trefoil\n  trefoil doctor --config trefoil.toml --json\n\n\
    Exit codes: 0 nothing is wrong, 1 warnings, 2 something is broken (a configuration that does not read too)."
)]
pub(super) struct Doctor {
    /// TOML file, as for `trefoil serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    /// File whose first line is an operator's token, with which a running service is asked what it finds itself. Absent: admin.token of the
    /// data directory.
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
    /// Print JSON: `status` and `findings`, including checks that found nothing wrong.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn run(&self) -> ExitCode {
        let found = match Config::load(self.config.as_deref(), std::env::vars_os(), &self.overrides) {
            Ok(config) => examine(&config, self.admin_token_file.as_deref(), SystemClock::default().unix_s()),
            Err(cause) => vec![examine::configuration(&cause)],
        };
        let worst = found.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
        match self.json {
            true => output::tell(&format!("{:#}\n", json!({"status": worst, "findings": found}))),
            false => output::tell(&found.iter().map(line).collect::<String>()),
        }
        code(worst)
    }
}

/// The exit code for the worst finding.
pub(super) fn code(worst: Level) -> ExitCode {
    ExitCode::from(match worst {
        Level::Ok => 0,
        Level::Warning => 1,
        Level::Broken => 2,
    })
}

/// `broken   certificate-expired  PATH: what is wrong. Do: what to do`
pub(super) fn line(finding: &Finding) -> String {
    let Finding { level, code, place, what, remedy } = finding;
    let level = match level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Broken => "broken",
    };
    let remedy = if remedy.is_empty() { String::new() } else { format!(". Do: {remedy}") };
    // A system message may have several lines.
    let text = format!("{place}: {what}{remedy}").replace('\n', " ");
    format!("{level:8} {code:22} {text}\n")
}
