//! The ground of a strategy: a tenant, its target, its own people, and a count of all answers.

use std::sync::Arc;
use trefoil_types::BatchId;
use trefoil_types::Handle;

use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _};
use serde_json::{Value, json};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Enrolment, KeyHolderError, KeyHolding, KeyStructure, Lane,
    LaneSet, MALFORMED_MAX, MatchJob, Matcher, PublicKey, Template, TemplateName, TenantId, Tier, split,
    system_entropy, unblind,
};

use crate::Failure;

/// Tenants that a strategy makes when its own is frozen.
const GROUNDS_MAX: usize = 60;

/// See the module. The target is in lane 0; the people in the other lanes, and one more in lane 0, are its own.
pub(super) struct Ground {
    pub(super) role: Arc<dyn KeyHolding>,
    policy: DecisionPolicy,
    tenant: TenantId,
    pub(super) key: PublicKey,
    matcher: Matcher,
    pub(super) rng: StdRng,
    /// Never read by a strategy.
    truth: Embedding,
    pub(super) victim: Template,
    pub(super) own: Vec<(Template, Embedding)>,
    grounds: usize,
    pub(super) tally: Tally,
    /// About the person in lane 0, answers and those that were not "yes".
    about: (u32, u32),
}

/// The answers that a strategy got, and its readings.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    jobs: u64,
    decided: u64,
    no_attempts: u64,
    malformed: u64,
    stale: u64,
    frozen: u64,
    refused: u64,
    victims: u64,
    /// The most about one person.
    answers: u32,
    failures: u32,
    /// Decided although the job contained the ciphertext of a person that it did not name.
    unnamed: u64,
    /// Of the template, by the strategy's own account; and whether all of it was right.
    learned_bits: f64,
    wrong: u64,
}

/// The reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// These lanes match.
    Decided(LaneSet),
    NoAttempts,
    Malformed,
    Stale,
    Frozen,
    Refused,
}

impl Ground {
    pub(super) fn new(role: Arc<dyn KeyHolding>, policy: DecisionPolicy) -> Result<Ground, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let ((tenant, key, victim, truth), own) = (people(&*role, policy, &mut rng)?, Vec::new());
        let matcher = Matcher::new(Tier::detected(), Box::new(system_entropy));
        let tally = Tally { victims: 1, ..Tally::default() };
        let (grounds, about) = (1, (0, 0));
        let mut ground =
            Ground { role, policy, tenant, key, matcher, rng, truth, victim, own, grounds, tally, about };
        ground.populate()?;
        Ok(ground)
    }

    /// People of the gateway's own, one in each lane.
    fn populate(&mut self) -> Result<(), Failure> {
        self.own.clear();
        for lane in Lane::all() {
            let face = face(&mut self.rng)?;
            let template =
                enrol(&*self.role, self.tenant, Handle::new(self.rng.random()), lane, &face, &mut self.rng)?;
            self.own.push((template, face));
        }
        Ok(())
    }

    /// Another tenant, and another target. False when there were enough.
    pub(super) fn move_on(&mut self) -> Result<bool, Failure> {
        if self.grounds == GROUNDS_MAX {
            return Ok(false);
        }
        self.settle();
        self.grounds += 1;
        (self.tenant, self.key, self.victim, self.truth) = people(&*self.role, self.policy, &mut self.rng)?;
        self.tally.victims += 1;
        self.populate()?;
        Ok(true)
    }

    fn settle(&mut self) {
        let (answers, failures) = std::mem::take(&mut self.about);
        self.tally.answers = self.tally.answers.max(answers);
        self.tally.failures = self.tally.failures.max(failures);
    }

    pub(super) fn mask(&mut self, lanes: &[(&Template, &Embedding)]) -> Result<MatchJob, Failure> {
        let batch = BatchId::new(self.rng.random());
        self.matcher.mask(batch, self.tenant, &self.key, lanes).map_err(Failure::in_step("match"))
    }

    /// A job about the target, with a probe of the strategy's choice.
    pub(super) fn about_victim(&mut self, probe: &Embedding) -> Result<MatchJob, Failure> {
        let victim = self.victim.clone();
        self.mask(&[(&victim, probe)])
    }

    /// A job about its own people.
    pub(super) fn about_own(&mut self, people: usize) -> Result<MatchJob, Failure> {
        let own = self.own[..people].to_vec();
        let lanes: Vec<_> = own.iter().map(|(template, face)| (template, face)).collect();
        self.mask(&lanes)
    }

    pub(super) fn face(&mut self) -> Result<Embedding, Failure> {
        face(&mut self.rng)
    }

    pub(super) fn refetch(&mut self) -> Result<(), Failure> {
        let keys = self.role.public_keys(self.tenant).map_err(Failure::in_step("keys"))?;
        // During a rotation there are two.
        let of_victim = keys.into_iter().find(|key| key.epoch() == self.victim.epoch);
        self.key = of_victim.ok_or_else(|| Failure::fault("the tenant has no key of the victim's epoch"))?;
        Ok(())
    }

    /// The template's name, for a gateway's requests other than decisions.
    pub(super) fn victim_name(&self) -> TemplateName {
        TemplateName { tenant: self.tenant, handle: self.victim.handle, generation: self.victim.generation }
    }

    pub(super) fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub(super) fn policy(&self) -> DecisionPolicy {
        self.policy
    }

    /// Sends a job that names the target.
    pub(super) fn ask(&mut self, job: MatchJob) -> Result<Told, Failure> {
        let told = told(&*self.role, job)?;
        self.count(told, true);
        Ok(told)
    }

    /// Sends a job that names only its own people, with another person's ciphertext in it.
    pub(super) fn ask_unnamed(&mut self, job: MatchJob) -> Result<Told, Failure> {
        let told = told(&*self.role, job)?;
        self.count(told, false);
        Ok(told)
    }

    /// Counts an answer.
    pub(super) fn count(&mut self, told: Told, named: bool) {
        let tally = &mut self.tally;
        tally.jobs += 1;
        match told {
            Told::Decided(lanes) => {
                tally.decided += 1;
                if named {
                    self.about.0 += 1;
                    self.about.1 += u32::from(!lanes.contains(self.victim.lane));
                } else {
                    tally.unnamed += 1;
                }
            }
            Told::Malformed => {
                tally.malformed += 1;
                self.about.0 += u32::from(named);
                self.about.1 += u32::from(named);
            }
            Told::NoAttempts => tally.no_attempts += 1,
            Told::Stale => tally.stale += 1,
            Told::Frozen => tally.frozen += 1,
            Told::Refused => tally.refused += 1,
        }
    }

    /// This many bits about the coordinate `first` and the next, with the strategy's reading of them.
    pub(super) fn learned(&mut self, first: usize, bits: f64, holds: impl Fn(i32, i32) -> bool) {
        let [one, next] = [0, 1].map(|at| i32::from(self.truth.values()[first + at]));
        self.tally.wrong += u64::from(!holds(one, next));
        self.tally.learned_bits += bits;
    }

    /// The result.
    pub(super) fn end(mut self) -> Tally {
        self.settle();
        self.tally
    }
}

/// Sends it.
pub(super) fn told(role: &dyn KeyHolding, job: MatchJob) -> Result<Told, Failure> {
    Ok(match role.decide(job) {
        Ok(decisions) => Told::Decided(decisions.lanes()),
        Err(KeyHolderError::NoAttempts(_)) => Told::NoAttempts,
        Err(KeyHolderError::Malformed) => Told::Malformed,
        Err(KeyHolderError::TagKey) => Told::Stale,
        Err(KeyHolderError::Frozen) => Told::Frozen,
        Err(KeyHolderError::UnknownSubjects(_) | KeyHolderError::Subjects) => Told::Refused,
        Err(other) => return Err(Failure::in_step("decision")(other)),
    })
}

type People = (TenantId, PublicKey, Template, Embedding);

fn people(role: &dyn KeyHolding, policy: DecisionPolicy, rng: &mut StdRng) -> Result<People, Failure> {
    let tenant = TenantId::new(rng.random());
    let key = role.create_tenant(tenant, KeyStructure::PerSubject, policy);
    let key = key.map_err(Failure::in_step("tenant"))?;
    let truth = face(rng)?;
    let lane = Lane::new(0).ok_or_else(|| Failure::fault("there is a first lane"))?;
    let victim = enrol(role, tenant, Handle::new(rng.random()), lane, &truth, rng)?;
    Ok((tenant, key, victim, truth))
}

fn enrol(
    role: &dyn KeyHolding,
    tenant: TenantId,
    handle: Handle,
    lane: Lane,
    face: &Embedding,
    rng: &mut StdRng,
) -> Result<Template, Failure> {
    let (blinded, blind) = split(face, rng);
    let name = TemplateName { tenant, handle, generation: 0 };
    let enrolled = role.enrol(Enrolment { name, lane, template: blinded.into() });
    Ok(unblind(enrolled.map_err(Failure::in_step("enrolment"))?, blind))
}

/// Coordinates that are nearly normal.
pub(super) fn face(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let uniform = |rng: &mut StdRng| (rng.next_u32() >> 8) as f32 / (1u32 << 24) as f32;
    let vector: [f32; 128] = std::array::from_fn(|_| (0..12).map(|_| uniform(rng)).sum::<f32>() - 6.0);
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}

impl Tally {
    /// The most that the answers about one person can have revealed.
    fn told_bits(&self) -> f64 {
        trefoil_matching::bits_per_day(&AttemptPolicy {
            attempts_per_day: self.answers,
            failures_per_day: self.failures,
            ..AttemptPolicy::UNLIMITED
        })
    }

    pub(super) fn line(&self) -> String {
        format!(
            "{} jobs: {} decided, {} without attempts, {} malformed, {} stale, {} frozen; about one person at most {} answers ({} not yes), \
             {:.1} bits; read {:.1}",
            self.jobs,
            self.decided,
            self.no_attempts,
            self.malformed,
            self.stale,
            self.frozen,
            self.answers,
            self.failures,
            self.told_bits(),
            self.learned_bits / self.victims as f64
        )
    }

    pub(super) fn json(&self) -> Value {
        let tenth = |bits: f64| (bits * 10.0).round() / 10.0;
        json!({
            "jobs": self.jobs, "decided": self.decided, "no_attempts": self.no_attempts, "malformed": self.malformed,
            "stale_tag_key": self.stale, "frozen": self.frozen, "refused": self.refused, "people": self.victims,
            "answers_about_one_max": self.answers, "failures_about_one_max": self.failures,
            "bits_told_max": tenth(self.told_bits()), "template_bits_read": tenth(self.learned_bits / self.victims as f64),
            "wrong_readings": self.wrong, "decided_about_somebody_unnamed": self.unnamed,
        })
    }

    /// Violations of the ledger.
    pub(super) fn problem(&self, answers: u32, failures: u32, bits: f64) -> Option<String> {
        let malformed_max = self.victims * u64::from(MALFORMED_MAX);
        let read = self.learned_bits / self.victims as f64;
        [
            (self.answers > answers, format!("{} answers about one person", self.answers)),
            (self.failures > failures, format!("{} failures about one person", self.failures)),
            (self.malformed > malformed_max, format!("{} malformed jobs were looked at", self.malformed)),
            (self.unnamed > 0, format!("{} decisions about somebody unnamed", self.unnamed)),
            (read > bits, format!("{read:.1} bits of the template were read")),
            (self.wrong > 0, format!("{} readings were wrong, so it measures nothing", self.wrong)),
        ]
        .into_iter()
        .find_map(|(wrong, what)| wrong.then_some(what))
    }
}
