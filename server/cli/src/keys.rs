//! `trefoil keys`

mod newest;

use super::exit::{USAGE, fail};
use super::remote;
use super::verify::read_trust_root;
use clap::{Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::Pin;
use trefoil_attest::{KeySetId, KeySetStatus, TrustRoot, TrustedKeySet};
use trefoil_pipeline::Clock as _;
use trefoil_server::config::{Config, Overrides};
use trefoil_service::keys::signing_keys::{self, Passphrase, Source, TRUST_ROOT_FILE};
use trefoil_service::login::clock::SystemClock;
use trefoil_service::time;
use trefoil_storage::data_dir::DataDir;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  trefoil keys init --issuer https://auth.example --passphrase-file /run/secrets/trefoil\n  \
    trefoil keys rotate --data-dir trefoil-data     then start the service again\n  \
    trefoil keys revoke KEY_SET --data-dir trefoil-data     after a theft, with the service stopped\n  \
    trefoil keys add-node --data-dir node-1 --to node-2     in a fleet, for one more node\n  \
    trefoil keys show --data-dir trefoil-data\n  \
    trefoil keys export-trust-root --data-dir trefoil-data > trust-root.json\n  \
    trefoil keys accept --pinned trust-root.json --next trust-root-2.json\n\n\
    The passphrase comes from --passphrase-file, else from keys.passphrase_file of the configuration, else from the\n\
    systemd credential trefoil-keys-passphrase, else from a generated file beside the keys, which protects only copies\n\
    of the keys without it."
)]
pub(super) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the first signing keys and trust root. A service without keys makes them when it starts.
    Init(Private),
    /// Make new signing keys and the next version of the trust root, signed by the old keys and by the new ones. A
    /// running service uses the old keys until it is started again. Keys of other nodes of a fleet stay active.
    Rotate {
        #[command(flatten)]
        private: Private,
        /// Seconds from now during which seals by the old keys still verify. Start the service again within this time.
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
        overlap: u64,
    },
    /// Revoke a key set that may be compromised: its seals no longer verify, whatever time they name.
    /// If the keys sign in this directory, new ones replace them. Stop the service that signs with them first. Then deliver the new trust root as you
    /// delivered the first one, because a thief of all three secret keys of the set can make a next version too.
    Revoke {
        /// The key set, 64 hexadecimal digits, as `trefoil keys show` prints it.
        #[arg(value_name = "KEY_SET", value_parser = key_set_id)]
        id: KeySetId,
        #[command(flatten)]
        private: Private,
    },
    /// Make the data directory of a further node of a fleet from a node's: the keys, token, certificate and credential that nodes share, signing
    /// keys of its own, and the next version of the trust root, which lists them too. The first node may run. After a kill, repeat the command.
    AddNode {
        #[command(flatten)]
        private: Private,
        /// The directory to make, new or empty.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Encrypt the signing keys under another passphrase.
    Reencrypt {
        #[command(flatten)]
        private: Private,
        /// File with the new passphrase.
        #[arg(long, value_name = "FILE")]
        new_passphrase_file: PathBuf,
    },
    /// Issuer, version, fingerprint (`trefoil log audit --pin`), key sets and their validity.
    Show(Public),
    /// The trust root that `trefoil verify --trust-root` reads. Deliver it over a channel you trust.
    ExportTrustRoot {
        #[command(flatten)]
        source: Public,
        /// Form of the file.
        #[arg(long, value_enum, default_value_t = Form::Json)]
        format: Form,
        /// This version instead of the newest, for a relying party that pinned the one before.
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// File to write; absent: standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// For relying parties: replace a pinned trust root by its next version, if the signatures allow it.
    Accept {
        /// The pinned trust root, which is replaced.
        #[arg(long, value_name = "FILE")]
        pinned: PathBuf,
        /// The next version, from the issuer's /v1/keys/{version}.
        #[arg(long, value_name = "FILE")]
        next: PathBuf,
    },
}

/// The place of the secret keys, and their passphrase.
#[derive(clap::Args)]
struct Private {
    /// TOML file, as for `trefoil serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Name in every attestation; the configuration of the service must say the same.
    #[arg(long, value_name = "NAME")]
    issuer: Option<String>,
    /// File with the passphrase of the signing keys.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// The place of public keys.
#[derive(clap::Args)]
struct Public {
    /// Data directory of a service that has been started at least once.
    #[arg(long, value_name = "DIR", default_value = "trefoil-data")]
    data_dir: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// JSON, for people and tools.
    Json,
    /// CBOR, canonical and small.
    Cbor,
}

/// A data directory that is open for its keys.
struct Opened {
    directory: DataDir,
    issuer: String,
    source: Source,
}

impl Keys {
    pub(super) fn run(self) -> ExitCode {
        let done = match self.command {
            Command::Init(private) => private.open().and_then(|opened| opened.init()),
            Command::Rotate { private, overlap } => {
                private.open_newest().and_then(|opened| opened.rotate(overlap))
            }
            Command::Revoke { id, private } => private.open_newest().and_then(|opened| opened.revoke(&id)),
            Command::AddNode { private, to } => private.open_newest().and_then(|opened| opened.add_node(&to)),
            Command::Reencrypt { private, new_passphrase_file } => {
                private.open_existing().and_then(|opened| opened.reencrypt(&new_passphrase_file))
            }
            Command::Show(source) => {
                source.newest().map(|root| print!("{}", describe(&root))).map_err(refused)
            }
            Command::ExportTrustRoot { source, format, version, output } => source
                .version(version)
                .and_then(|root| export(&root, format, output.as_deref()))
                .map_err(refused),
            Command::Accept { pinned, next } => accept(&pinned, &next).map_err(refused),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err((cause, code)) => fail(&cause, code),
        }
    }
}

/// The error and the exit code.
type Failure = (String, u8);

fn refused(cause: impl ToString) -> Failure {
    (cause.to_string(), 1)
}

impl Private {
    fn load(&mut self) -> Result<Config, Failure> {
        let overrides = Overrides { data_dir: self.data_dir.take(), ..Overrides::default() };
        let mut config = Config::load(self.config.as_deref(), std::env::vars_os(), &overrides)
            .map_err(|cause| (cause.to_string(), USAGE))?;
        if let Some(file) = self.passphrase_file.take() {
            config.keys.passphrase_file = file;
        }
        Ok(config)
    }

    fn open(mut self) -> Result<Opened, Failure> {
        let config = self.load()?;
        self.open_configured(&config)
    }

    /// Makes no directory where there is none.
    fn open_existing(mut self) -> Result<Opened, Failure> {
        let config = self.load()?;
        refuse_missing(&config.server.data_dir).map_err(refused)?;
        self.open_configured(&config)
    }

    /// Refuses a directory that other nodes of its fleet are ahead of.
    fn open_newest(mut self) -> Result<Opened, Failure> {
        let config = self.load()?;
        refuse_missing(&config.server.data_dir).map_err(refused)?;
        newest::refuse_behind(&config).map_err(refused)?;
        self.open_configured(&config)
    }

    fn open_configured(self, config: &Config) -> Result<Opened, Failure> {
        let directory = DataDir::open_for_keys(&config.server.data_dir).map_err(refused)?;
        let kept = signing_keys::kept_issuer(&directory);
        let configured = || config.issuer(kept.as_deref()).map_err(|cause| (cause.to_string(), USAGE));
        Ok(Opened {
            issuer: self.issuer.map_or_else(configured, Ok)?,
            directory,
            source: Source::of_process(&config.keys.passphrase_file),
        })
    }
}

impl Opened {
    fn init(&self) -> Result<(), Failure> {
        let made = signing_keys::make(&self.directory, &self.issuer, &self.source, now()).map_err(refused)?;
        print!("{}", describe(&made.trust_root));
        Ok(())
    }

    fn rotate(&self, overlap_s: u64) -> Result<(), Failure> {
        let now = now();
        let until = now.saturating_add(overlap_s);
        let root = signing_keys::rotate(&self.directory, &self.issuer, &self.source, overlap_s, now)
            .map_err(refused)?;
        print!("{}", describe(&root));
        self.tell_others(&root);
        println!(
            "restart this node before {}: its old keys retire then, and seals by them are refused; relying parties need the new version first",
            time::format(until)
        );
        println!("{BACK_UP}");
        Ok(())
    }

    fn revoke(&self, id: &KeySetId) -> Result<(), Failure> {
        let root =
            signing_keys::revoke(&self.directory, &self.issuer, &self.source, id, now()).map_err(refused)?;
        print!("{}", describe(&root));
        println!("deliver this trust root as you delivered the first one, then start the service again");
        self.tell_others(&root);
        println!("{BACK_UP}");
        Ok(())
    }

    fn add_node(&self, to: &Path) -> Result<(), Failure> {
        let root = signing_keys::add_node(&self.directory, &self.issuer, &self.source, to, now())
            .map_err(refused)?;
        print!("{}", describe(&root));
        println!("{} is whole: move it to its machine, and start the node there", to.display());
        self.tell_others(&root);
        Ok(())
    }

    /// Other nodes need each version before the next is made.
    fn tell_others(&self, root: &TrustRoot) {
        let active = root.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
        if active.count() > 1 {
            println!(
                "copy {} into trust-roots of every other node's data directory before keys change again at any node",
                self.directory.join(&format!("trust-roots/{}.json", root.version())).display()
            );
        }
    }

    fn reencrypt(&self, new: &Path) -> Result<(), Failure> {
        trefoil_storage::data_dir::refuse_exposed(new).map_err(refused)?;
        let new = Passphrase::read(new).map_err(refused)?;
        signing_keys::reencrypt(&self.directory, &self.issuer, &self.source, &new).map_err(refused)?;
        println!(
            "encrypted; give the new file as keys.passphrase_file or as the systemd credential from now on"
        );
        Ok(())
    }
}

/// An older backup would sign with keys that are no longer accepted.
const BACK_UP: &str = "then make a new backup with `trefoil backup`: one of before has the old keys";

fn key_set_id(text: &str) -> Result<KeySetId, &'static str> {
    let mut id = [0; 32];
    hex::decode_to_slice(text, &mut id)
        .map_err(|_| "a key set is named by 64 hexadecimal digits; `trefoil keys show` prints them")?;
    Ok(KeySetId::new(id))
}

fn refuse_missing(directory: &Path) -> Result<(), String> {
    match directory.is_dir() {
        true => Ok(()),
        false => {
            Err(format!("there is no directory {}; name the service's with --data-dir", directory.display()))
        }
    }
}

fn now() -> u64 {
    SystemClock::default().unix_s()
}

impl Public {
    fn newest(&self) -> Result<TrustRoot, String> {
        trust_root(&self.data_dir)
    }

    fn version(&self, number: Option<u64>) -> Result<TrustRoot, String> {
        let Some(number) = number else { return self.newest() };
        refuse_missing(&self.data_dir)?;
        let directory = self.data_dir.display();
        let bytes =
            signing_keys::version(&self.data_dir, number).map_err(|cause| format!("{directory}: {cause}"))?;
        let bytes = bytes.ok_or_else(|| format!("{directory} has no trust root of version {number}"))?;
        TrustRoot::from_file(&bytes).map_err(|cause| format!("{directory}, version {number}: {cause}"))
    }
}

/// The trust root of a data directory.
pub(super) fn trust_root(data_dir: &Path) -> Result<TrustRoot, String> {
    refuse_missing(data_dir)?;
    let path = data_dir.join(TRUST_ROOT_FILE);
    let bytes = std::fs::read(&path).map_err(|cause| {
        format!("{}: cannot be read ({cause}); start the service once, or give --data-dir", path.display())
    })?;
    TrustRoot::from_file(&bytes).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Replaces the pinned file, in its present form.
fn accept(pinned_path: &Path, next_path: &Path) -> Result<(), String> {
    let (pinned, next) = (read_trust_root(pinned_path)?, read_trust_root(next_path)?);
    let old = remote::read(pinned_path)?;
    pinned.accept(&next).map_err(|cause| format!("{}: {cause}", next_path.display()))?;
    let form = if old.trim_ascii_start().starts_with(b"{") { Form::Json } else { Form::Cbor };
    let draft = pinned_path.with_extension("draft");
    export(&next, form, Some(&draft))?;
    std::fs::rename(&draft, pinned_path).map_err(|cause| format!("{}: {cause}", pinned_path.display()))?;
    print!("{}", describe(&next));
    Ok(())
}

fn export(root: &TrustRoot, format: Form, output: Option<&Path>) -> Result<(), String> {
    let bytes = match format {
        Form::Json => root.to_json().into_bytes(),
        Form::Cbor => root.encode(),
    };
    remote::write(output, &bytes)
}

fn describe(root: &TrustRoot) -> String {
    let mut text =
        format!("issuer   {}\nversion  {}\npin      {}\n", root.issuer(), root.version(), Pin::of(root));
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
