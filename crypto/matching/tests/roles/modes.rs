//! One key per tenant, and probes that neither role sees.

use super::*;
use trefoil_matching::{
    AttemptRecord, BlindedTemplate, Context, EncryptedProbes, ForKeyHolder, KeyHolderError, MatchError,
    ProbeJob, PublicKeyError, TemplateError, Vault as _,
};
use trefoil_split::{Split, split_probe, split_template};

const SESSION: [u8; 32] = [6; 32];

impl World {
    fn shared() -> World {
        World::with_keys(KeyStructure::PerTenant, lenient(18_000))
    }

    /// What a device of `of` makes of a face.
    pub(super) fn device(&mut self, of: &Template, face: &Embedding, nonce: &[u8]) -> SharedProbe {
        let context = Context::probe(&TENANT, &of.handle, &SESSION, nonce);
        let face: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
        let key = self.keyholder.sealing_key();
        let Split { open, sealed } = split_probe(&face, &key, &context, &mut self.rng).expect("a face");
        SharedProbe { share: open, sealed, context }
    }

    /// The job of a batch of shared probes, read back from its encodings at every step.
    pub(super) fn job(&mut self, lanes: &[(&Template, &SharedProbe)]) -> Result<MatchJob, KeyHolderError> {
        let sealed = self.matcher.gather([5; 16], TENANT, &self.key, lanes).expect("a valid batch");
        let sealed = ProbeJob::from_bytes(&sealed.to_bytes()).expect("its own encoding");
        let probes = self.keyholder.encrypt_probes(&sealed)?;
        let probes = EncryptedProbes::from_bytes(probes.as_bytes()).expect("its own encoding");
        let key = PublicKey::from_bytes(&self.key.to_bytes()).expect("its own encoding");
        let job = self.matcher.mask_shared([5; 16], TENANT, &key, lanes, &probes).expect("a valid batch");
        Ok(MatchJob::from_bytes(&job.to_bytes()).expect("its own encoding"))
    }

    fn decide(&self, job: &MatchJob) -> u32 {
        self.keyholder.decide(job, NOW).expect("honest").lanes().bits()
    }
}

#[test]
fn both_modes_decide_as_the_plain_inner_product_does() {
    for n in [1, 7, 32] {
        let mut world = World::shared();
        let faces: Vec<Embedding> = (0..n).map(|_| world.face()).collect();
        let templates: Vec<Template> = (0..n)
            .map(|i| world.enrol(i, i, &faces[usize::from(i)]))
            .map(|template| Template::from_bytes(&template.to_bytes()).expect("its own encoding"))
            .collect();
        let shown: Vec<Embedding> = faces
            .iter()
            .enumerate()
            .map(|(i, face)| if i % 3 == 0 { world.face() } else { disturbed(&mut world.rng, face, 60.0) })
            .collect();
        let expected =
            (0..usize::from(n)).fold(0, |bits, i| bits | u32::from(faces[i].dot(&shown[i]) >= 18_000) << i);
        let plain: Vec<_> = templates.iter().zip(&shown).collect();
        let job = world.mask(&plain);
        assert_eq!(world.decide(&job), expected);
        let probes: Vec<SharedProbe> =
            templates.iter().zip(&shown).map(|(of, face)| world.device(of, face, b"nonce")).collect();
        let shared: Vec<_> = templates.iter().zip(&probes).collect();
        let job = world.job(&shared).expect("sealed for it");
        assert_eq!(world.decide(&job), expected);
    }
}

#[test]
fn a_template_that_a_device_split_matches_and_only_where_it_was_sealed_for() {
    let mut world = World::shared();
    let face = world.face();
    let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
    let key = world.keyholder.sealing_key();
    let context = Context::template(&TENANT, &handle(1), b"key");
    let Split { open, sealed } = split_template(&vector, &key, &context, &mut world.rng).expect("a face");
    let blind = trefoil_matching::Blind::from_bytes(&open.to_bytes()).expect("a share");
    for other in
        [Context::template(&TENANT, &handle(2), b"key"), Context::template(&TENANT, &handle(1), b"k")]
    {
        let refused = ForKeyHolder::Sealed(sealed.clone(), other);
        let refused = world.keyholder.enrol(TENANT, handle(1), 1, lane_of(3), &refused);
        assert!(matches!(refused, Err(KeyHolderError::SealedShares(lanes)) if lanes.bits() == 1 << 3));
    }
    let sealed = ForKeyHolder::Sealed(sealed, context);
    let encrypted = world.keyholder.enrol(TENANT, handle(1), 1, lane_of(3), &sealed).expect("new");
    let template = unblind(encrypted, blind);
    let probe = world.device(&template, &face, b"n");
    let job = world.job(&[(&template, &probe)]).expect("sealed for it");
    assert_eq!(world.decide(&job), 1 << 3);
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
    let job = world.job(&[lanes[0], lanes[2]]).expect("sealed for it");
    assert_eq!(world.decide(&job), 0b101);
}

#[test]
fn garbage_shares_match_about_as_often_as_a_random_residue() {
    let mut world = World::shared();
    let face = world.face();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &face)).collect();
    let mut accepted = 0;
    for round in 0..16 {
        let probes: Vec<SharedProbe> = templates
            .iter()
            .map(|of| {
                let honest = world.device(of, &face, &[round]);
                SharedProbe { share: trefoil_matching::Share::random(&mut world.rng), ..honest }
            })
            .collect();
        let lanes: Vec<_> = templates.iter().zip(&probes).collect();
        let job = world.job(&lanes).expect("sealed for it");
        accepted += world.decide(&job).count_ones();
    }
    // (32768 - 18000) / 65537 of all residues; five standard deviations of 512 trials are 0.093.
    let share = f64::from(accepted) / 512.0;
    assert!((share - 0.225).abs() < 0.093, "{share}");
}

#[test]
fn jobs_of_another_structure_or_epoch_are_refused() {
    let (mut own, mut one) = (World::new(lenient(0)), World::shared());
    let face = own.face();
    let (a, b) = (own.enrol(1, 1, &face), one.enrol(1, 1, &face));
    let refused = own.matcher.mask([0; 16], TENANT, &one.key, &[(&a, &face)]);
    assert_eq!(refused.err(), Some(MatchError::ForeignKey(lane_of(1))));
    let probe = one.device(&b, &face, b"n");
    let gathered = one.matcher.gather([0; 16], TENANT, &one.key, &[(&b, &probe)]).expect("valid");
    assert!(matches!(own.keyholder.encrypt_probes(&gathered), Err(KeyHolderError::Structure)));
    let refused = one.matcher.gather([0; 16], TENANT, &one.key, &[(&a, &probe)]);
    assert_eq!(refused.err(), Some(MatchError::ForeignKey(lane_of(1))));
    let job = one.mask(&[(&b, &face)]);
    assert!(matches!(own.keyholder.decide(&job, NOW), Err(KeyHolderError::Malformed)));
    let attempts = own.vault.subjects(&TENANT).expect("readable")[0].attempts;
    assert_eq!(attempts, AttemptRecord::default(), "nothing was tried");
    let mut later = job.clone();
    later.epoch = 1;
    assert!(matches!(one.keyholder.decide(&later, NOW), Err(KeyHolderError::UnknownSubjects(_))));
    let unknown = ProbeJob { epoch: 1, ..gathered };
    assert!(matches!(one.keyholder.encrypt_probes(&unknown), Err(KeyHolderError::UnknownSubjects(_))));
    assert_eq!(one.decide(&job), 1 << 1);
}

#[test]
fn budgets_freezes_and_restarts_apply_to_the_tenants_key_too() {
    let mut world = World::with_keys(KeyStructure::PerTenant, policy(18_000));
    let (face, wrong) = (world.face(), world.face());
    let template = world.enrol(1, 4, &face);
    for n in 0..5 {
        let probe = world.device(&template, &wrong, &[n]);
        let job = world.job(&[(&template, &probe)]).expect("sealed for it");
        assert_eq!(world.decide(&job), 0);
    }
    let right = world.device(&template, &face, b"r");
    let job = world.job(&[(&template, &right)]).expect("sealed for it");
    assert_eq!(world.decide(&job), 0, "the budget is spent");
    let sealing = world.keyholder.sealing_key();
    world.keyholder = KeyHolder::new(Box::new(Arc::clone(&world.vault)), &mut world.rng).expect("readable");
    assert!(world.keyholder.sealing_key() == sealing);
    assert_eq!(world.keyholder.public_key(TENANT).expect("known").to_bytes(), world.key.to_bytes());
    assert_eq!(world.decide(&job), 0);
    assert_eq!(world.keyholder.decide(&job, NOW + 31).expect("honest").lanes().bits(), 1 << 4);
    // A product under another tenant's key.
    let other = [1; 16];
    world.keyholder.create_tenant(other, KeyStructure::PerTenant, lenient(0)).expect("new");
    let (blinded, blind) = split(&face, &mut world.rng);
    let encrypted = world.keyholder.enrol(other, handle(1), 0, lane_of(4), &blinded.into()).expect("new");
    let mut stranger = unblind(encrypted, blind);
    stranger.tenant = TENANT;
    let forged = world.job(&[(&stranger, &right)]).expect("sealed for it");
    for _ in 0..3 {
        assert!(matches!(world.keyholder.decide(&forged, NOW), Err(KeyHolderError::Malformed)));
    }
    assert!(matches!(world.keyholder.decide(&job, NOW), Err(KeyHolderError::Frozen)));
    let gathered = world.matcher.gather([0; 16], TENANT, &world.key, &[(&template, &right)]).expect("valid");
    assert!(matches!(world.keyholder.encrypt_probes(&gathered), Err(KeyHolderError::Frozen)));
    world.keyholder.lift_freeze(TENANT).expect("known");
    world.keyholder.shred(TENANT, handle(1), 0).expect("there");
    assert!(matches!(world.keyholder.decide(&job, NOW), Err(KeyHolderError::UnknownSubjects(_))));
}

#[test]
fn other_encodings_are_refused() {
    let mut world = World::shared();
    let face = world.face();
    let template = world.enrol(1, 4, &face);
    let bytes = template.to_bytes();
    assert_eq!(bytes.len(), Template::bytes(KeyStructure::PerTenant));
    for n in [0, 61, 62, 1000, bytes.len() - 1] {
        assert_eq!(Template::from_bytes(&bytes[..n]), Err(TemplateError::Length(n)));
    }
    let mut other = bytes.clone();
    other[61] = 2;
    assert_eq!(Template::from_bytes(&other), Err(TemplateError::Format));
    other[61] = 0;
    assert!(matches!(Template::from_bytes(&other), Err(TemplateError::Length(_))));

    let key = world.key.to_bytes();
    assert_eq!(key.len(), PublicKey::BYTES);
    assert!(matches!(PublicKey::from_bytes(&[&[9], &key[1..]].concat()), Err(PublicKeyError::Structure(9))));
    for n in [0, 4, 5, 36, 37, key.len() - 1] {
        assert!(PublicKey::from_bytes(&key[..n]).is_err());
    }
    let probe = world.device(&template, &face, b"n");
    let job = world.matcher.gather([0; 16], TENANT, &world.key, &[(&template, &probe)]).expect("valid");
    let job = job.to_bytes();
    for n in 0..job.len() {
        assert!(ProbeJob::from_bytes(&job[..n]).is_err());
    }
    assert!(ProbeJob::from_bytes(&[&job[..], &[0]].concat()).is_err());
    let mut empty = job[..44].to_vec();
    empty[40..].fill(0);
    assert!(ProbeJob::from_bytes(&empty).is_err());
    assert!(BlindedTemplate::from_bytes(&[0; 271]).is_err());
}
