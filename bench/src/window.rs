//! One window of a closed loop: rates and times of what was sealed in it.

use serde_json::{Value, json};
use trefoil_pipeline::StageTimes;

use crate::Failure;
use crate::distribution::{Distribution, Times, rounded};
use crate::seals::SealEntry;

/// One window, from the last seal before its start to the last seal before its end, so that a seal of
/// thousands of lanes falls neither half inside nor half outside.
pub(crate) struct Window {
    seconds: f64,
    lanes: u64,
    seals: u64,
    batches: u64,
    /// Per batch of 32.
    pub(crate) stages: Times,
    /// Per seal, whatever it covers.
    seal: Distribution,
}

/// The window between two times on the clock of the seals.
///
/// # Errors
/// When nothing was sealed in it.
pub(crate) fn window(seals: &[SealEntry], [from_ns, to_ns]: [u64; 2]) -> Result<Window, Failure> {
    let (first, last) =
        (seals.partition_point(|s| s.at_ns <= from_ns), seals.partition_point(|s| s.at_ns <= to_ns));
    if first == 0 || last == first {
        return Err(Failure::fault("nothing was sealed in a window: the sealer has stopped"));
    }
    let inside = &seals[first..last];
    let batches: usize = inside.iter().map(|seal| seal.batches.len()).sum();
    Ok(Window {
        seconds: (inside[inside.len() - 1].at_ns - seals[first - 1].at_ns) as f64 / 1e9,
        lanes: inside.iter().map(|seal| seal.lanes).sum(),
        seals: inside.len() as u64,
        batches: batches as u64,
        stages: stages(inside.iter().flat_map(|seal| &seal.batches).zip(inside.iter().flat_map(seal_shares))),
        seal: Distribution::of_ns(inside.iter().map(|seal| seal.seal_ns)),
    })
}

/// Each batch's share of its seal, which costs the same for one batch and for a thousand.
fn seal_shares(seal: &SealEntry) -> impl Iterator<Item = u64> {
    let batches = seal.batches.len();
    std::iter::repeat_n(seal.seal_ns / batches.max(1) as u64, batches)
}

/// The stages of batches, each with its time of sealing; the total is their sum, batch by batch.
pub(crate) fn stages<'a>(batches: impl Iterator<Item = (&'a StageTimes, u64)>) -> Times {
    let times = batches.map(|(times, seal)| {
        let StageTimes { proof_lookup_ns, match_ns, key_holder_ns, digest_ns } = *times;
        let steps = match_ns + key_holder_ns + proof_lookup_ns + digest_ns;
        [match_ns, key_holder_ns, proof_lookup_ns, digest_ns, seal, steps + seal]
    });
    let times: Vec<_> = times.collect();
    let names = ["match", "keyholder", "proof_lookup", "digest", "seal", "total"].into_iter().enumerate();
    Times(
        names
            .map(|(at, name)| (name.to_owned(), Distribution::of_ns(times.iter().map(|of| of[at]))))
            .collect(),
    )
}

impl Window {
    pub(crate) fn auth_per_s(&self) -> f64 {
        self.lanes as f64 / self.seconds
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "auth_per_s": rounded(self.auth_per_s()), "seals_per_s": rounded(self.seals as f64 / self.seconds),
            "batches_per_seal": rounded(self.batches as f64 / self.seals as f64),
            "seconds": rounded(self.seconds), "lanes": self.lanes, "seals": self.seals,
            "lanes_per_batch": rounded(self.lanes as f64 / self.batches as f64),
            "stages_us": self.stages.each(|runs| json!(rounded(runs.median()))), "seal_us": rounded(self.seal.median()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(at_ns: u64, lanes: u64) -> SealEntry {
        let batches = vec![Default::default(); lanes as usize / 32];
        SealEntry { at_ns, lanes, seal_ns: 1_000, batches }
    }

    #[test]
    fn a_window_reaches_from_seal_to_seal() {
        let seals = [seal(900, 32), seal(1_900, 64), seal(2_900, 64), seal(3_900, 32)];
        let window = window(&seals, [1_000, 3_000]).expect("seals");
        assert_eq!((window.lanes, window.seals, window.batches), (128, 2, 4));
        assert!((window.seconds - 2e-6).abs() < 1e-12);
        assert_eq!(window.json()["batches_per_seal"], 2.0);
    }

    #[test]
    fn a_window_without_a_seal_or_a_start_is_refused() {
        assert!(window(&[seal(900, 32)], [1_000, 2_000]).is_err());
        assert!(window(&[seal(1_500, 32)], [1_000, 2_000]).is_err(), "no seal before its start");
        assert!(window(&[], [0, 1]).is_err());
    }
}
