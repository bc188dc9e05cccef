//! One key-holder, a tenant of it with 32 people, and batches of theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rand::RngExt as _;
use rand::rngs::StdRng;
use trefoil_key_holder::Role;
use trefoil_matching::{
    AttemptPolicy, Context, DIM, DecisionPolicy, Embedding, LANES, Lane, MatchJob, Matcher, ProbeJob,
    PublicKey, Share, SharedProbe, Template, TenantId, split, unblind,
};

use super::RemoteRole;
use crate::clock::WORLD_START_S;
use crate::failure::Failure;
use crate::roles::{KeyStructure, ProbeMode};

/// Batches of each kind, which are decided again and again.
pub(super) const JOBS: usize = 64;
/// Between a face and itself the score is about 30,600, between strangers it is small.
const THRESHOLD: i32 = 16_046;

/// See the module.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    role: Arc<dyn Role>,
    tenant: TenantId,
    key: PublicKey,
    people: Vec<(Template, Embedding)>,
    matcher: Matcher,
    /// In which everybody matches.
    matching: Vec<MatchJob>,
    /// In which the one in lane 0 does not.
    failing: Vec<MatchJob>,
    sealed: Vec<ProbeJob>,
    wrong: AtomicU64,
}

impl Contestant {
    pub(super) fn new(
        name: &'static str,
        role: Arc<dyn Role>,
        parameters: &RemoteRole,
    ) -> Result<Contestant, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let tenant = rng.random();
        let attempts =
            AttemptPolicy { consecutive: u32::MAX, delay_s: 0, per_day: u32::MAX, per_generation: u32::MAX };
        let policy = DecisionPolicy { threshold: THRESHOLD, attempts };
        let keys = match parameters.keys {
            KeyStructure::PerSubject => trefoil_matching::KeyStructure::PerSubject,
            KeyStructure::PerTenant => trefoil_matching::KeyStructure::PerTenant,
        };
        let key = role.create_tenant(tenant, keys, policy).map_err(Failure::in_step("tenant"))?;
        let mut people = Vec::with_capacity(LANES);
        for lane in Lane::all() {
            let face = face(&mut rng)?;
            let (blinded, blind) = split(&face, &mut rng);
            let enrolled = role.enrol(tenant, rng.random(), 0, lane, blinded.into());
            people.push((unblind(enrolled.map_err(Failure::in_step("enrolment"))?, blind), face));
        }
        let matcher = Matcher::new(parameters.tier, rand::random());
        let (matching, failing, sealed, wrong) = Default::default();
        let mut own =
            Contestant { name, role, tenant, key, people, matcher, matching, failing, sealed, wrong };
        for batch in 0..JOBS as u8 {
            let stranger = face(&mut rng)?;
            let mut faces: Vec<Embedding> = own.people.iter().map(|(_, face)| face.clone()).collect();
            let job = own.job(parameters.mode, batch, &faces, &mut rng)?;
            own.matching.push(job);
            faces[0] = stranger;
            let job = own.job(parameters.mode, batch, &faces, &mut rng)?;
            own.failing.push(job);
        }
        Ok(own)
    }

    fn job(
        &mut self,
        mode: ProbeMode,
        batch: u8,
        faces: &[Embedding],
        rng: &mut StdRng,
    ) -> Result<MatchJob, Failure> {
        let templates = self.people.iter().map(|(template, _)| template);
        if mode == ProbeMode::Plain {
            let lanes: Vec<_> = templates.zip(faces).collect();
            let job = match self.role.is_three() {
                true => self.matcher.mask_for_three([batch; 16], self.tenant, &self.key, &lanes),
                false => self.matcher.mask([batch; 16], self.tenant, &self.key, &lanes),
            };
            return job.map_err(Failure::in_step("match"));
        }
        let sealing = self.role.sealing_key().map_err(Failure::in_step("sealing key"))?;
        let probes: Vec<SharedProbe> = self
            .people
            .iter()
            .zip(faces)
            .map(|((template, _), face)| {
                let context = Context::probe(&self.tenant, &template.handle, &[0; 32], &[batch; 16]);
                let (share, other) = Share::of(face).split(rng);
                SharedProbe { share, sealed: sealing.seal(&context, &other), context }
            })
            .collect();
        let lanes: Vec<_> = templates.zip(&probes).collect();
        let sealed = self.matcher.gather([batch; 16], self.tenant, &self.key, &lanes);
        let sealed = sealed.map_err(Failure::in_step("gather"))?;
        let encrypted = self.role.encrypt_probes(&sealed).map_err(Failure::in_step("probes"))?;
        let job = self.matcher.mask_shared([batch; 16], self.tenant, &self.key, &lanes, &encrypted);
        self.sealed.push(sealed);
        job.map_err(Failure::in_step("match"))
    }

    /// One batch of each kind; the nanoseconds of each step.
    pub(super) fn round(&self, round: usize) -> Result<[Option<u64>; 3], Failure> {
        let began = Instant::now();
        self.decide(round)?;
        let matching = nanoseconds(began);
        let began = Instant::now();
        self.settle(&self.failing[round % JOBS], !1)?;
        let failing = nanoseconds(began);
        let began = Instant::now();
        let encrypted = match self.sealed.get(round % JOBS) {
            Some(sealed) => {
                self.role.encrypt_probes(sealed).map_err(Failure::in_step("probes"))?;
                Some(nanoseconds(began))
            }
            None => None,
        };
        Ok([Some(matching), Some(failing), encrypted])
    }

    /// One batch in which everybody matches.
    pub(super) fn decide(&self, round: usize) -> Result<(), Failure> {
        self.settle(&self.matching[round % JOBS], u32::MAX)
    }

    /// The same by another way to the same key-holder.
    pub(super) fn decide_by(&self, role: &dyn Role, round: usize) -> Result<(), Failure> {
        role.decide(&self.matching[round % JOBS], WORLD_START_S)
            .map(drop)
            .map_err(Failure::in_step("decision"))
    }

    fn settle(&self, job: &MatchJob, expected: u32) -> Result<(), Failure> {
        let decided = self.role.decide(job, WORLD_START_S).map_err(Failure::in_step("decision"))?;
        self.wrong.fetch_add(u64::from(decided.lanes().bits() != expected), Ordering::Relaxed);
        Ok(())
    }

    /// Batches that were not decided as they should be.
    pub(super) fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }
}

fn face(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let vector: [f32; DIM] = std::array::from_fn(|_| rng.random::<f32>() - 0.5);
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
