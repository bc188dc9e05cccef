//! Arguments of `zkp`.

use clap::Args;
use trefoil_zkp::Circuit;

use super::output::Output;
use crate::Failure;
use crate::Report;
use crate::zkp::{Zkp, zkp};

const EXAMPLES: &str = "\
Examples:
    trefoil-bench zkp
    trefoil-bench zkp --circuit cred/2u --iters 50 --json

cred/2 is the circuit in service, cred/2u the one with larger proofs that rest on unique decoding alone. One thread makes
and verifies every proof; verify_ms includes decoding it, which decode_ms shows alone.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ZkpArgs {
    /// Parameter set: cred/2 or cred/2u
    #[arg(long, default_value = "cred/2", value_parser = circuit)]
    circuit: Circuit,
    /// Proofs, all of which are kept
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iters: u32,
    #[command(flatten)]
    pub(super) output: Output,
}

impl ZkpArgs {
    pub(super) fn run(&self) -> Result<Report, Failure> {
        super::output::refuse_debug_build()?;
        zkp(Zkp { circuit: self.circuit, iterations: self.iters as usize })
    }
}

fn circuit(text: &str) -> Result<Circuit, String> {
    let known = Circuit::ALL.into_iter().find(|circuit| circuit.name() == text);
    known.ok_or_else(|| format!("give {}", Circuit::ALL.map(Circuit::name).join(" or ")))
}
