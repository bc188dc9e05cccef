//! People with credentials, each with a verified proof.
//!
//! A proof takes about a tenth of a second, so proofs are kept in a file between runs. People are derived from a
//! fixed seed, so the valid contents of a file are known before it is read, and each proof in it is
//! verified before it counts. A file that is not exactly right is regenerated.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use trefoil_types::{Account, Handle, SessionId};

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use sha2::{Digest as _, Sha256};
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

const MAGIC: &[u8; 8] = b"TFBENCH1";
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
    /// Whether the proofs were read from a file.
    pub(crate) from_file: bool,
    /// Time to make or read, and verify.
    pub(crate) seconds: f64,
}

/// A person before the proof.
struct Holder {
    witness: Witness,
    session_key: SessionKey,
    statement: Statement,
}

impl Population {
    /// `people` people. Their proofs are read from `folder`, or made with `workers` threads and kept there.
    ///
    /// # Errors
    /// When proving fails or the file cannot be written.
    pub(crate) fn new(people: usize, folder: &Path, workers: usize) -> Result<Self, Failure> {
        let started = Instant::now();
        let (holders, root) = holders(people)?;
        let path = file(&holders, folder);
        let kept = match read(&path, &holders, workers) {
            Ok(kept) => kept,
            Err(why) => {
                eprintln!("{}: {why}; regenerating the proofs", path.display());
                None
            }
        };
        let (people, from_file) = match kept {
            Some(people) => (people, true),
            None => (prove(&holders, &path, workers)?, false),
        };
        Ok(Population { people, root, from_file, seconds: started.elapsed().as_secs_f64() })
    }
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
        chain: None,
    })
}

fn holders(count: usize) -> Result<(Vec<Holder>, [u8; 32]), Failure> {
    let mut rng = StdRng::seed_from_u64(SEED);
    let count = u32::try_from(count).map_err(Failure::in_step("people"))?;
    let (witnesses, tree) = credentials(0..count, trefoil_zkp::epoch_at(WORLD_START_S), &mut rng)?;
    let holder = |witness: Witness| {
        let session_key = SessionKey::random(&mut rng);
        let statement = statement(&witness, Circuit::Cred2, &session_key);
        Holder { witness, session_key, statement }
    };
    Ok((witnesses.into_iter().map(holder).collect(), *tree.root().as_bytes()))
}

/// The file's name depends on every statement in it.
fn file(holders: &[Holder], folder: &Path) -> PathBuf {
    let mut digest = Sha256::new_with_prefix(MAGIC);
    for holder in holders {
        digest.update(holder.statement.digest());
    }
    folder.join(format!("proofs-{}-{}.bin", holders.len(), hex::encode(&digest.finalize()[..8])))
}

fn prove(holders: &[Holder], path: &Path, workers: usize) -> Result<Vec<Person>, Failure> {
    let proven: Result<Vec<_>, Failure> =
        parallel::map_with(workers, holders.len(), "proving", rand::make_rng::<StdRng>, |rng, index| {
            let Holder { witness, session_key, statement } = &holders[index];
            let proof = trefoil_zkp::prove(witness, statement, rng).map_err(Failure::in_step("proving"))?;
            let envelope = ProofEnvelope {
                statement: statement.clone(),
                audience: AUDIENCE.to_owned(),
                session_key: session_key.clone(),
                policy_id: POLICY_ID,
                chain: None,
                proof,
            };
            let bytes = envelope.encode().map_err(Failure::in_step("proof envelope"))?;
            Ok((accept(envelope).map_err(Failure::fault)?, bytes))
        })
        .into_iter()
        .collect();
    let (people, envelopes): (Vec<_>, Vec<_>) = proven?.into_iter().unzip();
    write(path, &envelopes).map_err(Failure::in_step(format_args!("writing {}", path.display())))?;
    Ok(people)
}

/// Layout: magic, then per person a u32 little-endian length and an envelope.
fn write(path: &Path, envelopes: &[Vec<u8>]) -> std::io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    for envelope in envelopes {
        bytes.extend((envelope.len() as u32).to_le_bytes());
        bytes.extend(envelope);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Renamed into place, so that an interrupted run leaves no half file under the final name.
    static PARTS: AtomicU32 = AtomicU32::new(0);
    let part = PARTS.fetch_add(1, Ordering::Relaxed);
    let partial = path.with_extension(format!("partial-{}-{part}", std::process::id()));
    fs::write(&partial, bytes)?;
    fs::rename(partial, path)
}

/// The people of the file, none if there is no file, or what is wrong with it.
fn read(path: &Path, holders: &[Holder], workers: usize) -> Result<Option<Vec<Person>>, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut rest = bytes.strip_prefix(MAGIC).ok_or("not a file of proofs")?;
    let mut envelopes = Vec::new();
    for _ in holders {
        let (length, after) = rest.split_first_chunk::<4>().ok_or("the file is cut off")?;
        let (envelope, after) =
            after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("the file is cut off")?;
        envelopes.push(envelope);
        rest = after;
    }
    if !rest.is_empty() {
        return Err("the file has more than it should".to_owned());
    }
    let people = parallel::map_with(
        workers,
        holders.len(),
        "verifying",
        || (),
        |(), index| {
            let envelope = ProofEnvelope::decode(envelopes[index]).map_err(|e| e.to_string())?;
            if envelope.statement != holders[index].statement {
                return Err("a proof of another statement".to_owned());
            }
            accept(envelope)
        },
    );
    people.into_iter().collect::<Result<Vec<_>, _>>().map(Some)
}

/// Verifies a proof. The only way to a [`Person`].
fn accept(envelope: ProofEnvelope) -> Result<Person, String> {
    let (session, verdict) = verdict(&envelope, VERDICT_EXPIRY_S)?;
    Ok(Person { handle: verdict.handle, account: verdict.account, session, verdict, envelope })
}

/// Verifies the proof and gives the session's id and the verdict to cache until `not_after`.
pub(crate) fn verdict(envelope: &ProofEnvelope, not_after: u64) -> Result<(SessionId, Verdict), String> {
    let verified =
        trefoil_zkp::verify(&envelope.statement, &envelope.proof).map_err(|error| error.to_string())?;
    let verdict = Verdict::new(&verified, envelope, not_after).ok_or("a verdict on another statement")?;
    Ok((SessionId::new(*verified.statement_digest()), verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_kept_and_a_damaged_file_is_made_anew() {
        let folder = tempfile::tempdir().expect("folder");
        let made = Population::new(2, folder.path(), 2).expect("population");
        assert!(!made.from_file);
        let kept = Population::new(2, folder.path(), 2).expect("population");
        assert!(kept.from_file);
        assert_eq!(kept.root, made.root);
        assert!(
            kept.people.iter().zip(&made.people).all(|(a, b)| a.session == b.session && a.handle == b.handle)
        );
        let path = file(&holders(2).expect("holders").0, folder.path());
        let whole = fs::read(&path).expect("file");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        let mut longer = whole.clone();
        longer.push(0);
        for damaged in [&flipped, &longer, &whole[..whole.len() - 1].to_vec(), &Vec::new()] {
            fs::write(&path, damaged).expect("file");
            assert!(read(&path, &holders(2).expect("holders").0, 1).is_err());
        }
        assert!(!Population::new(2, folder.path(), 2).expect("population").from_file);
        assert!(Population::new(2, folder.path(), 2).expect("population").from_file);
    }
}
