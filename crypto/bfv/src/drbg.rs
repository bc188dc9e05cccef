//! The generator behind every sample: AES-256 in counter mode with fast key erasure.
//!
//! A request of n bytes takes the blocks `AES(k, 0), AES(k, 1), ...`: the first `ceil(n / 16)` are the output, the next
//! two replace the key. A later compromise therefore reveals nothing about earlier output. AES runs on the
//! processor's instructions where they exist and on a bit-sliced implementation elsewhere, both without
//! secret-dependent branches or addresses (crate `aes`). The distinguishing advantage is that of AES-256 plus the
//! birthday term of one request, below 2^-104 for the 2^12 blocks that a request takes at most.

use aes::Aes256Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use rand::{CryptoRng, TryCryptoRng, TryRng};
use std::convert::Infallible;
use zeroize::{Zeroize, Zeroizing};

/// Bytes that are generated at once: small enough to stay in the first-level cache between its two passes.
const STRIDE: usize = 4096;

/// A deterministic generator with 256-bit keys. Wiped on drop; `Debug` prints no state.
pub struct Drbg {
    cipher: Aes256Enc,
}

impl Drbg {
    /// The generator of `seed`. The same seed gives the same bytes for the same requests.
    pub fn from_seed(mut seed: [u8; 32]) -> Drbg {
        let cipher = Aes256Enc::new(&seed.into());
        seed.zeroize();
        Drbg { cipher }
    }

    /// A generator seeded with 32 bytes of another.
    pub fn from_rng(rng: &mut impl CryptoRng) -> Drbg {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Drbg::from_seed(*seed)
    }

    /// What the generator of `seed` gives to its first request, without the key for a second one.
    pub(crate) fn first_request(seed: &[u8; 32], out: &mut [u8]) {
        Drbg { cipher: Aes256Enc::new(seed.into()) }.blocks(&mut 0, out);
    }

    /// Fills `out` and replaces the key.
    pub fn fill(&mut self, out: &mut [u8]) {
        let mut counter = 0u128;
        let mut key = Zeroizing::new([0; 32]);
        for stride in out.chunks_mut(STRIDE) {
            self.blocks(&mut counter, stride);
        }
        self.blocks(&mut counter, &mut *key);
        self.cipher = Aes256Enc::new(&(*key).into());
    }

    /// Encrypts the counter over `out`; a last partial block takes its own counter.
    fn blocks(&self, counter: &mut u128, out: &mut [u8]) {
        let (blocks, rest) = Array::slice_as_chunks_mut(out);
        for block in blocks.iter_mut() {
            *block = counter.to_le_bytes().into();
            *counter += 1;
        }
        self.cipher.encrypt_blocks(blocks);
        if !rest.is_empty() {
            let mut block = counter.to_le_bytes().into();
            *counter += 1;
            self.cipher.encrypt_block(&mut block);
            rest.copy_from_slice(&block[..rest.len()]);
            block.as_mut_slice().zeroize();
        }
    }
}

impl TryRng for Drbg {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill(out);
        Ok(())
    }
}

impl TryCryptoRng for Drbg {}

impl std::fmt::Debug for Drbg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drbg(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_aes_256_of_the_counter() {
        // FIPS 197, appendix C.3: AES-256 of 00112233445566778899aabbccddeeff under 000102..1f. A single block of the
        // generator at that counter must be that ciphertext.
        let seed: [u8; 32] = std::array::from_fn(|i| i as u8);
        let mut counter = u128::from_le_bytes(std::array::from_fn(|i| 0x11 * i as u8));
        let expected = 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089_u128.to_be_bytes();
        let mut out = [0; 16];
        Drbg::from_seed(seed).blocks(&mut counter, &mut out);
        assert_eq!(out, expected);
        let mut partial = [0; 5];
        counter -= 1;
        Drbg::from_seed(seed).blocks(&mut counter, &mut partial);
        assert_eq!(partial, expected[..5]);
    }

    #[test]
    fn a_request_is_the_keystream_and_the_next_uses_its_continuation_as_key() {
        for n in [0, 1, 16, 17, STRIDE - 1, STRIDE, STRIDE + 1, 3 * STRIDE + 5] {
            let (mut stream, mut counter) = (vec![0; n.next_multiple_of(16) + 32], 0);
            Drbg::from_seed([3; 32]).blocks(&mut counter, &mut stream);
            let mut drbg = Drbg::from_seed([3; 32]);
            let (mut first, mut second) = (vec![0; n], [0; 64]);
            drbg.fill(&mut first);
            drbg.fill(&mut second);
            assert_eq!(first, stream[..n]);
            let key: [u8; 32] = stream[n.next_multiple_of(16)..].try_into().expect("32 bytes remain");
            let mut expected = [0; 64];
            Drbg::from_seed(key).fill(&mut expected);
            assert_eq!(second, expected);
        }
    }
}
