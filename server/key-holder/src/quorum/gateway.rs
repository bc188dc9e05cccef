//! The gateway's end of a quorum: an answer of two key-holders counts, and a third that disagrees is named.

use super::caller::{self, Answer, Holder, Outcome, Round};
use crate::address::Address;
use crate::connection_pool::Bounds;
use crate::protocol::{request_frame, seat_frame};
use crate::semaphore::Semaphore;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Instant;
use trefoil_host::identity::Identity;
use trefoil_matching::quorum::{SeatJob, assemble};
use trefoil_matching::{
    Decisions, EncryptedTemplate, Enrolment, ForKeyHolder, KeyHolderError, KeyHolding, KeyStructure,
    MatchJob, PublicKey, PublicKeyError, Reply, Request, SeatEnrolment, SeatState, Status, TemplateName,
    TenantId, unasked,
};
use trefoil_storage::supervisor::Supervisor;

/// Three key-holders, in the order of their seats. Each decision goes to all of them.
pub struct Quorum {
    holders: Arc<[Holder; 3]>,
    bounds: Bounds,
    /// Most decisions in flight. Each has a caller at every key-holder that is not behind, so that two of them never wait for
    /// each other's parts of different batches.
    rounds: Semaphore,
}

/// Keys per tenant, shared probes and rotation need a single key-holder.
const ALONE_ONLY: KeyHolderError = KeyHolderError::forbidden(
    "a quorum does not do this: it has keys per subject, takes plain probes and rotates no keys; use a key-holder that is alone",
);
const NOT_FOR_A_QUORUM: KeyHolderError = KeyHolderError::forbidden(
    "the job was masked for a key-holder that is alone: mask it with the quorum's public key",
);

/// Most tries to read keys until none changes meanwhile.
const KEY_ROUNDS_MAX: usize = 4;

impl Quorum {
    /// Starts to connect to three key-holders, given in the order of their seats, on threads under `supervisor`.
    ///
    /// # Errors
    /// When an identity is not usable or a thread does not start.
    pub fn start(
        supervisor: &Supervisor,
        at: [(Address, Identity); 3],
        bounds: Bounds,
    ) -> io::Result<Quorum> {
        let holders = caller::start(supervisor, at, bounds)?;
        Ok(Quorum { holders, bounds, rounds: Semaphore::new(bounds.connections) })
    }

    /// Waits until all three answer.
    ///
    /// # Errors
    /// The one that does not answer, and why, at `deadline`; at once if it stands in another's place.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        for holder in self.holders.iter() {
            holder.remote.wait_until_ready(deadline).map_err(|why| format!("{holder}: {why}"))?;
        }
        Ok(())
    }

    /// Which of those that have answered stand in another's place, and what to do.
    pub fn misplaced(&self) -> Option<String> {
        self.holders.iter().find_map(|holder| holder.remote.misplaced())
    }

    /// Sends one request to every key-holder; all must answer.
    fn all<T: Send>(
        &self,
        request: &Request,
        read: impl Fn(&Holder, Reply) -> Result<T, KeyHolderError> + Sync,
    ) -> Result<[T; 3], KeyHolderError> {
        for holder in self.holders.iter() {
            if let Some(why) = holder.remote.unready() {
                tracing::warn!(key_holder = %holder, why, "it is away, and this needs all three");
                return Err(KeyHolderError::OneAway(holder.seat.index() + 1));
            }
        }
        let frame = request_frame(request);
        let [one, two, three] = self.each(|holder| {
            let answer = holder.remote.call_with(&frame).and_then(|reply| read(holder, reply));
            answer.inspect_err(|cause| tracing::warn!(key_holder = %holder, %cause, "not done"))
        });
        Ok([one?, two?, three?])
    }

    /// Calls every key-holder at the same time.
    fn each<T: Send>(
        &self,
        call: impl Fn(&Holder) -> Result<T, KeyHolderError> + Sync,
    ) -> [Result<T, KeyHolderError>; 3] {
        std::thread::scope(|scope| {
            self.holders.each_ref().map(|holder| scope.spawn(|| call(holder))).map(|call| {
                call.join().unwrap_or_else(|_| Err(KeyHolderError::Unavailable("a call panicked".to_owned())))
            })
        })
    }

    fn decide(&self, job: &MatchJob) -> Result<Reply, KeyHolderError> {
        // A single one could only count failures.
        if let Some(why) = self.unready() {
            return Err(KeyHolderError::Unavailable(why));
        }
        let frames = frames(job)?;
        let deadline = Instant::now() + self.bounds.timeout;
        if !self.rounds.take_until(deadline) {
            return Err(KeyHolderError::Unavailable("too many decisions are under way".to_owned()));
        }
        let of = (job.tenant, job.occupied());
        let outcome = Round::start(&self.holders, frames, of, deadline).outcome();
        self.rounds.give_back();
        Err(match outcome {
            Outcome::Agreed(Answer::Decided(lanes)) => {
                return Ok(Reply::Decided(Decisions::from_lanes(lanes)));
            }
            Outcome::Agreed(Answer::UnknownSubjects(lanes)) => KeyHolderError::UnknownSubjects(lanes),
            Outcome::Agreed(Answer::NoAttempts(lanes)) => KeyHolderError::NoAttempts(lanes),
            Outcome::Agreed(Answer::UnknownTenant) => KeyHolderError::UnknownTenant,
            Outcome::Agreed(Answer::Frozen) => KeyHolderError::Frozen,
            Outcome::Agreed(Answer::Malformed) => KeyHolderError::Malformed,
            Outcome::Agreed(Answer::TagKey) => KeyHolderError::TagKey,
            Outcome::Agreed(Answer::OtherThreshold(in_force)) => KeyHolderError::OtherThreshold(in_force),
            Outcome::Agreed(Answer::Model) => KeyHolderError::Model,
            Outcome::Contested(lanes) => KeyHolderError::Contested(lanes),
            Outcome::Nothing => KeyHolderError::Unavailable("no two of three key-holders agree".to_owned()),
        })
    }

    /// The joint key of the three: each part of it counts only if two of them agree.
    fn public_key(&self, tenant: TenantId) -> Result<Reply, KeyHolderError> {
        let mut versions = [0; 3];
        for _ in 0..KEY_ROUNDS_MAX {
            let keys = self.all(&Request::SeatKey(tenant, versions), |holder, reply| match reply {
                Reply::SeatKey(key) => Ok(*key),
                _ => Err(misplaced(holder)),
            })?;
            match PublicKey::of_quorum(&keys, versions) {
                Ok(key) => return Ok(Reply::PublicKeys(vec![key])),
                Err(PublicKeyError::Versions(now)) => versions = now,
                Err(PublicKeyError::Contradiction(one, other)) => {
                    let [one, other] = [one, other].map(|seat| &self.holders[seat.index()]);
                    [one, other].iter().for_each(|holder| holder.accuse());
                    tracing::error!(%one, %other, "they contradict each other about a tag basis: one of them lies");
                    return Err(KeyHolderError::Unavailable(format!("{one}, {other} contradict each other")));
                }
                Err(cause) => return Err(KeyHolderError::Unavailable(cause.to_string())),
            }
        }
        Err(KeyHolderError::Unavailable("the key-holders' tag keys change all the time".to_owned()))
    }

    /// All three contribute to the salt, and then make their parts with all contributions.
    fn enrol(&self, enrolment: Enrolment) -> Result<Reply, KeyHolderError> {
        let Enrolment { name, lane, model, template } = enrolment;
        let ForKeyHolder::Open(template) = template else { return Err(ALONE_ONLY) };
        let contributions = self.all(&Request::Contribute(name), |holder, reply| match reply {
            Reply::Contribution(contribution) => Ok(contribution),
            _ => Err(misplaced(holder)),
        })?;
        let for_seats = SeatEnrolment { name, lane, model, template: *template, contributions };
        let answers = self.all(&Request::EnrolSeat(Box::new(for_seats)), |holder, reply| match reply {
            Reply::EnrolledSeat(seat, parts)
                if seat == holder.seat && parts.iter().all(|part| part.is_of(&name, lane, model)) =>
            {
                Ok(*parts)
            }
            _ => Err(misplaced(holder)),
        });
        let assembled = answers.and_then(|answers| self.assemble(&answers));
        if assembled.is_err() {
            self.forget(name);
        }
        assembled.map(|template| Reply::Enrolled(Box::new(template)))
    }

    /// Joins the parts of a template, and names key-holders that lied.
    fn assemble(&self, answers: &[[EncryptedTemplate; 2]; 3]) -> Result<EncryptedTemplate, KeyHolderError> {
        assemble(answers).map_err(|suspects| {
            let named: Vec<&Holder> = suspects.iter().map(|seat| &self.holders[seat.index()]).collect();
            let names = named.iter().map(|holder| holder.to_string()).collect::<Vec<_>>().join(", ");
            if let [liar] = named[..] {
                liar.convict();
                tracing::error!(key_holder = %liar, "it lies: both others made its part of a template differently");
                return KeyHolderError::Unavailable(format!("{names} contradicts both others"));
            }
            named.iter().for_each(|holder| holder.accuse());
            tracing::error!(key_holders = names, "their parts of a template differ: at least one of them lies");
            KeyHolderError::Unavailable(format!("{names} contradict each other"))
        })
    }

    /// No request will name this template again, so parts that some may hold are useless.
    fn forget(&self, name: TemplateName) {
        let frame = request_frame(&Request::Shred(name));
        for holder in self.holders.iter() {
            let _ = holder.remote.call_with(&frame);
        }
    }

    /// The combined counts: each key-holder counts every attempt that it receives, and no other.
    fn status(&self) -> Reply {
        let mut together = Status { vaults: Vec::new(), ..Status::default() };
        let mut frozen: HashSet<TenantId> = HashSet::new();
        let mut counted: [HashMap<TenantId, u64>; 3] = Default::default();
        for answer in self.each(|holder| holder.remote.call(Request::Status)) {
            let Ok(Reply::Status(status)) = answer else {
                together.vaults.push(None);
                together.jobs.push(None);
                continue;
            };
            together.attempts = together.attempts.max(status.attempts);
            together.failures = together.failures.max(status.failures);
            together.enrolments = together.enrolments.max(status.enrolments);
            together.tenants = together.tenants.max(status.tenants);
            together.templates = together.templates.max(status.templates);
            together.vaults.push(status.vaults.first().copied().flatten());
            together.jobs.push(status.jobs.first().copied().flatten());
            frozen.extend(status.frozen);
            for (most, counts) in
                counted.iter_mut().zip([status.malformed, status.trips, status.trips_of_previous])
            {
                for (tenant, count) in counts {
                    let most = most.entry(tenant).or_default();
                    *most = count.max(*most);
                }
            }
        }
        [together.malformed, together.trips, together.trips_of_previous] =
            counted.map(|most| most.into_iter().collect());
        together.frozen = frozen.into_iter().collect();
        Reply::Status(Box::new(together.bounded()))
    }

    /// The [`second_largest`] of their answers.
    fn second<T: Ord + Copy + Send>(
        &self,
        request: &Request,
        read: impl Fn(Reply) -> Result<T, KeyHolderError> + Sync,
    ) -> Result<T, KeyHolderError> {
        let frame = request_frame(request);
        let mut refusal = None;
        let counts = self.each(|holder| holder.remote.call_with(&frame).and_then(&read));
        let counts = counts.map(|count| count.map_err(|cause| refusal = Some(cause)).ok());
        second_largest(counts).ok_or_else(|| {
            refusal.unwrap_or_else(|| {
                KeyHolderError::Unavailable("two of three key-holders did not count".to_owned())
            })
        })
    }

    /// A request that all three must carry out. Otherwise it fails and must be repeated.
    fn done(&self, request: &Request) -> Result<Reply, KeyHolderError> {
        self.all(request, |_, reply| match reply {
            Reply::Done | Reply::Seat(_) => Ok(()),
            other => Err(unasked(&other)),
        })
        .map(|_| Reply::Done)
    }
}

impl KeyHolding for Quorum {
    /// The time is not sent: key-holders count attempts by their own clocks.
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        match request {
            Request::Decide(job) => self.decide(&job),
            Request::CreateTenant(tenant, KeyStructure::PerSubject, _) => {
                self.done(&request)?;
                self.public_key(tenant)
            }
            Request::PublicKeys(tenant) => self.public_key(tenant),
            Request::Enrol(enrolment) => self.enrol(*enrolment),
            Request::Ping
            | Request::Shred(_)
            | Request::SetPolicy(..)
            | Request::ForgiveMalformed(_)
            | Request::ResetAttempts(_) => self.done(&request),
            Request::Status => Ok(self.status()),
            // How many subjects fewer than two of them would let in, as far as their own counts show it.
            Request::LockedOut(_) => self
                .second(&request, |reply| match reply {
                    Reply::LockedOut(count) => Ok(count),
                    other => Err(unasked(&other)),
                })
                .map(Reply::LockedOut),
            Request::NoteStore(_) => self
                .second(&request, |reply| match reply {
                    Reply::Store(seen) => Ok(seen),
                    other => Err(unasked(&other)),
                })
                .map(Reply::Store),
            Request::CreateTenant(..)
            | Request::EncryptProbes(_)
            | Request::BeginRotation(_)
            | Request::Renew(_)
            | Request::FinishRotation(..)
            | Request::SealingKey => Err(ALONE_ONLY),
            Request::DecideSeat(_)
            | Request::Contribute(_)
            | Request::EnrolSeat(_)
            | Request::Parts(_)
            | Request::SeatKey(..) => {
                Err(KeyHolderError::forbidden("this is asked of one key-holder of a quorum, not of all"))
            }
        }
    }

    fn unready(&self) -> Option<String> {
        let away: Vec<String> = self
            .holders
            .iter()
            .filter_map(|holder| Some(format!("{holder}: {}", holder.remote.unready()?)))
            .collect();
        (away.len() > 1).then(|| away.join("; "))
    }

    fn seats(&self) -> Vec<SeatState> {
        self.holders.iter().map(Holder::state).collect()
    }

    fn stale(&self) -> Vec<TenantId> {
        let all: HashSet<TenantId> = self.holders.iter().flat_map(Holder::take_stale).collect();
        all.into_iter().collect()
    }
}

impl Drop for Quorum {
    fn drop(&mut self) {
        self.holders.iter().for_each(Holder::stop);
    }
}

/// The message for each seat.
fn frames(job: &MatchJob) -> Result<[zeroize::Zeroizing<Vec<u8>>; 3], KeyHolderError> {
    Ok(SeatJob::encode(job).ok_or(NOT_FOR_A_QUORUM)?.map(|job| seat_frame(&job)))
}

fn misplaced(holder: &Holder) -> KeyHolderError {
    let why = format!("{holder} answered something that was not asked; is it in its seat's place?");
    KeyHolderError::Unavailable(why)
}

/// The second largest of three key-holders' counts of locked-out subjects. One that does not say counts as if it let nobody in, because a login
/// then needs both others. `None` if two do not say.
///
/// A subject is locked out if two refuse it. While two refuse the same subjects, this is how many there are, whatever the third says. If all three
/// refuse different subjects, it is off by at most the number of subjects on which the two closest of them disagree.
fn second_largest<T: Ord + Copy>(mut counts: [Option<T>; 3]) -> Option<T> {
    counts.sort_unstable_by_key(|count| (count.is_none(), *count));
    counts[1]
}

#[cfg(test)]
mod tests {
    use super::second_largest;

    #[test]
    fn two_key_holders_that_count_alike_are_believed_and_one_that_is_away_lets_nobody_in() {
        let all = |counts: [Option<u64>; 3]| {
            let [a, b, c] = counts;
            let orders = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
            let found = orders.map(second_largest);
            assert!(found.iter().all(|one| *one == found[0]), "{counts:?}: {found:?}");
            found[0]
        };
        for odd in [Some(0), Some(4), Some(5), Some(u64::MAX), None] {
            assert_eq!(all([Some(4), Some(4), odd]), Some(4), "{odd:?}");
        }
        assert_eq!(all([Some(1), Some(2), Some(3)]), Some(2));
        assert_eq!(all([Some(1), Some(3), None]), Some(3), "both are needed");
        assert_eq!(all([Some(1), None, None]), None);
        assert_eq!(all([None; 3]), None);
    }
}
