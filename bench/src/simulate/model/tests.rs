use super::super::machine::{Transfer, Waiting};
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
        claim_transfers: 1.0,
        second: 0.4,
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

#[test]
fn a_second_line_that_is_asked_for_with_the_first_costs_its_share_of_a_transfer() {
    let steps = [Step::Work(1_000.0), Step::Write(0), Step::WriteToo(1)];
    near(rate(50.0, 2, &steps), 2.0 * NANOSECONDS / 1_070.0, 0.02);
    near(rate(50.0, 1, &steps), NANOSECONDS / 1_000.0, 0.02);
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

#[test]
fn waiters_that_sleep_make_every_hand_over_a_wake_up() {
    let steps = [Step::Work(100.0), Step::Lock(0), Step::Work(100.0), Step::Unlock(0)];
    let (few, many) = (rate(50.0, 2, &steps), rate(50.0, 48, &steps));
    // 48 workers do less than two: whoever polls too long sleeps, and must then be woken.
    assert!(many < few, "{many} {few}");
}

#[test]
fn the_same_seed_takes_the_same_course() {
    let steps = [Step::Work(30.0), Step::ClaimOneOf(0, 2), Step::Release, Step::OnceIn(8, 1), Step::Write(0)];
    assert_eq!(rate(50.0, 8, &steps), rate(50.0, 8, &steps));
    let program = Program { steps: steps.to_vec(), lines: 2, locks: 0 };
    assert_ne!(rate(50.0, 8, &steps), rounds_per_s(&machine(50.0), &program, 8, 2));
}
