//! Reads one by one: how long the middle one and the slowest of a hundred take, how often the system took the processor from a reader, and
//! what that costs, with a writer and without.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::runs::{Run, Switches, WANTED, is_wanted};
use super::subjects::{Reader, Registry};
use crate::distribution::{Distribution, rounded};

/// Reads that one thread times in one run. More would not fit into a core's cache, and would be what is measured.
const TIMED_MAX: usize = 20_000;

/// Times of single reads, nanoseconds, the reading of the clock included.
#[derive(Default)]
pub(super) struct Timed(Vec<u32>);

impl Timed {
    pub(super) fn with_room() -> Self {
        Timed(Vec::with_capacity(TIMED_MAX))
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= TIMED_MAX
    }

    /// One read; whether it was wrong.
    pub(super) fn read(&mut self, reader: &mut dyn Reader) -> u64 {
        let began = Instant::now();
        let wrong = reader.read_many(black_box(WANTED), 1, &mut |entry| u64::from(!is_wanted(entry)));
        let ns = began.elapsed().as_nanos();
        self.0.push(u32::try_from(ns).unwrap_or(u32::MAX));
        wrong
    }

    pub(super) fn add(&mut self, mut other: Timed) {
        self.0.append(&mut other.0);
    }

    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        rank.checked_sub(1).map_or(f64::NAN, |at| f64::from(sorted[at]))
    }
}

/// A registry that costs nothing: what is left of a timed read is the clock.
struct Nothing;

impl Reader for Nothing {
    fn read_many(&mut self, _: u64, _: u64, judge: &mut dyn FnMut(Option<u64>) -> u64) -> u64 {
        judge(black_box(Some(WANTED << 32)))
    }
}

/// The middle time of a read that does nothing.
pub(super) fn floor_ns() -> f64 {
    let mut timed = Timed::with_room();
    while !timed.is_full() {
        timed.read(&mut Nothing);
    }
    timed.percentile(50)
}

/// The runs of one registry with one number of threads, with a writer or without.
pub(super) struct Closely<'a> {
    pub(super) registry: &'a dyn Registry,
    pub(super) threads: usize,
    pub(super) writes: bool,
    /// Whose reads were not timed: for processor time and switches.
    untimed: Vec<Run>,
    timed: Vec<Run>,
    /// Of the reads that were timed: the middle, and the slowest of a hundred.
    percentiles: Vec<[f64; 2]>,
}

impl Closely<'_> {
    /// Every run.
    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.untimed.iter().chain(&self.timed)
    }

    /// With a writer or without, as records call it.
    pub(super) fn name(&self) -> &'static str {
        if self.writes { "with_writer" } else { "without_writer" }
    }

    fn over(&self, figure: impl Fn(&Run) -> f64) -> Distribution {
        Distribution::new(self.untimed.iter().map(figure).collect())
    }

    fn percentile(&self, at: usize) -> Distribution {
        Distribution::new(self.percentiles.iter().map(|percentiles| percentiles[at]).collect())
    }

    pub(super) fn json(&self) -> Value {
        let per_s = |count: fn(&Switches) -> u64| {
            move |run: &Run| count(&run.switches) as f64 / run.wall.as_secs_f64()
        };
        let mut fields = Map::new();
        for (name, figure) in [
            ("p50_ns", self.percentile(0)),
            ("p99_ns", self.percentile(1)),
            ("cpu_ns_per_read", self.over(Run::cpu_ns_per_read)),
            ("million_per_s", self.over(Run::million_per_s)),
            ("voluntary_switches_per_s", self.over(per_s(|switches| switches.voluntary))),
            ("involuntary_switches_per_s", self.over(per_s(|switches| switches.involuntary))),
        ] {
            fields.insert(name.into(), json!(rounded(figure.median())));
            fields.insert(format!("{name}_runs"), figure.runs_json());
        }
        fields.into()
    }

    pub(super) fn line(&self) -> String {
        let all =
            |run: &Run| (run.switches.voluntary + run.switches.involuntary) as f64 / run.wall.as_secs_f64();
        format!(
            "  {:<18} {:>3} threads, {:<14}  p50 {:>6.0} ns, p99 {:>8.0} ns, {:>8.0} switches/s\n",
            self.registry.name(),
            self.threads,
            self.name().replace('_', " "),
            self.percentile(0).median(),
            self.percentile(1).median(),
            self.over(all).median()
        )
    }
}

/// Every registry with every number of threads, with a writer and without. `run` is told the registry, threads, whether to write and
/// whether to time the reads.
pub(super) fn measure<'a>(
    registries: &[&'a dyn Registry],
    threads: &[usize],
    rounds: usize,
    run: impl Fn(&dyn Registry, usize, bool, bool) -> (Run, Timed),
) -> Vec<Closely<'a>> {
    let mut all = Vec::new();
    for &registry in registries {
        let cell = |threads: usize, writes: bool| Closely {
            registry,
            threads,
            writes,
            untimed: Vec::new(),
            timed: Vec::new(),
            percentiles: Vec::new(),
        };
        all.extend(threads.iter().flat_map(|&threads| [cell(threads, true), cell(threads, false)]));
    }
    for round in 0..rounds {
        eprintln!("registry, read by read: round {} of {rounds}", round + 1);
        let measure = |of: &mut Closely<'_>| {
            of.untimed.push(run(of.registry, of.threads, of.writes, false).0);
            let (timed, times) = run(of.registry, of.threads, of.writes, true);
            of.timed.push(timed);
            of.percentiles.push([times.percentile(50), times.percentile(99)]);
        };
        if round % 2 == 0 {
            all.iter_mut().for_each(measure);
        } else {
            all.iter_mut().rev().for_each(measure);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_single_reads() {
        let mut timed = Timed((1..=100).collect());
        timed.add(Timed((101..=200).collect()));
        assert_eq!((timed.percentile(50), timed.percentile(99)), (100.0, 198.0));
        assert!(Timed::default().percentile(50).is_nan() && floor_ns() >= 0.0);
    }
}
