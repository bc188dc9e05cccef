//! Receipts of changes, as Python values.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trefoil_attest as attest;
use trefoil_attest::What;

use crate::time::Now;
use crate::{Seal, TrustRoot, refused};

/// What a service changed for a tenant. A field that its `kind` does not have is `None`.
#[pyclass(frozen, get_all, module = "trefoil_attest")]
#[derive(Default)]
pub(crate) struct Change {
    kind: &'static str,
    issuer: String,
    tenant: Option<Py<PyBytes>>,
    changed_at: u64,
    salt: Option<Py<PyBytes>>,
    handle: Option<Py<PyBytes>>,
    generation: Option<u32>,
    replaced: Option<u32>,
    consent: Option<Py<PyBytes>>,
    generation_min: Option<u32>,
    root: Option<Py<PyBytes>>,
    head: Option<Py<PyBytes>>,
    policy_id: Option<u32>,
    policy_version: Option<u32>,
    policy_digest: Option<Py<PyBytes>>,
    session: Option<Py<PyBytes>>,
    expires_at: Option<u64>,
    api_key: Option<Py<PyBytes>>,
    scopes: Option<u8>,
    issuer_key: Option<Py<PyBytes>>,
    epoch: Option<u32>,
    operator: Option<Py<PyBytes>>,
    role: Option<u8>,
    token: Option<u32>,
    action: Option<&'static str>,
    templates: Option<u64>,
    by_operator: Option<Py<PyBytes>>,
    by_name: Option<String>,
}

impl Change {
    fn of(py: Python<'_>, change: &attest::Change<'_>) -> PyResult<Self> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
        let attest::Change { issuer, tenant, changed_at, salt, what, by, .. } = *change;
        let common = Self {
            kind: what.name(),
            issuer: issuer.to_owned(),
            tenant: Some(bytes(tenant.as_bytes())),
            changed_at,
            salt: Some(bytes(&salt)),
            by_operator: by.map(|by| bytes(by.operator.as_bytes())),
            by_name: by.map(|by| by.name.to_owned()),
            ..Self::default()
        };
        // With the fields of its kind.
        macro_rules! with {
            ($($field:ident: $value:expr),+) => { Self { $($field: Some($value),)+ ..common } };
        }
        Ok(match what {
            What::Enrolled { handle, generation, consent } => {
                with!(handle: bytes(handle.as_bytes()), generation: generation, consent: bytes(&consent))
            }
            What::Erased { handle, generation } | What::Revoked { handle, generation } => {
                with!(handle: bytes(handle.as_bytes()), generation: generation)
            }
            What::Replaced { handle: of, generation: new, replaced: old, consent } => {
                with!(handle: bytes(of.as_bytes()), generation: new, replaced: old, consent: bytes(&consent))
            }
            What::RootPublished { generation, generation_min: min, root, head } => {
                with!(generation: generation, generation_min: min, root: bytes(&root), head: bytes(&head))
            }
            What::PolicyChanged { id, version, digest } => {
                with!(policy_id: id, policy_version: version, policy_digest: bytes(&digest))
            }
            What::SessionOpened { session, expires_at } => {
                with!(session: bytes(session.as_bytes()), expires_at: expires_at)
            }
            What::SessionEnded { session } => with!(session: bytes(session.as_bytes())),
            What::TenantCreated { digest } => with!(policy_digest: bytes(&digest)),
            What::TenantDisabled | What::TenantEnabled | What::MalformedReset | What::AttemptsReset => common,
            What::ApiKeyCreated { key, scopes } => with!(api_key: bytes(key.as_bytes()), scopes: scopes),
            What::ApiKeyRevoked { key } => with!(api_key: bytes(key.as_bytes())),
            What::IssuerKeyRegistered { key } => with!(issuer_key: bytes(key.as_bytes())),
            What::KeyRotationBegun { epoch } | What::KeyRotationEnded { epoch } => with!(epoch: epoch),
            What::OperatorCreated { operator, role } => {
                with!(operator: bytes(operator.as_bytes()), role: role)
            }
            What::OperatorRevoked { operator } => with!(operator: bytes(operator.as_bytes())),
            What::OperatorTokenCreated { operator, token }
            | What::OperatorTokenRevoked { operator, token } => {
                with!(operator: bytes(operator.as_bytes()), token: token)
            }
            What::TenantDeleted { templates } => with!(templates: templates),
            What::Refused { action } => with!(action: action.name()),
            other => {
                let detail = format!("{} is a kind that this package does not show; update it", other.name());
                return Err(PyValueError::new_err(detail));
            }
        })
    }
}

/// A receipt for which every check passed. Only the verifying functions make one.
#[pyclass(frozen, get_all, module = "trefoil_attest")]
pub(crate) struct VerifiedChange {
    change: Py<Change>,
    digest: Py<PyBytes>,
    leaf_index: u64,
    seal_number: u64,
    sealed_at: u64,
}

#[pymethods]
impl VerifiedChange {
    fn __repr__(&self, py: Python<'_>) -> String {
        let change = self.change.get();
        let tenant = change.tenant.as_ref().map_or_else(String::new, |bytes| hex::encode(bytes.as_bytes(py)));
        let Change { kind, issuer, changed_at, .. } = change;
        let seal = self.seal_number;
        format!("<VerifiedChange {kind}: tenant {tenant}, by {issuer:?}, done {changed_at}, seal {seal}>")
    }
}

impl VerifiedChange {
    fn of(py: Python<'_>, verified: &attest::VerifiedChange<'_>) -> PyResult<Self> {
        Ok(Self {
            change: Py::new(py, Change::of(py, verified.change())?)?,
            digest: PyBytes::new(py, verified.digest()).unbind(),
            leaf_index: verified.leaf_index(),
            seal_number: verified.seal().seal_number,
            sealed_at: verified.seal().time,
        })
    }
}

fn named(tenant: Option<&[u8]>) -> PyResult<Option<attest::TenantId>> {
    let of_bytes = |tenant: &[u8]| tenant.try_into().map(attest::TenantId::new);
    tenant.map(of_bytes).transpose().map_err(|_| PyValueError::new_err("tenant must be 16 bytes, or None"))
}

/// Verifies a full receipt about `tenant`, or about any, at `now` (Unix seconds); raises `VerifyError`. What else it must say is the
/// caller's to compare.
#[pyfunction]
pub(crate) fn verify_change(
    py: Python<'_>,
    receipt: &[u8],
    trust_root: &TrustRoot,
    tenant: Option<&[u8]>,
    now: Now,
) -> PyResult<VerifiedChange> {
    let verified = attest::verify_change(receipt, &trust_root.0, named(tenant)?.as_ref(), now.0);
    VerifiedChange::of(py, &verified.map_err(|cause| refused(py, &cause))?)
}

/// Verifies a compact receipt with the seal that it names; raises `VerifyError`.
#[pyfunction]
pub(crate) fn verify_change_with_seal(
    py: Python<'_>,
    receipt: &[u8],
    seal: &Seal,
    trust_root: &TrustRoot,
    tenant: Option<&[u8]>,
    now: Now,
) -> PyResult<VerifiedChange> {
    let verified =
        attest::verify_change_with_seal(receipt, &seal.0, &trust_root.0, named(tenant)?.as_ref(), now.0);
    VerifiedChange::of(py, &verified.map_err(|cause| refused(py, &cause))?)
}

/// What a receipt calls a reference to a consent by.
#[pyfunction]
pub(crate) fn consent_digest<'py>(py: Python<'py>, reference: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &attest::consent_digest(reference))
}
