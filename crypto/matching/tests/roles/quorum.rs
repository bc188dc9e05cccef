//! Three key-holders, any two of which decide.

use crate::{NOW, TENANT, disturbed, handle, lane_of, lenient, policy, random_face};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use std::sync::Arc;
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder, Seat, SeatJob, assemble};
use trefoil_matching::{
    DecisionPolicy, Embedding, JobError, KeyHolder, KeyHolderError, KeyStructure, MatchJob, Matcher,
    MemoryVault, PublicKey, Template, Tier, split, unblind,
};

const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];

/// Three key-holders and the one that they are compared with, with the same people.
struct Three {
    holders: Vec<QuorumHolder>,
    alone: KeyHolder,
    keys: [PublicKey; 2],
    /// Templates of the three, and of the one.
    people: Vec<(Template, Template, Embedding)>,
    matcher: Matcher,
    rng: StdRng,
}

impl Three {
    fn new(policy: DecisionPolicy, people: u8) -> Three {
        let mut rng = StdRng::seed_from_u64(1);
        let holders: Vec<QuorumHolder> = Pieces::deal(&mut rng)
            .into_iter()
            .map(|pieces| QuorumHolder::new(alone(), pieces).unwrap())
            .collect();
        let keys: Vec<PublicKey> =
            holders.iter().map(|holder| holder.create_tenant(TENANT, policy).unwrap()).collect();
        assert!(keys.windows(2).all(|pair| pair[0].to_bytes() == pair[1].to_bytes()));
        let alone = KeyHolder::new(Box::<MemoryVault>::default(), &mut rng).unwrap();
        let its = alone.create_tenant(TENANT, KeyStructure::PerSubject, policy).unwrap();
        let keys = [keys[0].clone(), its];
        let matcher = Matcher::new(Tier::detected(), [9; 32]);
        let mut three = Three { holders, alone, keys, people: Vec::new(), matcher, rng };
        (0..people).for_each(|name| three.enrol(name));
        three
    }

    fn enrol(&mut self, name: u8) {
        let face = random_face(&mut self.rng);
        let contributions = [0, 1, 2].map(|seat: usize| self.holders[seat].contribute());
        let (blinded, blind) = split(&face, &mut self.rng);
        let answers = [0, 1, 2].map(|seat: usize| {
            let holder = &self.holders[seat];
            holder.enrol(TENANT, handle(name), 0, lane_of(name), &blinded, &contributions).unwrap()
        });
        let ours = unblind(assemble(&answers).unwrap(), blind);
        let (blinded, blind) = split(&face, &mut self.rng);
        let theirs = self.alone.enrol(TENANT, handle(name), 0, lane_of(name), &blinded.into()).unwrap();
        self.people.push((ours, unblind(theirs, blind), face));
    }

    /// The same probes against the templates of the three and against those of the one: friends, near strangers and strangers.
    fn jobs(&mut self, batch: u8) -> [MatchJob; 2] {
        let probes: Vec<Embedding> = (0..self.people.len())
            .map(|lane| match (lane + usize::from(batch)) % 3 {
                0 => random_face(&mut self.rng),
                _ => disturbed(&mut self.rng, &self.people[lane].2, 100.0),
            })
            .collect();
        [0, 1].map(|which| {
            let pairs: Vec<(&Template, &Embedding)> = self
                .people
                .iter()
                .map(|person| if which == 0 { &person.0 } else { &person.1 })
                .zip(&probes)
                .collect();
            let (matcher, key) = (&mut self.matcher, &self.keys[which]);
            match which {
                0 => matcher.mask_for_three([batch; 16], TENANT, key, &pairs).unwrap(),
                _ => matcher.mask([batch; 16], TENANT, key, &pairs).unwrap(),
            }
        })
    }

    /// What `from` sends to `to`.
    fn parts(&self, from: Seat, to: Seat, job: &MatchJob) -> Parts {
        self.holders[from.index()].begin(&job_of(from, job), NOW).unwrap().parts_for(to)
    }

    /// What `seat` decides when the others send these parts.
    fn decide(&self, seat: Seat, job: &MatchJob, parts: &[(Seat, Parts)]) -> Decided {
        self.decide_job(&job_of(seat, job), parts)
    }

    fn decide_job(&self, job: &SeatJob, parts: &[(Seat, Parts)]) -> Decided {
        let holder = &self.holders[job.seat().index()];
        let begun = holder.begin(job, NOW)?;
        let judged = holder.judge(job, &begun, parts, true);
        let decisions = holder.finish(job, &begun, &judged);
        decisions.map(|decisions| (decisions.lanes().bits(), judged.liars, judged.contradicting))
    }
}

/// What `seat` is sent.
fn job_of(seat: Seat, job: &MatchJob) -> SeatJob {
    SeatJob::from_bytes(&SeatJob::encode(job).unwrap()[seat.index()]).unwrap()
}

fn alone() -> Arc<KeyHolder> {
    Arc::new(KeyHolder::new(Box::<MemoryVault>::default(), &mut StdRng::seed_from_u64(4)).unwrap())
}

type Decided = Result<(u32, Vec<Seat>, Vec<Seat>), KeyHolderError>;

/// Adds `value` to a coefficient of the first or the second partial, or of that of the witness, modulo both primes.
fn altered(parts: &Parts, which: usize, coefficient: usize, value: u128) -> Parts {
    let mut bytes = parts.to_bytes().to_vec();
    for (limb, prime) in PRIMES.iter().enumerate() {
        let at = 36 + 384 * which + 6 * (32 * limb + coefficient);
        let mut word = [0; 8];
        word[..6].copy_from_slice(&bytes[at..at + 6]);
        let sum = (u128::from(u64::from_le_bytes(word)) + value) % u128::from(*prime);
        bytes[at..at + 6].copy_from_slice(&(sum as u64).to_le_bytes()[..6]);
    }
    Parts::from_bytes(&bytes).unwrap()
}

#[test]
fn any_two_decide_as_one_alone_does() {
    let mut three = Three::new(lenient(15_000), 30);
    let mut accepted = 0;
    for batch in 0..12 {
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
    assert!((60..300).contains(&accepted), "some are accepted and some are not: {accepted}");
}

#[test]
fn a_liar_is_named_and_changes_nothing() {
    let mut three = Three::new(lenient(15_000), 30);
    let [other, _] = three.jobs(0);
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    for seat in Seat::ALL {
        for liar in seat.others() {
            let honest = seat.others().into_iter().find(|other| *other != liar).unwrap();
            let truth = three.parts(liar, seat, &job);
            let replayed = three.parts(liar, seat, &other).to_bytes();
            let replayed = [&truth.to_bytes()[..36], &replayed[36..]].concat();
            let mut garbage = truth.to_bytes().to_vec();
            for at in (36..garbage.len()).step_by(6) {
                let residue = three.rng.next_u64() % PRIMES[1];
                garbage[at..at + 6].copy_from_slice(&residue.to_le_bytes()[..6]);
            }
            let both_shifted = altered(&altered(&truth, 0, 3, 1 << 77), 1, 3, 1 << 77);
            let lies =
                [Parts::from_bytes(&replayed).unwrap(), Parts::from_bytes(&garbage).unwrap(), both_shifted];
            for lie in lies {
                let parts = [(liar, lie.clone()), (honest, three.parts(honest, seat, &job))];
                assert_eq!(three.decide(seat, &job, &parts).unwrap(), (expected, vec![liar], vec![]));
                // Alone, a liar is not believed and costs nobody a freeze.
                let silent = three.decide(seat, &job, &[(liar, lie)]);
                assert!(matches!(silent, Err(KeyHolderError::Unavailable(_))), "{silent:?}");
            }
            // Off by one unit in either of its pieces, or in the witness: in the piece that is common it is seen, in the others it moves
            // nothing.
            for which in 0..3 {
                let parts = [(liar, altered(&truth, which, 5, 1)), (honest, three.parts(honest, seat, &job))];
                let (decided, liars, contradicting) = three.decide(seat, &job, &parts).unwrap();
                assert_eq!(decided, expected);
                assert!(liars == [liar] || (liars.is_empty() && contradicting.contains(&liar)));
            }
        }
    }
}

fn delta() -> u128 {
    (u128::from(PRIMES[0]) * u128::from(PRIMES[1]) - 1) / 65_537
}

/// What `liar` sends to `seat` with the piece that `seat` lacks, and its witness, moved by so many whole scores in all lanes.
fn moved(three: &Three, liar: Seat, seat: Seat, job: &MatchJob, [batch, witness]: [u128; 2]) -> Parts {
    let missing = liar.pieces().iter().position(|piece| *piece == seat.lacks()).unwrap();
    let parts = altered(&three.parts(liar, seat, job), missing, 0, delta() * batch);
    altered(&parts, 2, 0, delta() * witness)
}

#[test]
fn a_share_moved_by_whole_scores_changes_nothing_and_its_sender_is_named() {
    // With every lane taken it is within the band: only the witness contradicts it.
    let mut three = Three::new(lenient(15_000), 32);
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    for seat in Seat::ALL {
        for liar in seat.others() {
            let honest = seat.others().into_iter().find(|other| *other != liar).unwrap();
            let truth = (honest, three.parts(honest, seat, &job));
            for by in [[20_000, 0], [20_000, 20_000], [1, 77], [0, 1], [65_536, 65_535]] {
                let lie = (liar, moved(&three, liar, seat, &job, by));
                for parts in [[lie.clone(), truth.clone()], [truth.clone(), lie]] {
                    assert_eq!(three.decide(seat, &job, &parts).unwrap(), (expected, vec![liar], vec![]));
                }
            }
            // Both honest ones decide the same, whatever each of them is told.
            let to_honest = [
                (liar, moved(&three, liar, honest, &job, [30_000, 5])),
                (seat, three.parts(seat, honest, &job)),
            ];
            assert_eq!(three.decide(honest, &job, &to_honest).unwrap(), (expected, vec![liar], vec![]));
        }
    }
}

#[test]
fn with_one_away_a_moved_share_is_refused_and_the_third_freezes() {
    for liar in Seat::ALL {
        let mut three = Three::new(lenient(15_000), 32);
        for seat in liar.others() {
            for attempt in 0..3u8 {
                let [job, alone] = three.jobs(attempt);
                let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
                let truth = [(liar, three.parts(liar, seat, &job))];
                assert_eq!(three.decide(seat, &job, &truth).unwrap(), (expected, vec![], vec![]));
                let lie = [(liar, moved(&three, liar, seat, &job, [20_000, 20_000 + u128::from(attempt)]))];
                let (holder, job) = (&three.holders[seat.index()], job_of(seat, &job));
                let begun = holder.begin(&job, NOW).unwrap();
                let early = holder.judge(&job, &begun, &lie, false);
                assert!(!early.is_final() && early.suspect == Some(liar), "the other may yet come");
                let judged = holder.judge(&job, &begun, &lie, true);
                assert_eq!((judged.suspect, &judged.liars[..]), (Some(liar), &[][..]));
                let outcome = holder.finish(&job, &begun, &judged);
                assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
            }
            let [job, _] = three.jobs(9);
            let outcome = three.decide(seat, &job, &[]);
            assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
        }
    }
}

#[test]
fn every_lie_about_one_lane_is_refused_but_the_one_that_knows_the_factor() {
    // The same lie about a batch and many about its witness: who guesses is refused, each time.
    let mut three = Three::new(lenient(15_000), 32);
    let [job, _] = three.jobs(1);
    let [seat, liar, _] = Seat::ALL;
    let (holder, job_here) = (&three.holders[0], job_of(seat, &job));
    let begun = holder.begin(&job_here, NOW).unwrap();
    let lie = moved(&three, liar, seat, &job, [20_000, 0]);
    for guess in 0..2000 {
        let lie = [(liar, altered(&lie, 2, 0, guess * 31 * delta()))];
        let judged = holder.judge(&job_here, &begun, &lie, true);
        assert_eq!(judged.suspect, Some(liar), "guess {guess}");
    }
}

#[test]
fn each_seat_gets_its_own_witness_and_another_seats_job_is_refused() {
    let mut three = Three::new(lenient(0), 3);
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
        // 32 factors and 64 coefficients of c0 are in nobody else's bytes.
        let secret = &bytes[1..1 + 128 + 384];
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
        assert!(changed(3, 0xff).is_err(), "a factor above t");
        // The third residue of the next seat's c1: parts would be of something else, and so is the name.
        let at = 1 + 128 + 384 + 8192 * 6 + 12;
        let other = changed(at, bytes[at] ^ 1).unwrap();
        assert_ne!(three.holders[seat.index()].begin(&other, NOW).unwrap().digest(), digests[0]);
    }
}

#[test]
fn malformed_jobs_freeze_each_and_budgets_bind_each() {
    let mut three = Three::new(policy(15_000), 30);
    let [job, _] = three.jobs(1);
    let mut crafted = SeatJob::encode(&job).unwrap();
    // c0 is at the head of the masked batch.
    let end = crafted[0].len();
    let c0 = end - 2 * (32 + 4096) * 6;
    for at in (c0..c0 + 2 * 32 * 6).step_by(6) {
        let residue = (three.rng.next_u64() % PRIMES[1]).to_le_bytes();
        crafted.iter_mut().for_each(|job| job[at..at + 6].copy_from_slice(&residue[..6]));
    }
    let crafted = crafted.map(|job| SeatJob::from_bytes(&job).unwrap());
    let others = Three::new(policy(15_000), 30);
    let begun = [0, 1, 2].map(|seat| others.holders[seat].begin(&crafted[seat], NOW).unwrap());
    for seat in Seat::ALL {
        for _ in 0..3 {
            let parts = seat.others().map(|other| (other, begun[other.index()].parts_for(seat)));
            let outcome = three.decide_job(&crafted[seat.index()], &parts);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
        }
        let outcome = three.decide(seat, &job, &[]);
        assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
    }
}

#[test]
fn failures_are_counted_by_each() {
    let mut three = Three::new(policy(15_000), 1);
    let stranger = random_face(&mut three.rng);
    let person = three.people[0].clone();
    let mut job = |probe: &Embedding, batch| {
        three.matcher.mask_for_three([batch; 16], TENANT, &three.keys[0], &[(&person.0, probe)]).unwrap()
    };
    let (wrong, right) = (job(&stranger, 1), job(&person.2, 2));
    let decide = |job: &MatchJob| {
        // Each begins once: what it sends to the others is what it decides with.
        let jobs = Seat::ALL.map(|seat| job_of(seat, job));
        let begun: Vec<_> =
            three.holders.iter().zip(&jobs).map(|(holder, job)| holder.begin(job, NOW).unwrap()).collect();
        let decisions = three.holders.iter().zip(&jobs).zip(&begun).map(|((holder, job), own)| {
            let parts =
                holder.seat().others().map(|other| (other, begun[other.index()].parts_for(holder.seat())));
            let judged = holder.judge(job, own, &parts, true);
            holder.finish(job, own, &judged).unwrap().lanes().bits()
        });
        decisions.collect::<Vec<u32>>()
    };
    assert_eq!(decide(&right), [1, 1, 1]);
    for _ in 0..5 {
        assert_eq!(decide(&wrong), [0, 0, 0]);
    }
    assert_eq!(decide(&right), [0, 0, 0], "five failures in a row delay the sixth attempt at each");
}

#[test]
fn copies_that_differ_are_not_enrolled() {
    let mut rng = StdRng::seed_from_u64(5);
    let three = Three::new(lenient(0), 1);
    let (blinded, _) = split(&random_face(&mut rng), &mut rng);
    let (other, _) = split(&random_face(&mut rng), &mut rng);
    let contributions = [[1; 32], [2; 32], [3; 32]];
    let mut answers = [0, 1, 2].map(|seat: usize| {
        // The last is told another share, and so makes another copy of the first piece.
        let share = if seat == 2 { &other } else { &blinded };
        three.holders[seat].enrol(TENANT, handle(50), 0, lane_of(7), share, &contributions).unwrap()
    });
    assert_eq!(assemble(&answers), Err([Seat::ALL[0], Seat::ALL[2]]));
    answers[2] = three.holders[2].enrol(TENANT, handle(50), 1, lane_of(7), &blinded, &contributions).unwrap();
    assert!(assemble(&answers).is_err(), "another generation");
    let again = three.holders[0].enrol(TENANT, handle(50), 0, lane_of(7), &blinded, &contributions);
    assert!(matches!(again, Err(KeyHolderError::SubjectExists)));
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
    let keyholder = alone();
    QuorumHolder::new(Arc::clone(&keyholder), next(0)).unwrap().create_tenant(TENANT, policy(0)).unwrap();
    assert!(QuorumHolder::new(Arc::clone(&keyholder), next(0)).is_ok());
    assert!(matches!(QuorumHolder::new(keyholder, next(1)), Err(KeyHolderError::Forbidden(_))));
    let single = alone();
    single.create_tenant(TENANT, KeyStructure::PerSubject, policy(0)).unwrap();
    assert!(matches!(QuorumHolder::new(single, next(0)), Err(KeyHolderError::Forbidden(_))));
}
