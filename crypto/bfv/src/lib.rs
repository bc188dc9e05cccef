//! BFV lanes: 32 inner products of vectors of 128 numbers in one ciphertext, 16 of 256 or 8 of 512, without rotations.
//!
//! The plaintext ring `Z_t[X]/(X^4096 + 1)` with `t = 65537` splits into 32 lanes `Z_t[X]/(X^128 - c_i)`. In a lane,
//! one product of polynomials puts the inner product of a probe and a template into the constant coefficient, so the
//! 32 constant coefficients are all that is ever decrypted. Two or four neighbours together are a lane for vectors of 256 or 512 numbers.
//! A batch has 32 lanes of any [`Width`], in one ciphertext, two or four ([`Shape`]). Every subject has a key of its own over a public
//! polynomial `a` that the tenant's subjects share; the sum of their ciphertexts is a ciphertext under the sum of their keys.
//!
//! ```text
//! Z_t[X]/(X^4096 + 1)    =    lane 0  x  lane 1  x  ...  x  lane 31        lane i = Z_t[X]/(X^128 - c_i),  c_i^32 = -1
//!
//! probe of lane i:      x_0 + x_1 X   + x_2 X^2     + ... + x_127 X^127
//! template of lane i:   y_0 + (y_127 X + ... + y_2 X^126 + y_1 X^127) / c_i
//!
//!                        x_k X^k  *  y_k X^(128-k) / c_i  =  x_k y_k X^128 / c_i  =  x_k y_k
//!
//! product, lane i:      <x, y>  +  (...) X  +  ...  +  (...) X^127
//!                       ^^^^^^ all that is ever decrypted: one coefficient of each lane
//!
//! batch:   template 0      template 1      ...     template 31         32 ciphertexts, each zero outside its lane
//!              \_______________|_______________________/
//!                             sum                                       one ciphertext with all 32 lanes
//!                              *
//!          probe 0  | probe 1  | ...  | probe 31                        one plaintext (or ciphertext) with all 32 probes
//! ```
//!
//! Two **key structures**: a key per template ([`SubjectKey`], 48 KiB each, erasable one by one), or one per tenant
//! ([`TenantKey`], 96 KiB each). Two **probe modes**: `plain`, the matcher knows the probes; `shared`, each role has one of
//! two shares of a probe, and the matcher multiplies ciphertexts ([`Masker::mask_shared`], keys per tenant only).
//! `examples/lanes.rs` walks through both with the noise at every step.
//!
//! This crate is the raw scheme: a holder of the keys gets scores. The roles, with decisions instead of scores, are
//! in `trefoil-matching`. `NOTES.md` has the derivations, the parameters and what each role learns.
//!
//! ```
//! use trefoil_bfv::{Basis, Decryptor, Drbg, Embedding, Handle, MasterKey, Masker, Placed, Salt, Scheme, Share};
//!
//! let scheme = Scheme::shared();
//! let mut rng = Drbg::from_seed([7; 32]);
//! let basis = Basis::from_seed(scheme, [8; 32]);
//! let master = MasterKey::random(&mut rng);
//! let key = master.subject_key(&Handle::new([1; 32]), 0, &Salt::random(&mut rng));
//!
//! let face: Vec<f32> = (0..128).map(|i| (i as f32).sin()).collect();
//! let template = Embedding::quantise(&face)?;
//! let ciphertext = basis.encrypt_lane(&key, 5, &Share::of(&template), &mut rng);
//!
//! let probe = Embedding::quantise(&face)?;
//! let placed = [Placed { lane: 5, template: &ciphertext, probe: &probe }];
//! let masked = Masker::new(scheme, [9; 32]).mask(&basis, &placed);
//! let opened = Decryptor::new(scheme).decrypt([(5, &key)], &masked);
//! assert_eq!(opened.scores()[5], template.dot(&probe));
//! # Ok::<(), trefoil_bfv::QuantiseError>(())
//! ```

mod arena;
mod basis;
mod ciphertext;
mod decrypt;
mod drbg;
mod embedding;
#[cfg(test)]
mod foreign;
mod keys;
mod lanes;
mod lines;
mod mask;
mod masked;
mod modulus;
pub mod noise;
mod params;
mod product;
mod renew;
mod ring;
mod sample;
mod scheme;
mod shape;
mod share;
mod tag;
mod tenant_key;
pub mod threshold;
mod transform;
#[cfg(test)]
mod twin;
mod wipe;

pub use arena::{Arena, ArenaSize};
pub use basis::Basis;
pub use ciphertext::{Ciphertext, CiphertextError, PairCiphertext, TemplateCiphertext};
pub use decrypt::{Decryptor, Opened};
pub use drbg::Drbg;
pub use embedding::{Embedding, NORM_SQUARED_MAX, QuantiseError};
pub use keys::{MasterKey, Salt, SubjectKey};
pub use mask::{Masker, Placed};
pub use masked::{Masked, MaskedBatch, MaskedError, MaskedProduct};
pub use params::{Params, ParamsError};
pub use product::PlacedShare;
pub use scheme::Scheme;
pub use shape::Shape;
pub use share::{Share, ShareError};
pub use tag::{Tag, TagBasis, TagKey, TagMaster};
pub use tenant_key::{TenantKey, Zero};
pub use trefoil_kernels::{Cpu, Tier};
pub use trefoil_types::{Handle, Width};

/// Lanes of a batch, and so its most subjects: of one ciphertext of vectors of 128 numbers, of two of 256, of four of 512.
pub const LANES: usize = 32;
/// Degree of the ring: `Z_q[X]/(X^4096 + 1)`.
pub const N: usize = 4096;

/// Numbers of the narrowest lane. The ring splits into 32 lanes of this width, and wider ones split into these.
pub(crate) const BLOCK: usize = N / LANES;
/// Plaintext modulus, the Fermat prime 2^16 + 1. It has the 64th roots of unity that 32 lanes need.
pub const T: u64 = 65_537;
