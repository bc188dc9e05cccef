//! `trefoil backup` and `trefoil restore`

use super::exit::fail;
use super::verify::read_trust_root;
use std::path::PathBuf;
use std::process::ExitCode;
use trefoil_host::backup::PassphraseArgs;
use trefoil_key_holder::cli::{describe, finished, tell};
use trefoil_pipeline::Clock as _;
use trefoil_service::backup;
use trefoil_service::login::clock::SystemClock;
use trefoil_service::time;

/// What to do after a restoration.
const LOST: &str = "What was acknowledged after the backup is lost. Repeat it, before callers come back what ends somebody's rights:
  API keys     revoke again those that were revoked since: until then they work. Those made since are unknown: make new ones
  operators    revoke again operators and tokens that were revoked since; admin.token is the backup's
  tenants      disable and delete again those that were since; make again those that were made since
  subjects     erase and revoke again those that were since; enrol again those that were enrolled or replaced since
  credentials  every issuer publishes its roots since the backup again, in order: until then credentials that were revoked since are accepted.
               Register issuer keys again that were registered since
  policies     set again those that changed since. Attempt budgets and counts of malformed jobs are the backup's, and resets since are undone
  keys         rotate template keys again if a rotation ended since. Signing keys that were rotated or revoked since are refused with --trust-root
  files        the TLS certificate in the directory is the backup's
  others       tell auditors and witnesses; a witness of another implementation may refuse heads until its operator resets it. All sessions
               have ended. Never start the old directory again: a seal that it makes after the restoration proves a fork
Then make a new backup.";

#[derive(clap::Args)]
#[command(
    after_help = "The service may run meanwhile. With a key-holder in its process the backup has both databases as they were at one \
    moment. The operator of a key-holder in another process backs it up with `trefoil key-holder backup`, after the service.\n\
    A copy of .sqlite files is no backup: it lacks the contents of their -wal files, and a service restored from it looks like one \
    that forked its log.\n\n\
    Examples:\n  trefoil backup --data-dir trefoil-data /media/backup/2026-11-22\n  \
    trefoil backup --check /media/backup/2026-11-22\n  \
    trefoil restore /media/backup/2026-11-22 --into trefoil-data --trust-root trust-root.json"
)]
pub(super) struct Backup {
    /// Directory of the backup, new or empty; with --check an existing backup.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Data directory of the service.
    #[arg(long, value_name = "DIR", default_value = "trefoil-data")]
    data_dir: PathBuf,
    /// Check a backup: every file against the manifest, and that the passphrase opens them.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

#[derive(clap::Args)]
#[command(
    after_help = format!("From then on every seal says when the log was restored and at which number it went on.\n\n{LOST}")
)]
pub(super) struct Restore {
    /// Directory of the backup.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Data directory to make, new or empty.
    #[arg(long, value_name = "DATA_DIR")]
    into: PathBuf,
    /// The newest published trust root. The restore fails if the backup's signing keys are not active in it.
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl Backup {
    pub(super) fn run(&self) -> ExitCode {
        match self.made() {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(&cause, 1),
        }
    }

    fn made(&self) -> Result<(), String> {
        if self.check {
            let passphrase = self.passphrase.find()?;
            let checked = trefoil_host::backup::check(&self.dir, &passphrase);
            let manifest = checked.map_err(|cause| cause.to_string())?;
            println!("{}: whole, and the passphrase opens it", self.dir.display());
            describe(&manifest);
            return Ok(());
        }
        if !self.data_dir.is_dir() {
            return Err(format!("{} is no data directory: name it with --data-dir", self.data_dir.display()));
        }
        let passphrase = self.passphrase.choose()?;
        let now = SystemClock::default().unix_s();
        let made = backup::make(&self.data_dir, &self.dir, &passphrase, now, &mut tell);
        finished(&self.dir, &made.map_err(|cause| cause.to_string())?, "trefoil");
        Ok(())
    }
}

impl Restore {
    pub(super) fn run(&self) -> ExitCode {
        match self.restored() {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(&cause, 1),
        }
    }

    fn restored(&self) -> Result<(), String> {
        let newest = self.trust_root.as_deref().map(read_trust_root).transpose()?;
        let passphrase = self.passphrase.find()?;
        let now = SystemClock::default().unix_s();
        let restored = backup::restore(&self.dir, &self.into, &passphrase, newest.as_ref(), now, &mut tell);
        let (manifest, restoration) = restored.map_err(|cause| cause.to_string())?;
        describe(&manifest);
        println!("restored into {}", self.into.display());
        println!(
            "The log goes on at seal {}, and every seal says that it was restored at {}.\n{LOST}",
            restoration.first,
            time::format(restoration.time)
        );
        Ok(())
    }
}
