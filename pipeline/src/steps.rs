//! The steps of one batch, top to bottom: prove, match, digest. Signing is the [`crate::sealer`]'s.
//!
//! The cached verdicts are looked up before the match although the match is step one of the design: a
//! look-up costs nanoseconds, and this way a lane without a valid proof reaches neither the
//! matcher nor the key-holder and spends no attempt of any budget.

use std::sync::Arc;

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use trefoil_attest::{BATCH_MAX, Decision, ProbeMode, Proof, Statement, Suite};
use trefoil_cache::{Cache, Session};
use trefoil_kernels::{Cpu, keccak};
use trefoil_matching::{BatchId, Decisions, KeyHolding, Matcher, Tier, system_entropy};
use trefoil_types::AudienceId;

use crate::clock::Clock;
use crate::door::Door;
use crate::matching::{Round, Spent, Usual};
use crate::request::{Backing, Batch, Bound, BoundLane, InSession, LaneRequest, Refusal, StageTimes};
use crate::run::{BackedLane, Run};
use crate::sessions::Sessions;
use crate::tenant::{Tenant, Tenants};
use crate::verdict::{Stale, Verdict, audience_id};

/// The state that one worker owns. Nothing in it is shared.
pub struct Worker<C: Cache<Verdict>> {
    matcher: Matcher,
    spent: Spent,
    /// Of plain and of shared probes.
    usual: [Usual; 2],
    verdicts: Sessions<C>,
    rng: StdRng,
}

/// The shared, read-only parts of the pipeline.
pub struct Pipeline<C> {
    issuer: String,
    tenants: Box<dyn Tenants<C>>,
    key_holder: Arc<dyn KeyHolding>,
    tier: Tier,
}

impl<C: Cache<Verdict>> Pipeline<C> {
    /// A pipeline that attests as `issuer` (1 to 255 bytes) and computes on at most `tier`.
    pub fn new(
        issuer: String,
        tenants: impl Tenants<C> + 'static,
        key_holder: Arc<dyn KeyHolding>,
        tier: Tier,
    ) -> Self {
        Pipeline { issuer, tenants: Box::new(tenants), key_holder, tier }
    }

    /// Name under which this pipeline attests.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// State for one more worker, seeded from the operating system.
    pub fn worker(&self) -> Worker<C> {
        let matcher = Matcher::new(self.tier, Box::new(system_entropy));
        Worker {
            matcher,
            spent: Spent::default(),
            usual: Default::default(),
            verdicts: Sessions::default(),
            rng: rand::make_rng(),
        }
    }

    /// Runs one batch. Refused lanes carry their reason; every other lane is decided and bound, in random order.
    ///
    /// The tenant's snapshot is read once, and each lane's verdict is looked up once, unless the lane brings it along.
    pub fn run<R>(
        &self,
        batch: Batch<LaneRequest<R>>,
        worker: &mut Worker<C>,
        clock: &dyn Clock,
        door: &dyn Door<R>,
    ) -> Bound<R> {
        let mut run = Run {
            now: clock.unix_s(),
            cpu: Cpu::at_most(self.tier),
            batch_id: BatchId::new(worker.rng.random()),
            refused: Vec::new(),
            times: StageTimes::default(),
        };
        let Some(served) = self.tenants.get(&batch.tenant) else {
            run.refuse_all(batch.lanes, Refusal::Tenant);
            return Bound { lanes: Vec::new(), refused: run.refused, times: run.times };
        };
        let started = clock.monotonic_ns();
        let tenant = &served.tenant;
        let lanes = match tenant.policy.proof_level {
            Some(_) => run.check_proofs(batch.lanes, tenant, worker.verdicts.with(&served), door),
            None => run.check_unproven(batch.lanes, door),
        };
        let lanes = run.check_shared(lanes, door);
        run.times.proof_lookup_ns = clock.monotonic_ns() - started;
        let mut round = Round {
            tenants: &*self.tenants,
            tenant,
            key_holder: &*self.key_holder,
            matcher: &mut worker.matcher,
            spent: &mut worker.spent,
            usual: &mut worker.usual[usize::from(tenant.policy.probe == ProbeMode::Shared)],
            clock,
        };
        let (lanes, decisions) = round.decide(&mut run, lanes);
        let decided = clock.monotonic_ns();
        let lanes = run.bind(lanes, decisions, tenant, &self.issuer, &mut worker.rng);
        run.times.digest_ns = clock.monotonic_ns() - decided;
        Bound { lanes, refused: run.refused, times: run.times }
    }
}

impl<R> Run<R> {
    /// Keeps the lanes with a valid session; refuses the others.
    fn check_proofs<S: Session<Verdict>>(
        &mut self,
        lanes: Vec<LaneRequest<R>>,
        tenant: &Tenant,
        verdicts: &mut S,
        door: &dyn Door<R>,
    ) -> Vec<BackedLane<R>> {
        verdicts.announce(lanes.iter().filter_map(|lane| match &lane.backing {
            Backing::Session(InSession { id, revived: None }) => Some(id.as_bytes()),
            Backing::Session(_) | Backing::Application(_) => None,
        }));
        let mut proven = Vec::with_capacity(lanes.len());
        // Most batches have one audience.
        let mut last: Option<(Arc<str>, AudienceId)> = None;
        for request in lanes {
            let audience = match &last {
                Some((name, id)) if *name == request.audience => *id,
                _ => audience_id(&request.audience),
            };
            last = Some((Arc::clone(&request.audience), audience));
            let Backing::Session(session) = &request.backing else {
                self.refused.push((request.reply, Refusal::ProofMode));
                continue;
            };
            let verdict = match &session.revived {
                Some(verdict) => Some(**verdict),
                None => verdicts.get(session.id.as_bytes(), self.now),
            };
            let admitted = verdict.ok_or(Refusal::Session(Stale::Missing)).and_then(|verdict| {
                Ok((verdict.account, admit(&request, session, &verdict, tenant, audience, self.now, door)?))
            });
            match admitted {
                Ok((account, proof)) => proven.push(BackedLane { request, account, proof: Some(proof) }),
                Err(why) => self.refused.push((request.reply, why)),
            }
        }
        proven
    }

    /// Keeps the lanes that the tenant's application vouches for, whose nonce is not used; refuses the others. For a tenant that asks
    /// for no proof, so there is no verdict to look up, and no hit or miss to count.
    fn check_unproven(&mut self, lanes: Vec<LaneRequest<R>>, door: &dyn Door<R>) -> Vec<BackedLane<R>> {
        let mut vouched = Vec::with_capacity(lanes.len());
        for request in lanes {
            let admitted = match request.backing {
                Backing::Application(account) => door.spend(&request, self.now).map(|()| account),
                Backing::Session(_) => Err(Refusal::ProofMode),
            };
            match admitted {
                Ok(account) => vouched.push(BackedLane { request, account, proof: None }),
                Err(why) => self.refused.push((request.reply, why)),
            }
        }
        vouched
    }

    /// Keeps the lanes whose single-use values no other process has taken; refuses the others. One call for the batch.
    fn check_shared(&mut self, lanes: Vec<BackedLane<R>>, door: &dyn Door<R>) -> Vec<BackedLane<R>> {
        let refused = door.spend_shared(&mut lanes.iter().map(|lane| &lane.request), self.now);
        if refused.is_empty() {
            return lanes;
        }
        let mut refused = refused.into_iter().peekable();
        let mut kept = Vec::with_capacity(lanes.len());
        for (place, lane) in lanes.into_iter().enumerate() {
            match refused.next_if(|(at, _)| *at == place) {
                Some((_, why)) => self.refuse([lane], why),
                None => kept.push(lane),
            }
        }
        kept
    }

    /// Binds each decision to a canonical statement and its digest. The digests are computed together at the end.
    ///
    /// A subject keeps its lane for every audience, so lanes would link accounts. Places and leaves are therefore drawn at random for each batch. The data
    /// moved for this is the bound lanes, a tenth of a request's bytes.
    fn bind(
        &mut self,
        lanes: Vec<BackedLane<R>>,
        decisions: Decisions,
        tenant: &Tenant,
        issuer: &str,
        rng: &mut StdRng,
    ) -> Vec<BoundLane<R>> {
        let mut places: [u8; BATCH_MAX as usize] = std::array::from_fn(|place| place as u8);
        places[..lanes.len()].shuffle(rng);
        let mut bound = Vec::with_capacity(lanes.len());
        for (place, BackedLane { request, account, proof }) in places.into_iter().zip(lanes) {
            let lane = request.template.lane;
            let Some(calibrated) = tenant.policy.calibrated(&request.template.model) else {
                self.refused.push((request.reply, Refusal::Template));
                continue;
            };
            let decision = if decisions.accepted(lane) { Decision::Match } else { Decision::NoMatch };
            let statement = Statement {
                suite: Suite::One,
                issuer,
                tenant: tenant.id,
                audience: &request.audience,
                account,
                nonce: &request.nonce,
                request_digest: request.request_digest,
                decision,
                probe_mode: request.probe.mode(),
                policy_id: tenant.policy.id,
                policy_version: tenant.policy.version,
                fmr_class: calibrated.fmr_class,
                embedder: &calibrated.embedder,
                quantiser: &calibrated.quantiser,
                template_generation: request.template.generation,
                proof,
                batch_id: self.batch_id,
                place,
                issued_at: self.now,
                expires_at: self.now + tenant.policy.attestation_lifetime_s,
            };
            match statement.encode() {
                Ok(statement) => {
                    bound.push(BoundLane {
                        reply: request.reply,
                        decision: Some(decision),
                        statement,
                        digest: [0; 32],
                    });
                }
                // A field outside its limits is refused at admission, so an error here is internal.
                Err(_) => self.refused.push((request.reply, Refusal::Fault)),
            }
        }
        bound.shuffle(rng);
        digest(self.cpu, &mut bound);
        bound
    }
}

/// Whether a verdict covers a request, and if so the proof behind it. The MAC comes first, so that only the
/// session's holder learns more, and single-use values are spent last.
fn admit<R>(
    request: &LaneRequest<R>,
    session: &InSession,
    verdict: &Verdict,
    tenant: &Tenant,
    audience: AudienceId,
    now: u64,
    door: &dyn Door<R>,
) -> Result<Proof, Refusal> {
    if !door.is_holders(request, verdict) {
        return Err(Refusal::Mac);
    }
    let root = verdict.admits(tenant, &request.template.handle, audience, now)?;
    door.spend(request, now)?;
    let Verdict { circuit, level, epoch, .. } = *verdict;
    Ok(Proof { circuit, root, level, epoch, session: session.id })
}

/// Fills in each lane's digest, [`trefoil_attest::statement_digest`] of its statement, eight lanes side by side.
fn digest<R>(cpu: Cpu, bound: &mut [BoundLane<R>]) {
    let statements: Vec<&[u8]> = bound.iter().map(|lane| &lane.statement[..]).collect();
    let mut digests = vec![[0; 32]; statements.len()];
    keccak::sha3_256(cpu, &statements, &mut digests);
    for (lane, digest) in bound.iter_mut().zip(digests) {
        lane.digest = digest;
    }
}
