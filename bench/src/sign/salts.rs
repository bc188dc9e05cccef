//! Whether Falcon ever draws a salt twice. Two signatures of different messages under one salt reveal the key.

use std::collections::HashSet;

use serde_json::json;
use trefoil_sign::{Falcon512, SignatureFamily as _};

use super::cpu_us;
use crate::distribution::rounded;
use crate::{Failure, Report};

/// Bytes of a salt, which follows the first byte of a signature.
const SALT_BYTES: usize = 40;

pub(super) fn measure(signatures: usize) -> Result<Report, Failure> {
    let mut rng = rand::rng();
    let mut key = Falcon512::generate(&mut rng).map_err(Failure::in_step("Falcon key"))?;
    let mut salts = HashSet::with_capacity(signatures);
    let (us, outcome) = cpu_us(|| {
        for _ in 0..signatures {
            let signature = key.sign(b"always the same message", &mut rng)?;
            salts.insert(signature[1..].first_chunk::<SALT_BYTES>().copied());
        }
        Ok::<_, trefoil_sign::SignError>(())
    });
    outcome.map_err(Failure::in_step("signing"))?;
    let repeated = signatures - salts.len();
    let result = json!({
        "signatures": signatures, "different": salts.len(), "us_per_signature": rounded(us / signatures as f64),
    });
    let summary = format!("{} different salts in {signatures} Falcon signatures\n", salts.len());
    Ok(Report { summary, result, problem: (repeated > 0).then(|| format!("{repeated} Falcon salts repeat")) })
}
