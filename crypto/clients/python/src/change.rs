//! Receipts of changes, as Python values.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trefoil_attest as attest;
use trefoil_attest::What;

use crate::time::Now;
use crate::{TrustRoot, refused};

/// What a service changed for a tenant. A field that its `kind` does not have is `None`. Of a change by an operator only what every change
/// has is shown; `trefoil verify` prints the rest.
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
    session: Option<Py<PyBytes>>,
}

impl Change {
    fn of(py: Python<'_>, change: &attest::Change<'_>) -> Self {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
        let attest::Change { issuer, tenant, changed_at, salt, what, .. } = *change;
        let common = Self {
            kind: what.name(),
            issuer: issuer.to_owned(),
            tenant: Some(bytes(tenant.as_bytes())),
            changed_at,
            salt: Some(bytes(&salt)),
            ..Self::default()
        };
        // With the fields of its kind.
        macro_rules! with {
            ($($field:ident: $value:expr),+) => { Self { $($field: Some($value),)+ ..common } };
        }
        match what {
            What::Enrolled { handle, generation, consent } => {
                with!(handle: bytes(handle.as_bytes()), generation: generation, consent: bytes(&consent))
            }
            What::Erased { handle, generation } | What::Revoked { handle, generation } => {
                with!(handle: bytes(handle.as_bytes()), generation: generation)
            }
            What::Replaced { handle: of, generation: new, replaced: old, consent } => {
                with!(handle: bytes(of.as_bytes()), generation: new, replaced: old, consent: bytes(&consent))
            }
            What::SessionEnded { session } => with!(session: bytes(session.as_bytes())),
            _ => common,
        }
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
            change: Py::new(py, Change::of(py, verified.change()))?,
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

/// What a receipt calls a reference to a consent by.
#[pyfunction]
pub(crate) fn consent_digest<'py>(py: Python<'py>, reference: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &attest::consent_digest(reference))
}
