//! TLS with other programs: the groups that a client may be limited to, and the forms of keys that OpenSSL makes.

use crate::world::*;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::{NamedGroup, RootCertStore};

fn openssl(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("openssl");
    let ran = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    ran.expect("install OpenSSL, such as apt-get install openssl")
}

/// Claim V172: A TLS client of NIST curves alone is served, and one that begins with the hybrid key exchange gets it. A key that TLS does
/// not take is named with its kind and the cure.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_nist_curves_is_served_and_one_of_the_hybrid_group_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(&folder.path().join("data"), Stdio::null(), &[]);
    let certificate = folder.path().join("data/tls-certificate.pem");
    for listener in [&program.public, &program.admin] {
        let address = listener.address.to_string();
        for (group, told) in [
            ("P-256", "Server Temp Key: ECDH, prime256v1"),
            ("P-384", "Server Temp Key: ECDH, secp384r1"),
            ("X25519", "Server Temp Key: X25519"),
            // A share of a curve that is not taken, then another one.
            ("P-521:P-384", "Server Temp Key: ECDH, secp384r1"),
        ] {
            let ca = certificate.to_str().unwrap();
            let line = ["s_client", "-connect", &address, "-groups", group, "-CAfile", ca];
            let reached = openssl(folder.path(), &line);
            let said = reached.text();
            assert!(said.contains(told) && said.contains("Verify return code: 0"), "{group}: {said}");
        }
        // A client that could do both.
        let mut roots = RootCertStore::empty();
        let chain = trefoil_contents::pem::certificates(&std::fs::read(&certificate).unwrap()).unwrap();
        roots.add(chain[0].clone()).unwrap();
        let provider = rustls::crypto::CryptoProvider {
            kx_groups: vec![kx_group::X25519MLKEM768, kx_group::SECP256R1],
            ..aws_lc_rs::default_provider()
        };
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut endpoint = listener.clone();
        endpoint.tls = Arc::new(config);
        let stream = endpoint.connect().await;
        let group = stream.get_ref().1.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(group, NamedGroup::X25519MLKEM768);
    }
    assert_eq!(program.terminate().code(), Some(0));
}

/// What `trefoil` says about this key for a certificate of another one.
fn said(folder: &Path, line: &[&str], key: &str) -> String {
    let ran = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_trefoil")])
        .args(line)
        .current_dir(folder)
        .env("TREFOIL_LOG_FILTER", "off")
        .env("TREFOIL_TLS_CERTIFICATE", "certificate.pem")
        .env("TREFOIL_TLS_PRIVATE_KEY", key)
        .output()
        .unwrap();
    assert!(!ran.status.success(), "{line:?} {key}");
    ran.text()
}

/// Claim V172.
#[test]
fn a_key_that_tls_does_not_take_is_named_with_its_kind_and_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("certificate.pem"), made.cert.pem()).unwrap();
    std::fs::write(path("whole.pem"), made.signing_key.serialize_pem()).unwrap();
    let curve = |name| ["-algorithm", "EC", "-pkeyopt", name];
    let bundle = "pkcs12 -export -passout pass:x -inkey whole.pem -in certificate.pem -out bundle.p12";
    assert!(openssl(folder.path(), &bundle.split(' ').collect::<Vec<_>>()).status.success());
    let der = "pkey -in whole.pem -outform DER -out key.der";
    assert!(openssl(folder.path(), &der.split(' ').collect::<Vec<_>>()).status.success());
    let (koblitz, nist) = (curve("ec_paramgen_curve:secp256k1"), curve("ec_paramgen_curve:P-256"));
    let protected = [&nist[..], &["-aes256", "-pass", "pass:x"]].concat();
    for (name, arguments) in [
        ("koblitz.pem", &koblitz[..]),
        ("protected.pem", &protected),
        ("ed448.pem", &["-algorithm", "ED448"]),
        ("short.pem", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]),
    ] {
        let made = openssl(folder.path(), &[&["genpkey", "-out", name], arguments].concat());
        assert!(made.status.success(), "{name}: {}", made.err());
    }
    let serve = ["serve", "--data-dir", "new", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let doctor = ["doctor", "--data-dir", "data"];
    assert!(
        crate::command::trefoil(&[
            "keys",
            "init",
            "--issuer",
            "a",
            "--data-dir",
            path("data").to_str().unwrap()
        ])
        .status
        .success()
    );
    for (name, kind, cure) in [
        ("koblitz.pem", "of the kind secp256k1", "openssl genpkey"),
        ("ed448.pem", "of the kind Ed448", "openssl genpkey"),
        ("short.pem", "not supported", "RSA keys from 2048 bits"),
        ("protected.pem", "encrypted with a passphrase", "openssl pkey -in FILE -out FILE.pem"),
        ("bundle.p12", "a PKCS#12 file of", "openssl pkcs12 -nodes"),
        ("key.der", "a DER file of", "openssl pkey -inform DER"),
        ("certificate.pem", "there is no private key in it", "a PEM file of"),
    ] {
        for line in [&serve[..], &doctor] {
            let said = said(folder.path(), line, name);
            let place =
                said.lines().find(|line| line.contains(kind)).unwrap_or_else(|| panic!("{name}: {said}"));
            assert!(place.contains(name) && said.contains(cure), "{name}: {said}");
        }
    }
}
