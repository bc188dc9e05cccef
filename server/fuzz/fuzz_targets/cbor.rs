//! libFuzzer's entry for bodies in CBOR.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_server_fuzz::cbor(data));
