//! `trefoil log`: the commands of auditors and witnesses.

mod head_file;
mod jobs;

use super::exit::{USAGE, fail};
use super::remote;
use super::values::address;
use super::verify::read_trust_root;
use clap::Subcommand;
use jobs::JobLogs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::Pin;
use trefoil_attest::tree::Hash;
use trefoil_attest::witness::{Checkpoint, Witness, WitnessError};
use trefoil_attest::{Restoration, SealHeader, TrustRoot};
use trefoil_client::PublicLog;
use trefoil_pipeline::Clock as _;
use trefoil_service::POSTGRES_MARK;
use trefoil_service::log::log_audit::{self, AuditError, Audited, Decided, Head, Source};
use trefoil_service::login::clock::SystemClock;
use trefoil_service::time;
use trefoil_sign::WitnessKey;
use trefoil_storage::store::SealReader;
use zeroize::Zeroizing;

/// The log did not pass.
const INVALID: u8 = 1;
/// No result: a file cannot be read, or the service does not answer.
const UNDECIDED: u8 = 3;

#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 the log passed, 1 it did not, 2 wrong usage, 3 cannot decide.\n\n\
    Examples:\n  trefoil log audit --data-dir trefoil-data --trust-root trust-root.json --head head.json\n  \
    trefoil log audit --data-dir trefoil-data --trust-root trust-root.json --pin sha3-256:5f3a...\n  \
    trefoil log audit --service https://auth.example:8443 --ca certificate.pem \\\n    \
    --trust-root trust-root.json --head head.json --witness 'w.example+...' --witnesses 1\n  \
    trefoil log audit --data-dir trefoil-data --trust-root trust-root.json --attestations kept --jobs key-holder\n  \
    trefoil log witness-key --name w.example/1 --output witness.key\n  \
    trefoil log cosign --name w.example/1 --key witness.key --trust-root trust-root.json --head head.json > cosigned.txt\n  \
    trefoil log hand-in --service https://auth.example:8443 --ca certificate.pem cosigned.txt")]
pub(super) struct Log {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check every seal that was not seen before: signatures, chain, tree, key-holders' vaults. Then save the new head.
    Audit(Audit),
    /// Make a witness's key and print its public side.
    WitnessKey {
        /// Name of the witness, such as w.example/1.
        #[arg(long)]
        name: String,
        /// File for the secret key.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// As a witness: sign the head that the last audit saw.
    Cosign {
        /// Name of the witness.
        #[arg(long)]
        name: String,
        /// File with the secret key.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The issuer's trust root.
        #[arg(long, value_name = "FILE")]
        trust_root: PathBuf,
        /// The file that the last audit saved.
        #[arg(long, value_name = "FILE")]
        head: PathBuf,
    },
    /// Hand in a cosigned checkpoint to the service, which serves it to auditors.
    HandIn {
        /// Address of the public API, such as https://127.0.0.1:8443.
        #[arg(long, value_name = "URL", value_parser = address)]
        service: String,
        #[command(flatten)]
        ca: remote::Ca,
        /// The output of `trefoil log cosign`.
        #[arg(value_name = "FILE")]
        checkpoint: PathBuf,
    },
}

#[derive(clap::Args)]
struct Audit {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    ca: remote::Ca,
    /// The issuer's trust root, JSON or CBOR, from a channel you trust.
    #[arg(long, value_name = "FILE")]
    trust_root: PathBuf,
    /// The trust root must have this fingerprint, as `trefoil keys show` prints it at the issuer.
    #[arg(long, value_name = "SHA3-256:HEX")]
    pin: Option<Pin>,
    /// The file that the last audit saved. Absent, or no such file: the audit begins at the first seal. Replaced if the log passes.
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// A checkpoint with cosignatures of witnesses. Absent: the newest one that was handed in to the service.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Public key of a witness that you trust, as `trefoil log witness-key` prints it. May be repeated.
    #[arg(long, value_name = "KEY", value_parser = witness)]
    witness: Vec<Witness>,
    /// Number of witnesses that must have cosigned the checkpoint.
    #[arg(long, value_name = "N", default_value_t = 0)]
    witnesses: usize,
    /// Refuse a log that was restored from a backup since the last audit, or ever if there was none. The lost seals cannot be checked: only the
    /// service says what they were.
    #[arg(long)]
    no_restores: bool,
    #[command(flatten)]
    jobs: JobLogs,
}

/// Exactly one of the two.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// Data directory, for an audit without the service.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address of the public API, such as https://127.0.0.1:8443.
    #[arg(long, value_name = "URL", value_parser = address)]
    service: Option<String>,
}

/// The error and the exit code.
type Failure = (String, u8);

fn undecided(cause: impl ToString) -> Failure {
    (cause.to_string(), UNDECIDED)
}

fn failed(cause: AuditError) -> Failure {
    let code = if matches!(cause, AuditError::Source(_)) { UNDECIDED } else { INVALID };
    (cause.to_string(), code)
}

impl Log {
    pub(super) fn run(self) -> ExitCode {
        let done = match self.command {
            Command::Audit(audit) => audit.run(),
            Command::WitnessKey { name, output } => witness_key(&name, &output),
            Command::Cosign { name, key, trust_root, head } => cosign(&name, &key, &trust_root, &head),
            Command::HandIn { service, ca, checkpoint } => hand_in(&service, &ca, &checkpoint),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err((cause, code)) => fail(&cause, code),
        }
    }
}

impl Audit {
    fn run(self) -> Result<(), Failure> {
        let trust_root = read_root(&self.trust_root)?;
        if let Some(pin) = self.pin {
            pin.check(&trust_root)
                .map_err(|cause| (format!("{}: {cause}", self.trust_root.display()), INVALID))?;
        }
        let seen = match &self.head {
            Some(path) if path.exists() => read_head(path, &trust_root)?,
            _ => Head::default(),
        };
        let source: Box<dyn Source> = match (&self.place.data_dir, &self.place.service) {
            (Some(directory), _) if directory.join(POSTGRES_MARK).exists() => {
                let cause = "this service keeps its log in PostgreSQL: audit it over HTTPS, with --service and its address";
                return Err((cause.to_owned(), USAGE));
            }
            (Some(directory), _) => {
                let store = directory.join("store.sqlite");
                if !store.exists() {
                    let none =
                        "is not there; give --data-dir the directory of a service that was started once";
                    return Err(named(&store, &none));
                }
                Box::new(SealReader::open(&store).map_err(undecided)?)
            }
            (None, Some(service)) => Box::new(Remote::new(service, &self.ca)?),
            (None, None) => return Err(("give --data-dir or --service".to_owned(), USAGE)),
        };
        let checkpoint = self.checkpoint(source.as_ref())?;
        let mut decided = Decided::default();
        let mut see = |header: &SealHeader| {
            if self.jobs.are_given() {
                decided.see(header);
            }
        };
        let audited =
            log_audit::audit_each(source.as_ref(), &trust_root, &seen, checkpoint.as_ref(), &mut see);
        let Audited { head, from, notices } = audited.map_err(failed)?;
        let known = seen.restorations.last();
        if let Some(restored) =
            head.restorations.last().filter(|last| self.no_restores && Some(*last) != known)
        {
            return Err((format!("{}; --no-restores refuses that", restoration(restored)), INVALID));
        }
        let (told, later) = match self.jobs.are_given() {
            true => self.jobs.look(decided, &trust_root, &head)?,
            false => (Vec::new(), 0),
        };
        if let Some(path) = &self.head {
            let draft = path.with_extension("draft");
            std::fs::write(&draft, head_file::write(&head, trust_root.issuer()))
                .map_err(|cause| named(&draft, &cause))?;
            std::fs::rename(&draft, path).map_err(|cause| named(path, &cause))?;
        }
        let after = head.log.size();
        println!("{} seals checked, {after} seen in all: signatures, chain and tree are right", after - from);
        for restored in &head.restorations {
            println!("restored: {}", restoration(restored));
        }
        for notice in notices {
            println!("notice: {notice}");
        }
        told.iter().for_each(|line| println!("{line}"));
        match checkpoint {
            Some(Checkpoint { size, .. }) => {
                println!("the log of {size} seals is cosigned by {} witnesses or more", self.witnesses)
            }
            None => println!("no witness was asked: another reader may have been shown another log"),
        }
        if later > 0 { Err(jobs::later(later)) } else { Ok(()) }
    }

    /// The cosigned head to compare with: from a file, or, if witnesses are required, the one that was handed in to the source.
    fn checkpoint(&self, source: &dyn Source) -> Result<Option<Checkpoint>, Failure> {
        let (place, note) = match &self.checkpoint {
            Some(path) => {
                let note = text(path)?.to_string();
                (path.display().to_string(), note)
            }
            None if self.witnesses == 0 => return Ok(None),
            None => {
                let note = source.checkpoint().map_err(undecided)?;
                let none = || undecided("no cosigned checkpoint was handed in; give one with --checkpoint");
                ("the checkpoint that was handed in".to_owned(), note.ok_or_else(none)?)
            }
        };
        let (checkpoint, _) = Checkpoint::verify(&note, &self.witness, self.witnesses).map_err(|cause| {
            // Without any of these witnesses a checkpoint says nothing against the log.
            let exit = if let WitnessError::TooFew { found: 0, .. } = cause { UNDECIDED } else { INVALID };
            (format!("{place}: {cause}"), exit)
        })?;
        Ok(Some(checkpoint))
    }
}

/// The public API of a running service.
struct Remote {
    runtime: tokio::runtime::Runtime,
    log: PublicLog,
    ca: remote::Ca,
}

impl Remote {
    fn new(service: &str, ca: &remote::Ca) -> Result<Remote, Failure> {
        let unusable = |cause| undecided(format!("{service}: {cause}"));
        let (roots, identity) = (ca.roots().map_err(unusable)?, ca.identity().map_err(unusable)?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(undecided)?;
        Ok(Remote {
            runtime,
            log: PublicLog::with_identity(service, &roots, identity.as_deref().map(Vec::as_slice))
                .map_err(|cause| undecided(ca.named(service, &cause)))?,
            ca: ca.clone(),
        })
    }
}

impl Source for Remote {
    fn newest(&self) -> Result<Option<u64>, String> {
        self.runtime.block_on(self.log.newest()).map_err(|cause| self.ca.told(&cause))
    }

    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        self.runtime.block_on(self.log.entry(number)).map_err(|cause| self.ca.told(&cause))
    }

    fn checkpoint(&self) -> Result<Option<String>, String> {
        self.runtime.block_on(self.log.checkpoint()).map_err(|cause| self.ca.told(&cause))
    }

    fn consistency(&self, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, String> {
        self.runtime
            .block_on(self.log.consistency(old_size, size))
            .map(Some)
            .map_err(|cause| self.ca.told(&cause))
    }
}

fn restoration(Restoration { first, time }: &Restoration) -> String {
    let time = time::format(*time);
    format!("the log was restored from a backup at {time} and went on at seal {first}")
}

fn hand_in(service: &str, ca: &remote::Ca, checkpoint: &Path) -> Result<(), Failure> {
    let note = text(checkpoint)?;
    let Remote { runtime, log, ca } = Remote::new(service, ca)?;
    let (size, witnesses) = runtime.block_on(log.hand_in(&note)).map_err(|cause| {
        let refused = matches!(cause.code(), Some("cosignature-refused" | "malformed-request"));
        (ca.told(&cause), if refused { INVALID } else { UNDECIDED })
    })?;
    println!("the log of {size} seals is shown as cosigned by {}", witnesses.join(", "));
    Ok(())
}

fn witness_key(name: &str, output: &Path) -> Result<(), Failure> {
    let key = WitnessKey::generate(name, &mut rand::rng()).map_err(|cause| (cause.to_string(), USAGE))?;
    let text = Zeroizing::new(hex::encode(key.seed()) + "\n");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(output)
        .map_err(|cause| named(output, &cause))?;
    file.write_all(text.as_bytes()).map_err(|cause| named(output, &cause))?;
    println!("{}", key.witness().verifier_key());
    Ok(())
}

fn cosign(name: &str, key: &Path, trust_root: &Path, head: &Path) -> Result<(), Failure> {
    let mut seed = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text(key)?.trim(), &mut seed[..]).map_err(|_| {
        named(key, &"expected 64 hexadecimal digits, as `trefoil log witness-key` writes them")
    })?;
    let key = WitnessKey::from_seed(name, &seed).map_err(undecided)?;
    let trust_root = read_root(trust_root)?;
    let head = read_head(head, &trust_root)?;
    let checkpoint = head
        .checkpoint(trust_root.issuer())
        .ok_or_else(|| undecided("a log of fewer than two seals has no signed head yet"))?;
    let line = key
        .cosign(&checkpoint, SystemClock::default().unix_s())
        .ok_or_else(|| undecided("a fresh cosignature does not verify; do not use this machine"))?;
    print!("{}\n{line}", checkpoint.text());
    Ok(())
}

fn witness(text: &str) -> Result<Witness, String> {
    Witness::parse(text).map_err(|cause| cause.to_string())
}

/// The text of a file, which may be a secret.
fn text(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let file = Zeroizing::new(remote::read(path).map_err(undecided)?);
    let text = trefoil_contents::text(&file).map_err(|cause| named(path, &cause))?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn read_root(path: &Path) -> Result<TrustRoot, Failure> {
    read_trust_root(path).map_err(|cause| (cause, UNDECIDED))
}

fn read_head(path: &Path, trust_root: &TrustRoot) -> Result<Head, Failure> {
    let bytes = remote::read(path).map_err(undecided)?;
    head_file::read(&bytes, trust_root.issuer()).map_err(|cause| {
        named(path, &format_args!("{cause}; give the file that `trefoil log audit --head` wrote"))
    })
}

fn named(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    (format!("{}: {cause}", path.display()), UNDECIDED)
}
