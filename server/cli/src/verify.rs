//! `trefoil verify`: an attestation against a trust root, offline.

mod expected;
mod other;
mod outcome;
mod proof;
mod receipt;

use super::exit::{USAGE, fail};
use super::values::tenant;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use expected::Expected;
use outcome::At;
use outcome::{Given, Outcome, Refusal, refused};
pub(super) use outcome::{mark, named, read};
use proof::Proof;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trefoil_api::{Authenticated, Hex, Receipt};
use trefoil_attest::json::TRUST_ROOT_JSON_BYTES_MAX;
use trefoil_attest::{Attestation, DecodeError, Policy, Restoration, Statement, TrustRoot, Verified};
use trefoil_pipeline::Clock as _;
use trefoil_service::time;
use trefoil_types::TenantId;

/// Exit codes besides clap's 2.
const VALID: u8 = 0;
const INVALID: u8 = 1;
const UNDECIDED: u8 = 3;

/// Largest file that is read: an attestation in base64 inside a JSON answer is below 40 KB.
pub(super) const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What belongs where another file was given.
const ATTESTATION: &str = "give the service's answer to a login or a change, or the attestation in it";
const SEAL: &str = "give the issuer's /v1/seals/{number}, or /v1/seals/{number}/pruned";
const TRUST_ROOT: &str = "give the file that `trefoil keys export-trust-root` wrote";

#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 valid, 1 invalid, 2 wrong usage, 3 cannot decide (a file cannot be read or is\n\
    another one of ours, or a compact attestation without --seal). With --proof, valid means that the proof verifies\n\
    and, together with an attestation, that it backs it.\n\n\
    A relying party gives --audience and --nonce: else the attestation could have been made for someone else, or be\n\
    used twice. --any-audience and --any-nonce go without these checks, and the answer says so. Receipts need neither.\n\n\
    With --json a refusal has `code`, the name of the failed check (null if no check of an attestation failed), and\n\
    `reason`, a sentence. After wrong usage standard output is empty and the reason is on standard error.\n\n\
    Examples:\n  trefoil verify answer.json --trust-root trust-root.json --audience https://shop.example --nonce 5f3a...\n  \
    trefoil verify answer.json --trust-root trust-root.json --audience https://shop.example --nonce 5f3a... --proof session.proof\n  \
    trefoil verify answer.json --trust-root trust-root.json --audience https://shop.example --nonce 5f3a... --account-key 9c1f...\n  \
    trefoil verify --proof session.proof\n  \
    trefoil verify erased.json --trust-root trust-root.json --tenant 0011...     the receipt of an erasure\n  \
    trefoil verify compact.cbor --seal seal-17.cbor --trust-root trust-root.json --at 2026-11-20T09:47:40Z --any-audience --any-nonce --json"
)]
pub(super) struct Verify {
    /// The attestation or the receipt of a change: CBOR, base64, or the JSON answer of the service. `-` is standard input.
    #[arg(required_unless_present = "proof", requires = "trust_root")]
    file: Option<PathBuf>,
    /// The issuer's trust root, JSON or CBOR, from a channel you trust.
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    /// A stored credential proof (`trefoil wallet open --record`): verify it again, and check that it backs the attestation.
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// The seal of a compact attestation, from the issuer's /v1/seals/{number}, or, once that is pruned, from
    /// /v1/seals/{number}/pruned.
    #[arg(long, value_name = "FILE")]
    seal: Option<PathBuf>,
    #[command(flatten)]
    expected: Expected,
    /// The tenant that it must be about.
    #[arg(long, value_name = "HEX", value_parser = tenant)]
    tenant: Option<Hex<16>>,
    /// Time to verify at: unix seconds or RFC 3339 UTC. Default: now.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    at: Option<u64>,
    /// Accept an attested denial too; check the decision.
    #[arg(long)]
    any_decision: bool,
    /// Accept a statement without a credential proof too, as for tenants with `proof: none`: then only the tenant's application
    /// vouches that the request was the person's.
    #[arg(long)]
    accept_no_proof: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(self) -> ExitCode {
        let outcome = self.decide().unwrap_or_else(|reason| Outcome::Undecided(reason.into()));
        let (exit, valid, Refusal { code, reason }) = match outcome {
            Outcome::Valid { text, json } => {
                if self.json {
                    println!("{json:#}");
                } else {
                    print!("{text}");
                }
                return ExitCode::from(VALID);
            }
            Outcome::Invalid(refusal) => (INVALID, json!(false), refusal),
            Outcome::Undecided(refusal) => (UNDECIDED, Value::Null, refusal),
            Outcome::Usage(reason) => return fail(&reason, USAGE),
        };
        if self.json {
            println!("{:#}", json!({"valid": valid, "code": code, "reason": reason}));
        } else {
            let verdict = if exit == INVALID { "invalid" } else { "cannot decide" };
            println!("{} {verdict}: {reason}", mark(false));
        }
        ExitCode::from(exit)
    }

    /// The error says why no result is possible.
    fn decide(&self) -> Result<Outcome, String> {
        let proof = match self.proof.as_deref().map(Proof::check).transpose()? {
            Some(Err(reason)) => return Ok(Outcome::Invalid(reason.into())),
            Some(Ok(proof)) => Some(proof),
            None => None,
        };
        match (&self.file, &self.trust_root, proof) {
            (Some(file), Some(root), proof) => self.attestation(file, root, proof.as_ref()),
            (_, _, Some(proof)) => Ok(proof.outcome()),
            _ => Err("give an attestation with --trust-root, or --proof".to_owned()),
        }
    }

    fn attestation(&self, file: &Path, root_file: &Path, proof: Option<&Proof>) -> Result<Outcome, String> {
        let root = read_trust_root(root_file)?;
        let seal = match &self.seal {
            None => None,
            Some(path) => {
                let bytes = read(path, FILE_BYTES_MAX)?;
                Some(
                    Given::decode(&bytes)
                        .map_err(|cause| named(path, &other::instead(SEAL, &bytes, &cause)))?,
                )
            }
        };
        let bytes = attestation_bytes(file, &read(file, FILE_BYTES_MAX)?)?;
        let at = match self.at {
            Some(unix_s) => At { unix_s, is_given: true },
            None => {
                At { unix_s: trefoil_service::login::clock::SystemClock::default().unix_s(), is_given: false }
            }
        };
        if receipt::is_one(&bytes) {
            let tenant = self.tenant.map(|tenant| TenantId::new(tenant.0));
            return Ok(receipt::verify(&bytes, seal.as_ref(), &root, tenant.as_ref(), at));
        }
        let audience = match audience(&bytes) {
            Ok(audience) => audience,
            Err(cause) => return Ok(refused(&cause.into(), at)),
        };
        if let Some(missing) = self.expected.missing() {
            return Ok(Outcome::Usage(missing));
        }
        let (policy, now) = (self.policy(root, audience), at.unix_s);
        let verified = match &seal {
            None => trefoil_attest::verify(&bytes, &policy, now),
            Some(Given::Whole(seal)) => trefoil_attest::verify_with_seal(&bytes, seal, &policy, now),
            Some(Given::Pruned(seal)) => trefoil_attest::verify_with_pruned_seal(&bytes, seal, &policy, now),
        };
        Ok(match verified {
            Ok(verified) => match proof.map(|proof| proof.backs(&verified)).transpose() {
                Ok(_) => self.report(&verified, proof),
                Err(reason) => Outcome::Invalid(reason.into()),
            },
            Err(cause) => refused(&cause, at),
        })
    }

    /// The caller's requirements. If any audience will do, it is the attestation's `own`.
    fn policy(&self, root: TrustRoot, own: String) -> Policy {
        let audience = self.expected.audience().map_or(own, str::to_owned);
        let mut policy = Policy::new(root, audience, self.expected.nonce());
        if let Some(tenant) = self.tenant {
            policy = policy.tenant(TenantId::new(tenant.0));
        }
        if self.accept_no_proof {
            policy = policy.accept_no_proof();
        }
        if let Some(key) = self.expected.account_key() {
            policy = policy.account_key(key);
        }
        if self.any_decision { policy.any_decision() } else { policy }
    }

    fn report(&self, verified: &Verified<'_>, proof: Option<&Proof>) -> Outcome {
        let statement = verified.statement();
        let unchecked = self.expected.unchecked();
        let mut text = String::new();
        for check in verified.checks() {
            text += &format!("{} {check}\n", mark(true));
        }
        let rows = [
            ("decision", statement.decision.name().to_owned()),
            ("issuer", statement.issuer.to_owned()),
            ("tenant", hex::encode(statement.tenant)),
            ("audience", statement.audience.to_owned()),
            ("account", hex::encode(statement.account)),
            ("proof", statement.proof.map_or("none".to_owned(), |proof| format!("level {}", proof.level))),
            ("session", statement.proof.map_or("none".to_owned(), |proof| hex::encode(proof.session))),
            ("nonce", hex::encode(statement.nonce)),
            ("probe", statement.probe_mode.name().to_owned()),
            ("issued", time::format(statement.issued_at)),
            ("expires", time::format(statement.expires_at)),
            ("seal", verified.seal().seal_number.to_string()),
        ];
        for (name, value) in &rows {
            text += &format!("  {name:<9}{value}\n");
        }
        let device = verified.device();
        let by = device.map_or("none".to_owned(), |key| format!("signed, account key {key}"));
        text += &format!("  {:<9}{by}\n", "device");
        if let Some(Restoration { time, first }) = verified.seal().restored {
            text += &format!(
                "  restored the log of this service went on from a backup at {}, from seal {first} on\n",
                time::format(time)
            );
        }
        if statement.proof.is_none() {
            text += "  no credential proof: that the request was this person's is the word of the tenant's application alone\n";
        }
        text += "  keep the account: it is the same at every login of this person here; session and nonce are not\n";
        if let Some(unpinned) = self.expected.unpinned(device) {
            text += &format!("  {unpinned}\n");
        }
        if !unchecked.is_empty() {
            text += &format!("  not checked: {}; a relying party must check them\n", unchecked.join(", "));
        }
        let checks: Vec<Value> = verified
            .checks()
            .iter()
            .map(|check| json!({"family": check.family.to_string(), "key_set_id": hex::encode(check.key_set_id)}))
            .collect();
        let statement: serde_json::Map<String, Value> =
            rows.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
        let mut json =
            json!({"valid": true, "checks": checks, "statement": statement, "not_checked": unchecked});
        json["device"] = device.map_or(
            Value::Null,
            |key| json!({"account_key": key.to_string(), "pinned": self.expected.account_key().is_some()}),
        );
        if let Some(Restoration { time, first }) = verified.seal().restored {
            json["restored"] = json!({"time": time::format(time), "first_seal": first});
        }
        if let Some(proof) = proof {
            let lines = proof.lines();
            text += &lines.text;
            json["proof"] = Value::Object(lines.json);
        }
        Outcome::Valid { text, json }
    }
}

/// The trust root in a file.
pub(super) fn read_trust_root(path: &Path) -> Result<TrustRoot, String> {
    let bytes = read(path, TRUST_ROOT_JSON_BYTES_MAX as u64)?;
    TrustRoot::from_file(&bytes).map_err(|cause| named(path, &other::instead(TRUST_ROOT, &bytes, &cause)))
}

/// The audience in an attestation, verified or not.
fn audience(bytes: &[u8]) -> Result<String, DecodeError> {
    Ok(Statement::decode(Attestation::decode(bytes)?.statement)?.audience.to_owned())
}

/// The common part of answers to changes.
#[derive(serde::Deserialize)]
struct Changed {
    receipt: Receipt,
}

/// The attestation inside a file that is not known to be something else. The verifier refuses an unknown form.
pub(super) fn attestation_bytes(path: &Path, file: &[u8]) -> Result<Vec<u8>, String> {
    let bytes = attestation_in(path, file)?;
    match Attestation::decode(&bytes).is_err().then(|| other::recognised(file)).flatten() {
        Some(what) => Err(named(path, &format_args!("this is {what}; {ATTESTATION}"))),
        None => Ok(bytes),
    }
}

fn attestation_in(path: &Path, file: &[u8]) -> Result<Vec<u8>, String> {
    if let Ok(Authenticated { attestation, .. }) = serde_json::from_slice(file) {
        let none = || named(path, &"the answer has no attestation, because its request asked for none");
        return attestation.map(|attestation| attestation.0).ok_or_else(none);
    }
    if let Ok(Changed { receipt }) = serde_json::from_slice(file) {
        return Ok(receipt.attestation.0);
    }
    if let Ok(Receipt { attestation, .. }) = serde_json::from_slice(file) {
        return Ok(attestation.0);
    }
    let unwrapped: Vec<u8> = file.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Ok(BASE64.decode(unwrapped).unwrap_or_else(|_| file.to_vec()))
}
