//! The result of phases of one kind.

use serde_json::{Value, json};

use crate::distribution::{Distribution, rounded};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    pub(super) seconds: f64,
    /// Requests that were sent, those sent again included.
    pub(super) asked: u64,
    /// Logins that were answered.
    pub(super) logins: u64,
    /// Of requests.
    pub(super) latencies_ns: Vec<u64>,
    pub(super) runs_per_s: Vec<f64>,
    /// Requests that the service refused because it had too much to do.
    pub(super) refused: u64,
    /// Requests whose connection broke.
    pub(super) lost: u64,
    /// Answers that were no match.
    pub(super) wrong: u64,
    /// The first of all these.
    pub(super) first_wrong: Option<String>,
    pub(super) verified: u64,
    pub(super) unverified: Vec<String>,
}

impl Phase {
    pub(super) fn per_s(&self) -> f64 {
        self.logins as f64 / self.seconds
    }

    pub(super) fn p99_ms(&self) -> f64 {
        self.ms().percentile(99)
    }

    fn ms(&self) -> Distribution {
        Distribution::new(self.latencies_ns.iter().map(|&ns| ns as f64 / 1e6).collect())
    }

    /// Adds a phase of another round.
    pub(super) fn add(&mut self, run: Phase) {
        self.runs_per_s.push(run.per_s());
        self.seconds += run.seconds;
        self.join(run);
    }

    /// Adds what another connection saw in the same phase.
    pub(super) fn join(&mut self, other: Phase) {
        self.asked += other.asked;
        self.logins += other.logins;
        self.latencies_ns.extend(other.latencies_ns);
        self.refused += other.refused;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        self.verified += other.verified;
        self.unverified.extend(other.unverified);
    }

    pub(super) fn json(&self) -> Value {
        let ms = self.ms();
        let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| rounded(ms.percentile(percent)));
        json!({
            "logins": self.logins, "requests": self.latencies_ns.len(), "logins_per_s": rounded(self.per_s()),
            "asked_per_s": rounded(self.asked as f64 / self.seconds), "p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "max_ms": max,
            "wrong": self.wrong, "refused": self.refused, "lost": self.lost, "verified_offline": self.verified,
            "unverified": self.unverified.len(), "logins_per_s_runs": Distribution::new(self.runs_per_s.clone()).runs_json(),
        })
    }

    /// For people.
    pub(super) fn line(&self, name: &str) -> String {
        let ms = self.ms();
        let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| ms.percentile(percent));
        format!(
            "  {name:<36} {:>7.0} logins/s   p50 {p50:>7.2} ms   p90 {p90:>7.2} ms   p99 {p99:>7.2} ms   max {max:>7.2} ms   refused {}   verified {}\n",
            self.per_s(),
            self.refused + self.lost,
            self.verified
        )
    }
}

/// What is wrong with these phases. Where it is no part of the load, a refused request and a broken connection are wrong too.
pub(super) fn problem<'a>(
    phases: impl Iterator<Item = &'a Phase> + Clone,
    refusals_expected: bool,
) -> Option<String> {
    let refused = |phase: &Phase| if refusals_expected { 0 } else { phase.refused + phase.lost };
    let wrong: u64 = phases.clone().map(|phase| phase.wrong + refused(phase)).sum();
    let unverified = phases.clone().flat_map(|phase| &phase.unverified);
    let in_words = |cause: Option<&String>| cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    match (wrong, unverified.clone().next()) {
        (0, None) => None,
        (wrong, first) => Some(format!(
            "{wrong} answers were wrong{}, {} attestations did not verify{}",
            in_words(phases.clone().find_map(|phase| phase.first_wrong.as_ref()).filter(|_| wrong > 0)),
            unverified.count(),
            in_words(first)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim B13: Every timed login over HTTPS got the right answer, and every attestation of the sample verified offline. Also:
    /// `bench/records/2026-11-24-epyc-2vcpu/load.json#/open/wrong`, `bench/records/2026-11-24-epyc-2vcpu/load.json#/open/unverified`,
    /// `bench/records/2026-11-25-epyc-zen3-b-2vcpu/load.json#/open/wrong`,
    /// `bench/records/2026-11-25-epyc-zen3-b-2vcpu/load-batches.json#/open/unverified`.
    #[test]
    fn a_wrong_answer_or_an_attestation_that_does_not_verify_fails_the_run() {
        let right =
            Phase { seconds: 1.0, logins: 100, latencies_ns: vec![1; 100], verified: 1, ..Phase::default() };
        let of = |phase: &Phase, expected| problem([&right, phase].into_iter(), expected);
        assert_eq!(of(&right, false), None);
        let first_wrong = Some("status 429, overloaded".to_owned());
        let wrong = Phase { wrong: 2, first_wrong: first_wrong.clone(), ..right.clone() };
        let expected = "2 answers were wrong (status 429, overloaded), 0 attestations did not verify";
        assert_eq!(of(&wrong, true).as_deref(), Some(expected));
        let refused = Phase { refused: 1, lost: 1, first_wrong, ..right.clone() };
        assert_eq!((of(&refused, false).as_deref(), of(&refused, true)), (Some(expected), None));
        let forged = Phase { unverified: vec!["not signed".to_owned()], ..right.clone() };
        let expected = "0 answers were wrong, 1 attestations did not verify (not signed)";
        assert_eq!(of(&forged, true).as_deref(), Some(expected));
    }
}
