//! Signing (FIPS 205 section 9.2).

use trefoil_attest::SLH_DSA_SHA2_128F_SIGNATURE_BYTES;
use zeroize::Zeroizing;

use super::message::{Selected, prf_msg, select};
use super::parameters::{LAYERS, SECRET_KEY_BYTES};
use super::top_layers::Kept;
use super::tweaked_hash::{Compression, Node, TweakedHash, append, broadcast, node};
use super::{fors, hypertree};

/// A signature, and what its verification may use.
pub(super) struct Signed {
    pub(super) bytes: Vec<u8>,
    /// Root of each layer's tree.
    pub(super) roots: [Node; LAYERS],
}

/// Algorithm 19, `slh_sign_internal`, of a message given in parts. Deterministic where `opt_rand` is PK.seed. With any
/// part of the key's upper layers kept, the signature is the same.
pub(super) fn sign_internal(
    compression: impl Compression,
    secret_key: &[u8; SECRET_KEY_BYTES],
    kept: Kept,
    message: &[&[u8]],
    opt_rand: &[u8; 16],
) -> Signed {
    let [sk_seed, sk_prf, pk_seed, pk_root] = [0, 1, 2, 3].map(|i| &secret_key.as_chunks::<16>().0[i]);
    let randomizer = prf_msg(sk_prf, opt_rand, message);
    let Selected { fors_message, tree, leaf } = select(&randomizer, pk_seed, pk_root, message);
    let mut bytes = Vec::with_capacity(SLH_DSA_SHA2_128F_SIGNATURE_BYTES);
    append(&mut bytes, node(&randomizer));
    let mut hash = TweakedHash::new(compression, node(pk_seed));
    let sk_seed = Zeroizing::new(broadcast(node(sk_seed)));
    let fors_key = fors::sign(&mut hash, &sk_seed, &fors_message, (tree, leaf), &mut bytes);
    let roots = hypertree::sign(&mut hash, &sk_seed, kept, fors_key, (tree, leaf), &mut bytes);
    Signed { bytes, roots }
}
