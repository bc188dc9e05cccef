//! Textbook Keccak-f\[1600\] (FIPS 202, section 3.2), one lane at a time: 25 words are more than vectors without a
//! rotation do well.

use crate::keccak::{LANES, RHO, ROUND_CONSTANTS, State, pi_source};

pub(crate) fn keccak_f1600(state: &mut State) {
    for lane in 0..LANES {
        let mut a = state.map(|words| words[lane]);
        for constant in ROUND_CONSTANTS {
            a = round(&a, constant);
        }
        for (words, word) in state.iter_mut().zip(a) {
            words[lane] = word;
        }
    }
}

#[inline(always)]
fn round(a: &[u64; 25], constant: u64) -> [u64; 25] {
    let column: [u64; 5] = std::array::from_fn(|x| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
    let theta: [u64; 5] = std::array::from_fn(|x| column[(x + 4) % 5] ^ column[(x + 1) % 5].rotate_left(1));
    // Rho and pi: where each word goes.
    let moved: [u64; 25] = std::array::from_fn(|to| {
        let source = pi_source(to % 5, to / 5);
        (a[source] ^ theta[source % 5]).rotate_left(RHO[source].cast_unsigned())
    });
    let mut out: [u64; 25] = std::array::from_fn(|i| {
        let row = i / 5 * 5;
        moved[i] ^ (!moved[row + (i + 1) % 5] & moved[row + (i + 2) % 5])
    });
    out[0] ^= constant;
    out
}
