//! The reader of PEM files: certificates, and private keys without a passphrase.
//!
//! Only the marks of a block count, and not the lines: blocks may follow one another on one line, or have lost their line breaks on the way
//! through a variable or a YAML file. A mark without its counterpart is refused, because a chain would lose a certificate.

use crate::described;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

/// The keys that TLS 1.3 has a use for here, and how to make one.
pub const KEYS: &str = "TLS takes RSA keys from 2048 bits, P-256, P-384, P-521 and Ed25519; make a key with `openssl genpkey -algorithm EC -pkeyopt \
     ec_paramgen_curve:P-256 -out key.pem`, and have a certificate signed for it";

/// A block, from mark to mark.
struct Block<'a> {
    label: &'a str,
    body: &'a str,
}

/// All certificates of a file, at least one.
///
/// # Errors
/// What the file is instead, and what makes one of it.
pub fn certificates(file: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let blocks = blocks(file, "openssl x509 -inform DER -in FILE -out FILE.pem")?;
    if blocks.iter().any(|block| block.label == "TRUSTED CERTIFICATE") {
        return Err(
            "a certificate with OpenSSL's trust settings; `openssl x509 -in FILE -out FILE.pem` removes them"
                .to_owned(),
        );
    }
    let certificates = blocks.iter().filter(|block| block.label == "CERTIFICATE").map(Block::decode);
    let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
    match certificates.is_empty() {
        true => Err(format!("there is no certificate in it: {}", described(file))),
        false => Ok(certificates),
    }
}

/// The first private key of a file.
///
/// # Errors
/// What the file is instead, and what makes a key of it.
pub fn private_key(file: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let blocks = blocks(file, "openssl pkey -inform DER -in FILE -out FILE.pem")?;
    let block = blocks.iter().find(|block| block.label.ends_with("PRIVATE KEY"));
    let block = block.ok_or_else(|| format!("there is no private key in it: {}", described(file)))?;
    match block.label {
        "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" if !block.body.contains("Proc-Type:") => {}
        "OPENSSH PRIVATE KEY" => {
            return Err(
                "the key has the form of OpenSSH; `ssh-keygen -p -m PKCS8 -N '' -f FILE` changes it in place"
                    .to_owned(),
            );
        }
        "DSA PRIVATE KEY" => return Err(format!("the key is of the kind DSA; {KEYS}")),
        "ENCRYPTED PRIVATE KEY" | "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" => {
            return Err("the key is encrypted with a passphrase, which nobody can enter at a start; `openssl pkey -in FILE -out FILE.pem` \
                        decrypts it: protect that file by its permissions"
                .to_owned());
        }
        _ => return Err(format!("the key is of an unknown kind; {KEYS}")),
    }
    let key: PrivateKeyDer<'static> = block.decode()?;
    let head = &key.secret_der()[..key.secret_der().len().min(96)];
    let unsupported = UNSUPPORTED.iter().find(|(_, id)| head.windows(id.len()).any(|part| part == *id));
    match unsupported {
        Some((kind, _)) => Err(format!("the key is of the kind {kind}; {KEYS}")),
        None => Ok(key),
    }
}

/// Kinds of keys that people have and TLS 1.3 does not take, by the object identifier near their beginning.
const UNSUPPORTED: [(&str, &[u8]); 5] = [
    ("secp256k1", &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a]),
    ("DSA", &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01]),
    ("RSA-PSS", &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a]),
    ("Ed448", &[0x06, 0x03, 0x2b, 0x65, 0x71]),
    ("X25519", &[0x06, 0x03, 0x2b, 0x65, 0x6e]),
];

/// All blocks of a file. `cure` makes PEM of DER.
fn blocks<'a>(file: &'a [u8], cure: &str) -> Result<Vec<Block<'a>>, String> {
    let text = crate::text(file).map_err(|cause| match described(file) {
        found if found.contains("PKCS#12") => {
            format!("{found}, not PEM; `openssl pkcs12 -nodes -in FILE -out FILE.pem` makes one of it")
        }
        found if found.contains("DER") => format!("{found}, not PEM; `{cure}` makes one of it"),
        _ => cause,
    })?;
    let (mut blocks, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("-----BEGIN ") {
        let block = after.split_once("-----").and_then(|(label, after)| {
            let (body, after) = after.split_once("-----END ")?;
            let after = after.strip_prefix(label)?.strip_prefix("-----")?;
            (!body.contains("-----")).then_some((Block { label, body }, after))
        });
        let number = blocks.len() + 1;
        let (block, after) = block.filter(|_| !has_mark(before)).ok_or_else(|| {
            format!(
                "block {number} is damaged: a BEGIN without its END, or the reverse, in {}",
                described(file)
            )
        })?;
        blocks.push(block);
        rest = after;
    }
    match has_mark(rest) {
        true => Err(format!("a mark is damaged behind block {} of {}", blocks.len(), described(file))),
        false => Ok(blocks),
    }
}

/// Whether there is a mark, or what is left of one.
fn has_mark(text: &str) -> bool {
    text.contains("-BEGIN ") || text.contains("-END ")
}

impl Block<'_> {
    fn decode<T: PemObject>(&self) -> Result<T, String> {
        let Block { label, body } = self;
        let mut alone = Zeroizing::new(String::with_capacity(body.len() + 2 * label.len() + 40));
        *alone += &format!("-----BEGIN {label}-----\n");
        alone.extend(body.chars().filter(|letter| !letter.is_ascii_whitespace()));
        *alone += &format!("\n-----END {label}-----\n");
        T::from_pem_slice(alone.as_bytes())
            .map_err(|_| format!("the base64 of its {label} is damaged, {} characters", body.trim().len()))
    }
}
