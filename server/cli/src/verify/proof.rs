//! `trefoil verify --proof`: a stored proof, alone or with the attestation that it must back.

use super::outcome::{Outcome, mark, named, read};
use serde_json::{Map, Value, json};
use std::path::Path;
use trefoil_attest::Verified;
use trefoil_zkp::record::ProofRecord;

/// A stored proof that was verified.
pub(super) struct Proof {
    record: ProofRecord,
}

/// Requirements for a proof besides its validity.
pub(super) struct Lines {
    pub(super) text: String,
    pub(super) json: Map<String, Value>,
}

impl Proof {
    /// Reads and verifies a record. The inner error says why it is invalid, the outer why no result is possible.
    pub(super) fn check(path: &Path) -> Result<Result<Proof, String>, String> {
        let bytes_max = trefoil_zkp::Circuit::ALL.map(|circuit| *ProofRecord::size_window(circuit).end());
        let bytes = read(path, bytes_max.into_iter().max().unwrap_or(0) as u64)?;
        let record = match ProofRecord::decode(&bytes) {
            Ok(record) => record,
            Err(cause) => return Ok(Err(named(path, &cause))),
        };
        Ok(match record.verify() {
            Ok(_) => Ok(Proof { record }),
            Err(cause) => Err(named(path, &cause)),
        })
    }

    /// Whether it backs this attestation.
    pub(super) fn backs(&self, attested: &Verified<'_>) -> Result<(), String> {
        self.record.backs(attested.statement(), attested.device()).map_err(|cause| cause.to_string())
    }

    /// The outcome of a proof alone.
    pub(super) fn outcome(&self) -> Outcome {
        let Lines { text, json } = self.lines();
        Outcome::Valid { text, json: json!({"valid": true, "proof": json}) }
    }

    /// The proven statement.
    pub(super) fn lines(&self) -> Lines {
        let ProofRecord { statement, audience, account_key, policy_id, .. } = &self.record;
        let rows = [
            ("circuit", statement.circuit.name().to_owned()),
            ("tenant", hex::encode(statement.tenant)),
            ("audience", audience.clone()),
            ("handle", hex::encode(statement.handle.as_bytes())),
            ("account", hex::encode(statement.account.as_bytes())),
            ("account_key", account_key.to_string()),
            ("level", statement.level.to_string()),
            ("epoch", statement.epoch.to_string()),
            ("policy", policy_id.to_string()),
            ("root", hex::encode(statement.root.as_bytes())),
            ("root_generation", statement.root_generation.to_string()),
            ("session", hex::encode(statement.digest())),
        ];
        let mut text = format!("{} credential proof {}\n", mark(true), statement.circuit.name());
        for (name, value) in &rows[1..] {
            text += &format!("  {name:<17}{value}\n");
        }
        // The proof is about a root. The tenant's root log shows whether it was the tenant's.
        text += "  not checked: that the root was the tenant's; compare it with the tenant's root log\n";
        let json = rows.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
        Lines { text, json }
    }
}
