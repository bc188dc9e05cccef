//! The matcher's computation in the `shared` probe mode: the product of two ciphertexts.
//!
//! A probe `x` arrives in two shares modulo t, each uniform by itself: `x1` at the matcher, `x2` at the key-holder. The
//! key-holder encrypts the `x2` of a batch in one ciphertext `(d0, d1)` with `d0 + d1 s = x2 + t e'`; adding `x1` to `d0` gives
//! a ciphertext of the probes, which neither party can read. With the sum of the templates, `c0 + c1 s = Delta m + e`,
//!
//! ```text
//! (c0 + c1 s)(d0 + x1 + d1 s) = Delta m x + e x - m e' + t e e'      (because Delta t = Q - 1)
//! ```
//!
//! which is a ciphertext of `m x` of degree 2 in `s`: no relinearisation, no rescaling. Its parts would reveal the
//! operands to a party that knows `s`, so a fresh multiple of an encryption of zero of degree 2 is added.

use crate::ciphertext::PairCiphertext;
use crate::lines::Lines;
use crate::mask::{Masker, Sources, add_flood};
use crate::masked::MaskedProduct;
use crate::sample::flood;
use crate::shape::within;
use crate::tenant_key::Zero;
use crate::wipe::wipe;
use crate::{LANES, N, Shape, Share};
use std::ops::Range;
use trefoil_kernels::packed::{self, Ahead};

/// One template under the tenant's key and the matcher's share of a probe, in a lane.
#[derive(Clone, Copy)]
pub struct PlacedShare<'a> {
    /// The lane, 0..32, that the template was encrypted into.
    pub lane: usize,
    /// The encrypted template.
    pub template: &'a PairCiphertext,
    /// The matcher's share of the probe.
    pub share: &'a Share,
}

/// Scratch memory of a product. Wiped on drop.
pub(crate) struct Scratch {
    /// The probes' ciphertext, `d0 + x1` and `d1`.
    probes: Lines<u64>,
    /// The multiplier `u` of the encryption of zero, transformed.
    u: Lines<u64>,
}

impl Masker {
    /// Multiplies the sum of the templates by the encrypted probes and masks the product. `probes` are what the key-holder made for this
    /// batch, a ciphertext for each of its own.
    ///
    /// # Panics
    /// If there is no request or more than 32, or a lane repeats or exceeds 31, or a ciphertext belongs to another scheme, or there are not
    /// as many `probes` as the batch has ciphertexts.
    pub fn mask_shared(
        &mut self,
        zero: &Zero,
        placed: &[PlacedShare<'_>],
        probes: &[PairCiphertext],
    ) -> MaskedProduct {
        let width = placed.first().expect("a batch has a request").share.width();
        assert!(placed.iter().all(|request| request.share.width() == width), "one width");
        self.shape = Shape::placed(width, placed.iter().map(|request| request.lane));
        assert_eq!(probes.len(), self.shape.count(), "probes for each ciphertext");
        self.make_room();
        let mut scratch = self.product.take().unwrap_or_else(|| Box::new(Scratch::new(self)));
        let mut masked = MaskedProduct::zero(&self.scheme, self.shape);
        let flooding = flood(&mut self.drbg);
        for ((at, lanes), probes) in self.shape.ciphertexts().enumerate().zip(probes) {
            let inside = placed.iter().filter(|request| lanes.contains(&request.lane));
            let sources = Sources::of(inside.map(|request| request.template.as_bytes()));
            let mut ahead = Ahead::of(self.scheme.cpu(), sources.get());
            self.prepare(&mut scratch, &lanes, placed, probes, &mut ahead);
            self.write_errors(masked.parts_mut(at).1, &mut ahead);
            self.sum(at, &sources, 2);
            self.write(at, &lanes, &scratch, zero, &flooding, &mut masked);
        }
        self.product = Some(scratch);
        masked
    }

    /// The probes' ciphertext, and the inputs of the encryption of zero.
    fn prepare(
        &mut self,
        scratch: &mut Scratch,
        lanes: &Range<usize>,
        placed: &[PlacedShare<'_>],
        probes: &PairCiphertext,
        ahead: &mut Ahead<'_>,
    ) {
        let words = self.scheme.polynomial_words();
        packed::unpack(self.scheme.cpu(), probes.as_bytes(), &mut scratch.probes);
        let shares = within(lanes, placed.iter().map(|request| (request.lane, request.share)));
        self.scheme.lanes().place_shares(self.shape.width(), shares, &mut self.small);
        let (d0, _) = scratch.probes.split_at_mut(words);
        // Written below, after x1 was read from it.
        let room = scratch.u.chunks_exact_mut(N);
        for ((limb, d0), x1) in self.scheme.limbs().iter().zip(d0.chunks_exact_mut(N)).zip(room) {
            limb.transform_small_ahead(&self.small, x1, ahead);
            // Below 27q, which the products accept.
            d0.iter_mut().zip(x1).for_each(|(d0, x1)| *d0 += *x1);
        }
        self.small.fill(0);
        self.ternary.add(&mut self.drbg, 1, &mut self.small);
        for (limb, u) in self.scheme.limbs().iter().zip(scratch.u.chunks_exact_mut(N)) {
            limb.transform_small_ahead(&self.small, u, ahead);
        }
    }

    /// `c1 = e1` and `c2 = e2`, fresh and transformed.
    fn write_errors(&mut self, out: &mut [u64], ahead: &mut Ahead<'_>) {
        for out in out.chunks_exact_mut(self.scheme.polynomial_words()) {
            self.errors.fill_ahead(&mut self.drbg, &mut self.small, ahead);
            for (limb, out) in self.scheme.limbs().iter().zip(out.chunks_exact_mut(N)) {
                limb.transform_small_ahead(&self.small, out, ahead);
            }
        }
    }

    /// `c0 = C0 D0 + b0 u + F` on 32 coefficients, `c1 += C0 D1 + C1 D0 + b1 u`, `c2 += C1 D1 + b2 u`.
    fn write(
        &self,
        at: usize,
        lanes: &Range<usize>,
        scratch: &Scratch,
        zero: &Zero,
        flooding: &[i128; LANES],
        out: &mut MaskedProduct,
    ) {
        let (words, sum) = (self.scheme.polynomial_words(), &self.factors[at].sum);
        let (out_0, rest) = out.parts_mut(at);
        let (out_1, out_2) = rest.split_at_mut(words);
        for (i, limb) in self.scheme.limbs().iter().enumerate() {
            let here = i * N..(i + 1) * N;
            let (c0, c1) = (&sum[here.clone()], &sum[words..][here.clone()]);
            let (d0, d1) = (&scratch.probes[here.clone()], &scratch.probes[words..][here.clone()]);
            let (u, [b0, b1, b2]) = (&scratch.u[here.clone()], zero.limb(i));

            let (out_0, mut blind) = (&mut out_0[i * LANES..][lanes.clone()], [0; LANES]);
            let blind = &mut blind[lanes.clone()];
            limb.fold(c0, d0, out_0);
            limb.fold(b0, u, blind);
            out_0.iter_mut().zip(blind).for_each(|(x, y)| *x = limb.modulus().add(*x, *y));
            add_flood(limb, &flooding[lanes.clone()], out_0);

            let out_1 = &mut out_1[here.clone()];
            limb.mul_add(b1, u, out_1);
            limb.mul_add_variable(c0, d1, out_1);
            limb.mul_add_variable(c1, d0, out_1);

            let out_2 = &mut out_2[here];
            limb.mul_add(b2, u, out_2);
            limb.mul_add_variable(c1, d1, out_2);
        }
    }
}

impl Scratch {
    fn new(masker: &Masker) -> Scratch {
        let words = masker.scheme.polynomial_words();
        Scratch { probes: Lines::new(2 * words), u: Lines::new(words) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe(&mut self.probes);
        wipe(&mut self.u);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{BAND_MAX, predicted_product_deviation};
    use crate::{Decryptor, Drbg, Embedding, MasterKey, Opened, Scheme, TenantKey, Width};

    const BATCHES: usize = 40;

    /// 32 blindly enrolled subjects under one key.
    struct World {
        width: Width,
        key: TenantKey,
        zero: Zero,
        faces: Vec<Embedding>,
        templates: Vec<PairCiphertext>,
        masker: Masker,
        rng: Drbg,
    }

    impl World {
        fn new(seed: u8, width: Width) -> World {
            let mut rng = Drbg::from_seed([seed; 32]);
            let key = MasterKey::random(&mut rng).tenant_key(Scheme::shared());
            let zero = key.zero([seed; 32], &mut rng);
            let faces: Vec<Embedding> = (0..LANES).map(|_| Embedding::random(width, &mut rng)).collect();
            let templates = faces.iter().enumerate().map(|(lane, face)| {
                let rho = Share::random(width, &mut rng);
                let blinded = key.encrypt_lane(lane, &Share::of(face).plus(&rho), &mut rng);
                blinded.subtract(Scheme::shared(), lane, &rho)
            });
            let templates = templates.collect();
            let masker = Masker::new(Scheme::shared(), [seed; 32]);
            World { width, key, zero, faces, templates, masker, rng }
        }

        /// A batch of random probes, shared; checks the scores. Ciphertexts for which `quiet` holds are not flooded.
        fn open(&mut self, quiet: impl Fn(usize) -> bool) -> Opened {
            let probes: Vec<Embedding> =
                (0..LANES).map(|_| Embedding::random(self.width, &mut self.rng)).collect();
            let shares: Vec<(Share, Share)> =
                probes.iter().map(|probe| Share::of(probe).split(&mut self.rng)).collect();
            let for_key_holder: Vec<_> = shares.iter().map(|(_, x2)| x2).enumerate().collect();
            let encrypted = self.key.encrypt_probes(&for_key_holder, &mut self.rng);
            let placed: Vec<PlacedShare<'_>> = (0..LANES)
                .map(|lane| PlacedShare { lane, template: &self.templates[lane], share: &shares[lane].0 })
                .collect();
            let mut masked = self.masker.mask_shared(&self.zero, &placed, &encrypted);
            for (at, lanes) in masked.shape().ciphertexts().enumerate().filter(|(at, _)| quiet(*at)) {
                let mut scratch = self.masker.product.take().expect("a product was made");
                self.masker.prepare(&mut scratch, &lanes, &placed, &encrypted[at], &mut Ahead::none());
                self.masker.write_errors(masked.parts_mut(at).1, &mut Ahead::none());
                self.masker.write(at, &lanes, &scratch, &self.zero, &[0; LANES], &mut masked);
                self.masker.product = Some(scratch);
            }
            let opened = Decryptor::new(Scheme::shared()).decrypt_product(&self.key, &masked);
            let expected: Vec<i32> = (0..LANES).map(|lane| self.faces[lane].dot(&probes[lane])).collect();
            assert_eq!(opened.scores()[..], expected);
            opened
        }
    }

    fn deviation(opened: &[Opened]) -> f64 {
        let squares = opened.iter().flat_map(Opened::errors).map(|e| e * e);
        (squares.sum::<f64>() / (opened.len() * LANES) as f64).sqrt()
    }

    #[test]
    fn the_error_of_a_product_before_flooding_has_the_predicted_deviation() {
        for (width, bits) in Width::ALL.into_iter().zip([27.91, 27.41, 26.91]) {
            let mut world = World::new(1, width);
            let opened: Vec<Opened> = (0..BATCHES).map(|_| world.open(|_| true)).collect();
            let predicted = predicted_product_deviation(width.lanes());
            assert!((predicted.log2() - bits).abs() < 0.01, "2^{:.3}", predicted.log2());
            // 1280 samples give the deviation to 2 %.
            let measured = deviation(&opened);
            assert!((0.9..1.1).contains(&(measured / predicted)), "2^{:.3}, {width:?}", measured.log2());
            assert!(opened.iter().all(|opened| !opened.within_band()), "too quiet");
        }
    }

    #[test]
    fn a_flooded_product_stays_within_the_band() {
        for width in Width::ALL {
            let mut world = World::new(2, width);
            for _ in 0..BATCHES {
                let opened = world.open(|_| false);
                assert!(opened.within_band() && opened.flooded_independently());
                assert!(opened.errors().iter().all(|e| e.abs() <= BAND_MAX as f64));
            }
            for quiet in 0..LANES / width.lanes() {
                assert!(!world.open(|at| at == quiet).within_band(), "{quiet} of {width:?}");
            }
        }
    }

    #[test]
    fn the_same_product_is_masked_differently_every_time() {
        let mut world = World::new(4, Width::W512);
        let (x1, x2) = Share::of(&world.faces[9]).split(&mut world.rng);
        let encrypted = world.key.encrypt_probes(&[(9, &x2)], &mut world.rng);
        let placed = [PlacedShare { lane: 9, template: &world.templates[9], share: &x1 }];
        let [first, second] =
            [0, 1].map(|_| world.masker.mask_shared(&world.zero, &placed, &encrypted).to_bytes());
        let equal = first.chunks(6).zip(second.chunks(6)).filter(|(a, b)| a == b && a[..] != [0; 6]).count();
        assert!(equal < 2, "{equal}");
    }
}
