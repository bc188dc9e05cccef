//! Three key-holders, any two of which decide.

use crate::attacks::{POLYNOMIAL, add_to_end, made_up};
use crate::malformed::{C0, LEAF, PRIMES, add, put};
use crate::three::{TAGS, Three, WITNESS, alone, batch_at, job_at, job_of, key_of, seat_enrolment};
use crate::{ENDS, MODEL, NOW, TENANT, Width, handle, lane_of, lenient, named, policy, random_face, wide};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use std::sync::Arc;
use trefoil_kernels::{Cpu, keccak};
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder, Seat, SeatJob, SeatKey, assemble};
use trefoil_matching::{
    JobError, KeyHolder, KeyHolderError, KeyStructure, MatchJob, MemoryVault, PublicKey, PublicKeyError,
    TenantId, Vault as _, split,
};

/// Claim M29: Any two of three key-holders decide like a single one, and a third that is killed, stalled or wrong changes nothing.
#[test]
fn any_two_decide_as_one_alone_does() {
    for (width, batches) in Width::ALL.into_iter().zip([12, 3, 3]) {
        decide_as_one_alone(&mut Three::new(wide(width, lenient(15_000)), 30), batches);
    }
}

fn decide_as_one_alone(three: &mut Three, batches: u8) {
    let mut accepted = 0;
    for batch in 0..batches {
        let [job, alone] = three.jobs(batch);
        let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
        accepted += expected.count_ones();
        for seat in Seat::ALL {
            let all = seat.others().map(|other| (other, three.parts(other, seat, &job)));
            assert_eq!(three.decide(seat, &job, &all).unwrap(), (expected, vec![], vec![]));
            for one in all {
                assert_eq!(three.decide(seat, &job, &[one]).unwrap(), (expected, vec![], vec![]));
            }
            assert!(matches!(three.decide(seat, &job, &[]), Err(KeyHolderError::Unavailable(_))));
        }
    }
    let shown = 30 * u32::from(batches);
    assert!((shown / 6..shown * 5 / 6).contains(&accepted), "some are accepted and some are not: {accepted}");
}

#[test]
fn of_a_job_that_a_matcher_made_up_there_are_no_parts() {
    ENDS.into_iter().for_each(|width| refuses_what_was_made_up(&mut Three::new(wide(width, lenient(0)), 3)));
}

fn refuses_what_was_made_up(three: &mut Three) {
    for round in 0..4 {
        let [job, _] = three.jobs(round);
        for (seat, mut bytes) in Seat::ALL.into_iter().zip(SeatJob::encode(&job).unwrap()) {
            let holder = &three.holders[seat.index()];
            if round < 3 {
                assert!(holder.begin(&SeatJob::from_bytes(&bytes).unwrap(), NOW).is_ok());
            }
            // In the lane of a subject, and nowhere else.
            add_to_end(&mut bytes, &made_up(three.model.width(), 1, &mut three.rng));
            let outcome = holder.begin(&SeatJob::from_bytes(&bytes).unwrap(), NOW);
            match round {
                3 => assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "each counts"),
                _ => assert!(matches!(outcome, Err(KeyHolderError::Malformed))),
            }
        }
        three.refetch();
    }
}

#[test]
fn each_seat_gets_its_own_witness_and_another_seats_job_is_refused() {
    ENDS.into_iter().for_each(|width| gets_its_own(&mut Three::new(wide(width, lenient(0)), 3)));
}

fn gets_its_own(three: &mut Three) {
    let [job, plain] = three.jobs(1);
    assert!(SeatJob::encode(&plain).is_none(), "masked without witnesses");
    let encoded = SeatJob::encode(&job).unwrap();
    let digests: Vec<[u8; 32]> = Seat::ALL
        .map(|seat| three.holders[seat.index()].begin(&job_of(seat, &job), NOW).unwrap().digest())
        .to_vec();
    assert!(digests[0] == digests[1] && digests[1] == digests[2]);
    for (seat, bytes) in Seat::ALL.into_iter().zip(&encoded) {
        assert!(SeatJob::BYTES.contains(&bytes.len()));
        assert_eq!(job_of(seat, &job).to_bytes(), *bytes);
        let wrong = three.holders[seat.others()[0].index()].begin(&job_of(seat, &job), NOW);
        assert!(matches!(wrong, Err(KeyHolderError::Forbidden(_))));
        // 32 factors and 64 coefficients of c0 are in nobody else's bytes, and nor are the tags.
        let secret = &bytes[TAGS.start..WITNESS + 128 + C0];
        let has = |other: &Seat| encoded[other.index()].windows(secret.len()).any(|window| window == secret);
        assert!(!seat.others().iter().any(has));
        for length in [0, 1, 200, 50_000, 148_000, bytes.len() - 1] {
            assert!(SeatJob::from_bytes(&bytes[..length]).is_err());
        }
        let changed = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[at] = value;
            SeatJob::from_bytes(&changed)
        };
        assert_eq!(changed(0, 3).err(), Some(JobError::Format));
        assert!(changed(WITNESS + 2, 0xff).is_err(), "a factor above t");
        // Where c0 differs, parts are of something else, and so is the name: no flooding is used twice. Where a leaf does, the seats do not log the same.
        let holder = &three.holders[seat.index()];
        for at in [batch_at(bytes), batch_at(bytes) + 6 * 32, job_at(bytes) + LEAF] {
            let other = changed(at, bytes[at] ^ 1).unwrap();
            assert_ne!(holder.begin(&other, NOW).unwrap().digest(), digests[0]);
        }
        // One residue of any c1, and its tag does not fit.
        let own = WITNESS + 128 + C0;
        for at in [own, own + POLYNOMIAL, own + 2 * POLYNOMIAL, bytes.len() - 12] {
            let [job, _] = three.jobs(2);
            let mut bytes = SeatJob::encode(&job).unwrap()[seat.index()].clone();
            bytes[at] ^= 1;
            let other = SeatJob::from_bytes(&bytes).unwrap();
            let outcome = three.holders[seat.index()].begin(&other, NOW);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{at}");
            three.forgive();
        }
    }
}

#[test]
fn malformed_jobs_freeze_each_and_budgets_bind_each() {
    let mut three = Three::new(policy(15_000), 30);
    for seat in Seat::ALL {
        for batch in 0..3 {
            let [job, _] = three.jobs(batch);
            let mut crafted = SeatJob::encode(&job).unwrap();
            // c0 is at the head of the masked batch.
            let c0 = batch_at(&crafted[0]);
            for at in (c0..c0 + 2 * 32 * 6).step_by(6) {
                let residue = three.rng.next_u64() % PRIMES[1];
                crafted.iter_mut().for_each(|job| put(job, at, residue));
            }
            let crafted = crafted.map(|job| SeatJob::from_bytes(&job).unwrap());
            let parts = seat.others().map(|other| {
                let begun = three.holders[other.index()].begin(&crafted[other.index()], NOW).unwrap();
                (other, begun.parts_for(seat))
            });
            let outcome = three.decide_job(&crafted[seat.index()], &parts);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
            three.refetch();
        }
        let [job, _] = three.jobs(9);
        let outcome = three.decide(seat, &job, &[]);
        assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
        three.forgive();
        // The others have counted their attempts, and failures that nobody took back.
        three = Three::new(policy(15_000), 30);
    }
}

#[test]
fn failures_are_counted_by_each() {
    let mut three = Three::new(policy(15_000), 1);
    let stranger = three.face();
    let face = three.people[0].2.clone();
    let (wrong, right) = (three.login(1, 0, &stranger), three.login(2, 0, &face));
    let decide = |job: &MatchJob| {
        // Each begins once: what it sends to the others is what it decides with.
        let jobs = Seat::ALL.map(|seat| job_of(seat, job));
        let begun: Vec<_> =
            three.holders.iter().zip(&jobs).map(|(holder, job)| holder.begin(job, NOW).unwrap()).collect();
        let decisions = three.holders.iter().zip(&jobs).zip(&begun).map(|((holder, job), own)| {
            let parts =
                holder.seat().others().map(|other| (other, begun[other.index()].parts_for(holder.seat())));
            let judged = holder.judge(job, own, &parts, true);
            holder.finish(job, own, &judged, true).unwrap().lanes().bits()
        });
        decisions.collect::<Vec<u32>>()
    };
    assert_eq!(decide(&right), [1, 1, 1]);
    for _ in 0..5 {
        assert_eq!(decide(&wrong), [0, 0, 0]);
    }
    for seat in Seat::ALL {
        let outcome = three.holders[seat.index()].begin(&job_of(seat, &right), NOW);
        assert!(
            matches!(outcome, Err(KeyHolderError::NoAttempts(_))),
            "five in a row delay the sixth at each"
        );
    }
}

/// An outage costs an attempt and no failure, however often it happens.
#[test]
fn what_was_not_decided_is_an_attempt_and_no_failure() {
    for seat in Seat::ALL {
        let mut three = Three::new(policy(15_000), 1);
        let face = three.people[0].2.clone();
        let job = three.login(1, 0, &face);
        for _ in 0..10 {
            let outcome = three.decide(seat, &job, &[]);
            assert!(matches!(outcome, Err(KeyHolderError::Unavailable(_))), "{outcome:?}");
        }
        let status = three.holders[seat.index()].key_holder().status();
        assert_eq!((status.attempts, status.failures, status.malformed_jobs()), (10, 0, 0));
        let all = seat.others().map(|other| (other, three.parts(other, seat, &job)));
        assert_eq!(three.decide(seat, &job, &all).unwrap().0, 1, "nobody is locked out by it");
    }
}

/// Claim M20: A lying key-holder in an enrolment with three is always among those named.
///
/// A gateway relays what each seat contributes, so two honest seats make the same bytes. Whatever a third answers, the refusal names it.
#[test]
fn a_liar_in_an_enrolment_is_named_and_never_two_who_are_honest() {
    let mut rng = StdRng::seed_from_u64(5);
    let three = Three::new(lenient(0), 1);
    let [(blinded, _), (other, _)] = [(); 2].map(|()| split(&random_face(&mut rng, MODEL.width()), &mut rng));
    let mut generation = 0;
    for liar in Seat::ALL {
        let mut honest = || {
            generation += 1;
            let name = named(50, generation);
            (name, three.enrolled(name, lane_of(7), &blinded))
        };
        // Another share; another salt; another generation; one piece of it right.
        for lie in 0..5 {
            let (name, mut answers) = honest();
            let own = &three.holders[liar.index()];
            own.key_holder().shred(name).unwrap();
            let mut contributions = [[7; 32]; 3];
            contributions[liar.index()] = own.contribute(name, NOW).unwrap();
            let lied = own.enrol(&seat_enrolment(
                name,
                lane_of(7),
                MODEL,
                [&blinded, &other][lie % 2],
                contributions,
            ));
            let lied = lied.unwrap();
            let truth = std::mem::replace(&mut answers[liar.index()], lied);
            match lie {
                2 => answers[liar.index()][0] = truth[0].clone(),
                3 => answers[liar.index()][1] = truth[1].clone(),
                4 => answers[liar.index()] = honest().1[liar.index()].clone(),
                _ => {}
            }
            let named = assemble(&answers).unwrap_err();
            assert!(named.contains(&liar), "{liar:?} lied, {named:?} are named");
            assert_eq!(named.len(), if lie == 2 || lie == 3 { 2 } else { 1 }, "{lie}");
        }
        let (_, answers) = honest();
        assert!(assemble(&answers).is_ok());
    }
}

#[test]
fn a_seat_enrols_with_the_contribution_that_it_gave_and_once() {
    let three = Three::new(lenient(0), 1);
    let (blinded, _) =
        split(&random_face(&mut StdRng::seed_from_u64(5), MODEL.width()), &mut StdRng::seed_from_u64(6));
    let (holder, name) = (&three.holders[0], named(60, 0));
    let enrol =
        |name, own| holder.enrol(&seat_enrolment(name, lane_of(7), MODEL, &blinded, [own, [2; 32], [3; 32]]));
    assert!(matches!(enrol(name, [1; 32]), Err(KeyHolderError::Forbidden(_))), "none was given");
    let given = holder.contribute(name, NOW).unwrap();
    assert!(matches!(enrol(named(61, 0), given), Err(KeyHolderError::Forbidden(_))), "for another");
    assert!(enrol(name, given).is_ok());
    holder.key_holder().shred(name).unwrap();
    assert!(matches!(enrol(name, given), Err(KeyHolderError::Forbidden(_))), "a key would encrypt twice");
    let given = holder.contribute(name, NOW).unwrap();
    assert!(enrol(name, given).is_ok());
    let given = holder.contribute(name, NOW).unwrap();
    assert!(matches!(enrol(name, given), Err(KeyHolderError::SubjectExists)));
}

#[test]
fn pieces_and_parts_are_read_as_written_and_nothing_else_is() {
    let mut three = Three::new(lenient(0), 3);
    for pieces in Pieces::deal(&mut StdRng::seed_from_u64(3)) {
        let bytes = pieces.to_bytes();
        assert_eq!(bytes.len(), Pieces::BYTES);
        assert_eq!(*Pieces::from_bytes(&bytes).unwrap().to_bytes(), *bytes);
        assert!((0..bytes.len()).all(|length| Pieces::from_bytes(&bytes[..length]).is_none()));
        assert!(Pieces::from_bytes(&[&bytes[..4], &[3], &bytes[5..]].concat()).is_none());
        assert!(Pieces::from_bytes(&[b"TFP0", &bytes[4..]].concat()).is_none());
    }
    let [job, _] = three.jobs(1);
    let bytes = three.parts(Seat::ALL[1], Seat::ALL[0], &job).to_bytes();
    assert_eq!(bytes.len(), Parts::BYTES);
    assert_eq!(*Parts::from_bytes(&bytes).unwrap().to_bytes(), *bytes);
    assert!((0..bytes.len()).all(|length| Parts::from_bytes(&bytes[..length]).is_none()));
    assert!(Parts::from_bytes(&[b"TFD1", &bytes[4..]].concat()).is_none());
    assert!(Parts::from_bytes(&[&bytes[..40], &[0xff; 6], &bytes[46..]].concat()).is_none());
    assert_eq!(format!("{:?}", Parts::from_bytes(&bytes).unwrap()), "Parts(..)");
}

#[test]
fn a_key_holder_that_was_alone_does_not_become_one_of_three() {
    let mut dealt = [1, 2].map(|seed| Pieces::deal(&mut StdRng::seed_from_u64(seed)));
    let mut next = |deal: usize| {
        let again = Pieces::from_bytes(&dealt[deal][0].to_bytes()).unwrap();
        std::mem::replace(&mut dealt[deal][0], again)
    };
    let key_holder = alone(4);
    QuorumHolder::new(Arc::clone(&key_holder), next(0)).unwrap().create_tenant(TENANT, policy(0)).unwrap();
    assert!(QuorumHolder::new(Arc::clone(&key_holder), next(0)).is_ok());
    assert!(matches!(QuorumHolder::new(key_holder, next(1)), Err(KeyHolderError::Forbidden(_))));
    let single = alone(4);
    single.create_tenant(TENANT, KeyStructure::PerSubject, policy(0)).unwrap();
    assert!(matches!(QuorumHolder::new(single, next(0)), Err(KeyHolderError::Forbidden(_))));
}

#[test]
fn the_salt_of_an_enrolment_is_a_digest_of_what_each_of_the_three_contributes() {
    let mut rng = StdRng::seed_from_u64(6);
    let [pieces, ..] = Pieces::deal(&mut rng);
    let (share, _) = split(&random_face(&mut rng, MODEL.width()), &mut rng);
    let vault = Arc::new(MemoryVault::default());
    let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rng, NOW).unwrap();
    let holder = QuorumHolder::new(Arc::new(key_holder), pieces).unwrap();
    holder.create_tenant(TENANT, policy(0)).unwrap();
    let mut before = None;
    for name in 0..4 {
        let own = holder.contribute(named(name, 0), NOW).unwrap();
        assert_ne!(before.replace(own), Some(own), "each is new");
        let contributions = [own, [2; 32], [name; 32]];
        holder.enrol(&seat_enrolment(named(name, 0), lane_of(3), MODEL, &share, contributions)).unwrap();
        let subject = handle(name);
        let parts = [
            &b"trefoil/quorum/salt/1"[..],
            TENANT.as_bytes(),
            subject.as_bytes(),
            &[0; 4],
            contributions.as_flattened(),
        ];
        let mut digest = [[0; 32]];
        keccak::sha3_256(Cpu::detected(), &[&parts.concat()], &mut digest);
        let subjects = vault.subjects(&TENANT).unwrap();
        let record = subjects.iter().find(|record| record.handle == handle(name)).unwrap();
        assert_eq!([record.salt], digest);
    }
}

#[test]
fn public_keys_of_a_quorum_are_put_together_from_the_seats_and_of_one_tenant() {
    let three = Three::new(lenient(0), 0);
    let key = &three.keys[0];
    assert_eq!((key.tag_versions(), key.epoch()), (vec![0; 3], 0));
    let bytes = key.to_bytes();
    assert_eq!(bytes.len(), PublicKey::BYTES_MAX);
    assert_eq!(PublicKey::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    for n in [0, 4, 36, 37, 50_000, bytes.len() - 1] {
        assert!(PublicKey::from_bytes(&bytes[..n]).is_err());
    }
    assert_eq!(key_of(&three.holders).to_bytes(), bytes);
    // Each seat's tag basis is its own.
    let bases: Vec<&[u8]> = bytes[37..].chunks(bytes[37..].len() / 3).map(|tags| &tags[4..]).collect();
    assert!(bases[0] != bases[1] && bases[1] != bases[2] && bases[0] != bases[2]);
    // Keys of different tenants do not go together; the seat's own encoding is canonical.
    let other = TenantId::new([8; 16]);
    three.holders.iter().for_each(|holder| holder.create_tenant(other, lenient(0)).unwrap());
    let [mut one, two, three] = [0, 1, 2]
        .map(|seat: usize| three.holders[seat].seat_key([other, TENANT, TENANT][seat], [0; 3]).unwrap());
    let encoded = one.to_bytes();
    assert_eq!(encoded.len(), SeatKey::BYTES);
    one = SeatKey::from_bytes(&encoded).unwrap();
    assert_eq!(one.to_bytes(), encoded);
    for n in [0, 39, 40, encoded.len() - 1] {
        assert!(SeatKey::from_bytes(&encoded[..n]).is_err());
    }
    assert!(SeatKey::from_bytes(&vec![255; encoded.len()]).is_err());
    assert!(matches!(PublicKey::of_quorum(&[one, two, three], [0; 3]), Err(PublicKeyError::Quorum)));
}

/// Claim M18: A false tag basis from one of three key-holders is not accepted.
///
/// A seat that plants something in its tag basis would read the probes out of its tags. So nothing of a basis comes from that seat alone: the
/// other holder of each piece says what the piece adds to it, and a difference names the two of which one lies.
#[test]
fn a_seat_that_lies_about_its_tag_basis_is_not_believed() {
    let three = Three::new(lenient(0), 0);
    let honest = [0, 1, 2].map(|seat: usize| three.holders[seat].seat_key(TENANT, [0; 3]).unwrap());
    let polynomial = (SeatKey::BYTES - 40) / 4;
    for liar in Seat::ALL {
        let mut named = Vec::new();
        for part in 0..4 {
            let mut lie = honest[liar.index()].to_bytes();
            // 2^52 in the constant coefficient: in every place of the transformed polynomial, modulo both primes.
            let at = 40 + part * polynomial;
            (0..4096).for_each(|place| add(&mut lie, at, 4096, place, 1 << 46));
            let mut keys = honest.clone();
            keys[liar.index()] = SeatKey::from_bytes(&lie).expect("canonical");
            match PublicKey::of_quorum(&keys, [0; 3]) {
                Err(PublicKeyError::Contradiction(one, other)) => {
                    assert!(one == liar || other == liar, "{liar:?} {part}");
                    named.push(if one == liar { other } else { one });
                }
                other => panic!("{liar:?} {part}: {other:?}"),
            }
        }
        assert_eq!(named.len(), 4);
        assert!(liar.others().iter().all(|other| named.contains(other)), "each piece has another witness");
    }
    // Nor does one alone say which version is in force for another.
    let later = three.holders[1].seat_key(TENANT, [1, 0, 0]).unwrap();
    let mixed = [honest[0].clone(), later, honest[2].clone()];
    assert!(matches!(PublicKey::of_quorum(&mixed, [0; 3]), Err(PublicKeyError::Contradiction(..))));
    assert!(matches!(PublicKey::of_quorum(&honest, [1, 0, 0]), Err(PublicKeyError::Versions([0, 0, 0]))));
}
