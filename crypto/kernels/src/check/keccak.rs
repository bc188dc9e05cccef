//! Keccak-f\[1600\] and SHA3-256: known answers, the portable twin, and the sha3 crate.

use sha3::{Digest as _, Sha3_256};

use super::{Stream, tiers};
use crate::keccak::{self, LANES, State};
use crate::{Cpu, Tier};

#[test]
fn keccak_f_gives_the_known_answer_in_every_lane() {
    // First and last words of the permutation of zeros (KeccakF-1600-IntermediateValues of the Keccak team).
    for cpu in tiers() {
        let mut state = [[0; LANES]; 25];
        keccak::permute(cpu, &mut state);
        assert_eq!(state[0], [0xf125_8f79_40e1_dde7; LANES], "{cpu:?}");
        assert_eq!(state[1], [0x84d5_ccf9_33c0_478a; LANES], "{cpu:?}");
        assert_eq!(state[24], [0xeaf1_ff7b_5cec_a249; LANES], "{cpu:?}");
    }
}

#[test]
fn keccak_f_of_different_states_agrees_with_the_portable_twin() {
    let mut stream = Stream(11);
    let mut words = |extreme: Option<u64>| -> [u64; LANES] {
        std::array::from_fn(|_| extreme.unwrap_or_else(|| stream.next()))
    };
    for extreme in [Some(u64::MAX), None, None, None] {
        let start: State = std::array::from_fn(|_| words(extreme));
        let run = |cpu| {
            let mut state = start;
            keccak::permute(cpu, &mut state);
            keccak::permute(cpu, &mut state);
            state
        };
        let expected = run(Cpu::at_most(Tier::Portable));
        for cpu in tiers() {
            assert!(run(cpu) == expected, "{cpu:?}");
        }
    }
}

#[test]
fn sha3_256_of_every_length_agrees_with_the_sha3_crate() {
    let bytes = Stream(12).bytes(600);
    let messages: Vec<&[u8]> = (0..=bytes.len()).map(|length| &bytes[..length]).collect();
    agree(&messages);
}

#[test]
fn sha3_256_of_different_lengths_side_by_side_agrees_with_the_sha3_crate() {
    let mut stream = Stream(13);
    let bytes = stream.bytes(1_000);
    for count in [0, 1, 7, 8, 9, 31, 32, 33] {
        for _ in 0..8 {
            let messages: Vec<&[u8]> = (0..count)
                .map(|_| {
                    let from = (stream.next() % 400) as usize;
                    &bytes[from..from + (stream.next() % 601) as usize]
                })
                .collect();
            agree(&messages);
        }
    }
}

fn agree(messages: &[&[u8]]) {
    let expected: Vec<[u8; 32]> = messages.iter().map(|message| Sha3_256::digest(message).into()).collect();
    for cpu in tiers() {
        let mut digests = vec![[0; 32]; messages.len()];
        keccak::sha3_256(cpu, messages, &mut digests);
        assert!(digests == expected, "{cpu:?}, {} messages", messages.len());
    }
}
