//! The generator behind every sample: AES-256 in counter mode with fast key erasure.
//!
//! A request of n bytes takes the blocks `AES(k, 0), AES(k, 1), ...`: the first `ceil(n / 16)` are the output, the next
//! two replace the key. A later compromise therefore reveals nothing about earlier output. AES runs on the
//! processor's instructions where they exist (`trefoil-kernels`) and on a bit-sliced implementation elsewhere, both without
//! secret-dependent branches or addresses. The distinguishing advantage is that of AES-256 plus the
//! birthday term of one request, below 2^-104 for the 2^12 blocks that a request takes at most.

use rand::{CryptoRng, TryCryptoRng, TryRng};
use std::convert::Infallible;
use trefoil_kernels::{Cpu, aes};
use zeroize::{Zeroize, Zeroizing};

/// A deterministic generator with 256-bit keys. Wiped on drop; `Debug` prints no state.
pub struct Drbg {
    cpu: Cpu,
    key: Zeroizing<[u8; aes::KEY_BYTES]>,
}

impl Drbg {
    /// The generator of `seed`. The same seed gives the same bytes for the same requests.
    pub fn from_seed(mut seed: [u8; 32]) -> Drbg {
        let key = Zeroizing::new(seed);
        seed.zeroize();
        Drbg { cpu: Cpu::detected(), key }
    }

    /// A generator seeded with 32 bytes of another.
    pub fn from_rng(rng: &mut impl CryptoRng) -> Drbg {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Drbg::from_seed(*seed)
    }

    /// The same generator on the instructions of `cpu`.
    pub(crate) fn on(self, cpu: Cpu) -> Drbg {
        Drbg { cpu, ..self }
    }

    /// Mixes fresh bytes into the key, which is afterwards unknown without both the key before and the bytes.
    pub fn reseed(&mut self, fresh: &[u8; 32]) {
        let mut next = Zeroizing::new([0; aes::KEY_BYTES]);
        aes::stream(self.cpu, &self.key, 0, &mut *next);
        next.iter_mut().zip(fresh).for_each(|(next, fresh)| *next ^= fresh);
        self.key = next;
    }

    /// Fills `out` and replaces the key.
    pub fn fill(&mut self, out: &mut [u8]) {
        aes::stream(self.cpu, &self.key, 0, out);
        let blocks = out.len().div_ceil(aes::BLOCK_BYTES) as u128;
        let mut next = Zeroizing::new([0; aes::KEY_BYTES]);
        aes::stream(self.cpu, &self.key, blocks, &mut *next);
        self.key = next;
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

trefoil_types::opaque_debug!(Drbg);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mixed_in_changes_everything_after_it_and_so_does_what_was_before() {
        let after = |seed: u8, fresh: u8| {
            let mut drbg = Drbg::from_seed([seed; 32]);
            drbg.reseed(&[fresh; 32]);
            let mut out = [0; 64];
            drbg.fill(&mut out);
            out
        };
        let outputs = [after(1, 1), after(1, 2), after(2, 1), after(1, 0)];
        for (i, one) in outputs.iter().enumerate() {
            assert!(outputs[..i].iter().all(|other| one != other));
        }
        let mut plain = [0; 64];
        Drbg::from_seed([1; 32]).fill(&mut plain);
        assert!(!outputs.contains(&plain), "not even zeros leave the generator where it was");
    }

    #[test]
    fn a_request_is_the_keystream_and_the_next_uses_its_continuation_as_key() {
        let cpu = Cpu::detected();
        for n in [0usize, 1, 16, 17, 4095, 4096, 4097] {
            let mut stream = vec![0; n.next_multiple_of(16) + 32];
            aes::stream(cpu, &[3; 32], 0, &mut stream);
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
