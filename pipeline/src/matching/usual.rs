//! How long the matches of one worker take, so that a denial without a match can take as long.
//!
//! A key-holder refuses a subject without an attempt before it decrypts anything. Without a wait, the time of an answer would tell who has
//! the service's API key that this account is locked out.

use trefoil_matching::LANES;

/// The longest wait. A key-holder that takes longer is about to be given up.
const WAIT_MAX_NS: u64 = 100_000_000;

/// A moving average for each number of lanes, nanoseconds; zero while there was no such match.
pub(crate) struct Usual([u64; LANES + 1]);

impl Default for Usual {
    fn default() -> Usual {
        Usual([0; LANES + 1])
    }
}

impl Usual {
    /// Notes how long a match of so many lanes took.
    pub(crate) fn note(&mut self, lanes: usize, ns: u64) {
        let Some(usual) = self.0.get_mut(lanes) else { return };
        *usual = if *usual == 0 { ns } else { *usual - *usual / 8 + ns / 8 };
    }

    /// How long a match of so many lanes takes, as far as is known: if there was none, as long as one with the nearest number.
    pub(crate) fn of(&self, lanes: usize) -> u64 {
        let known = self.0.iter().enumerate().filter(|(_, usual)| **usual > 0);
        let nearest = known.min_by_key(|(other, _)| other.abs_diff(lanes));
        nearest.map_or(0, |(_, usual)| (*usual).min(WAIT_MAX_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_matches_of_its_number_of_lanes_or_else_of_the_nearest() {
        let mut usual = Usual::default();
        assert_eq!(usual.of(1), 0);
        usual.note(4, 800);
        assert_eq!([usual.of(1), usual.of(4), usual.of(32)], [800; 3]);
        usual.note(1, 400);
        assert_eq!([usual.of(2), usual.of(3)], [400, 800]);
        for _ in 0..64 {
            usual.note(1, 80_000);
        }
        assert!((79_000..=80_000).contains(&usual.of(1)), "{}", usual.of(1));
        usual.note(LANES, u64::MAX);
        assert_eq!(usual.of(LANES), WAIT_MAX_NS);
        usual.note(LANES + 1, 1);
        assert_eq!(usual.of(LANES + 1), WAIT_MAX_NS);
    }
}
