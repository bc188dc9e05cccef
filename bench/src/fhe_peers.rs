//! The same 32 inner products by another library: fhe.rs with packed slots and rotations, alternating with ours.
//!
//! Its batch is the classical one: the 32 templates packed in one ciphertext of 4096 slots, which is prepared once and has no
//! privacy against the decryptor; encode the probes, multiply, and add seven rotations. Ours sums 32 arbitrary
//! templates from a store, multiplies, re-randomises and floods; a second figure is for one packed ciphertext.

use std::sync::Arc;

use clap::Args;
use fhe::bfv::{
    BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, EvaluationKey, EvaluationKeyBuilder,
    Plaintext, SecretKey,
};
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::json;
use trefoil_bfv::{Decryptor, Embedding, LANES, Masker, TemplateCiphertext, Width};
use trefoil_kernels::Tier;

use crate::args::{count, multiple_of_32};
use crate::distribution::{Distribution, Times, rounded};
use crate::roles::{PlainStore, face, random_users, scheme, timed};
use crate::{Failure, Report};

#[derive(Debug, Args)]
pub(crate) struct Peers {
    /// Rounds: one batch of each per round
    #[arg(long, default_value_t = 100, value_parser = count::<1, 100_000>)]
    iters: usize,
    /// Our templates, 48 KiB each, of which every batch sums 32; a multiple of 32
    #[arg(long, default_value_t = 4_096, value_parser = multiple_of_32)]
    users: usize,
    /// Seed of users and probes
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Numbers in a vector.
const DIM: usize = Width::W128.numbers();

/// Bits of its two primes, with 128-bit security at this degree.
const MODULI_BITS: [usize; 2] = [54, 55];

/// Times both alternately and compares both with arithmetic in the clear.
///
/// # Errors
/// When a step fails. Wrong scores are in the report, not here.
pub(crate) fn peers(args: &Peers, tier: Tier) -> Result<Report, Failure> {
    let Peers { iters, users, seed } = *args;
    let mut rng = StdRng::seed_from_u64(seed);
    let faces =
        (0..LANES).map(|_| face(trefoil_bfv::Width::W128, &mut rng)).collect::<Result<Vec<_>, _>>()?;
    let scheme = scheme(tier);
    let templates = (0..users).map(|user| faces[user % LANES].clone());
    let store = PlainStore::new(&scheme, templates, &mut rng)?;
    let block = TemplateCiphertext::block(&scheme, &store.templates[..LANES].iter().collect::<Vec<_>>());
    let (mut masker, mut decryptor) = (Masker::new(&scheme, rand::random()), Decryptor::new(&scheme));
    let theirs = Theirs::new(&faces)?;
    let (mut times, mut wrong) = ([const { Vec::new() }; 3], 0);
    for _ in 0..iters {
        let probes =
            (0..LANES).map(|_| face(trefoil_bfv::Width::W128, &mut rng)).collect::<Result<Vec<_>, _>>()?;
        let chosen = random_users(users, &mut rng);
        let expected: Vec<i32> = faces.iter().zip(&probes).map(|(x, y)| x.dot(y)).collect();
        let placed: Vec<_> = probes.iter().enumerate().collect();

        let (product, theirs_ns) = timed(|| theirs.scores(&probes));
        wrong += u64::from(theirs.decrypt(&product?)? != expected);
        let (masked, ours_ns) = timed(|| store.mask(&mut masker, &chosen, &probes));
        wrong += u64::from(store.open(&mut decryptor, &chosen, &masked)?.scores()[..] != expected);
        let step = || (masker.mask_blocks(&store.basis, &[&block], &placed), masker.tag(&store.tag_basis));
        let ((masked, _), packed_ns) = timed(step);
        let keys = store.keys[..LANES].iter().enumerate();
        wrong += u64::from(decryptor.decrypt(keys, &masked).scores()[..] != expected);
        times.iter_mut().zip([theirs_ns, ours_ns, packed_ns]).for_each(|(runs, ns)| runs.push(ns));
    }
    let names = ["fhe.rs", "trefoil", "trefoil_prepacked"];
    let times = names.into_iter().zip(times).map(|(name, ns)| (name.to_owned(), Distribution::of_ns(ns)));
    let times = Times(times.collect());
    let ratio = |name| rounded(times.median("fhe.rs") / times.median(name));
    let (faster, faster_prepacked) = (ratio("trefoil"), ratio("trefoil_prepacked"));
    let summary = format!(
        "us per batch of {LANES}, in turn: median (min, p90)\n{}{faster:.1} times faster; pre-packed {faster_prepacked:.1}\n",
        times.text()
    );
    let problem = (wrong > 0).then(|| format!("{wrong} batches have wrong scores"));
    let mut report = Report { summary, result: times.json("match_us"), problem };
    report.put(json!({
        "times_faster": faster, "times_faster_prepacked": faster_prepacked, "fhe_rs_version": "0.1.1", "fhe_rs_moduli_bits": MODULI_BITS,
        "users": users, "lanes": LANES, "iterations": iters, "seed": seed, "tier": tier.name(), "batches_wrong": wrong,
    }));
    Ok(report)
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
    let slots: Vec<i64> =
        vectors.iter().flat_map(|vector| vector.values().iter().copied().map(i64::from)).collect();
    Plaintext::try_encode(&slots, Encoding::simd(), parameters).map_err(Failure::in_step("fhe.rs"))
}
