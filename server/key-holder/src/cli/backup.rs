//! `trefoil key-holder backup` and `restore`.

use crate::backup::{self, VAULT};
use clap::Args;
use std::path::{Path, PathBuf};
use trefoil_host::backup::{Manifest, PassphraseArgs, check};
use trefoil_host::unix_s;
use trefoil_types::time;

/// The backup.
#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// Directory of the backup, new or empty; with --check an existing backup.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Check a backup: every file against the manifest, and that the passphrase opens them.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// The backup and the new directory.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Directory of the backup.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Data directory to make, new or empty.
    #[arg(long, value_name = "DATA_DIR")]
    into: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl BackupArgs {
    pub(super) fn run(
        &self,
        data: impl FnOnce() -> Result<PathBuf, (String, u8)>,
    ) -> Result<(), (String, u8)> {
        let failed = |cause: &dyn ToString| (cause.to_string(), 1);
        if self.check {
            let passphrase = self.passphrase.find().map_err(|cause| failed(&cause))?;
            let manifest = check(&self.dir, &passphrase).map_err(|cause| failed(&cause))?;
            println!("{}: whole, and the passphrase opens it", self.dir.display());
            describe(&manifest);
            return Ok(());
        }
        let data = data()?;
        let passphrase = self.passphrase.choose().map_err(|cause| failed(&cause))?;
        let none = |_: &[_]| Ok(None);
        let made = backup::make(&data, &self.dir, &passphrase, &[VAULT], none, unix_s(), &mut tell);
        finished(&self.dir, &made.map_err(|cause| failed(&cause))?, "trefoil key-holder");
        Ok(())
    }
}

impl RestoreArgs {
    pub(super) fn run(&self) -> Result<(), (String, u8)> {
        let failed = |cause: &dyn ToString| (cause.to_string(), 1);
        let passphrase = self.passphrase.find().map_err(|cause| failed(&cause))?;
        let nothing = |_: &_, _: &_| Ok(());
        let restored =
            backup::restore(&self.dir, &self.into, &passphrase, &[VAULT], unix_s(), &mut tell, nothing);
        describe(&restored.map_err(|cause| failed(&cause))?);
        println!("restored into {}", self.into.display());
        println!(
            "Attempt budgets and deletions since the backup are undone. Start it with the configuration that it had \
             (server.data_dir is {} now), have the gateway delete again what was deleted since, and make a new backup.",
            self.into.display()
        );
        Ok(())
    }
}

/// Shows the progress.
pub fn tell(line: &str) {
    eprintln!("{line}");
}

/// Shows the contents of a backup.
pub fn describe(manifest: &Manifest) {
    println!("made at      {}, by version {}", time::format(manifest.made_at), manifest.program);
    println!("installation {}", manifest.installation);
    if let Some(log) = &manifest.log {
        println!("log          to seal {}, {}", log.seal, log.digest);
    }
    if let Some(vault) = &manifest.vault {
        println!(
            "vault        {} transactions, {} times an older copy was taken",
            vault.generation, vault.restored
        );
    }
    for file in &manifest.files {
        println!("file         {}.sealed, {} bytes, sha3-256 {}", file.name, file.bytes, file.sha3_256);
    }
}

/// Says how to keep a new backup.
pub fn finished(dir: &Path, manifest: &Manifest, command: &str) {
    describe(manifest);
    let dir = dir.display();
    println!(
        "backup made in {dir}. Copy it to another machine, check the copy with `{command} backup --check {dir}`, and keep its passphrase \
         somewhere else: without it the backup is useless, and anyone who has both has every key in it."
    );
}
