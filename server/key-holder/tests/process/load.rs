//! Many workers that decide at the same time, over three key-holders of which one goes and comes back, and over one.

use crate::three::{Gateway, KeyHolders};
use crate::world::{self, House, PATIENCE, lenient};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use trefoil_key_holder::{Bounds, Remote};
use trefoil_matching::KeyHolding as _;
use trefoil_storage::supervisor::Supervisor;

const WORKERS: usize = 8;

/// Runs `work` for every batch, on eight threads, and `along` beside them, with a function that waits for a number of finished batches.
fn on_eight(batches: u32, work: impl Fn(u32) + Sync, along: impl FnOnce(&dyn Fn(u32))) {
    let (next, done) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed);
                    if batch >= batches {
                        break;
                    }
                    work(batch);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        along(&|many| {
            while done.load(Ordering::Relaxed) < many {
                std::thread::yield_now();
            }
        });
    });
    assert_eq!(done.load(Ordering::Relaxed), batches);
}

#[test]
fn batches_of_many_workers_are_all_decided_while_one_of_three_goes_and_comes_back() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    on_eight(
        240,
        |batch| gateway.decides(batch, &gateway.jobs(batch)[0]),
        |reached| {
            reached(60);
            holders[2].kill();
            reached(120);
            holders[2] = seats.start(3);
            gateway.until(3, |state| state.away.is_none());
        },
    );
    assert_eq!([1, 2, 3].map(|seat| gateway.state(seat).convicted), [0, 0, 0]);
    assert_eq!([1, 2].map(|seat| gateway.state(seat).disagreed), [0, 0]);
    gateway.logins(240..242);
}

#[test]
fn more_workers_than_connections_wait_for_one_key_holder_and_lose_nothing() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = world::Gateway::new(&running, house.gateway(), lenient(15_000), 30);
    let bounds = Bounds { timeout: PATIENCE, connections: 3 };
    let narrow =
        Remote::start(&Supervisor::default(), running.address.clone(), house.gateway(), bounds, None)
            .unwrap();
    narrow.wait_until_ready(Instant::now() + PATIENCE).unwrap();
    on_eight(
        400,
        |batch| {
            let impostor = batch as usize % 30;
            let face = |index: usize| if index == impostor { (index + 1) % 30 } else { index };
            let job = gateway.job(batch as u8, |index| gateway.people[face(index)].1.clone());
            let decided = narrow.decide(job).unwrap().lanes().bits();
            assert_eq!(decided, ((1 << 30) - 1) & !(1 << impostor), "batch {batch}");
        },
        |_| {},
    );
    assert!(narrow.unready().is_none());
}
