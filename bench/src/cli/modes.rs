//! The modes on the command line.

use clap::ValueEnum;

use crate::roles::ProbeMode;

/// How probes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Over the channel to the matcher, in the clear; a key per template, 48 KiB each
    Plain,
    /// In two shares, one at the matcher and one at the key-holder; one key per tenant, 96 KiB per template
    Shared,
}

impl From<Mode> for ProbeMode {
    fn from(mode: Mode) -> ProbeMode {
        match mode {
            Mode::Plain => ProbeMode::Plain,
            Mode::Shared => ProbeMode::Shared,
        }
    }
}
