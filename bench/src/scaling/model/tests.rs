use super::super::costs::{Curve, Memory};
use super::*;

fn flat(us: f64) -> Curve {
    Curve::new(vec![(0.0, us)])
}

fn costs(batch_us: f64, seal_us: f64, release_us: f64) -> Costs {
    let memory = Memory { one_gb_per_s: 1e9, all_gb_per_s: 1e9 };
    Costs {
        batch: [flat(batch_us), flat(batch_us)],
        seal: flat(seal_us),
        seal_slower: 1.0,
        release: flat(release_us),
        dispatch_us: 0.0,
        batch_bytes: 1.0,
        measured_cores: 2,
        measured_memory: memory,
        memory,
    }
}

fn what(workers: usize, cores: usize, cadence: Cadence) -> Simulated {
    Simulated { workers, cores, cadence, sealers: 1, dispatched: false, seed: 1 }
}

fn near(a: f64, b: f64, share: f64) {
    assert!((a / b - 1.0).abs() < share, "{a} {b}");
}

#[test]
fn workers_that_seal_their_own_batches_add_up_until_the_cores_are_used_up() {
    let costs = costs(200.0, 800.0, 0.0);
    for (workers, cores, busy) in [(1, 8, 1.0), (8, 8, 8.0), (32, 8, 8.0)] {
        near(batches_per_s(&costs, what(workers, cores, Cadence::PerBatch)), busy * 1_000.0, 0.03);
    }
}

/// A sealer with a core of its own takes nothing from the workers.
#[test]
fn group_commit_costs_workers_nothing_where_the_sealer_has_a_core() {
    near(batches_per_s(&costs(200.0, 2_000.0, 0.0), what(1, 2, Cadence::Group)), 5_000.0, 0.03);
}

/// Where all cores have workers it takes half of one: there are always batches to seal.
#[test]
fn a_sealer_beside_as_many_workers_as_cores_takes_half_a_core() {
    near(batches_per_s(&costs(200.0, 2_000.0, 0.0), what(2, 2, Cadence::Group)), 7_500.0, 0.03);
}

/// Workers stop when 1,024 batches are unsealed, so seals cannot fall behind for good: here a seal takes a second.
#[test]
fn the_bound_on_unsealed_batches_holds_workers_back() {
    let rate = batches_per_s(&costs(100.0, 1e6, 0.0), what(4, 8, Cadence::Group));
    assert!(rate <= 1_024.0 && rate > 400.0, "{rate}");
}

#[test]
fn releases_follow_one_another() {
    near(batches_per_s(&costs(10.0, 10.0, 50.0), what(16, 64, Cadence::PerBatch)), 1e6 / 50.0, 0.03);
}

#[test]
fn a_dispatcher_hands_over_one_batch_at_a_time() {
    let costs = Costs { dispatch_us: 20.0, ..costs(100.0, 0.1, 0.0) };
    let dispatched = |workers| Simulated { dispatched: true, ..what(workers, 64, Cadence::PerBatch) };
    near(batches_per_s(&costs, dispatched(32)), 50_000.0, 0.03);
    near(batches_per_s(&costs, dispatched(1)), 10_000.0, 0.05);
}

#[test]
fn batches_whose_memory_has_left_the_cache_cost_more() {
    let cold = Curve::new(vec![(64.0, 100.0), (600.0, 200.0)]);
    let costs = Costs { batch: [cold.clone(), cold], ..costs(0.0, 2_000.0, 0.0) };
    let (few, many) = (
        batches_per_s(&costs, what(1, 2, Cadence::Group)),
        batches_per_s(&costs, what(96, 2, Cadence::Group)) / 2.0,
    );
    assert!(many < 0.8 * few, "{many} {few}");
}

#[test]
fn a_seed_takes_the_same_course() {
    let (costs, what) = (costs(200.0, 900.0, 9.0), what(3, 2, Cadence::Group));
    assert_eq!(batches_per_s(&costs, what), batches_per_s(&costs, what));
    assert_ne!(batches_per_s(&costs, what), batches_per_s(&costs, Simulated { seed: 2, ..what }));
}
