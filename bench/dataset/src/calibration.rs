//! What photographs show of a model: how often its right people are refused and strangers accepted, with intervals.

use crate::protocol::{template, unit};
use crate::{Accuracy, Photographs, Point, Protocol, ProtocolError, ScoreMatrix};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::HashMap;
use zeroize::{Zeroize, Zeroizing};

/// k of the false-match rates 10^-k that are examined.
pub const CLASSES: [u8; 3] = [2, 3, 4];
/// Most comparisons of an experiment: with two experiments they take a gigabyte.
pub const COMPARISONS_MAX: usize = 1 << 25;
/// Resamples behind an interval, each with a seed of its own.
pub const RESAMPLES: usize = 1000;
/// Of a score before quantising: the cosine times this, rounded.
pub const COSINE_ONE: f64 = (1 << 30) as f64;
/// Pairs of strangers that a class accepts by chance, at least, for its rate to be shown.
pub const FALSE_MATCHES_SHOWN: f64 = 30.0;
/// Largest ratio of a rate that is shown to either end of its interval.
const SPREAD_SHOWN: f64 = 3.0;
/// Strangers below the loosest class that a resample looks at: enough for an interval of the equal error rate.
const STRANGERS_BELOW_MAX: usize = 500_000;
/// Rows that a block of scores shares, so that it reads each template once.
const BLOCK: usize = 16;

/// A share, and the ends of its 95 % interval: those of 1,000 resamples of the people. Of a share of zero it ends at three divided by the number
/// of people, or of pairs of strangers.
pub type Estimate = [f64; 3];

/// What the threshold of a false-match class does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassFigures {
    /// k of the false-match rate 10^-k.
    pub class: u8,
    /// The smallest score with at most this false-match rate.
    pub threshold: i32,
    /// Share of the right people's photographs that it refuses.
    pub refused: Estimate,
    /// Share of the pairs of strangers that it accepts.
    pub accepted: Estimate,
    /// Whether the set is large enough to show the rate: it accepts 30 pairs of strangers, and the interval is within a factor of three of it.
    pub shown: bool,
}

/// The figures of one kind of scores.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The scores.
    pub accuracy: Accuracy,
    /// Where as many strangers are accepted as right people refused.
    pub equal_error_rate: Estimate,
    /// In the order of [`CLASSES`].
    pub classes: [ClassFigures; 3],
}

/// One way to enrol the people of a set, and all comparisons.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// How people are enrolled.
    pub protocol: Protocol,
    /// People who are enrolled.
    pub people: usize,
    /// Of cosines, in units of `1 /` [`COSINE_ONE`].
    pub vectors: Figures,
    /// Of scores as the matcher has them.
    pub quantised: Figures,
}

impl Experiment {
    /// Enrols each person by `protocol`, and compares every other photograph with every template. With three photographs, people who have fewer than
    /// four are left out. `step` is called at most twice for each photograph and each resample.
    ///
    /// # Errors
    /// [`ProtocolError`], but for too few rows of one person.
    pub fn run(
        photographs: &Photographs,
        protocol: Protocol,
        step: &(dyn Fn() + Sync),
    ) -> Result<Self, ProtocolError> {
        let mut counts = HashMap::new();
        photographs.persons().iter().for_each(|person| *counts.entry(*person).or_insert(0) += 1);
        let rows_min = if protocol == Protocol::Enrol1 { 1 } else { protocol.photos() + 1 };
        let rows = photographs.persons().iter().copied().enumerate();
        let (enrolled, probes) = protocol.divide(rows.filter(|(_, person)| counts[person] >= rows_min));
        let people = enrolled.len();
        let few = || ProtocolError::TooFew { people, probes: probes.len(), protocol };
        if people < 2 || probes.is_empty() {
            return Err(few());
        }
        if people.saturating_mul(probes.len()) > COMPARISONS_MAX {
            return Err(ProtocolError::TooMany(people * probes.len()));
        }
        let place: HashMap<i64, u32> = (0..).zip(&enrolled).map(|(at, (person, _))| (*person, at)).collect();
        let of: Vec<u32> = probes.iter().map(|row| place[&photographs.persons()[*row]]).collect();
        let template = |(person, rows): &(i64, Vec<usize>)| {
            let rows: Vec<&[f32]> = rows.iter().map(|row| photographs.row(*row)).collect();
            template(&rows).map(Zeroizing::new).ok_or(ProtocolError::ZeroLength { person: *person })
        };
        let templates: Vec<_> = enrolled.iter().map(template).collect::<Result<_, _>>()?;
        let templates: Vec<&[f32]> = templates.iter().map(|template| &template[..]).collect();
        let probes: Vec<&[f32]> = probes.iter().map(|row| photographs.row(*row)).collect();
        let scale = f64::from(photographs.padded().scale());
        let vectors = scores(&probes, &templates, |v| v, cosine, step);
        let vectors = Figures::of(&vectors, &of, step).ok_or_else(few)?;
        let quantised = scores(&probes, &templates, |v| (scale * v).round() as i16, inner_product, step);
        let quantised = Figures::of(&quantised, &of, step).ok_or_else(few)?;
        Ok(Self { protocol, people, vectors, quantised })
    }
}

/// The scores of all probes against all templates; `convert` takes a number of a vector of length one.
fn scores<T: Copy + Send + Sync + Zeroize>(
    probes: &[&[f32]],
    templates: &[&[f32]],
    convert: impl Fn(f64) -> T,
    dot: fn(&[T], &[T]) -> i32,
    step: &(dyn Fn() + Sync),
) -> ScoreMatrix {
    let width = templates[0].len();
    let converted = |rows: &[&[f32]]| {
        let mut values = Zeroizing::new(Vec::with_capacity(rows.len() * width));
        for row in rows {
            let unit = unit(row.iter().map(|&v| v.into()).collect()).expect("no row is zero");
            values.extend(unit.iter().map(|v| convert(*v)));
        }
        values
    };
    let columns = templates.len();
    let (probes, templates) = (converted(probes), converted(templates));
    let mut scores = vec![0; probes.len() / width * columns];
    let blocks = scores.par_chunks_mut(BLOCK * columns).zip(probes.par_chunks(BLOCK * width));
    blocks.for_each(|(scores, probes)| {
        for (column, template) in templates.chunks_exact(width).enumerate() {
            for (row, probe) in probes.chunks_exact(width).enumerate() {
                scores[row * columns + column] = dot(probe, template);
            }
        }
        probes.chunks_exact(width).for_each(|_| step());
    });
    ScoreMatrix::new(probes.len() / width, columns, scores).expect("one score for each pair")
}

fn inner_product(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// In units of `1 /` [`COSINE_ONE`].
fn cosine(a: &[f64], b: &[f64]) -> i32 {
    (COSINE_ONE * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()).round() as i32
}

/// A score, and the people of the probe and of the template.
#[derive(Clone, Copy)]
struct Comparison {
    score: i32,
    probe: u32,
    template: u32,
}

impl Figures {
    /// `of` is the person of each probe. `None` unless there are own photographs and strangers.
    fn of(scores: &ScoreMatrix, of: &[u32], step: &(dyn Fn() + Sync)) -> Option<Self> {
        let accuracy = Accuracy::of(scores, |probe, template| of[probe] as usize == template)?;
        let (_, strangers) = accuracy.comparisons();
        let equal = accuracy.equal_error_rate();
        let points = CLASSES.map(|class| accuracy.at_accepted(strangers / 10_usize.pow(class.into())));
        let thresholds = points.map(|point| point.threshold);
        // Resamples look no further than this: the loosest class, and far enough for nearly all to reach their equal error rate.
        let most = (strangers / 100).max((4.0 * equal * strangers as f64) as usize + 10_000);
        let lowest = accuracy.at_accepted(most).threshold;
        // Below the loosest class, of many strangers only one in so many.
        let every = most / STRANGERS_BELOW_MAX + 1;
        let row = |probe: usize| {
            let all = (0..).zip(scores.row(probe)).map(move |(template, &score)| Comparison {
                score,
                probe: of[probe],
                template,
            });
            all.filter(move |one| {
                let kept = one.score >= thresholds[0] || one.probe == one.template;
                one.score >= lowest && (kept || (probe + one.template as usize).is_multiple_of(every))
            })
        };
        let mut best: Vec<Comparison> = (0..scores.probes()).into_par_iter().flat_map_iter(row).collect();
        best.par_sort_unstable_by_key(|comparison| Reverse(comparison.score));
        let mut own_of = vec![0; scores.templates()];
        of.iter().for_each(|person| own_of[*person as usize] += 1);
        let resample = |seed: usize| {
            step();
            let mut rng = StdRng::seed_from_u64(seed as u64);
            let mut weights = vec![0; own_of.len()];
            own_of.iter().for_each(|_| weights[rng.random_range(0..own_of.len())] += 1);
            rates(&best, every as u64, &weights, &own_of, thresholds)
        };
        let resamples: Vec<Rates> = (0..RESAMPLES).into_par_iter().filter_map(resample).collect();
        let interval = |value: f64, counted_of: usize, rate: &dyn Fn(&Rates) -> f64| {
            let mut rates: Vec<f64> = resamples.iter().map(rate).collect();
            rates.sort_unstable_by(f64::total_cmp);
            let [low, high] = [25, 975].map(|per_mille| {
                rates.get(per_mille * rates.len().saturating_sub(1) / 1000).copied().unwrap_or(value)
            });
            let none_counted = if value == 0.0 { 3.0 / counted_of as f64 } else { 0.0 };
            [value, low, high.max(none_counted).min(1.0)]
        };
        let people = own_of.iter().filter(|own| **own > 0).count();
        let class = |at: usize| {
            let (class, Point { threshold, fmr, tar }) = (CLASSES[at], points[at]);
            let refused = interval(1.0 - tar, people, &|rates| rates.at[at].1);
            let accepted = interval(fmr, strangers, &|rates| rates.at[at].0);
            let enough = strangers as f64 / 10_f64.powi(class.into()) >= FALSE_MATCHES_SHOWN;
            let narrow = SPREAD_SHOWN * accepted[1] >= fmr && accepted[2] <= SPREAD_SHOWN * fmr;
            ClassFigures { class, threshold, refused, accepted, shown: enough && narrow }
        };
        let equal_error_rate = interval(equal, people, &|rates| rates.equal);
        Some(Self { equal_error_rate, classes: [0, 1, 2].map(class), accuracy })
    }
}

/// What one resample shows: shares of strangers accepted and of own photographs refused.
struct Rates {
    equal: f64,
    at: [(f64, f64); 3],
}

/// Counts `best`, in descending order of scores, with people taken as often as `weights` says: a probe and a template of the persons i and j count
/// as often as i was drawn, times, if they are strangers, how often j was. Below the last threshold `best` has one stranger in `every`. `own_of` has
/// the number of each person's probes. `None` if no own photographs or no strangers were drawn.
fn rates(
    best: &[Comparison],
    every: u64,
    weights: &[u32],
    own_of: &[u32],
    thresholds: [i32; 3],
) -> Option<Rates> {
    let sum = |value: fn(u64, u64) -> u64| -> u64 {
        weights.iter().zip(own_of).map(|(weight, own)| value((*weight).into(), (*own).into())).sum()
    };
    let all_own = sum(|weight, own| weight * own);
    let all_strangers = all_own * sum(|weight, _| weight) - sum(|weight, own| weight * weight * own);
    if all_own == 0 || all_strangers == 0 {
        return None;
    }
    let shares = |(own, strangers): (u64, u64)| {
        (strangers as f64 / all_strangers as f64, 1.0 - own as f64 / all_own as f64)
    };
    let (mut counts, mut at, mut equal) = ((0, 0), [(0, 0); 3], None);
    for same in best.chunk_by(|a, b| a.score == b.score) {
        let (before, below) = (counts, same[0].score < thresholds[0]);
        if below && equal.is_some() {
            break;
        }
        for &Comparison { probe, template, .. } in same {
            let weight = u64::from(weights[probe as usize]);
            if probe == template {
                counts.0 += weight;
            } else {
                counts.1 += weight * u64::from(weights[template as usize]) * if below { every } else { 1 };
            }
        }
        at.iter_mut()
            .zip(thresholds)
            .filter(|(_, threshold)| same[0].score >= *threshold)
            .for_each(|(at, _)| *at = counts);
        if equal.is_none() {
            let ((fmr, fnmr), (next_fmr, next_fnmr)) = (shares(before), shares(counts));
            let (lacking, excess) = (fnmr - fmr, next_fmr - next_fnmr);
            equal = (excess >= 0.0).then(|| fmr + (next_fmr - fmr) * lacking / (lacking + excess));
        }
    }
    Some(Rates { equal: equal.unwrap_or(shares(counts).0), at: at.map(shares) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of two probes of each of three people with three templates.
    const SCORES: [[i32; 3]; 6] = [[9, 2, 7], [3, 1, 1], [4, 8, 2], [5, 6, 3], [1, 4, 9], [7, 2, 5]];

    #[test]
    fn a_resample_is_the_experiment_with_people_as_often_as_they_were_drawn() {
        let mut best: Vec<Comparison> = Vec::new();
        for (at, row) in SCORES.iter().enumerate() {
            best.extend((0..).zip(row).map(|(template, &score)| Comparison {
                score,
                probe: at as u32 / 2,
                template,
            }));
        }
        best.sort_unstable_by_key(|comparison| Reverse(comparison.score));
        for drawn in [vec![0, 1, 2], vec![0, 0, 1], vec![2, 1, 2]] {
            let mut weights = [0; 3];
            drawn.iter().for_each(|person| weights[*person] += 1);
            // Each drawn person is another one; copies of a person are not compared with each other.
            let (mut own, mut strangers) = (Vec::new(), Vec::new());
            for (a, probe) in drawn.iter().enumerate() {
                for (b, template) in drawn.iter().enumerate() {
                    let scores = [2 * probe, 2 * probe + 1].map(|row| SCORES[row][*template]);
                    if a == b {
                        own.extend(scores);
                    } else if probe != template {
                        strangers.extend(scores);
                    }
                }
            }
            let share = |of: &[i32], from: i32| {
                of.iter().filter(|score| **score >= from).count() as f64 / of.len() as f64
            };
            let rates = rates(&best, 1, &weights, &[2; 3], [4, 6, 8]).unwrap();
            let expected = [4, 6, 8].map(|from| (share(&strangers, from), 1.0 - share(&own, from)));
            assert_eq!(rates.at, expected, "{drawn:?}");
        }
        assert!(rates(&best, 1, &[3, 0, 0], &[2; 3], [4, 6, 8]).is_none(), "one person has no strangers");
        let scores = ScoreMatrix::new(6, 3, SCORES.concat()).unwrap();
        let accuracy = Accuracy::of(&scores, |probe, template| probe / 2 == template).unwrap();
        let all = rates(&best, 1, &[1; 3], &[2; 3], [4, 6, 8]).unwrap();
        assert_eq!(all.equal, accuracy.equal_error_rate());
    }
}
