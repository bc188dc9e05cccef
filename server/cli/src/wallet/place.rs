//! The wallet file: its place, its lock, and writing it.

use super::super::exit::text;
use super::super::passphrase::Passphrase;
use super::super::remote;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_wallet::credentials::sealed::Cost;
use trefoil_wallet::wallet::Wallet;
use zeroize::Zeroizing;

/// A wallet file and the source of its passphrase.
#[derive(clap::Args)]
pub(super) struct Place {
    /// The wallet file.
    #[arg(long, value_name = "FILE")]
    wallet: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
}

/// A wallet that this process has locked.
pub(super) struct Open {
    pub(super) wallet: Wallet,
    path: PathBuf,
    passphrase: Zeroizing<String>,
    _lock: File,
}

impl Place {
    /// Creates the file, with a fresh secret.
    pub(super) fn create(&self) -> Result<ExitCode, String> {
        if self.wallet.exists() {
            return Err(format!(
                "{} exists; a secret is not overwritten, so choose another file with --wallet",
                self.wallet.display()
            ));
        }
        let lock = self.lock()?;
        let passphrase = self.passphrase.choose("the new wallet")?;
        let wallet = Wallet::create(&mut rand::rng());
        let commitment = hex::encode(wallet.commitment().as_bytes());
        Open { wallet, path: self.wallet.clone(), passphrase, _lock: lock }.save()?;
        println!("commitment {commitment}");
        Ok(ExitCode::SUCCESS)
    }

    /// Opens the file and locks it against other processes.
    pub(super) fn open(&self) -> Result<Open, String> {
        let sealed = remote::read(&self.wallet)
            .map_err(|cause| format!("{cause}; `trefoil wallet create` makes a wallet"))?;
        let lock = self.lock()?;
        let passphrase = self.passphrase.read("the wallet")?;
        let wallet = Wallet::open(&sealed, passphrase.as_bytes())
            .map_err(|cause| format!("{}: {cause}", self.wallet.display()))?;
        Ok(Open { wallet, path: self.wallet.clone(), passphrase, _lock: lock })
    }

    fn lock(&self) -> Result<File, String> {
        let path = beside(&self.wallet, "lock");
        let failed = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = lock.map_err(|cause| failed(&cause))?;
        lock.try_lock().map_err(|_| failed(&"the wallet is used by another process"))?;
        Ok(lock)
    }
}

impl Open {
    /// Writes the wallet so that a crash leaves the old file or the new one.
    pub(super) fn save(&self) -> Result<(), String> {
        let sealed = self.wallet.seal(self.passphrase.as_bytes(), Cost::RECOMMENDED, &mut rand::rng());
        write_private(&self.path, &sealed.map_err(text)?)
    }
}

/// Writes a file that only its owner can read, atomically.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let draft = beside(path, "draft");
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    };
    write().map_err(|cause| format!("{}: {cause}", path.display()))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
