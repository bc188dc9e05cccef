//! `trefoil compare`: whether two attestations contradict each other, offline.

use super::verify::{FILE_BYTES_MAX, attestation_bytes, mark, named, read, read_trust_root};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_attest::{
    Attestation, Evidence, ExpectedNonce, Policy, Relation, Seal, Statement, TrustRoot, Verified, compare,
    verify, verify_with_seal,
};

/// Exit codes besides clap's 2, as of `trefoil verify`.
const CONSISTENT: u8 = 0;
const CONTRADICTION: u8 = 1;
const UNDECIDED: u8 = 3;

#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 no contradiction, 1 contradiction, 2 wrong usage, 3 cannot decide (a file cannot be read, an\n\
    attestation does not verify, or a compact one has no --seal).\n\n\
    A service decides a request once. Two attestations of one request that differ in the decision, the account, the\n\
    session, the tenant, the audience or the nonce are evidence that it lied, for anyone with its trust root: keep both\n\
    files. One exception: a request from a device with a fast clock, sent again to a service that restarted within the\n\
    minute, can honestly be denied the second time. Each attestation is verified as of its own time. Attestations that do\n\
    not contradict each other can still be false: the person who made the request also compares its digest.\n\n\
    Example:\n  trefoil compare mine.json theirs.json --trust-root trust-root.json"
)]
pub(super) struct Compare {
    /// An attestation: CBOR, base64, or the JSON answer of the service.
    one: PathBuf,
    /// The other attestation.
    other: PathBuf,
    /// The issuer's trust root, JSON or CBOR, from a channel you trust.
    #[arg(long, value_name = "FILE")]
    trust_root: PathBuf,
    /// The seal of a compact attestation, from the issuer's /v1/seals/{number}; may be repeated.
    #[arg(long, value_name = "FILE")]
    seal: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(super) fn run(self) -> ExitCode {
        let (code, text, json) = match self.decide() {
            Ok(relation) => {
                let contradicts = relation.is_contradiction();
                let code = if contradicts { CONTRADICTION } else { CONSISTENT };
                let json = json!({
                    "contradiction": contradicts, "relation": relation.code(), "text": relation.to_string(),
                });
                (code, relation.to_string(), json)
            }
            Err(reason) => {
                let json = json!({ "contradiction": Value::Null, "reason": reason });
                (UNDECIDED, format!("cannot decide: {reason}"), json)
            }
        };
        if self.json {
            println!("{json:#}");
        } else {
            println!("{} {text}", mark(code == CONSISTENT));
        }
        ExitCode::from(code)
    }

    /// The error says why nothing can be decided.
    fn decide(&self) -> Result<Relation, String> {
        let root = read_trust_root(&self.trust_root)?;
        let seals: Vec<Seal> = self.seal.iter().map(|path| seal(path)).collect::<Result<_, _>>()?;
        let bytes = |path| attestation_bytes(path, &read(path, FILE_BYTES_MAX)?);
        let (one, other) = (bytes(&self.one)?, bytes(&self.other)?);
        let one = verified(&one, &seals, &root).map_err(|cause| named(&self.one, &cause))?;
        let other = verified(&other, &seals, &root).map_err(|cause| named(&self.other, &cause))?;
        Ok(compare(&one, &other))
    }
}

fn seal(path: &Path) -> Result<Seal, String> {
    Seal::decode(&read(path, FILE_BYTES_MAX)?).map_err(|cause| named(path, &cause))
}

/// Verifies an attestation as of its own time, for any audience and content.
fn verified<'a>(bytes: &'a [u8], seals: &[Seal], root: &TrustRoot) -> Result<Verified<'a>, String> {
    let refused = |cause: &dyn std::fmt::Display| format!("does not verify: {cause}");
    let attestation = Attestation::decode(bytes).map_err(|cause| refused(&cause))?;
    let statement = Statement::decode(attestation.statement).map_err(|cause| refused(&cause))?;
    let policy = Policy::new(root.clone(), statement.audience, ExpectedNonce::DangerousAny)
        .any_decision()
        .accept_no_proof();
    // A seal is made after its statements.
    let at = |seal: &Seal| seal.header.time.clamp(statement.issued_at, statement.expires_at - 1);
    match &attestation.evidence {
        Evidence::Full(seal) => verify(bytes, &policy, at(seal)),
        Evidence::Compact(reference) => match seals.iter().find(|seal| seal.reference() == *reference) {
            Some(seal) => verify_with_seal(bytes, seal, &policy, at(seal)),
            None => {
                let number = reference.seal_number;
                return Err(format!("compact; give seal {number} of the issuer (--seal)"));
            }
        },
    }
    .map_err(|cause| refused(&cause))
}
