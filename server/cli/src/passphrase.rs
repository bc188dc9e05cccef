//! Passphrases: from a file that only its owner can read, or from the terminal.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use zeroize::Zeroizing;

#[derive(clap::Args)]
pub(super) struct Passphrase {
    /// File whose first line is the passphrase, readable by its owner only. Absent: the terminal asks for it.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Passphrase {
    /// The passphrase of an existing file.
    pub(super) fn read(&self, of: &str) -> Result<Zeroizing<String>, String> {
        match &self.passphrase_file {
            Some(_) => self.file(),
            None => ask(&format!("Passphrase of {of}: ")),
        }
    }

    /// A passphrase for a new file. The terminal asks for it twice.
    pub(super) fn choose(&self, of: &str) -> Result<Zeroizing<String>, String> {
        if self.passphrase_file.is_some() {
            return self.file();
        }
        let first = ask(&format!("New passphrase of {of}: "))?;
        let second = ask("The same again: ")?;
        if *first == *second { Ok(first) } else { Err("the two passphrases differ".to_owned()) }
    }

    fn file(&self) -> Result<Zeroizing<String>, String> {
        let path = self.passphrase_file.as_deref().unwrap_or_else(|| "".as_ref());
        let failed = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
        let mode = std::fs::metadata(path).map_err(|cause| failed(&cause))?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let remedy = format!("readable by others (mode {mode:o}); `chmod go= {}`", path.display());
            return Err(failed(&remedy));
        }
        let file = Zeroizing::new(std::fs::read(path).map_err(|cause| failed(&cause))?);
        let text = trefoil_contents::text(&file).map_err(|cause| failed(&cause))?;
        Ok(Zeroizing::new(text.lines().next().unwrap_or("").to_owned()))
    }
}

fn ask(prompt: &str) -> Result<Zeroizing<String>, String> {
    rpassword::prompt_password(prompt)
        .map(Zeroizing::new)
        .map_err(|cause| format!("no passphrase could be asked for ({cause}); give --passphrase-file"))
}
