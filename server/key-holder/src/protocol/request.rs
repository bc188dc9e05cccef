//! What is asked.

use super::{POLICY_BYTES, RequestError, frame, take};
use crate::quorum::Contribution;
use trefoil_matching::quorum::{Parts, SeatJob};
use trefoil_matching::{
    AttemptPolicy, BlindedCiphertext, BlindedTemplate, Context, DecisionPolicy, ForKeyHolder, Handle,
    KeyStructure, Lane, MatchJob, ProbeJob, SealedShare, TenantId,
};

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Ping,
    Decide(Box<MatchJob>),
    /// Of one of three.
    DecideInThree(Box<SeatJob>),
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

impl Request {
    /// The frame of a request to decide, from a job that stays with its caller.
    pub(crate) fn decide(job: &MatchJob) -> Vec<u8> {
        frame(1, &job.to_bytes())
    }

    /// The frames of a request to three key-holders to decide, in the order of their seats; nothing if the job has no witnesses.
    pub(crate) fn decide_in_three(job: &MatchJob) -> Option<[Vec<u8>; 3]> {
        Some(SeatJob::encode(job)?.map(|body| frame(34, &body)))
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
            Request::DecideInThree(job) => frame(34, &job.to_bytes()),
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
            34 => {
                let job = SeatJob::from_bytes(rest).map_err(|_| malformed)?;
                *rest = &[];
                Request::DecideInThree(Box::new(job))
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
