//! Reading a template with yes-or-no questions, as cheaply as a ledger of attempts and failures allows.
//!
//! Two coordinates make one number, `175 a + b`. Questions "is it at least v?" are put where a "no" is as likely as failures are among
//! the attempts that remain, so that each answer carries as much information as it can.

use trefoil_matching::{Embedding, MatchJob};

use super::forge::Forgery;
use super::ground::{Ground, Told};
use crate::Failure;

/// No coordinate is larger.
const LARGEST: i32 = 80;
const WEIGHT: i32 = 175;
/// Standard deviation of a coordinate.
const DEVIATION: f64 = 15.47;
/// How likely the next answer is to be "no".
const RISK: f64 = 0.05;

/// See the module.
pub(super) struct Quantiles {
    pair: usize,
    /// What the number may be, from the least on, with its probability.
    prior: Vec<f64>,
    from: usize,
    to: usize,
    job: Option<Forgery>,
}

impl Quantiles {
    pub(super) fn new() -> Quantiles {
        let prior = prior();
        Quantiles { pair: 0, from: 0, to: prior.len(), prior, job: None }
    }

    /// Forgets the masked batch: keys have changed.
    pub(super) fn forget(&mut self) {
        self.job = None;
    }

    /// The next question: the least number that would be answered "yes", and the job.
    pub(super) fn question(&mut self, ground: &mut Ground) -> Result<(usize, MatchJob), Failure> {
        if self.job.is_none() {
            let job = ground.about_victim(&probe(self.pair)?)?;
            self.job = Some(Forgery::of(&job));
        }
        let at = self.quantile();
        let honest = self.job.as_ref().ok_or_else(|| Failure::fault("there is a job"))?;
        let mut forgery = Forgery::of(&honest.job()?);
        let threshold = ground.policy().threshold;
        forgery.shift(ground.victim.lane, threshold - number(at));
        Ok((at, forgery.job()?))
    }

    /// The information in an answer to it.
    pub(super) fn learn(&mut self, ground: &mut Ground, at: usize, told: Told) {
        let Told::Decided(lanes) = told else { return };
        if lanes.contains(ground.victim.lane) {
            self.from = at;
        } else {
            self.to = at;
        }
        if self.to - self.from == 1 {
            self.end(ground);
            if self.pair + 1 < 64 {
                *self = Quantiles { pair: self.pair + 1, ..Quantiles::new() };
            }
        }
    }

    /// Records the knowledge about this pair.
    pub(super) fn end(&self, ground: &mut Ground) {
        let mass: f64 = self.prior[self.from..self.to].iter().sum();
        let (from, to) = (number(self.from), number(self.to));
        ground.learned(2 * self.pair, -mass.log2(), |b, a| (from..to).contains(&(WEIGHT * a + b)));
    }

    /// The place below which lies the risk, and at least one number.
    fn quantile(&self) -> usize {
        let mass: f64 = self.prior[self.from..self.to].iter().sum();
        let mut below = 0.0;
        for at in self.from..self.to - 1 {
            below += self.prior[at];
            if below >= RISK * mass {
                return at + 1;
            }
        }
        self.to - 1
    }
}

/// The number at a place of the prior.
fn number(at: usize) -> i32 {
    at as i32 - (WEIGHT * LARGEST + LARGEST)
}

fn prior() -> Vec<f64> {
    let one: Vec<f64> =
        (-LARGEST..=LARGEST).map(|x| (-0.5 * (f64::from(x) / DEVIATION).powi(2)).exp()).collect();
    let sum: f64 = one.iter().sum();
    let mut prior = vec![0.0; (2 * (WEIGHT * LARGEST + LARGEST) + 1) as usize];
    for (a, p) in one.iter().enumerate() {
        for (b, q) in one.iter().enumerate() {
            prior[WEIGHT as usize * a + b] = p * q / (sum * sum);
        }
    }
    prior
}

/// 175 in one coordinate and 1 in the one before.
fn probe(pair: usize) -> Result<Embedding, Failure> {
    let mut vector = [0f32; 128];
    (vector[2 * pair], vector[2 * pair + 1]) = (1.0, WEIGHT as f32);
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}
