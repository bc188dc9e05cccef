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
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_their_weights() {
        let zipf = Zipf::new(4, 1.0);
        let mut rng = StdRng::seed_from_u64(1);
        let mut counts = [0.0_f64; 4];
        for _ in 0..100_000 {
            counts[zipf.sample(&mut rng)] += 1.0;
        }
        // 1, 1/2, 1/3, 1/4 of 25/12.
        for (count, share) in counts.iter().zip([0.48, 0.24, 0.16, 0.12]) {
            // Eight standard deviations.
            assert!((count / 100_000.0 - share).abs() < 0.013, "{counts:?}");
        }
    }
}
