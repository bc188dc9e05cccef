//! How much information a number of answers can carry.
//!
//! Of `n` answers about a subject, at most `f` are not "yes" before the budget ends: each of those is "no", or it says that the job was
//! malformed, which happens at most `m` times before an operator has looked. There are
//! `sum over i <= f of C(n, i) * (sum over j <= m of C(i, j))` such sequences, so together they carry at most the binary logarithm of that,
//! for any questions from any caller, even if each question depends on the answers so far (a sequence of
//! answers determines the questions of a deterministic asker). A refusal for lack of attempts, or for a freeze,
//! follows from the answers before it.

use crate::MALFORMED_MAX;
use trefoil_types::AttemptPolicy;

/// The most that the answers of one day reveal about a subject, in bits, for any questions.
pub fn bits_per_day(policy: &AttemptPolicy) -> f64 {
    bits(policy.attempts_per_day, policy.failures_per_day)
}

/// The most that all answers about one template generation reveal, in bits.
pub fn bits_per_generation(policy: &AttemptPolicy) -> f64 {
    bits(policy.attempts_per_generation, policy.failures_per_generation)
}

/// Bits that `answers` answers can carry, of which at most `failures` are not "yes". Infinite if answers are not limited.
fn bits(answers: u32, failures: u32) -> f64 {
    if answers == u32::MAX {
        return f64::INFINITY;
    }
    let failures = failures.min(answers);
    let (mut sequences, mut chosen) = (f64::NEG_INFINITY, 0.0);
    for i in 0..=failures {
        if i > 0 {
            chosen += (f64::from(answers - i + 1) / f64::from(i)).log2();
        }
        let places = log2_sum((0..=i.min(MALFORMED_MAX)).map(|j| log2_choose(i, j)));
        sequences = log2_sum([sequences, chosen + places].into_iter());
    }
    sequences
}

/// `log2 C(n, k)`.
fn log2_choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| (f64::from(n - i) / f64::from(i + 1)).log2()).sum()
}

/// The logarithm of the sum of numbers whose logarithms these are.
fn log2_sum(logarithms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + logarithms.map(|logarithm| (logarithm - largest).exp2()).sum::<f64>().log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn small_cases_are_counted_by_hand() {
        assert!(near(bits(0, 0), 0.0) && near(bits(10, 0), 0.0), "one possible sequence says nothing");
        // Yes, no, malformed: each of three answers may be any of them.
        assert!(
            near(bits(1, 1), 3f64.log2())
                && near(bits(3, 3), 27f64.log2())
                && near(bits(3, 100), 27f64.log2())
        );
        // All yes, or one that is not; and of four answers that may be anything one too many is malformed.
        assert!(near(bits(4, 1), 9f64.log2()) && near(bits(4, 4), 80f64.log2()));
        assert_eq!(bits(u32::MAX, 1), f64::INFINITY);
    }

    /// The figures that the documents quote: a template has at most 128 coordinates of deviation 15.5, 768 bits; its key 4096 ternary
    /// digits, 6,492 bits.
    #[test]
    fn the_default_budget_ends_below_what_a_template_has() {
        let policy = AttemptPolicy::default();
        let day = bits_per_day(&policy);
        let generation = bits_per_generation(&policy);
        assert!((100.0..102.0).contains(&day), "{day}");
        assert!((585.0..587.0).contains(&generation), "{generation}");
        let template = 128.0 * (15.47 * (2.0 * std::f64::consts::PI * std::f64::consts::E).sqrt()).log2();
        assert!((767.0..769.0).contains(&template) && generation < 0.77 * template);
        assert!(bits(2_000, 2_000) > 2_000.0, "without a limit of failures");
    }
}
