//! Three key-holder processes, of which one is killed, stalled or wrong, and then two.

use crate::three::{Gateway, KeyHolders, expected};
use crate::world::{
    DECIDE_SEAT, House, PROGRAM, Running, TENANT, end_of_log, frame_of, frame_with, lenient, matcher, model,
    named, under,
};
use std::process::Command;
use std::sync::Arc;
use trefoil_host::identity::Identity;
use trefoil_key_holder::clients::{Clients, Right};
use trefoil_matching::quorum::{Pieces, QuorumHolder, Seat, SeatJob};
use trefoil_matching::{
    Enrolment, KeyHolder, KeyHolderError, KeyHolding as _, KeyStructure, MemoryVault, PublicKey, Reply,
    Request, SeatDecision, SeatEnrolment, split,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_types::{BatchId, TenantId};

/// Claim M29.
#[test]
fn one_of_three_that_is_killed_stalled_or_wrong_changes_nothing_and_is_named() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let mut gateway = Gateway::new(&seats, &holders);
    gateway.logins(0..4);
    assert!(gateway.quorum.unready().is_none());

    // One is killed during logins, and comes back.
    holders[2].kill();
    gateway.logins(4..8);
    gateway.until(3, |state| state.away.is_some());
    assert!(gateway.quorum.unready().is_none(), "two are enough");
    gateway.logins(8..10);
    let refused = gateway.quorum.shred(named(0, 0));
    assert!(matches!(refused, Err(KeyHolderError::OneAway(3))), "{refused:?}");
    holders[2] = seats.start(3);
    gateway.until(3, |state| state.away.is_none());
    gateway.logins(10..12);

    // One stalls, and comes back: its decisions then agree.
    holders[0].signal("-STOP");
    gateway.logins(12..18);
    holders[0].signal("-CONT");
    gateway.until(1, |state| state.away.is_none());
    gateway.logins(18..20);

    // One is wrong: its operator gave it other pieces, and removed the record that would show it.
    gateway.kill(&mut holders[1], 2);
    let pieces = seats.data(2).join("pieces.key");
    let good = std::fs::read(&pieces).unwrap();
    let mut bad = good.clone();
    bad[37..].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&pieces, bad).unwrap();
    let refused = Command::new(PROGRAM).arg("--config").arg(seats.config(2)).output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("pieces.key is not the file") && why.contains("from one backup"), "{why}");
    let record = seats.data(2).join("installation.toml");
    let text = std::fs::read_to_string(&record).unwrap();
    let kept: String = text.split_inclusive('\n').filter(|line| !line.contains("pieces.key")).collect();
    std::fs::write(&record, kept).unwrap();
    holders[1] = seats.start(2);
    gateway.until(2, |state| state.away.is_none());
    let mut batches = (20..30).cycle();
    while gateway.state(2).convicted == 0 {
        let batch = batches.next().unwrap_or(20);
        gateway.logins(batch..batch + 1);
    }
    assert_eq!([1, 3].map(|seat| gateway.state(seat).convicted), [0, 0]);
    for seat in [1, 3] {
        assert!(seats.logged(seat, "it sent a wrong part: not believed key_holder=\"key-holder-2\"", 1) > 0);
    }
    gateway.kill(&mut holders[1], 2);
    std::fs::write(&pieces, good).unwrap();
    std::fs::write(&record, text).unwrap();
    holders[1] = seats.start(2);
    gateway.until(2, |state| state.away.is_none());
    gateway.logins(30..34);
    gateway.quorum.shred(named(0, 0)).unwrap();
    // Enrolled again under the same name, all three contribute anew.
    let (blinded, _) = split(&gateway.people[0].1, &mut gateway.rng);
    let lane = gateway.people[0].0[0].lane;
    let enrolment = Enrolment { name: named(0, 0), lane, model: model(), template: blinded.into() };
    gateway.quorum.enrol(enrolment).unwrap();
    for (seat, holder) in (1..).zip(&mut holders) {
        holder.kill();
        end_of_log(&seats.data(seat));
    }
}

#[test]
fn with_two_away_nothing_is_decided_until_one_is_back() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    gateway.kill(&mut holders[0], 1);
    gateway.kill(&mut holders[1], 2);
    for batch in 0..5 {
        let [job, _] = gateway.jobs(batch);
        assert!(matches!(gateway.quorum.decide(job), Err(KeyHolderError::Unavailable(_))));
    }
    let why = gateway.quorum.unready().unwrap();
    assert!(why.contains("key-holder 1") && why.contains("key-holder 2"), "{why}");
    holders[1] = seats.start(2);
    gateway.until(2, |state| state.away.is_none());
    gateway.logins(5..9);
}

#[test]
fn parts_are_for_key_holders_only() {
    let seats = KeyHolders::new();
    let other = Identity::open(&DataDir::open(&seats.dir().join("other")).unwrap(), "other").unwrap();
    {
        let directory = DataDir::open(&seats.data(1)).unwrap();
        let mut clients = Clients::read(&directory).unwrap();
        // Knowing a tenant's name gives no access.
        clients.authorise(&directory, "key-holder-2", other.fingerprint(), Right::Match).unwrap();
    }
    let holders = [1, 2, 3].map(|seat| seats.start(seat));
    let mut gateway = Gateway::new(&seats, &holders);
    let forgers = Pieces::deal(&mut rand::rng()).map(|pieces| {
        let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut gateway.rng, 0).unwrap();
        let forger = QuorumHolder::new(key_holder.into(), pieces).unwrap();
        forger.create_tenant(TENANT, lenient(0)).unwrap();
        forger
    });
    let keys = forgers.each_ref().map(|forger| forger.seat_key(TENANT, [0; 3]).unwrap());
    let forger = &forgers[0];
    for (index, (template, _)) in (0u8..).zip(&gateway.people) {
        let (template_share, _) = split(&gateway.people[0].1, &mut gateway.rng);
        let (name, lane) = (named(index, 0), template[0].lane);
        let contributions = [forger.contribute(name, 0).unwrap(), [0; 32], [0; 32]];
        forger
            .enrol(&SeatEnrolment { name, lane, model: model(), template: template_share, contributions })
            .unwrap();
    }
    // A job of another gateway, which has a tenant of the same name and makes tags with its own keys.
    let key = PublicKey::of_quorum(&keys, [0; 3]).unwrap();
    let [theirs, _] = gateway.jobs(1);
    let lanes: Vec<_> = gateway.people.iter().map(|(template, face)| (&template[0], face)).collect();
    let forged = matcher(7).mask(BatchId::new([1; 16]), TENANT, 0, &key, &lanes).unwrap();
    let forged = SeatJob::from_bytes(&SeatJob::encode(&forged).unwrap()[0]).unwrap();
    let parts = || Box::new(forger.begin(&forged, 0).unwrap().parts_for(Seat::ALL[1]));
    let frames = SeatJob::encode(&theirs).unwrap();
    let is_forbidden =
        |answer: Result<Reply, KeyHolderError>| matches!(answer, Err(KeyHolderError::Forbidden(_)));
    let mut raw = holders[0].raw(seats.identity());
    // A gateway cannot send parts, and no request asks for them.
    assert!(is_forbidden(raw.ask(&Request::Parts(parts()))));
    let mut raws = holders.each_ref().map(|holder| holder.raw(seats.identity()));
    raws.iter_mut().zip(&frames).for_each(|(raw, job)| raw.send(&frame_with(DECIDE_SEAT, job)));
    let nobody = SeatDecision { seat: Seat::ALL[0], decisions: None, silent: 0, liars: 0, contradicting: 0 };
    for (seat, raw) in Seat::ALL.into_iter().zip(&mut raws) {
        let Ok(Reply::DecidedSeat(decided)) = raw.receive() else { panic!("32 bits, and whom it saw") };
        assert_eq!(decided.decisions.map(|decisions| decisions.lanes().bits()), Some(expected(1)));
        assert_eq!(SeatDecision { decisions: None, ..decided }, SeatDecision { seat, ..nobody });
    }
    let mut stranger = holders[0].raw(other);
    stranger.send(&frame_with(DECIDE_SEAT, &frames[0]));
    assert!(
        matches!(stranger.receive(), Err(KeyHolderError::UnknownTenant)),
        "the tenant of another gateway"
    );
    assert!(is_forbidden(stranger.ask(&Request::Parts(parts()))));
    // A job for another seat is not decided, whatever it says.
    raws[0].send(&frame_with(DECIDE_SEAT, &frames[1]));
    assert!(matches!(raws[0].receive(), Ok(Reply::DecidedSeat(decided)) if decided == nobody));
    for kind in (19..=63).chain([255]) {
        let mut raw = holders[0].raw(seats.identity());
        raw.send(&frame_of(&[kind]));
        assert!(matches!(raw.receive(), Err(KeyHolderError::Unavailable(_))), "kind {kind}");
    }
}

#[test]
fn what_a_quorum_does_not_do_is_refused_with_what_to_do() {
    let seats = KeyHolders::new();
    let holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    let quorum = &gateway.quorum;
    let advised = |outcome: Result<(), KeyHolderError>| {
        assert!(
            matches!(&outcome, Err(KeyHolderError::Forbidden(why)) if why.contains("use a key-holder that is alone")),
            "{outcome:?}"
        );
    };
    advised(quorum.create_tenant(TenantId::new([8; 16]), KeyStructure::PerTenant, lenient(0)).map(drop));
    advised(quorum.sealing_key().map(drop));
    advised(quorum.begin_rotation(TENANT).map(drop));
    advised(quorum.finish_rotation(TENANT, 0));
    let [_, plain] = gateway.jobs(1);
    let unconfirmed = quorum.decide(plain.clone());
    assert!(
        matches!(&unconfirmed, Err(KeyHolderError::Forbidden(why)) if why.contains("mask it with the quorum"))
    );

    // A gateway that knows only one of the three, and treats it as a single key-holder.
    let one = holders[0].connected(seats.identity());
    let told = |outcome: Result<(), KeyHolderError>| {
        assert!(
            matches!(&outcome, Err(KeyHolderError::Forbidden(why)) if why.contains("give the gateway all")),
            "{outcome:?}"
        );
    };
    told(one.decide(plain).map(drop));
    told(one.create_tenant(TenantId::new([9; 16]), KeyStructure::PerTenant, lenient(0)).map(drop));
    told(one.sealing_key().map(drop));
    told(one.begin_rotation(TENANT).map(drop));
    told(one.finish_rotation(TENANT, 0));
    // The name that was refused for one structure is still free for the other.
    quorum.create_tenant(TenantId::new([9; 16]), KeyStructure::PerSubject, lenient(0)).unwrap();
}

#[test]
fn three_that_are_no_quorum_say_so() {
    let house = House::new("kill");
    let running = house.start();
    let alone = running.connected(house.gateway());
    alone.create_tenant(TENANT, KeyStructure::PerSubject, lenient(0)).unwrap();
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    let [job, _] = gateway.jobs(1);
    let mut raw = running.raw(house.gateway());
    raw.send(&frame_with(DECIDE_SEAT, &SeatJob::encode(&job).unwrap()[0]));
    assert!(
        matches!(raw.receive(), Err(KeyHolderError::Forbidden(why)) if why.contains("no seat of a quorum")),
        "it is alone"
    );
    // A peer cannot be a client as well.
    let peer = holders[1].address.fingerprint;
    holders[0].kill();
    {
        let directory = DataDir::open(&seats.data(1)).unwrap();
        let mut clients = Clients::read(&directory).unwrap();
        clients.authorise(&directory, "both", peer, Right::Match).unwrap();
    }
    let refused = Command::new(PROGRAM).arg("--config").arg(seats.config(1)).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("is a peer and in the list of clients"));
}

/// Claim M19.
///
/// A lying gateway sends a batch to one of them, waits until that one gives up, and then sends it to another, which has the first one's
/// parts and decides. Both have counted the failure: a key-holder leaves it uncounted only where no other received its parts.
#[test]
fn a_batch_that_is_given_up_is_a_failure_unless_nobody_heard_of_it() {
    let seats = KeyHolders::new();
    let mut holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    holders.iter_mut().for_each(Running::kill);
    let config = std::fs::read_to_string(seats.config(1)).unwrap();
    let short = config.replace("timeout_ms = 60000", "timeout_ms = 1000");
    assert_ne!(config, short);
    std::fs::write(seats.config(1), short).unwrap();
    let first = seats.start(1);
    let mut raw = first.raw(seats.identity());
    let mut shown_to_the_first = |batch: u32| {
        let [job, _] = gateway.jobs(batch);
        let frames = SeatJob::encode(&job).unwrap().map(|job| frame_with(DECIDE_SEAT, &job));
        raw.send(&frames[0]);
        let Ok(Reply::DecidedSeat(decided)) = raw.receive() else { panic!("a decision") };
        assert_eq!(decided.decisions, None);
        let Ok(Reply::Status(status)) = raw.ask(&Request::Status) else { panic!("the status") };
        (status.failures, job.occupied().len() as u64, frames)
    };
    let (failures, _, _) = shown_to_the_first(0);
    assert_eq!(failures, 0, "the other two are away");
    let second = seats.start(2);
    let reached = |failures: u64, lanes: u64| failures > 0 && failures.is_multiple_of(lanes);
    let (frames, batch) = (1..60)
        .find_map(|batch| {
            let (failures, lanes, frames) = shown_to_the_first(batch);
            reached(failures, lanes).then_some((frames, batch))
        })
        .expect("the first finds the second");
    let mut raw = second.raw(seats.identity());
    raw.send(&frames[1]);
    let Ok(Reply::DecidedSeat(decided)) = raw.receive() else { panic!("a decision") };
    assert_eq!(decided.decisions.map(|decisions| decisions.lanes().bits()), Some(expected(batch)));
}

/// A gateway sends two seats one job, to each with the threshold that it has set there. To them these are two jobs.
#[test]
fn a_job_that_is_sent_under_two_thresholds_is_decided_under_neither() {
    let seats = KeyHolders::new();
    for seat in 1..=3 {
        // What does not come is waited for once.
        let toml = std::fs::read_to_string(seats.config(seat)).unwrap();
        std::fs::write(seats.config(seat), toml.replace("timeout_ms = 60000", "timeout_ms = 2000")).unwrap();
    }
    let holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    holders[1].connected(seats.identity()).set_policy(TENANT, lenient(0)).unwrap();
    let [job, _] = gateway.jobs(1);
    let mut raw = [15_000, 0].into_iter().zip(&holders).enumerate().map(|(seat, (threshold, holder))| {
        let job = under(threshold, job.clone());
        let mut raw = holder.raw(seats.identity());
        raw.send(&frame_with(DECIDE_SEAT, &SeatJob::encode(&job).unwrap()[seat]));
        raw
    });
    let (mut one, mut other) = (raw.next().unwrap(), raw.next().unwrap());
    for raw in [&mut one, &mut other] {
        let Ok(Reply::DecidedSeat(decided)) = raw.receive() else { panic!("a decision") };
        assert_eq!(decided.decisions, None);
    }
}

#[test]
fn two_of_three_decide_under_the_threshold_of_a_batch_and_one_alone_does_not() {
    let seats = KeyHolders::new();
    let holders = [1, 2, 3].map(|seat| seats.start(seat));
    let gateway = Gateway::new(&seats, &holders);
    let decide = |batch: u32, threshold: i32| {
        let [job, _] = gateway.jobs(batch);
        gateway.quorum.decide(under(threshold, job)).map(|decisions| decisions.lanes().bits())
    };
    assert_eq!(decide(1, 15_000).unwrap(), expected(1));
    let to_one = |seat: usize, threshold: i32| {
        let one = holders[seat].connected(seats.identity());
        one.set_policy(TENANT, lenient(threshold)).unwrap();
    };
    to_one(2, 32_768);
    assert_eq!(decide(2, 15_000).unwrap(), expected(2), "two have it");
    to_one(1, 32_768);
    let refused = decide(3, 15_000);
    assert!(matches!(refused, Err(KeyHolderError::OtherThreshold(32_768))), "{refused:?}");
    assert_eq!(decide(4, 32_768).unwrap(), 0, "the two that have the other one");
    gateway.quorum.set_policy(TENANT, lenient(15_000)).unwrap();
    assert_eq!(decide(5, 15_000).unwrap(), expected(5));
}
