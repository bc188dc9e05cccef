//! One tenant with enrolled people over a cache: what the pipeline needs to authenticate them.

use std::sync::{Arc, LazyLock};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::{KeySetStatus, TrustRoot, TrustedKeySet};
use trefoil_cache::{Cache, Session as _};
use trefoil_matching::{
    AttemptPolicy, DIM, DecisionPolicy, Embedding, KeyHolder, KeyHolding, KeyStructure, LANES, Lane, Local,
    MemoryVault, PublicKey, Template, TemplateName, Tier, split, unblind,
};
use trefoil_pipeline::{Pipeline, Policy, Registry, Tenant, Verdict};
use trefoil_sign::{Extent, SigningKeys};

use crate::clock::WORLD_START_S;
use crate::failure::Failure;
use crate::population::{LEVEL, POLICY_ID, Person, Population, ROOT_GENERATION, TENANT, VERDICT_EXPIRY_S};

/// Name under which benchmarks attest.
pub(crate) const ISSUER: &str = "bench.trefoil.example";
/// Cosine 0.59. Synthetic faces of two people stay within 0.45 of orthogonal, captures of one person above 0.8.
pub(crate) const THRESHOLD: i32 = 18_000;

/// One enrolled template.
pub(crate) struct User {
    /// Index of the person who holds it.
    pub(crate) person: usize,
    /// The template, in the lane `person % 32`.
    pub(crate) template: Template,
    /// What was enrolled, for predictions in the clear.
    pub(crate) enrolled: Embedding,
}

/// What is the same whichever cache verdicts are looked up in: people, templates, their keys. Worlds that are compared
/// stand on one ground, since how fast templates are read depends on where in memory they happen to lie.
pub(crate) struct Ground {
    pub(crate) population: Arc<Population>,
    pub(crate) users: Vec<User>,
    faces: Vec<[f32; DIM]>,
    key: PublicKey,
    keyholder: Arc<dyn KeyHolding>,
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
        let keyholder = KeyHolder::new(Box::new(MemoryVault::default()), &mut rng, WORLD_START_S)
            .map_err(Failure::in_step("key-holder"))?;
        // A closed loop denies the same subjects thousands of times a second; budgets would turn the rest into refusals.
        let policy = DecisionPolicy { threshold: THRESHOLD, attempts: AttemptPolicy::UNLIMITED };
        let key = keyholder
            .create_tenant(TENANT, KeyStructure::PerSubject, policy)
            .map_err(Failure::in_step("tenant"))?;
        let mut faces_rng = StdRng::seed_from_u64(FACES_SEED);
        let faces: Vec<_> = population.people.iter().map(|_| direction(&mut faces_rng)).collect();
        let users = enrol(&keyholder, &population, &faces, users)?;
        Ok(Ground {
            population,
            users,
            faces,
            key,
            keyholder: Arc::new(Local::new(keyholder.into(), || WORLD_START_S)),
        })
    }

    /// A new capture of `person`'s face.
    pub(crate) fn capture(&self, person: usize, rng: &mut StdRng) -> Result<Embedding, Failure> {
        capture(&self.faces[person], rng)
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
    /// Caches everybody's verdict and connects a pipeline on `tier`.
    ///
    /// # Errors
    /// When a verdict does not stay.
    pub(crate) fn new(cache: C, ground: &Arc<Ground>, tier: Tier) -> Result<Self, Failure> {
        let registry = Registry::default();
        let cache = Arc::new(cache);
        registry.put(tenant(ground.key.clone(), ground.population.root), Arc::clone(&cache));
        cache_verdicts(&cache, &ground.population)?;
        let keyholder = Arc::clone(&ground.keyholder);
        let pipeline = Pipeline::new(ISSUER.into(), registry, keyholder, tier);
        Ok(World { ground: Arc::clone(ground), cache, pipeline: Arc::new(pipeline) })
    }
}

/// Room for eight times as many verdicts as there are people. The engine places an entry in one of its sets of 16 and
/// evicts when that set is full; at two entries per set on average no set fills up, at eight some do.
pub(crate) fn capacity(population: &Population) -> usize {
    8 * population.people.len()
}

/// Inserts everybody's verdict and checks that all of them stay.
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
const TEMPLATE_BYTES: usize = 2 * 6 * DIM * LANES;

const FACES_SEED: u64 = 2;

fn enrol(
    keyholder: &KeyHolder,
    population: &Population,
    faces: &[[f32; DIM]],
    users: usize,
) -> Result<Vec<User>, Failure> {
    let mut rng: StdRng = rand::make_rng();
    let mut captures = StdRng::seed_from_u64(FACES_SEED + 1);
    let lanes: Vec<Lane> = Lane::all().collect();
    let mut enrolled_users = Vec::with_capacity(users);
    let arena = Template::arena(KeyStructure::PerSubject, users);
    for user in 0..users {
        let (person, generation) = (user % faces.len(), user / faces.len() + 1);
        let generation = u32::try_from(generation).map_err(Failure::in_step("users"))?;
        let enrolled = capture(&faces[person], &mut captures)?;
        let (blinded, blind) = split(&enrolled, &mut rng);
        let name = TemplateName { tenant: TENANT, handle: population.people[person].handle, generation };
        let encrypted = keyholder
            .enrol(name, lanes[person % LANES], &blinded.into(), WORLD_START_S)
            .map_err(Failure::in_step("enrolment"))?;
        enrolled_users.push(User { person, template: unblind(encrypted, blind).stored_in(&arena), enrolled });
    }
    Ok(enrolled_users)
}

fn tenant(key: PublicKey, root: [u8; 32]) -> Tenant {
    Tenant {
        id: TENANT,
        keys: vec![key],
        policy: Policy {
            id: POLICY_ID,
            version: 1,
            fmr_class: 3,
            embedder: "synthetic-128".into(),
            level_min: LEVEL,
            attestation_lifetime_s: 60,
            probe: trefoil_attest::ProbeMode::Plain,
        },
        roots: vec![(ROOT_GENERATION, root)],
    }
}

/// A direction nearly uniform on the sphere: sums of 12 uniforms are close to normal.
fn direction(rng: &mut StdRng) -> [f32; DIM] {
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

/// `face` with noise of a third of its length.
fn capture(face: &[f32; DIM], rng: &mut StdRng) -> Result<Embedding, Failure> {
    let noise = direction(rng);
    let seen: [f32; DIM] = std::array::from_fn(|i| face[i] + noise[i] / 3.0);
    Embedding::quantise(&seen).map_err(Failure::in_step("face"))
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
