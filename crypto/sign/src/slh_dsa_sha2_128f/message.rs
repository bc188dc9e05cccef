//! The functions of the message (FIPS 205 section 11.2.1).

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::fors;

/// Bytes of the message digest: the FORS message, the index of a tree (63 bits) and of its leaf (3 bits).
const DIGEST_BYTES: usize = fors::MESSAGE_BYTES + 8 + 1;

/// What a message selects: the FORS indices, and the leaf of the lowest layer.
pub(super) struct Selected {
    pub(super) fors_message: [u8; fors::MESSAGE_BYTES],
    pub(super) tree: u64,
    pub(super) leaf: u32,
}

/// The digest of a message, taken apart.
pub(super) fn select(
    randomizer: &[u8; 16],
    pk_seed: &[u8; 16],
    pk_root: &[u8; 16],
    message: &[&[u8]],
) -> Selected {
    let digest = h_msg(randomizer, pk_seed, pk_root, message);
    let (fors_message, indices) = digest.split_first_chunk().expect("the digest begins with it");
    let (tree, leaf) = indices.split_first_chunk().expect("the index of the tree follows");
    Selected {
        fors_message: *fors_message,
        tree: u64::from_be_bytes(*tree) & (u64::MAX >> 1),
        leaf: u32::from(leaf[0] & 7),
    }
}

/// PRF_msg: HMAC-SHA-256 under SK.prf (FIPS 198-1), cut to 16 bytes.
pub(super) fn prf_msg(sk_prf: &[u8; 16], opt_rand: &[u8; 16], message: &[&[u8]]) -> [u8; 16] {
    let padded = |pad: u8| {
        let mut key = Zeroizing::new([pad; 64]);
        key.iter_mut().zip(sk_prf).for_each(|(pad, byte)| *pad ^= byte);
        Sha256::new().chain_update(&key[..])
    };
    let inner =
        message.iter().fold(padded(0x36).chain_update(opt_rand), |inner, part| inner.chain_update(part));
    first_16(&padded(0x5c).chain_update(inner.finalize()).finalize())
}

/// H_msg: MGF1-SHA-256 of the randomizer, PK.seed and a SHA-256 of all.
fn h_msg(
    randomizer: &[u8; 16],
    pk_seed: &[u8; 16],
    pk_root: &[u8; 16],
    message: &[&[u8]],
) -> [u8; DIGEST_BYTES] {
    let seed = Sha256::new().chain_update(randomizer).chain_update(pk_seed);
    let all = message.iter().fold(seed.clone().chain_update(pk_root), |all, part| all.chain_update(part));
    let seed = seed.chain_update(all.finalize());
    let mut digest = [0; DIGEST_BYTES];
    for (counter, bytes) in (0u32..).zip(digest.chunks_mut(32)) {
        let block = seed.clone().chain_update(counter.to_be_bytes()).finalize();
        bytes.copy_from_slice(&block[..bytes.len()]);
    }
    digest
}

fn first_16(digest: &[u8]) -> [u8; 16] {
    *digest.first_chunk().expect("a digest has 32 bytes")
}
