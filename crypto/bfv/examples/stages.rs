//! Times the two roles on one core, for a batch of 32 subjects: `cargo run --release -p trefoil-bfv --example stages`.
//!
//! Medians, one step after the other in every round, so that all see the same disturbances. The store is larger than
//! caches, so that templates come from main memory; `TREFOIL_TIER` lowers the tier, an argument names one step.

use std::hint::black_box;
use std::time::Instant;
use trefoil_bfv::{
    Arena, Basis, Decryptor, Drbg, Embedding, LANES, Masker, MasterKey, PairCiphertext, Params, Placed,
    PlacedShare, Salt, Scheme, Share, SubjectKey, Tag, TagBasis, TagKey, TagMaster, TemplateCiphertext,
    TenantKey, Tier, Zero,
};

/// Subjects in the store, 768 MiB of templates; a multiple of 32. All but the first are copies.
const SUBJECTS: usize = 16384;
const ENCRYPTED: usize = 256;
const ROUNDS: usize = 10000;

struct World {
    basis: Basis,
    tags: TagBasis,
    tag_key: TagKey,
    tag: Tag,
    keys: Vec<SubjectKey>,
    templates: Vec<TemplateCiphertext>,
    block: TemplateCiphertext,
    tenant: TenantKey,
    zero: Zero,
    pairs: Vec<PairCiphertext>,
    probes: Vec<Embedding>,
    shares: Vec<(Share, Share)>,
    masker: Masker,
    masked: trefoil_bfv::MaskedBatch,
    decryptor: Decryptor,
    rng: Drbg,
}

fn main() {
    let tier = Tier::from_env().expect("TREFOIL_TIER names a tier");
    let only = std::env::args().nth(1);
    let mut world = World::new(tier);
    type Step = (&'static str, fn(&mut World, usize));
    let steps: [Step; 10] = [
        ("read the templates", |world, at| {
            black_box(world.templates[at..at + LANES].iter().map(|t| checksum(t.as_bytes())).sum::<u64>());
        }),
        ("mask", |world, at| drop(black_box(world.mask(at)))),
        ("mask, in cache", |world, _| drop(black_box(world.mask(0)))),
        ("mask, one block", |world, _| {
            let probes: Vec<_> = world.probes.iter().enumerate().collect();
            black_box(world.masker.mask_block(&world.basis, &world.block, &probes));
        }),
        ("mask and decrypt", |world, at| {
            let masked = world.mask(at);
            black_box(world.decryptor.decrypt(&world.keys[at..at + LANES], &masked));
        }),
        ("decrypt", |world, at| {
            black_box(world.decryptor.decrypt(&world.keys[at..at + LANES], &world.masked));
        }),
        ("tag", |world, _| drop(black_box(world.masker.tag(&world.tags)))),
        ("check a tag", |world, _| {
            black_box(world.tag_key.vouches(&world.masked, &world.tag));
        }),
        ("shared: encrypt probes", |world, _| drop(black_box(world.encrypt_probes()))),
        ("shared: all", |world, at| {
            let probes = world.encrypt_probes();
            let placed: Vec<PlacedShare<'_>> = (0..LANES)
                .map(|lane| PlacedShare {
                    lane,
                    template: &world.pairs[at + lane],
                    share: &world.shares[lane].0,
                })
                .collect();
            let masked = world.masker.mask_shared(&world.zero, &placed, &probes);
            black_box(world.decryptor.decrypt_product(&world.tenant, &masked));
        }),
    ];
    let steps: Vec<Step> =
        steps.into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)).collect();
    let mut runs: Vec<Vec<u128>> = vec![Vec::new(); steps.len()];
    for round in 0..ROUNDS {
        for (k, (_, step)) in steps.iter().enumerate() {
            // An odd stride visits all batches before any comes back; each step has batches of its own.
            let at = (round * steps.len() + k) * 37 % (SUBJECTS / LANES) * LANES;
            let begin = Instant::now();
            step(&mut world, at);
            runs[k].push(begin.elapsed().as_nanos());
        }
    }
    println!("tier {}, {SUBJECTS} subjects, {ROUNDS} batches of {LANES}, median microseconds", tier.name());
    for ((name, _), runs) in steps.iter().zip(&mut runs) {
        runs.sort_unstable();
        println!("{name:<24}{:8.1}", runs[runs.len() / 2] as f64 / 1000.0);
    }
}

impl World {
    fn new(tier: Tier) -> World {
        let scheme = Scheme::new(Params::lanes94(), tier);
        let mut rng = Drbg::from_rng(&mut rand::rng());
        let basis = Basis::from_seed(&scheme, [1; 32]);
        let master = MasterKey::random(&mut rng);
        let tenant = master.tenant_key(&scheme);
        let zero = tenant.zero([3; 32], &mut rng);
        let arena = Arena::new(scheme.template_bytes(), SUBJECTS);
        let pair_arena = Arena::new(2 * scheme.template_bytes(), SUBJECTS);
        let (mut keys, mut templates, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..SUBJECTS {
            let key = master.subject_key(&[i as u8; 32], i as u32, &Salt::random(&mut rng));
            let (lane, share) = (i % LANES, Share::of(&face(i % 100)));
            let template = if i < ENCRYPTED {
                basis.encrypt_lane(&key, lane, &share, &mut rng)
            } else {
                TemplateCiphertext::clone(&templates[i % ENCRYPTED])
            };
            templates.push(template.stored_in(&arena).expect("room"));
            keys.push(key);
            let pair = if i < LANES {
                tenant.encrypt_lane(lane, &share, &mut rng)
            } else {
                PairCiphertext::clone(&pairs[i % LANES])
            };
            pairs.push(pair.stored_in(&pair_arena).expect("room"));
        }
        let first: Vec<&TemplateCiphertext> = templates[..LANES].iter().collect();
        let probes: Vec<Embedding> = (0..LANES).map(face).collect();
        let shares = probes.iter().map(|probe| Share::of(probe).split(&mut rng)).collect();
        let mut masker = Masker::new(&scheme, [2; 32]);
        let tag_master = TagMaster::random(&mut rng);
        let tags = tag_master.basis(&basis, 0);
        World {
            masked: masker.mask_block(&basis, &templates[0], &[]),
            tag: masker.tag(&tags),
            tag_key: tag_master.key(&basis, 0),
            tags,
            block: TemplateCiphertext::block(&scheme, &first),
            masker,
            decryptor: Decryptor::new(&scheme),
            basis,
            keys,
            templates,
            tenant,
            zero,
            pairs,
            probes,
            shares,
            rng,
        }
    }

    fn mask(&mut self, at: usize) -> trefoil_bfv::MaskedBatch {
        let placed: Vec<Placed<'_>> = (0..LANES)
            .map(|lane| Placed { lane, template: &self.templates[at + lane], probe: &self.probes[lane] })
            .collect();
        self.masker.mask(&self.basis, &placed)
    }

    fn encrypt_probes(&mut self) -> PairCiphertext {
        let shares: Vec<_> = self.shares.iter().map(|(_, x2)| x2).enumerate().collect();
        self.tenant.encrypt_probes(&shares, &mut self.rng)
    }
}

/// Reads everything, in order.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.as_chunks().0.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word))
}

fn face(i: usize) -> Embedding {
    let vector: Vec<f32> = (0..128).map(|k| ((i * 131 + k * k) as f32 * 0.37).sin()).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}
