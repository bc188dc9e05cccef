//! `trefoil completions` and `trefoil man`: completions and manual pages, made from the program's own arguments.

use super::Cli;
use super::exit::fail;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  trefoil completions bash > /etc/bash_completion.d/trefoil\n  \
    trefoil completions zsh > /usr/local/share/zsh/site-functions/_trefoil\n  \
    trefoil completions fish > ~/.config/fish/completions/trefoil.fish")]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  trefoil man --directory /usr/local/share/man/man1\n  man trefoil-serve")]
pub(super) struct Manual {
    /// Existing folder that gets a page for the program and for each command; pages of the same name are replaced.
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
}

impl Completions {
    pub(super) fn run(&self) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "trefoil", &mut script);
        print!("{}", String::from_utf8_lossy(&script));
        ExitCode::SUCCESS
    }
}

impl Manual {
    pub(super) fn run(&self) -> ExitCode {
        match write(&self.directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => fail(
                &format!(
                    "{}: {cause}; name a folder that exists and that you can write to",
                    self.directory.display()
                ),
                1,
            ),
        }
    }
}

/// Writes `trefoil.1`, `trefoil-serve.1` and so on.
fn write(directory: &Path) -> std::io::Result<()> {
    std::fs::read_dir(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)
}
