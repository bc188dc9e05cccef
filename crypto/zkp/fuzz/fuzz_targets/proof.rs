//! libFuzzer's entry for proofs of a fixed statement.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_zkp_fuzz::proof(data));
