//! libFuzzer's entry for stored proofs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_zkp_fuzz::record(data));
