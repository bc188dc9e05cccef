//! The command line `trefoil`.

mod admin;
mod backup;
mod calibrate;
mod compare;
pub mod demo;
mod doctor;
mod documents;
mod exit;
mod hints;
mod issuer;
mod keys;
mod log;
mod openapi;
mod pages;
mod passphrase;
mod progress;
mod quickstart;
mod remote;
mod serve;
mod store;
mod values;
mod verify;
mod wallet;

use clap::{Parser, Subcommand};
use exit::fail;
use std::process::ExitCode;
use trefoil_host::output::while_somebody_reads;
use trefoil_server::VERSION;
use trefoil_server::config::Config;

#[derive(Parser)]
#[command(
    name = "trefoil",
    version = VERSION,
    about = "Post-quantum authentication: encrypted face match, anonymous credentials, attestations that verify offline",
    after_help = "Start here:\n  trefoil demo                      the whole system on this machine, in a few minutes\n  \
                  trefoil serve                     a service on https://127.0.0.1:8443, data in ./trefoil-data\n  \
                  trefoil quickstart                the first login on that service, from another terminal, command by command
  \
                  trefoil doctor                    what is wrong with an installation, and what to do
  \
                  trefoil key-holder                the keys and thresholds in a process of their own\n  \
                  trefoil keys export-trust-root    what relying parties pin\n  \
                  trefoil verify answer.json --trust-root trust-root.json --audience https://shop.example --nonce 5f3a..."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service until SIGINT or SIGTERM.
    Serve(serve::Serve),
    /// Demonstration: a service, people of a public data set, true and false logins, every answer checked.
    Demo(demo::Arguments),
    /// Run the key-holder: keys, thresholds and attempt budgets, separate from templates and probes.
    KeyHolder(trefoil_key_holder::cli::KeyHolderArgs),
    /// Make the first tenant, credential and login on a running service, and print every command.
    Quickstart(quickstart::Quickstart),
    /// Operate a running service: tenants, API keys, key rotation.
    Admin(admin::AdminCommand),
    /// Find the threshold of your own model from photographs of people, with its errors.
    Calibrate(calibrate::Calibrate),
    /// Diagnose an installation: faults, their places, and what to do.
    Doctor(doctor::Doctor),
    /// Make the tables of a store in PostgreSQL.
    Store(store::Store),
    /// Make or check a backup of a service's data directory, also while it runs.
    Backup(backup::Backup),
    /// Restore a backup into a new directory. Every later seal of the log names the restoration.
    Restore(backup::Restore),
    /// Check an attestation offline: three signatures, and that it is for your audience and nonce.
    Verify(verify::Verify),
    /// Check whether two attestations contradict each other: evidence against the service.
    Compare(compare::Compare),
    /// Keep a tenant's members; sign, publish and audit the roots over them.
    Issuer(issuer::IssuerCommand),
    /// Hold a credential: prove it, open sessions, log in.
    Wallet(wallet::WalletCommand),
    /// Signing keys and trust roots: make, rotate, show, export, follow.
    Keys(keys::Keys),
    /// The log of seals: audit it, or cosign its head as a witness.
    Log(log::Log),
    /// Print the description of the API, OpenAPI 3.1.
    Openapi(openapi::Describe),
    /// Print a shell's completions of this program's arguments.
    Completions(documents::Completions),
    /// Write manual pages, one for each command.
    Man(documents::Manual),
}

/// Runs the command of the process's arguments.
pub fn main() -> ExitCode {
    let command = Cli::try_parse().unwrap_or_else(|cause| hints::exit(cause)).command;
    // A mistyped variable is an error for every command, because the next one may read it. The doctor reports it as a finding.
    if !matches!(command, Command::Doctor(_))
        && let Err(cause) = Config::check_variables(std::env::vars_os())
    {
        return fail(&cause, 2);
    }
    while_somebody_reads(|| match command {
        Command::Serve(serve) => serve.run(),
        Command::Demo(arguments) => demo::main(&arguments),
        Command::KeyHolder(arguments) => arguments.run(),
        Command::Quickstart(quickstart) => quickstart.run(),
        Command::Admin(admin) => admin.run(),
        Command::Calibrate(calibrate) => calibrate.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Store(store) => store.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Verify(verify) => verify.run(),
        Command::Compare(compare) => compare.run(),
        Command::Issuer(issuer) => issuer.run(),
        Command::Wallet(wallet) => wallet.run(),
        Command::Keys(keys) => keys.run(),
        Command::Log(log) => log.run(),
        Command::Openapi(describe) => describe.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(manual) => manual.run(),
    })
}
