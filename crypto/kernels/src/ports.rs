//! The processor's best compute throughput: chains of operations that wait only for themselves and touch no memory.
//!
//! A benchmark times [`multiplies`] and [`simples`] and thus gets the ports' throughput for the operations that the vector kernels are made
//! of; a stage with that many of them cannot be faster. Enough chains run in parallel to fill the latency of an operation on as many
//! ports as processors have.

use crate::Cpu;

/// Chains side by side: four ports whose operations take four cycles.
pub const CHAINS: usize = 16;

/// Operations on each chain in a round of [`simples`].
pub const SIMPLES: usize = 2;

/// Numbers that the chains go through, chosen by the caller so that no compiler knows the end.
pub type Operands = [u64; 2];

/// The low 52 bits of a product.
const LOW_52: u64 = (1 << 52) - 1;

/// One multiplication of 52 bits, with its addition, on each chain and in each of `rounds`: of whole vectors with AVX-512, else of words.
/// Gives one word of each chain.
pub fn multiplies(cpu: Cpu, operands: Operands, rounds: usize) -> [u64; CHAINS] {
    #[cfg(target_arch = "x86_64")]
    if let crate::cpu::Token::Avx512(token) = cpu.token() {
        return token.multiplies(operands, rounds);
    }
    let _ = cpu;
    let [x, y] = operands.map(|word| word & LOW_52);
    let mut chains = std::array::from_fn(|chain| chain as u64);
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = chain.wrapping_add(std::hint::black_box(x).wrapping_mul(y) & LOW_52);
        }
    }
    chains
}

/// An exclusive or of three and an addition on each chain and in each of `rounds`, which any port for vectors does.
pub fn simples(cpu: Cpu, operands: Operands, rounds: usize) -> [u64; CHAINS] {
    #[cfg(target_arch = "x86_64")]
    if let crate::cpu::Token::Avx512(token) = cpu.token() {
        return token.simples(operands, rounds);
    }
    let _ = cpu;
    let [x, y] = operands;
    let mut chains = std::array::from_fn(|chain| chain as u64);
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = (*chain ^ x ^ y).wrapping_add(std::hint::black_box(x));
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tier;

    #[test]
    fn every_tier_computes_the_same_chains() {
        let portable = Cpu::at_most(Tier::Portable);
        for operands in [[0, 0], [1, 1], [u64::MAX, u64::MAX], [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]]
        {
            for rounds in [0, 1, 2, 57] {
                for cpu in Tier::available().map(Cpu::at_most) {
                    assert_eq!(multiplies(cpu, operands, rounds), multiplies(portable, operands, rounds));
                    assert_eq!(simples(cpu, operands, rounds), simples(portable, operands, rounds));
                }
            }
        }
        let [first, ..] = multiplies(portable, [3, 5], 2);
        assert_eq!(first, 30, "chain 0 starts at 0 and adds 15 twice");
    }
}
