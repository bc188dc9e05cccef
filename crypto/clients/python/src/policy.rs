//! What a relying party requires.

use crate::TrustRoot;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trefoil_attest as attest;
use trefoil_attest::{CLOCK_SKEW_SECONDS_MAX, ExpectedNonce, NONCE_BYTES_MAX, NONCE_BYTES_MIN, ProbeMode};
use trefoil_types::{Account, AccountKeyId, TenantId};

/// In place of a nonce, for auditors of stored attestations.
pub(crate) const DANGEROUS_ANY_NONCE: &str = "dangerous: any nonce";

/// The requirements. All of them must hold.
#[pyclass(frozen, module = "trefoil_attest")]
pub(crate) struct Policy(attest::Policy);

impl Policy {
    pub(crate) fn inner(&self) -> &attest::Policy {
        &self.0
    }
}

#[pymethods]
impl Policy {
    /// Requires the root's issuer, this audience and nonce, a decision of `match` unless `decision` is "any", and a credential proof
    /// unless `accept_no_proof` is true.
    #[new]
    #[pyo3(signature = (trust_root, audience, nonce, *, tenant=None, account=None, account_key=None, request_digest=None,
        decision="match", probe_mode=None, proof_level=None, accept_no_proof=false, policy_version=None, fmr_class=0,
        clock_skew=10))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        trust_root: &TrustRoot,
        audience: &str,
        nonce: &Bound<'_, PyAny>,
        tenant: Option<&[u8]>,
        account: Option<&[u8]>,
        account_key: Option<&[u8]>,
        request_digest: Option<&[u8]>,
        decision: &str,
        probe_mode: Option<&str>,
        proof_level: Option<u8>,
        accept_no_proof: bool,
        policy_version: Option<(u32, u32)>,
        fmr_class: u8,
        clock_skew: u64,
    ) -> PyResult<Self> {
        let mut policy = attest::Policy::new(trust_root.0.clone(), audience, read_nonce(nonce)?);
        if let Some(bytes) = tenant {
            policy = policy.tenant(TenantId::new(fixed(bytes, "tenant")?));
        }
        if let Some(bytes) = account {
            policy = policy.account(Account::new(fixed(bytes, "account")?));
        }
        if let Some(bytes) = account_key {
            policy = policy.account_key(AccountKeyId::new(fixed(bytes, "account_key")?));
        }
        if let Some(bytes) = request_digest {
            policy = policy.request_digest(fixed(bytes, "request_digest")?);
        }
        match decision {
            "match" => {}
            "any" => policy = policy.any_decision(),
            _ => return Err(PyValueError::new_err("decision is \"match\" or \"any\"")),
        }
        match probe_mode {
            None => {}
            Some("plain") => policy = policy.probe_mode(ProbeMode::Plain),
            Some("shared") => policy = policy.probe_mode(ProbeMode::Shared),
            Some(_) => return Err(PyValueError::new_err("probe_mode is \"plain\" or \"shared\"")),
        }
        match (proof_level, accept_no_proof) {
            (None, false) => {}
            (Some(level), false) => policy = policy.proof_level(level),
            (None, true) => policy = policy.accept_no_proof(),
            (Some(_), true) => {
                let contradiction =
                    "proof_level requires a proof and accept_no_proof none; leave one of them out";
                return Err(PyValueError::new_err(contradiction));
            }
        }
        if let Some((id, version)) = policy_version {
            policy = policy.policy_version(id, version);
        }
        if clock_skew > CLOCK_SKEW_SECONDS_MAX {
            return Err(PyValueError::new_err(format!("clock_skew is at most {CLOCK_SKEW_SECONDS_MAX} s")));
        }
        Ok(Self(policy.fmr_class(fmr_class).clock_skew(clock_skew)))
    }
}

fn read_nonce(nonce: &Bound<'_, PyAny>) -> PyResult<ExpectedNonce> {
    if nonce.extract::<&str>().is_ok_and(|text| text == DANGEROUS_ANY_NONCE) {
        return Ok(ExpectedNonce::DangerousAny);
    }
    let bytes = nonce
        .extract::<&[u8]>()
        .map_err(|_| PyTypeError::new_err("nonce must be the bytes that you issued for this login"))?;
    match (NONCE_BYTES_MIN..=NONCE_BYTES_MAX).contains(&bytes.len()) {
        true => Ok(ExpectedNonce::Exactly(bytes.to_vec())),
        false => Err(PyValueError::new_err("nonce has 16 to 64 bytes")),
    }
}

pub(crate) fn fixed<const N: usize>(bytes: &[u8], name: &str) -> PyResult<[u8; N]> {
    bytes.try_into().map_err(|_| PyValueError::new_err(format!("{name} has {N} bytes")))
}
