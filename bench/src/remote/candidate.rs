//! One key-holder, a tenant of it with 32 people, and batches of theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trefoil_types::{BatchId, Handle, SessionId};

use rand::RngExt as _;
use rand::rngs::StdRng;
use trefoil_key_holder::unix_s;
use trefoil_matching::{
    AttemptPolicy, DIM, DecisionPolicy, Embedding, Enrolment, KeyHolding, KeyStructure, LANES, Lane,
    MatchJob, Matcher, PublicKey, Reply, Request, SealedFor, Share, SharedProbe, Template, TemplateName,
    TenantId, Tier, split, system_entropy, unblind,
};

use super::role::RemoteRole;
use crate::Failure;
use crate::roles::ProbeMode;

/// Batches of each kind, which are decided again and again.
pub(super) const JOBS: usize = 64;
/// Between a face and itself the score is about 30,600, between strangers it is small.
const THRESHOLD: i32 = 16_046;

/// See the module.
pub(super) struct Candidate {
    pub(super) name: &'static str,
    role: Arc<dyn KeyHolding>,
    tenant: TenantId,
    key: PublicKey,
    people: Vec<(Template, Embedding)>,
    tier: Tier,
    mode: ProbeMode,
    /// Batches in which all match.
    matching: Vec<MatchJob>,
    /// Batches in which lane 0 does not match.
    failing: Vec<MatchJob>,
    wrong: AtomicU64,
}

impl Candidate {
    pub(super) fn new(
        name: &'static str,
        role: Arc<dyn KeyHolding>,
        parameters: &RemoteRole,
    ) -> Result<Candidate, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let tenant = TenantId::new(rng.random());
        let policy = DecisionPolicy { threshold: THRESHOLD, attempts: AttemptPolicy::UNLIMITED };
        let keys = match parameters.mode {
            ProbeMode::Plain => KeyStructure::PerSubject,
            ProbeMode::Shared => KeyStructure::PerTenant,
        };
        let key = role.create_tenant(tenant, keys, policy).map_err(Failure::in_step("tenant"))?;
        let mut people = Vec::with_capacity(LANES);
        for lane in Lane::all() {
            let face = face(&mut rng)?;
            let (blinded, blind) = split(&face, &mut rng);
            let name = TemplateName { tenant, handle: Handle::new(rng.random()), generation: 0 };
            let enrolled = role.enrol(Enrolment { name, lane, template: blinded.into() });
            people.push((unblind(enrolled.map_err(Failure::in_step("enrolment"))?, blind), face));
        }
        let (tier, mode) = (parameters.tier, parameters.mode);
        let (matching, failing, wrong) = Default::default();
        let mut own = Candidate { name, role, tenant, key, people, tier, mode, matching, failing, wrong };
        for batch in 0..JOBS as u8 {
            let stranger = face(&mut rng)?;
            let mut faces: Vec<Embedding> = own.people.iter().map(|(_, face)| face.clone()).collect();
            let job = own.job(batch, &faces, &mut rng)?;
            own.matching.push(job);
            faces[0] = stranger;
            let job = own.job(batch, &faces, &mut rng)?;
            own.failing.push(job);
        }
        Ok(own)
    }

    fn matcher(&self) -> Matcher {
        Matcher::new(self.tier, Box::new(system_entropy))
    }

    fn job(&self, batch: u8, faces: &[Embedding], rng: &mut StdRng) -> Result<MatchJob, Failure> {
        if self.mode == ProbeMode::Plain {
            let lanes: Vec<_> = self.people.iter().map(|(template, _)| template).zip(faces).collect();
            let job = self.matcher().mask(BatchId::new([batch; 16]), self.tenant, &self.key, &lanes);
            return job.map_err(Failure::in_step("match"));
        }
        let probes = self.probes(batch, faces, rng)?;
        let lanes = self.shared(&probes);
        let sealed = self.matcher().gather(BatchId::new([batch; 16]), self.tenant, &self.key, &lanes);
        let sealed = sealed.map_err(Failure::in_step("gather"))?;
        let encrypted = self.role.encrypt_probes(sealed).map_err(Failure::in_step("probes"))?;
        let lanes: Vec<_> = self.people.iter().map(|(template, _)| template).zip(&probes).collect();
        let job =
            self.matcher().mask_shared(BatchId::new([batch; 16]), self.tenant, &self.key, &lanes, &encrypted);
        job.map_err(Failure::in_step("match"))
    }

    /// Probes that devices have just split: a key-holder opens each share once, and only while it is fresh.
    fn probes(&self, batch: u8, faces: &[Embedding], rng: &mut StdRng) -> Result<Vec<SharedProbe>, Failure> {
        let sealing = self.role.sealing_key().map_err(Failure::in_step("sealing key"))?;
        let mut device = |((template, _), face): (&(Template, Embedding), &Embedding)| {
            let sealed_for =
                SealedFor { session: SessionId::new([0; 32]), nonce: vec![batch; 16], issued_at: unix_s() };
            let context = sealed_for.context(&self.tenant, &template.handle);
            let (share, other) = Share::of(face).split(rng);
            SharedProbe { share, sealed: sealing.seal(&context, &other), sealed_for }
        };
        Ok(self.people.iter().zip(faces).map(&mut device).collect())
    }

    fn shared<'a>(&'a self, probes: &'a [SharedProbe]) -> Vec<(&'a Template, &'a SharedProbe)> {
        self.people.iter().map(|(template, _)| template).zip(probes).collect()
    }

    /// One batch of each kind; the nanoseconds of each step.
    pub(super) fn round(&self, round: usize) -> Result<[Option<u64>; 3], Failure> {
        let matching = self.settle(&self.matching[round % JOBS], u32::MAX)?;
        let failing = self.settle(&self.failing[round % JOBS], !1)?;
        let encrypted = match self.mode {
            ProbeMode::Plain => None,
            ProbeMode::Shared => Some(self.encrypt(round as u8)?),
        };
        Ok([Some(matching), Some(failing), encrypted])
    }

    /// The nanoseconds of the key-holder's part before a match.
    fn encrypt(&self, batch: u8) -> Result<u64, Failure> {
        let faces: Vec<Embedding> = self.people.iter().map(|(_, face)| face.clone()).collect();
        let probes = self.probes(batch, &faces, &mut rand::make_rng())?;
        let lanes = self.shared(&probes);
        let sealed = self.matcher().gather(BatchId::new([batch; 16]), self.tenant, &self.key, &lanes);
        let request = Request::EncryptProbes(Box::new(sealed.map_err(Failure::in_step("gather"))?));
        let began = Instant::now();
        self.role.call(request).map_err(Failure::in_step("probes"))?;
        Ok(nanoseconds(began))
    }

    /// One batch in which all match.
    pub(super) fn decide(&self, round: usize) -> Result<(), Failure> {
        self.settle(&self.matching[round % JOBS], u32::MAX).map(drop)
    }

    /// The same, over another connection to the same key-holder.
    pub(super) fn decide_by(&self, role: &dyn KeyHolding, round: usize) -> Result<(), Failure> {
        role.decide(self.matching[round % JOBS].clone()).map(drop).map_err(Failure::in_step("decision"))
    }

    /// The nanoseconds of a decision. The batch is not made, nor copied, in that time.
    fn settle(&self, job: &MatchJob, expected: u32) -> Result<u64, Failure> {
        let request = Request::Decide(Box::new(job.clone()));
        let began = Instant::now();
        let decided = self.role.call(request).map_err(Failure::in_step("decision"))?;
        let ns = nanoseconds(began);
        let right = matches!(decided, Reply::Decided(decisions) if decisions.lanes().bits() == expected);
        self.wrong.fetch_add(u64::from(!right), Ordering::Relaxed);
        Ok(ns)
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
