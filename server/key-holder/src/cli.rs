//! `trefoil key-holder`, and the program `trefoil-key-holder`, which links nothing else.

mod backup;
mod operate;

use crate::address::Address;
use crate::clients::{Clients, Right};
use crate::config::{Config, DEFAULTS, Overrides};
use crate::job_log;
use crate::process::Process;
use crate::quorum;
pub use backup::{describe, finished, tell};
use clap::{Args, Subcommand};
use operate::{operate, print_status};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_host::identity::{Fingerprint, IDENTITY, Identity, OPERATOR_IDENTITY};
use trefoil_host::logging::Logging;
use trefoil_host::output;
use trefoil_host::settings::listen_address;
use trefoil_host::systemd;
use trefoil_matching::{AttemptPolicy, DecisionPolicy, Model, TemplateName};
use trefoil_storage::data_dir::DataDir;
use trefoil_types::{Handle, TenantId, time};

/// The identity of a gateway in the gateway's data directory.
pub const GATEWAY_IDENTITY: &str = "key-holder-client";
/// Exit code for a wrong command line; clap uses it too.
const USAGE: u8 = 2;
/// Arguments of the command.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    about = "Run the key-holder: keys, thresholds and attempt budgets, apart from templates and probes",
    after_help = "On one machine:\n  trefoil key-holder init                credentials of both sides; prints the next two commands\n  \
                  trefoil key-holder                     serve on 127.0.0.1:7443, data in ./trefoil-key-holder\n  \
                  trefoil serve --key-holder tls://127.0.0.1:7443#FINGERPRINT\n\n\
                  On two machines, run by two people:\n  trefoil key-holder fingerprint         at the gateway: makes its credential, prints its fingerprint\n  \
                  trefoil key-holder init --gateway-fingerprint FINGERPRINT   at the key-holder\n  \
                  trefoil key-holder --listen 0.0.0.0:7443\n\n\
                  Settings: defaults < --config file < TREFOIL_KEY_HOLDER_<SECTION>_<KEY> < flags.\n\n\
                  No request of a gateway changes a policy or lifts a freeze. Only set-policy and reset-malformed do, which\n\
                  use the operator's credential in the key-holder's data directory.\n\
                  The process may be killed at any time: an answer is given after everything that it depends on is stored."
)]
pub struct KeyHolderArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    place: Place,
    /// Print the effective configuration as TOML and exit.
    #[arg(long)]
    print_config: bool,
    /// Print every setting with its meaning and its default as TOML and exit. Nothing is read.
    #[arg(long)]
    print_defaults: bool,
    /// Accept a vault that is an older copy than the job log or the gateway's seals show. Budgets and templates are as they were
    /// then. Give it for one start: each start with it counts, and every seal shows the count.
    #[arg(long)]
    accept_older_vault: bool,
}

/// The key-holder's configuration.
#[derive(Debug, Args)]
struct Place {
    /// TOML file; unknown keys are refused.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the data directory, the credentials of both sides and the list of clients.
    Init {
        #[command(flatten)]
        place: Place,
        /// Data directory of a gateway on this machine; its credential is made there.
        #[arg(
            long,
            value_name = "DIR",
            default_value = "trefoil-data",
            conflicts_with = "gateway_fingerprint"
        )]
        gateway: PathBuf,
        /// Fingerprint of a gateway on another machine, which its operator prints with `trefoil key-holder fingerprint`.
        #[arg(long, value_name = "HEX")]
        gateway_fingerprint: Option<Fingerprint>,
        /// The gateway's name in the job log. It owns the tenants that it creates.
        #[arg(long, value_name = "NAME", default_value = "gateway")]
        name: String,
    },
    /// Make three key-holders, any two of which decide: their data directories, configurations and pieces of the keys. This machine sees
    /// all three pieces: run it where you would keep a whole key, then move two of the directories away.
    InitQuorum {
        /// Directory in which the three are made.
        #[arg(long, value_name = "DIR", default_value = "trefoil-key-holders")]
        dir: PathBuf,
        /// Data directory of a gateway on this machine; its credential is made there.
        #[arg(long, value_name = "DIR", default_value = "trefoil-data")]
        gateway: PathBuf,
        /// The gateway's name in the job logs.
        #[arg(long, value_name = "NAME", default_value = "gateway")]
        name: String,
        /// Addresses on which they listen, in the order of their seats.
        #[arg(long, value_name = "ADDR", num_args = 3, value_parser = listen_address,
              default_values = ["127.0.0.1:7443", "127.0.0.1:7444", "127.0.0.1:7445"])]
        listen: Vec<SocketAddr>,
    },
    /// At a gateway: make its credential unless there is one, and print its fingerprint.
    Fingerprint {
        /// Data directory of the gateway.
        #[arg(long, value_name = "DIR", default_value = "trefoil-data")]
        gateway: PathBuf,
    },
    /// Reset the count of a tenant's malformed jobs, once their cause is found. Logins of a frozen tenant are then decided again.
    ResetMalformed {
        #[command(flatten)]
        place: Place,
        /// The tenant, 32 hexadecimal digits.
        tenant: TenantId,
    },
    /// End the delay of a locked-out subject and forget its failures of the day. The template's total budget stays spent. Of three key-holders each
    /// counts by itself: run it at all three.
    ResetAttempts {
        #[command(flatten)]
        place: Place,
        /// The tenant, 32 hexadecimal digits.
        tenant: TenantId,
        /// The subject, 64 hexadecimal digits.
        #[arg(value_name = "HANDLE")]
        handle: Handle,
        /// Generation of its template, as `trefoil admin subject show` prints it, and the refusal of `trefoil admin budget reset`.
        #[arg(long, value_name = "N")]
        generation: u32,
    },
    /// Replace the threshold and the attempt budget of a tenant.
    SetPolicy {
        #[command(flatten)]
        place: Place,
        /// The tenant, 32 hexadecimal digits.
        tenant: TenantId,
        #[command(flatten)]
        policy: PolicyArgs,
    },
    /// Print the counts of the running key-holder: attempts, failures, enrolments, malformed jobs, and its vault's generation.
    Status {
        #[command(flatten)]
        place: Place,
    },
    /// Print the fingerprint of the key to which devices seal their shares. Give it to them by another channel than the gateway.
    SealingKey {
        #[command(flatten)]
        place: Place,
    },
    /// Make or check a backup of the data directory, also while the key-holder runs.
    Backup {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        backup: backup::BackupArgs,
    },
    /// Restore a backup into a new data directory. Its vault counts as an accepted older copy, which every seal shows.
    Restore(backup::RestoreArgs),
    /// Check the chain of the job log and print its end.
    CheckLog {
        #[command(flatten)]
        place: Place,
    },
}

/// The policy of a tenant.
#[derive(Debug, Args)]
struct PolicyArgs {
    /// The tenant's model, as its policy names it. People who are enrolled with another one are refused from now on.
    #[arg(long)]
    embedder: String,
    /// Numbers in the model's vectors.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(2..=512))]
    dimension: u16,
    /// Lowest score that is accepted.
    #[arg(long, allow_negative_numbers = true)]
    threshold: i32,
    /// Failures in a row before a delay.
    #[arg(long, default_value_t = 5)]
    consecutive: u32,
    /// The delay in seconds.
    #[arg(long, default_value_t = 30)]
    delay_s: u64,
    /// Failures a day.
    #[arg(long, default_value_t = 20)]
    failures_per_day: u32,
    /// Failures in the life of a template.
    #[arg(long, default_value_t = 100)]
    failures_per_generation: u32,
    /// Attempts a day, matches included.
    #[arg(long, default_value_t = 200)]
    attempts_per_day: u32,
    /// Attempts in the life of a template, matches included.
    #[arg(long, default_value_t = 2000)]
    attempts_per_generation: u32,
}

impl PolicyArgs {
    fn policy(&self) -> DecisionPolicy {
        let PolicyArgs { threshold, consecutive, delay_s, failures_per_day, failures_per_generation, .. } =
            *self;
        let PolicyArgs { attempts_per_day, attempts_per_generation, .. } = *self;
        let attempts = AttemptPolicy {
            consecutive,
            delay_s,
            failures_per_day,
            failures_per_generation,
            attempts_per_day,
            attempts_per_generation,
        };
        let model = Model::of(&self.embedder, self.dimension.into()).expect("a dimension within its range");
        DecisionPolicy::new(model, threshold, attempts)
    }
}

impl KeyHolderArgs {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let KeyHolderArgs { command, place, print_config, print_defaults, accept_older_vault } = self;
        let done = match command {
            None if print_defaults => {
                print!("{DEFAULTS}");
                Ok(())
            }
            None if print_config => place.load().map(|config| print!("{}", config.to_toml())),
            None => return serve(&place, accept_older_vault),
            Some(Command::Init { place, gateway, gateway_fingerprint, name }) => {
                place.load().and_then(|config| {
                    init(&config, &gateway, gateway_fingerprint, &name).map_err(|cause| (cause, 1))
                })
            }
            Some(Command::InitQuorum { dir, gateway, name, listen }) => gateway_identity(&gateway)
                .and_then(|client| quorum::init(&dir, (&name, client), &listen))
                .map(|flags| {
                    println!("and the gateway, with the key-holders in the order of their seats, with");
                    println!("  trefoil serve --data-dir {} {flags}", gateway.display());
                })
                .map_err(|cause| (cause, 1)),
            Some(Command::Fingerprint { gateway }) => {
                gateway_identity(&gateway).map(|print| println!("{print}")).map_err(|cause| (cause, 1))
            }
            Some(Command::ResetMalformed { place, tenant }) => {
                operate(&place, |key_holder| key_holder.forgive_malformed(tenant))
            }
            Some(Command::ResetAttempts { place, tenant, handle, generation }) => {
                let name = TemplateName { tenant, handle, generation };
                operate(&place, |key_holder| key_holder.reset_attempts(name))
            }
            Some(Command::SetPolicy { place, tenant, policy }) => {
                operate(&place, |key_holder| key_holder.set_policy(tenant, policy.policy()))
            }
            Some(Command::Status { place }) => {
                operate(&place, |key_holder| key_holder.status().map(|status| print_status(&status)))
            }
            Some(Command::SealingKey { place }) => operate(&place, |key_holder| {
                key_holder.sealing_key().map(|key| println!("{}", key.fingerprint()))
            }),
            Some(Command::Backup { place, backup }) => {
                backup.run(|| place.load().map(|config| config.server.data_dir))
            }
            Some(Command::Restore(restore)) => restore.run(),
            Some(Command::CheckLog { place }) => place.load().and_then(|config| {
                let read = job_log::read(&config.server.data_dir, &mut |_, _| ());
                let (head, signed) = read.map_err(|cause| (cause.to_string(), 1))?;
                println!("{} lines, head {}", head.next, hex::encode(head.digest));
                if let Some(signed) = signed {
                    let (at, key) = (time::format(signed.at), hex::encode(signed.signer()));
                    println!("{} lines signed at {at} by key {key}", signed.lines);
                }
                Ok(())
            }),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err((cause, code)) => fail(&cause, code),
        }
    }
}

impl Place {
    fn load(&self) -> Result<Config, (String, u8)> {
        Config::load(self.config.as_deref(), std::env::vars_os(), &self.overrides)
            .map_err(|cause| (cause.to_string(), USAGE))
    }
}

fn serve(place: &Place, accept_older_vault: bool) -> ExitCode {
    let config = match place.load() {
        Ok(config) => config,
        Err((cause, code)) => return fail(&cause, code),
    };
    // This has to happen before there is a second thread.
    let [socket] = match systemd::sockets(["key-holder"]) {
        Ok(sockets) => sockets,
        Err(cause) => return fail(&cause, USAGE),
    };
    let log = match Logging::start(&config.log) {
        Ok(log) => log,
        Err(cause) => return fail(&cause, USAGE),
    };
    let ended = run(socket, &config, accept_older_vault);
    log.end(ended.as_ref().err().map(|why| format!("trefoil: {why}")).as_deref());
    ended.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Serves until SIGTERM or SIGINT. The error says why it ended without one.
fn run(socket: Option<TcpListener>, config: &Config, accept_older_vault: bool) -> Result<(), String> {
    if config.server.protect_memory {
        trefoil_host::memory::protect().map_err(|cause| format!("memory cannot be protected: {cause}"))?;
    }
    let process = Process::open(socket, config, accept_older_vault).map_err(|cause| cause.to_string())?;
    let address = process.address().map_err(|cause| cause.to_string())?;
    output::tell(&format!("key-holder  {}\n", own_address(address, process.fingerprint())));
    match process.serve(&[SIGTERM, SIGINT]).map_err(|cause| cause.to_string())? {
        Some(death) => Err(death.to_string()),
        None => Ok(()),
    }
}

/// The address in the form for a gateway on this machine.
fn own_address(address: SocketAddr, fingerprint: Fingerprint) -> Address {
    Address { authority: address.to_string(), fingerprint }
}

fn init(config: &Config, gateway: &Path, elsewhere: Option<Fingerprint>, name: &str) -> Result<(), String> {
    let text = |cause: &dyn Display| cause.to_string();
    let directory = DataDir::open(&config.server.data_dir).map_err(|cause| text(&cause))?;
    let fingerprint = Identity::open(&directory, IDENTITY).map_err(|cause| text(&cause))?.fingerprint();
    let operator = Identity::open(&directory, OPERATOR_IDENTITY).map_err(|cause| text(&cause))?;
    let client = match elsewhere {
        Some(client) => client,
        None => gateway_identity(gateway)?,
    };
    let mut clients = Clients::read(&directory).map_err(|cause| text(&cause))?;
    for (name, fingerprint, right) in
        [(OPERATOR_IDENTITY, operator.fingerprint(), Right::Operate), (name, client, Right::Match)]
    {
        clients.authorise(&directory, name, fingerprint, right).map_err(|cause| text(&cause))?;
    }
    let (data, address) = (config.server.data_dir.display(), own_address(config.server.listen, fingerprint));
    let serve = match elsewhere {
        Some(_) => "trefoil serve".to_owned(),
        None => format!("trefoil serve --data-dir {}", gateway.display()),
    };
    println!("the key-holder lets in {name} ({client}); it starts with");
    println!("  trefoil key-holder --data-dir {data} --listen {}", config.server.listen);
    println!("and the gateway with");
    println!("  {serve} --key-holder '{address}'");
    Ok(())
}

fn gateway_identity(gateway: &Path) -> Result<Fingerprint, String> {
    let directory = DataDir::open(gateway).map_err(|cause| cause.to_string())?;
    let identity = Identity::open(&directory, GATEWAY_IDENTITY).map_err(|cause| cause.to_string())?;
    Ok(identity.fingerprint())
}

/// Prints the error and returns the exit code.
fn fail(message: &dyn Display, code: u8) -> ExitCode {
    eprintln!("trefoil: {message}");
    ExitCode::from(code)
}
