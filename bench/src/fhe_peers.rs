//! The same 32 inner products by another library: fhe.rs with packed slots and rotations, alternating with ours.
//!
//! Its batch is the classical one: the 32 templates packed in one ciphertext of 4096 slots, which is prepared once and has no
//! privacy against the decryptor; encode the probes, multiply, and add seven rotations. Ours sums 32 arbitrary
//! templates from a store, multiplies, re-randomises and floods; a second figure is for one packed ciphertext.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use fhe::bfv::{
    BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, EvaluationKey, EvaluationKeyBuilder,
    Plaintext, SecretKey,
};
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use trefoil_bfv::{DIM, Decryptor, Embedding, LANES, Masker, TemplateCiphertext};
use trefoil_kernels::Tier;

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::roles::{PlainStore, scheme};

/// What to time.
#[derive(Clone, Copy, Debug)]
pub struct FhePeers {
    /// Rounds: a batch of each.
    pub iterations: usize,
    /// Templates in our store; a multiple of 32.
    pub users: usize,
    /// Seed of users and probes.
    pub seed: u64,
    /// Highest tier for ours. The other library is portable.
    pub tier: Tier,
}

/// Bits of its two primes, with 128-bit security at this degree.
const MODULI_BITS: [usize; 2] = [54, 55];

/// Times both alternately and compares both with arithmetic in the clear.
///
/// # Errors
/// When a step fails. Wrong scores are in the report, not here.
pub fn fhe_peers(parameters: &FhePeers) -> Result<Report, Failure> {
    let FhePeers { iterations, users, seed, tier } = *parameters;
    let mut rng = StdRng::seed_from_u64(seed);
    let faces = (0..LANES).map(|_| face(&mut rng)).collect::<Result<Vec<_>, _>>()?;
    let scheme = scheme(tier);
    let templates = (0..users).map(|user| faces[user % LANES].clone());
    let store = PlainStore::new(&scheme, templates, &mut rng)?;
    let block = TemplateCiphertext::block(&scheme, &store.templates[..LANES].iter().collect::<Vec<_>>());
    let (mut masker, mut decryptor) = (Masker::new(&scheme, rand::random()), Decryptor::new(&scheme));
    let theirs = Theirs::new(&faces)?;
    let (mut times, mut wrong) = ([const { Vec::new() }; 3], 0);
    for _ in 0..iterations {
        let probes = (0..LANES).map(|_| face(&mut rng)).collect::<Result<Vec<_>, _>>()?;
        let chosen: Vec<usize> =
            (0..LANES).map(|lane| LANES * rng.random_range(0..users / LANES) + lane).collect();
        let expected: Vec<i32> = faces.iter().zip(&probes).map(|(x, y)| x.dot(y)).collect();

        let begin = Instant::now();
        let product = theirs.scores(&probes)?;
        times[0].push(elapsed_ns(begin));
        wrong += u64::from(theirs.decrypt(&product)? != expected);

        let begin = Instant::now();
        let masked = store.mask(&mut masker, &chosen, &probes);
        times[1].push(elapsed_ns(begin));
        wrong += u64::from(store.open(&mut decryptor, &chosen, &masked)?.scores()[..] != expected);

        let placed: Vec<_> = probes.iter().enumerate().collect();
        let begin = Instant::now();
        let masked = masker.mask_block(&store.basis, &block, &placed);
        black_box(masker.tag(&store.tag_basis));
        times[2].push(elapsed_ns(begin));
        wrong += u64::from(decryptor.decrypt(&store.keys[..LANES], &masked).scores()[..] != expected);
        black_box(masked);
    }
    Ok(report(parameters, times.map(Distribution::of_ns), wrong))
}

/// The other library's tenant: one ciphertext of 32 templates, and the keys of seven rotations.
struct Theirs {
    parameters: Arc<BfvParameters>,
    secret: SecretKey,
    rotations: EvaluationKey,
    templates: Ciphertext,
}

impl Theirs {
    fn new(faces: &[Embedding]) -> Result<Self, Failure> {
        let step = |error: fhe::Error| Failure::in_step("fhe.rs")(error);
        let parameters = BfvParametersBuilder::new()
            .set_degree(LANES * DIM)
            .set_plaintext_modulus(trefoil_bfv::T)
            .set_moduli_sizes(&MODULI_BITS)
            .build_arc()
            .map_err(step)?;
        let mut rng = rand_09::rng();
        let secret = SecretKey::random(&parameters, &mut rng);
        let mut keys = EvaluationKeyBuilder::new(&secret).map_err(step)?;
        for rotation in ROTATIONS {
            keys.enable_column_rotation(rotation).map_err(step)?;
        }
        let rotations = keys.build(&mut rng).map_err(step)?;
        let packed = encode(faces, &parameters)?;
        let templates = secret.try_encrypt(&packed, &mut rng).map_err(step)?;
        Ok(Theirs { parameters, secret, rotations, templates })
    }

    /// Encodes, multiplies, and sums each person's 128 slots into the first of them.
    fn scores(&self, probes: &[Embedding]) -> Result<Ciphertext, Failure> {
        let probes = encode(probes, &self.parameters)?;
        let mut product = &self.templates * &probes;
        for rotation in ROTATIONS {
            let turned =
                self.rotations.rotates_columns_by(&product, rotation).map_err(Failure::in_step("fhe.rs"))?;
            product += &turned;
        }
        Ok(product)
    }

    fn decrypt(&self, product: &Ciphertext) -> Result<Vec<i32>, Failure> {
        let plaintext = self.secret.try_decrypt(product).map_err(Failure::in_step("fhe.rs"))?;
        let slots =
            Vec::<i64>::try_decode(&plaintext, Encoding::simd()).map_err(Failure::in_step("fhe.rs"))?;
        // Centred modulo t, as 32 bits.
        Ok(slots.iter().step_by(DIM).map(|score| *score as i32).collect())
    }
}

/// Powers of two below 128.
const ROTATIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

fn encode(vectors: &[Embedding], parameters: &Arc<BfvParameters>) -> Result<Plaintext, Failure> {
    let slots: Vec<i64> = vectors.iter().flat_map(|vector| vector.values().map(i64::from)).collect();
    Plaintext::try_encode(&slots, Encoding::simd(), parameters).map_err(Failure::in_step("fhe.rs"))
}

fn face(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let vector: [f32; DIM] = std::array::from_fn(|_| rng.random::<f32>() - 0.5);
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}

fn elapsed_ns(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn report(parameters: &FhePeers, [theirs, ours, packed]: [Distribution; 3], wrong: u64) -> Report {
    let FhePeers { iterations, users, seed, tier } = *parameters;
    let ratio = |runs: &Distribution| rounded(theirs.median() / runs.median());
    let each = [("fhe.rs", &theirs), ("trefoil", &ours), ("trefoil_prepacked", &packed)];
    let figure = |of: &dyn Fn(&Distribution) -> serde_json::Value| {
        each.iter().map(|(name, runs)| ((*name).to_owned(), of(runs))).collect::<serde_json::Map<_, _>>()
    };
    let result = json!({
        "match_us": figure(&|runs| json!(rounded(runs.median()))),
        "min_us": figure(&|runs| json!(rounded(runs.min()))),
        "runs_us": figure(&Distribution::runs_json),
        "times_faster": ratio(&ours), "times_faster_prepacked": ratio(&packed),
        "fhe_rs_version": "0.1.1", "fhe_rs_moduli_bits": MODULI_BITS,
        "users": users, "lanes": LANES, "iterations": iterations, "seed": seed, "tier": tier.name(),
        "batches_wrong": wrong,
    });
    let mut summary = format!("us per batch of {LANES}, in turn: median (min)\n");
    for (name, runs) in each {
        summary.push_str(&format!("  {name:<18} {:>9.1}  ({:.1})\n", runs.median(), runs.min()));
    }
    summary.push_str(&format!("{:.1} times faster; pre-packed {:.1}\n", ratio(&ours), ratio(&packed)));
    let problem = (wrong > 0).then(|| format!("{wrong} batches have wrong scores"));
    Report { summary, result, problem }
}
