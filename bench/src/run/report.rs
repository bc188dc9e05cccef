//! The result of the loops, for people and for the record.

use serde_json::{Value, json};
use trefoil_cache::Cache;
use trefoil_pipeline::affinity::Placement;
use trefoil_pipeline::{Cadence, Verdict};

use super::load::unsealed_max;
use super::{Outcome, Run};
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::spending::Spent;
use crate::window::Window;
use crate::world::World;

/// The name on the command line.
pub(crate) fn cadence_name(cadence: Cadence) -> &'static str {
    match cadence {
        Cadence::Group => "group",
        Cadence::PerBatch => "per-batch",
    }
}

/// Medians over windows of each stage's median.
pub(crate) fn median_stages(windows: &[&Window]) -> Value {
    let names = windows.first().map(|w| w.stages.iter().map(|(name, _)| *name)).into_iter().flatten();
    let median = |(at, name): (usize, &str)| {
        let medians = windows.iter().map(|w| w.stages[at].1.median()).collect();
        (name.to_owned(), json!(rounded(Distribution::new(medians).median())))
    };
    names.enumerate().map(median).collect::<serde_json::Map<_, _>>().into()
}

/// A window with its workers' time accounts.
pub(crate) fn window_json(window: &Window, (spent, ns): &(Spent, u64), workers: usize) -> Value {
    let mut json = window.json();
    json["worker_time"] = spent.json(*ns * workers as u64);
    json
}

pub(super) fn report<C: Cache<Verdict>>(
    parameters: &Run,
    world: &World<C>,
    placement: &Placement,
    outcome: Outcome,
) -> Report {
    let Run {
        workers,
        seconds,
        warmup_s,
        repeats,
        cadence,
        cache,
        users,
        faces,
        popularity,
        batches,
        seed,
        tier,
        ..
    } = *parameters;
    let Outcome { windows, spent, audit, .. } = outcome;
    let over = |figure: fn(&Window) -> f64| Distribution::new(windows.iter().map(figure).collect());
    let rate = over(Window::auth_per_s);
    let stats = world.cache.stats();
    let cadence_name = cadence_name(cadence);
    let all = windows.iter().zip(&spent).map(|(window, spent)| window_json(window, spent, workers));
    let result = json!({
        "auth_per_s": rounded(rate.median()),
        "auth_per_s_runs": rate.runs_json(),
        "seals_per_s": rounded(over(Window::seals_per_s).median()),
        "batches_per_seal": rounded(over(Window::batches_per_seal).median()),
        "stages_us": median_stages(&windows.iter().collect::<Vec<_>>()),
        "seal_us": rounded(over(|window| window.seal.median()).median()),
        "windows": all.collect::<Vec<_>>(),
        "workers": workers, "physical_cores": placement.physical_cores, "placement": placement.cpus,
        "warnings": placement.warnings, "cadence": cadence_name, "cache": cache.name(),
        "seconds": seconds, "warmup_seconds": warmup_s, "repeats": repeats,
        "mode": "plain", "keys": "per-subject", "users": users, "faces": faces.name(), "popularity": popularity.name(),
        "people": world.ground.population.people.len(), "prepared_batches": batches, "seed": seed,
        "unsealed_batches_max": unsealed_max(cadence, workers), "tier": tier.name(),
        "template_store_bytes": world.ground.template_bytes(),
        "cache_stats": {"hits": stats.hits, "misses": stats.misses, "capacity": world.cache.capacity()},
        "verified": audit.counts,
    });
    let windows: Vec<String> = rate.runs().iter().map(|rate| format!("{rate:.0}")).collect();
    let summary = format!(
        "{:.0} authentications/s (windows: {})\n{workers} workers, {} cache, cadence {cadence_name}, {:.1} batches per seal\n",
        rate.median(),
        windows.join(", "),
        cache.name(),
        over(Window::batches_per_seal).median(),
    );
    Report { summary, result, problem: audit.problem }
}
