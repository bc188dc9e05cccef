//! The modes on the command line.

use clap::ValueEnum;

use crate::failure::Failure;
use crate::roles::{KeyStructure, ProbeMode};

/// How probes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Over the channel to the matcher, in the clear
    Plain,
    /// In two shares, one at the matcher and one at the key-holder; needs --keys per-tenant
    Shared,
}

/// How templates are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Keys {
    /// One key per template, 48 KiB each
    PerSubject,
    /// One key per tenant, 96 KiB per template
    PerTenant,
}

/// The two together.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Modes {
    /// How probes arrive
    #[arg(long, value_enum, default_value_t = Mode::Plain)]
    mode: Mode,
    /// Key structure [default: per-subject, or per-tenant with --mode shared]
    #[arg(long, value_enum)]
    keys: Option<Keys>,
}

impl Modes {
    /// The pair, if it exists.
    pub(super) fn checked(self) -> Result<(ProbeMode, KeyStructure), Failure> {
        match (self.mode, self.keys) {
            (Mode::Plain, None | Some(Keys::PerSubject)) => Ok((ProbeMode::Plain, KeyStructure::PerSubject)),
            (Mode::Plain, Some(Keys::PerTenant)) => Ok((ProbeMode::Plain, KeyStructure::PerTenant)),
            (Mode::Shared, None | Some(Keys::PerTenant)) => Ok((ProbeMode::Shared, KeyStructure::PerTenant)),
            (Mode::Shared, Some(Keys::PerSubject)) => Err(Failure::usage(
                "shared probes need a product of ciphertexts under one key: use --keys per-tenant",
            )),
        }
    }
}
