//! The passphrase of a backup: from a file, an environment variable, or the terminal; never from the command line, which others can read.

use clap::Args;
use std::path::PathBuf;
use trefoil_storage::data_dir::read_private;
use zeroize::Zeroizing;

/// The variable.
const VARIABLE: &str = "TREFOIL_BACKUP_PASSPHRASE";
/// Shortest accepted passphrase: a shorter one can be guessed, whatever a guess costs.
const BYTES_MIN: usize = 12;

/// A passphrase. Zeroised on drop; it has no `Debug`.
pub struct Passphrase(Zeroizing<Vec<u8>>);

/// The source of a passphrase.
#[derive(Args, Debug)]
pub struct PassphraseArgs {
    /// File whose first line is the passphrase; readable by its owner only. Absent: the variable TREFOIL_BACKUP_PASSPHRASE, else
    /// asked for on the terminal.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Passphrase {
    /// A passphrase of these bytes.
    ///
    /// # Errors
    /// When it is too short to protect anything.
    pub fn new(text: Zeroizing<Vec<u8>>) -> Result<Passphrase, String> {
        match text.len() {
            BYTES_MIN.. => Ok(Passphrase(text)),
            _ => Err(format!("the passphrase of a backup has at least {BYTES_MIN} bytes")),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl PassphraseArgs {
    /// The passphrase of a backup that exists.
    ///
    /// # Errors
    /// The source, and its fault.
    pub fn find(&self) -> Result<Passphrase, String> {
        self.given().unwrap_or_else(|| ask("Passphrase of the backup: ")).and_then(Passphrase::new)
    }

    /// A passphrase for a new backup. The terminal asks for it twice.
    ///
    /// # Errors
    /// As [`PassphraseArgs::find`].
    pub fn choose(&self) -> Result<Passphrase, String> {
        let chosen = self.given().unwrap_or_else(|| {
            let first = ask("New passphrase of the backup: ")?;
            let second = ask("The same again: ")?;
            if *first == *second { Ok(first) } else { Err("the two passphrases differ".to_owned()) }
        });
        chosen.and_then(Passphrase::new)
    }

    fn given(&self) -> Option<Result<Zeroizing<Vec<u8>>, String>> {
        if let Some(path) = &self.passphrase_file {
            let read = read_private(path).map_err(|cause| cause.to_string());
            return Some(read.map(|text| {
                let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
                Zeroizing::new(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
            }));
        }
        use std::os::unix::ffi::OsStringExt as _;
        std::env::var_os(VARIABLE).map(|text| Ok(Zeroizing::new(text.into_vec())))
    }
}

fn ask(prompt: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let text = rpassword::prompt_password(prompt).map(Zeroizing::new);
    text.map(|text| Zeroizing::new(text.as_bytes().to_vec())).map_err(|cause| {
        format!("no passphrase could be asked for ({cause}); give --passphrase-file or set {VARIABLE}")
    })
}
