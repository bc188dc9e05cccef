//! Encodings: one per value, everything else refused, nothing panics.

use super::attacks::POLYNOMIAL;
use super::malformed::{C0, head, model_at};
use super::three::Three;
use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;
use trefoil_matching::quorum::SeatJob;
use trefoil_matching::{EncryptedTemplate, JobError, TemplateError};

struct Samples {
    template: Vec<u8>,
    encrypted: Vec<u8>,
    /// Jobs with 1 and 32 subjects.
    jobs: [Vec<u8>; 2],
    /// A seat's job with 9 subjects.
    seat: Vec<u8>,
}

/// Of each width.
static SAMPLES: LazyLock<[Samples; 3]> = LazyLock::new(|| Width::ALL.map(samples));

fn samples(width: Width) -> Samples {
    let mut world = World::new(wide(width, lenient(0)));
    let face = world.face();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &face)).collect();
    let lanes: Vec<_> = templates.iter().map(|template| (template, &face)).collect();
    let (blinded, _) = split(&face, &mut world.rng);
    let encrypted =
        world.key_holder.enrol(named(50, 3), lane_of(5), world.model, &blinded.into(), NOW).expect("new");
    Samples {
        template: templates[5].to_bytes(),
        encrypted: encrypted.to_bytes(),
        jobs: [world.mask(&lanes[5..6]).to_bytes(), world.mask(&lanes).to_bytes()],
        seat: seat_job(&mut Three::new(wide(width, lenient(0)), 9)),
    }
}

#[test]
fn a_blinded_template_is_not_a_template() {
    let [samples, ..] = &*SAMPLES;
    assert_eq!(Template::from_bytes(&samples.encrypted), Err(TemplateError::Format));
    assert_eq!(EncryptedTemplate::from_bytes(&samples.template), Err(TemplateError::Format));
}

#[test]
fn every_truncation_and_one_byte_more_are_refused() {
    for samples in &*SAMPLES {
        for n in 0..samples.template.len() {
            assert_eq!(Template::from_bytes(&samples.template[..n]), Err(TemplateError::Length(n)));
            assert!(EncryptedTemplate::from_bytes(&samples.encrypted[..n]).is_err());
        }
        for job in &samples.jobs {
            for n in 0..job.len() {
                assert_eq!(MatchJob::from_bytes(&job[..n]), Err(JobError::Length(n)));
            }
            let longer = [&job[..], &[0]].concat();
            assert_eq!(MatchJob::from_bytes(&longer), Err(JobError::Length(longer.len())));
        }
        assert!(Template::from_bytes(&[&samples.template[..], &[0]].concat()).is_err());
    }
}

#[test]
fn non_canonical_values_are_refused() {
    SAMPLES.iter().for_each(refuses_non_canonical_values);
    let [narrow, middle, wide] = &*SAMPLES;
    assert!(narrow.template.len() == middle.template.len() && middle.template.len() == wide.template.len());
    let jobs = [narrow, middle, wide].map(|samples| samples.jobs.each_ref().map(Vec::len));
    let [one, all] = jobs[0];
    assert_eq!(jobs, [1, 2, 4].map(|ciphertexts| [one, all + (ciphertexts - 1) * POLYNOMIAL]));
}

fn seat_job(three: &mut Three) -> Vec<u8> {
    let [job, _] = three.jobs(1);
    let [first, ..] = SeatJob::encode(&job).expect("masked for a quorum");
    first
}

/// Where the width of an encoded template's model is.
pub(super) const TEMPLATE_WIDTH: usize = 57 + Model::BYTES - 1;

fn refuses_non_canonical_values(samples: &Samples) {
    let mut template = samples.template.clone();
    template[56] = 32;
    assert_eq!(Template::from_bytes(&template), Err(TemplateError::Lane(32)));
    for width in [0, 3, 5, 128] {
        let mut template = samples.template.clone();
        template[TEMPLATE_WIDTH] = width;
        assert_eq!(Template::from_bytes(&template), Err(TemplateError::Format));
        let mut job = samples.jobs[1].clone();
        let at = model_at(&job) + Model::BYTES - 1;
        job[at] = width;
        assert_eq!(MatchJob::from_bytes(&job), Err(JobError::Format));
    }
    let mut template = samples.template.clone();
    template[0] ^= 1;
    assert_eq!(Template::from_bytes(&template), Err(TemplateError::Format));
    // The first prime itself, in place of the last residue modulo it.
    let mut template = samples.template.clone();
    template[71 + 6 * 4095..71 + 6 * 4096].copy_from_slice(&140_720_308_191_233u64.to_le_bytes()[..6]);
    assert!(matches!(Template::from_bytes(&template), Err(TemplateError::Ciphertext(_))));

    let [one, all] = &samples.jobs;
    let header = 45;
    let mut repeated = all.clone();
    repeated.copy_within(header..header + 68, header + 68);
    assert_eq!(MatchJob::from_bytes(&repeated), Err(JobError::Subjects));
    let mut nobody = one.clone();
    nobody.drain(header..header + 68);
    nobody[41..45].fill(0);
    // Then there is no ciphertext either.
    nobody.truncate(head(&nobody) + C0);
    let c0 = nobody.len() - C0;
    nobody[c0..].fill(0);
    assert_eq!(MatchJob::from_bytes(&nobody), Err(JobError::Subjects));
    let mut magic = one.clone();
    magic[3] = b'1';
    assert_eq!(MatchJob::from_bytes(&magic), Err(JobError::Format));
    // The lane bits say two subjects where there is one.
    let mut bits = one.clone();
    bits[44] |= 0x80;
    assert!(MatchJob::from_bytes(&bits).is_err());
    let c0 = head(one);
    for part in [c0 - 384, c0] {
        let mut unreduced = one.clone();
        unreduced[part + 6 * 37..part + 6 * 38].fill(0xff);
        assert!(matches!(MatchJob::from_bytes(&unreduced), Err(JobError::Ciphertext(_))));
    }
    let mut transparent = one.clone();
    transparent[c0 + 12 * 32 + 6 * 4096..].fill(0);
    assert!(matches!(MatchJob::from_bytes(&transparent), Err(JobError::Ciphertext(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn changed_bytes_are_refused_or_are_the_encoding_of_something(
        which in 0..5usize, of in 0..3usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let samples = &SAMPLES[of];
        let [one, all] = &samples.jobs;
        let mut bytes = [&samples.template, &samples.encrypted, one, all, &samples.seat][which].clone();
        for (at, value) in changes {
            // Half of the changes go to the header.
            let span = if value % 2 == 0 { bytes.len() } else { 80 };
            bytes[at.index(span)] = value;
        }
        if let Ok(template) = Template::from_bytes(&bytes) {
            prop_assert_eq!(template.to_bytes(), &bytes[..]);
        }
        if let Ok(template) = EncryptedTemplate::from_bytes(&bytes) {
            prop_assert_eq!(template.to_bytes(), &bytes[..]);
        }
        if let Ok(job) = SeatJob::from_bytes(&bytes) {
            prop_assert_eq!(job.to_bytes(), &bytes[..]);
        }
        if let Ok(job) = MatchJob::from_bytes(&bytes) {
            prop_assert_eq!(job.to_bytes(), bytes);
        }
    }
}
