//! Bytes that are no request are refused, use bounded memory, and do not affect other clients.

use crate::world::{
    DECIDE, DECIDE_SEAT, Gateway, House, Raw, end_of_log, frame, frame_of, frame_with, lenient, named,
};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use trefoil_matching::{KeyHolderError, MatchJob, Reply, Request};

/// The answer to bytes that are no request.
fn is_not_understood(raw: &mut Raw) -> bool {
    matches!(raw.receive(), Err(KeyHolderError::Unavailable(why)) if why.contains("did not understand"))
}

#[test]
fn what_is_no_request_is_answered_once_and_hung_up_on() {
    let house = House::new("kill");
    let running = house.start();
    let header = |kind: u8, length: u32| [&length.to_le_bytes()[..], &[kind]].concat();
    let oversized = MatchJob::BYTES_MAX as u32 + 257;
    let mut bad: Vec<Vec<u8>> = vec![
        header(0, 0),
        header(0, 257),
        header(DECIDE, 0),
        header(DECIDE, oversized),
        header(DECIDE, u32::MAX),
        header(3, 257),
        header(6, u32::MAX),
        header(DECIDE_SEAT, u32::MAX),
        header(22, 1),
        header(255, 4),
    ];
    let mut rng = StdRng::seed_from_u64(5);
    // A kind that does not exist, followed by anything.
    bad.extend((0..32).map(|_| (0..64).map(|_| rng.next_u32() as u8 | 32).collect()));
    for bytes in &bad {
        let mut raw = running.raw(house.gateway());
        raw.send(bytes);
        // The bound is checked at the header: the process waits for no more bytes, and allocates no memory for them.
        assert!(is_not_understood(&mut raw), "{:?}", &bytes[..5]);
        assert!(raw.is_closed());
    }
    let lines = end_of_log(&house.data()).next;
    assert_eq!(lines, bad.len() as u64, "each is on record");
}

#[test]
fn truncated_requests_are_not_carried_out() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let lines = end_of_log(&house.data()).next;
    let job = frame_with(DECIDE, &gateway.honest(1).to_bytes());
    let shred = frame(&Request::Shred(named(0, 0)));
    for whole in [&job, &shred] {
        for cut in [1, 4, 5, whole.len() / 2, whole.len() - 1] {
            let mut raw = running.raw(house.gateway());
            raw.send(&whole[..cut]);
            raw.hang_up();
            assert!(raw.is_closed());
        }
    }
    assert_eq!(gateway.decide(&gateway.honest(2)).unwrap(), 0b11, "nobody was shredded");
    assert_eq!(end_of_log(&house.data()).next, lines + 1, "and nothing else was carried out");
}

#[test]
fn a_sound_frame_with_a_body_that_is_none_is_refused_and_the_next_is_read() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let good = gateway.honest(1);
    let bytes = good.to_bytes();
    let longer = [&bytes[..], &[0; 6]].concat();
    // A template of a subject, with a lane, a model's width and a share that may be invalid.
    let enrolment = |lane: u8, width: u8, share: u8| {
        let head = [&[5][..], &[7; 16], &[9; 32], &[0], &[lane], &[1; 8], &[width], &[0]].concat();
        frame_of(&[head, postcard::to_allocvec(&[share; 272][..]).unwrap()].concat())
    };
    let mut trailing = postcard::to_allocvec(&Request::Shred(named(0, 0))).unwrap();
    trailing.push(0);
    let unreadable = [
        frame_with(DECIDE, &bytes[1..]),
        frame_with(DECIDE, &bytes[..bytes.len() - 1]),
        frame_with(DECIDE, &longer),
        enrolment(32, 1, 0),
        enrolment(0, 3, 0),
        enrolment(0, 1, 255),
        frame_of(&trailing),
    ];
    let mut raw = running.raw(house.gateway());
    // All at once: requests may be sent before replies are read.
    raw.send(&unreadable.concat());
    raw.send(&enrolment(31, 1, 0));
    raw.send(&frame_with(DECIDE, &bytes));
    for frame in &unreadable {
        assert!(is_not_understood(&mut raw), "{:?}", &frame[..8]);
    }
    assert!(
        matches!(raw.receive(), Err(KeyHolderError::Model)),
        "the rest of an enrolment is as it should be"
    );
    assert!(matches!(raw.receive(), Ok(Reply::Decided(decisions)) if decisions.lanes().bits() == 0b11));
}
