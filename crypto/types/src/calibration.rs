//! The models for which thresholds are calibrated.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) struct Calibrated {
    embedder: &'static str,
    dimension: u32,
    /// The photographs it was calibrated with.
    set: &'static str,
    class: u8,
    pub(crate) score: i32,
    /// Share of the own photographs below the score.
    pub(crate) refuses: f64,
}

pub(crate) fn calibrated(embedder: &str, dimension: u32, class: u8) -> Option<&'static Calibrated> {
    CALIBRATED.iter().find(|of| (of.embedder, of.dimension, of.class) == (embedder, dimension, class))
}

const fn lfw(embedder: &'static str, dimension: u32, class: u8, score: i32, refuses: f64) -> Calibrated {
    Calibrated { embedder, dimension, set: "LFW", class, score, refuses }
}

/// Scores per embedder and false-match class, at the empirical false-match rate of photographs of LFW, one enrolment photo each: 2,566 probes
/// against 352 templates with FaceNet, 1,422 against 158 with ArcFace. Sets of this size do not establish rates below 1e-3: the scores for
/// class 4 are the empirical ones of these sets, and no promise.
const CALIBRATED: [Calibrated; 6] = [
    lfw("facenet-128", 128, 2, 11_781, 0.0031),
    lfw("facenet-128", 128, 3, 16_046, 0.0257),
    lfw("facenet-128", 128, 4, 21_362, 0.2303),
    lfw("arcface-512", 512, 2, 6_253, 0.0028),
    lfw("arcface-512", 512, 3, 8_496, 0.0042),
    lfw("arcface-512", 512, 4, 10_818, 0.0134),
];

/// What may be given as embedder and threshold.
pub(crate) fn known() -> String {
    let known: Vec<String> = CALIBRATED
        .iter()
        .map(|known| format!("{} ({}) {}", known.embedder, known.set, known.class))
        .collect();
    format!(
        "known are {} (a class of each); for another model give its name, and a score of your own calibration: \
         `{{\"calibrated\": {{\"score\": S, \"fmr_class\": K}}}}`, on the command line --score S --fmr-class K",
        known.join(", ")
    )
}
