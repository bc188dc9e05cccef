//! Requests whose popularity falls as a power of the rank.

use rand::RngExt as _;
use rand::rngs::StdRng;

/// Ranks from 0, rank `r` with probability proportional to `1 / (r + 1)^exponent`.
pub(crate) struct Zipf {
    /// Probability of a rank no higher than this one, unnormalised.
    cumulative: Vec<f64>,
}

impl Zipf {
    pub(crate) fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weight = |rank: usize| ((rank + 1) as f64).powf(-exponent);
        let cumulative = (0..ranks)
            .map(|rank| {
                sum += weight(rank);
                sum
            })
            .collect();
        Zipf { cumulative }
    }

    pub(crate) fn sample(&self, rng: &mut StdRng) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let point = rng.random::<f64>() * total;
        self.cumulative.partition_point(|&sum| sum <= point).min(self.cumulative.len() - 1)
    }

    /// Probability of the `ranks` most popular: the hit ratio of the best choice that never changes.
    pub(super) fn share_of(&self, ranks: usize) -> f64 {
        let of = |rank: usize| self.cumulative.get(rank.wrapping_sub(1)).copied().unwrap_or(0.0);
        of(ranks) / of(self.cumulative.len())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_their_weights() {
        let zipf = Zipf::new(4, 1.0);
        // 1, 1/2, 1/3, 1/4 of 25/12.
        assert!((zipf.share_of(1) - 0.48).abs() < 1e-12);
        assert!((zipf.share_of(2) - 0.72).abs() < 1e-12);
        assert_eq!((zipf.share_of(0), zipf.share_of(4)), (0.0, 1.0));
        let mut rng = StdRng::seed_from_u64(1);
        let mut counts = [0.0_f64; 4];
        for _ in 0..100_000 {
            counts[zipf.sample(&mut rng)] += 1.0;
        }
        for (count, share) in counts.iter().zip([0.48, 0.24, 0.16, 0.12]) {
            // Eight standard deviations.
            assert!((count / 100_000.0 - share).abs() < 0.013, "{counts:?}");
        }
    }
}
