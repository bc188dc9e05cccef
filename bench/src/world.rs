//! One tenant with enrolled people over a cache: what the pipeline needs to authenticate them.

use std::sync::{Arc, LazyLock};

use rand::rngs::StdRng;
use trefoil_attest::{KeySetStatus, TrustRoot, TrustedKeySet};
use trefoil_cache::{Cache, Session as _};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, KeyHolder, KeyHolding, KeyStructure, LANES, Lane, Local,
    MemoryVault, Model, PublicKey, Template, TemplateName, Tier, split, unblind,
};
use trefoil_pipeline::{
    Cadence, Calibrated, ChainHead, Clock, Floor, Origin, Outlet, Pipeline, Policy, Registry, Release,
    Sealer, Sequence, Tenant, Verdict,
};
use trefoil_sign::{Extent, SigningKeys};

use crate::Failure;
use crate::clock::{WORLD_START_S, WorldClock};
use crate::faces::{EMBEDDER, Faces, THRESHOLD};
use crate::population::{LEVEL, POLICY_ID, Person, Population, ROOT_GENERATION, TENANT, VERDICT_EXPIRY_S};

/// Name under which benchmarks attest.
pub(crate) const ISSUER: &str = "bench.trefoil.example";

/// One enrolled template.
pub(crate) struct User {
    /// Index of the person who holds it.
    pub(crate) person: usize,
    /// The template, in the lane `person % 32`.
    pub(crate) template: Template,
    /// What was enrolled, for predictions in the clear.
    pub(crate) enrolled: Embedding,
}

/// The state that is independent of the verdict cache: people, templates, their keys. Compared worlds
/// share one ground, because the read speed of templates depends on where in memory they happen to lie.
pub(crate) struct Ground {
    pub(crate) population: Arc<Population>,
    pub(crate) users: Vec<User>,
    pub(crate) faces: Faces,
    key: PublicKey,
    key_holder: Arc<dyn KeyHolding>,
}

impl Ground {
    /// Enrols `users` templates.
    ///
    /// User `u` is template generation `u / people + 1` of person `u % people`: a person who enrolled
    /// again. Each is a real enrolment under a key and a salt of its own, so memory traffic and key work are those
    /// of `users` subjects, while one proof serves all templates of a person. A person keeps one lane,
    /// `person % 32` instead of a random one, so that every lane has equally many users and batches are full.
    ///
    /// # Errors
    /// When an enrolment is refused.
    pub(crate) fn new(population: Arc<Population>, users: usize) -> Result<Self, Failure> {
        let mut rng: StdRng = rand::make_rng();
        let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, WORLD_START_S)
            .map_err(Failure::in_step("key-holder"))?;
        let faces = Faces::read()?;
        // A closed loop denies the same subjects thousands of times a second; budgets would turn the rest into refusals.
        let policy = DecisionPolicy::new(model(), THRESHOLD, AttemptPolicy::UNLIMITED);
        let key = key_holder
            .create_tenant(TENANT, KeyStructure::PerSubject, policy)
            .map_err(Failure::in_step("tenant"))?;
        let users = enrol(&key_holder, &population, &faces, users)?;
        Ok(Ground {
            population,
            users,
            faces,
            key,
            key_holder: Arc::new(Local::new(key_holder.into(), || WORLD_START_S)),
        })
    }

    /// Memory of all templates, bytes: what batches of random users are read from.
    pub(crate) fn template_bytes(&self) -> usize {
        self.users.len() * TEMPLATE_BYTES
    }
}

/// Everything that a run reads.
pub(crate) struct World<C> {
    pub(crate) ground: Arc<Ground>,
    pub(crate) cache: Arc<C>,
    pub(crate) pipeline: Arc<Pipeline<C>>,
}

impl<C: Cache<Verdict>> World<C> {
    /// Connects a pipeline on `tier`, and caches all verdicts if it is to be `warm`.
    ///
    /// # Errors
    /// When a verdict does not stay.
    pub(crate) fn new(cache: C, ground: &Arc<Ground>, tier: Tier, warm: bool) -> Result<Self, Failure> {
        let registry = Registry::default();
        let cache = Arc::new(cache);
        let tenant = tenant(ground.key.clone(), ground.population.root);
        registry.put(tenant, Arc::clone(&cache));
        let key_holder = Arc::clone(&ground.key_holder);
        let pipeline = Pipeline::new(ISSUER.into(), registry, key_holder, tier);
        if warm {
            cache_verdicts(&cache, &ground.population)?;
        }
        Ok(World { ground: Arc::clone(ground), cache, pipeline: Arc::new(pipeline) })
    }
}

/// Room for eight times as many verdicts as there are people. The engine places an entry in one of its sets of 16 and
/// evicts when that set is full; at two entries per set on average no set fills up, at eight some do.
pub(crate) fn capacity(population: &Population) -> usize {
    8 * population.people.len()
}

/// Inserts all verdicts and checks that they stay.
fn cache_verdicts<C: Cache<Verdict>>(cache: &Arc<C>, population: &Population) -> Result<(), Failure> {
    let mut session = cache.session();
    for person in &population.people {
        session.insert(person.session.to_bytes(), person.verdict, VERDICT_EXPIRY_S, WORLD_START_S);
    }
    let held = |person: &&Person| session.get(person.session.as_bytes(), WORLD_START_S).is_some();
    let count = population.people.iter().filter(held).count();
    match population.people.len() - count {
        0 => Ok(()),
        missing => Err(Failure::fault(format!(
            "{missing} of {} verdicts did not stay cached",
            population.people.len()
        ))),
    }
}

/// Two residues of 48 bits per coefficient.
const TEMPLATE_BYTES: usize = 2 * 6 * 4096;

fn enrol(
    key_holder: &KeyHolder,
    population: &Population,
    faces: &Faces,
    users: usize,
) -> Result<Vec<User>, Failure> {
    let mut rng: StdRng = rand::make_rng();
    let lanes: Vec<Lane> = Lane::all().collect();
    let people = population.people.len();
    let mut enrolled_users = Vec::with_capacity(users);
    let arena = Template::arena(KeyStructure::PerSubject, users);
    for user in 0..users {
        let (person, generation) = (user % people, user / people + 1);
        let enrolled = faces.enrolled(person, generation)?;
        let generation = u32::try_from(generation).map_err(Failure::in_step("users"))?;
        let (blinded, blind) = split(&enrolled, &mut rng);
        let name = TemplateName { tenant: TENANT, handle: population.people[person].handle, generation };
        let encrypted = key_holder
            .enrol(name, lanes[person % LANES], model(), &blinded.into(), WORLD_START_S)
            .map_err(Failure::in_step("enrolment"))?;
        enrolled_users.push(User { person, template: unblind(encrypted, blind).stored_in(&arena), enrolled });
    }
    Ok(enrolled_users)
}

/// The model of all vectors.
pub(crate) fn model() -> Model {
    Model::of(EMBEDDER, 128).expect("a width")
}

fn tenant(key: PublicKey, root: [u8; 32]) -> Tenant {
    Tenant {
        id: TENANT,
        keys: vec![key],
        policy: Policy {
            id: POLICY_ID,
            version: 1,
            models: vec![Calibrated::new(EMBEDDER, 128, THRESHOLD, 3).expect("a width")],
            proof_level: Some(LEVEL),
            attestation_lifetime_s: 60,
            probe: trefoil_attest::ProbeMode::Plain,
        },
        roots: vec![(ROOT_GENERATION, root)],
    }
}

/// Signing keys for a day of the world's time, and the trust root that a relying party would hold. They are made once in a
/// process: worlds that are compared sign with the same.
///
/// # Errors
/// When key generation fails.
pub(crate) fn signing_keys() -> Result<(SigningKeys, TrustRoot), Failure> {
    static KEYS: LazyLock<Result<SigningKeys, String>> = LazyLock::new(new_signing_keys);
    let keys =
        KEYS.as_ref().map_err(Failure::fault)?.duplicate().map_err(Failure::in_step("signing keys"))?;
    let root = trust_root(&keys)?;
    Ok((keys, root))
}

/// Keys with the brief part of their precomputation done, as it is in a service a second after its start.
pub(crate) fn new_signing_keys() -> Result<SigningKeys, String> {
    let mut rng: StdRng = rand::make_rng();
    let mut keys = SigningKeys::generate(WORLD_START_S - 60, VERDICT_EXPIRY_S, &mut rng)
        .map_err(|why| format!("signing keys: {why}"))?;
    keys.precompute_to(Extent::Brief);
    keys.precomputation().run().map_err(|why| format!("precomputation: {why}"))?;
    Ok(keys)
}

pub(crate) fn trust_root(keys: &SigningKeys) -> Result<TrustRoot, Failure> {
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    TrustRoot::new(ISSUER, vec![active]).map_err(Failure::in_step("trust root"))
}

/// Starts the sealer of the service for this issuer.
///
/// # Errors
/// When its threads do not start.
pub(crate) fn sealer<R: Send + 'static>(
    keys: SigningKeys,
    (cadence, sealers): (Cadence, usize),
    clock: &Arc<WorldClock>,
    release: Arc<dyn Release<R>>,
    after_group: impl Fn(usize) + Send + 'static,
) -> Result<(Outlet<R>, Sealer<R>), Failure> {
    let (head, sequence) = (ChainHead::GENESIS, Sequence { cadence, floor: Floor::NONE, sealers });
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    Sealer::start(keys, Origin::new(ISSUER), head, sequence, clock, release, after_group)
        .map_err(Failure::in_step("sealer"))
}
