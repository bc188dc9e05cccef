//! The closed loop with ever more workers, and a model that has to predict it.
//!
//! Each round measures first what everything costs that a batch passes, each for itself, and then the loop with each number of workers,
//! over both caches and in both cadences. From the medians of the costs the model predicts the medians of the rates. Then it draws
//! machines that are not here, with a core for each worker. Those are a model's output, and say so.

mod calibrate;
mod costs;
mod measuring;
mod model;
mod plan;
mod report;

use std::sync::Arc;

use trefoil_pipeline::Cadence;
use trefoil_pipeline::affinity::{Pin, Placement};

use self::measuring::{Measuring, Samples};
pub use self::plan::Scaling;
pub(crate) use self::report::drawing;
use crate::Failure;
use crate::Report;
use crate::population::Population;
use crate::run::Common;

/// Measures, predicts, draws.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn scaling(parameters: &Scaling, population: &Arc<Population>) -> Result<Report, Failure> {
    let common = Common::new(Arc::clone(population), &parameters.run(1, Cadence::Group))?;
    let cores = Placement::new(None, Pin::Auto).physical_cores.max(1);
    let mut measuring = Measuring { parameters, common, cores, samples: Samples::default(), problem: None };
    for round in 0..parameters.rounds {
        measuring.costs(round)?;
        measuring.rates(round)?;
    }
    Ok(report::report(&measuring))
}
