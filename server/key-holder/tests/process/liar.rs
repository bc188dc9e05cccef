//! A lying key-holder: it moves scores by whole units in its parts for the other two.
//!
//! The test is the liar: it opens the vault and the pieces of a process that it has killed, makes that process's parts, alters them,
//! and sends them under its certificate before the job arrives.

use crate::three::{Gateway, KeyHolders, expected};
use crate::world::{DECIDE_SEAT, Raw, Running, TENANT, frame_with, model, named};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::sync::Arc;
use trefoil_host::identity::Identity;
use trefoil_key_holder::vault::SqliteVault;
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder, Seat, SeatJob};
use trefoil_matching::{
    KeyHolder, KeyHolderError, Lane, MatchJob, PublicKey, Reply, Request, SeatEnrolment, split,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::supervisor::Supervisor;

const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];

/// Seat 2, whose process is dead.
struct Liar {
    holder: QuorumHolder,
    directory: DataDir,
}

impl Liar {
    fn new(seats: &KeyHolders) -> Liar {
        Liar::in_seat(seats, 2)
    }

    fn in_seat(seats: &KeyHolders, seat: usize) -> Liar {
        let directory = DataDir::open(&seats.data(seat)).unwrap();
        let secret = directory.secret::<32>("vault.key").unwrap();
        let vault =
            SqliteVault::open(&Supervisor::default(), &directory.join("vault.sqlite"), &secret).unwrap();
        let key_holder = KeyHolder::new(Arc::new(vault), &mut rand::rng(), 0).unwrap();
        let pieces = Pieces::from_bytes(&std::fs::read(directory.join("pieces.key")).unwrap()).unwrap();
        Liar { holder: QuorumHolder::new(key_holder.into(), pieces).unwrap(), directory }
    }

    /// Sends another key-holder the parts of a job. In the part that the other cannot compute itself, every lane's score is moved by `by`.
    fn send(&self, to: Seat, at: &Running, job: &MatchJob, by: u128) {
        let own = &SeatJob::encode(job).unwrap()[1];
        let begun = self.holder.begin(&SeatJob::from_bytes(own).unwrap(), 0).unwrap();
        let missing = Seat::ALL[1].pieces().iter().position(|piece| *piece == to.lacks()).unwrap();
        let parts = moved(&begun.parts_for(to), missing, by);
        let mut raw: Raw = at.raw(Identity::open(&self.directory, "tls").unwrap());
        let taken = raw.ask(&Request::Parts(Box::new(parts)));
        assert!(matches!(taken, Ok(Reply::Done)), "{taken:?}");
    }
}

/// Adds a multiple of Delta to the constant coefficient of a part: each lane's score moves by as much, and no error does.
fn moved(parts: &Parts, which: usize, by: u128) -> Parts {
    let mut bytes = parts.to_bytes().to_vec();
    let delta = (u128::from(PRIMES[0]) * u128::from(PRIMES[1]) - 1) / 65_537;
    for (limb, prime) in PRIMES.iter().enumerate() {
        let at = 36 + 384 * which + 6 * 32 * limb;
        let mut word = [0; 8];
        word[..6].copy_from_slice(&bytes[at..at + 6]);
        let sum = (u128::from(u64::from_le_bytes(word)) + by * delta) % u128::from(*prime);
        bytes[at..at + 6].copy_from_slice(&(sum as u64).to_le_bytes()[..6]);
    }
    Parts::from_bytes(&bytes).unwrap()
}

#[test]
fn scores_that_one_moves_change_no_decision_and_name_it() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    gateway.kill(&mut holders[1], 2);
    let liar = Liar::new(&seats);
    for batch in 0..6 {
        let [job, _] = gateway.jobs(batch);
        for seat in [0, 2] {
            liar.send(Seat::ALL[seat], &holders[seat], &job, 20_000 + u128::from(batch));
        }
        gateway.decides(batch, &job);
    }
    gateway.until(2, |state| state.convicted == 6);
    assert_eq!([1, 3].map(|seat| gateway.state(seat).convicted), [0, 0]);
    for seat in [1, 3] {
        let named = "it sent a wrong part: not believed key_holder=\"key-holder-2\"";
        assert_eq!(seats.logged(seat, named, 6), 6);
    }
    // To one of the two only: both decide, and one of them names it.
    let [job, _] = gateway.jobs(6);
    liar.send(Seat::ALL[0], &holders[0], &job, 1);
    liar.send(Seat::ALL[2], &holders[2], &job, 0);
    gateway.decides(6, &job);
    gateway.until(2, |state| state.accused == 1);
}

#[test]
fn with_one_away_moved_scores_are_refused_until_the_tenant_is_frozen() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let mut gateway = Gateway::new(&seats, &holders);
    for holder in &mut holders {
        holder.kill();
    }
    // Key-holder 3 stays away, and the wait for it is short.
    let config = std::fs::read_to_string(seats.config(1)).unwrap();
    std::fs::write(seats.config(1), config.replace("timeout_ms = 60000", "timeout_ms = 300")).unwrap();
    let first = seats.start(1);
    let (liar, third) = (Liar::new(&seats), Liar::in_seat(&seats, 3));
    let mut raw = first.raw(seats.identity());
    let mut decide = |gateway: &Gateway, batch: u32, by: u128| {
        let [job, _] = gateway.jobs(batch);
        liar.send(Seat::ALL[0], &first, &job, by);
        raw.send(&frame_with(DECIDE_SEAT, &SeatJob::encode(&job).unwrap()[0]));
        raw.receive()
    };
    let decided = match decide(&gateway, 0, 0) {
        Ok(Reply::DecidedSeat(decided)) => decided.decisions.unwrap().lanes().bits(),
        other => panic!("{other:?}"),
    };
    assert_eq!(decided, expected(0), "the truth");
    for batch in 1..=3 {
        let refused = decide(&gateway, batch, 20_000);
        assert!(matches!(refused, Err(KeyHolderError::Malformed)), "{refused:?}");
        // The answer to a gateway when the other two are there.
        let versions = [batch, 0, 0];
        let asked = first.raw(seats.identity()).ask(&Request::SeatKey(TENANT, versions));
        let Ok(Reply::SeatKey(key)) = asked else { panic!("{asked:?}") };
        let [two, three] = [&liar, &third].map(|of| of.holder.seat_key(TENANT, versions).unwrap());
        gateway.keys[0] = PublicKey::of_quorum(&[*key, two, three], versions).unwrap();
    }
    let refused = decide(&gateway, 4, 0);
    assert!(matches!(refused, Err(KeyHolderError::Frozen)), "until an operator has looked: {refused:?}");
    let named = "its part does not fit, and no other is here: it lies, or the gateway does key_holder=\"key-holder-2\"";
    assert_eq!(seats.logged(1, named, 3), 3);
}

#[test]
fn nobody_is_enrolled_without_what_a_key_holder_contributed() {
    let seats = KeyHolders::new();
    let holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    let mut rng = StdRng::seed_from_u64(4);
    let (name, lane) = (named(31, 0), Lane::new(31).unwrap());
    let mut raw = holders[0].raw(seats.identity());
    let mut enrol = |own: [u8; 32]| {
        let (template, _) = split(&gateway.people[0].1, &mut rng);
        let contributions = [own, [2; 32], [3; 32]];
        let enrolment = SeatEnrolment { name, lane, model: model(), template, contributions };
        raw.ask(&Request::EnrolSeat(Box::new(enrolment)))
    };
    let refused = enrol([1; 32]);
    assert!(matches!(refused, Err(KeyHolderError::Forbidden(_))), "{refused:?}");
    let contributed = holders[0].raw(seats.identity()).ask(&Request::Contribute(name));
    let Ok(Reply::Contribution(own)) = contributed else { panic!("{contributed:?}") };
    assert!(matches!(enrol(own), Ok(Reply::EnrolledSeat(..))));
    let again = enrol(own);
    assert!(matches!(again, Err(KeyHolderError::Forbidden(_))), "once: {again:?}");
}
