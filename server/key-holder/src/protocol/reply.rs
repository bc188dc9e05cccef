//! What is answered.

use super::frame;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{EncryptedProbes, EncryptedTemplate, KeyHolderError, LaneSet, PublicKey, SealingKey};

/// What the key-holder answers. Nothing in it depends on a score but the 32 bits of `Decided`.
#[derive(Debug)]
pub(crate) enum Reply {
    Done,
    Decided(LaneSet),
    Created(Box<PublicKey>),
    Enrolled(Box<EncryptedTemplate>),
    /// One of three key-holders, and its two parts.
    EnrolledPieces(Seat, Box<[EncryptedTemplate; 2]>),
    DecidedInQuorum(Decided),
    Probes(Box<EncryptedProbes>),
    SealingKey(Box<SealingKey>),
    Refused(Refused),
}

/// What one of three key-holders answers about a batch: seat (1), whether it decided (1), one bit per lane (4), and who was silent,
/// lied, or contradicted another, as far as it saw: a bit for each seat (1 each).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) seat: Seat,
    pub(crate) decided: Option<LaneSet>,
    pub(crate) silent: u8,
    pub(crate) liars: u8,
    pub(crate) contradicting: u8,
}

impl Decided {
    fn to_bytes(self) -> [u8; 9] {
        let Decided { seat, decided, silent, liars, contradicting } = self;
        let [a, b, c, d] = decided.unwrap_or(LaneSet::EMPTY).bits().to_le_bytes();
        [seat.index() as u8, u8::from(decided.is_some()), a, b, c, d, silent, liars, contradicting]
    }

    fn from_bytes(bytes: &[u8]) -> Option<Decided> {
        let [seat, decided, a, b, c, d, silent, liars, contradicting] = *bytes.as_array::<9>()?;
        let lanes = LaneSet::from_bits(u32::from_le_bytes([a, b, c, d]));
        let decided = match decided {
            0 if lanes.is_empty() => None,
            1 => Some(lanes),
            _ => return None,
        };
        let seat = Seat::new(usize::from(seat))?;
        let seats_only = silent < 8 && liars < 8 && contradicting < 8;
        seats_only.then_some(Decided { seat, decided, silent, liars, contradicting })
    }
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    UnknownTenant,
    TenantExists,
    Frozen,
    Malformed,
    UnknownSubjects(LaneSet),
    SubjectExists,
    Threshold(i32),
    /// The vault or the job log failed; the key-holder's own log says how.
    Fault,
    /// This client has no right to this.
    Forbidden,
    /// The policy is laxer than the key-holder's operator allows.
    Policy,
    /// The stream is not this protocol.
    Framing,
    /// Shares in these lanes do not open.
    SealedShares(LaneSet),
    /// The tenant's key structure does not do this.
    Structure,
    /// No rotation is under way that this belongs to.
    Rotation,
    /// It is one of three key-holders, which do not do this.
    Three,
    /// It is alone, and was asked as one of three.
    Alone,
}

/// The first status that is a refusal.
const REFUSED: u8 = 16;

impl Reply {
    /// The frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let refused = |code: u8, body: &[u8]| frame(REFUSED + code, body);
        match self {
            Reply::Done => frame(0, &[]),
            Reply::Decided(lanes) => frame(1, &lanes.bits().to_le_bytes()),
            Reply::Created(key) => frame(2, &key.to_bytes()),
            Reply::Enrolled(template) => frame(3, &template.to_bytes()),
            Reply::DecidedInQuorum(decided) => frame(8, &decided.to_bytes()),
            Reply::EnrolledPieces(seat, parts) => {
                let [one, other] = &**parts;
                frame(9, &[&[seat.index() as u8], &one.to_bytes()[..], &other.to_bytes()].concat())
            }
            Reply::Probes(probes) => frame(4, probes.as_bytes()),
            Reply::SealingKey(key) => frame(5, &key.to_bytes()),
            Reply::Refused(why) => match why {
                Refused::UnknownTenant => refused(0, &[]),
                Refused::TenantExists => refused(1, &[]),
                Refused::Frozen => refused(2, &[]),
                Refused::Malformed => refused(3, &[]),
                Refused::UnknownSubjects(lanes) => refused(4, &lanes.bits().to_le_bytes()),
                Refused::SubjectExists => refused(5, &[]),
                Refused::Threshold(threshold) => refused(6, &threshold.to_le_bytes()),
                Refused::Fault => refused(7, &[]),
                Refused::Forbidden => refused(8, &[]),
                Refused::Policy => refused(9, &[]),
                Refused::Framing => refused(10, &[]),
                Refused::SealedShares(lanes) => refused(11, &lanes.bits().to_le_bytes()),
                Refused::Structure => refused(12, &[]),
                Refused::Rotation => refused(13, &[]),
                Refused::Three => refused(14, &[]),
                Refused::Alone => refused(15, &[]),
            },
        }
    }

    /// Reads a reply; nothing else has these bytes.
    pub(crate) fn decode(status: u8, body: &[u8]) -> Option<Reply> {
        let bits = || Some(LaneSet::from_bits(u32::from_le_bytes(body.try_into().ok()?)));
        let empty = |reply: Reply| body.is_empty().then_some(reply);
        let refused = |why: Refused| empty(Reply::Refused(why));
        match status {
            0 => empty(Reply::Done),
            1 => bits().map(Reply::Decided),
            2 => PublicKey::from_bytes(body).ok().map(|key| Reply::Created(key.into())),
            3 => EncryptedTemplate::from_bytes(body).ok().map(|template| Reply::Enrolled(template.into())),
            8 => Decided::from_bytes(body).map(Reply::DecidedInQuorum),
            9 => {
                let ([seat], parts) = body.split_first_chunk()?;
                let (one, other) = parts.split_at_checked(parts.len() / 2)?;
                let part = |bytes| EncryptedTemplate::from_bytes(bytes).ok();
                let seat = Seat::new(usize::from(*seat))?;
                Some(Reply::EnrolledPieces(seat, Box::new([part(one)?, part(other)?])))
            }
            4 => EncryptedProbes::from_bytes(body).ok().map(|probes| Reply::Probes(probes.into())),
            5 => SealingKey::from_bytes(body).ok().map(|key| Reply::SealingKey(key.into())),
            16 => refused(Refused::UnknownTenant),
            17 => refused(Refused::TenantExists),
            18 => refused(Refused::Frozen),
            19 => refused(Refused::Malformed),
            20 => bits().map(|lanes| Reply::Refused(Refused::UnknownSubjects(lanes))),
            21 => refused(Refused::SubjectExists),
            22 => {
                let threshold = i32::from_le_bytes(body.try_into().ok()?);
                Some(Reply::Refused(Refused::Threshold(threshold)))
            }
            23 => refused(Refused::Fault),
            24 => refused(Refused::Forbidden),
            25 => refused(Refused::Policy),
            26 => refused(Refused::Framing),
            27 => bits().map(|lanes| Reply::Refused(Refused::SealedShares(lanes))),
            28 => refused(Refused::Structure),
            29 => refused(Refused::Rotation),
            30 => refused(Refused::Three),
            31 => refused(Refused::Alone),
            _ => None,
        }
    }
}

impl From<KeyHolderError> for Refused {
    fn from(cause: KeyHolderError) -> Refused {
        match cause {
            KeyHolderError::UnknownTenant => Refused::UnknownTenant,
            KeyHolderError::TenantExists => Refused::TenantExists,
            KeyHolderError::Frozen => Refused::Frozen,
            KeyHolderError::Malformed => Refused::Malformed,
            KeyHolderError::UnknownSubjects(lanes) => Refused::UnknownSubjects(lanes),
            KeyHolderError::SubjectExists => Refused::SubjectExists,
            KeyHolderError::SealedShares(lanes) => Refused::SealedShares(lanes),
            KeyHolderError::Structure => Refused::Structure,
            KeyHolderError::Rotation => Refused::Rotation,
            KeyHolderError::Threshold(threshold) => Refused::Threshold(threshold),
            KeyHolderError::Forbidden(_) => Refused::Forbidden,
            KeyHolderError::Vault(_) | KeyHolderError::Unavailable(_) | KeyHolderError::OneAway(_) => {
                Refused::Fault
            }
        }
    }
}

impl From<Refused> for KeyHolderError {
    fn from(why: Refused) -> KeyHolderError {
        match why {
            Refused::UnknownTenant => KeyHolderError::UnknownTenant,
            Refused::TenantExists => KeyHolderError::TenantExists,
            Refused::Frozen => KeyHolderError::Frozen,
            Refused::Malformed => KeyHolderError::Malformed,
            Refused::UnknownSubjects(lanes) => KeyHolderError::UnknownSubjects(lanes),
            Refused::SubjectExists => KeyHolderError::SubjectExists,
            Refused::SealedShares(lanes) => KeyHolderError::SealedShares(lanes),
            Refused::Structure => KeyHolderError::Structure,
            Refused::Rotation => KeyHolderError::Rotation,
            Refused::Threshold(threshold) => KeyHolderError::Threshold(threshold),
            Refused::Fault => {
                KeyHolderError::Unavailable("its vault or its job log failed: see its log".into())
            }
            Refused::Forbidden => KeyHolderError::Forbidden("this connection has no right to this"),
            Refused::Policy => KeyHolderError::Forbidden("the policy is laxer than its operator's limits"),
            Refused::Three => KeyHolderError::Forbidden(
                "it is one of three, which decide together, for keys per subject and plain probes, and rotate no keys: give the \
                 gateway all three, and what they do not do to a key-holder that is alone",
            ),
            Refused::Alone => KeyHolderError::Forbidden(
                "it is alone and not one of three: give the gateway its address only, or make three with \
                 `trefoil key-holder init-quorum`",
            ),
            Refused::Framing => KeyHolderError::Unavailable("it did not understand the request".into()),
        }
    }
}
