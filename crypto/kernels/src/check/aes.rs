//! AES-256: the standard's example, the crate `aes`, and the streams of several keys against those of one.

use super::{Stream, tiers};
use crate::aes::{self, with_library};

#[test]
fn a_block_is_the_one_of_the_standard() {
    // FIPS 197, appendix C.3: AES-256 of 00112233445566778899aabbccddeeff under 000102..1f.
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let counter = u128::from_le_bytes(std::array::from_fn(|i| 0x11 * i as u8));
    let expected = 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089_u128.to_be_bytes();
    for cpu in tiers() {
        for n in [5, 16] {
            let mut out = vec![0; n];
            aes::stream(cpu, &key, counter, &mut out);
            assert_eq!(out, expected[..n], "{:?}", cpu.tier());
        }
    }
}

#[test]
fn streams_are_those_of_the_library() {
    let mut stream = Stream(21);
    let mut key = || std::array::from_fn(|_| stream.next() as u8);
    let keys: [[u8; 32]; 4] = [[0; 32], [0xff; 32], key(), key()];
    for n in [0, 1, 15, 16, 17, 64, 511, 512, 513, 960, 4096, 5000] {
        for first in [0, 1, 77, u128::from(u32::MAX), 5 << 64, u128::MAX - (1 << 40)] {
            let mut expected = vec![0; n];
            with_library(&keys[2], first, &mut expected);
            for cpu in tiers() {
                let mut out = vec![0xaa; n];
                aes::stream(cpu, &keys[2], first, &mut out);
                assert!(out == expected, "{:?}, {n} bytes from {first}", cpu.tier());
            }
        }
    }
    for n in [0, 64, 960, 1024] {
        for cpu in tiers() {
            let mut out = vec![vec![0xaa; n]; 4];
            let mut parts = out.iter_mut();
            aes::streams(cpu, &keys, std::array::from_fn(|_| &mut parts.next().expect("four")[..]));
            for (key, out) in keys.iter().zip(&out) {
                let mut expected = vec![0; n];
                with_library(key, 0, &mut expected);
                assert!(*out == expected, "{:?}, {n} bytes", cpu.tier());
            }
        }
    }
}
