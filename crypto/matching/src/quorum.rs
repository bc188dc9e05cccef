//! The key-holder's role in three: any two decide, none decrypts alone.
//!
//! Each of three key-holders has two of the three pieces of every key (`trefoil_bfv::threshold`). A job goes to all of them. Each
//! admits it as a key-holder that is alone would, sends its two partial decryptions to the other two, and decides once it has the
//! piece that it lacks. Who asked gets bits from each and never a partial: three partials are scores.

use crate::job::Masked;
use crate::keyholder::wipe_stack;
use crate::template::Ciphertext;
use crate::tenant::Admitted;
use crate::{
    AttemptRecord, BlindedTemplate, DecisionPolicy, Decisions, EncryptedTemplate, EpochRecord, Handle,
    KeyHolder, KeyHolderError, KeyStructure, Lane, LaneSet, MatchJob, PublicKey, SubjectRecord, Template,
    TenantId, TenantRecord,
};
use rand::CryptoRng;
use std::sync::Arc;
use trefoil_bfv::threshold::{PIECES, Partial, Piece, PieceMaster};
use trefoil_bfv::{MaskedBatch, Opened, Salt, Scheme, SubjectKey, TemplateCiphertext};
use trefoil_kernels::{Cpu, keccak};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub use trefoil_bfv::threshold::Seat;

/// First bytes of encoded [`Pieces`]: format and version.
const PIECES_MAGIC: [u8; 4] = *b"TFP1";
/// First bytes of an encoded [`Parts`].
const PARTS_MAGIC: [u8; 4] = *b"TFD1";

/// What one of three key-holders is given once: its seat, what all three know, and its two pieces. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Pieces {
    #[zeroize(skip)]
    seat: Seat,
    /// Tells tenants and subjects apart; protects nothing from the other two.
    common: [u8; 32],
    masters: [PieceMaster; 2],
}

/// One of three key-holders. Shared between threads by reference.
pub struct QuorumHolder {
    keyholder: Arc<KeyHolder>,
    pieces: Pieces,
}

/// A job whose failures are counted and whose two partial decryptions are made.
pub struct Begun {
    digest: [u8; 32],
    own: Parts,
    admitted: Admitted,
    now: u64,
}

/// What one key-holder tells the others about one batch: the partial decryptions of its two pieces. Wiped on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Parts {
    #[zeroize(skip)]
    digest: [u8; 32],
    partials: [Partial; 2],
}

/// What the parts of the other two amount to.
pub struct Judgement {
    outcome: Outcome,
    /// These sent parts that differ from what this key-holder computed itself, or that cannot belong to the batch.
    pub liars: Vec<Seat>,
    /// These contradict each other, and this key-holder cannot tell who is right.
    pub contradicting: Vec<Seat>,
}

enum Outcome {
    /// Lanes whose score reaches the threshold.
    Matched(LaneSet),
    /// With the parts at hand nothing can be decided.
    Undecided,
    /// No part that is here makes the job an honest matcher's.
    Malformed,
}

impl Pieces {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 1 + 3 * 32;

    /// Makes the pieces of three key-holders. Whoever sees the result knows every key to come: write each to its own place, and
    /// drop it.
    pub fn deal(rng: &mut impl CryptoRng) -> [Pieces; PIECES] {
        let mut common = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *common);
        let masters = [(); PIECES].map(|()| PieceMaster::random(rng));
        Seat::ALL.map(|seat| Pieces {
            seat,
            common: *common,
            masters: seat.pieces().map(|piece| masters[piece.index()].clone()),
        })
    }

    /// Whose they are.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The canonical encoding, secret: magic, seat, what all know, two pieces.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(Pieces::BYTES));
        bytes.extend_from_slice(&PIECES_MAGIC);
        bytes.push(self.seat.index() as u8);
        bytes.extend_from_slice(&self.common);
        self.masters.iter().for_each(|master| bytes.extend_from_slice(master.expose_bytes()));
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Pieces> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let ([seat], rest) = rest.split_first_chunk::<1>()?;
        let (common, rest) = rest.split_first_chunk::<32>()?;
        let (first, rest) = rest.split_first_chunk::<32>()?;
        let second: &[u8; 32] = rest.try_into().ok()?;
        let masters = [*first, *second].map(PieceMaster::from_bytes);
        let seat = Seat::new(usize::from(*seat))?;
        (*magic == PIECES_MAGIC).then_some(Pieces { seat, common: *common, masters })
    }

    /// 32 bytes that all three derive alike.
    fn shared(&self, domain: &[u8], tenant: &TenantId) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(hash(&[domain, &self.common, tenant]))
    }
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
        let contributed = contributions.as_flattened();
        let salt =
            hash(&[b"trefoil/quorum/salt/1", &tenant, &handle, &generation.to_le_bytes(), contributed]);
        let attempts = AttemptRecord::default();
        let epoch = of.newest()?;
        let number = epoch.number();
        let record = SubjectRecord { handle, generation, lane, epoch: number, salt, attempts };
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

    /// Admits a job, counting a failure for each lane, and makes this key-holder's partial decryptions.
    ///
    /// # Errors
    /// [`KeyHolderError`] when no lane can be decided.
    pub fn begin(&self, job: &MatchJob, now: u64) -> Result<Begun, KeyHolderError> {
        let tenant = self.keyholder.tenant(&job.tenant)?;
        let Some(masked) = masked(job).filter(|_| job.is_well_formed()) else {
            tenant.record_malformed(self.keyholder.vault(), job, now)?;
            return Err(KeyHolderError::Malformed);
        };
        let admitted = tenant.admit(job, now)?;
        let digest = digest(job);
        let mut decryptor = self.keyholder.decryptor();
        let partials = self.pieces.masters.each_ref().map(|master| {
            let keys: Vec<SubjectKey> = admitted.keys.iter().flatten().map(|key| master.key(key)).collect();
            decryptor.partial(master, &keys, masked, &digest)
        });
        self.keyholder.put_back(decryptor);
        Ok(Begun { digest, own: Parts { digest, partials }, admitted, now })
    }

    /// What follows from the parts that other key-holders sent. `last` says that no others will come: only then, or when both are
    /// here, is a job judged malformed.
    pub fn judge(&self, job: &MatchJob, begun: &Begun, parts: &[(Seat, Parts)], last: bool) -> Judgement {
        let judgement = self.compare(job, begun, parts, last);
        wipe_stack();
        judgement
    }

    /// In a frame of its own: what scores leave on the stack is below the caller's.
    #[inline(never)]
    fn compare(&self, job: &MatchJob, begun: &Begun, parts: &[(Seat, Parts)], last: bool) -> Judgement {
        let seat = self.pieces.seat;
        let mut judgement =
            Judgement { outcome: Outcome::Undecided, liars: Vec::new(), contradicting: Vec::new() };
        // Whoever lies about a piece that both have is believed nothing.
        let honest: Vec<&(Seat, Parts)> = parts
            .iter()
            .filter(|(of, part)| {
                let held =
                    |(piece, own): (Piece, &Partial)| part.of(*of, piece).is_none_or(|copy| copy == own);
                let agrees = seat.pieces().into_iter().zip(&begun.own.partials).all(held);
                if !agrees {
                    judgement.liars.push(*of);
                }
                agrees
            })
            .collect();
        let mut outcomes: Vec<(Seat, &Partial, Option<LaneSet>)> = Vec::with_capacity(2);
        for (of, part) in honest {
            let Some(copy) = part.of(*of, seat.lacks()) else { continue };
            let known = outcomes.iter().find(|(_, other, _)| *other == copy).map(|(.., matched)| *matched);
            let matched = known.unwrap_or_else(|| self.open(job, begun, copy));
            outcomes.push((*of, copy, matched));
        }
        let mut fitting = outcomes.iter().filter_map(|(.., matched)| *matched);
        let first = fitting.next();
        let unanimous = fitting.all(|matched| Some(matched) == first);
        judgement.outcome = match first {
            Some(matched) if unanimous => Outcome::Matched(matched),
            Some(_) => Outcome::Undecided,
            None if outcomes.len() == 2 || (last && !outcomes.is_empty()) => Outcome::Malformed,
            None => Outcome::Undecided,
        };
        let misfits = outcomes.iter().filter(|(.., matched)| first.is_some() && matched.is_none());
        judgement.liars.extend(misfits.map(|(of, ..)| *of));
        if let [(a, one, Some(_)), (b, other, Some(_))] = outcomes[..]
            && one != other
        {
            judgement.contradicting = vec![a, b];
        }
        judgement
    }

    /// The lanes that match if `copy` is the piece that is lacking, or nothing if it cannot be.
    fn open(&self, job: &MatchJob, begun: &Begun, copy: &Partial) -> Option<LaneSet> {
        let [first, second] = &begun.own.partials;
        let opened = Opened::combine(Scheme::shared(), masked(job)?, [first, second, copy]);
        let stray = opened.scores().iter().zip(&job.subjects).filter(|(_, subject)| subject.is_none());
        let stray = stray.fold(0, |bits, (score, _)| bits | score);
        let threshold = begun.admitted.threshold;
        let reached =
            opened.scores().iter().rev().fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold));
        (opened.within_quorum_band() && stray == 0).then_some(LaneSet::from_bits(reached))
    }

    /// Ends a job: takes back the failures of lanes that matched and answers, or says why nothing is decided.
    ///
    /// # Errors
    /// [`KeyHolderError::Unavailable`] when the parts at hand decide nothing, [`KeyHolderError::Malformed`], which is counted, and
    /// what a key-holder that is alone may answer.
    pub fn finish(
        &self,
        job: &MatchJob,
        begun: &Begun,
        judged: &Judgement,
    ) -> Result<Decisions, KeyHolderError> {
        let tenant = self.keyholder.tenant(&job.tenant)?;
        let vault = self.keyholder.vault();
        match judged.outcome {
            Outcome::Matched(matched) => {
                tenant.settle(vault, job, &begun.admitted, matched, begun.now).map(Decisions::from_lanes)
            }
            Outcome::Malformed => {
                tenant.record_malformed(vault, job, begun.now)?;
                Err(KeyHolderError::Malformed)
            }
            Outcome::Undecided => {
                Err(KeyHolderError::Unavailable("no other key-holder sent a part that can be trusted".into()))
            }
        }
    }
}

impl Judgement {
    /// Whether waiting for more parts is of no use.
    pub fn is_final(&self) -> bool {
        !matches!(self.outcome, Outcome::Undecided)
    }
}

impl Begun {
    /// What to send to the other two.
    pub fn parts(&self) -> &Parts {
        &self.own
    }

    /// The name of the batch between key-holders.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl Parts {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 32 + 2 * Partial::BYTES;

    /// The batch that they are about: SHA3-256 of the whole job.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The canonical encoding, for the other two key-holders only.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let [first, second] = &self.partials;
        let partials = [first.to_bytes(), second.to_bytes()].map(Zeroizing::new);
        Zeroizing::new([&PARTS_MAGIC[..], &self.digest, &partials[0], &partials[1]].concat())
    }

    /// Reads the canonical encoding and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Parts> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (digest, rest) = rest.split_first_chunk::<32>()?;
        let (first, second) = rest.split_at_checked(Partial::BYTES)?;
        let partial = |bytes| Partial::from_bytes(Scheme::shared(), bytes).ok();
        let partials = [partial(first)?, partial(second)?];
        (*magic == PARTS_MAGIC).then_some(Parts { digest: *digest, partials })
    }

    /// The part of one piece, if `seat`, who sent these, has it.
    fn of(&self, seat: Seat, piece: Piece) -> Option<&Partial> {
        seat.pieces().into_iter().zip(&self.partials).find(|(held, _)| *held == piece).map(|(_, part)| part)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts(..)")
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

/// The batch of a job of the only kind that three key-holders decide: keys per subject, plain probes.
fn masked(job: &MatchJob) -> Option<&MaskedBatch> {
    match &job.masked {
        Masked::Own(batch) => Some(batch),
        Masked::Pairs(_) | Masked::Product(_) => None,
    }
}

/// SHA3-256 of the whole job, which what is derived from it must never be shared with another.
fn digest(job: &MatchJob) -> [u8; 32] {
    hash(&[b"trefoil/quorum/job/1", &job.to_bytes()])
}

/// SHA3-256 over parts of fixed length, but for the last.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let message = Zeroizing::new(parts.concat());
    let mut digest = [[0; 32]];
    keccak::sha3_256(Cpu::detected(), &[&message], &mut digest);
    digest[0]
}
