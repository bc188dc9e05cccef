//! The ladder: what each way of observing a cache costs, from three locks to none.
//!
//! (a) with the cheapest pipeline there is, which only gets, misses or puts, so that nothing hides the observer;
//! (b) in the whole pipeline, where a look-up is a thousandth of the work;
//!
//! (c) the key-holder with and without its former locks;
//!
//! (d) each lock and each shared counter alone, with ever more threads that want it.
//!
//! (a) and (b) compare each rung with the raw map in rounds of raw, rung, rung, raw, keep every run, and give the ratio with
//! its confidence interval.

mod report;

use std::sync::Arc;
use std::time::Duration;

use trefoil_cache::Observer;

use crate::Failure;
use crate::Report;
use crate::in_pipeline::{Candidate, Compared, Enter, PipelineLoad, compare};
use crate::population::Population;
use crate::wiring;
use crate::world::capacity;
use trefoil_lab::ladder::{Asked, LADDER, Lookups, OverObserver, Rung};
pub use trefoil_lab::ladder::{Contention, KeyHolderLoad};
use trefoil_lab::ladder::{contenders, key_holder};

/// What to run.
pub struct Ladder {
    /// Threads that get, miss or put.
    pub workers: usize,
    /// Length of one run.
    pub duration: Duration,
    /// Rounds of raw, rung, rung, raw.
    pub repeats: usize,
    /// Seed of the requests.
    pub seed: u64,
    /// The whole pipeline, if it is to be climbed too.
    pub pipeline: Option<(PipelineLoad, Arc<Population>)>,
    /// The key-holder's rung, if it is to be climbed too.
    pub key_holder: Option<KeyHolderLoad>,
    /// The locks and counters alone, if they are to be measured.
    pub contention: Option<Contention>,
}

/// Climbs the ladder.
///
/// # Errors
/// When this build has no DashMap, a pipeline stops or the two key-holders differ. Wrong outputs are in the report, not here.
pub fn ladder(parameters: &Ladder) -> Result<Report, Failure> {
    let climb = |asked: Asked| {
        let Ladder { workers, duration, repeats, seed, .. } = *parameters;
        Lookups { asked, workers, duration, repeats, seed }.climb()
    };
    let lookups = climb(Asked::Get)?;
    let others = [climb(Asked::Miss)?, climb(Asked::Put)?];
    let key_holder = parameters.key_holder.as_ref().map(|load| key_holder::measure(load, parameters.seed));
    let pipeline = match &parameters.pipeline {
        Some((load, population)) => Some(climb_in_pipeline(*load, population)?),
        None => None,
    };
    let mut report = report::report(parameters, &lookups, &others, pipeline.as_deref());
    if let Some(contention) = &parameters.contention {
        report = report::with_contenders(report, contention, &contenders::contend(contention));
    }
    Ok(match (&parameters.key_holder, key_holder.transpose()?) {
        (Some(load), Some(measured)) => report::with_key_holder(report, load, &measured),
        _ => report,
    })
}

/// Every rung on the map, and the engine where this build has it, each in a pipeline of its own.
fn climb_in_pipeline(load: PipelineLoad, population: &Arc<Population>) -> Result<Vec<Compared>, Failure> {
    let common = load.common(population)?;
    let raw = Candidate::raw(load, &common)?;
    let on_map = |rung: Rung| rung.over(Enter { name: rung.name(), load, common: Arc::clone(&common) });
    let mut others = LADDER.into_iter().map(on_map).collect::<Result<Vec<_>, _>>()?;
    if wiring::HAS_ENGINE {
        others.push(Candidate::engine(load, &common)?);
    }
    compare(&raw, &others, load)
}

impl OverObserver for Enter {
    type Output = Result<Candidate, Failure>;

    fn over<O: Observer>(self) -> Self::Output {
        wiring::over_dashmap::<O, _>(capacity(self.common.population()), self)?
    }
}
