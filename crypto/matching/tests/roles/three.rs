//! Three key-holders and the one that they are compared with.

use crate::attacks::POLYNOMIAL;
use crate::malformed::{C0, add, head};
use crate::{NOW, TENANT, disturbed, lane_of, matcher_on, named, random_face};
use rand::{SeedableRng as _, rngs::StdRng};
use std::sync::Arc;
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder, Seat, SeatJob, assemble};
use trefoil_matching::{
    BlindedTemplate, DecisionPolicy, Embedding, EncryptedTemplate, KeyHolder, KeyHolderError, KeyStructure,
    Lane, MatchJob, Matcher, MemoryVault, Model, PublicKey, PublicKeyError, SeatEnrolment, Template,
    TemplateName, Tier, split, unblind,
};
use trefoil_types::BatchId;

/// Bytes before the witness of a seat's job: seat, number of ciphertexts, version, four tags.
pub(crate) const WITNESS: usize = 1 + 1 + 4 + 4 * 384;
/// Where the four tags are.
pub(crate) const TAGS: std::ops::Range<usize> = 6..WITNESS;

/// Where the job is in a seat's: after the factors, the `c0` and the `c1` of the seat's own witness, and the `c1` of two others.
pub(crate) fn job_at(bytes: &[u8]) -> usize {
    WITNESS + 128 + C0 + 3 * usize::from(bytes[1]) * POLYNOMIAL
}

/// Where the masked batch begins in the job of a seat's.
pub(crate) fn batch_at(bytes: &[u8]) -> usize {
    job_at(bytes) + head(&bytes[job_at(bytes)..])
}

/// Three key-holders and the one that they are compared with, with the same people.
pub(crate) struct Three {
    /// The pieces of each seat, in their encoding.
    pub(crate) dealt: [Vec<u8>; 3],
    /// Of the first seat.
    pub(crate) vault: Arc<MemoryVault>,
    pub(crate) holders: Vec<QuorumHolder>,
    pub(crate) alone: KeyHolder,
    pub(crate) keys: [PublicKey; 2],
    /// Templates of the three, and of the one.
    pub(crate) people: Vec<(Template, Template, Embedding)>,
    pub(crate) matcher: Matcher,
    pub(crate) rng: StdRng,
    /// Those of the policy, which each job names.
    pub(crate) model: Model,
    pub(crate) threshold: i32,
}

impl Three {
    pub(crate) fn new(policy: DecisionPolicy, people: u8) -> Three {
        Three::with(Arc::default(), policy, people)
    }

    /// With this vault at the first seat.
    pub(crate) fn with(vault: Arc<MemoryVault>, policy: DecisionPolicy, people: u8) -> Three {
        let mut rng = StdRng::seed_from_u64(1);
        let pieces = Pieces::deal(&mut rng);
        let dealt = pieces.each_ref().map(|pieces| pieces.to_bytes().to_vec());
        let holders: Vec<QuorumHolder> = pieces
            .into_iter()
            .zip([alone_with(&vault, 1), alone(2), alone(3)])
            .map(|(pieces, own)| QuorumHolder::new(own, pieces).unwrap())
            .collect();
        holders.iter().for_each(|holder| holder.create_tenant(TENANT, policy).unwrap());
        let alone = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).unwrap();
        let its = alone.create_tenant(TENANT, KeyStructure::PerSubject, policy).unwrap();
        let keys = [key_of(&holders), its];
        let matcher = matcher_on(Tier::detected(), 9);
        let DecisionPolicy { model, threshold, .. } = policy;
        let mut three =
            Three { dealt, vault, holders, alone, keys, people: Vec::new(), matcher, rng, model, threshold };
        (0..people).for_each(|name| three.enrol(name));
        three
    }

    /// A random face.
    pub(crate) fn face(&mut self) -> Embedding {
        random_face(&mut self.rng, self.model.width())
    }

    pub(crate) fn enrol(&mut self, name: u8) {
        let face = self.face();
        let (blinded, blind) = split(&face, &mut self.rng);
        let answers = self.enrolled(named(name, 0), lane_of(name), &blinded);
        let ours = unblind(assemble(&answers).unwrap(), blind);
        let (blinded, blind) = split(&face, &mut self.rng);
        let theirs =
            self.alone.enrol(named(name, 0), lane_of(name), self.model, &blinded.into(), NOW).unwrap();
        self.people.push((ours, unblind(theirs, blind), face));
    }

    /// What the seats answer to an enrolment that the gateway relays faithfully.
    pub(crate) fn enrolled(
        &self,
        name: TemplateName,
        lane: Lane,
        share: &BlindedTemplate,
    ) -> [[EncryptedTemplate; 2]; 3] {
        let contributions = [0, 1, 2].map(|seat: usize| self.holders[seat].contribute(name, NOW).unwrap());
        [0, 1, 2].map(|seat: usize| {
            let enrolment = seat_enrolment(name, lane, self.model, share, contributions);
            self.holders[seat].enrol(&enrolment).unwrap()
        })
    }

    /// What a gateway learns when it asks for the public keys again.
    pub(crate) fn refetch(&mut self) {
        self.keys[0] = key_of(&self.holders);
    }

    /// An operator of each forgives the malformed jobs.
    pub(crate) fn forgive(&mut self) {
        self.holders.iter().for_each(|holder| holder.key_holder().forgive_malformed(TENANT).unwrap());
        self.refetch();
    }

    /// The same probes against the templates of the three and against those of the one: friends, near strangers and strangers.
    pub(crate) fn jobs(&mut self, batch: u8) -> [MatchJob; 2] {
        let probes: Vec<Embedding> = (0..self.people.len())
            .map(|lane| match (lane + usize::from(batch)) % 3 {
                0 => self.face(),
                _ => disturbed(&mut self.rng, &self.people[lane].2, 80.0),
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
            matcher.mask(BatchId::new([batch; 16]), TENANT, self.threshold, key, &pairs).unwrap()
        })
    }

    /// A batch in which one person shows this face to the three.
    pub(crate) fn login(&mut self, batch: u8, person: usize, probe: &Embedding) -> MatchJob {
        let lanes = [(&self.people[person].0, probe)];
        self.matcher.mask(BatchId::new([batch; 16]), TENANT, self.threshold, &self.keys[0], &lanes).unwrap()
    }

    /// What `from` sends to `to`.
    pub(crate) fn parts(&self, from: Seat, to: Seat, job: &MatchJob) -> Parts {
        self.holders[from.index()].begin(&job_of(from, job), NOW).unwrap().parts_for(to)
    }

    /// What `seat` decides when the others send these parts.
    pub(crate) fn decide(&self, seat: Seat, job: &MatchJob, parts: &[(Seat, Parts)]) -> Decided {
        self.decide_job(&job_of(seat, job), parts)
    }

    pub(crate) fn decide_job(&self, job: &SeatJob, parts: &[(Seat, Parts)]) -> Decided {
        let holder = &self.holders[job.seat().index()];
        let begun = holder.begin(job, NOW)?;
        let judged = holder.judge(job, &begun, parts, true);
        let decisions = holder.finish(job, &begun, &judged, false);
        decisions.map(|decisions| (decisions.lanes().bits(), judged.liars, judged.contradicting))
    }
}

/// What `seat` is sent.
pub(crate) fn job_of(seat: Seat, job: &MatchJob) -> SeatJob {
    SeatJob::from_bytes(&SeatJob::encode(job).unwrap()[seat.index()]).unwrap()
}

/// An enrolment with a copy of this share.
pub(crate) fn seat_enrolment(
    name: TemplateName,
    lane: Lane,
    model: Model,
    share: &BlindedTemplate,
    contributions: [[u8; 32]; 3],
) -> SeatEnrolment {
    let template = BlindedTemplate::from_bytes(&share.to_bytes()).unwrap();
    SeatEnrolment { name, lane, model, template, contributions }
}

/// The public key that three make together, as a gateway asks for it.
pub(crate) fn key_of(holders: &[QuorumHolder]) -> PublicKey {
    let seat_keys = |versions| [0, 1, 2].map(|seat: usize| holders[seat].seat_key(TENANT, versions).unwrap());
    match PublicKey::of_quorum(&seat_keys([0; 3]), [0; 3]) {
        Err(PublicKeyError::Versions(now)) => PublicKey::of_quorum(&seat_keys(now), now).unwrap(),
        key => key.unwrap(),
    }
}

/// A key-holder that has no tenant. Each seed makes others secrets.
pub(crate) fn alone(seed: u64) -> Arc<KeyHolder> {
    alone_with(&Arc::default(), seed)
}

fn alone_with(vault: &Arc<MemoryVault>, seed: u64) -> Arc<KeyHolder> {
    Arc::new(KeyHolder::new(Arc::clone(vault), &mut StdRng::seed_from_u64(seed), NOW).unwrap())
}

pub(crate) type Decided = Result<(u32, Vec<Seat>, Vec<Seat>), KeyHolderError>;

/// Adds `value` to a coefficient of the first or the second partial, or of that of the witness, modulo both primes.
pub(crate) fn altered(parts: &Parts, which: usize, coefficient: usize, value: u128) -> Parts {
    let mut bytes = parts.to_bytes().to_vec();
    add(&mut bytes, 36 + 384 * which, 32, coefficient, value);
    Parts::from_bytes(&bytes).unwrap()
}
