//! Counters of the proof intake, in Prometheus text. Never labelled by caller or subject.

#![expect(clippy::disallowed_methods, reason = "for uploads of proofs, which take a thousand times longer")]

use crate::metrics::{Durations, Text};
use std::sync::atomic::{AtomicU64, Ordering};

/// What can happen to an upload before and instead of its verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The caller's credit was used up; nothing was read.
    CreditExhausted,
    /// The caller had too many uploads open; nothing was read.
    TooManyOpen,
    /// Wrong size, malformed, or bound to another key or audience.
    Malformed,
    /// An old root, another epoch, policy or level.
    Stale,
    /// The verdict was in memory.
    Known,
    /// Waited for another upload of the same statement.
    Joined,
    /// The queue, or the tenant's half of it, was full.
    QueueFull,
    /// Waited past the deadline and was not verified.
    Late,
    /// The caller hung up before a thread was free.
    Abandoned,
}

const EVENTS: [(Event, &str); 9] = [
    (Event::CreditExhausted, "credit_exhausted"),
    (Event::TooManyOpen, "too_many_open"),
    (Event::Malformed, "malformed"),
    (Event::Stale, "stale"),
    (Event::Known, "known"),
    (Event::Joined, "joined"),
    (Event::QueueFull, "queue_full"),
    (Event::Late, "late"),
    (Event::Abandoned, "abandoned"),
];

/// See the module.
#[derive(Default)]
pub(crate) struct ProofMetrics {
    accepted: AtomicU64,
    refused: AtomicU64,
    events: [AtomicU64; EVENTS.len()],
    wait: Durations,
    verify: Durations,
}

/// What is read at scrape time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProofGauges {
    /// Statements that wait for a thread.
    pub depth: usize,
    /// Uploads between quota and answer.
    pub open: usize,
}

impl ProofMetrics {
    /// One more of these.
    pub(crate) fn count(&self, event: Event) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A proof was verified after `wait_ns` in the queue, in `verify_ns`.
    pub(crate) fn verified(&self, accepted: bool, wait_ns: u64, verify_ns: u64) {
        let counter = if accepted { &self.accepted } else { &self.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        self.wait.record(wait_ns);
        self.verify.record(verify_ns);
    }

    /// Appends the Prometheus text form.
    pub(crate) fn render(&self, text: &mut Text, gauges: &ProofGauges) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        text.family("trefoil_proofs_total", "counter", "Proofs verified");
        text.sample("trefoil_proofs_total", "{outcome=\"accepted\"}", read(&self.accepted));
        text.sample("trefoil_proofs_total", "{outcome=\"refused\"}", read(&self.refused));
        let help = "Proof uploads by what happened to them before or instead of a verification";
        text.family("trefoil_proof_uploads_total", "counter", help);
        for (event, name) in EVENTS {
            let labels = format!("{{event=\"{name}\"}}");
            text.sample("trefoil_proof_uploads_total", &labels, read(&self.events[event as usize]));
        }
        for (name, help, durations) in [
            (
                "trefoil_proof_wait_seconds",
                "Time of a proof in the queue before its verification",
                &self.wait,
            ),
            ("trefoil_proof_verify_seconds", "Time of a verification", &self.verify),
        ] {
            text.family(name, "summary", help);
            text.summary(name, "", durations);
        }
        let ProofGauges { depth, open } = *gauges;
        text.single("trefoil_proof_queue_depth", "gauge", "Proofs that wait for a thread", depth as f64);
        text.single(
            "trefoil_proof_uploads_open",
            "gauge",
            "Proof uploads let in and not answered",
            open as f64,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_own_counter_and_name() {
        let metrics = ProofMetrics::default();
        for (at, (event, _)) in EVENTS.iter().enumerate() {
            assert_eq!(*event as usize, at);
            (0..=at).for_each(|_| metrics.count(*event));
        }
        metrics.verified(true, 1_000_000, 2_000_000);
        let mut text = Text::default();
        metrics.render(&mut text, &ProofGauges { depth: 3, open: 4 });
        let text = text.into_string();
        for (at, (_, name)) in EVENTS.iter().enumerate() {
            let line = format!("trefoil_proof_uploads_total{{event=\"{name}\"}} {}\n", at + 1);
            assert!(text.contains(&line), "{line} in {text}");
        }
        for line in ["{quantile=\"0.5\"} 0.0020152315", "_sum 0.002", "_count 1"] {
            let line = format!("\ntrefoil_proof_verify_seconds{line}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(
            text.contains("trefoil_proof_queue_depth 3\n") && text.contains("uploads_open 4\n"),
            "{text}"
        );
    }
}
