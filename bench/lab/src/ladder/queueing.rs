//! The published ladder read backwards: how much of an authentication must have been serial.
//!
//! A closed network: `N` workers each work for `Z` on their own and then visit queues, one for each contended lock, with
//! demands `D`. Its throughput by exact mean value analysis (Reiser and Lavenberg, 1980) rises with each demand's fall, so
//! the published figures, taken in their order, give the demands one by one. The asymptotes `N / (Z + sum D)` and
//! `1 / max D` meet at the knee, `(Z + sum D) / max D` workers: where waiting begins to bite.
//!
//! Computed from published figures; nothing of it is measured here.

use serde_json::{Value, json};

use crate::distribution::rounded;

/// Workers of the published ladder.
const WORKERS: usize = 96;
/// Authentications per second: raw map, after all fixes.
const RAW: f64 = 1_708_400.0;
const FIXED: f64 = 1_667_875.0;
/// The published rungs from the last to the first, with each one's additional queue.
const RUNGS: [(&str, &str, f64); 3] = [
    ("lock_free_histograms", "pattern log", 1_400_000.0),
    ("atomic_statistics", "histogram", 395_816.0),
    ("three_locks", "statistics", 183_828.0),
];

const LABEL: &str = "computed from the published ladder by mean value analysis, not measured here";

/// Throughput of `workers` with think time `think` and queues of these demands, per unit of time.
fn throughput(workers: usize, think: f64, demands: &[f64]) -> f64 {
    let mut queued = vec![0.0; demands.len()];
    let mut rate = 0.0;
    for n in 1..=workers {
        let residence: Vec<f64> =
            demands.iter().zip(&queued).map(|(demand, queued)| demand * (1.0 + queued)).collect();
        rate = n as f64 / (think + residence.iter().sum::<f64>());
        queued = residence.iter().map(|time| rate * time).collect();
    }
    rate
}

/// A rung: the serial time that its queue adds, and the knee with it, in microseconds and workers.
struct Solved {
    name: &'static str,
    queue: &'static str,
    serial_us: f64,
    knee: f64,
}

/// Microseconds that a worker works on its own, and the rungs from the last to the first.
fn solve() -> (f64, Vec<Solved>) {
    let think = 1e6 * WORKERS as f64 / FIXED;
    let mut demands: Vec<f64> = Vec::new();
    let solved = RUNGS.map(|(name, queue, published)| {
        let (mut low, mut high) = (0.0, 1e6 / published);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            demands.push(middle);
            let rate = 1e6 * throughput(WORKERS, think, &demands);
            demands.pop();
            if rate > published { low = middle } else { high = middle }
        }
        demands.push(low);
        let longest = demands.iter().copied().fold(0.0, f64::max);
        Solved { name, queue, serial_us: low, knee: (think + demands.iter().sum::<f64>()) / longest }
    });
    (think, solved.into())
}

/// For the record.
pub fn json() -> Value {
    let (think, solved) = solve();
    let one = |rung: &Solved| {
        json!({
            "rung": rung.name, "queue": rung.queue,
            "serial_us_per_authentication": rounded(rung.serial_us), "knee_workers": rounded(rung.knee),
        })
    };
    json!({
        "label": LABEL, "published_workers": WORKERS, "published_raw_auth_per_s": RAW,
        "own_us_per_authentication": rounded(think),
        "rungs": solved.iter().map(one).collect::<Vec<_>>(),
    })
}

/// For people.
pub fn text() -> String {
    let (_, solved) = solve();
    let knees: Vec<String> = solved
        .iter()
        .rev()
        .map(|rung| format!("{} from {:.0} workers ({:.2} us)", rung.name, rung.knee, rung.serial_us))
        .collect();
    format!(
        "  Where it begins to bite on the published machine, with the serial time that its figures imply ({LABEL}): {}.\n",
        knees.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_value_analysis_has_its_known_answers() {
        // No queue: N over Z. One customer: 1 over (Z + D). Two customers, one queue, Z = 0: 1 over D.
        assert!((throughput(5, 10.0, &[]) - 0.5).abs() < 1e-12);
        assert!((throughput(1, 3.0, &[1.0]) - 0.25).abs() < 1e-12);
        assert!((throughput(2, 0.0, &[2.0]) - 0.5).abs() < 1e-12);
        // Machine repair, N = 2, Z = D = 1: 2 / (1 + 1.5).
        assert!((throughput(2, 1.0, &[1.0]) - 0.8).abs() < 1e-12);
        // Saturation: the longest demand's inverse.
        assert!((throughput(1_000, 10.0, &[1.0, 0.5]) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_published_ladder_gives_its_demands_and_knees() {
        let (think, solved) = solve();
        assert!((think - 57.558).abs() < 1e-3);
        for (rung, (serial, knee)) in solved.iter().zip([(0.705, 83.0), (2.526, 24.0), (5.440, 12.0)]) {
            assert!((rung.serial_us - serial).abs() < 0.005, "{} {}", rung.name, rung.serial_us);
            assert!((rung.knee - knee).abs() < 0.6, "{} {}", rung.name, rung.knee);
        }
    }
}
