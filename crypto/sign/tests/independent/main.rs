//! The three families against known answers and independent implementations.
//!
//! ACVP and Wycheproof for ML-DSA-65, ACVP for SLH-DSA-SHA2-128f, the submission's answers for Falcon-512;
//! `testdata/PROVENANCE.md` says where each file comes from.

mod acvp_ml_dsa_65;
mod acvp_slh_dsa_sha2_128f;
mod crosscheck;
mod falcon_512_round3;
mod vectors;
mod wycheproof_ml_dsa_65;
