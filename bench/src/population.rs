//! People with credentials, each with a verified proof. They are derived from a fixed seed, and their proofs are made at every start.

use std::time::Instant;
use trefoil_types::{Account, AccountKeyId, Handle, SessionId};

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_pipeline::{TenantId, Verdict};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{Attributes, Circuit, CredentialTree, Secret, SessionClaim, Statement, Witness};

use crate::Failure;
use crate::clock::WORLD_START_S;
use crate::parallel;

/// The tenant of every benchmark.
pub(crate) const TENANT: TenantId = TenantId::new(*b"trefoil-bench---");
/// The relying party of every benchmark.
pub(crate) const AUDIENCE: &str = "bench.example";
/// Generation of the tenant's credential root.
pub(crate) const ROOT_GENERATION: u32 = 1;
/// The tenant's policy.
pub(crate) const POLICY_ID: u32 = 1;
/// Level that every session proves.
pub(crate) const LEVEL: u8 = 2;
/// Verdicts last for the longest run: a day.
pub(crate) const VERDICT_EXPIRY_S: u64 = WORLD_START_S + 86_400;

/// Seed of the people. Their secrets are therefore public; they belong to no real person.
const SEED: u64 = 0x7472_6566_6f69_6c01;

/// One person's session.
pub(crate) struct Person {
    /// Names the person's templates.
    pub(crate) handle: Handle,
    /// The identifier that a relying party sees instead.
    pub(crate) account: Account,
    /// Key of the verdict.
    pub(crate) session: SessionId,
    /// The verdict on the person's proof.
    pub(crate) verdict: Verdict,
    /// The upload that opened the session, to verify it again.
    pub(crate) envelope: ProofEnvelope,
}

/// People whose proofs have all been verified by this process.
pub(crate) struct Population {
    pub(crate) people: Vec<Person>,
    /// Root of the tenant's credential tree.
    pub(crate) root: [u8; 32],
    /// Time to make and verify the proofs.
    pub(crate) seconds: f64,
}

impl Population {
    /// `people` people, whose proofs are made on `workers` threads.
    ///
    /// # Errors
    /// When proving fails.
    pub(crate) fn new(people: usize, workers: usize) -> Result<Self, Failure> {
        let started = Instant::now();
        let mut rng = StdRng::seed_from_u64(SEED);
        let count = u32::try_from(people).map_err(Failure::in_step("people"))?;
        let (witnesses, tree) = credentials(0..count, trefoil_zkp::epoch_at(WORLD_START_S), &mut rng)?;
        let keys: Vec<SessionKey> = (0..people).map(|_| SessionKey::random(&mut rng)).collect();
        let own = rand::make_rng::<StdRng>;
        let people = parallel::map_with(workers, people, "proving", own, |rng, index| {
            person(&witnesses[index], keys[index].clone(), rng)
        });
        let people = people.into_iter().collect::<Result<_, _>>()?;
        Ok(Population { people, root: *tree.root().as_bytes(), seconds: started.elapsed().as_secs_f64() })
    }
}

fn person(witness: &Witness, session_key: SessionKey, rng: &mut StdRng) -> Result<Person, Failure> {
    let statement = statement(witness, Circuit::Cred2, &session_key);
    let proof = trefoil_zkp::prove(witness, &statement, rng).map_err(Failure::in_step("proving"))?;
    let (audience, policy_id) = (AUDIENCE.to_owned(), POLICY_ID);
    let envelope =
        ProofEnvelope { statement, audience, session_key, account_key: ACCOUNT_KEY, policy_id, proof };
    let (session, verdict) = verdict(&envelope, VERDICT_EXPIRY_S).map_err(Failure::fault)?;
    Ok(Person { handle: verdict.handle, account: verdict.account, session, verdict, envelope })
}

/// Witnesses of credentials of level [`LEVEL`] at these places of one tree, and its root.
pub(crate) fn credentials(
    places: impl Iterator<Item = u32>,
    epoch: u32,
    rng: &mut StdRng,
) -> Result<(Vec<Witness>, CredentialTree), Failure> {
    let mut tree = CredentialTree::new();
    let mut members = Vec::new();
    for index in places {
        let secret = Secret::random(rng);
        let attributes =
            Attributes::new(epoch + 24, LEVEL, 0, index, rng).map_err(Failure::in_step("attributes"))?;
        tree.update(index, trefoil_zkp::leaf(&trefoil_zkp::commitment(&secret), &attributes))
            .map_err(Failure::in_step("credential tree"))?;
        members.push((index, secret, attributes));
    }
    let witness = |(index, secret, attributes)| {
        let path = tree.path(index).map_err(Failure::in_step("credential tree"))?;
        Ok(Witness { secret, attributes, index, path })
    };
    Ok((members.into_iter().map(witness).collect::<Result<_, Failure>>()?, tree))
}

/// Of every person: no device signs here.
const ACCOUNT_KEY: AccountKeyId = AccountKeyId::new([0; 32]);

/// What a holder claims in a session under this key.
pub(crate) fn statement(witness: &Witness, circuit: Circuit, session_key: &SessionKey) -> Statement {
    witness.statement(&SessionClaim {
        circuit,
        tenant: TENANT,
        audience: AUDIENCE,
        root_generation: ROOT_GENERATION,
        epoch: trefoil_zkp::epoch_at(WORLD_START_S),
        level: LEVEL,
        policy_id: POLICY_ID,
        key_commitment: &session_key.commitment(),
        account_key: ACCOUNT_KEY,
    })
}

/// Verifies the proof and gives the session's id and the verdict to cache until `not_after`.
pub(crate) fn verdict(envelope: &ProofEnvelope, not_after: u64) -> Result<(SessionId, Verdict), String> {
    let verified =
        trefoil_zkp::verify(&envelope.statement, &envelope.proof).map_err(|error| error.to_string())?;
    let verdict = Verdict::new(&verified, envelope, not_after).ok_or("a verdict on another statement")?;
    Ok((SessionId::new(*verified.statement_digest()), verdict))
}
