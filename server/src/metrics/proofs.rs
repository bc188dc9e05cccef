//! The proof intake in Prometheus text. Never labelled by caller or subject.

use crate::text::Text;
use trefoil_service::counters::proofs::ProofCounters;

/// Values that are read at scrape time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProofGauges {
    /// Statements that wait for a thread.
    pub depth: usize,
    /// Uploads between quota and answer.
    pub open: usize,
}

/// Appends the counts.
pub(super) fn render(text: &mut Text, counters: &ProofCounters, gauges: &ProofGauges) {
    let [accepted, refused] = counters.outcomes().map(|count| count as f64);
    text.family("trefoil_proofs_total", "counter", "Proofs verified, by outcome");
    text.sample("trefoil_proofs_total", "{outcome=\"accepted\"}", accepted);
    text.sample("trefoil_proofs_total", "{outcome=\"refused\"}", refused);
    let help = "Proof uploads that ended before a verification: refused for credit_exhausted, too_many_open, malformed, stale, queue_full, late; abandoned by \
                their caller; or that needed none, because the proof was known, or by that of another upload (joined)";
    text.family("trefoil_proof_uploads_total", "counter", help);
    for (event, count) in counters.events() {
        text.sample("trefoil_proof_uploads_total", &format!("{{event=\"{event}\"}}"), count as f64);
    }
    let [wait, verify] = counters.durations();
    for (name, help, durations) in [
        ("trefoil_proof_wait_seconds", "Time of a proof in the queue before its verification", wait),
        ("trefoil_proof_verify_seconds", "Time of a verification", verify),
    ] {
        text.family(name, "summary", help);
        text.summary(name, "", durations);
    }
    let ProofGauges { depth, open } = *gauges;
    text.single("trefoil_proof_queue_depth", "gauge", "Proofs that wait for a thread", depth as f64);
    text.single("trefoil_proof_uploads_open", "gauge", "Proof uploads admitted and unanswered", open as f64);
}
