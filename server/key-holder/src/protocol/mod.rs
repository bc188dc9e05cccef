//! What travels between a gateway and a key-holder: one frame for each request, one for each reply, in order.
//!
//! Frame: kind (1 byte) | length of the body (4 bytes, little-endian) | body. The kind bounds the length, and the bound is
//! checked before a byte of the body is read or memory is taken for it. There is no negotiation: the TLS handshake must
//! agree on [`ALPN`], which names the version.
//!
//! | kind | request | body in bytes | reply |
//! |---|---|---|---|
//! | 0 | ping | 0 | - |
//! | 1 | decide a batch | a [`MatchJob`], at most [`MatchJob::BYTES_MAX`] | 4: one bit per lane |
//! | 2 | create a tenant | tenant 16, key structure 1, policy 24 | a [`PublicKey`] |
//! | 3 | set the policy of a tenant | tenant 16, policy 24 | - |
//! | 4 | enrol, blinded | tenant 16, handle 32, generation 4, lane 1, share 272 | an [`EncryptedTemplate`] |
//! | 5 | shred a template | tenant 16, handle 32, generation 4 | - |
//! | 6 | lift the freeze of a tenant | tenant 16 | - |
//! | 7 | enrol, blinded and sealed by a device | tenant 16, handle 32, generation 4, lane 1, context 32, share 1408 | an [`EncryptedTemplate`] |
//! | 8 | encrypt a batch of shared probes | a [`ProbeJob`], at most [`ProbeJob::BYTES_MAX`] | [`EncryptedProbes`] |
//! | 9 | the key that devices seal to | 0 | a [`SealingKey`] |
//! | 10 | begin a rotation of a tenant's keys | tenant 16 | a [`PublicKey`] |
//! | 11 | renew a template | tenant 16, handle 32, generation 4, next generation 4, blinded template 49,152 | an [`EncryptedTemplate`] |
//! | 12 | finish a rotation | tenant 16, epoch 4 | - |
//! | 32 | between key-holders: parts of a batch | [`Parts`] | - |
//! | 33 | between key-holders: a contribution to a salt | tenant 16, handle 32, generation 4, salt 32 | - |
//! | 34 | decide a batch as one of three | a [`SeatJob`] | [`Decided`] |
//!
//! One of three key-holders answers 34 with [`Decided`], 4 with its seat (1) and two [`EncryptedTemplate`]s, and 1 not at all.
//!
//! A policy is threshold (4), failures in a row (4), delay (8), failures a day (4), failures in a generation (4). The time
//! is never sent: a matcher that set the clock of its own attempt budgets would have none.

mod reply;
mod request;

pub(crate) use reply::{Decided, Refused, Reply};
pub(crate) use request::{Enrolment, Renewal, Request};

use trefoil_matching::quorum::{Parts, SeatJob};
use trefoil_matching::{
    BlindedCiphertext, BlindedTemplate, EncryptedProbes, KeyStructure, MatchJob, ProbeJob, PublicKey,
    SealedShare, Template,
};

/// Protocol and version in the TLS handshake.
pub(crate) const ALPN: &[u8] = b"trefoil-key-holder/4";
/// Bytes before the body of a frame.
pub(crate) const HEADER_BYTES: usize = 5;
/// Length of the longest body of a reply.
pub(crate) const REPLY_BYTES_MAX: usize = 1 + 2 * Template::bytes(KeyStructure::PerSubject);
const _: () = assert!(
    PublicKey::BYTES < REPLY_BYTES_MAX
        && EncryptedProbes::BYTES < REPLY_BYTES_MAX
        && Template::bytes(KeyStructure::PerTenant) < REPLY_BYTES_MAX
);

const POLICY_BYTES: usize = 24;
const SUBJECT_BYTES: usize = 16 + 32 + 4;

/// Why bytes are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The stream cannot be trusted to have a next frame: answer and close.
    Framing,
    /// The frame is sound, what is in it is not.
    Malformed,
}

/// The kinds of request: the shortest and the longest body of each.
fn bounds(kind: u8) -> Option<(usize, usize)> {
    let exactly = |length| Some((length, length));
    match kind {
        0 => exactly(0),
        1 => Some((1, MatchJob::BYTES_MAX)),
        2 => exactly(16 + 1 + POLICY_BYTES),
        3 => exactly(16 + POLICY_BYTES),
        4 => exactly(SUBJECT_BYTES + 1 + BlindedTemplate::BYTES),
        5 => exactly(SUBJECT_BYTES),
        6 => exactly(16),
        32 => exactly(Parts::BYTES),
        33 => exactly(SUBJECT_BYTES + 32),
        34 => Some((*SeatJob::BYTES.start(), *SeatJob::BYTES.end())),
        7 => exactly(SUBJECT_BYTES + 1 + 32 + SealedShare::BYTES),
        8 => Some((1, ProbeJob::BYTES_MAX)),
        9 => exactly(0),
        10 => exactly(16),
        11 => exactly(SUBJECT_BYTES + 4 + BlindedCiphertext::BYTES),
        12 => exactly(16 + 4),
        _ => None,
    }
}

/// Length of the body that follows this header.
pub(crate) fn request_length(header: [u8; HEADER_BYTES]) -> Result<usize, RequestError> {
    let (kind, length) = split_header(header);
    match bounds(kind) {
        Some((shortest, longest)) if (shortest..=longest).contains(&length) => Ok(length),
        _ => Err(RequestError::Framing),
    }
}

/// Status and length of the reply that follows this header.
pub(crate) fn reply_length(header: [u8; HEADER_BYTES]) -> Option<(u8, usize)> {
    let (status, length) = split_header(header);
    (length <= REPLY_BYTES_MAX).then_some((status, length))
}

fn split_header([kind, length @ ..]: [u8; HEADER_BYTES]) -> (u8, usize) {
    (kind, u32::from_le_bytes(length) as usize)
}

/// A frame.
pub(crate) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("bodies are below 512 KiB");
    let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
    frame.push(kind);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], RequestError> {
    let (front, back) = rest.split_first_chunk().ok_or(RequestError::Framing)?;
    *rest = back;
    Ok(*front)
}
