//! One key-holder, a tenant of it with 32 people, and batches of theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trefoil_types::{BatchId, Handle};

use crate::world::model;
use rand::RngExt as _;
use rand::rngs::StdRng;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Enrolment, KeyHolding, KeyStructure, LANES, Lane, MatchJob,
    Matcher, PublicKey, Reply, Request, Template, TemplateName, TenantId, Tier, split, system_entropy,
    unblind,
};

use crate::Failure;
use crate::roles::{face, timed};

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
        tier: Tier,
    ) -> Result<Candidate, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let tenant = TenantId::new(rng.random());
        let policy = DecisionPolicy::new(model(), THRESHOLD, AttemptPolicy::UNLIMITED);
        let key = role.create_tenant(tenant, KeyStructure::PerSubject, policy);
        let key = key.map_err(Failure::in_step("tenant"))?;
        let mut people = Vec::with_capacity(LANES);
        for lane in Lane::all() {
            let face = face(trefoil_bfv::Width::W128, &mut rng)?;
            let (blinded, blind) = split(&face, &mut rng);
            let name = TemplateName { tenant, handle: Handle::new(rng.random()), generation: 0 };
            let enrolled = role.enrol(Enrolment { name, lane, model: model(), template: blinded.into() });
            people.push((unblind(enrolled.map_err(Failure::in_step("enrolment"))?, blind), face));
        }
        let (matching, failing, wrong) = Default::default();
        let mut own = Candidate { name, role, tenant, key, people, tier, matching, failing, wrong };
        for batch in 0..JOBS as u8 {
            let stranger = face(trefoil_bfv::Width::W128, &mut rng)?;
            let mut faces: Vec<Embedding> = own.people.iter().map(|(_, face)| face.clone()).collect();
            let job = own.job(batch, &faces)?;
            own.matching.push(job);
            faces[0] = stranger;
            let job = own.job(batch, &faces)?;
            own.failing.push(job);
        }
        Ok(own)
    }

    fn job(&self, batch: u8, faces: &[Embedding]) -> Result<MatchJob, Failure> {
        let lanes: Vec<_> = self.people.iter().map(|(template, _)| template).zip(faces).collect();
        let mut matcher = Matcher::new(self.tier, Box::new(system_entropy));
        let job = matcher.mask(BatchId::new([batch; 16]), self.tenant, THRESHOLD, &self.key, &lanes);
        job.map_err(Failure::in_step("match"))
    }

    /// One batch of each kind; the nanoseconds of each step.
    pub(super) fn round(&self, round: usize) -> Result<[u64; 2], Failure> {
        let matching = self.settle(&self.matching[round % JOBS], u32::MAX)?;
        let failing = self.settle(&self.failing[round % JOBS], !1)?;
        Ok([matching, failing])
    }

    /// One batch in which all match.
    pub(super) fn decide(&self, round: usize) -> Result<(), Failure> {
        self.settle(&self.matching[round % JOBS], u32::MAX).map(drop)
    }

    /// Bytes of a batch, as a key-holder in another process gets it.
    pub(super) fn job_bytes(&self) -> usize {
        self.matching[0].to_bytes().len()
    }

    /// The nanoseconds of a decision. The batch is not made, nor copied, in that time.
    fn settle(&self, job: &MatchJob, expected: u32) -> Result<u64, Failure> {
        let request = Request::Decide(Box::new(job.clone()));
        let (decided, ns) = timed(|| self.role.call(request));
        let decided = decided.map_err(Failure::in_step("decision"))?;
        let right = matches!(decided, Reply::Decided(decisions) if decisions.lanes().bits() == expected);
        self.wrong.fetch_add(u64::from(!right), Ordering::Relaxed);
        Ok(ns)
    }

    /// Batches that were not decided as they should be.
    pub(super) fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }
}
