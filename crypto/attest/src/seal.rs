//! The seal: one tree root signed by all three families, as COSE receipts (RFC 9942) without their inclusion proof.

use alloc::string::String;
use alloc::vec::Vec;

use sha3::{Digest as _, Sha3_256};

use crate::cbor::{Reader, Writer, sig_structure};
use crate::error::{DecodeError, Problem};
use crate::family::Family;
use crate::restoration::Restoration;
use crate::statement::{NAME_BYTES_MAX, StatementError, TREFOIL_CLAIM, is_name, read_suite};
use crate::suite::Suite;
use crate::tree::{EMPTY_ROOT, Hash};
use crate::vault::{VAULTS_MAX, VaultState};
use trefoil_types::KeySetId;

/// Name and version of the seal format; inside the signed bytes it separates them from everything else.
pub const SEAL_FORMAT: &str = "trefoil:seal/3";
/// Upper bound on an encoded seal.
pub const SEAL_BYTES_MAX: usize = 24 * 1024;

/// Upper bound on an encoded header.
pub const HEADER_BYTES_MAX: usize = 768;

/// COSE header labels: alg and kid (RFC 9052), CWT claims (RFC 9597), verifiable data structure and its proofs
/// (RFC 9942).
const ALG: i64 = 1;
const KID: i64 = 4;
const CWT_CLAIMS: i64 = 15;
const VDS: i64 = 395;
const VDP: i64 = 396;
/// `RFC9162_SHA256` (RFC 9942).
const VDS_RFC9162_SHA256: i64 = 1;
/// CBOR tag of COSE_Sign1 (RFC 9052).
const COSE_SIGN1: u64 = 18;
/// Longest protected header; bounds the reader.
const PROTECTED_BYTES_MAX: usize = 672;

/// What a seal says about its tree. All of it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealHeader {
    /// The service that seals, 1 to 255 bytes.
    pub issuer: String,
    /// Key set that signs.
    pub key_set_id: KeySetId,
    /// Position in the issuer's chain of seals, from 0.
    pub seal_number: u64,
    /// [`SealHeader::digest`] of the seal before; zeros for number 0.
    pub previous: [u8; 32],
    /// Root of the RFC 9162 tree over the digests of all seals before, `seal_number` of them: every seal is a signed
    /// head of the log of seals.
    pub log_root: Hash,
    /// Leaves of the tree, at least 1.
    pub tree_size: u64,
    /// Root of the tree over the statement digests.
    pub root: Hash,
    /// Time of signing, Unix seconds.
    pub time: u64,
    /// The families that sign.
    pub suite: Suite,
    /// The state of each key-holder's vault as the service saw it last, in the order of the seats; `None` where it never
    /// saw it. Empty where no key-holder has a vault, at most [`VAULTS_MAX`] otherwise.
    pub vaults: Vec<Option<VaultState>>,
    /// The newest restoration of this log from a backup, this seal's own if it is the first after it; `None` where the log never
    /// was restored.
    pub restored: Option<Restoration>,
}

/// A header with its three signatures, in the order of [`Family::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// What is signed.
    pub header: SealHeader,
    /// One signature per family over [`SealHeader::to_be_signed`].
    pub signatures: [Vec<u8>; 3],
}

impl SealHeader {
    /// Checks the limits of the fields.
    ///
    /// # Errors
    /// The first field outside its limits.
    pub fn check(&self) -> Result<(), StatementError> {
        let refuse = |field, limits| Err(StatementError { field, limits });
        if !is_name(&self.issuer, NAME_BYTES_MAX) {
            return refuse("seal.issuer", "1 to 255 bytes without control characters");
        }
        if self.tree_size == 0 {
            return refuse("seal.tree_size", "at least 1");
        }
        if self.seal_number == 0 && self.previous != [0; 32] {
            return refuse("seal.previous", "zeros for seal number 0");
        }
        if self.vaults.len() > VAULTS_MAX {
            return refuse("seal.vaults", "at most 3");
        }
        if self.seal_number == 0 && self.log_root != EMPTY_ROOT {
            return refuse("seal.log_root", "the root of the empty tree for seal number 0");
        }
        // One that is dated ahead would excuse every seal that another branch of the log makes until then.
        let later = |restored: &Restoration| restored.first > self.seal_number || restored.time > self.time;
        if self.restored.as_ref().is_some_and(later) {
            return refuse("seal.restored", "of a restoration that this seal follows, by number and by time");
        }
        Ok(())
    }

    /// SHA3-256 of [`SealHeader::encode`]: what the next seal names as `previous` and a compact attestation as its seal.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha3_256::digest(self.encode()).into()
    }

    /// The header's own encoding, without signatures: what a log keeps of a seal that it has pruned.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        self.write(&mut Writer(&mut out));
        out
    }

    /// Decodes the one canonical encoding of a header. No seal is one, and no header is a seal.
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > HEADER_BYTES_MAX {
            return Err(r.error("header", Problem::WrongLength));
        }
        let header = Self::read(&mut r)?;
        r.finish("header")?;
        Ok(header)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(4);
        w.bytes(self.key_set_id.as_bytes());
        self.write_claims(w);
        w.int(VDS_RFC9162_SHA256);
        w.bytes(&self.root);
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("header", 4..=4)?;
        let key_set_id = r.fixed("seal.kid")?;
        let header = Self::read_claims(r, KeySetId::new(key_set_id), [0; 32])?;
        r.key("seal.vds", VDS_RFC9162_SHA256)?;
        let root = r.fixed("seal.root")?;
        Ok(Self { root, ..header })
    }

    /// The bytes one family signs: the `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4) with the root as its
    /// detached payload.
    #[must_use]
    pub fn to_be_signed(&self, family: Family) -> Vec<u8> {
        sig_structure(&self.protected(family), &self.root)
    }

    /// The protected header of one family's COSE_Sign1.
    fn protected(&self, family: Family) -> Vec<u8> {
        let mut out = Vec::with_capacity(384);
        let mut w = Writer(&mut out);
        w.map(4);
        w.key(ALG).int(family.cose_algorithm());
        w.key(KID).bytes(self.key_set_id.as_bytes());
        self.write_claims(w.key(CWT_CLAIMS));
        w.key(VDS).int(VDS_RFC9162_SHA256);
        out
    }

    fn write_claims(&self, w: &mut Writer<'_>) {
        w.map(4);
        w.key(1).text(&self.issuer);
        w.key(6).uint(self.time);
        w.key(265).text(SEAL_FORMAT);
        w.key(TREFOIL_CLAIM).map(6 + usize::from(self.restored.is_some()));
        w.key(1).uint(self.suite.number());
        w.key(2).uint(self.seal_number);
        w.key(3).bytes(&self.previous);
        w.key(4).uint(self.tree_size);
        w.key(5).bytes(&self.log_root);
        VaultState::write_all(&self.vaults, w.key(6));
        if let Some(restored) = &self.restored {
            restored.write(w.key(7));
        }
    }

    /// Reads the protected header of the first family; the root comes from beside it.
    fn from_protected(protected: &[u8], root: Hash) -> Result<Self, DecodeError> {
        let mut r = Reader::new(protected);
        r.map("seal.protected", 4)?;
        r.key("seal.alg", ALG)?.key("seal.alg", Family::ALL[0].cose_algorithm())?;
        let key_set_id = r.key("seal.kid", KID)?.fixed("seal.kid")?;
        let header = Self::read_claims(r.key("seal.claims", CWT_CLAIMS)?, KeySetId::new(key_set_id), root)?;
        r.key("seal.vds", VDS)?.key("seal.vds", VDS_RFC9162_SHA256)?;
        r.finish("seal.protected")?;
        Ok(header)
    }

    /// Reads what [`SealHeader::write_claims`] writes.
    fn read_claims(r: &mut Reader<'_>, key_set_id: KeySetId, root: Hash) -> Result<Self, DecodeError> {
        r.map("seal.claims", 4)?;
        let issuer = r.key("seal.iss", 1)?.text("seal.iss", NAME_BYTES_MAX)?.into();
        let time = r.key("seal.iat", 6)?.uint("seal.iat")?;
        r.key("seal.eat_profile", 265)?.format("seal.eat_profile", SEAL_FORMAT)?;
        let fields = r.key("seal.trefoil", TREFOIL_CLAIM)?.map_of("seal.trefoil", 6..=7)?;
        let suite = read_suite(r.key("seal.suite", 1)?)?;
        let seal_number = r.key("seal.number", 2)?.uint("seal.number")?;
        let previous = r.key("seal.previous", 3)?.fixed("seal.previous")?;
        let tree_size = r.key("seal.tree_size", 4)?.uint("seal.tree_size")?;
        let log_root = r.key("seal.log_root", 5)?.fixed("seal.log_root")?;
        let vaults = VaultState::read_all(r.key("seal.vaults", 6)?)?;
        let restored = match fields {
            7 => Some(Restoration::read(r.key("seal.restored", 7)?)?),
            _ => None,
        };
        let end = r.clone();
        let header = Self {
            issuer,
            key_set_id,
            seal_number,
            previous,
            log_root,
            tree_size,
            root,
            time,
            suite,
            vaults,
            restored,
        };
        header.check().map_err(|error| end.error(error.field, Problem::OutOfRange))?;
        Ok(header)
    }
}

impl Seal {
    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEAL_BYTES_MAX);
        self.write(&mut Writer(&mut out));
        out
    }

    /// Decodes the one canonical encoding of a seal. The signatures are not verified: see
    /// [`verify_seal`](crate::verify_seal).
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > SEAL_BYTES_MAX {
            return Err(r.error("seal", Problem::WrongLength));
        }
        let seal = Self::read(&mut r)?;
        r.finish("seal")?;
        Ok(seal)
    }

    /// One family's receipt as RFC 9942 defines it, with the inclusion proof of one leaf in its unprotected header.
    /// Any COSE library can verify it with the recomputed root as detached payload.
    #[must_use]
    pub fn receipt(&self, family: Family, leaf_index: u64, path: &[Hash]) -> Vec<u8> {
        let mut proof = Vec::with_capacity(32 + 34 * path.len());
        let mut w = Writer(&mut proof);
        w.array(3);
        w.uint(self.header.tree_size);
        w.uint(leaf_index);
        write_path(&mut w, path);

        let mut out = Vec::with_capacity(512 + proof.len() + family.signature_bytes());
        let mut w = Writer(&mut out);
        w.tag(COSE_SIGN1);
        w.array(4);
        w.bytes(&self.header.protected(family));
        w.map(1);
        w.key(VDP).map(1);
        w.key(-1).array(1);
        w.bytes(&proof);
        w.null();
        w.bytes(&self.signatures[family.index()]);
        out
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(4);
        w.bytes(&self.header.root);
        for family in Family::ALL {
            w.tag(COSE_SIGN1);
            w.array(4);
            w.bytes(&self.header.protected(family));
            w.map(0);
            w.null();
            w.bytes(&self.signatures[family.index()]);
        }
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("seal", 4..=4)?;
        let root = r.fixed("seal.root")?;
        let (protected, first) = read_receipt(r, Family::ALL[0])?;
        let header = SealHeader::from_protected(protected, root)?;
        let mut signatures = [first, Vec::new(), Vec::new()];
        for family in &Family::ALL[1..] {
            let start = r.clone();
            let (protected, signature) = read_receipt(r, *family)?;
            if protected != header.protected(*family) {
                return Err(start.error("seal.protected", Problem::WrongIdentifier));
            }
            signatures[family.index()] = signature;
        }
        Ok(Self { header, signatures })
    }
}

fn read_receipt<'a>(r: &mut Reader<'a>, family: Family) -> Result<(&'a [u8], Vec<u8>), DecodeError> {
    r.tag("seal.receipt", COSE_SIGN1)?;
    r.array("seal.receipt", 4..=4)?;
    let protected = r.bytes("seal.protected", 1..=PROTECTED_BYTES_MAX)?;
    r.map("seal.unprotected", 0)?;
    r.null("seal.payload")?;
    let length = family.signature_bytes();
    Ok((protected, r.bytes("seal.signature", length..=length)?.to_vec()))
}

pub(crate) fn write_path(w: &mut Writer<'_>, path: &[Hash]) {
    w.array(path.len());
    for node in path {
        w.bytes(node);
    }
}
