//! libFuzzer's entry for uploads.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_zkp_fuzz::envelope(data));
