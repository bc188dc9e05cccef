//! One job at one of three key-holders: parts for the others, and what theirs amount to.

use super::{Parts, QuorumHolder, SeatJob};
use crate::job::Masked;
use crate::keyholder::wipe_stack;
use crate::tenant::Admitted;
use crate::{Decisions, KeyHolderError, LaneSet};
use trefoil_bfv::threshold::{Of, Partial, Piece, Seat};
use trefoil_bfv::{Opened, Scheme, SubjectKey};

/// A job whose failures are counted and whose partial decryptions are made.
pub struct Begun {
    seat: Seat,
    digest: [u8; 32],
    /// Of the batch and of this seat's witness, in the order of its pieces.
    own: [Version; 2],
    /// Of the witness of the seat that lacks each piece.
    for_others: [Partial; 2],
    admitted: Admitted,
    now: u64,
}

/// The partial decryptions with one piece: of the batch, and of the witness of the seat that opens it.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    batch: Partial,
    witness: Partial,
}

/// What the parts of the other two amount to.
pub struct Judgement {
    outcome: Outcome,
    /// These sent parts that differ from what this key-holder computed itself, or that cannot belong to the batch.
    pub liars: Vec<Seat>,
    /// These contradict each other, and this key-holder cannot tell who is right.
    pub contradicting: Vec<Seat>,
    /// The only one whose part is here, if it cannot belong to the batch: this one lies, or the job is not an honest matcher's.
    pub suspect: Option<Seat>,
}

enum Outcome {
    /// Lanes whose score reaches the threshold.
    Matched(LaneSet),
    /// With the parts at hand nothing can be decided.
    Undecided,
    /// No part that is here makes the job an honest matcher's.
    Malformed,
}

impl QuorumHolder {
    /// Admits a job, counting a failure for each lane, and makes this key-holder's partial decryptions.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane can be decided.
    pub fn begin(&self, job: &SeatJob, now: u64) -> Result<Begun, KeyHolderError> {
        if job.seat != self.seat() {
            return Err(KeyHolderError::Forbidden("the job is for another seat"));
        }
        let tenant = self.keyholder.tenant(&job.job.tenant)?;
        let admitted = tenant.admit(&job.job, now)?;
        let vouched = match (&job.job.masked, admitted.epoch.tag_key()) {
            (Masked::Own(tag, batch), Some(key)) => key.vouches(batch, tag),
            _ => false,
        };
        if !vouched {
            // Parts of what a matcher made up are for nobody.
            tenant.record_malformed(self.keyholder.vault(), &job.job, now)?;
            return Err(KeyHolderError::Malformed);
        }
        let mut decryptor = self.keyholder.decryptor();
        let made = [0, 1].map(|which| {
            let (piece, master) = (self.seat().pieces()[which], &self.pieces.masters[which]);
            let (other, shadow) = job.lacking(piece);
            let keys: Vec<SubjectKey> = admitted.keys.iter().flatten().map(|key| master.key(key)).collect();
            let batches = [
                (Of::Batch, &job.masked),
                (Of::Witness(self.seat()), job.witness.batch()),
                (Of::Witness(other), shadow),
            ];
            decryptor.partials(master, &keys, batches, &job.digest)
        });
        self.keyholder.put_back(decryptor);
        let [[a, of_a, for_a], [b, of_b, for_b]] = made;
        let own = [Version { batch: a, witness: of_a }, Version { batch: b, witness: of_b }];
        Ok(Begun { seat: job.seat, digest: job.digest, own, for_others: [for_a, for_b], admitted, now })
    }

    /// What follows from the parts that other key-holders sent. `last` says that no others will come: only then is a job judged
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
        // Whoever lies about a piece that both have is believed nothing.
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

    /// Ends a job: takes back the failures of lanes that matched and answers, or says why nothing is decided.
    ///
    /// # Errors
    /// [`KeyHolderError::Unavailable`] when the parts at hand decide nothing, [`KeyHolderError::Malformed`], which is counted, and
    /// what a key-holder that is alone may answer.
    pub fn finish(
        &self,
        job: &SeatJob,
        begun: &Begun,
        judged: &Judgement,
    ) -> Result<Decisions, KeyHolderError> {
        let tenant = self.keyholder.tenant(&job.job.tenant)?;
        let vault = self.keyholder.vault();
        match judged.outcome {
            Outcome::Matched(matched) => {
                tenant.settle(vault, &job.job, &begun.admitted, matched, begun.now).map(Decisions::from_lanes)
            }
            Outcome::Malformed => {
                tenant.record_malformed(vault, &job.job, begun.now)?;
                Err(KeyHolderError::Malformed)
            }
            Outcome::Undecided => {
                Err(KeyHolderError::Unavailable("no other key-holder sent a part that can be trusted".into()))
            }
        }
    }
}

/// The lanes that match if `version` is of the piece that is lacking, or nothing if it cannot be: errors outside of the band, scores where
/// there is no subject, or scores that the witness does not confirm.
fn open(job: &SeatJob, begun: &Begun, version: &Version) -> Option<LaneSet> {
    let [first, second] = &begun.own;
    let scheme = Scheme::shared();
    let opened = Opened::combine(scheme, &job.masked, [&first.batch, &second.batch, &version.batch]);
    let witness = [&first.witness, &second.witness, &version.witness];
    let of_witness = Opened::combine(scheme, job.witness.batch(), witness);
    let stray = opened.scores().iter().zip(&job.job.subjects).filter(|(_, subject)| subject.is_none());
    let stray = stray.fold(0, |bits, (score, _)| bits | score);
    let threshold = begun.admitted.threshold;
    let reached =
        opened.scores().iter().rev().fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold));
    let honest = opened.within_quorum_band()
        && of_witness.within_quorum_band()
        && stray == 0
        && job.witness.confirms(&opened, &of_witness);
    honest.then_some(LaneSet::from_bits(reached))
}

impl Judgement {
    /// Whether waiting for more parts is of no use.
    pub fn is_final(&self) -> bool {
        !matches!(self.outcome, Outcome::Undecided)
    }
}

impl Begun {
    /// What to send to `seat`, and to nobody else: with this, that seat opens its witness.
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
