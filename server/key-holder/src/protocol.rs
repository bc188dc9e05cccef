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
//!
//! One of three key-holders answers 1 with [`Decided`] and 4 with its seat (1) and two [`EncryptedTemplate`]s.
//!
//! A policy is threshold (4), failures in a row (4), delay (8), failures a day (4), failures in a generation (4). The time
//! is never sent: a matcher that set the clock of its own attempt budgets would have none.

use crate::quorum::Contribution;
use trefoil_matching::quorum::{Parts, Seat};
use trefoil_matching::{
    AttemptPolicy, BlindedCiphertext, BlindedTemplate, Context, DecisionPolicy, EncryptedProbes,
    EncryptedTemplate, ForKeyHolder, Handle, KeyHolderError, KeyStructure, Lane, LaneSet, MatchJob, ProbeJob,
    PublicKey, SealedShare, SealingKey, Template, TenantId,
};

/// Protocol and version in the TLS handshake.
pub(crate) const ALPN: &[u8] = b"trefoil-key-holder/2";
/// Bytes before the body of a frame.
pub(crate) const HEADER_BYTES: usize = 5;
/// Length of the longest body of a reply.
pub(crate) const REPLY_BYTES_MAX: usize = 1 + 2 * Template::bytes(KeyStructure::PerSubject);
const _: () = assert!(
    PublicKey::BYTES_MAX < REPLY_BYTES_MAX
        && EncryptedProbes::BYTES < REPLY_BYTES_MAX
        && Template::bytes(KeyStructure::PerTenant) < REPLY_BYTES_MAX
);

const POLICY_BYTES: usize = 24;
const SUBJECT_BYTES: usize = 16 + 32 + 4;

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Ping,
    Decide(Box<MatchJob>),
    CreateTenant(TenantId, KeyStructure, DecisionPolicy),
    SetPolicy(TenantId, DecisionPolicy),
    Enrol(Box<Enrolment>),
    Shred(TenantId, Handle, u32),
    LiftFreeze(TenantId),
    /// From another key-holder.
    Parts(Box<Parts>),
    /// From another key-holder.
    Contribute(Box<Contribution>),
    EncryptProbes(Box<ProbeJob>),
    SealingKey,
    BeginRotation(TenantId),
    Renew(Box<Renewal>),
    FinishRotation(TenantId, u32),
}

/// A blinded template to encrypt under newer keys.
#[derive(Debug)]
pub(crate) struct Renewal {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) blinded: BlindedCiphertext,
}

/// A blinded template and its place.
#[derive(Debug)]
pub(crate) struct Enrolment {
    pub(crate) tenant: TenantId,
    pub(crate) handle: Handle,
    pub(crate) generation: u32,
    pub(crate) lane: Lane,
    pub(crate) template: ForKeyHolder,
}

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
    let length = u32::try_from(body.len()).expect("bodies are below 128 KiB");
    let mut frame = Vec::with_capacity(HEADER_BYTES + body.len());
    frame.push(kind);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

impl Request {
    /// The frame of a request to decide, from a job that stays with its caller.
    pub(crate) fn decide(job: &MatchJob) -> Vec<u8> {
        frame(1, &job.to_bytes())
    }

    /// The frame of a request to encrypt probes, as [`Request::decide`].
    pub(crate) fn encrypt_probes(job: &ProbeJob) -> Vec<u8> {
        frame(8, &job.to_bytes())
    }

    /// The frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Request::Ping => frame(0, &[]),
            Request::Decide(job) => Request::decide(job),
            Request::CreateTenant(tenant, keys, policy) => {
                let body = [&tenant[..], &[keys.code()], &policy_bytes(policy)].concat();
                frame(2, &body)
            }
            Request::SetPolicy(tenant, policy) => frame(3, &[&tenant[..], &policy_bytes(policy)].concat()),
            Request::Enrol(enrolment) => {
                let Enrolment { tenant, handle, generation, lane, template } = &**enrolment;
                let mut body = subject(tenant, handle, *generation);
                body.push(lane.index() as u8);
                match template {
                    ForKeyHolder::Open(blinded) => {
                        body.extend_from_slice(&blinded.to_bytes());
                        frame(4, &body)
                    }
                    ForKeyHolder::Sealed(sealed, context) => {
                        body.extend_from_slice(&context.to_bytes());
                        body.extend_from_slice(sealed.as_bytes());
                        frame(7, &body)
                    }
                }
            }
            Request::Shred(tenant, handle, generation) => frame(5, &subject(tenant, handle, *generation)),
            Request::LiftFreeze(tenant) => frame(6, tenant),
            Request::Parts(parts) => frame(32, &parts.to_bytes()),
            Request::Contribute(contribution) => {
                let Contribution { tenant, handle, generation, salt } = &**contribution;
                frame(33, &[&subject(tenant, handle, *generation)[..], salt].concat())
            }
            Request::EncryptProbes(job) => Request::encrypt_probes(job),
            Request::SealingKey => frame(9, &[]),
            Request::BeginRotation(tenant) => frame(10, tenant),
            Request::Renew(renewal) => {
                let Renewal { tenant, handle, from, to, blinded } = &**renewal;
                let mut body = subject(tenant, handle, *from);
                body.extend_from_slice(&to.to_le_bytes());
                body.extend_from_slice(blinded.as_bytes());
                frame(11, &body)
            }
            Request::FinishRotation(tenant, epoch) => {
                frame(12, &[&tenant[..], &epoch.to_le_bytes()].concat())
            }
        }
    }

    /// Reads a body whose length [`request_length`] has accepted.
    pub(crate) fn decode(kind: u8, mut body: &[u8]) -> Result<Request, RequestError> {
        let malformed = RequestError::Malformed;
        if kind == 1 {
            return MatchJob::from_bytes(body).map(|job| Request::Decide(job.into())).map_err(|_| malformed);
        }
        if kind == 8 {
            let job = ProbeJob::from_bytes(body).map_err(|_| malformed)?;
            return Ok(Request::EncryptProbes(job.into()));
        }
        let rest = &mut body;
        let request = match kind {
            0 => Request::Ping,
            2 => {
                let (tenant, [code]) = (take(rest)?, take(rest)?);
                let keys = KeyStructure::from_code(code).ok_or(malformed)?;
                Request::CreateTenant(tenant, keys, policy(rest)?)
            }
            3 => Request::SetPolicy(take(rest)?, policy(rest)?),
            4 | 7 => {
                let (tenant, handle, generation) =
                    (take(rest)?, take(rest)?, u32::from_le_bytes(take(rest)?));
                let [lane] = take(rest)?;
                let lane = Lane::new(lane).ok_or(malformed)?;
                let template = if kind == 4 {
                    BlindedTemplate::from_bytes(rest).map_err(|_| malformed)?.into()
                } else {
                    let context = Context::from_bytes(take(rest)?);
                    ForKeyHolder::Sealed(SealedShare::from_bytes(rest).ok_or(malformed)?, context)
                };
                *rest = &[];
                Request::Enrol(Box::new(Enrolment { tenant, handle, generation, lane, template }))
            }
            5 => Request::Shred(take(rest)?, take(rest)?, u32::from_le_bytes(take(rest)?)),
            6 => Request::LiftFreeze(take(rest)?),
            32 => {
                let parts = Parts::from_bytes(rest).ok_or(malformed)?;
                *rest = &[];
                Request::Parts(Box::new(parts))
            }
            33 => {
                let (tenant, handle, generation) =
                    (take(rest)?, take(rest)?, u32::from_le_bytes(take(rest)?));
                let salt = take(rest)?;
                Request::Contribute(Box::new(Contribution { tenant, handle, generation, salt }))
            }
            9 => Request::SealingKey,
            10 => Request::BeginRotation(take(rest)?),
            11 => {
                let (tenant, handle) = (take(rest)?, take(rest)?);
                let (from, to) = (u32::from_le_bytes(take(rest)?), u32::from_le_bytes(take(rest)?));
                let blinded = BlindedCiphertext::from_bytes(rest).map_err(|_| malformed)?;
                *rest = &[];
                Request::Renew(Box::new(Renewal { tenant, handle, from, to, blinded }))
            }
            12 => Request::FinishRotation(take(rest)?, u32::from_le_bytes(take(rest)?)),
            _ => return Err(RequestError::Framing),
        };
        if rest.is_empty() { Ok(request) } else { Err(RequestError::Framing) }
    }
}

fn subject(tenant: &TenantId, handle: &Handle, generation: u32) -> Vec<u8> {
    [tenant.as_slice(), handle, &generation.to_le_bytes()].concat()
}

fn policy_bytes(policy: &DecisionPolicy) -> Vec<u8> {
    let DecisionPolicy { threshold, attempts } = policy;
    let AttemptPolicy { consecutive, delay_s, per_day, per_generation } = attempts;
    let mut body = Vec::with_capacity(POLICY_BYTES);
    body.extend_from_slice(&threshold.to_le_bytes());
    body.extend_from_slice(&consecutive.to_le_bytes());
    body.extend_from_slice(&delay_s.to_le_bytes());
    body.extend_from_slice(&per_day.to_le_bytes());
    body.extend_from_slice(&per_generation.to_le_bytes());
    body
}

fn policy(rest: &mut &[u8]) -> Result<DecisionPolicy, RequestError> {
    let threshold = i32::from_le_bytes(take(rest)?);
    let consecutive = u32::from_le_bytes(take(rest)?);
    let delay_s = u64::from_le_bytes(take(rest)?);
    let (per_day, per_generation) = (u32::from_le_bytes(take(rest)?), u32::from_le_bytes(take(rest)?));
    Ok(DecisionPolicy {
        threshold,
        attempts: AttemptPolicy { consecutive, delay_s, per_day, per_generation },
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], RequestError> {
    let (front, back) = rest.split_first_chunk().ok_or(RequestError::Framing)?;
    *rest = back;
    Ok(*front)
}

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
            KeyHolderError::Vault(_) | KeyHolderError::Unavailable(_) => Refused::Fault,
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
            Refused::Framing => KeyHolderError::Unavailable("it did not understand the request".into()),
        }
    }
}
