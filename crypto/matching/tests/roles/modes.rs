//! Shared probes, which neither role sees, and the one key per tenant that they need.

use super::*;
use trefoil_matching::{
    BlindedTemplate, Context, EncryptedProbes, ForKeyHolder, KeyHolderError, MatchError, ProbeJob,
    PublicKeyError, SEALED_LIFE_S, SealedFor, SealedShare, SealedTemplate, TemplateError,
};
use trefoil_split::{Split, split_probe, split_template};
use trefoil_types::BatchId;
use trefoil_types::SessionId;

const SESSION: SessionId = SessionId::new([6; 32]);

/// A share of a template as a gateway hands it on.
fn for_key_holder(sealed: &SealedShare, idempotency_key: &[u8], issued_at: u64) -> ForKeyHolder {
    let idempotency_key = idempotency_key.to_vec();
    ForKeyHolder::Sealed(SealedTemplate { sealed: sealed.clone(), idempotency_key, issued_at })
}

impl World {
    fn shared() -> World {
        World::with_keys(KeyStructure::PerTenant, lenient(18_000))
    }

    /// What a device of `of` makes of a face.
    pub(super) fn device(&mut self, of: &Template, face: &Embedding, nonce: &[u8]) -> SharedProbe {
        let sealed_for = SealedFor { session: SESSION, nonce: nonce.to_vec(), issued_at: self.sealed_at };
        let context = sealed_for.context(&TENANT, &of.handle);
        let face: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
        let key = self.key_holder.sealing_key();
        let Split { open, sealed } = split_probe(&face, &key, &context, &mut self.rng).expect("a face");
        SharedProbe { share: open, sealed, sealed_for }
    }

    /// The job of a batch of shared probes, read back from its encodings at every step.
    pub(super) fn job(&mut self, lanes: &[(&Template, &SharedProbe)]) -> Result<MatchJob, KeyHolderError> {
        let sealed =
            self.matcher.gather(BatchId::new([5; 16]), TENANT, &self.key, lanes).expect("a valid batch");
        let sealed = ProbeJob::from_bytes(&sealed.to_bytes()).expect("its own encoding");
        let probes = self.key_holder.encrypt_probes(&sealed, self.sealed_at)?;
        let probes = EncryptedProbes::from_bytes(&probes.to_bytes()).expect("its own encoding");
        let key = PublicKey::from_bytes(&self.key.to_bytes()).expect("its own encoding");
        let job = self
            .matcher
            .mask_shared(BatchId::new([5; 16]), TENANT, self.threshold, &key, lanes, &probes)
            .expect("a valid batch");
        Ok(MatchJob::from_bytes(&job.to_bytes()).expect("its own encoding"))
    }

    fn decide(&self, job: &MatchJob) -> u32 {
        self.key_holder.decide(job, NOW).expect("honest").lanes().bits()
    }
}

/// Claim I6: Both probe modes decide like plaintext.
#[test]
fn both_modes_decide_as_the_plain_inner_product_does() {
    // One; some, of each of the widest vectors' ciphertexts or of two of them; all.
    let lanes: [Vec<u8>; 4] = [vec![31], vec![0, 1, 9, 17, 18, 30, 31], vec![15, 8, 16], (0..32).collect()];
    for (width, mode) in Width::ALL.into_iter().flat_map(|width| Mode::ALL.map(|mode| (width, mode))) {
        lanes.iter().for_each(|lanes| decide_as_the_inner_product(width, mode, lanes));
    }
}

fn decide_as_the_inner_product(width: Width, mode: Mode, lanes: &[u8]) {
    const THRESHOLD: i32 = 18_000;
    let mut world = World::with_keys(mode.keys(), wide(width, lenient(THRESHOLD)));
    let faces: Vec<Embedding> = lanes.iter().map(|_| world.face()).collect();
    let templates: Vec<Template> = lanes
        .iter()
        .zip(&faces)
        .map(|(lane, face)| world.enrol(*lane, *lane, face))
        .map(|template| Template::from_bytes(&template.to_bytes()).expect("its own encoding"))
        .collect();
    let shown: Vec<Embedding> = faces
        .iter()
        .enumerate()
        .map(|(i, face)| if i % 3 == 1 { world.face() } else { disturbed(&mut world.rng, face, 60.0) })
        .collect();
    let accepted = |(i, lane): (usize, &u8)| u32::from(faces[i].dot(&shown[i]) >= THRESHOLD) << lane;
    let expected: u32 = lanes.iter().enumerate().map(accepted).sum();
    let job = world.job_in(mode, &templates.iter().zip(&shown).collect::<Vec<_>>());
    assert_eq!(world.decide(&job), expected, "{mode:?}, {width:?}, {lanes:?}");
    // And at the threshold exactly: none of their scores is off by one.
    let scores = faces.iter().zip(&shown).map(|(face, shown)| face.dot(shown));
    let score = scores.max().expect("somebody");
    for above in [0, 1] {
        world.set_policy(wide(width, lenient(score + above)));
        let job = world.job_in(mode, &templates.iter().zip(&shown).collect::<Vec<_>>());
        assert_eq!(world.decide(&job) != 0, above == 0, "{mode:?}, {width:?}, {lanes:?}");
    }
}

#[test]
fn a_template_that_a_device_split_matches_and_only_where_it_was_sealed_for() {
    let mut world = World::shared();
    let face = world.face();
    let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
    let key = world.key_holder.sealing_key();
    let context = Context::template(&TENANT, &handle(1), b"key", NOW);
    let Split { open, sealed } = split_template(&[vector], &key, &context, &mut world.rng).expect("a face");
    let blind = trefoil_matching::Blind::from_bytes(&open.to_bytes()).expect("a share");
    for (name, key, issued_at) in [(2, &b"key"[..], NOW), (1, b"k", NOW), (1, b"key", NOW + 1)] {
        let refused = for_key_holder(&sealed, key, issued_at);
        let refused = world.key_holder.enrol(named(name, 1), lane_of(3), MODEL, &refused, NOW);
        assert!(matches!(refused, Err(KeyHolderError::SealedShares(lanes)) if lanes.bits() == 1 << 3));
    }
    let late = NOW + SEALED_LIFE_S + 1;
    let refused =
        world.key_holder.enrol(named(1, 1), lane_of(3), MODEL, &for_key_holder(&sealed, b"key", NOW), late);
    assert!(matches!(refused, Err(KeyHolderError::SealedShares(_))));
    let enrolment = for_key_holder(&sealed, b"key", NOW);
    // A generation that is there does not use the share up.
    world.enrol(1, 7, &face);
    let taken = world.key_holder.enrol(named(1, 0), lane_of(3), MODEL, &enrolment, NOW);
    assert!(matches!(taken, Err(KeyHolderError::SubjectExists)), "{taken:?}");
    let encrypted = world.key_holder.enrol(named(1, 1), lane_of(3), MODEL, &enrolment, NOW).expect("new");
    let template = unblind(encrypted, blind);
    let probe = world.device(&template, &face, b"n");
    let job = world.job(&[(&template, &probe)]).expect("sealed for it");
    assert_eq!(world.decide(&job), 1 << 3);
    // Once: not as the next generation, and not when this one is gone.
    for shredded in [false, true] {
        if shredded {
            world.key_holder.shred(named(1, 1)).expect("memory");
        }
        let again = world.key_holder.enrol(named(1, 2), lane_of(3), MODEL, &enrolment, NOW);
        assert!(matches!(again, Err(KeyHolderError::SealedShares(_))), "{again:?}");
    }
}

/// Claim M16: A sealed share opens once and only for the use that its device named, even across a restart and whatever the clock does.
///
/// What a device sealed as a probe is no template, whosever it is said to be, and a template is no probe: the key-holder makes the
/// context itself.
#[test]
fn a_sealed_probe_is_enrolled_as_nobodys_template_and_a_sealed_template_is_nobodys_probe() {
    let mut world = World::shared();
    let face = world.face();
    let victim = world.enrol(1, 7, &face);
    let probe = world.device(&victim, &face, b"nonce of a login");
    for name in [99, 1] {
        for generation in 1..4 {
            let sealed = for_key_holder(&probe.sealed, b"nonce of a login", NOW);
            let outcome = world.key_holder.enrol(named(name, generation), lane_of(3), MODEL, &sealed, NOW);
            assert!(matches!(outcome, Err(KeyHolderError::SealedShares(_))), "{outcome:?}");
        }
    }
    let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
    let (key, context) =
        (world.key_holder.sealing_key(), Context::template(&TENANT, &handle(1), b"key", NOW));
    let template = split_template(&[vector], &key, &context, &mut world.rng).expect("a face");
    let sealed_for = SealedFor { session: [0; 32].into(), nonce: b"key".to_vec(), issued_at: NOW };
    let forged = SharedProbe { sealed: template.sealed, sealed_for, ..probe.clone() };
    assert!(matches!(world.job(&[(&victim, &forged)]), Err(KeyHolderError::SealedShares(_))));
    // The login that it was sealed for goes on, once.
    assert!(world.job(&[(&victim, &probe)]).is_ok());
    assert!(matches!(world.job(&[(&victim, &probe)]), Err(KeyHolderError::SealedShares(_))));
    // Nor in a process that starts in the same second.
    world.key_holder = KeyHolder::new(Arc::clone(&world.vault), &mut world.rng, NOW).expect("readable");
    assert!(matches!(world.job(&[(&victim, &probe)]), Err(KeyHolderError::SealedShares(_))));
}

/// Claim M16.
#[test]
fn a_share_that_was_opened_before_a_restart_does_not_open_after_it() {
    let mut world = World::shared();
    let face = world.face();
    let template = world.enrol(1, 7, &face);
    let probe = world.device(&template, &face, b"nonce");
    assert!(world.job(&[(&template, &probe)]).is_ok());
    let vault = Arc::clone(&world.vault);
    world.key_holder = KeyHolder::new(vault, &mut world.rng, NOW + 1).expect("readable");
    assert!(matches!(world.job(&[(&template, &probe)]), Err(KeyHolderError::SealedShares(_))));
}

#[test]
fn a_share_that_was_sealed_for_something_else_is_named_and_its_neighbours_go_on() {
    let mut world = World::shared();
    let faces = [world.face(), world.face(), world.face()];
    let templates: Vec<Template> = (0..3).map(|i| world.enrol(i, i, &faces[usize::from(i)])).collect();
    let probes: Vec<SharedProbe> =
        (0..3).map(|i| world.device(&templates[i], &faces[i], &[i as u8; 16])).collect();
    // The share of lane 0 in lane 1, as a replay under another nonce or for another subject would have it.
    let swapped = SharedProbe { sealed: probes[0].sealed.clone(), ..probes[1].clone() };
    let lanes = [(&templates[0], &probes[0]), (&templates[1], &swapped), (&templates[2], &probes[2])];
    let refused = world.job(&lanes);
    assert!(matches!(refused, Err(KeyHolderError::SealedShares(lanes)) if lanes.bits() == 0b010));
    // One share twice in a batch, each time for the right use: two people who are one.
    let twice = SharedProbe { sealed_for: probes[2].sealed_for.clone(), ..probes[2].clone() };
    let refused = world.job(&[lanes[0], (&templates[1], &twice), lanes[2]]);
    assert!(matches!(refused, Err(KeyHolderError::SealedShares(lanes)) if lanes.bits() == 0b010));
    let job = world.job(&[lanes[0], lanes[2]]).expect("sealed for it");
    assert_eq!(world.decide(&job), 0b101);
}

#[test]
fn jobs_of_another_mode_or_epoch_are_refused() {
    let (mut own, mut one) = (World::new(lenient(0)), World::shared());
    let face = own.face();
    let (a, b) = (own.enrol(1, 1, &face), one.enrol(1, 1, &face));
    let refused = own.matcher.mask(BatchId::new([0; 16]), TENANT, 0, &one.key, &[(&a, &face)]);
    assert_eq!(refused.err(), Some(MatchError::ForeignKey(lane_of(1))));
    let refused = one.matcher.mask(BatchId::new([0; 16]), TENANT, 0, &one.key, &[(&b, &face)]);
    assert_eq!(refused.err(), Some(MatchError::ForeignKey(lane_of(1))), "plain probes need keys per subject");
    let probe = one.device(&b, &face, b"n");
    let gathered =
        one.matcher.gather(BatchId::new([0; 16]), TENANT, &one.key, &[(&b, &probe)]).expect("valid");
    assert!(matches!(own.key_holder.encrypt_probes(&gathered, NOW), Err(KeyHolderError::Structure)));
    let refused = one.matcher.gather(BatchId::new([0; 16]), TENANT, &one.key, &[(&a, &probe)]);
    assert_eq!(refused.err(), Some(MatchError::ForeignKey(lane_of(1))));
    let job = one.job(&[(&b, &probe)]).expect("sealed for it");
    assert!(matches!(own.key_holder.decide(&job, NOW), Err(KeyHolderError::Structure)));
    let plain = own.mask(&[(&a, &face)]);
    assert!(matches!(one.key_holder.decide(&plain, NOW), Err(KeyHolderError::Structure)));
    assert_eq!(own.attempts_of(1), AttemptRecord::default(), "nothing was tried");
    let mut later = job.clone();
    later.epoch = 1;
    assert!(matches!(one.key_holder.decide(&later, NOW), Err(KeyHolderError::UnknownSubjects(_))));
    let unknown = ProbeJob { epoch: 1, ..gathered };
    assert!(matches!(one.key_holder.encrypt_probes(&unknown, NOW), Err(KeyHolderError::UnknownSubjects(_))));
    assert_eq!(one.decide(&job), 1 << 1);
}

#[test]
fn budgets_freezes_and_restarts_apply_to_the_tenants_key_too() {
    let mut world = World::with_keys(KeyStructure::PerTenant, policy(18_000));
    let (face, wrong) = (world.face(), world.face());
    let template = world.enrol(1, 4, &face);
    let right = world.job_in(Mode::Shared, &[(&template, &face)]);
    for _ in 0..5 {
        let job = world.job_in(Mode::Shared, &[(&template, &wrong)]);
        assert_eq!(world.decide(&job), 0);
    }
    assert!(matches!(world.key_holder.decide(&right, NOW), Err(KeyHolderError::NoAttempts(_))));
    let probe = world.device(&template, &face, b"spent");
    assert!(matches!(world.job(&[(&template, &probe)]), Err(KeyHolderError::NoAttempts(_))), "nor encrypted");
    let sealing = world.key_holder.sealing_key();
    world.restart();
    assert!(world.key_holder.sealing_key() == sealing);
    assert_eq!(world.key_holder.public_keys(TENANT).expect("known")[0].to_bytes(), world.key.to_bytes());
    assert!(matches!(world.key_holder.decide(&right, NOW), Err(KeyHolderError::NoAttempts(_))));
    assert_eq!(world.key_holder.decide(&right, NOW + 31).expect("honest").lanes().bits(), 1 << 4);
    // A product under another tenant's key.
    let other = TemplateName { tenant: TenantId::new([1; 16]), ..named(1, 0) };
    world.key_holder.create_tenant(other.tenant, KeyStructure::PerTenant, lenient(0)).expect("new");
    let (blinded, blind) = split(&face, &mut world.rng);
    let encrypted = world.key_holder.enrol(other, lane_of(4), MODEL, &blinded.into(), NOW).expect("new");
    let mut stranger = unblind(encrypted, blind);
    stranger.tenant = TENANT;
    let later = NOW + 31;
    world.key_holder.set_policy(TENANT, lenient(18_000)).expect("known");
    let forged = world.job_in(Mode::Shared, &[(&stranger, &face)]);
    for _ in 0..3 {
        assert!(matches!(world.key_holder.decide(&forged, later), Err(KeyHolderError::Malformed)));
    }
    assert!(matches!(world.key_holder.decide(&right, later), Err(KeyHolderError::Frozen)));
    assert!(matches!(world.job(&[(&template, &probe)]), Err(KeyHolderError::Frozen)));
    world.forgive();
    world.key_holder.shred(named(1, 0)).expect("there");
    assert!(matches!(world.key_holder.decide(&right, later), Err(KeyHolderError::UnknownSubjects(_))));
}

#[test]
fn other_encodings_are_refused() {
    let mut world = World::shared();
    let face = world.face();
    let template = world.enrol(1, 4, &face);
    let bytes = template.to_bytes();
    assert_eq!(bytes.len(), Template::bytes(KeyStructure::PerTenant));
    for n in [0, 70, 71, 1000, bytes.len() - 1] {
        assert_eq!(Template::from_bytes(&bytes[..n]), Err(TemplateError::Length(n)));
    }
    let mut other = bytes.clone();
    other[70] = 2;
    assert_eq!(Template::from_bytes(&other), Err(TemplateError::Format));
    other[70] = 0;
    assert!(matches!(Template::from_bytes(&other), Err(TemplateError::Length(_))));

    let key = world.key.to_bytes();
    assert!(key.len() < PublicKey::BYTES_MAX);
    assert!(matches!(PublicKey::from_bytes(&[&[9], &key[1..]].concat()), Err(PublicKeyError::Kind(9))));
    assert!(PublicKey::from_bytes(&[&[0], &key[1..]].concat()).is_err());
    for n in [0, 4, 5, 36, 37, key.len() - 1] {
        assert!(PublicKey::from_bytes(&key[..n]).is_err());
    }
    assert!(BlindedTemplate::from_bytes(&[0; 271]).is_err());
}

#[test]
fn probe_jobs_are_read_as_written_and_nothing_else_is() {
    for width in Width::ALL {
        let mut world = World::with_keys(KeyStructure::PerTenant, wide(width, lenient(18_000)));
        let face = world.face();
        let templates = [4, 31].map(|lane| world.enrol(lane, lane, &face));
        let probes = templates.each_ref().map(|template| world.device(template, &face, b"n"));
        let lanes: Vec<_> = templates.iter().zip(&probes).collect();
        let job = world.matcher.gather(BatchId::new([0; 16]), TENANT, &world.key, &lanes).expect("valid");
        let job = job.to_bytes();
        assert_eq!(ProbeJob::from_bytes(&job).expect("its own").to_bytes(), job);
        for n in 0..job.len() {
            assert!(ProbeJob::from_bytes(&job[..n]).is_err());
        }
        assert!(ProbeJob::from_bytes(&[&job[..], &[0]].concat()).is_err());
        let header = 44 + Model::BYTES;
        for units in (0..=u8::MAX).filter(|units| usize::from(*units) != width.numbers() / 128) {
            let mut other = job.clone();
            other[header - 5] = units;
            assert!(ProbeJob::from_bytes(&other).is_err(), "{units} for {width:?}");
        }
        // A nonce that is longer than a nonce may be, with the bytes that it calls for.
        let nonce = header + 32 + 4 + 32 + 8;
        assert_eq!(job[nonce], 1);
        let long = [&job[..nonce], &[65; 66], &job[nonce + 2..]].concat();
        assert!(ProbeJob::from_bytes(&long).is_err());
        let longest = [&job[..nonce], &[64; 65], &job[nonce + 2..]].concat();
        assert!(ProbeJob::from_bytes(&longest).is_ok_and(|read| read.to_bytes() == longest));
        let mut empty = job[..header].to_vec();
        empty[header - 4..].fill(0);
        assert!(ProbeJob::from_bytes(&empty).is_err());
    }
}
