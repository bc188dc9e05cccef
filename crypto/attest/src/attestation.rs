//! The attestation: a statement, its place in a sealed tree, and the seal or its name.

use alloc::vec::Vec;

use crate::cbor::{Reader, Writer};
use crate::device::DeviceSignature;
use crate::error::{DecodeError, Problem};
use crate::seal::{Seal, write_path};
use crate::statement::STATEMENT_BYTES_MAX;
use crate::tree::{Hash, PATH_MAX};

/// Name and version of the attestation format.
pub const ATTESTATION_FORMAT: &str = "trefoil:attestation/1";
/// Upper bound on an encoded attestation, checked before anything is read.
pub const ATTESTATION_BYTES_MAX: usize = 32 * 1024;

/// A statement with the proof that a seal covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attestation<'a> {
    /// The encoded statement.
    pub statement: &'a [u8],
    /// Its leaf, from 0.
    pub leaf_index: u64,
    /// Leaves of the sealed tree.
    pub tree_size: u64,
    /// Inclusion path, from the leaf upwards.
    pub path: Vec<Hash>,
    /// The seal.
    pub evidence: Evidence,
    /// The signature of the person's device, which it or its application joins ([`join`](crate::join)). No seal covers it.
    pub device: Option<DeviceSignature>,
}

/// The seal of an attestation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one value at a time; its signatures are on the heap anyway")]
pub enum Evidence {
    /// With its three signatures: verifies offline.
    Full(Seal),
    /// By name: the seal is fetched once and serves every attestation under it.
    Compact(SealReference),
}

/// The name of a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealReference {
    /// Position in the issuer's chain: the last part of its URL.
    pub seal_number: u64,
    /// [`SealHeader::digest`](crate::SealHeader::digest) of the seal.
    pub digest: [u8; 32],
}

impl Seal {
    /// The name of this seal.
    #[must_use]
    pub fn reference(&self) -> SealReference {
        SealReference { seal_number: self.header.seal_number, digest: self.header.digest() }
    }

    /// The encoding of the full attestation of a statement under this seal, as [`Attestation::encode`] gives it. The seal is written
    /// once, into the answer, and not copied before.
    #[must_use]
    pub fn attestation(&self, statement: &[u8], leaf_index: u64, path: &[Hash]) -> Vec<u8> {
        encode(statement, leaf_index, self.header.tree_size, path, Written::Full(self), None)
    }
}

/// Evidence that is to be written.
enum Written<'a> {
    Full(&'a Seal),
    Compact(SealReference),
}

fn encode(
    statement: &[u8],
    leaf_index: u64,
    tree_size: u64,
    path: &[Hash],
    evidence: Written<'_>,
    device: Option<&DeviceSignature>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(match evidence {
        Written::Full(_) => ATTESTATION_BYTES_MAX,
        Written::Compact(_) => STATEMENT_BYTES_MAX,
    });
    let mut w = Writer(&mut out);
    w.map(6 + usize::from(device.is_some()));
    w.key(0).text(ATTESTATION_FORMAT);
    w.key(1).bytes(statement);
    w.key(2).uint(tree_size);
    w.key(3).uint(leaf_index);
    write_path(w.key(4), path);
    match evidence {
        Written::Full(seal) => {
            seal.write(w.key(5));
        }
        Written::Compact(SealReference { seal_number, digest }) => {
            w.key(6).array(2);
            w.uint(seal_number);
            w.bytes(&digest);
        }
    }
    if let Some(device) = device {
        device.write(w.key(7));
    }
    out
}

impl<'a> Attestation<'a> {
    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self { statement, leaf_index, tree_size, path, evidence, device } = self;
        let evidence = match evidence {
            Evidence::Full(seal) => Written::Full(seal),
            Evidence::Compact(reference) => Written::Compact(*reference),
        };
        encode(statement, *leaf_index, *tree_size, path, evidence, device.as_ref())
    }

    /// Decodes the one canonical encoding of an attestation. Nothing is verified: see [`verify`](crate::verify).
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > ATTESTATION_BYTES_MAX {
            return Err(r.error("attestation", Problem::WrongLength));
        }
        let pairs = r.map_of("attestation", 6..=7)?;
        r.key("format", 0)?.format("format", ATTESTATION_FORMAT)?;
        let statement = r.key("statement", 1)?.bytes("statement", 1..=STATEMENT_BYTES_MAX)?;
        let tree_size = r.key("tree_size", 2)?.uint("tree_size")?;
        let leaf_index = r.key("leaf_index", 3)?.uint("leaf_index")?;
        r.key("path", 4)?;
        let length = r.array("path", 0..=PATH_MAX)?;
        let path = (0..length).map(|_| r.fixed("path")).collect::<Result<_, _>>()?;
        let start = r.clone();
        let evidence = match r.int("seal")? {
            5 => Evidence::Full(Seal::read(&mut r)?),
            6 => {
                r.array("seal_reference", 2..=2)?;
                let seal_number = r.uint("seal_reference.number")?;
                Evidence::Compact(SealReference { seal_number, digest: r.fixed("seal_reference.digest")? })
            }
            found => return Err(start.error("seal", Problem::UnexpectedKey { expected: 5, found })),
        };
        let device = match pairs {
            6 => None,
            _ => Some(DeviceSignature::read(r.key("device", 7)?)?),
        };
        r.finish("attestation")?;
        Ok(Self { statement, leaf_index, tree_size, path, evidence, device })
    }
}
