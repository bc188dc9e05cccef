//! How much of a request is read.

/// Largest JSON body without an embedding.
pub(super) const JSON_BYTES_MAX: usize = 4 * 1024;
/// Largest JSON body with an embedding (128 numbers of 24 digits) or an ML-DSA-65 signature (4.4 KB in base64).
pub(super) const EMBEDDING_JSON_BYTES_MAX: usize = 8 * 1024;

/// Largest JSON body of a batch of authentications.
pub(super) const BATCH_JSON_BYTES_MAX: usize = trefoil_api::BATCH_MAX * EMBEDDING_JSON_BYTES_MAX;
