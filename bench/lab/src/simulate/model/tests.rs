use super::super::machine::{Core, Transfer, Waiting};
use super::*;

const NANOSECONDS: f64 = 1e9;

fn machine(transfer: f64) -> Machine {
    Machine {
        name: "test",
        source: "test",
        sockets: 1,
        cores_per_socket: 64,
        cores_per_cluster: 64,
        transfer: Transfer { in_cluster: transfer, in_socket: transfer, across_sockets: transfer },
        core: Core { request: 0.5, hold: 0.0, claim_more: 0.0 },
        waiting: Waiting { poll: 10.0, call: 500.0, wake: 2_000.0 },
    }
}

fn rate(transfer: f64, workers: usize, steps: &[Step]) -> f64 {
    let program = Program { steps: steps.to_vec(), lines: 2, locks: 1 };
    rounds_per_s(&machine(transfer), &program, workers, 1)
}

fn near(a: f64, b: f64, share: f64) {
    assert!((a / b - 1.0).abs() < share, "{a} {b}");
}

#[test]
fn workers_that_share_nothing_add_up() {
    for workers in [1, 7, 64] {
        near(rate(50.0, workers, &[Step::Work(200.0)]), workers as f64 * NANOSECONDS / 200.0, 0.02);
    }
}

#[test]
fn one_worker_pays_no_transfer() {
    let steps = [Step::Work(90.0), Step::Write(0), Step::Lock(0), Step::Work(10.0), Step::Unlock(0)];
    near(rate(50.0, 1, &steps), NANOSECONDS / 100.0, 0.02);
}

/// The next request waits at the owner when the line gets there: what is left of a transfer is the way back.
#[test]
fn a_line_that_all_write_serves_two_owners_per_transfer() {
    near(rate(50.0, 32, &[Step::Work(20.0), Step::Write(0)]), 2.0 * NANOSECONDS / 50.0, 0.05);
}

/// Two cores with other work in between: each finds the line with the other, and waits for a whole transfer.
#[test]
fn a_line_that_two_write_now_and_then_costs_each_a_transfer() {
    near(rate(50.0, 2, &[Step::Work(1_000.0), Step::Write(0)]), 2.0 * NANOSECONDS / 1_050.0, 0.02);
}

/// Nobody else wants the lines: they arrive together, and the second is there when its turn comes.
#[test]
fn lines_behind_a_reading_of_the_clock_are_asked_for_together() {
    let chain = |between: Step| [Step::Work(5_000.0), Step::Clock, Step::Write(0), between, Step::Write(1)];
    near(rate(50.0, 2, &chain(Step::Work(1.0))), 2.0 * NANOSECONDS / 5_051.0, 0.02);
    near(rate(50.0, 2, &chain(Step::Clock)), 2.0 * NANOSECONDS / 5_100.0, 0.02);
    near(rate(50.0, 1, &chain(Step::Clock)), NANOSECONDS / 5_000.0, 0.02);
}

/// Two cores that hardly do anything else take each other's lines before they come to them.
#[test]
fn contention_undoes_working_ahead() {
    let lines = [Step::Write(0), Step::Work(8.0), Step::Write(1), Step::Work(8.0), Step::Write(2)];
    let added = |work: f64| {
        let steps: Vec<_> = [Step::Work(work), Step::Clock].into_iter().chain(lines).collect();
        let machine = Machine { core: Core { request: 0.3, hold: 8.0, claim_more: 0.0 }, ..machine(75.0) };
        let program = Program { steps, lines: 3, locks: 0 };
        let ns = |workers: usize| workers as f64 * NANOSECONDS / rounds_per_s(&machine, &program, workers, 1);
        ns(2) - ns(1)
    };
    let (crowded, wide) = (added(50.0), added(5_000.0));
    assert!(crowded > 1.8 * wide, "{crowded} {wide}");
}

/// Amdahl: with `s` of every round done one after another, many workers do at most `1 / s` rounds.
#[test]
fn a_serial_part_bounds_the_speed_up() {
    // A line that all want is handed over after half a transfer, and nothing else is shared.
    let steps = [Step::Work(960.0), Step::Write(0)];
    near(rate(40.0, 4, &steps), 4.0 * NANOSECONDS / 1_000.0, 0.05);
    near(rate(40.0, 64, &steps), 2.0 * NANOSECONDS / 40.0, 0.05);
}

#[test]
fn a_saturated_lock_is_handed_over_once_per_hold() {
    // Nothing travels and nobody sleeps: the lock is the bottleneck with its hold of 300.
    let steps = [Step::Work(50.0), Step::Lock(0), Step::Work(300.0), Step::Unlock(0)];
    near(rate(0.0, 2, &steps), NANOSECONDS / 305.0, 0.05);
}

/// With nothing to travel, two workers that try one lock do twice the work of one: who finds it taken skips what is behind it.
#[test]
fn nobody_waits_for_a_lock_that_is_tried() {
    let steps = [Step::Work(50.0), Step::TryLock(0, 2), Step::Work(300.0), Step::Unlock(0)];
    near(rate(0.0, 1, &steps), NANOSECONDS / 350.0, 0.02);
    assert!(rate(0.0, 2, &steps) > 2.0 * NANOSECONDS / 350.0);
}

#[test]
fn waiters_that_sleep_make_every_hand_over_a_wake_up() {
    let steps = [Step::Work(100.0), Step::Lock(0), Step::Work(100.0), Step::Unlock(0)];
    let (few, many) = (rate(50.0, 2, &steps), rate(50.0, 48, &steps));
    // 48 workers do less than two: a thread that polls too long sleeps, and must then be woken.
    assert!(many < few, "{many} {few}");
}

#[test]
fn the_same_seed_takes_the_same_course() {
    let steps = [Step::Work(30.0), Step::ClaimOneOf(0, 2), Step::Release, Step::OnceIn(8, 1), Step::Write(0)];
    assert_eq!(rate(50.0, 8, &steps), rate(50.0, 8, &steps));
    let program = Program { steps: steps.to_vec(), lines: 2, locks: 0 };
    assert_ne!(rate(50.0, 8, &steps), rounds_per_s(&machine(50.0), &program, 8, 2));
}
