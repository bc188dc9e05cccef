//! The key-holder's role in three: any two decide, none decrypts alone.
//!
//! Each of three key-holders has two of the three pieces of every key (`trefoil_bfv::threshold`). A job goes to all of them. Each
//! admits it as a single key-holder would, sends its two partial decryptions to the other two, and decides once it has the
//! piece that it lacks and its witness confirms it. The caller gets bits from each and never a partial: three partials are scores.

mod contributions;
mod decision;
mod job;
mod parts;
mod pieces;

pub use crate::keys::SeatKey;
pub use decision::{Begun, Judgement};
pub use job::SeatJob;
pub use parts::Parts;
pub use pieces::Pieces;
pub use trefoil_bfv::threshold::Seat;

use crate::hash::hash;
use crate::key_holder::known;
use crate::template::Ciphertext;
use crate::tenant::Count;
use crate::{
    AttemptRecord, BlindedTemplate, DecisionPolicy, EncryptedTemplate, EpochRecord, KeyHolder,
    KeyHolderError, KeyStructure, Lane, Model, SubjectRecord, Template, TemplateName, TenantId, TenantRecord,
};
use contributions::Contributions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trefoil_bfv::threshold::{PIECES, Piece};
use trefoil_bfv::{Scheme, TemplateCiphertext};

/// A template that a quorum encrypts together, as each seat receives it.
#[derive(Debug, Serialize, Deserialize)]
pub struct SeatEnrolment {
    /// Whose.
    pub name: TemplateName,
    /// Where.
    pub lane: Lane,
    /// The model of its vector.
    pub model: Model,
    /// The key-holders' share.
    pub template: BlindedTemplate,
    /// Each seat's contribution to the salt, in order.
    pub contributions: [[u8; 32]; PIECES],
}

/// One key-holder of a quorum. Shared between threads by reference.
pub struct QuorumHolder {
    key_holder: Arc<KeyHolder>,
    pieces: Pieces,
    contributions: Contributions,
}

impl QuorumHolder {
    /// One of three, with the pieces that it was given. Policies, freezes and shredding stay with `key_holder`, which must have no
    /// tenant that three did not make.
    ///
    /// # Errors
    /// [`KeyHolderError::Forbidden`] for a key-holder that ran as a single one, or was dealt other pieces.
    pub fn new(key_holder: Arc<KeyHolder>, pieces: Pieces) -> Result<QuorumHolder, KeyHolderError> {
        let made_by_three =
            key_holder.tenants_made_from(|tenant| pieces.shared(b"trefoil/quorum/tenant/1", tenant));
        if !made_by_three {
            return Err(KeyHolderError::forbidden(
                "its vault has tenants that were not made with these pieces: give it the pieces that it was dealt first, or an \
                 empty data directory",
            ));
        }
        Ok(QuorumHolder { key_holder, pieces, contributions: Contributions::default() })
    }

    /// Its seat.
    pub fn seat(&self) -> Seat {
        self.pieces.seat
    }

    /// The keys, policies and budgets of this seat.
    pub fn key_holder(&self) -> &KeyHolder {
        &self.key_holder
    }

    /// This seat's share of a tenant's public key, with tag bases of these versions ([`crate::PublicKey::of_quorum`]).
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn seat_key(
        &self,
        tenant: TenantId,
        versions: crate::keys::Versions,
    ) -> Result<SeatKey, KeyHolderError> {
        let tenants = self.key_holder.tenants();
        let of = known(&tenants, &tenant)?;
        let epoch = of.newest()?;
        let basis = epoch.basis().ok_or(KeyHolderError::Structure)?;
        let masters = &self.pieces.masters;
        let summand = |at: usize, seat: Seat| masters[at].tags(seat).basis(basis, versions[seat.index()]);
        let [one, other] = self.seat().pieces().map(Piece::holders);
        let summands = Box::new([one.map(|seat| summand(0, seat)), other.map(|seat| summand(1, seat))]);
        Ok(SeatKey { version: of.version(), epoch: epoch.number(), seed: epoch.seed(), summands })
    }

    /// Makes a tenant with a key per subject. This seat allows two thirds of the attempts that `policy` allows, because a malicious gateway
    /// shows every batch to two seats of its choice.
    ///
    /// # Errors
    /// As [`KeyHolder::create_tenant`].
    pub fn create_tenant(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        let master = *self.pieces.shared(b"trefoil/quorum/tenant/1", &tenant);
        let seed = *self.pieces.shared(b"trefoil/quorum/basis/1", &tenant);
        let tags = self.pieces.masters.each_ref().map(|master| *master.tags(self.seat()).expose_bytes());
        let epochs = vec![EpochRecord { epoch: 0, master, seed, tags }];
        let (keys, policy) = (KeyStructure::PerSubject, policy.of_one_of_three());
        let created = self.key_holder.insert_tenant(&TenantRecord {
            tenant,
            keys,
            epochs,
            policy,
            malformed: 0,
            forgiven: 0,
        });
        created.map(drop)
    }

    /// See [`KeyHolder::set_policy`], and [`QuorumHolder::create_tenant`] for the share that this seat applies.
    ///
    /// # Errors
    /// As [`KeyHolder::set_policy`].
    pub fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        self.key_holder.set_policy(tenant, policy.of_one_of_three())
    }

    /// This seat's contribution to the salt of one enrolment, for the gateway to send to all three. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError::Unavailable`] while too many enrolments are started and not finished.
    pub fn contribute(&self, name: TemplateName, now: u64) -> Result<[u8; 32], KeyHolderError> {
        let mut salt = [0; 32];
        self.key_holder.generator().fill(&mut salt);
        match self.contributions.put(name, salt, now) {
            true => Ok(salt),
            false => Err(KeyHolderError::Unavailable(
                "too many enrolments are in progress: retry in a minute".to_owned(),
            )),
        }
    }

    /// This key-holder's two parts of a template's ciphertext, piece by piece. The salt depends on each seat's contribution, so that
    /// none alone can make a key encrypt twice. This seat's must be the one that it made last for this template, and is used up.
    ///
    /// # Errors
    /// As [`KeyHolder::enrol`]; [`KeyHolderError::Forbidden`] when this seat's contribution is not among them.
    ///
    /// # Panics
    /// Never: a seat has two pieces.
    pub fn enrol(&self, enrolment: &SeatEnrolment) -> Result<[EncryptedTemplate; 2], KeyHolderError> {
        let SeatEnrolment { name, lane, model, template, contributions } = enrolment;
        let (TemplateName { tenant, handle, generation }, lane, model) = (*name, *lane, *model);
        let own = contributions[self.seat().index()];
        if !self.contributions.take(name, &own) {
            return Err(KeyHolderError::forbidden("the enrolment lacks this key-holder's contribution"));
        }
        let tenants = self.key_holder.tenants();
        let of = known(&tenants, &tenant)?;
        of.check_model(model, template.share())?;
        // The inputs of the key derivation come first, so that no contribution can stand for another subject's.
        let contributed = contributions.as_flattened();
        let salt = hash(&[
            b"trefoil/quorum/salt/1",
            tenant.as_bytes(),
            handle.as_bytes(),
            &generation.to_le_bytes(),
            contributed,
        ]);
        let attempts = AttemptRecord::default();
        let epoch = of.newest()?;
        let number = epoch.number();
        let renewed_from = None;
        let record =
            SubjectRecord { handle, generation, lane, model, epoch: number, renewed_from, salt, attempts };
        of.insert(self.key_holder.vault(), &epoch, &record)?;
        of.counts.add(Count::Enrolments, 1);
        let subject = epoch.subject_key(&record);
        let basis = epoch.basis().ok_or(KeyHolderError::Structure)?;
        let mut parts =
            self.pieces.seat.pieces().into_iter().zip(&self.pieces.masters).map(|(piece, master)| {
                let share = (piece == Piece::ALL[0]).then_some(template.share());
                let ciphertext =
                    basis.encrypt_piece(&master.key(&subject), lane.index(), model.width(), share);
                let ciphertext = Ciphertext::Own(ciphertext);
                let template =
                    Template { tenant, handle, generation, lane, model, epoch: number, ciphertext };
                EncryptedTemplate { template }
            });
        Ok([parts.next(), parts.next()].map(|part| part.expect("a seat has two pieces")))
    }
}

/// The ciphertext that three key-holders made together, from the two parts that each answered.
///
/// # Errors
/// The seats that may have lied: every pair of them that has a piece in common answered differently about it. One alone, where each of the
/// others contradicts it and they agree; otherwise a liar is among them.
pub fn assemble(answers: &[[EncryptedTemplate; 2]; PIECES]) -> Result<EncryptedTemplate, Vec<Seat>> {
    let copy = |seat: Seat, piece: Piece| {
        let at = seat.pieces().into_iter().position(|held| held == piece).unwrap_or(0);
        &answers[seat.index()][at].template
    };
    let mut sum = Vec::with_capacity(PIECES);
    let mut contradicted: Vec<Seat> = Vec::new();
    for piece in Piece::ALL {
        let [one, other] = piece.holders();
        match &copy(one, piece).ciphertext {
            Ciphertext::Own(part) if copy(one, piece) == copy(other, piece) => sum.push(part),
            _ => contradicted.extend([one, other]),
        }
    }
    if !contradicted.is_empty() {
        let by_both = |seat: &Seat| contradicted.iter().filter(|named| named == &seat).count() == 2;
        let convicted: Vec<Seat> = Seat::ALL.into_iter().filter(by_both).collect();
        contradicted.sort_unstable();
        return Err(if convicted.len() == 1 { convicted } else { deduplicated(contradicted) });
    }
    let ciphertext = Ciphertext::Own(TemplateCiphertext::block(Scheme::shared(), &sum));
    Ok(EncryptedTemplate { template: Template { ciphertext, ..answers[0][0].template.clone() } })
}

fn deduplicated(mut seats: Vec<Seat>) -> Vec<Seat> {
    seats.dedup();
    seats
}
