//! Signatures that no signer makes, at the edges of encodings and bounds and beyond them: any verifier that is lenient somewhere accepts one.
//!
//! The ML-DSA-65 key has t1 = 0, so a verifier computes A z from any z, and everybody can compute the challenge that belongs to a z and a hint
//! (FIPS 204 algorithm 8). The Falcon-512 signatures are made from ones of the real key. What is right follows from the two specifications.

mod falcon;
mod ml_dsa;

use serde_json::Value;
use trefoil_attest::{
    Attestation, Evidence, Family, KeySetId, KeySetStatus, PublicKeySet, Seal, SealHeader, TrustRoot,
    TrustedKeySet,
};
use trefoil_sign::{Falcon512, SignatureFamily as _};

use super::{case, edit, find, read, seal_of, with, write};
use crate::fixture::{ISSUER, OtherKeys};

/// The attestation, under the first key set of the trust root. Its ML-DSA-65 signature has z = 0 and no hint.
const BASE: &str = "crafted.cbor";
/// The key sets: the first, and that with each of the [`falcon::KEYS`] in its place.
const TRUST_ROOT: &str = "trust-root-crafted.json";
/// Falcon-512 signatures one after the other: over the header of the base twice, then over that of each other key set by the first one's key.
const FALCON: &str = "crafted-falcon.bin";

/// Makes the files.
pub(super) fn write_bases() {
    let mut other = OtherKeys::new();
    let keys = PublicKeySet { ml_dsa_65: Box::new(ml_dsa::public_key()), ..other.public() };
    let sets: Vec<PublicKeySet> = falcon::key_sets(&keys).collect();
    let full = read("full.cbor");
    let mut seals = sets.iter().map(|set| {
        let header = SealHeader { key_set_id: set.id(), ..seal_of(&full).header };
        let mut seal = other.sign(&header);
        seal.signatures[Family::MlDsa65.index()] = Crafted::plain(&header);
        // One coefficient must be zero, for a minus zero.
        while falcon::zeros(&seal.signatures[Family::Falcon512.index()]).is_empty() {
            seal.signatures[Family::Falcon512.index()] =
                other.sign(&header).signatures[Family::Falcon512.index()].clone();
        }
        seal
    });
    let base = seals.next().unwrap();
    let mut others: Vec<Seal> = seals.collect();
    others.insert(0, other.sign(&base.header));
    others.insert(0, other.sign(&base.header));
    let falcon: Vec<u8> =
        others.iter().flat_map(|seal| seal.signatures[Family::Falcon512.index()].clone()).collect();
    let attestation = Attestation::decode(&full).unwrap();
    write(BASE, Attestation { evidence: Evidence::Full(base), ..attestation }.encode());
    write(FALCON, falcon);
    let active = |keys| TrustedKeySet { keys, status: KeySetStatus::Active };
    let root = TrustRoot::new(ISSUER, sets.into_iter().map(active).collect()).unwrap();
    write(TRUST_ROOT, root.to_json());
}

/// The attestation whose signatures the cases replace.
struct Crafted {
    bytes: Vec<u8>,
    seal: Seal,
    keys: PublicKeySet,
}

impl Crafted {
    /// The ML-DSA-65 signature with z = 0 and no hint.
    fn plain(header: &SealHeader) -> Vec<u8> {
        ml_dsa::plain(&header.to_be_signed(Family::MlDsa65))
    }

    fn message(&self, family: Family) -> Vec<u8> {
        self.seal.header.to_be_signed(family)
    }

    fn signature(&self, family: Family) -> &[u8] {
        &self.seal.signatures[family.index()]
    }

    /// The case with another signature of a family. The verifiers of the signer must agree.
    fn case(&self, family: Family, name: &str, signature: &[u8], is_valid: bool) -> Value {
        let message = self.message(family);
        let key = self.keys.public_key(family);
        let by_signer = match family {
            Family::MlDsa65 => trefoil_sign::MlDsa65::verify(key, &message, signature),
            _ => Falcon512::verify(key, &message, signature),
        };
        assert_eq!(by_signer, is_valid, "{name}");
        let edits = self.replaced(family, signature);
        let expect = match is_valid {
            true => "verified".to_owned(),
            false if signature.len() == family.signature_bytes() => format!("signature-{}", family.id()),
            false => "malformed".to_owned(),
        };
        self.named(family, name, &edits, &expect)
    }

    fn named(&self, family: Family, name: &str, edits: &[Value], expect: &str) -> Value {
        let name = format!("crafted {}: {name}", family.id());
        with(case(&name, BASE, false, edits, expect), "trust_root", TRUST_ROOT)
    }

    /// The edits that put a signature in the place of the base's.
    fn replaced(&self, family: Family, signature: &[u8]) -> Vec<Value> {
        let old = self.signature(family);
        let at = find(&self.bytes, old);
        if signature.len() != old.len() {
            // With its length, which has two bytes.
            let length = (signature.len() as u16).to_be_bytes();
            let same = old.iter().zip(signature).take_while(|(old, new)| old == new).count();
            return vec![edit(at - 2, 2, &length), edit(at + same, old.len() - same, &signature[same..])];
        }
        let mut edits = Vec::new();
        let mut from = 0;
        while let Some(start) = (from..old.len()).find(|&at| old[at] != signature[at]) {
            // A run ends before eight bytes that are the same.
            let ends = |&end: &usize| (end..old.len().min(end + 8)).all(|at| old[at] == signature[at]);
            from = (start..old.len()).find(ends).unwrap_or(old.len());
            edits.push(edit(at + start, from - start, &signature[start..from]));
        }
        edits
    }

    /// The edits that name another key set in all three receipts.
    fn renamed(&self, id: &KeySetId) -> impl Iterator<Item = Value> {
        let old = self.keys.id();
        let places = self.bytes.windows(32).enumerate().filter(|(_, window)| *window == old.as_bytes());
        places.map(|(at, _)| edit(at, 32, id.as_bytes())).collect::<Vec<_>>().into_iter()
    }
}

pub(super) fn cases() -> Vec<Value> {
    let bytes = read(BASE);
    let root = TrustRoot::from_file(&read(TRUST_ROOT)).unwrap();
    let base = Crafted { seal: seal_of(&bytes), keys: root.key_sets()[0].keys.clone(), bytes };
    let sets = root.key_sets()[1..].iter().map(|set| &set.keys).collect::<Vec<_>>();
    let mut cases = ml_dsa::cases(&base);
    cases.extend(falcon::cases(&base, &read(FALCON), &sets));
    cases
}
