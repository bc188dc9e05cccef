//! Parameter sets by circuit id. The only module that names a commitment scheme.

use std::sync::LazyLock;

use p3_challenger::{HashChallenger, SerializingChallenger32};
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_fri::{FriParameters, HidingFriPcs};
use p3_merkle_tree::MerkleTreeHidingMmcs;
use p3_sha256::Sha256Compress;
use p3_uni_stark::StarkConfig;
use rand::{CryptoRng, SeedableRng, rngs::StdRng};

use crate::{
    air::CredentialAir,
    digest::Field,
    standard_hash::{RowHash, Transcript},
    statement::{Circuit, Statement},
    symbolic::CompactAir,
};

/// Challenge field: degree 5 over KoalaBear, 154 bits. Degree 4 cannot pass 96 proven bits at any query count.
pub(crate) type Challenge = QuinticTrinomialExtensionField<Field>;
/// Fiat-Shamir transcript.
pub(crate) type Challenger = SerializingChallenger32<Field, HashChallenger<u8, Transcript, 32>>;
/// The whole proof system.
pub(crate) type Config = StarkConfig<Scheme, Challenge, Challenger>;
/// A proof as `p3-uni-stark` holds it.
pub(crate) type Proof = p3_uni_stark::Proof<Config>;

/// Merkle trees: rows with SHA-256, nodes with its compression function. Colliding nodes, 64 bytes each, would
/// be a collision of SHA-256 too, since the padding that is left out is the same for both.
type Trees = MerkleTreeHidingMmcs<Field, u8, RowHash, Sha256Compress, StdRng, 2, 32, SALT_LIMBS>;
type Scheme = HidingFriPcs<Field, Transform, Trees, ExtensionMmcs<Field, Challenge, Trees>, StdRng>;
pub(crate) type Transform = Radix2DitParallel<Field>;

/// Random codewords per committed matrix. At least the extension's degree, or the batching is not masked.
pub(crate) const RANDOM_CODEWORDS: usize = 5;
/// Salt of every leaf: 4 limbs, 124 bits.
const SALT_LIMBS: usize = 4;

/// FRI parameters. Lengths are base-2 logarithms, grinding is in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) log_blowup: usize,
    pub(crate) queries: usize,
    pub(crate) batch_grinding: usize,
    pub(crate) commit_grinding: usize,
    pub(crate) query_grinding: usize,
    pub(crate) log_arity_max: usize,
    pub(crate) log_final_length: usize,
    pub(crate) cap_height: usize,
}

/// The set that a circuit id stands for.
///
/// 55 queries at rate 1/16 with 4, 8 and 16 bits of grinding give 120 bits by list decoding under ePrint 2025/2055, so nothing
/// rests on the newer bound. 114 queries give nearly as many by unique decoding, and just fit the 256-row trace's masking
/// budget.
pub(crate) fn parameters(circuit: Circuit) -> Parameters {
    let queries = match circuit {
        Circuit::Cred2 => 55,
        Circuit::Cred2u => 114,
    };
    Parameters {
        log_blowup: 4,
        queries,
        batch_grinding: 8,
        commit_grinding: 4,
        query_grinding: 16,
        log_arity_max: 3,
        log_final_length: 3,
        cap_height: 0,
    }
}

/// Independent generators for the masks of one proof.
pub(crate) struct Masks {
    input_salts: StdRng,
    folding_salts: StdRng,
    codewords: StdRng,
}

impl Masks {
    pub(crate) fn from_rng(rng: &mut impl CryptoRng) -> Masks {
        let mut fork = || StdRng::from_rng(&mut *rng);
        Masks { input_salts: fork(), folding_salts: fork(), codewords: fork() }
    }

    /// For the verifier, which draws nothing.
    fn unused() -> Masks {
        let fixed = || StdRng::from_seed([0; 32]);
        Masks { input_salts: fixed(), folding_salts: fixed(), codewords: fixed() }
    }
}

/// The configuration for proving `statement`.
pub(crate) fn proving(statement: &Statement, masks: Masks) -> Config {
    config(&parameters(statement.circuit), statement, masks)
}

/// The configuration for verifying `statement`.
pub(crate) fn verifying(statement: &Statement) -> Config {
    config(&parameters(statement.circuit), statement, Masks::unused())
}

/// The circuit, built once.
pub(crate) fn circuit() -> &'static CompactAir {
    static CIRCUIT: LazyLock<CompactAir> = LazyLock::new(|| CompactAir::new(CredentialAir::new()));
    &CIRCUIT
}

pub(crate) fn config(parameters: &Parameters, statement: &Statement, masks: Masks) -> Config {
    let trees = |salts| Trees::new(RowHash, Sha256Compress, parameters.cap_height, salts);
    let Masks { input_salts, folding_salts, codewords } = masks;
    let folding = fri(parameters, ExtensionMmcs::new(trees(folding_salts)));
    let scheme = Scheme::new(Transform::default(), trees(input_salts), folding, RANDOM_CODEWORDS, codewords);
    Config::new(scheme, challenger(parameters, statement))
}

pub(crate) fn fri<M>(parameters: &Parameters, mmcs: M) -> FriParameters<M> {
    let Parameters {
        log_blowup,
        queries,
        batch_grinding,
        commit_grinding,
        query_grinding,
        log_arity_max,
        log_final_length,
        cap_height: _,
    } = *parameters;
    FriParameters {
        log_blowup,
        log_final_poly_len: log_final_length,
        max_log_arity: log_arity_max,
        num_queries: queries,
        batch_proof_of_work_bits: batch_grinding,
        commit_proof_of_work_bits: commit_grinding,
        query_proof_of_work_bits: query_grinding,
        mmcs,
    }
}

/// The transcript of a proof of `statement`, before anything was committed to.
pub(crate) fn challenger(parameters: &Parameters, statement: &Statement) -> Challenger {
    Challenger::from_hasher(head(parameters, statement), Transcript)
}

/// The transcript's head: protocol, circuit id, every parameter, context and the digest of the whole statement.
///
/// The constraints themselves are not in `p3-uni-stark`'s transcript, so the id must stand for them. Id and context are in the
/// digest too: here they are bound whatever becomes of the statement's encoding.
fn head(parameters: &Parameters, statement: &Statement) -> Vec<u8> {
    let Parameters {
        log_blowup,
        queries,
        batch_grinding,
        commit_grinding,
        query_grinding,
        log_arity_max,
        log_final_length,
        cap_height,
    } = *parameters;
    let mut head = PROTOCOL.to_vec();
    head.extend(statement.circuit.id().to_le_bytes());
    let numbers = [
        log_blowup,
        queries,
        batch_grinding,
        commit_grinding,
        query_grinding,
        log_arity_max,
        log_final_length,
        cap_height,
        RANDOM_CODEWORDS,
        SALT_LIMBS,
    ];
    head.extend(numbers.iter().flat_map(|&number| (number as u32).to_le_bytes()));
    head.extend(statement.ctx);
    head.extend(statement.digest());
    head
}

/// Names everything that the parameters do not: field, extension, circuit hash, tree hash, transcript hash.
const PROTOCOL: &[u8] = b"trefoil/credential-proof/1/plonky3-0.8/koalabear-5/poseidon2-24/sha-256/sha3-256";

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use sha3::{Digest as _, Sha3_256};

    use super::*;

    /// Stored proofs must verify forever. A parameter left out of the head is bound by nothing else, and no test of the
    /// verifier would notice.
    #[test]
    fn the_transcript_begins_as_the_references() {
        let vectors: Value = serde_json::from_str(include_str!("../testdata/vectors.json")).expect("JSON");
        let mut heads = 0;
        for member in vectors["members"].as_array().expect("members") {
            let statement = hex::decode(member["statement"].as_str().expect("hex")).expect("hex");
            let statement = Statement::decode(&statement).expect("canonical");
            for (circuit, expected) in
                Circuit::ALL.iter().zip(member["transcript_heads"].as_array().expect("two"))
            {
                let statement = Statement { circuit: *circuit, ..statement.clone() };
                let head = head(&parameters(*circuit), &statement);
                assert_eq!(Value::from(hex::encode(Sha3_256::digest(head))), *expected, "{}", circuit.name());
                heads += 1;
            }
        }
        assert_eq!(heads, 6);
    }
}
