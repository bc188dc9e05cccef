//! The log of seals: heads and seals that a client has seen.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySequence};
use trefoil_attest as attest;
use trefoil_attest::tree::Hash;

use crate::{LogError, Seal, with_code};

/// Longest proof between sizes of 64 bits: a node for each level, and the one that a consistency proof begins with.
const PROOF_MAX: usize = 65;

/// Whether the head `size`, `root` of a log extends the head `old_size`, `old_root`. Nodes have 32 bytes each; a proof with
/// any others connects nothing.
#[pyfunction]
pub(crate) fn verify_consistency(
    old_size: u64,
    old_root: &[u8],
    size: u64,
    root: &[u8],
    proof: &Bound<'_, PySequence>,
) -> PyResult<bool> {
    let Some(proof) = nodes(proof)? else { return Ok(false) };
    let (Ok(old_root), Ok(root)) = (old_root.try_into(), root.try_into()) else { return Ok(false) };
    Ok(attest::tree::verify_consistency(old_size, old_root, size, root, &proof))
}

/// Checks that two seals, in any order, are of one log; raises `LogError`.
#[pyfunction]
#[pyo3(signature = (one, other, *, consistency, inclusion))]
pub(crate) fn verify_same_log(
    py: Python<'_>,
    one: &Seal,
    other: &Seal,
    consistency: &Bound<'_, PySequence>,
    inclusion: &Bound<'_, PySequence>,
) -> PyResult<()> {
    // What is no proof proves nothing, like a node too many.
    let proof = |given| Ok::<_, PyErr>(nodes(given)?.unwrap_or_else(|| vec![[0; 32]; PROOF_MAX + 1]));
    let (consistency, inclusion) = (proof(consistency)?, proof(inclusion)?);
    let checked = attest::verify_same_log(&one.0.header, &other.0.header, &consistency, &inclusion);
    checked.map_err(|cause| with_code(py, LogError::new_err(cause.to_string()), cause.code()))
}

/// A proof of `bytes`, or of the hexadecimal digits in an answer of the service; none where it is longer than any, or has
/// something else than nodes in it.
fn nodes(proof: &Bound<'_, PySequence>) -> PyResult<Option<Vec<Hash>>> {
    if proof.len()? > PROOF_MAX {
        return Ok(None);
    }
    proof.try_iter()?.map(|node| node_of(&node?)).collect()
}

fn node_of(node: &Bound<'_, PyAny>) -> PyResult<Option<Hash>> {
    let Ok(digits) = node.extract::<String>() else {
        return Ok(node.cast::<PyBytes>()?.as_bytes().try_into().ok());
    };
    let lower = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    Ok(hex::decode(digits).ok().filter(|_| lower).and_then(|node| node.try_into().ok()))
}
