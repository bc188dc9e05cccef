//! One batch through the steps, without threads.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trefoil_attest::{Decision, Reveal, Statement};
use trefoil_cache::{Cache, Session as _};
use trefoil_matching::{Decisions, EncryptedProbes, KeyHolderError, KeyHolding, MatchJob, ProbeJob};
use trefoil_pipeline::{Batch, Clock as _, Outcome, Pipeline, Refusal, Stale, Verdict};

use super::world::{AUDIENCE, NOW, PEOPLE, PEOPLE_ONCE, TENANT, TestClock, World, clock, verdict_of};

fn run<C: Cache<Verdict>>(
    pipeline: &Pipeline<C>,
    clock: &TestClock,
    lanes: Vec<trefoil_pipeline::LaneRequest<usize>>,
) -> Outcome<usize> {
    pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), clock)
}

fn refusals(outcome: &Outcome<usize>) -> Vec<(usize, Refusal)> {
    outcome.refused.clone()
}

pub(crate) fn full_batch_decides_and_binds<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    let clock = clock();
    // Even lanes show their own face, odd lanes their neighbour's.
    let shown = |i: usize| if i.is_multiple_of(2) { i } else { (i + 1) % PEOPLE };
    let lanes = (0..PEOPLE).map(|i| world.request(i, shown(i), i)).collect();
    let outcome = run(&world.pipeline(), &clock, lanes);
    assert!(outcome.refused.is_empty());
    assert_eq!(outcome.bound.len(), PEOPLE);
    for (i, lane) in outcome.bound.iter().enumerate() {
        assert_eq!(lane.reply, i);
        let expected = if i.is_multiple_of(2) { Decision::Match } else { Decision::NoMatch };
        assert_eq!(lane.decision, expected, "lane {i}");
        let statement = Statement::decode(&lane.statement).expect("canonical");
        let person = &PEOPLE_ONCE.0[i];
        assert_eq!(statement.decision, expected);
        assert_eq!(statement.lane, i as u8);
        assert_eq!(statement.handle, *person.envelope.statement.tag.as_bytes());
        assert_ne!(statement.handle, person.handle, "the relying party sees the pairwise pseudonym only");
        assert_eq!(statement.audience, AUDIENCE);
        assert_eq!((statement.issued_at, statement.expires_at), (NOW, NOW + 60));
        assert_eq!(statement.proof.expect("proof claims").root, PEOPLE_ONCE.1);
        assert_eq!(lane.digest, trefoil_attest::statement_digest(&lane.statement));
    }
}

pub(crate) fn missing_and_expired_sessions_are_refused<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    let (pipeline, clock) = (world.pipeline(), clock());
    let missing = Refusal::Session(Stale::Missing);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, missing)]);
    world.prove_all();
    assert_eq!(run(&pipeline, &clock, vec![world.request(0, 0, 0)]).bound.len(), 1);
    clock.unix_s.store(NOW + 600, Ordering::Relaxed);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, missing)]);
    assert_eq!(clock.unix_s(), NOW + 600);
    // An entry that outlives its verdict's own time is refused too.
    let verdict = verdict_of(&PEOPLE_ONCE.0[0], NOW + 600);
    world.cache.session().insert(PEOPLE_ONCE.0[0].session, verdict, NOW + 9_999, NOW + 600);
    let expired = Refusal::Session(Stale::Expired);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(0, 0, 0)])), [(0, expired)]);
}

pub(crate) fn withdrawn_root_is_refused_at_the_next_batch<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    let (pipeline, clock) = (world.pipeline(), clock());
    world.put_tenant(vec![(2, [9; 32]), (1, PEOPLE_ONCE.1)], 2);
    assert_eq!(run(&pipeline, &clock, vec![world.request(0, 0, 0)]).bound.len(), 1, "grace window");
    world.put_tenant(vec![(2, [9; 32])], 2);
    let outcome = run(&pipeline, &clock, vec![world.request(0, 0, 0)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::Session(Stale::Root))]);
}

pub(crate) fn session_covers_only_its_subject_audience_and_level<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    let (pipeline, clock) = (world.pipeline(), clock());
    let scope = Refusal::Session(Stale::Scope);
    let mut other_subject = world.request(0, 0, 0);
    other_subject.session = PEOPLE_ONCE.0[1].session;
    let mut other_audience = world.request(1, 1, 1);
    other_audience.audience = "elsewhere.example".into();
    let mut without_chain = world.request(3, 3, 3);
    without_chain.reveal = Some(Reveal { position: 1, value: [0; 32] });
    let lanes = vec![other_subject, other_audience, world.request(2, 2, 2), without_chain];
    let outcome = run(&pipeline, &clock, lanes);
    assert_eq!(refusals(&outcome), [(0, scope), (1, scope), (3, scope)]);
    assert_eq!(outcome.bound.len(), 1);
    world.put_tenant(vec![(1, PEOPLE_ONCE.1)], 3);
    assert_eq!(refusals(&run(&pipeline, &clock, vec![world.request(2, 2, 2)])), [(2, scope)]);
}

pub(crate) fn shredded_template_costs_only_its_own_lane<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    world.keyholder.shred(TENANT, PEOPLE_ONCE.0[4].handle, 1).expect("shred");
    let lanes = (0..8).map(|i| world.request(i, i, i)).collect();
    let outcome = run(&world.pipeline(), &clock(), lanes);
    assert_eq!(refusals(&outcome), [(4, Refusal::Template)]);
    assert_eq!(outcome.bound.len(), 7);
    assert!(outcome.bound.iter().all(|lane| lane.decision == Decision::Match));
}

/// A key-holder that cannot be reached.
struct Unreachable;

impl KeyHolding for Unreachable {
    fn decide(&self, _: &MatchJob, _: u64) -> Result<Decisions, KeyHolderError> {
        Err(KeyHolderError::Frozen)
    }

    fn encrypt_probes(&self, _: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        Err(KeyHolderError::Frozen)
    }
}

pub(crate) fn no_decision_without_the_key_holder<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    let lanes = (0..3).map(|i| world.request(i, i, i)).collect();
    let outcome = run(&world.pipeline_with(Arc::new(Unreachable)), &clock(), lanes);
    assert!(outcome.bound.is_empty());
    assert_eq!(refusals(&outcome), [0, 1, 2].map(|i| (i, Refusal::KeyHolder)));
}

pub(crate) fn unknown_tenant_is_refused<C: Cache<Verdict>>(cache: C) {
    let world = World::new(cache);
    world.prove_all();
    world.registry.remove(&TENANT);
    let outcome = run(&world.pipeline(), &clock(), vec![world.request(0, 0, 0)]);
    assert_eq!(refusals(&outcome), [(0, Refusal::Tenant)]);
}
