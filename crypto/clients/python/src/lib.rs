//! Python bindings of `trefoil-attest`: types and errors, no logic of verification. Bytes are copied on the way in, and
//! requirements that are malformed are refused when the policy is made.

mod change;
mod log;
mod policy;
mod time;
mod verified;

use policy::Policy;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use time::Now;
use trefoil_attest as attest;
use trefoil_types::{Account, AccountKeyId};
use verified::{Statement, Verified};

create_exception!(
    trefoil_attest,
    DecodeError,
    PyValueError,
    "Bytes that are not the one encoding of their kind."
);
create_exception!(trefoil_attest, JsonError, PyValueError, "A text that is no trust root.");
create_exception!(
    trefoil_attest,
    LogError,
    PyException,
    "Two seals that are not shown to be of one log: `code`."
);
create_exception!(
    trefoil_attest,
    UpdateError,
    PyException,
    "A trust root that is not the next version: `code`."
);
create_exception!(
    trefoil_attest,
    VerifyError,
    PyException,
    "An attestation that was refused: `code`, `seal`."
);

/// An issuer and its key sets, in a version.
#[pyclass(frozen, module = "trefoil_attest")]
struct TrustRoot(attest::TrustRoot);

#[pymethods]
impl TrustRoot {
    /// Reads the text form, the file that the issuer publishes.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let refused = |cause: attest::json::JsonError| JsonError::new_err(cause.to_string());
        attest::TrustRoot::from_json(text).map(Self).map_err(refused)
    }

    /// Reads the binary form.
    #[staticmethod]
    fn decode(data: &[u8]) -> PyResult<Self> {
        attest::TrustRoot::decode(data).map(Self).map_err(|cause| undecodable(&cause))
    }

    /// The text form.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Checks that `next` is the next version of this one; raises `UpdateError`. The caller then pins `next`.
    fn accept(&self, py: Python<'_>, next: &Self) -> PyResult<()> {
        self.0.accept(&next.0).map_err(|cause| {
            let error = UpdateError::new_err(cause.to_string());
            with_code(py, error, cause.code())
        })
    }

    /// The issuer whose seals this root vouches for.
    #[getter]
    fn issuer(&self) -> &str {
        self.0.issuer()
    }

    /// Position in the issuer's chain of trust roots, from 1.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version()
    }
}

/// Generation, restorations, and the lines and digest of the job log.
type Vault<'py> = (u64, u64, Option<(u64, Bound<'py, PyBytes>)>);

/// A seal: well formed, not verified.
#[pyclass(frozen, module = "trefoil_attest")]
struct Seal(attest::Seal);

#[pymethods]
impl Seal {
    /// Decodes a seal, such as the issuer's /v1/seals/{number} gives.
    #[staticmethod]
    fn decode(data: &[u8]) -> PyResult<Self> {
        attest::Seal::decode(data).map(Self).map_err(|cause| undecodable(&cause))
    }

    /// Position in the issuer's chain of seals.
    #[getter]
    fn seal_number(&self) -> u64 {
        self.0.header.seal_number
    }

    /// Root of the log that it signs: of the `seal_number` seals before it.
    #[getter]
    fn log_root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.header.log_root)
    }

    /// The state of each key-holder's vault as the service saw it last, in the order of the seats: its generation, how
    /// often an older copy was taken for it, and the lines and digest of its job log, or `None`; `None` where the service never saw it.
    #[getter]
    fn vaults<'py>(&self, py: Python<'py>) -> Vec<Option<Vault<'py>>> {
        let head = |head: attest::JobsHead| (head.lines, PyBytes::new(py, &head.digest));
        let state = |state: attest::VaultState| (state.generation, state.restored, state.jobs.map(head));
        self.0.header.vaults.iter().map(|vault| vault.map(state)).collect()
    }

    /// Time of signing, Unix seconds.
    #[getter]
    fn time(&self) -> u64 {
        self.0.header.time
    }

    /// What a compact attestation and the next seal call this one by.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.header.digest())
    }
}

/// Verifies a succession of the account and key that are kept, and returns those to keep instead; raises `VerifyError`.
#[pyfunction]
fn verify_succession<'py>(
    py: Python<'py>,
    succession: &[u8],
    account: &[u8],
    account_key: &[u8],
) -> PyResult<[Bound<'py, PyBytes>; 2]> {
    let account = Account::new(policy::fixed(account, "account")?);
    let key = AccountKeyId::new(policy::fixed(account_key, "account_key")?);
    let (account, key) =
        attest::verify_succession(succession, account, key).map_err(|cause| refused(py, &cause))?;
    Ok([PyBytes::new(py, account.as_bytes()), PyBytes::new(py, key.as_bytes())])
}

/// Verifies a full attestation against `policy` at `now` (Unix seconds); raises `VerifyError`.
#[pyfunction]
fn verify(py: Python<'_>, attestation: &[u8], policy: &Policy, now: Now) -> PyResult<Verified> {
    let verified = attest::verify(attestation, policy.inner(), now.0);
    Verified::of(py, &verified.map_err(|cause| refused(py, &cause))?)
}

/// Verifies a compact attestation with the seal that it names; raises `VerifyError`.
#[pyfunction]
fn verify_with_seal(
    py: Python<'_>,
    attestation: &[u8],
    seal: &Seal,
    policy: &Policy,
    now: Now,
) -> PyResult<Verified> {
    let verified = attest::verify_with_seal(attestation, &seal.0, policy.inner(), now.0);
    Verified::of(py, &verified.map_err(|cause| refused(py, &cause))?)
}

/// Verifies the three signatures of a seal by itself; raises `VerifyError`.
#[pyfunction]
fn verify_seal(py: Python<'_>, seal: &Seal, trust_root: &TrustRoot) -> PyResult<()> {
    attest::verify_seal(&seal.0, &trust_root.0).map_err(|cause| refused(py, &cause))
}

fn undecodable(cause: &impl std::fmt::Display) -> PyErr {
    DecodeError::new_err(cause.to_string())
}

fn refused(py: Python<'_>, cause: &attest::VerifyError) -> PyErr {
    let error = with_code(py, VerifyError::new_err(cause.to_string()), cause.code());
    let seal = match cause {
        attest::VerifyError::SealNeeded(seal) | attest::VerifyError::OtherSeal(seal) => {
            Some((seal.seal_number, PyBytes::new(py, &seal.digest)))
        }
        _ => None,
    };
    match error.value(py).setattr("seal", seal) {
        Ok(()) => error,
        Err(other) => other,
    }
}

fn with_code(py: Python<'_>, error: PyErr, code: &str) -> PyErr {
    match error.value(py).setattr("code", code) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// The module behind the package `trefoil_attest`.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DANGEROUS_ANY_NONCE", policy::DANGEROUS_ANY_NONCE)?;
    module.add("DecodeError", py.get_type::<DecodeError>())?;
    module.add("JsonError", py.get_type::<JsonError>())?;
    module.add("LogError", py.get_type::<LogError>())?;
    module.add("UpdateError", py.get_type::<UpdateError>())?;
    module.add("VerifyError", py.get_type::<VerifyError>())?;
    module.add_class::<TrustRoot>()?;
    module.add_class::<Seal>()?;
    module.add_class::<Policy>()?;
    module.add_class::<Statement>()?;
    module.add_class::<Verified>()?;
    module.add_class::<change::Change>()?;
    module.add_class::<change::VerifiedChange>()?;
    module.add_function(wrap_pyfunction!(change::consent_digest, module)?)?;
    module.add_function(wrap_pyfunction!(change::verify_change, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(verify_with_seal, module)?)?;
    module.add_function(wrap_pyfunction!(verify_seal, module)?)?;
    module.add_function(wrap_pyfunction!(verify_succession, module)?)?;
    module.add_function(wrap_pyfunction!(verified::compare, module)?)?;
    module.add_function(wrap_pyfunction!(log::verify_consistency, module)?)?;
    module.add_function(wrap_pyfunction!(log::verify_same_log, module)?)
}
