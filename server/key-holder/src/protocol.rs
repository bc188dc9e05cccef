//! The protocol between a gateway and a key-holder: one frame for each request, one for each reply, in order.
//!
//! Frame: length of the body (4 bytes, little-endian) | body. The body of a request is a [`Request`], that of a reply a [`Reply`] or a
//! [`KeyHolderError`], in postcard; values with a canonical encoding of their own are in it as those bytes. The first byte of a request is
//! its kind, which determines how long it may be and which clients may send it ([`Kind`]). Both are checked before another byte is read or
//! memory is taken. There is no negotiation: the TLS handshake must agree on [`ALPN`], which names the version.
//!
//! The time is never sent, because a matcher that set the clock could evade its attempt budgets.

use crate::clients::Right;
use serde::{Serialize, Serializer};
use std::time::Duration;
use trefoil_matching::quorum::{Parts, SeatJob};
use trefoil_matching::{
    BlindedCiphertext, EncryptedProbes, IDEMPOTENCY_KEY_BYTES_MAX, KeyHolderError, KeyStructure, MatchJob,
    ProbeJob, PublicKey, Reply, Request, SealedShare, Share, Status, Template, Width,
};
use zeroize::Zeroizing;

/// Protocol and version in the TLS handshake.
pub(crate) const ALPN: &[u8] = b"trefoil-key-holder/12";
/// Longest pause between two requests. Gateways do not use a connection that has been idle for half as long.
pub(crate) const IDLE_TIME_MAX: Duration = Duration::from_secs(600);
/// Bytes of a header: the frame's length, and the kind of a request.
pub(crate) const HEADER_BYTES: usize = 4 + 1;
/// Bytes that names, numbers and lengths add to the longest part of a request or reply.
const REST_BYTES_MAX: usize = 256;
/// Longest body of a reply: a public key, a seat's part of one or of a template, encrypted probes, or the status.
pub(crate) const REPLY_BYTES_MAX: usize = REST_BYTES_MAX
    + longest(
        PublicKey::BYTES_MAX * 2,
        longest(
            longest(2 * Template::bytes(KeyStructure::PerSubject), Template::bytes(KeyStructure::PerTenant)),
            EncryptedProbes::BYTES_MAX,
        ),
    );
const _: () = assert!(STATUS_BYTES_MAX < REPLY_BYTES_MAX);
/// Identifiers, and counts of ten bytes at most.
const STATUS_BYTES_MAX: usize =
    Status::FROZEN_MAX * 16 + 3 * Status::COUNTED_MAX * (16 + 10) + REST_BYTES_MAX;

const fn longest(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

/// The properties of a request that follow from its first byte.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its name in the job log.
    pub(crate) name: &'static str,
    /// The right that it needs; `None` if every client may send it.
    pub(crate) right: Option<Right>,
    body_bytes_max: usize,
}

const fn kind(name: &'static str, right: Right, longest_part: usize) -> Kind {
    Kind { name, right: Some(right), body_bytes_max: REST_BYTES_MAX + longest_part }
}

const fn public(name: &'static str) -> Kind {
    Kind { name, right: None, body_bytes_max: REST_BYTES_MAX }
}

/// In the order of [`Request`]'s variants.
static KINDS: [Kind; 22] = [
    public("ping"),
    kind("decide", Right::Match, MatchJob::BYTES_MAX),
    kind("encrypt-probes", Right::Match, ProbeJob::BYTES_MAX),
    kind("create-tenant", Right::Match, 0),
    kind("public-keys", Right::Match, 0),
    kind("enrol", Right::Match, SealedShare::bytes(Width::W512) + IDEMPOTENCY_KEY_BYTES_MAX),
    kind("shred", Right::Match, 0),
    kind("begin-rotation", Right::Match, 0),
    kind("renew", Right::Match, BlindedCiphertext::BYTES),
    kind("finish-rotation", Right::Match, 0),
    // The operator prints its fingerprint.
    public("sealing-key"),
    // It discloses nothing about tenants that the client does not own: see `handler`.
    public("status"),
    // An operator, and within its limits the gateway that owns the tenant: see `handler`.
    public("set-policy"),
    kind("reset-malformed", Right::Operate, 0),
    kind("decide", Right::Match, *SeatJob::BYTES.end()),
    kind("contribute", Right::Match, 0),
    kind("enrol", Right::Match, Share::bytes(Width::W512)),
    kind("parts", Right::Peer, Parts::BYTES),
    kind("public-keys", Right::Match, 0),
    // A gateway that could do this would have unlimited failures a day.
    kind("reset-attempts", Right::Operate, 0),
    kind("locked-out", Right::Match, 0),
    kind("note-store", Right::Match, 0),
];

/// Its index in the table.
const DECIDE_SEAT: u8 = 14;

/// How to handle bytes that are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The next frame cannot be found in the stream: answer and close.
    Framing,
    /// The frame is valid, its content is not.
    Body,
}

impl Unreadable {
    /// The answer.
    pub(crate) fn refusal(self) -> KeyHolderError {
        KeyHolderError::Unavailable("it did not understand the request".to_owned())
    }
}

/// Kind and length of the body that follows this header; its first byte is in the header.
pub(crate) fn request_header(header: [u8; HEADER_BYTES]) -> Result<(&'static Kind, usize), Unreadable> {
    let [a, b, c, d, first] = header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let kind = KINDS.get(usize::from(first)).ok_or(Unreadable::Framing)?;
    if (1..=kind.body_bytes_max).contains(&length) { Ok((kind, length)) } else { Err(Unreadable::Framing) }
}

/// Length of the body of a reply from its header.
pub(crate) fn reply_length([a, b, c, d, _]: [u8; HEADER_BYTES]) -> Option<usize> {
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    (1..=REPLY_BYTES_MAX).contains(&length).then_some(length)
}

/// The frame of a request. Wiped on drop, because some hold parts of decryptions.
pub(crate) fn request_frame(request: &Request) -> Zeroizing<Vec<u8>> {
    frame(request)
}

/// The frame of [`Request::DecideSeat`] for a seat's job that is encoded already.
pub(crate) fn seat_frame(job: &[u8]) -> Zeroizing<Vec<u8>> {
    frame(&(DECIDE_SEAT, Encoded(job)))
}

/// A value with a canonical encoding, which is sent as its bytes.
struct Encoded<'a>(&'a [u8]);

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Reads the body of a request.
pub(crate) fn read_request(body: &[u8]) -> Result<Request, Unreadable> {
    match postcard::take_from_bytes(body) {
        Ok((request, [])) => Ok(request),
        _ => Err(Unreadable::Body),
    }
}

/// The frame of a reply.
pub(crate) fn reply_frame(reply: &Result<Reply, KeyHolderError>) -> Zeroizing<Vec<u8>> {
    frame(reply)
}

/// Reads the body of a reply, which must end there.
pub(crate) fn read_reply(body: &[u8]) -> Option<Result<Reply, KeyHolderError>> {
    match postcard::take_from_bytes(body) {
        Ok((reply, [])) => Some(reply),
        _ => None,
    }
}

fn frame(message: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let bytes = postcard::to_extend(message, vec![0; 4]);
    let mut frame = bytes.expect("what is sent has an encoding: a fault of the vault is not sent");
    let length = u32::try_from(frame.len() - 4).expect("bodies are below a megabyte");
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Zeroizing::new(frame)
}

#[cfg(test)]
mod tests;
