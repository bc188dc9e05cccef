//! How much information a number of answers can carry.
//!
//! Of `n` answers about a subject, at most `f` are not "yes" before the budget ends: each of those is "no", or it says that the job was
//! malformed, which happens at most `m` times before an operator has looked. There are
//! `sum over i <= f of C(n, i) * (sum over j <= m of C(i, j))` such sequences, so together they carry at most the binary logarithm of that,
//! for any questions from any caller, even if each question depends on the answers so far (a sequence of
//! answers determines the questions of a deterministic asker). A refusal for lack of attempts, or for a freeze,
//! follows from the answers before it.
//!
//! In a quorum each seat has `a` attempts and `f` failures, and an answer costs two of them an attempt. So there are at most `3a/2` answers. A
//! seat's job differs from another's in its witness only, so both find one score and decide it under one threshold, but each may say "malformed" up
//! to `m` times where the other decides. A "no" costs two seats a failure, a "malformed" where the others say "yes" one. Whether a tag passes
//! depends on tag keys alone, which are independent of all templates, so it is not counted.
//!
//! A day is a calendar day in UTC. Around midnight two days' budgets can be spent within minutes.

use crate::MALFORMED_MAX;
use crate::policy::attempts_of_one_of_three;
use trefoil_types::AttemptPolicy;

/// The most that the answers of one day reveal about a subject, in bits, for any questions.
pub fn bits_per_day(policy: &AttemptPolicy) -> f64 {
    bits(policy.attempts_per_day, policy.failures_per_day)
}

/// The most that all answers about one template generation reveal, in bits.
pub fn bits_per_generation(policy: &AttemptPolicy) -> f64 {
    bits(policy.attempts_per_generation, policy.failures_per_generation)
}

/// As [`bits_per_day`], for a policy that three key-holders apply, any two of which decide.
pub fn bits_per_day_of_quorum(policy: &AttemptPolicy) -> f64 {
    let each = of_seat(policy);
    bits_of_quorum(each.attempts_per_day, each.failures_per_day)
}

/// As [`bits_per_generation`], for a policy that three key-holders apply, any two of which decide.
pub fn bits_per_generation_of_quorum(policy: &AttemptPolicy) -> f64 {
    let each = of_seat(policy);
    bits_of_quorum(each.attempts_per_generation, each.failures_per_generation)
}

fn of_seat(policy: &AttemptPolicy) -> AttemptPolicy {
    attempts_of_one_of_three(*policy)
}

/// Bits that the answers of a quorum can carry whose seats each give `attempts` answers, of which at most `failures` are not "yes".
fn bits_of_quorum(attempts: u32, failures: u32) -> f64 {
    if attempts == u32::MAX {
        return f64::INFINITY;
    }
    let failures = failures.min(attempts);
    let answers = attempts / 2 * 3 + attempts % 2;
    // Where at most this many of the answers are "no".
    let (mut no, mut chosen) = (vec![0.0], 0.0);
    for i in 1..=answers.min(failures / 2 * 3 + failures % 2) {
        chosen += (f64::from(answers - i + 1) / f64::from(i)).log2();
        no.push(log2_sum([no[no.len() - 1], chosen].into_iter()));
    }
    // Where one seat says "malformed": this often although the others say "yes", and otherwise besides their "no".
    let marks = [0, 1, 2, 3].map(|yes| {
        let besides_no = (0..=MALFORMED_MAX - yes).map(|marks| log2_choose(failures, marks));
        log2_choose(attempts, yes) + log2_sum(besides_no)
    });
    let mut sequences = Vec::new();
    for yes in (0..64).map(|seats| [seats % 4, seats / 4 % 4, seats / 16]) {
        if let Some(left) = (3 * failures as usize).checked_sub(yes.iter().sum()) {
            let marked: f64 = yes.iter().map(|yes| marks[*yes]).sum();
            sequences.push(marked + no[(left / 2).min(no.len() - 1)]);
        }
    }
    log2_sum(sequences.into_iter())
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
    if k > n {
        return f64::NEG_INFINITY;
    }
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
    use crate::Width;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Claim M9.
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

    /// Claim M9: Whatever a malicious gateway sends to one key-holder, under the default policy the answers leak at most 100.9 bits about a
    /// subject in a day and 585.6 in a generation, of a template that has up to 768. Under the laxest policy that a key-holder by default
    /// accepts from a gateway it is 740.3 in a generation.
    /// Claim M19.
    ///
    /// The figures that the documents quote: a template has at most 128 coordinates of deviation 15.5, 768 bits; its key 4096 ternary
    /// digits, 6,492 bits. They are of answers, so they are the same for wider vectors, whose templates have more bits.
    #[test]
    fn the_default_budget_ends_below_what_a_template_has() {
        let policy = AttemptPolicy::default();
        let day = bits_per_day(&policy);
        let generation = bits_per_generation(&policy);
        assert!((100.0..102.0).contains(&day), "{day}");
        assert!((585.0..587.0).contains(&generation), "{generation}");
        let [template, middle, wide] = Width::ALL.map(|width| {
            let (numbers, scale) = (width.numbers() as f64, f64::from(width.scale()));
            numbers
                * (scale / numbers.sqrt() * (2.0 * std::f64::consts::PI * std::f64::consts::E).sqrt()).log2()
        });
        assert!((767.0..769.0).contains(&template) && generation < 0.77 * template);
        assert!(middle > 1.8 * template && wide > 3.2 * template);
        assert!(bits(2_000, 2_000) > 2_000.0, "without a limit of failures");
        let of_quorum = [bits_per_day_of_quorum(&policy), bits_per_generation_of_quorum(&policy)];
        assert_eq!(of_quorum.map(|bits| format!("{bits:.1}")), ["132.6", "632.2"]);
        assert!(of_quorum[1] < 0.83 * template);
    }

    /// Claim M19.
    ///
    /// Small quorums, by writing down every course of answers: which seats say "malformed" of which jobs, within each seat's failures.
    #[test]
    fn no_course_of_a_quorums_answers_is_left_out() {
        for (attempts, failures) in [(1, 0), (1, 1), (2, 1), (2, 2)] {
            let jobs = attempts / 2 * 3 + attempts % 2;
            let mut courses = 0u32;
            // Of each job whether the score reaches the threshold, and which seats say that it is malformed.
            for course in 0..16u32.pow(jobs) {
                let of_job = |job: u32| (course >> (4 * job) & 1 == 0, course >> (4 * job + 1) & 0b111);
                let failed: u32 = (0..jobs)
                    .map(|job| match of_job(job) {
                        (true, malformed) => malformed.count_ones(),
                        (false, malformed) => malformed.count_ones().max(2),
                    })
                    .sum();
                let by_each = |seat: u32| (0..jobs).filter(|job| of_job(*job).1 >> seat & 1 == 1).count();
                let possible = (0..3).all(|seat| by_each(seat) <= (failures as usize).min(3));
                courses += u32::from(failed <= 3 * failures && possible);
            }
            let bits = bits_of_quorum(attempts, failures);
            assert!(bits >= f64::from(courses).log2() - 1e-9, "{attempts}, {failures}: {courses}, {bits}");
        }
        assert_eq!(bits_of_quorum(u32::MAX, 1), f64::INFINITY);
    }
}
