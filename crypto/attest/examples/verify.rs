//! Verifies the attestation of a login, as a relying party does: offline, with the trust root that it pinned.
//!
//! ```text
//! cargo run -p trefoil-attest --example verify -- crypto/attest/testdata/full.cbor crypto/attest/testdata/trust-root.json \
//!     https://shop.example 0303030303030303030303030303030303030303030303030303030303030303 1800000010
//! ```
//!
//! The last argument is the time, in unix seconds; without it, now. It prints who logged in, or says why the attestation must not be accepted.

use std::error::Error;
use std::time::UNIX_EPOCH;
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, verify};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [attestation, trust_root, audience, nonce, time @ ..] = arguments.as_slice() else {
        return Err("usage: verify ATTESTATION TRUST_ROOT AUDIENCE NONCE [TIME]".into());
    };
    let now = match time.first() {
        Some(time) => time.parse()?,
        None => UNIX_EPOCH.elapsed()?.as_secs(),
    };
    let attestation = std::fs::read(attestation)?;
    let trust_root = TrustRoot::from_json(&std::fs::read_to_string(trust_root)?)?;
    // The nonce is the one that you sent with this login. It answers: for you, for this login, now, and the decision is a match.
    let policy = Policy::new(trust_root, audience, ExpectedNonce::Exactly(hex::decode(nonce)?));
    let verified = verify(&attestation, &policy, now)?;
    let statement = verified.statement();
    println!("account   {}", hex::encode(statement.account));
    println!("tenant    {}", hex::encode(statement.tenant));
    println!("seal      {}", verified.seal().seal_number);
    println!("decision  match, at most one false match in 10^{}", statement.fmr_class);
    Ok(())
}
