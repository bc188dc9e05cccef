//! The key-holder's role in three: any two decide, none decrypts alone.
//!
//! Each of three key-holders has two of the three pieces of every key (`trefoil_bfv::threshold`). A job goes to all of them. Each
//! admits it as a key-holder that is alone would, sends its two partial decryptions to the other two, and decides once it has the
//! piece that it lacks and its witness confirms it. Who asked gets bits from each and never a partial: three partials are scores.

mod decision;
mod job;
mod parts;
mod pieces;

pub use decision::{Begun, Judgement};
pub use job::SeatJob;
pub use parts::Parts;
pub use pieces::Pieces;
pub use trefoil_bfv::threshold::Seat;

use crate::template::Ciphertext;
use crate::{
    AttemptRecord, BlindedTemplate, DecisionPolicy, EncryptedTemplate, EpochRecord, Handle, KeyHolder,
    KeyHolderError, KeyStructure, Lane, PublicKey, SubjectRecord, Template, TenantId, TenantRecord,
};
use std::sync::Arc;
use trefoil_bfv::threshold::{PIECES, Piece};
use trefoil_bfv::{Salt, Scheme, TemplateCiphertext};
use trefoil_kernels::{Cpu, keccak};
use zeroize::Zeroizing;

/// One of three key-holders. Shared between threads by reference.
pub struct QuorumHolder {
    keyholder: Arc<KeyHolder>,
    pieces: Pieces,
}

impl QuorumHolder {
    /// One of three, with the pieces that it was given. Policies, freezes and shredding stay with `keyholder`, which must have no
    /// tenant that three did not make.
    ///
    /// # Errors
    /// [`KeyHolderError::Forbidden`] for a key-holder that has been alone, or was dealt other pieces.
    pub fn new(keyholder: Arc<KeyHolder>, pieces: Pieces) -> Result<QuorumHolder, KeyHolderError> {
        let made_by_three =
            keyholder.tenants_made_from(|tenant| pieces.shared(b"trefoil/quorum/tenant/1", tenant));
        if !made_by_three {
            return Err(KeyHolderError::Forbidden(
                "its vault has tenants that were not made with these pieces: give it the pieces that it was dealt first, or an \
                 empty data directory",
            ));
        }
        Ok(QuorumHolder { keyholder, pieces })
    }

    /// Its seat.
    pub fn seat(&self) -> Seat {
        self.pieces.seat
    }

    /// Makes a tenant with a key per subject; returns its public key, which is the same for all three.
    ///
    /// # Errors
    /// As [`KeyHolder::create_tenant`].
    pub fn create_tenant(
        &self,
        tenant: TenantId,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        let master = *self.pieces.shared(b"trefoil/quorum/tenant/1", &tenant);
        let seed = *self.pieces.shared(b"trefoil/quorum/basis/1", &tenant);
        let epochs = vec![EpochRecord { epoch: 0, master, seed }];
        let keys = KeyStructure::PerSubject;
        self.keyholder.insert_tenant(&TenantRecord { tenant, keys, epochs, policy, frozen: false })
    }

    /// A contribution to the salt of one enrolment, to be sent to the other two.
    pub fn contribute(&self) -> [u8; 32] {
        *Salt::random(&mut *self.keyholder.rng()).expose_bytes()
    }

    /// This key-holder's two parts of a template's ciphertext, piece by piece. `contributions` are those of the three seats in
    /// order; the salt depends on each, so that nobody alone can make a key encrypt twice.
    ///
    /// # Errors
    /// As [`KeyHolder::enrol`].
    pub fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: &BlindedTemplate,
        contributions: &[[u8; 32]; PIECES],
    ) -> Result<[EncryptedTemplate; 2], KeyHolderError> {
        let of = self.keyholder.tenant(&tenant)?;
        // What the key is derived from anyway comes first: no contribution can stand for another subject's.
        let contributed = contributions.as_flattened();
        let salt =
            hash(&[b"trefoil/quorum/salt/1", &tenant, &handle, &generation.to_le_bytes(), contributed]);
        let attempts = AttemptRecord::default();
        let epoch = of.newest()?;
        let number = epoch.number();
        let renewed_from = None;
        let record = SubjectRecord { handle, generation, lane, epoch: number, renewed_from, salt, attempts };
        of.insert(self.keyholder.vault(), &epoch, &record)?;
        let subject = epoch.subject_key(&record);
        let basis = epoch.basis().ok_or(KeyHolderError::Structure)?;
        let mut parts =
            self.pieces.seat.pieces().into_iter().zip(&self.pieces.masters).map(|(piece, master)| {
                let share = (piece == Piece::ALL[0]).then_some(template.share());
                let ciphertext = basis.encrypt_piece(&master.key(&subject), lane.index(), share);
                let ciphertext = Ciphertext::Own(ciphertext);
                let template = Template { tenant, handle, generation, lane, epoch: number, ciphertext };
                EncryptedTemplate { template }
            });
        Ok([parts.next(), parts.next()].map(|part| part.expect("a seat has two pieces")))
    }
}

/// The ciphertext that three key-holders made together, from the two parts that each answered.
///
/// # Errors
/// The two key-holders whose copies of a piece differ, or who answered about something else: one of them lies.
pub fn assemble(answers: &[[EncryptedTemplate; 2]; PIECES]) -> Result<EncryptedTemplate, [Seat; 2]> {
    let copy = |seat: Seat, piece: Piece| {
        let at = seat.pieces().into_iter().position(|held| held == piece).unwrap_or(0);
        &answers[seat.index()][at].template
    };
    let mut sum = Vec::with_capacity(PIECES);
    for piece in Piece::ALL {
        let [one, other] = piece.holders();
        if copy(one, piece) != copy(other, piece) {
            return Err([one, other]);
        }
        match &copy(one, piece).ciphertext {
            Ciphertext::Own(part) => sum.push(part),
            Ciphertext::Pair(_) => return Err([one, other]),
        }
    }
    let ciphertext = Ciphertext::Own(TemplateCiphertext::block(Scheme::shared(), &sum));
    Ok(EncryptedTemplate { template: Template { ciphertext, ..answers[0][0].template.clone() } })
}

/// SHA3-256 over parts of fixed length, but for the last.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let message = Zeroizing::new(parts.concat());
    let mut digest = [[0; 32]];
    keccak::sha3_256(Cpu::detected(), &[&message], &mut digest);
    digest[0]
}
