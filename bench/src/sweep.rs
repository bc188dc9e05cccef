//! The closed loop at several numbers of requests per proof.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trefoil_cache::Cache;
use trefoil_pipeline::Verdict;

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::population::Population;
use crate::run::{Outcome, Run, Stand, cadence_name};
use crate::window::Window;
use crate::wiring::{OverCache, over_cache};
use crate::world::capacity;

/// What to run.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The loop.
    pub run: Run,
    /// Requests of a session after which its proof is verified again, each at least 1. The loop with all
    /// verdicts cached follows as the last point.
    pub requests_per_proof: Vec<u32>,
}

/// Runs the loop once for each number.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn sweep(parameters: Sweep, population: Arc<Population>) -> Result<Report, Failure> {
    let cache = parameters.run.cache;
    over_cache(cache, capacity(&population), Points { parameters, population })?
}

struct Points {
    parameters: Sweep,
    population: Arc<Population>,
}

impl OverCache for Points {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let Points { parameters: Sweep { run, requests_per_proof }, population } = self;
        let stand = Stand::apart(cache, population, run)?;
        for warning in &stand.placement.warnings {
            eprintln!("warning: {warning}");
        }
        let all = requests_per_proof.into_iter().map(Some).chain([None]);
        let points = all.map(|requests_per_proof| {
            match requests_per_proof {
                Some(requests) => eprintln!("{requests} requests per proof"),
                None => eprintln!("all cached"),
            }
            let contended = stand.world.cache.stats().contended;
            let outcome = stand.run(requests_per_proof)?;
            let contended_gets = stand.world.cache.stats().contended - contended;
            Ok(Point { requests_per_proof, outcome, contended_gets })
        });
        Ok(report(&run, &stand, &points.collect::<Result<Vec<_>, Failure>>()?))
    }
}

/// The loop at one number of requests per proof.
struct Point {
    requests_per_proof: Option<u32>,
    outcome: Outcome,
    /// Look-ups that found nothing because another worker was writing where they looked.
    contended_gets: u64,
}

impl Point {
    fn over(&self, figure: fn(&Window) -> f64) -> Distribution {
        Distribution::new(self.outcome.windows.iter().map(figure).collect())
    }

    fn json(&self) -> Value {
        let rate = self.over(Window::auth_per_s);
        let precise = |share: f64| json!((share * 1e6).round() / 1e6);
        json!({
            // None: every request finds its verdict.
            "requests_per_proof": self.requests_per_proof,
            "auth_per_s": rounded(rate.median()), "auth_per_s_runs": rate.runs_json(),
            "proof_us": rounded(self.over(Window::proof_us).median()),
            "proof_share": precise(self.over(Window::proof_share).median()),
            "proofs_verified": self.outcome.settled.proofs, "requests": self.outcome.requests,
            "contended_gets": self.contended_gets, "given_up": self.outcome.given_up,
            "verified": self.outcome.audit.counts,
        })
    }

    /// What was wrong with this point. A lane may lack its verdict only where a look-up gave up.
    fn problem(&self) -> Option<String> {
        let (lanes, gets) = (self.outcome.given_up, self.contended_gets);
        let unexplained =
            || format!("{lanes} lanes found no verdict, though the cache gave up {gets} look-ups");
        self.outcome.audit.problem.clone().or_else(|| (lanes > gets).then(unexplained))
    }

    fn line(&self) -> String {
        let name = self.requests_per_proof.map_or_else(|| "all cached".to_owned(), |r| r.to_string());
        let (rate, share) = (self.over(Window::auth_per_s), self.over(Window::proof_share));
        format!("{name:>11} {:>12.0} {:>10.1} %\n", rate.median(), 100.0 * share.median())
    }
}

fn report<C: Cache<Verdict>>(run: &Run, stand: &Stand<C>, points: &[Point]) -> Report {
    let Stand { world, placement, .. } = stand;
    let Run { workers, seconds, warmup_s, repeats, cadence, cache, users, batches, seed, tier, .. } = *run;
    let mut result = Map::new();
    result.insert("points".into(), points.iter().map(Point::json).collect());
    let context = json!({
        "workers": workers, "physical_cores": placement.physical_cores, "warnings": placement.warnings,
        "cadence": cadence_name(cadence), "cache": cache.name(), "seconds": seconds, "warmup_seconds": warmup_s,
        "repeats": repeats, "users": users, "people": world.ground.population.people.len(),
        "prepared_batches": batches, "seed": seed, "tier": tier.name(), "circuit": "cred/2",
    });
    result.extend(context.as_object().cloned().unwrap_or_default());
    let mut summary = "per proof   authentications/s   proof stage\n".to_owned();
    summary.extend(points.iter().map(Point::line));
    let problem = points.iter().find_map(Point::problem);
    Report { summary, result: Value::Object(result), problem }
}
