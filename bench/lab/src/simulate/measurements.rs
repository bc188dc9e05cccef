//! Measurements on this machine, for the model and against it.

use serde_json::{Map, Value, json};

use super::calibrate::{Calibrator, Primitives};
use super::chains;
use super::prediction::{Calibration, Simulate, host, name, predicted_rungs};
use super::programs::Alone;
use crate::Failure;
use crate::distribution::{Distribution, rounded};
use crate::ladder::{Asked, LADDER, LockFamily, Lookups, PARTS, Rung, Stand};
use crate::paired::Interval;

/// Nanoseconds of each subject at each place; none where no run was undisturbed.
type Places = Vec<Vec<Option<f64>>>;

/// All measurements here, alternating, at one place in memory after another: how long a line takes depends on
/// where its home on the chip is, and on a virtual machine on where the processors are at the moment. Neither the
/// calibration nor the check may have lines or times that the other has not.
#[derive(Default)]
pub(super) struct Measurements {
    calibrator: Option<Calibrator>,
    /// Raw map and parts, one worker.
    parts: Places,
    /// Raw map and ladder, with one worker and with all.
    rungs: [Places; 2],
    pub workers: [usize; 2],
}

impl Measurements {
    /// Measures, which takes a minute or two.
    ///
    /// # Errors
    /// When this build has no DashMap.
    pub(super) fn take(parameters: &Simulate) -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = [1, cores];
        let [one, all] = workers.map(|workers| lookups(parameters, workers));
        let requests = one.requests();
        let mut measured = Measurements { calibrator: Calibrator::new(), workers, ..Measurements::default() };
        // They stay allocated, so that the next ones lie elsewhere.
        let mut stands: Vec<Stand> = Vec::new();
        for place in 0..parameters.instances {
            if place % 8 == 0 {
                eprintln!("calibrating and measuring: place {place} of {}", parameters.instances);
            }
            // The order is reversed from one place to the next, so that a machine that slowly changes favours no subject.
            let turned = place % 2 == 1;
            let (parts, ladder) = (one.stand(&PARTS)?, one.stand(&LADDER)?);
            if !turned {
                measured.calibrator.iter_mut().for_each(Calibrator::round);
            }
            measured.parts.push(parts.undisturbed_ns(&one, &requests, turned));
            measured.rungs[0].push(ladder.undisturbed_ns(&one, &requests, turned));
            measured.rungs[1].push(ladder.undisturbed_ns(&all, &requests, turned));
            if turned {
                measured.calibrator.iter_mut().for_each(Calibrator::round);
            }
            stands.extend([parts, ladder]);
        }
        Ok(measured)
    }

    /// None if the machine was too busy, or has one processor.
    pub(super) fn calibration(&self, seed: u64) -> Option<Calibration> {
        let primitives = self.calibrator.as_ref()?.primitives()?;
        let alone = self.alone()?;
        let Primitives { increment, claim, .. } = primitives;
        let unknown = host(&primitives, 0.5, 0.0);
        let (request, chains) = chains::request(&unknown, increment, &primitives.chains, seed);
        let unknown = host(&primitives, request, 0.0);
        let claim_more = chains::claim_more(&unknown, increment, claim, seed);
        Some(Calibration { primitives, request, claim_more, chains, alone })
    }

    /// Single parts, one worker.
    fn alone(&self) -> Option<Alone> {
        let raw = middle(&self.parts, 0)?;
        let part = |rung: Rung| {
            let index = 1 + PARTS.iter().position(|part| *part == rung)?;
            middle(&self.parts, index).map(|ns| ns - raw)
        };
        let rung = |rung: Rung| {
            let index = 1 + LADDER.iter().position(|step| *step == rung)?;
            Some(middle(&self.rungs[0], index)? - middle(&self.rungs[0], 0)?)
        };
        Some(Alone {
            raw,
            locked_counters: part(Rung::LockedCounters)?,
            locked_histogram: part(Rung::LockedHistogram)?,
            locked_log: part(Rung::LockedLog)?,
            shared_counters: part(Rung::SharedCounters)?,
            shared_histogram: part(Rung::SharedHistogram)?,
            gated_log: part(Rung::GatedLog)?,
            window: part(Rung::ThroughputWindow)?,
            per_worker: rung(Rung::PerWorker)?,
            off: rung(Rung::Off)?,
        })
    }

    /// The raw map or a rung, with the first or the second number of workers: the middle over the places and its interval.
    pub(super) fn rung(&self, of: usize, index: usize) -> Option<Interval> {
        let known = known(&self.rungs[of], index);
        (!known.is_empty()).then(|| Distribution::new(known).middle_interval())
    }

    /// Every value, in the order of the places.
    pub(super) fn json(&self) -> Value {
        let ladder: Vec<_> = predicted_rungs().collect();
        let parts: Vec<_> = std::iter::once(None).chain(PARTS.map(Some)).collect();
        let [one, all] = [&self.rungs[0], &self.rungs[1]].map(|places| places_json(places, &ladder));
        json!({
            "primitives_ns": self.calibrator.as_ref().map(Calibrator::samples_json),
            "parts_one_worker_ns": places_json(&self.parts, &parts),
            "ladder_one_worker_ns": one, "ladder_all_workers_ns": all,
        })
    }
}

fn lookups(parameters: &Simulate, workers: usize) -> Lookups {
    let Simulate { tries, duration, seed, .. } = *parameters;
    // The model knows the standard library's lock.
    Lookups { asked: Asked::Get, workers, duration, repeats: tries, locks: LockFamily::Std, seed }
}

fn known(places: &Places, index: usize) -> Vec<f64> {
    places.iter().filter_map(|place| place.get(index).copied().flatten()).collect()
}

/// The middle over the places of the value at `index`; none where no place had one.
fn middle(places: &Places, index: usize) -> Option<f64> {
    let known = known(places, index);
    (!known.is_empty()).then(|| Distribution::new(known).middle())
}

fn places_json(places: &Places, subjects: &[Option<Rung>]) -> Value {
    let runs = |index: usize| -> Vec<Option<f64>> {
        places.iter().map(|place| place.get(index).copied().flatten().map(rounded)).collect()
    };
    let named = subjects.iter().enumerate();
    named.map(|(index, rung)| (name(*rung).to_owned(), json!(runs(index)))).collect::<Map<_, _>>().into()
}
