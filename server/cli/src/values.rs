//! Parsers of command-line values.

use trefoil_api::{Hex, Nonce, ProofNeed};
use trefoil_zkp::{Digest, expiry_of};

pub(super) fn tenant(text: &str) -> Result<Hex<16>, String> {
    Hex::parse(text).ok_or_else(|| "expected 32 hexadecimal digits".to_owned())
}

/// The address of a service. Errors show it.
pub(super) fn address(text: &str) -> Result<String, String> {
    match text.contains('@') {
        true => Err("an address has no user and no password; credentials come from files".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(super) fn nonce(text: &str) -> Result<Nonce, String> {
    let bytes = hex::decode(text).ok().and_then(Nonce::new);
    bytes.ok_or_else(|| "expected 32 to 128 hexadecimal digits".to_owned())
}

/// Reads a commitment or root.
pub(super) fn digest(text: &str) -> Result<Digest, String> {
    let bytes = Hex::<32>::parse(text).ok_or("expected 64 hexadecimal digits")?;
    Digest::from_bytes(&bytes.0).map_err(|cause| cause.to_string())
}

/// The expiry of a credential that ends at `expires`, rounded down to the hour.
pub(super) fn expiry(expires: u64) -> Result<u32, String> {
    expiry_of(expires).ok_or_else(|| "a credential ends between 1970 and 3883".to_owned())
}

/// Whether logins need a credential proof.
pub(super) fn proof_need(text: &str) -> Result<ProofNeed, String> {
    match text {
        "credential" => Ok(ProofNeed::Credential),
        "none" => Ok(ProofNeed::None),
        _ => Err("expected credential or none".to_owned()),
    }
}
