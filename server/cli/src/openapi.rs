//! `trefoil openapi`: the description of the API, without a service.

use std::process::ExitCode;
use trefoil_server::description;
use trefoil_server::openapi::Listener;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  trefoil openapi > trefoil.json")]
pub(super) struct Describe {
    /// Describe the routes of the admin listener instead of the public one.
    #[arg(long)]
    admin: bool,
}

impl Describe {
    pub(super) fn run(&self) -> ExitCode {
        let listener = if self.admin { Listener::Admin } else { Listener::Public };
        println!("{:#}", description::of(listener));
        ExitCode::SUCCESS
    }
}
