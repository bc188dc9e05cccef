//! One job at one of three key-holders: its parts for the others, and the result of theirs.

use super::{Parts, QuorumHolder, SeatJob};
use crate::key_holder::{known, nothing_stray, reached, wipe_stack};
use crate::tenant::{Admitted, Count};
use crate::{Decisions, KeyHolderError, LaneSet};
use trefoil_bfv::threshold::{Of, Partial, Piece, Seat};
use trefoil_bfv::{Opened, Scheme, SubjectKey};

/// A job whose attempts are charged and on record, and whose partial decryptions are made.
pub struct Begun {
    seat: Seat,
    digest: [u8; 32],
    /// Of the batch and of this seat's witness, in the order of its pieces.
    own: [Version; 2],
    /// Of the witness of the seat that lacks each piece.
    for_others: [Partial; 2],
    admitted: Admitted,
}

/// The partial decryptions with one piece: of the batch, and of the witness of the seat that opens it.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    batch: Partial,
    witness: Partial,
}

/// The result of the parts of the other two.
pub struct Judgement {
    outcome: Outcome,
    /// These sent parts that differ from what this key-holder computed itself, or that cannot belong to the batch.
    pub liars: Vec<Seat>,
    /// These contradict each other, and this key-holder cannot tell who is right.
    pub contradicting: Vec<Seat>,
    /// The only seat whose part has arrived, if the part cannot belong to the batch: this seat lies, or the job does not come from an honest matcher.
    pub suspect: Option<Seat>,
}

enum Outcome {
    /// Lanes whose score reaches the threshold.
    Matched(LaneSet),
    /// The available parts decide nothing.
    Undecided,
    /// With no available part does the job look like an honest matcher's.
    Malformed,
}

impl QuorumHolder {
    /// Admits a job, charging an attempt and a failure to each lane, and makes this key-holder's partial decryptions. There are none of a
    /// `c1` that is not tagged under this seat's own tag key, which no other seat knows. Even if another key-holder helps the matcher, there are
    /// parts of a polynomial that tells `r` bits of a key with probability at most 2^-r.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane can be decided.
    pub fn begin(&self, job: &SeatJob, now: u64) -> Result<Begun, KeyHolderError> {
        if job.seat != self.seat() {
            return Err(KeyHolderError::forbidden("the job is for another seat"));
        }
        let tenants = self.key_holder.tenants();
        let tenant = known(&tenants, &job.job.tenant)?;
        let (vault, version) = (self.key_holder.vault(), Some(job.own.stamp.version));
        let admitted = tenant.admit(vault, &job.job, version, now)?;
        let lanes = job.job.occupied().len();
        tenant.counts.add(Count::Attempts, lanes);
        let vouched = admitted.tag_key().is_some_and(|key| {
            job.tagged().iter().fold(true, |all, (batch, tag)| all & key.vouches(batch, tag))
        });
        tenant.pass(vault, &admitted, vouched).inspect_err(|_| tenant.counts.add(Count::Failures, lanes))?;
        let made = self.key_holder.threads().scratch(|scratch| {
            [0, 1].map(|which| {
                let (piece, master) = (self.seat().pieces()[which], &self.pieces.masters[which]);
                let (other, shadow) = job.lacking(piece);
                let keys: Vec<(usize, SubjectKey)> =
                    admitted.keys().map(|(lane, key)| (lane, master.key(key))).collect();
                let batches = [
                    (Of::Batch, &job.masked),
                    (Of::Witness(self.seat()), job.own.witness.batch()),
                    (Of::Witness(other), shadow),
                ];
                let keys = keys.iter().map(|(lane, key)| (*lane, key));
                scratch.decryptor.partials(master, keys, batches, &job.digest)
            })
        });
        let [[a, of_a, for_a], [b, of_b, for_b]] = made;
        let own = [Version { batch: a, witness: of_a }, Version { batch: b, witness: of_b }];
        Ok(Begun { seat: job.seat, digest: job.digest, own, for_others: [for_a, for_b], admitted })
    }

    /// The result of the parts that other key-holders sent. `last` says that no others will come: only then is a job judged
    /// malformed.
    pub fn judge(&self, job: &SeatJob, begun: &Begun, parts: &[(Seat, Parts)], last: bool) -> Judgement {
        let judgement = self.compare(job, begun, parts, last);
        wipe_stack();
        judgement
    }

    /// In a frame of its own: what scores leave on the stack is below the caller's.
    #[inline(never)]
    fn compare(&self, job: &SeatJob, begun: &Begun, parts: &[(Seat, Parts)], last: bool) -> Judgement {
        let seat = self.seat();
        let mut judgement = Judgement {
            outcome: Outcome::Undecided,
            liars: Vec::new(),
            contradicting: Vec::new(),
            suspect: None,
        };
        // A key-holder that lies about a piece that both have is not believed at all.
        let honest: Vec<&(Seat, Parts)> = parts
            .iter()
            .filter(|(of, part)| {
                let held = |(piece, own): (Piece, &Version)| {
                    part.of(*of, piece).is_none_or(|copy| *copy == own.batch)
                };
                let agrees = seat.pieces().into_iter().zip(&begun.own).all(held);
                if !agrees {
                    judgement.liars.push(*of);
                }
                agrees
            })
            .collect();
        let mut outcomes: Vec<(Seat, Version, Option<LaneSet>)> = Vec::with_capacity(2);
        for (of, part) in honest {
            let Some(batch) = part.of(*of, seat.lacks()) else { continue };
            let version = Version { batch: batch.clone(), witness: part.witness.clone() };
            let known = outcomes.iter().find(|(_, other, _)| *other == version).map(|(.., matched)| *matched);
            let matched = known.unwrap_or_else(|| open(job, begun, &version));
            outcomes.push((*of, version, matched));
        }
        let mut fitting = outcomes.iter().filter_map(|(.., matched)| *matched);
        let first = fitting.next();
        let unanimous = fitting.all(|matched| Some(matched) == first);
        judgement.outcome = match first {
            Some(matched) if unanimous => Outcome::Matched(matched),
            Some(_) => Outcome::Undecided,
            None if last && !outcomes.is_empty() => Outcome::Malformed,
            None => Outcome::Undecided,
        };
        let misfits = outcomes.iter().filter(|(.., matched)| first.is_some() && matched.is_none());
        judgement.liars.extend(misfits.map(|(of, ..)| *of));
        match &outcomes[..] {
            [(a, one, Some(_)), (b, other, Some(_))] if one != other => {
                judgement.contradicting = vec![*a, *b]
            }
            [(one, _, None)] => judgement.suspect = Some(*one),
            _ => {}
        }
        judgement
    }

    /// Ends a job: refunds the failures of lanes that matched and answers, or says why nothing is decided. `heard` says whether
    /// a part may have been sent to another seat: that seat may then decide, so the failure is kept.
    ///
    /// # Errors
    /// [`KeyHolderError::Unavailable`] when the available parts decide nothing, which is a failure if `heard`;
    /// [`KeyHolderError::Malformed`], which is counted; and what a key-holder that is alone may answer.
    pub fn finish(
        &self,
        job: &SeatJob,
        begun: &Begun,
        judged: &Judgement,
        heard: bool,
    ) -> Result<Decisions, KeyHolderError> {
        let tenants = self.key_holder.tenants();
        let tenant = known(&tenants, &job.job.tenant)?;
        let vault = self.key_holder.vault();
        let lanes = job.job.occupied().len();
        let failed = |lanes: usize| tenant.counts.add(Count::Failures, lanes);
        let settle = |matched: Option<LaneSet>| {
            let settled = tenant.settle(vault, &begun.admitted, matched);
            failed(lanes - settled.as_ref().map_or(0, |accepted| accepted.len()));
            settled.map(Decisions::from_lanes)
        };
        match judged.outcome {
            Outcome::Matched(matched) => settle(Some(matched)),
            Outcome::Malformed => settle(None),
            Outcome::Undecided if heard => {
                failed(lanes);
                tenant.keep_failures(vault, &begun.admitted)?;
                Err(KeyHolderError::Unavailable("no other key-holder sent a part that can be trusted".into()))
            }
            Outcome::Undecided => {
                tenant.forgive(&begun.admitted);
                Err(KeyHolderError::Unavailable("no other key-holder sent a part that can be trusted".into()))
            }
        }
    }
}

/// The lanes that match if `version` is of the missing piece, or none if it cannot be: errors outside the band, scores where
/// there is no subject, or scores that the witness does not confirm.
fn open(job: &SeatJob, begun: &Begun, version: &Version) -> Option<LaneSet> {
    let [first, second] = &begun.own;
    let (scheme, own) = (Scheme::shared(), &job.own.witness);
    let opened = Opened::combine(scheme, &job.masked, [&first.batch, &second.batch, &version.batch]);
    let witness = [&first.witness, &second.witness, &version.witness];
    let of_witness = Opened::combine(scheme, own.batch(), witness);
    let honest = opened.within_quorum_band()
        & of_witness.within_quorum_band()
        & nothing_stray(&opened, &job.job)
        & own.confirms(&opened, &of_witness);
    honest.then_some(reached(&opened, job.job.threshold))
}

impl Judgement {
    /// Whether waiting for more parts is of no use.
    pub fn is_final(&self) -> bool {
        !matches!(self.outcome, Outcome::Undecided)
    }
}

impl Begun {
    /// The parts to send to `seat`, and to no other party: with them, that seat opens its witness.
    ///
    /// # Panics
    /// For this key-holder's own seat.
    pub fn parts_for(&self, seat: Seat) -> Parts {
        let [first, second] = &self.own;
        let lacking = self.seat.pieces().iter().position(|piece| *piece == seat.lacks());
        let witness = &self.for_others[lacking.expect("a piece that one seat lacks is held by the others")];
        let partials = [first.batch.clone(), second.batch.clone()];
        Parts { digest: self.digest, partials, witness: witness.clone() }
    }

    /// The name of the batch between key-holders.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}
