//! Our side of the exchange with other implementations: `interop write FILE` signs, `interop check FILE FAMILY...`
//! verifies and requires a signature of each of these families.
//!
//! A file is a list of {family, public_key, message, signature}, in hexadecimal; empty contexts throughout.

use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use trefoil_attest::Family;
use trefoil_sign::{Falcon512, MlDsa65, SignatureFamily, SlhDsaSha2_128f};

/// Signatures of each family.
const ROUNDS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", file] => {
            let mut vectors = Vec::new();
            sign::<MlDsa65>(&mut vectors)?;
            sign::<Falcon512>(&mut vectors)?;
            sign::<SlhDsaSha2_128f>(&mut vectors)?;
            fs::write(file, Value::from(vectors).to_string())?;
        }
        ["check", file, families @ ..] if !families.is_empty() => {
            let vectors: Vec<Value> = serde_json::from_str(&fs::read_to_string(file)?)?;
            let mut found = Vec::new();
            for vector in &vectors {
                found.push(check(vector)?.id());
            }
            if let Some(missing) = families.iter().find(|family| !found.contains(family)) {
                return Err(format!("{file} has no {missing} signature").into());
            }
            println!("{} signatures of {file} verify", vectors.len());
        }
        _ => return Err("usage: interop write FILE | interop check FILE FAMILY...".into()),
    }
    Ok(())
}

/// Signs messages of different lengths, the empty one first.
fn sign<F: SignatureFamily>(vectors: &mut Vec<Value>) -> Result<(), Box<dyn Error>> {
    let mut rng = rand::rng();
    let mut key = F::generate(&mut rng)?;
    for round in 0..ROUNDS {
        let message = vec![round as u8; 77 * round];
        let signature = key.sign(&message, &mut rng)?;
        vectors.push(json!({
            "family": F::FAMILY.id(), "public_key": hex::encode(key.public_key()),
            "message": hex::encode(&message), "signature": hex::encode(&signature),
        }));
    }
    Ok(())
}

/// Their signature must verify by the signer's library and by the client's, and must not with one bit flipped.
/// Returns its family.
fn check(vector: &Value) -> Result<Family, Box<dyn Error>> {
    let text = |field: &str| vector[field].as_str().ok_or_else(|| format!("a vector without {field}"));
    let bytes = |field: &str| -> Result<Vec<u8>, Box<dyn Error>> { Ok(hex::decode(text(field)?)?) };
    let (key, message, mut signature) = (bytes("public_key")?, bytes("message")?, bytes("signature")?);
    let name = text("family")?;
    let family = Family::ALL.into_iter().find(|family| family.id() == name).ok_or("an unknown family")?;
    let verifies = |signature: &[u8]| {
        let by_signer = match family {
            Family::MlDsa65 => MlDsa65::verify(&key, &message, signature),
            Family::Falcon512 => Falcon512::verify(&key, &message, signature),
            Family::SlhDsaSha2_128f => SlhDsaSha2_128f::verify(&key, &message, signature),
        };
        [by_signer, family.verifies(&key, &message, signature)]
    };
    if verifies(&signature) != [true; 2] {
        return Err(format!("their {name} signature does not verify").into());
    }
    let middle = signature.len() / 2;
    signature[middle] ^= 1;
    if verifies(&signature) != [false; 2] {
        return Err(format!("a changed {name} signature verifies").into());
    }
    Ok(family)
}
