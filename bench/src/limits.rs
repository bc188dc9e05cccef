//! The best possible time of each stage on this machine, beside its actual time.
//!
//! A stage has bytes to bring from memory and operations to make, both counted from the scheme's parameters. The machine has a rate for
//! each, measured in the same program: memory by reading a store in order, the ports by [`trefoil_kernels::ports`]. The longest of the
//! quotients is a time that no kernel can beat; how much of a stage's time it is shows a kernel that is far below its machine.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};
use trefoil_kernels::ports::{CHAINS, SIMPLES, multiplies, simples};
use trefoil_kernels::{Cpu, Tier};
use trefoil_matching::LANES;

use crate::Report;
use crate::distribution::rounded;

/// A stage that reaches less than this part of what is possible is far below the machine.
const FAR: f64 = 0.125;
/// The loss must be this part of a batch, or fixing it would have no visible effect.
const MATTERS: f64 = 0.1;

/// The machine's rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Possible {
    /// Bytes a nanosecond, of a store read in order.
    bytes_per_ns: f64,
    /// Vectors of eight products with their additions, a nanosecond.
    multiplies_per_ns: f64,
    /// Vectors of any other operation, a nanosecond.
    simples_per_ns: f64,
}

/// The minimum work of a stage for a batch of 32.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Work {
    stage: &'static str,
    bytes: f64,
    multiplies: f64,
    simples: f64,
}

/// Words of a vector.
const WORDS: f64 = 8.0;
/// Coefficients, and primes.
const N: f64 = 4096.0;
const PRIMES: f64 = 2.0;
/// A transform has twelve stages of 2,048 butterflies, each of three multiplications, an addition and a subtraction more.
const BUTTERFLIES: f64 = 12.0 * 2048.0 / WORDS;
/// A product that is added up in two halves.
const FOLD: f64 = 2.0 * N / WORDS;
/// A product modulo a prime: as in a butterfly.
const PRODUCT: f64 = 3.0 * N / WORDS;
/// Bytes of a template for each prime.
const TEMPLATE_BYTES: f64 = 6.0 * N * PRIMES;
/// Eight Keccak-f\[1600\]: 24 rounds of 10 + 5 + 25 operations for theta, 24 for rho, 25 for chi and one for iota.
const PERMUTATION: f64 = 24.0 * (10.0 + 5.0 + 25.0 + 24.0 + 25.0 + 1.0);
/// Blocks of 136 bytes of a statement.
const BLOCKS: f64 = 4.0;
/// Chain steps of a signature of SLH-DSA-SHA2-128f: 22 layers of 8 leaves of 35 chains of 15 steps. Of them `Extent::Brief` keeps 21 %, and a
/// seal computes the rest twice.
const CHAIN_STEPS: f64 = 2.0 * 0.79 * 22.0 * 8.0 * 35.0 * 15.0;
/// Operations of sixteen such steps, counted in the compiled loop (`crypto/sign/NOTES.md`).
const CHAIN_STEP: f64 = 1436.0 / 16.0;

/// The stages whose work is arithmetic. A look-up's is waiting for lines that are in a cache or not, and has no such bound.
fn works() -> [Work; 4] {
    let lanes = LANES as f64;
    [
        // Multiplier and error are transformed for each prime, the basis is a product, the sum and the tag are folds; 32 templates are
        // unpacked and added.
        Work {
            stage: "match",
            bytes: lanes * TEMPLATE_BYTES,
            multiplies: PRIMES * (2.0 * 3.0 * BUTTERFLIES + PRODUCT + 2.0 * FOLD),
            simples: PRIMES * (2.0 * 2.0 * BUTTERFLIES + lanes * 2.0 * N / WORDS),
        },
        // The sum of the keys is transformed, and folded with the batch; the tag is a fold too. 32 keys of five trits a byte are added up, a
        // coefficient at a time in sixteen bits.
        Work {
            stage: "keyholder",
            bytes: 0.0,
            multiplies: PRIMES * (3.0 * BUTTERFLIES + 2.0 * FOLD),
            simples: PRIMES * 2.0 * BUTTERFLIES + lanes * N / 32.0,
        },
        Work { stage: "digest", bytes: 0.0, multiplies: 0.0, simples: lanes / WORDS * BLOCKS * PERMUTATION },
        Work { stage: "seal", bytes: 0.0, multiplies: 0.0, simples: CHAIN_STEPS * CHAIN_STEP },
    ]
}

impl Possible {
    /// Measures the ports; `gb_per_s` is what memory gives.
    pub(crate) fn here(cpu: Cpu, gb_per_s: f64) -> Possible {
        let best = |operations: usize, work: &dyn Fn()| {
            let once = || {
                let begun = Instant::now();
                work();
                begun.elapsed().as_nanos() as f64
            };
            let shortest = (0..TRIALS).map(|_| once()).fold(f64::INFINITY, f64::min);
            (ROUNDS * CHAINS * operations) as f64 / shortest
        };
        let operands = || black_box([0x000f_1234_5678_9abc, 0x0007_fedc_ba98_7654]);
        Possible {
            bytes_per_ns: gb_per_s,
            multiplies_per_ns: best(1, &|| {
                black_box(multiplies(cpu, operands(), ROUNDS));
            }),
            simples_per_ns: best(SIMPLES, &|| {
                black_box(simples(cpu, operands(), ROUNDS));
            }),
        }
    }
}

/// A trial takes some microseconds, so that several of them are undisturbed; the fastest counts.
const ROUNDS: usize = 2_000;
const TRIALS: usize = 200;

/// Each stage of `stages_us` beside its bound: its time, the longest of its quotients, and what binds it. Nothing on lower tiers,
/// whose operations differ.
fn beside(stages_us: &Value, possible: &Possible, tier: Tier) -> Vec<(Work, f64, f64, &'static str, bool)> {
    let us = |stage: &str| stages_us[stage].as_f64().unwrap_or(f64::NAN);
    // A seal is shared by many batches where rates matter; what the others lose is compared with the batch without it.
    let batch_us = us("total") - us("seal");
    let Possible { bytes_per_ns, multiplies_per_ns, simples_per_ns } = *possible;
    let works = works().into_iter().filter(|_| tier == Tier::Avx512);
    let limit = |work: Work| {
        let achieved_us = us(work.stage);
        let times = [
            ("memory", work.bytes / bytes_per_ns),
            ("multiplications", work.multiplies / multiplies_per_ns),
            // Multiplications and the others share ports.
            ("operations", (work.multiplies + work.simples) / simples_per_ns.max(multiplies_per_ns)),
        ];
        let longest = times.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let (bound_by, possible_us) = longest.map_or(("", 0.0), |(by, ns)| (by, ns / 1_000.0));
        let is_far = possible_us < FAR * achieved_us && achieved_us - possible_us > MATTERS * batch_us;
        (work, achieved_us, possible_us, bound_by, is_far)
    };
    works.map(limit).collect()
}

/// The bounds. On the terminal a stage far below the machine comes with a warning.
pub(crate) fn limits(stages_us: &Value, possible: &Possible, tier: Tier) -> Report {
    let mut summary = String::from("what this machine could do at best, us per batch:\n");
    let mut stages = Map::new();
    for (work, achieved_us, possible_us, bound_by, is_far) in beside(stages_us, possible, tier) {
        let (share, operations) = (possible_us / achieved_us, work.multiplies + work.simples);
        let per_ns = |amount: f64| rounded(amount / achieved_us / 1_000.0);
        summary += &format!(
            "  {:<13} {achieved_us:>10.1}  possible {possible_us:>8.1} ({bound_by})  {:>4.0} %{}\n",
            work.stage,
            100.0 * share,
            if is_far { "  WARNING: FAR BELOW THE MACHINE" } else { "" }
        );
        let fields = json!({
            "bytes_per_batch": work.bytes, "multiplications_per_batch": work.multiplies, "operations_per_batch": operations,
            "achieved_us": achieved_us, "achieved_gb_per_s": per_ns(work.bytes), "achieved_operations_per_ns": per_ns(operations),
            "possible_us": rounded(possible_us), "bound_by": bound_by, "share_of_possible": rounded(share), "far_below": is_far,
        });
        stages.insert(work.stage.to_owned(), fields);
    }
    let result = json!({
        "possible": {
            "gb_per_s": rounded(possible.bytes_per_ns), "multiplications_per_ns": rounded(possible.multiplies_per_ns),
            "operations_per_ns": rounded(possible.simples_per_ns),
        },
        "stages": stages, "far_below_share": FAR, "matters_share": MATTERS,
    });
    Report { summary, result, problem: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSSIBLE: Possible = Possible { bytes_per_ns: 40.0, multiplies_per_ns: 7.0, simples_per_ns: 7.0 };

    /// Stage times as of a machine with those rates.
    fn times() -> Value {
        json!({"match": 60.0, "keyholder": 22.0, "digest": 13.0, "proof_lookup": 6.0, "seal": 1850.0, "total": 1951.0})
    }

    fn far(times: &Value) -> Vec<&'static str> {
        let all = beside(times, &POSSIBLE, Tier::Avx512);
        all.iter().filter(|(.., is_far)| *is_far).map(|(work, ..)| work.stage).collect()
    }

    /// Claim B15: The report marks a stage that is far below the limits of the machine's memory and ports.
    #[test]
    fn a_stage_made_slow_is_found_and_no_other() {
        assert_eq!(far(&times()), Vec::<&str>::new());
        for (stage, slowed_us) in
            [("match", 600.0), ("keyholder", 300.0), ("digest", 200.0), ("seal", 40_000.0)]
        {
            let mut slow = times();
            slow["total"] = json!(1951.0 + slowed_us - slow[stage].as_f64().expect("a time"));
            slow[stage] = json!(slowed_us);
            assert_eq!(far(&slow), [stage], "{slowed_us} us");
            let shown = limits(&slow, &POSSIBLE, Tier::Avx512).summary;
            assert_eq!(shown.matches("FAR BELOW").count(), 1, "{shown}");
        }
    }

    /// Claim B15.
    #[test]
    fn a_match_is_bound_by_memory_and_its_bytes_are_those_of_32_templates() {
        let result = limits(&times(), &POSSIBLE, Tier::Avx512).result;
        let of_match = &result["stages"]["match"];
        assert_eq!(
            (&of_match["bound_by"], &of_match["bytes_per_batch"]),
            (&json!("memory"), &json!(1_572_864.0))
        );
        assert_eq!(of_match["possible_us"], 39.322);
        assert!(beside(&times(), &POSSIBLE, Tier::Avx2).is_empty(), "other operations");
    }

    #[test]
    fn the_ports_of_this_machine_have_a_rate() {
        let possible = Possible::here(Cpu::detected(), 10.0);
        for rate in [possible.multiplies_per_ns, possible.simples_per_ns] {
            assert!(rate.is_finite() && rate > 0.0, "{possible:?}");
        }
    }
}
