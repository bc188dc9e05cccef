//! How far from failure a batch is: vectors of maximal length, decrypted and compared, in every mode.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use trefoil_bfv::{DIM, Decryptor, Embedding, LANES, Masker, Params, Share, T, noise};
use trefoil_kernels::Tier;

use crate::Failure;
use crate::Report;
use crate::distribution::rounded;
use crate::roles::{ProbeMode, Store, scheme};

/// How many lanes to decrypt in each mode.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    /// Lanes with probes in the clear.
    pub lanes: usize,
    /// Lanes with shared probes.
    pub shared_lanes: usize,
    /// Seed of keys and probes; the matcher's randomness is fresh.
    pub seed: u64,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// The result of one mode.
struct Tally {
    name: &'static str,
    lanes: usize,
    failures: usize,
    largest_error: f64,
    /// The largest error that this mode can have at all.
    bound: u128,
}

/// Decrypts batches of the longest vectors and compares every score with the clear.
///
/// # Errors
/// When the store cannot be made or a step refuses. Wrong scores and a margin that is too small are in the report.
pub fn margin(parameters: &Margin) -> Result<Report, Failure> {
    let mut rng = StdRng::seed_from_u64(parameters.seed);
    let tallies = [(ProbeMode::Plain, parameters.lanes), (ProbeMode::Shared, parameters.shared_lanes)]
        .into_iter()
        .map(|(mode, lanes)| tally(mode, lanes, parameters.tier, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(report(parameters, &tallies))
}

fn tally(mode: ProbeMode, lanes: usize, tier: Tier, rng: &mut StdRng) -> Result<Tally, Failure> {
    let scheme = scheme(tier);
    let templates = (0..LANES).map(|_| longest(rng)).collect::<Result<Vec<_>, _>>()?;
    let store = Store::new(&scheme, mode, templates.iter().cloned(), rng)?;
    let (mut masker, mut decryptor) = (Masker::new(&scheme, rand::random()), Decryptor::new(&scheme));
    let users: Vec<usize> = (0..LANES).collect();
    let flooded = if mode == ProbeMode::Shared { noise::HONEST_PRODUCT_MAX } else { noise::HONEST_MAX };
    let (batches, bound) = (lanes.div_ceil(LANES), noise::FLOOD_MAX + flooded);
    let mut tally =
        Tally { name: mode.name(), lanes: LANES * batches, failures: 0, largest_error: 0.0, bound };
    for _ in 0..batches {
        // The template itself, its opposite, or another: the largest scores of either sign, and those between.
        let probes = templates
            .iter()
            .map(|template| match rng.random_range(0..3) {
                0 => Ok(template.clone()),
                1 => opposite(template),
                _ => longest(rng),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let masked = match mode {
            ProbeMode::Plain => store.mask(&mut masker, &users, &probes)?,
            ProbeMode::Shared => {
                let shares: Vec<_> = probes.iter().map(|probe| Share::of(probe).split(rng)).collect();
                let encrypted = store.encrypt(&shares, rng).ok_or_else(|| Failure::fault("no tenant key"))?;
                store.mask_shared(&mut masker, &users, &shares, &encrypted)?
            }
        };
        let opened = store.open(&mut decryptor, &users, &masked)?;
        let right = templates.iter().zip(&probes).map(|(template, probe)| template.dot(probe));
        tally.failures +=
            opened.scores().iter().zip(right).filter(|(score, right)| **score != *right).count();
        tally.largest_error =
            opened.errors().iter().fold(tally.largest_error, |max, error| max.max(error.abs()));
    }
    Ok(tally)
}

/// Signs at random on a vector whose coordinates round up by nearly a half: almost the longest that there is.
fn longest(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let shape = |k: usize| if k < 123 { 15.5001 } else { 14.5001 };
    let vector: [f32; DIM] = std::array::from_fn(|k| if rng.random() { shape(k) } else { -shape(k) });
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}

fn opposite(vector: &Embedding) -> Result<Embedding, Failure> {
    Embedding::quantise(&vector.values().map(|x| -f32::from(x))).map_err(Failure::in_step("quantiser"))
}

impl Tally {
    /// Bits from the largest error to the limit of correct decryption.
    fn margin_bits(&self) -> f64 {
        (limit() / self.largest_error).log2()
    }

    fn guaranteed_bits(&self) -> f64 {
        (limit() / self.bound as f64).log2()
    }

    /// Bits from the largest error before flooding that is possible at all.
    fn unflooded_bits(&self) -> f64 {
        (limit() / (self.bound - noise::FLOOD_MAX) as f64).log2()
    }

    fn json(&self) -> Value {
        json!({
            "lanes": self.lanes, "failures": self.failures,
            "margin_bits": rounded(self.margin_bits()),
            "guaranteed_margin_bits": rounded(self.guaranteed_bits()),
            "guaranteed_margin_bits_before_flooding": rounded(self.unflooded_bits()),
        })
    }
}

/// Decryption is correct below this error.
fn limit() -> f64 {
    Params::lanes94().modulus() as f64 / (2.0 * T as f64)
}

fn report(parameters: &Margin, tallies: &[Tally]) -> Report {
    let modes: Map<String, Value> =
        tallies.iter().map(|tally| (tally.name.to_owned(), tally.json())).collect();
    let failures: usize = tallies.iter().map(|tally| tally.failures).sum();
    let least = tallies.iter().map(Tally::margin_bits).fold(f64::INFINITY, f64::min);
    let result = json!({
        "modes": modes, "failures": failures, "min_margin_bits": rounded(least),
        "seed": parameters.seed, "tier": parameters.tier.name(),
    });
    let mut summary = String::from("lanes at maximal norm: failures, bits of margin (guaranteed)\n");
    for tally in tallies {
        summary.push_str(&format!(
            "  {:<18} {:>9} lanes: {} failures, {:.2} bits ({:.2})\n",
            tally.name,
            tally.lanes,
            tally.failures,
            tally.margin_bits(),
            tally.guaranteed_bits()
        ));
    }
    let problem = if failures > 0 {
        Some(format!("{failures} lanes have wrong scores"))
    } else {
        (least < f64::from(noise::MARGIN_BITS)).then(|| format!("the margin is {least:.2} bits"))
    };
    Report { summary, result, problem }
}
