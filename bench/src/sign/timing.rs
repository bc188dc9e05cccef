//! Whether signing times differ between one key and others: the test of dudect (Reparaz, Balasch,
//! Verbauwhede 2017), Welch's t between a fixed and random secrets.

use rand::{RngExt as _, rngs::StdRng};
use serde_json::{Map, json};
use trefoil_kernels::{Cpu, Tier};
use trefoil_sign::{Extent, MlDsa65, SignError, SignatureFamily, SlhDsaSha2_128f};

use super::cpu_us;
use crate::distribution::rounded;
use crate::{Failure, Report};

/// Keys of the random class.
const KEYS: usize = 64;

/// The same where each key has its top layers in memory.
const KEYS_WITH_TOP_LAYERS: usize = 4;

/// Beyond this, dudect calls a difference probable.
const T_PROBABLE: f64 = 4.5;

/// Shares of the times that are kept, shortest first: interruptions make the longest ones.
const KEPT: [f64; 3] = [1.0, 0.95, 0.75];

/// Of SLH-DSA: the computation alone on the widest tier, the same with the top layers as a service signs, and with SHA-NI
/// alone if the processor has it. Of ML-DSA: signing as released.
pub(super) fn measure(signatures: usize, extent: Extent) -> Result<Report, Failure> {
    let mut families = Map::new();
    let mut text =
        format!("time under one key and under {KEYS} others, Welch's t of {signatures} signatures\n");
    let once = |key: &mut SlhDsaSha2_128f, message: &[u8], _: &mut StdRng| {
        drop(key.dangerous_sign_once(message, &[message[0]; 16]));
        Ok(())
    };
    let mut of = |name: &str, times: [Vec<f64>; 2]| {
        let t = KEPT.map(|share| welch(&times, share));
        text.push_str(&format!("  {name}: {}\n", t.map(|t| format!("{t:.2}")).join(", ")));
        let [all, p95, p75] = t.map(rounded);
        families.insert(
            name.into(),
            json!({ "t": all, "t_shortest_95_percent": p95, "t_shortest_75_percent": p75 }),
        );
    };
    of("slhdsa", classes(signatures, KEYS, Ok, once)?);
    let with_top_layers = |key: SlhDsaSha2_128f| key.precomputation(extent).run().map(|()| key);
    of("slhdsa_with_top_layers", classes(signatures, KEYS_WITH_TOP_LAYERS, with_top_layers, once)?);
    let sha_ni = Cpu::at_most(Tier::Avx2);
    if sha_ni.has_sha() {
        of("slhdsa_shani", classes(signatures, KEYS, |key: SlhDsaSha2_128f| Ok(key.on(sha_ni)), once)?);
    }
    of(
        "mldsa",
        classes(signatures, KEYS, Ok, |key: &mut MlDsa65, message, rng| key.sign(message, rng).map(drop))?,
    );
    let mut report = Report { summary: text, result: families.into(), problem: None };
    report.put(json!({
        "signatures": signatures, "keys": KEYS, "keys_with_top_layers": KEYS_WITH_TOP_LAYERS, "extent": extent.name(),
        "t_probable": T_PROBABLE,
    }));
    Ok(report)
}

/// Times of signing random messages under a fixed key and under `keys` random ones, in random order.
fn classes<F: SignatureFamily>(
    signatures: usize,
    keys: usize,
    prepared: impl Fn(F) -> Result<F, SignError>,
    mut sign: impl FnMut(&mut F, &[u8], &mut StdRng) -> Result<(), SignError>,
) -> Result<[Vec<f64>; 2], Failure> {
    let mut rng: StdRng = rand::make_rng();
    // Both classes go through a table of as many keys, so that memory treats them alike.
    let mut fixed = Vec::new();
    let mut random = Vec::new();
    let secret = F::generate(&mut rng).map_err(Failure::in_step("key"))?.to_secret_bytes();
    let prepared = |key| prepared(key).map_err(Failure::in_step("precomputation"));
    for _ in 0..keys {
        fixed.push(prepared(F::from_secret_bytes(&secret).map_err(Failure::in_step("key"))?)?);
        random.push(prepared(F::generate(&mut rng).map_err(Failure::in_step("key"))?)?);
    }
    let mut tables = [fixed, random];
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..signatures {
        let (class, at, message) =
            (rng.random_range(0..2), rng.random_range(0..keys), rng.random::<[u8; 32]>());
        let (us, signed) = cpu_us(|| sign(&mut tables[class][at], &message, &mut rng));
        signed.map_err(Failure::in_step("signing"))?;
        times[class].push(us);
    }
    Ok(times)
}

/// Welch's t of the times up to the quantile `share` of both classes together.
fn welch(times: &[Vec<f64>; 2], share: f64) -> f64 {
    let mut all = times.concat();
    all.sort_by(f64::total_cmp);
    let Some(&bound) = all.get(((all.len() as f64 * share).ceil() as usize).max(1) - 1) else {
        return f64::NAN;
    };
    let [fixed, random] = times.each_ref().map(|times| {
        let kept: Vec<f64> = times.iter().copied().filter(|us| *us <= bound).collect();
        let n = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / n;
        let variance = kept.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    });
    (fixed.0 - random.0) / (fixed.1 + random.1).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_large_where_the_classes_differ_and_small_where_they_do_not() {
        let noise = |i: u32| f64::from(i * 7_919 % 1_000) / 1_000.0;
        let class = |from: u32, shift: f64| (from..from + 5_000).map(|i| 100.0 + noise(i) + shift).collect();
        for share in KEPT {
            assert!(welch(&[class(0, 0.0), class(1, 0.0)], share).abs() < 1.0);
        }
        assert!(welch(&[class(0, 0.1), class(1, 0.0)], 1.0) > 10.0);
        assert!(welch(&[class(0, 0.0), class(1, 0.1)], 1.0) < -10.0);
    }
}
