//! What a file is that is not what a command needs: people confuse files, and the error of a decoder does not tell them which.

use super::attestation_in;
use serde_json::Value;
use std::path::Path;
use trefoil_attest::witness::Checkpoint;
use trefoil_attest::{Attestation, PrunedSeal, PublicKeySet, Seal, SealHeader, TrustRoot};
use trefoil_zkp::record::ProofRecord;

/// The cause, or what the file is if it is another of ours, and which one to give.
pub(super) fn instead(next: &str, file: &[u8], cause: &dyn std::fmt::Display) -> String {
    recognised(file).map_or_else(|| cause.to_string(), |what| format!("this is {what}; {next}"))
}

/// What a file is, if it is one of ours.
pub(super) fn recognised(file: &[u8]) -> Option<&'static str> {
    let is_attestation =
        || attestation_in(Path::new(""), file).is_ok_and(|bytes| Attestation::decode(&bytes).is_ok());
    let forms: [(&dyn Fn() -> bool, &'static str); 9] = [
        (&|| file.trim_ascii().is_empty(), "an empty file"),
        (&|| TrustRoot::from_file(file).is_ok(), "a trust root"),
        (&is_attestation, "an attestation or a receipt"),
        (&|| Seal::decode(file).is_ok(), "a seal"),
        (&|| PrunedSeal::decode(file).is_ok(), "a pruned seal"),
        (&|| SealHeader::decode(file).is_ok(), "the header of a seal"),
        (&|| PublicKeySet::decode(file).is_ok(), "a set of public keys"),
        (&|| ProofRecord::decode(file).is_ok(), "a stored credential proof"),
        (&|| file.trim_ascii().starts_with(b"-----BEGIN "), "a PEM file, with a certificate or a key"),
    ];
    if let Some((_, what)) = forms.into_iter().find(|(is_one, _)| is_one()) {
        return Some(what);
    }
    let text = std::str::from_utf8(file).ok()?;
    if Checkpoint::verify(text, &[], 0).is_ok() {
        return Some("a checkpoint of the log");
    }
    if serde_json::from_str::<Vec<f64>>(text).is_ok()
        || serde_json::from_str::<trefoil_api::Vector>(text).is_ok()
    {
        return Some("a face");
    }
    let Value::Object(object) = serde_json::from_str(text).ok()? else { return None };
    let has = |names: &[&str]| names.iter().all(|name| object.contains_key(*name));
    let kinds: [(&[&str], &str); 7] = [
        (&["type", "title", "status", "code"], "a refusal by the service, which attests nothing"),
        (&["results"], "the answer to a batch, each of whose results has an attestation of its own"),
        (&["embeddings"], "a request with a face, and not the answer to it"),
        (&["embedding"], "a request with a face, and not the answer to it"),
        (&["shares"], "a request with a face, and not the answer to it"),
        (&["format", "signed_root", "marks"], "a head of the log, as `trefoil log audit` keeps it"),
        (&["keys"], "a JWK set, which verifies nothing"),
    ];
    kinds.into_iter().find(|(names, _)| has(names)).map(|(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_what_it_is() {
        let shared = |name: &str| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crypto/attest/testdata/");
            std::fs::read(format!("{folder}{name}")).unwrap()
        };
        let seal = Seal::decode(&shared("seal.cbor")).unwrap();
        let keys = TrustRoot::from_file(&shared("trust-root.json")).unwrap().key_sets()[0].keys.encode();
        let face = serde_json::to_vec(&trefoil_api::Vector::new([0.5; 128])).unwrap();
        let json = |text: &str| text.as_bytes().to_vec();
        for (file, what) in [
            (shared("trust-root.json"), Some("a trust root")),
            (TrustRoot::from_file(&shared("trust-root-2.json")).unwrap().encode(), Some("a trust root")),
            (shared("full.cbor"), Some("an attestation or a receipt")),
            (shared("compact.cbor"), Some("an attestation or a receipt")),
            (shared("change-full.cbor"), Some("an attestation or a receipt")),
            (shared("seal.cbor"), Some("a seal")),
            (seal.header.encode(), Some("the header of a seal")),
            (keys, Some("a set of public keys")),
            (shared("checkpoint.txt"), Some("a checkpoint of the log")),
            (b" \n".to_vec(), Some("an empty file")),
            (face, Some("a face")),
            (json("[0.25, -1e3, 7]"), Some("a face")),
            (json("-----BEGIN PRIVATE KEY-----\nAAAA"), Some("a PEM file, with a certificate or a key")),
            (
                json(r#"{"type":"/v1/problems/x","title":"t","status":422,"code":"x","detail":"d"}"#),
                Some("a refusal by the service, which attests nothing"),
            ),
            (json(r#"{"keys":[{"kty":"AKP"}]}"#), Some("a JWK set, which verifies nothing")),
            (
                json(r#"{"handle":"00","embedding":[1]}"#),
                Some("a request with a face, and not the answer to it"),
            ),
            (shared("full.cbor")[..900].to_vec(), None),
            (shared("cases.json"), None),
            (json("hello"), None),
        ] {
            assert_eq!(recognised(&file), what, "{}", String::from_utf8_lossy(&file[..file.len().min(40)]));
        }
    }
}
