//! The result, as a table for people and as JSON for programs.

use super::audit::{Audit, Tally};
use super::kept_login::KeptLogin;
use super::load::Login;
use super::metrics::StagesUs;
use super::plan::Plan;
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use trefoil_api::ServiceStatus;

/// The findings of the demonstration.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    people: usize,
    probes: usize,
    genuine: Comparison,
    impostor: Comparison,
    decisions_checked: usize,
    decisions_differing: usize,
    attestations_verified: usize,
    threshold: i32,
    false_non_match_rate: f64,
    false_match_rate: f64,
    equal_error_rate: f64,
    cache_hit_ratio: f64,
    batches: u64,
    batch_fill: f64,
    seals: u64,
    auth_per_s: f64,
    latency_us: Latency,
    stages_us: StagesUs,
    attestation_bytes: Bytes,
    workers: usize,
    processors: usize,
    concurrency: usize,
    connections: usize,
    seed: u64,
    sent_again: usize,
    seconds: Seconds,
    findings: Vec<String>,
    login: Option<KeptLogin>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Comparison {
    r#match: usize,
    no_match: usize,
    plaintext_match: usize,
    plaintext_no_match: usize,
}

/// From request to the end of the answer, microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Latency {
    p50: u64,
    p99: u64,
    /// Median of logins made one after the other on the idle service.
    alone_p50: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Bytes {
    min: usize,
    median: usize,
    max: usize,
}

/// Duration of each part.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Seconds {
    pub(super) enrol: f64,
    pub(super) prove: f64,
    pub(super) log_in: f64,
    pub(super) verify: f64,
}

/// How the service was driven.
pub(super) struct Setting {
    pub(super) workers: usize,
    pub(super) processors: usize,
    pub(super) concurrency: usize,
    pub(super) connections: usize,
    pub(super) seed: u64,
}

/// The measurements and findings.
pub(super) struct Results<'a> {
    pub(super) plan: &'a Plan,
    pub(super) logins: &'a [Login],
    /// Logins made `concurrency` at a time; the rest were made alone.
    pub(super) under_load: usize,
    pub(super) audit: Audit,
    pub(super) status: ServiceStatus,
    pub(super) stages_us: StagesUs,
    pub(super) cache_hit_ratio: f64,
    pub(super) seconds: Seconds,
    pub(super) sent_again: usize,
    pub(super) login: Option<KeptLogin>,
}

impl Report {
    pub(super) fn new(setting: Setting, results: Results<'_>) -> Report {
        let Setting { workers, processors, concurrency, connections, seed } = setting;
        let Results { plan, logins, under_load, audit, seconds, .. } = results;
        let ServiceStatus { batches, seals, .. } = results.status;
        let Audit { verified, decisions, differing, genuine, impostor, findings } = audit;
        let latencies = |logins: &[Login]| sorted(logins.iter().map(|login| login.latency));
        let (loaded, alone) = logins.split_at(under_load.min(logins.len()));
        let (loaded, alone) = (latencies(loaded), latencies(alone));
        let us = |sorted: &[Duration], q| quantile(sorted, q).map_or(0, |d| d.as_micros() as u64);
        let sizes = sorted(logins.iter().map(|login| login.attestation.len()));
        let size = |q| quantile(&sizes, q).unwrap_or(0);
        Report {
            people: plan.people(),
            probes: plan.attempts.len(),
            genuine: genuine.into(),
            impostor: impostor.into(),
            decisions_checked: decisions,
            decisions_differing: differing,
            attestations_verified: verified,
            threshold: plan.threshold,
            false_non_match_rate: share(genuine.denials, genuine.total()),
            false_match_rate: share(impostor.matches, impostor.total()),
            equal_error_rate: plan.equal_error_rate,
            cache_hit_ratio: results.cache_hit_ratio,
            batches: batches.sealed,
            batch_fill: batches.lanes as f64 / (batches.sealed.max(1) * batches.lanes_max) as f64,
            seals: seals.stored,
            auth_per_s: loaded.len() as f64 / seconds.log_in.max(f64::MIN_POSITIVE),
            latency_us: Latency { p50: us(&loaded, 0.5), p99: us(&loaded, 0.99), alone_p50: us(&alone, 0.5) },
            stages_us: results.stages_us,
            attestation_bytes: Bytes { min: size(0.0), median: size(0.5), max: size(1.0) },
            workers,
            processors,
            concurrency,
            connections,
            seed,
            sent_again: results.sent_again,
            seconds,
            findings,
            login: results.login,
        }
    }

    /// Whether every planned login was made, every decision equals the plaintext one, and every attestation verified.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.decisions_checked == self.probes
            && self.decisions_differing == 0
            && self.attestations_verified == self.probes
    }

    /// One JSON object.
    ///
    /// # Panics
    /// Never: numbers and text have a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and text have a JSON form")
    }
}

impl From<Tally> for Comparison {
    fn from(tally: Tally) -> Comparison {
        let Tally { matches, denials, expected_matches, expected_denials } = tally;
        Comparison {
            r#match: matches,
            no_match: denials,
            plaintext_match: expected_matches,
            plaintext_no_match: expected_denials,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decisions(f)?;
        self.timings(f)?;
        for finding in &self.findings {
            writeln!(f, "WRONG  {finding}")?;
        }
        if let Some(login) = &self.login {
            writeln!(f, "\nOne login was kept. Verify it offline, as of the time it was made:\n")?;
            writeln!(f, "  {}\n", login.command())?;
        }
        match self.holds() {
            true => write!(f, "Every decision is the plaintext one and every attestation verifies."),
            false => write!(f, "FAILED: see the counts above."),
        }
    }
}

impl Report {
    fn decisions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { people, probes, threshold, .. } = self;
        writeln!(f, "\n{people} people, {probes} logins, threshold {threshold}\n")?;
        writeln!(f, "                       encrypted             in the clear")?;
        writeln!(f, "                       match   no match      match   no match")?;
        for (name, counts) in [("own photograph", &self.genuine), ("another's photograph", &self.impostor)] {
            let Comparison { r#match, no_match, plaintext_match, plaintext_no_match } = counts;
            writeln!(f, "{name:21} {match:7} {no_match:10} {plaintext_match:10} {plaintext_no_match:10}")?;
        }
        let percent = |rate: f64| format!("{:.2} %", 100.0 * rate);
        writeln!(f)?;
        row(
            f,
            "decisions that differ",
            format!("{} of {}", self.decisions_differing, self.decisions_checked),
        )?;
        row(
            f,
            "attestations verified",
            format!(
                "{} of {probes}, offline, after the load, against public keys",
                self.attestations_verified
            ),
        )?;
        row(
            f,
            "false non-matches",
            format!("{} ({})", self.genuine.no_match, percent(self.false_non_match_rate)),
        )?;
        row(f, "false matches", format!("{} ({})", self.impostor.r#match, percent(self.false_match_rate)))?;
        let eer = percent(self.equal_error_rate);
        row(f, "equal error rate", format!("{eer} of all scores of these people, in the clear"))
    }

    fn timings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StagesUs { r#match, key_holder, proof_lookup, digest, seal, total } = self.stages_us;
        let ms = |us: u64| format!("{:.1} ms", us as f64 / 1e3);
        let Latency { p50, p99, alone_p50 } = self.latency_us;
        writeln!(f)?;
        row(
            f,
            "logins per second",
            format!(
                "{:.0}, {} in flight over {} connections; clients and service share {} processors, {} workers",
                self.auth_per_s, self.concurrency, self.connections, self.processors, self.workers
            ),
        )?;
        row(f, "latency, loaded", format!("p50 {}, p99 {}", ms(p50), ms(p99)))?;
        row(f, "latency, alone", format!("p50 {}", ms(alone_p50)))?;
        let fill = format!(
            "{} batches, {:.0} % of lanes taken; {} seals",
            self.batches,
            100.0 * self.batch_fill,
            self.seals
        );
        row(f, "batches", fill)?;
        row(
            f,
            "medians per batch, us",
            format!(
                "match {match:.0}, key-holder {key_holder:.0}, proof look-up {proof_lookup:.1}, digest {digest:.0}"
            ),
        )?;
        row(f, "", format!("seal {seal:.0} (one for all waiting batches), all together {total:.0}"))?;
        row(f, "verdict cache", format!("{:.2} % hits", 100.0 * self.cache_hit_ratio))?;
        let Bytes { min, median, max } = self.attestation_bytes;
        row(f, "attestation, bytes", format!("{min} to {max}, median {median}"))?;
        let note =
            "none in effect: a demonstration denies more often than the default budget of a subject allows";
        row(f, "attempt budgets", note.to_owned())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: String) -> fmt::Result {
    writeln!(f, "{name:22} {value}")
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

/// The nearest-rank quantile of sorted values.
fn quantile<T: Copy>(sorted: &[T], q: f64) -> Option<T> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let values: Vec<u32> = (1..=100).collect();
        assert_eq!(quantile(&values, 0.0), Some(1));
        assert_eq!(quantile(&values, 0.5), Some(50));
        assert_eq!(quantile(&values, 0.99), Some(99));
        assert_eq!(quantile(&values, 1.0), Some(100));
        assert_eq!(quantile::<u32>(&[], 0.5), None);
    }
}
