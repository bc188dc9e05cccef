//! How much of a request is read.

use trefoil_api::{BATCH_MAX, NUMBERS_MAX, PHOTOGRAPHS_MAX};

/// Largest JSON body without a face.
pub(super) const JSON_BYTES_MAX: usize = 4 * 1024;
/// Largest JSON body with an ML-DSA-65 signature (4.4 KB in base64).
pub(super) const SIGNED_JSON_BYTES_MAX: usize = 8 * 1024;
/// Largest JSON body of one login. A face is longest as an array of 512 numbers: a number has at most 24 characters, as a 64-bit float is
/// printed, with a comma and a space. 3 KiB are left for the other fields, of which the texts may be written as escapes.
pub(super) const LOGIN_JSON_BYTES_MAX: usize = 16 * 1024;
const _: () = assert!(NUMBERS_MAX * 26 + 3 * 1024 == LOGIN_JSON_BYTES_MAX);
/// Largest JSON body of an enrolment.
pub(super) const ENROLMENT_JSON_BYTES_MAX: usize = PHOTOGRAPHS_MAX * LOGIN_JSON_BYTES_MAX;
/// Largest JSON body of a batch of authentications.
pub(crate) const BATCH_JSON_BYTES_MAX: usize = BATCH_MAX * LOGIN_JSON_BYTES_MAX;
