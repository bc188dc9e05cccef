//! A template under a new key, without either role seeing it: the matcher blinds and floods it, the key-holder opens the blinded
//! template and encrypts it again, as at enrolment, and the matcher removes the blind.
//!
//! The key-holder opens only ciphertexts with the `c1` that it gave the template itself, so that no party can have a polynomial of the
//! key "renewed"; only those that are zero outside the template's lane; and only those that were flooded. A ciphertext that passes is the template plus
//! a value that the matcher knew, which the matcher could add to a template anyway.

use crate::basis::Basis;
use crate::ciphertext::{Ciphertext, TemplateCiphertext};
use crate::decrypt::Folded;
use crate::keys::SubjectKey;
use crate::noise::FLOOD_MAX;
use crate::sample::{TernarySampler, flood};
use crate::shape;
use crate::tenant_key::TenantKey;
use crate::{BLOCK, Drbg, N, Scheme, Shape, Share, Width};
use rand::CryptoRng;
use trefoil_kernels::packed;
use zeroize::Zeroizing;

impl<const POLYNOMIALS: usize> Ciphertext<POLYNOMIALS> {
    /// `c0` of the template in `lane` plus a blind, flooded in all 4096 coefficients. A `c1` is not needed: the key-holder has made it.
    ///
    /// # Panics
    /// If `lane` is above 31, or the ciphertext belongs to a scheme with other primes.
    pub fn blinded(
        &self,
        scheme: &Scheme,
        lane: usize,
        blind: &Share,
        rng: &mut impl CryptoRng,
    ) -> TemplateCiphertext {
        let mut drbg = Drbg::from_rng(rng);
        let flooding: Zeroizing<Vec<i128>> =
            Zeroizing::new((0..BLOCK).flat_map(|_| *flood(&mut drbg)).collect());
        blinded_by(scheme, lane, &self.as_bytes()[..scheme.template_bytes()], blind, &flooding)
    }
}

/// `c0 + Delta * blind + F`, with a flooding of 4096 integers of at most 2^80.
fn blinded_by(
    scheme: &Scheme,
    lane: usize,
    c0: &[u8],
    blind: &Share,
    flooding: &[i128],
) -> TemplateCiphertext {
    let mut values = vec![0; scheme.polynomial_words()];
    packed::unpack(scheme.cpu(), c0, &mut values);
    let mut message = Zeroizing::new(vec![0; N]);
    scheme.lanes().place_template(lane, blind, &mut message);
    let (no_error, mut part) = (vec![0; N], Zeroizing::new(vec![0; N]));
    for (limb, values) in scheme.limbs().iter().zip(values.chunks_exact_mut(N)) {
        let m = limb.modulus();
        let mut add = |part: &[u64]| {
            for (value, &part) in values.iter_mut().zip(part) {
                *value = m.add(*value, m.reduce(part));
            }
        };
        limb.transform_scaled(&message, &no_error, &mut part);
        add(&part);
        for (part, &flood) in part.iter_mut().zip(flooding) {
            // Non-negative after adding a multiple of the modulus that exceeds the flood.
            *part = m.reduce_wide((flood + (i128::from(m.value()) << 40)) as u128);
        }
        limb.transform(&mut part);
        add(&part);
    }
    TemplateCiphertext::pack(&values)
}

impl Basis {
    /// The blinded template in `lane` under a subject's key; none if it does not come from an honest matcher.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn open_blinded(
        &self,
        key: &SubjectKey,
        lane: usize,
        width: Width,
        blinded: &TemplateCiphertext,
    ) -> Option<Share> {
        let scheme = self.scheme();
        let mut s = Zeroizing::new(vec![0; N]);
        key.add_to(&mut TernarySampler::new(scheme.cpu()), 1, &mut s);
        let mut s_hat = Zeroizing::new(vec![0; N]);
        let mut phase = Zeroizing::new(blinded.unpacked());
        for ((limb, phase), a) in scheme.limbs().iter().zip(phase.chunks_exact_mut(N)).zip(self.limbs()) {
            limb.transform_small(&s, &mut s_hat);
            limb.mul_add(a, &s_hat, phase);
        }
        read(scheme, lane, width, &phase)
    }
}

impl TenantKey {
    /// The blinded template in `lane` of a subject; none if it does not come from an honest matcher.
    ///
    /// # Panics
    /// If `lane` is above 31.
    pub fn open_blinded(
        &self,
        subject: &SubjectKey,
        lane: usize,
        width: Width,
        blinded: &TemplateCiphertext,
    ) -> Option<Share> {
        let scheme = self.scheme();
        let c1 = subject.second_part(scheme);
        let mut phase = Zeroizing::new(blinded.unpacked());
        let parts = phase.chunks_exact_mut(N).zip(c1.chunks_exact(N)).zip(self.limbs());
        for (limb, ((phase, c1), (s, _))) in scheme.limbs().iter().zip(parts) {
            limb.mul_add_variable(c1, s, phase);
        }
        read(scheme, lane, width, &phase)
    }
}

/// The template in `lane` of `Delta * m + e`, given by its values: the coefficients of `X^k, X^(k + d), ..` are those of
/// `X^0, X^d, ..` of its product with `X^-k`, and they are the lanes' coefficients of `X^k`.
fn read(scheme: &Scheme, lane: usize, width: Width, phase: &[u64]) -> Option<Share> {
    // A lone ciphertext: its first lanes.
    let (place, shape) = (shape::place(width, lane), Shape::of(width, 1));
    let mut shift = vec![0; N];
    // X^-1 = -X^4095.
    shift[N - 1] = -1;
    let mut step = vec![0; scheme.polynomial_words()];
    let mut power = vec![1; scheme.polynomial_words()];
    for (limb, step) in scheme.limbs().iter().zip(step.chunks_exact_mut(N)) {
        limb.transform_small(&shift, step);
        step.iter_mut().for_each(|value| *value = limb.modulus().reduce(*value));
    }
    let nothing = vec![0; scheme.folded_words()];
    let (mut stray, mut honest) = (0, true);
    let mut coefficients = Zeroizing::new(vec![0; width.numbers()]);
    for coefficient in coefficients.iter_mut() {
        let mut folded = Folded::default();
        let parts = phase.chunks_exact(N).zip(power.chunks_exact_mut(N)).zip(step.chunks_exact(N));
        for ((limb, ((phase, power), step)), folded) in scheme.limbs().iter().zip(parts).zip(folded.limbs()) {
            limb.fold(phase, power, &mut folded[..width.lanes()]);
            power.iter_mut().zip(step).for_each(|(p, s)| *p = limb.modulus().mul(*p, *s));
        }
        let opened = folded.open(scheme, shape, &nothing);
        honest &= opened.within_band() && opened.errors().iter().all(|e| e.abs() <= RENEWED_MAX as f64);
        for (i, value) in opened.scores().iter().enumerate() {
            if i == place { *coefficient = *value } else { stray |= *value }
        }
    }
    let template = scheme.lanes().read_template(width, lane, &coefficients);
    (honest && stray == 0).then_some(template)
}

/// Largest error of a template that was flooded and had a share taken out: a little more than its own, which is below 2^5.
const RENEWED_MAX: u128 = FLOOD_MAX + (1 << 30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::BAND_MAX;
    use crate::{Handle, MasterKey, Salt};

    const LANE: usize = 13;

    struct World {
        basis: Basis,
        master: MasterKey,
        rng: Drbg,
    }

    impl World {
        fn new() -> World {
            let mut rng = Drbg::from_seed([1; 32]);
            let basis = Basis::from_seed(Scheme::shared(), [2; 32]);
            World { basis, master: MasterKey::random(&mut rng), rng }
        }

        fn subject(&mut self) -> SubjectKey {
            self.master.subject_key(&Handle::new([3; 32]), 1, &Salt::random(&mut self.rng))
        }
    }

    #[test]
    fn what_is_opened_is_the_template_plus_the_blind() {
        let mut world = World::new();
        let (key, scheme) = (world.subject(), Scheme::shared());
        let tenant = world.master.tenant_key(scheme);
        for (width, lane) in Width::ALL.into_iter().flat_map(|width| [0, LANE, 31].map(|lane| (width, lane)))
        {
            let [template, blind, enrolled] = [0; 3].map(|_| Share::random(width, &mut world.rng));
            let sum = template.plus(&blind);
            let own = world.basis.encrypt_lane(&key, lane, &template.plus(&enrolled), &mut world.rng);
            let own = own.subtract(scheme, lane, &enrolled).blinded(scheme, lane, &blind, &mut world.rng);
            assert!(world.basis.open_blinded(&key, lane, width, &own) == Some(sum.clone()));
            let pair = tenant.encrypt_lane_of(&key, lane, &template.plus(&enrolled), &mut world.rng);
            let pair = pair.subtract(scheme, lane, &enrolled).blinded(scheme, lane, &blind, &mut world.rng);
            assert!(tenant.open_blinded(&key, lane, width, &pair) == Some(sum));
        }
    }

    #[test]
    fn another_key_another_lane_and_what_was_not_flooded_open_nothing() {
        for width in Width::ALL {
            let mut world = World::new();
            let (key, other, scheme) = (world.subject(), world.subject(), Scheme::shared());
            let tenant = world.master.tenant_key(scheme);
            let [template, blind] = [0; 2].map(|_| Share::random(width, &mut world.rng));
            let own = world.basis.encrypt_lane(&key, LANE, &template, &mut world.rng);
            let good = own.blinded(scheme, LANE, &blind, &mut world.rng);
            let basis = &world.basis;
            assert!(basis.open_blinded(&key, LANE, width, &good).is_some());
            assert!(basis.open_blinded(&other, LANE, width, &good).is_none());
            assert!(basis.open_blinded(&key, LANE + 1, width, &good).is_none());
            assert!(basis.open_blinded(&key, LANE, width, &own).is_none(), "not flooded");
            let stray = own.blinded(scheme, LANE + 1, &blind, &mut world.rng);
            assert!(world.basis.open_blinded(&key, LANE, width, &stray).is_none(), "two lanes");

            let pair = tenant.encrypt_lane_of(&key, LANE, &template, &mut world.rng);
            let good = pair.blinded(scheme, LANE, &blind, &mut world.rng);
            assert!(tenant.open_blinded(&key, LANE, width, &good).is_some());
            assert!(tenant.open_blinded(&other, LANE, width, &good).is_none(), "the c1 of another subject");
            // Zero is an encryption of nothing under any c1 but the template's own.
            let nothing = TemplateCiphertext::pack(&vec![0; scheme.polynomial_words()]);
            let nothing = nothing.blinded(scheme, LANE, &blind, &mut world.rng);
            assert!(tenant.open_blinded(&key, LANE, width, &nothing).is_none());
        }
    }

    /// An attacker's addition to the error shows in a coefficient that exceeds every honest one, and in no score.
    #[test]
    fn an_error_larger_than_flooding_gives_opens_nothing() {
        for width in Width::ALL {
            let mut world = World::new();
            let (key, scheme) = (world.subject(), Scheme::shared());
            let [template, blind] = [0; 2].map(|_| Share::random(width, &mut world.rng));
            let own = world.basis.encrypt_lane(&key, LANE, &template, &mut world.rng);
            let opened = |coefficient: usize, error: u128| {
                let mut flooding = vec![FLOOD_MAX as i128; N];
                flooding[coefficient] = -(error as i128);
                let blinded = blinded_by(scheme, LANE, own.as_bytes(), &blind, &flooding);
                world.basis.open_blinded(&key, LANE, width, &blinded).is_some()
            };
            let above = RENEWED_MAX + (1 << 24);
            assert!(above < BAND_MAX, "a batch may have such an error");
            for coefficient in [0, 1777, N - 1] {
                assert!(opened(coefficient, FLOOD_MAX));
                assert!(!opened(coefficient, above), "coefficient {coefficient} of {width:?}");
            }
        }
    }
}
