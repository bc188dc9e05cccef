//! Bytes that are no request: refused, bounded, and of no consequence to others.

use crate::world::{Gateway, House, TENANT, frame, handle, lenient};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use trefoil_key_holder::job_log;
use trefoil_matching::MatchJob;

/// Statuses of the protocol.
const FRAMING: u8 = 26;
const MALFORMED: u8 = 19;

#[test]
fn what_is_no_request_is_answered_once_and_hung_up_on() {
    let house = House::new("kill");
    let running = house.start();
    let header = |kind: u8, length: u32| [&[kind][..], &length.to_le_bytes()].concat();
    let oversized = MatchJob::BYTES_MAX as u32 + 1;
    let mut bad: Vec<Vec<u8>> = vec![
        header(0, 1),
        header(1, 0),
        header(1, oversized),
        header(1, u32::MAX),
        header(2, 40),
        header(2, 42),
        header(4, 324),
        header(5, u32::MAX),
        header(6, 0),
        header(7, 0),
        header(255, 4),
    ];
    let mut rng = StdRng::seed_from_u64(5);
    // A first byte that is no kind, and whatever follows.
    bad.extend((0..32).map(|_| (0..64).map(|_| rng.next_u32() as u8 | 8).collect()));
    for bytes in &bad {
        let mut raw = running.raw(house.gateway());
        raw.send(bytes);
        // The bound is checked at the header: nothing more is waited for, nor is memory taken for it.
        assert_eq!(raw.receive(), (FRAMING, vec![]), "{:?}", &bytes[..5]);
        assert!(raw.is_closed());
    }
    let lines = job_log::check(&house.data()).unwrap().next;
    assert_eq!(lines, bad.len() as u64, "each is on record");
}

#[test]
fn truncated_requests_are_not_carried_out() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let lines = job_log::check(&house.data()).unwrap().next;
    let job = frame(1, &gateway.honest(1).to_bytes());
    let shred = frame(5, &[&TENANT[..], &handle(0), &[0; 4]].concat());
    for whole in [&job, &shred] {
        for cut in [1, 4, 5, whole.len() / 2, whole.len() - 1] {
            let mut raw = running.raw(house.gateway());
            raw.send(&whole[..cut]);
            raw.hang_up();
            assert!(raw.is_closed());
        }
    }
    assert_eq!(gateway.decide(&gateway.honest(2)).unwrap(), 0b11, "nobody was shredded");
    assert_eq!(job_log::check(&house.data()).unwrap().next, lines + 1, "and nothing else was carried out");
}

#[test]
fn a_sound_frame_with_a_body_that_is_none_is_malformed_and_the_next_is_read() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let good = gateway.honest(1).to_bytes();
    let enrolment = |lane: u8, share: u8| {
        frame(4, &[&TENANT[..], &[9; 32], &[0; 4], &[lane], &[share; 272][..]].concat())
    };
    let mut longer = good.clone();
    longer.extend_from_slice(&[0; 6]);
    let malformed = [
        frame(1, &good[1..]),
        frame(1, &good[..good.len() - 1]),
        frame(1, &longer),
        enrolment(32, 0),
        enrolment(0, 255),
    ];
    let mut raw = running.raw(house.gateway());
    // All at once: requests may be sent before replies are read.
    raw.send(&malformed.concat());
    raw.send(&frame(1, &good));
    for _ in &malformed {
        assert_eq!(raw.receive(), (MALFORMED, vec![]));
    }
    assert_eq!(raw.receive(), (1, 0b11_u32.to_le_bytes().to_vec()));
}
