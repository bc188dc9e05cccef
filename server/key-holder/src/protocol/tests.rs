//! The table of kinds agrees with the requests themselves.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::sync::Arc;
use trefoil_matching::quorum::{Pieces, QuorumHolder};
use trefoil_matching::{
    AttemptPolicy, BlindedTemplate, Context, DecisionPolicy, Embedding, Enrolment, ForKeyHolder, KeyHolder,
    LANES, Lane, MatchJob, Matcher, MemoryVault, Model, Renewal, SealedFor, SealedTemplate, SeatEnrolment,
    Share, SharedProbe, Template, TemplateName, TenantId, Tier, blind, split, unblind,
};
use trefoil_types::{BatchId, Handle, SessionId};

/// One of the widest.
fn model() -> Model {
    Model::of("model", 512).unwrap()
}

const TENANT: TenantId = TenantId::new([7; 16]);
const NAME: TemplateName =
    TemplateName { tenant: TENANT, handle: Handle::new([1; 32]), generation: u32::MAX };

/// The longest request of each kind.
struct World {
    rng: StdRng,
    policy: DecisionPolicy,
}

impl World {
    fn new() -> World {
        let policy = DecisionPolicy::new(model(), -32_768, AttemptPolicy::UNLIMITED);
        World { rng: StdRng::seed_from_u64(1), policy }
    }

    fn matcher(&self) -> Matcher {
        let mut rng = StdRng::seed_from_u64(2);
        Matcher::new(Tier::detected(), Box::new(move |fresh| rng.fill_bytes(fresh)))
    }

    fn faces(&mut self) -> Vec<(TemplateName, Lane, Embedding)> {
        let person = |index: u8| {
            let vector: Vec<f32> = (0..512).map(|_| self.rng.next_u32() as f32 - 2e9).collect();
            let name = TemplateName { handle: Handle::new([index; 32]), ..NAME };
            (name, Lane::new(index).unwrap(), Embedding::quantise(&vector).unwrap())
        };
        (0..LANES as u8).map(person).collect()
    }

    fn plain(&mut self) -> (MatchJob, Template) {
        let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut self.rng, 0).unwrap();
        let key = key_holder.create_tenant(TENANT, KeyStructure::PerSubject, self.policy).unwrap();
        let people = self.faces();
        let mut enrol = |(name, lane, face): &(TemplateName, Lane, Embedding)| {
            let (blinded, own) = split(face, &mut self.rng);
            unblind(key_holder.enrol(*name, *lane, model(), &blinded.into(), 0).unwrap(), own)
        };
        let templates: Vec<Template> = people.iter().map(&mut enrol).collect();
        let lanes: Vec<_> = templates.iter().zip(people.iter().map(|(.., face)| face)).collect();
        (
            self.matcher().mask(BatchId::new([1; 16]), TENANT, self.policy.threshold, &key, &lanes).unwrap(),
            templates[0].clone(),
        )
    }

    fn shared(&mut self) -> (MatchJob, ProbeJob) {
        let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut self.rng, 0).unwrap();
        let key = key_holder.create_tenant(TENANT, KeyStructure::PerTenant, self.policy).unwrap();
        let sealing = key_holder.sealing_key();
        let people = self.faces();
        let mut enrol = |(name, lane, face): &(TemplateName, Lane, Embedding)| {
            let (blinded, own) = split(face, &mut self.rng);
            let template = unblind(key_holder.enrol(*name, *lane, model(), &blinded.into(), 0).unwrap(), own);
            let sealed_for = SealedFor { session: SessionId::new([2; 32]), nonce: vec![3; 64], issued_at: 1 };
            let (share, other) = Share::of(face).split(&mut self.rng);
            let sealed = sealing.seal(&sealed_for.context(&TENANT, &name.handle), &other);
            (template, SharedProbe { share, sealed, sealed_for })
        };
        let all: Vec<(Template, SharedProbe)> = people.iter().map(&mut enrol).collect();
        let lanes: Vec<_> = all.iter().map(|(template, probe)| (template, probe)).collect();
        let probes = self.matcher().gather(BatchId::new([1; 16]), TENANT, &key, &lanes).unwrap();
        let encrypted = key_holder.encrypt_probes(&probes, 1).unwrap();
        let (batch, threshold) = (BatchId::new([1; 16]), self.policy.threshold);
        let job = self.matcher().mask_shared(batch, TENANT, threshold, &key, &lanes, &encrypted).unwrap();
        (job, probes)
    }

    /// A seat's job, encoded, and parts of it.
    fn seat(&mut self) -> (Vec<u8>, Parts) {
        let mut holders = Pieces::deal(&mut self.rng).map(|pieces| {
            let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut self.rng, 0).unwrap();
            QuorumHolder::new(key_holder.into(), pieces).unwrap()
        });
        holders.iter().for_each(|holder| holder.create_tenant(TENANT, self.policy).unwrap());
        let keys = holders.each_ref().map(|holder| holder.seat_key(TENANT, [0; 3]).unwrap());
        let key = PublicKey::of_quorum(&keys, [0; 3]).unwrap();
        let people = self.faces();
        let mut enrol = |(name, lane, face): &(TemplateName, Lane, Embedding)| {
            let contributions = holders.each_ref().map(|holder| holder.contribute(*name, 0).unwrap());
            let (blinded, own) = split(face, &mut self.rng);
            let made = holders.each_mut().map(|holder| {
                let template = BlindedTemplate::from_bytes(&blinded.to_bytes()).unwrap();
                let (name, lane) = (*name, *lane);
                holder.enrol(&SeatEnrolment { name, lane, model: model(), template, contributions }).unwrap()
            });
            unblind(trefoil_matching::quorum::assemble(&made).unwrap(), own)
        };
        let templates: Vec<Template> = people.iter().map(&mut enrol).collect();
        let lanes: Vec<_> = templates.iter().zip(people.iter().map(|(.., face)| face)).collect();
        let job =
            self.matcher().mask(BatchId::new([1; 16]), TENANT, self.policy.threshold, &key, &lanes).unwrap();
        let [first, ..] = SeatJob::encode(&job).unwrap();
        let begun = holders[0].begin(&SeatJob::from_bytes(&first).unwrap(), 0).unwrap();
        let parts = begun.parts_for(holders[1].seat());
        (first, parts)
    }

    /// One of each kind, in their order.
    fn requests(&mut self) -> Vec<Request> {
        let lane = Lane::new(31).unwrap();
        let (job, probes) = self.shared();
        let (_, template) = self.plain();
        let (seat_job, parts) = self.seat();
        let (blinded, _) = split(&Embedding::quantise(&[1.0; 512]).unwrap(), &mut self.rng);
        let context = Context::template(&TENANT, &NAME.handle, &[1; IDEMPOTENCY_KEY_BYTES_MAX], u64::MAX);
        let sealing = KeyHolder::new(Arc::<MemoryVault>::default(), &mut self.rng, 0).unwrap().sealing_key();
        let sealed = SealedTemplate {
            sealed: sealing.seal(&context, &Share::random(Width::W512, &mut self.rng)),
            idempotency_key: vec![1; IDEMPOTENCY_KEY_BYTES_MAX],
            issued_at: u64::MAX,
        };
        let attempts = AttemptPolicy { delay_s: u64::MAX, ..AttemptPolicy::UNLIMITED };
        let policy = DecisionPolicy { attempts, previous: Some((model(), -32_768)), ..self.policy };
        let enrolment =
            Enrolment { name: NAME, lane, model: model(), template: ForKeyHolder::Sealed(sealed) };
        let renewal = Renewal { name: NAME, to: u32::MAX, blinded: blind(&template, &mut self.rng).0 };
        let for_seat = SeatEnrolment {
            name: NAME,
            lane,
            model: model(),
            template: blinded,
            contributions: [[1; 32]; 3],
        };
        vec![
            Request::Ping,
            Request::Decide(Box::new(job)),
            Request::EncryptProbes(Box::new(probes)),
            Request::CreateTenant(TENANT, KeyStructure::PerTenant, policy),
            Request::PublicKeys(TENANT),
            Request::Enrol(Box::new(enrolment)),
            Request::Shred(NAME),
            Request::BeginRotation(TENANT),
            Request::Renew(Box::new(renewal)),
            Request::FinishRotation(TENANT, u32::MAX),
            Request::SealingKey,
            Request::Status,
            Request::SetPolicy(TENANT, policy),
            Request::ForgiveMalformed(TENANT),
            Request::DecideSeat(Box::new(SeatJob::from_bytes(&seat_job).unwrap())),
            Request::Contribute(NAME),
            Request::EnrolSeat(Box::new(for_seat)),
            Request::Parts(Box::new(parts)),
            Request::SeatKey(TENANT, [u32::MAX; 3]),
            Request::ResetAttempts(NAME),
            Request::LockedOut(TENANT),
            Request::NoteStore((u64::MAX, u64::MAX)),
        ]
    }
}

/// Names of the kinds as the variants are called, in their order.
const NAMES: [&str; 22] = [
    "Ping",
    "Decide(",
    "EncryptProbes(",
    "CreateTenant(",
    "PublicKeys(",
    "Enrol(",
    "Shred(",
    "BeginRotation(",
    "Renew(",
    "FinishRotation(",
    "SealingKey",
    "Status",
    "SetPolicy(",
    "ForgiveMalformed(",
    "DecideSeat(",
    "Contribute(",
    "EnrolSeat(",
    "Parts(",
    "SeatKey(",
    "ResetAttempts(",
    "LockedOut(",
    "NoteStore(",
];

#[test]
fn every_request_at_its_longest_fits_its_kind_and_comes_back_as_it_was() {
    let requests = World::new().requests();
    assert_eq!(requests.len(), KINDS.len());
    for ((index, request), name) in requests.iter().enumerate().zip(NAMES) {
        let frame = request_frame(request);
        let (kind, length) = request_header(*frame.first_chunk().unwrap()).unwrap();
        assert!(std::ptr::eq(kind, &KINDS[index]), "{name}");
        assert_eq!(length, frame.len() - 4);
        let read = read_request(&frame[4..]).unwrap();
        assert!(format!("{read:?}").starts_with(name), "{name}: {read:?}");
        assert_eq!(request_frame(&read), frame, "{name}");
        // Not a byte more, nor less.
        assert!(read_request(&[&frame[4..], &[0]].concat()).is_err());
        assert!(read_request(&frame[4..frame.len() - 1]).is_err());
    }
    let rights: Vec<Option<Right>> = KINDS.iter().map(|kind| kind.right).collect();
    let operators: Vec<usize> =
        (0..KINDS.len()).filter(|index| rights[*index] == Some(Right::Operate)).collect();
    let peers: Vec<usize> = (0..KINDS.len()).filter(|index| rights[*index] == Some(Right::Peer)).collect();
    let anybodys: Vec<usize> = (0..KINDS.len()).filter(|index| rights[*index].is_none()).collect();
    assert_eq!((operators, peers, anybodys), (vec![13, 19], vec![17], vec![0, 10, 11, 12]));
}

#[test]
fn a_seats_job_that_is_encoded_already_makes_the_same_frame() {
    let (job, _) = World::new().seat();
    let request = Request::DecideSeat(Box::new(SeatJob::from_bytes(&job).unwrap()));
    assert_eq!(seat_frame(&job), request_frame(&request));
}

#[test]
fn the_longest_replies_fit() {
    let mut world = World::new();
    let longest = |reply: &Result<Reply, KeyHolderError>| {
        let frame = reply_frame(reply);
        assert!(frame.len() - 4 <= REPLY_BYTES_MAX, "{}", frame.len());
        let length = reply_length(*frame.first_chunk().unwrap()).unwrap();
        let read = read_reply(&frame[4..][..length]).unwrap();
        assert_eq!(reply_frame(&read), frame);
        assert!(read_reply(&frame[4..frame.len() - 1]).is_none());
    };
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut world.rng, 0).unwrap();
    key_holder.create_tenant(TENANT, KeyStructure::PerTenant, world.policy).unwrap();
    key_holder.begin_rotation(TENANT).unwrap();
    longest(&Ok(Reply::PublicKeys(key_holder.public_keys(TENANT).unwrap())));
    let [pieces, ..] = Pieces::deal(&mut world.rng);
    let seat = KeyHolder::new(Arc::<MemoryVault>::default(), &mut world.rng, 0).unwrap();
    let seat = QuorumHolder::new(seat.into(), pieces).unwrap();
    seat.create_tenant(TENANT, world.policy).unwrap();
    longest(&Ok(Reply::SeatKey(seat.seat_key(TENANT, [u32::MAX; 3]).unwrap().into())));
    longest(&Ok(Reply::SealingKey(key_holder.sealing_key().into())));
    let trips = vec![(TENANT, u64::MAX); Status::COUNTED_MAX];
    let frozen = vec![TENANT; Status::FROZEN_MAX];
    let (malformed, trips_of_previous) = (trips.clone(), trips.clone());
    let status = Status { frozen, malformed, trips, trips_of_previous, ..Status::default() };
    longest(&Ok(Reply::Status(status.into())));
    longest(&Err(KeyHolderError::Unavailable("x".repeat(1000))));
    longest(&Err(KeyHolderError::forbidden("no")));
    let random: Vec<u8> = (0..64).map(|_| world.rng.next_u32() as u8).collect();
    for cut in 0..64 {
        // Every answer of a key-holder is read or refused.
        let _ = (read_reply(&random[..cut]), read_request(&random[..cut]));
    }
}
