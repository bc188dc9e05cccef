//! What was verified, as Python values.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trefoil_attest as attest;

use crate::undecodable;

/// What was attested.
#[pyclass(frozen, get_all, module = "trefoil_attest")]
pub(crate) struct Statement {
    issuer: String,
    tenant: Py<PyBytes>,
    audience: String,
    account: Py<PyBytes>,
    nonce: Py<PyBytes>,
    request_digest: Py<PyBytes>,
    decision: &'static str,
    probe_mode: &'static str,
    policy_id: u32,
    policy_version: u32,
    fmr_class: u8,
    embedder: String,
    quantiser: String,
    template_generation: u32,
    proof_level: Option<u8>,
    session: Option<Py<PyBytes>>,
    batch_id: Py<PyBytes>,
    place: u8,
    issued_at: u64,
    expires_at: u64,
}

/// An attestation for which every check passed. Only the verifying functions make one.
#[pyclass(frozen, module = "trefoil_attest")]
pub(crate) struct Verified {
    #[pyo3(get)]
    statement: Py<Statement>,
    #[pyo3(get)]
    statement_digest: Py<PyBytes>,
    #[pyo3(get)]
    account_key: Option<Py<PyBytes>>,
    #[pyo3(get)]
    leaf_index: u64,
    #[pyo3(get)]
    seal_number: u64,
    #[pyo3(get)]
    sealed_at: u64,
    #[pyo3(get)]
    key_set_id: Py<PyBytes>,
    #[pyo3(get)]
    families: Vec<&'static str>,
    encoded: Vec<u8>,
    shown: String,
}

#[pymethods]
impl Verified {
    /// What was verified, without the nonce and the digests of this one login.
    fn __repr__(&self) -> &str {
        &self.shown
    }
}

impl Verified {
    pub(crate) fn of(py: Python<'_>, verified: &attest::Verified<'_>) -> PyResult<Self> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
        let found = verified.statement();
        let statement = Statement {
            issuer: found.issuer.to_owned(),
            tenant: bytes(found.tenant.as_bytes()),
            audience: found.audience.to_owned(),
            account: bytes(found.account.as_bytes()),
            nonce: bytes(found.nonce),
            request_digest: bytes(&found.request_digest),
            decision: found.decision.name(),
            probe_mode: found.probe_mode.name(),
            policy_id: found.policy_id,
            policy_version: found.policy_version,
            fmr_class: found.fmr_class,
            embedder: found.embedder.to_owned(),
            quantiser: found.quantiser.to_owned(),
            template_generation: found.template_generation,
            proof_level: found.proof.map(|proof| proof.level),
            session: found.proof.map(|proof| bytes(proof.session.as_bytes())),
            batch_id: bytes(found.batch_id.as_bytes()),
            place: found.place,
            issued_at: found.issued_at,
            expires_at: found.expires_at,
        };
        Ok(Self {
            statement: Py::new(py, statement)?,
            statement_digest: bytes(verified.statement_digest()),
            account_key: verified.device().map(|key| bytes(key.as_bytes())),
            leaf_index: verified.leaf_index(),
            seal_number: verified.seal().seal_number,
            sealed_at: verified.seal().time,
            key_set_id: bytes(verified.seal().key_set_id.as_bytes()),
            families: verified.checks().iter().map(|check| check.family.id()).collect(),
            shown: shown(verified),
            encoded: found.encode().map_err(|cause| undecodable(&cause))?,
        })
    }
}

fn shown(verified: &attest::Verified<'_>) -> String {
    let (found, seal) = (verified.statement(), verified.seal());
    let families: Vec<_> = verified.checks().iter().map(|check| check.family.id()).collect();
    format!(
        "<Verified {}{}: account {} for {:?}, by {:?}, issued {}, expires {}, seal {}, signed by {}>",
        found.decision.name(),
        if found.proof.is_none() { " without a credential proof" } else { "" },
        hex::encode(found.account),
        found.audience,
        found.issuer,
        found.issued_at,
        found.expires_at,
        seal.seal_number,
        families.join(", ")
    )
}

/// How two attestations, in any order, are related: whether they contradict each other.
#[pyfunction]
pub(crate) fn compare(one: &Verified, other: &Verified) -> PyResult<&'static str> {
    let statement = |encoded| attest::Statement::decode(encoded).map_err(|cause| undecodable(&cause));
    Ok(attest::compare_statements(&statement(&one.encoded)?, &statement(&other.encoded)?).code())
}
