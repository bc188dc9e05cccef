//! How much a number of answers can tell.
//!
//! Of `n` yes-or-no answers at most `f` are "no" before the budget ends. There are `sum over i <= f of C(n, i)` such sequences, so
//! together they carry at most the binary logarithm of that, whatever the questions were, whoever asked them, and however one question
//! followed from the answers before (a sequence of answers determines the questions of a deterministic asker).

/// Bits that `answers` answers can carry, of which at most `failures` are "no". Infinite where answers are not limited.
pub(crate) fn bits(answers: u32, failures: u32) -> f64 {
    if answers == u32::MAX {
        return f64::INFINITY;
    }
    let (answers, failures) = (f64::from(answers), f64::from(failures.min(answers)));
    // log2 of C(n, i), from i = 0 on; the sum relative to its largest term.
    let mut term = 0f64;
    let mut terms = vec![term];
    let mut i = 1.0;
    while i <= failures {
        term += ((answers - i + 1.0) / i).log2();
        terms.push(term);
        i += 1.0;
    }
    let largest = terms.iter().copied().fold(0.0, f64::max);
    largest + terms.iter().map(|term| (term - largest).exp2()).sum::<f64>().log2()
}

#[cfg(test)]
mod tests {
    use super::bits;
    use crate::AttemptPolicy;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn small_cases_are_counted_by_hand() {
        assert!(near(bits(0, 0), 0.0) && near(bits(10, 0), 0.0), "one possible sequence says nothing");
        assert!(near(bits(1, 1), 1.0) && near(bits(8, 8), 8.0) && near(bits(8, 100), 8.0));
        assert!(near(bits(4, 1), 5f64.log2()) && near(bits(5, 2), 16f64.log2()));
        assert_eq!(bits(u32::MAX, 1), f64::INFINITY);
    }

    /// The figures that the documents quote: a template has at most 128 coordinates of deviation 15.5, 768 bits; its key 4096 ternary
    /// digits, 6,492 bits.
    #[test]
    fn the_default_budget_ends_below_what_a_template_has() {
        let policy = AttemptPolicy::default();
        let day = policy.bits_per_day();
        let generation = policy.bits_per_generation();
        assert!((90.0..91.0).contains(&day), "{day}");
        assert!((568.0..569.0).contains(&generation), "{generation}");
        let template = 128.0 * (15.47 * (2.0 * std::f64::consts::PI * std::f64::consts::E).sqrt()).log2();
        assert!((767.0..769.0).contains(&template) && generation < 0.75 * template);
        assert!(near(bits(2_000, 2_000), 2_000.0), "without a limit of failures");
    }
}
