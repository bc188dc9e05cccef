//! One batch through the steps, without threads.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trefoil_types::{Account, BatchId, SessionId};

use crossbeam_channel::{Receiver, Sender, unbounded};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use trefoil_attest::{Decision, ProbeMode, Proof, Statement};
use trefoil_cache::{Cache, Session as _};
use trefoil_matching::quorum::{Pieces, QuorumHolder, SeatJob};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Decisions, Embedding, KeyHolder, KeyHolderError, KeyStructure, LaneSet,
    MatchJob, Matcher, MemoryVault, PublicKey, Reply, Request, SealedFor, Share, SharedProbe, Tier, blind,
    unblind,
};
use trefoil_pipeline::{
    Backing, Batch, Bound, Clock as _, Door, LaneRequest, Open, Pipeline, Probe, Refusal, Stale, Verdict,
};

use super::counted::{Count, CountedCache, CountedTenants, taken};
use super::world::{
    AUDIENCE, NOW, PEOPLE, PEOPLE_ONCE, TENANT, THRESHOLD, TestClock, World, answering, clock, in_session,
    named, verdict_of,
};

fn run<C: Cache<Verdict>>(
    pipeline: &Pipeline<C>,
    clock: &TestClock,
    lanes: Vec<LaneRequest<usize>>,
) -> Bound<usize> {
    let mut outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), clock, &Open);
    // They come in random order.
    outcome.lanes.sort_by_key(|lane| lane.reply);
    outcome
}

fn refusals(outcome: &Bound<usize>) -> Vec<(usize, Refusal)> {
    outcome.refused.clone()
}

/// Claim V44: The cache engine and the baseline give the same outcomes.
pub(crate) fn full_batch_decides_and_binds<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let clock = clock();
    // Even lanes show their own face, odd lanes their neighbour's.
    let shown = |i: usize| if i.is_multiple_of(2) { i } else { (i + 1) % PEOPLE };
    let lanes = (0..PEOPLE).map(|i| world.request(i, shown(i), i)).collect();
    let outcome = run(&world.pipeline(), &clock, lanes);
    assert!(outcome.refused.is_empty());
    assert_eq!(outcome.lanes.len(), PEOPLE);
    let first = Statement::decode(&outcome.lanes[0].statement).expect("canonical");
    let again = run(&world.pipeline(), &clock, vec![world.request(0, 0, 0)]);
    let again = Statement::decode(&again.lanes[0].statement).expect("canonical");
    assert_ne!(again.batch_id, first.batch_id);
    for (i, lane) in outcome.lanes.iter().enumerate() {
        assert_eq!(lane.reply, i);
        let expected = if i.is_multiple_of(2) { Decision::Match } else { Decision::NoMatch };
        assert_eq!(lane.decision, Some(expected), "lane {i}");
        let statement = Statement::decode(&lane.statement).expect("canonical");
        let person = &PEOPLE_ONCE.0[i];
        assert_eq!(statement.decision, expected);
        assert_eq!(statement.account, Account::new(*person.envelope.statement.account.as_bytes()));
        assert_ne!(
            statement.account.as_bytes(),
            person.handle.as_bytes(),
            "the relying party sees the pairwise pseudonym only"
        );
        assert_eq!(statement.audience, AUDIENCE);
        assert_eq!((statement.issued_at, statement.expires_at), (NOW, NOW + 60));
        let proven = &person.envelope.statement;
        let (circuit, session) = (proven.circuit.id(), proven.digest());
        let proof = Proof {
            circuit,
            root: PEOPLE_ONCE.1,
            level: 2,
            epoch: proven.epoch,
            session: SessionId::new(session),
        };
        assert_eq!(statement.proof, Some(proof));
        assert_eq!((statement.tenant, statement.nonce), (TENANT, &[i as u8; 16][..]));
        assert_eq!(statement.request_digest, [i as u8; 32]);
        assert_eq!((statement.policy_id, statement.policy_version, statement.fmr_class), (1, 4, 3));
        assert_eq!((statement.probe_mode, statement.template_generation), (ProbeMode::Plain, 5));
        assert_eq!(statement.batch_id, first.batch_id);
        assert_eq!(lane.digest, trefoil_attest::statement_digest(&lane.statement));
    }
}

/// A subject keeps its lane, so that a statement or a leaf that showed it would join the accounts of one person.
pub(crate) fn places_are_drawn_anew_for_each_batch<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (pipeline, clock) = (world.pipeline(), clock());
    let (mut places_of_one, mut leaves_of_one) = (HashSet::new(), HashSet::new());
    for _ in 0..20 {
        let lanes = (0..PEOPLE).map(|i| world.request(i, i, i)).collect();
        let outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), &*clock, &Open);
        let mut places = HashSet::new();
        for (leaf, lane) in outcome.lanes.iter().enumerate() {
            let place = Statement::decode(&lane.statement).expect("canonical").place;
            assert!(usize::from(place) < PEOPLE && places.insert(place), "everybody has a place");
            assert_eq!(lane.decision, Some(Decision::Match), "everybody gets the own decision");
            if lane.reply == 0 {
                places_of_one.insert(place);
                leaves_of_one.insert(leaf);
            }
        }
        assert_eq!(outcome.lanes.len(), PEOPLE);
    }
    // All the same by chance: once in PEOPLE^19.
    assert!(places_of_one.len() > 1 && leaves_of_one.len() > 1, "{places_of_one:?}, {leaves_of_one:?}");
}

/// Claim O6: A verdict enters the cache only by verification, a refused proof leaves nothing there, and a request with a missing or expired
/// session is refused before it costs an attempt.
pub(crate) fn missing_and_expired_sessions_are_refused<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    let (pipeline, clock) = (world.pipeline(), clock());
    let missing = Refusal::Session(Stale::Missing);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, missing)]);
    world.prove_all();
    assert_eq!(run(&pipeline, &clock, vec![world.request(0, 0, 0)]).lanes.len(), 1);
    clock.unix_s.store(NOW + 600, Ordering::Relaxed);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, missing)]);
    assert_eq!(clock.unix_s(), NOW + 600);
    // An entry that outlives its verdict's own time is refused too.
    let verdict = verdict_of(&PEOPLE_ONCE.0[0], NOW + 600);
    world.cache.session().insert(PEOPLE_ONCE.0[0].session.to_bytes(), verdict, NOW + 9_999, NOW + 600);
    let expired = Refusal::Session(Stale::Expired);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, expired)]);
}

pub(crate) fn withdrawn_root_is_refused_at_the_next_batch<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (pipeline, clock) = (world.pipeline(), clock());
    world.put_tenant(vec![(2, [9; 32]), (1, PEOPLE_ONCE.1)], 2);
    assert_eq!(run(&pipeline, &clock, vec![world.request(0, 0, 0)]).lanes.len(), 1, "grace window");
    world.put_tenant(vec![(2, [9; 32])], 2);
    let outcome = run(&pipeline, &clock, vec![world.request(0, 0, 0)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::Session(Stale::Root))]);
}

pub(crate) fn session_covers_only_its_subject_audience_and_level<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (pipeline, clock) = (world.pipeline(), clock());
    let scope = Refusal::Session(Stale::Scope);
    let mut other_subject = world.request(0, 0, 0);
    in_session(&mut other_subject).id = SessionId::new(PEOPLE_ONCE.0[1].session.to_bytes());
    let mut other_audience = world.request(1, 1, 1);
    other_audience.audience = "elsewhere.example".into();
    let outcome = run(&pipeline, &clock, vec![other_subject, other_audience, world.request(2, 2, 2)]);
    assert_eq!(refusals(&outcome), [(0, scope), (1, scope)]);
    assert_eq!(outcome.lanes.len(), 1);
    world.put_tenant(vec![(1, PEOPLE_ONCE.1)], 3);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(2, 2, 2)])), [(2, scope)]);
}

pub(crate) fn a_batch_reads_one_snapshot_and_looks_each_verdict_up_once<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(CountedCache::new(cache));
    let (look_ups, snapshots) = (Arc::clone(&world.cache.look_ups), Count::default());
    let tenants = CountedTenants { inner: world.registry.clone(), snapshots: Arc::clone(&snapshots) };
    let pipeline = world.pipeline_of(tenants, world.local());
    let clock = clock();
    for lanes in [1, 5, PEOPLE] {
        let requests: Vec<_> = (0..lanes).map(|i| world.request(i, i, i)).collect();
        assert_eq!(run(&pipeline, &clock, requests).lanes.len(), lanes);
        assert_eq!((taken(&look_ups), taken(&snapshots)), (lanes, 1), "{lanes} lanes");
    }
    // A verdict that the service read from the session's row comes with the lane.
    let mut revived = world.request(0, 0, 0);
    in_session(&mut revived).revived = Some(Box::new(verdict_of(&PEOPLE_ONCE.0[0], NOW + 600)));
    world.cache.session().remove(PEOPLE_ONCE.0[0].session.as_bytes());
    assert_eq!(run(&pipeline, &clock, vec![revived, world.request(1, 1, 1)]).lanes.len(), 2);
    assert_eq!((taken(&look_ups), taken(&snapshots)), (1, 1));
}

/// Lets in the requests whose nonces begin with these bytes, and notes whose are spent.
struct Guarded {
    holders: Vec<u8>,
    refuses: Option<u8>,
    spent: Sender<usize>,
}

impl Door<usize> for Guarded {
    fn is_holders(&self, request: &LaneRequest<usize>, verdict: &Verdict) -> bool {
        verdict.handle == request.template.handle && self.holders.contains(&request.nonce[0])
    }

    fn spend(&self, request: &LaneRequest<usize>, now: u64) -> Result<(), Refusal> {
        assert_eq!(now, NOW);
        if self.refuses == Some(request.nonce[0]) {
            return Err(Refusal::NonceUsed);
        }
        self.spent.send(request.reply).map_err(|_| Refusal::Fault)
    }
}

/// Claim I11: A login is looked up once, and spends nothing before its MAC is checked.
///
/// In the order in which a stranger would learn least: the MAC, the conditions of the verdict, and last what is used once.
pub(crate) fn what_is_not_its_holders_is_refused_and_spends_nothing<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let (note, spent) = unbounded();
    let door = Guarded { holders: vec![1, 2, 3], refuses: Some(3), spent: note };
    let mut elsewhere = world.request(2, 2, 2);
    elsewhere.audience = "elsewhere.example".into();
    let mut forged = world.request(0, 0, 0);
    forged.audience = "elsewhere.example".into();
    let lanes = vec![forged, world.request(1, 1, 1), elsewhere, world.request(3, 3, 3)];
    let (pipeline, clock) = (world.pipeline(), clock());
    let ran = pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), &*clock, &door);
    let refused = [(0, Refusal::Mac), (2, Refusal::Session(Stale::Scope)), (3, Refusal::NonceUsed)];
    assert_eq!(refusals(&ran), refused);
    assert_eq!(ran.lanes.iter().map(|lane| lane.reply).collect::<Vec<_>>(), [1]);
    assert_eq!(spent.try_iter().collect::<Vec<_>>(), [1]);
}

/// Refuses, at a register that nodes share, the first and the last request of each batch, and notes which it was asked about.
struct Shared {
    own: Guarded,
    asked: Sender<Vec<usize>>,
}

impl Door<usize> for Shared {
    fn is_holders(&self, request: &LaneRequest<usize>, verdict: &Verdict) -> bool {
        self.own.is_holders(request, verdict)
    }

    fn spend(&self, request: &LaneRequest<usize>, now: u64) -> Result<(), Refusal> {
        self.own.spend(request, now)
    }

    fn spend_shared(
        &self,
        requests: &mut dyn Iterator<Item = &LaneRequest<usize>>,
        now: u64,
    ) -> Vec<(usize, Refusal)> {
        assert_eq!(now, NOW);
        let asked: Vec<usize> = requests.map(|request| request.reply).collect();
        let last = asked.len().saturating_sub(1);
        self.asked.send(asked).expect("the test listens");
        vec![(0, Refusal::NonceUsed), (last, Refusal::RegisterUnavailable)]
    }
}

/// One call for a batch, about the lanes that passed all local checks. Those that it refuses are not decided, and the others are.
pub(crate) fn what_another_node_has_taken_is_refused_and_the_others_are_decided<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let ((note, _spent), (tell, asked)) = (unbounded(), unbounded());
    let own = Guarded { holders: vec![0, 2, 3, 4, 5, 6], refuses: Some(5), spent: note };
    let door = Shared { own, asked: tell };
    let (pipeline, clock) = (world.pipeline(), clock());
    let ran = |lanes| pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), &*clock, &door);
    let outcome = ran((0..7).map(|i| world.request(i, i, i)).collect());
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), [[0, 2, 3, 4, 6]], "not those without MAC or nonce");
    let (used, away) = (Refusal::NonceUsed, Refusal::RegisterUnavailable);
    // First those of the node itself.
    assert_eq!(refusals(&outcome), [(1, Refusal::Mac), (5, used), (0, used), (6, away)]);
    let mut decided: Vec<usize> = outcome.lanes.iter().map(|lane| lane.reply).collect();
    decided.sort_unstable();
    assert_eq!(decided, [2, 3, 4]);
    assert!(outcome.lanes.iter().all(|lane| lane.decision == Some(Decision::Match)), "each its own");

    world.put_tenant_with(vec![world.key.clone()], vec![(1, PEOPLE_ONCE.1)], None);
    let vouched = |i| vouched(&world, i);
    let outcome = ran([2, 3, 5, 6].map(vouched).into());
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), [[2, 3, 6]]);
    assert_eq!(refusals(&outcome), [(5, used), (2, used), (6, away)]);
    assert_eq!(outcome.lanes.iter().map(|lane| lane.reply).collect::<Vec<_>>(), [3]);
}

/// A request that the application vouches for.
fn vouched<C: Cache<Verdict>>(world: &World<C>, i: usize) -> LaneRequest<usize> {
    let backing = Backing::Application(Account::new([i as u8; 32]));
    LaneRequest { backing, ..world.request(i, i, i) }
}

/// A tenant that asks for no proof: no verdict is looked up, the nonce is spent, and the statement says that there is no proof. Neither kind
/// of request passes for the other.
pub(crate) fn a_tenant_without_proofs_has_no_look_ups_and_says_so_in_each_statement<C: Cache<Verdict>>(
    cache: C,
) {
    let world = World::proven(CountedCache::new(cache));
    let vouched = |i| vouched(&world, i);
    let (note, spent) = unbounded();
    let door = Guarded { holders: vec![1], refuses: Some(3), spent: note };
    let (pipeline, clock) = (world.pipeline(), clock());
    let ran = |lanes| pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), &*clock, &door);
    let outcome = ran(vec![vouched(0), world.request(1, 1, 1)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::ProofMode)], "a proof is asked for");
    assert_eq!((outcome.lanes.len(), taken(&world.cache.look_ups)), (1, 1));
    assert_eq!(spent.try_iter().collect::<Vec<_>>(), [1]);

    world.put_tenant_with(vec![world.key.clone()], vec![(1, PEOPLE_ONCE.1)], None);
    let outcome = ran(vec![vouched(0), world.request(1, 1, 1), vouched(2), vouched(3)]);
    assert_eq!(refusals(&outcome), [(1, Refusal::ProofMode), (3, Refusal::NonceUsed)]);
    assert_eq!(taken(&world.cache.look_ups), 0);
    assert_eq!(spent.try_iter().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(outcome.lanes.len(), 2);
    for lane in &outcome.lanes {
        let statement = Statement::decode(&lane.statement).expect("canonical");
        assert_eq!(statement.proof, None);
        assert_eq!(statement.account, Account::new([lane.reply as u8; 32]));
        assert_eq!(lane.decision, Some(Decision::Match));
    }
}

pub(crate) fn shredded_template_costs_only_its_own_lane<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    world.key_holder.shred(named(&PEOPLE_ONCE.0[4], 5)).expect("shred");
    let lanes = (0..8).map(|i| world.request(i, i, i)).collect();
    let outcome = run(&world.pipeline(), &clock(), lanes);
    assert_eq!(refusals(&outcome), [(4, Refusal::Template)]);
    assert_eq!(outcome.lanes.len(), 7);
    assert!(outcome.lanes.iter().all(|lane| lane.decision == Some(Decision::Match)));
}

/// While keys are rotated there are two matches, and each answers for its own lanes.
pub(crate) fn lanes_of_two_epochs_are_matched_apart_and_answered_in_order<C: Cache<Verdict>>(cache: C) {
    let mut world = World::proven(cache);
    let next = world.key_holder.begin_rotation(TENANT).expect("known");
    let mut rng = StdRng::seed_from_u64(4);
    for i in [0, 3, 4] {
        let (blinded, blind) = blind(&world.templates[i], &mut rng);
        let renewed = world.key_holder.renew(named(&PEOPLE_ONCE.0[i], 5), 6, &blinded);
        world.templates[i] = unblind(renewed.expect("honest"), blind);
    }
    let live = vec![(1, PEOPLE_ONCE.1)];
    world.put_tenant_with(vec![world.key.clone(), next.clone()], live.clone(), Some(2));
    let lanes = |reply: usize| world.request(reply, if reply < 2 { reply } else { reply + 1 }, reply);
    let outcome = run(&world.pipeline(), &clock(), (0..6).map(lanes).collect());
    assert!(outcome.refused.is_empty());
    let answered: Vec<_> =
        outcome.lanes.iter().map(|lane| (lane.reply, lane.decision.expect("a login"))).collect();
    let expected = |i| (i, if i < 2 { Decision::Match } else { Decision::NoMatch });
    assert_eq!(answered, (0..6).map(expected).collect::<Vec<_>>());
    // The rotation ends while requests wait: only what is under the keys that are left is matched.
    world.put_tenant_with(vec![next], live, Some(2));
    let outcome = run(&world.pipeline(), &clock(), (0..6).map(lanes).collect());
    assert_eq!(refusals(&outcome), [1, 2, 5].map(|i| (i, Refusal::Template)));
    assert_eq!(outcome.lanes.iter().map(|lane| lane.reply).collect::<Vec<_>>(), [0, 3, 4]);
}

pub(crate) fn probe_of_another_mode_costs_only_its_own_lane<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let mut shared = world.request(1, 1, 1);
    let session = in_session(&mut shared).id;
    let sealed_for = SealedFor { session, nonce: shared.nonce.clone(), issued_at: NOW };
    let context = sealed_for.context(&TENANT, &shared.template.handle);
    let share = Share::random(trefoil_matching::Width::W128, &mut StdRng::seed_from_u64(5));
    let sealed = world.key_holder.sealing_key().seal(&context, &share);
    shared.probe = Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for }));
    let lanes = vec![world.request(0, 0, 0), shared, world.request(2, 2, 2)];
    let outcome = run(&world.pipeline(), &clock(), lanes);
    assert_eq!(refusals(&outcome), [(1, Refusal::ProbeMode)]);
    assert!(outcome.lanes.iter().all(|lane| lane.decision == Some(Decision::Match)));
    assert_eq!(outcome.lanes.len(), 2);
}

pub(crate) fn no_decision_without_the_key_holder<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let all = |why| [0, 1, 2].map(|i| (i, why));
    let sealed = [(1, Refusal::SealedShare), (0, Refusal::KeyHolder), (2, Refusal::KeyHolder)];
    let contested = [(1, Refusal::KeyHolderUnavailable), (0, Refusal::KeyHolder), (2, Refusal::KeyHolder)];
    let lanes = LaneSet::from_bits;
    for (answers, expected) in [
        (vec![KeyHolderError::Frozen], all(Refusal::KeyHolder)),
        (vec![KeyHolderError::Unavailable("away".to_owned())], all(Refusal::KeyHolderUnavailable)),
        (vec![KeyHolderError::SealedShares(lanes(0b10)), KeyHolderError::Frozen], sealed),
        (vec![KeyHolderError::Contested(lanes(0b10)), KeyHolderError::Frozen], contested),
        // Lanes that are not in the batch: leaving them out leaves the batch as it was.
        (vec![KeyHolderError::UnknownSubjects(lanes(1 << 20))], all(Refusal::KeyHolderUnavailable)),
        (vec![KeyHolderError::NoAttempts(lanes(1 << 20))], all(Refusal::KeyHolderUnavailable)),
    ] {
        let lanes = (0..3).map(|i| world.request(i, i, i)).collect();
        let (send, refusals_in_turn) = unbounded();
        answers.into_iter().for_each(|answer| send.send(answer).expect("the receiver is here"));
        let refusing = answering(move |request| {
            assert!(matches!(request, Request::Decide(_)), "no probe is shared, and no key asked for");
            Err(refusals_in_turn.try_recv().expect("asked once more"))
        });
        let outcome = run(&world.pipeline_with(refusing), &clock(), lanes);
        assert!(outcome.lanes.is_empty());
        assert_eq!(refusals(&outcome), expected);
    }
}

/// The world's key-holder, which tells what it is asked to decide.
fn counting<C: Cache<Verdict>>(world: &World<C>) -> (Arc<Pipeline<C>>, Receiver<LaneSet>) {
    let (asked, jobs) = unbounded();
    let key_holder = world.behind(move |request| {
        if let Request::Decide(job) = request {
            asked.send(job.occupied()).expect("the test listens");
        }
        None
    });
    (world.pipeline_with(key_holder), jobs)
}

/// Claim V136.
pub(crate) fn a_subject_without_attempts_is_denied_and_costs_its_neighbours_nothing<C: Cache<Verdict>>(
    cache: C,
) {
    let world = World::proven(cache);
    let attempts = AttemptPolicy { attempts_per_generation: 2, ..AttemptPolicy::UNLIMITED };
    world
        .key_holder
        .set_policy(TENANT, DecisionPolicy::new(crate::world::model(), 18_000, attempts))
        .expect("known");
    let (pipeline, jobs) = counting(&world);
    let mut worker = pipeline.worker();
    let clock = clock();
    let mut decide = |people: std::ops::Range<usize>| {
        let lanes = people.map(|i| world.request(i, i, i)).collect();
        let outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut worker, &*clock, &Open);
        assert!(outcome.refused.is_empty());
        let mut replies: Vec<_> =
            outcome.lanes.iter().map(|lane| (lane.reply, lane.decision.expect("a login"))).collect();
        replies.sort_by_key(|(reply, _)| *reply);
        replies
    };
    let of = |people: std::ops::Range<usize>, decision| people.map(move |i| (i, decision));
    for _ in 0..2 {
        assert_eq!(decide(0..2), of(0..2, Decision::Match).collect::<Vec<_>>());
    }
    // The right face, and no attempt left: no. The others are decided with one more job.
    let expected: Vec<_> = of(0..2, Decision::NoMatch).chain(of(2..4, Decision::Match)).collect();
    assert_eq!(decide(0..4), expected);
    // Remembered for a moment: not even one more.
    assert_eq!(decide(0..4), expected);
    let jobs: Vec<u32> = jobs.try_iter().map(LaneSet::bits).collect();
    assert_eq!(jobs, [0b11, 0b11, 0b1111, 0b1100, 0b1100]);
    assert_eq!(clock.waited.load(Ordering::Relaxed), 0, "a match makes an answer take its time");
    assert_eq!(decide(0..2), of(0..2, Decision::NoMatch).collect::<Vec<_>>(), "without any job");
    assert!(clock.waited.load(Ordering::Relaxed) > 0, "as long as a match takes");
}

/// After a malformed job of somebody else the key-holder has other tag keys.
pub(crate) fn public_keys_that_are_out_of_date_are_fetched_again<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let stale = world.key.clone();
    malform(&world);
    assert_ne!(world.key_holder.public_keys(TENANT).expect("known")[0].to_bytes(), stale.to_bytes());
    let (pipeline, jobs) = counting(&world);
    for jobs_so_far in [2, 3] {
        let lanes = (0..3).map(|i| world.request(i, i, i)).collect();
        let outcome = run(&pipeline, &clock(), lanes);
        assert!(outcome.lanes.iter().all(|lane| lane.decision == Some(Decision::Match)));
        assert_eq!((outcome.lanes.len(), jobs.len()), (3, jobs_so_far), "once, for everybody");
    }
}

/// Has a job that no matcher makes counted.
fn malform<C: Cache<Verdict>>(world: &World<C>) {
    let mut rng = StdRng::seed_from_u64(6);
    let face = Embedding::quantise(&PEOPLE_ONCE.0[0].face).expect("face");
    let entropy = Box::new(move |fresh: &mut [u8; 32]| rng.fill_bytes(fresh));
    let mut matcher = Matcher::new(Tier::detected(), entropy);
    let job = matcher
        .mask(BatchId::new([1; 16]), TENANT, THRESHOLD, &world.key, &[(&world.templates[0], &face)])
        .expect("honest");
    let mut bytes = job.to_bytes();
    // A coefficient of what is decrypted.
    let at = bytes.len() - 6;
    bytes[at] ^= 1;
    let job = MatchJob::from_bytes(&bytes).expect("a number below the prime");
    assert!(matches!(world.key_holder.decide(&job, NOW), Err(KeyHolderError::Malformed)));
}

pub(crate) fn shares_that_were_opened_serve_for_the_second_attempt<C: Cache<Verdict>>(cache: C) {
    let world = World::with_keys(cache, KeyStructure::PerTenant);
    world.prove_all();
    let mut rng = StdRng::seed_from_u64(7);
    let sealing = world.key_holder.sealing_key();
    let mut shared = |i: usize| {
        let mut request = world.request(i, i, i);
        let face = Embedding::quantise(&PEOPLE_ONCE.0[i].face).expect("face");
        let (share, other) = Share::of(&face).split(&mut rng);
        let session = in_session(&mut request).id;
        let sealed_for = SealedFor { session, nonce: request.nonce.clone(), issued_at: NOW };
        let sealed = sealing.seal(&sealed_for.context(&TENANT, &request.template.handle), &other);
        request.probe = Probe::Shared(Box::new(SharedProbe { share, sealed, sealed_for }));
        request
    };
    let (send, late) = unbounded();
    // It opens each share once, as all do, and has one subject out of the way only when it decides.
    let pipeline = world.pipeline_with(world.behind(move |request| match (request, late.try_recv()) {
        (Request::Decide(_), Ok(lanes)) => Some(KeyHolderError::UnknownSubjects(lanes)),
        _ => None,
    }));
    // Both calls look whether somebody is late.
    send.send(LaneSet::EMPTY).expect("the receiver is here");
    send.send(LaneSet::from_bits(0b10)).expect("the receiver is here");
    let outcome = run(&pipeline, &clock(), (0..4).map(&mut shared).collect());
    assert_eq!(refusals(&outcome), [(1, Refusal::Template)]);
    let decided: Vec<_> =
        outcome.lanes.iter().map(|lane| (lane.reply, lane.decision.expect("a login"))).collect();
    assert_eq!(decided, [0, 2, 3].map(|i| (i, Decision::Match)));
}

pub(crate) fn a_quorum_gets_what_its_seats_check_each_other_with<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let mut rng = StdRng::seed_from_u64(8);
    let seats = Pieces::deal(&mut rng).map(|pieces| {
        let key_holder =
            KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).expect("an empty vault");
        let holder = QuorumHolder::new(key_holder.into(), pieces).expect("its first pieces");
        let policy = DecisionPolicy::new(crate::world::model(), 0, AttemptPolicy::UNLIMITED);
        holder.create_tenant(TENANT, policy).expect("a new tenant");
        holder.seat_key(TENANT, [0; 3]).expect("known")
    });
    let key = PublicKey::of_quorum(&seats, [0; 3]).expect("they agree");
    world.put_tenant_with(vec![key], vec![(1, PEOPLE_ONCE.1)], Some(2));
    let lanes = (0..3).map(|i| world.request(i, i, i)).collect();
    // It takes jobs for a quorum only, and accepts lane 1.
    let of_three = answering(|request| {
        let Request::Decide(job) = request else { unreachable!("no probe is shared") };
        assert!(SeatJob::encode(&job).is_some(), "masked for one");
        Ok(Reply::Decided(Decisions::from_lanes(LaneSet::from_bits(0b10))))
    });
    let outcome = run(&world.pipeline_with(of_three), &clock(), lanes);
    let decisions: Vec<Decision> = outcome.lanes.iter().map(|lane| lane.decision.expect("a login")).collect();
    assert_eq!(decisions, [Decision::NoMatch, Decision::Match, Decision::NoMatch]);
}

pub(crate) fn request_that_cannot_be_attested_is_answered_as_a_fault<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    let mut long = world.request(0, 0, 0);
    long.nonce = vec![0; 65];
    let outcome = run(&world.pipeline(), &clock(), vec![long, world.request(1, 1, 1)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::Fault)]);
    assert_eq!(outcome.lanes.len(), 1);
}

#[test]
fn a_verdict_is_reached_for_the_statement_that_was_proven() {
    let [one, other] = [0, 1].map(|i| &PEOPLE_ONCE.0[i].envelope);
    let verified = trefoil_zkp::verify(&one.statement, &one.proof).expect("valid proof");
    assert!(Verdict::new(&verified, one, NOW).is_some_and(|verdict| verdict.not_after == NOW));
    assert!(Verdict::new(&verified, other, NOW).is_none());
}

pub(crate) fn unknown_tenant_is_refused<C: Cache<Verdict>>(cache: C) {
    let world = World::proven(cache);
    world.registry.remove(&TENANT);
    let outcome = run(&world.pipeline(), &clock(), vec![world.request(0, 0, 0)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::Tenant)]);
}
