//! The models for which thresholds are calibrated.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) struct Calibrated {
    embedder: &'static str,
    class: u8,
    pub(crate) score: i32,
    /// Share of the own photographs below the score.
    pub(crate) refuses: f64,
}

pub(crate) fn calibrated(embedder: &str, class: u8) -> Option<&'static Calibrated> {
    CALIBRATED.iter().find(|known| known.embedder == embedder && known.class == class)
}

/// Scores per embedder and false-match class: 2,566 probes against 352 templates of LFW, one enrolment photo each,
/// thresholds at the empirical false-match rate. A set of this size does not establish rates below 1e-3: the score for
/// class 4 is the empirical one of this set, and no promise.
const CALIBRATED: [Calibrated; 3] = [
    Calibrated { embedder: "facenet-128", class: 2, score: 11_781, refuses: 0.0031 },
    Calibrated { embedder: "facenet-128", class: 3, score: 16_046, refuses: 0.0257 },
    Calibrated { embedder: "facenet-128", class: 4, score: 21_362, refuses: 0.2303 },
];

/// What may be given as embedder and threshold.
pub(crate) fn known() -> String {
    let known: Vec<String> =
        CALIBRATED.iter().map(|known| format!("{} {}", known.embedder, known.class)).collect();
    format!(
        "known are {} (a class of each); for another model give its name, and a score of your own calibration: \
         `{{\"calibrated\": {{\"score\": S, \"fmr_class\": K}}}}`, on the command line --score S --fmr-class K",
        known.join(", ")
    )
}
