//! A certificate that is renewed while the service runs. Its files are compared by content: some ways of copying keep the time of the file before.

use crate::http::tls;
use crate::reload::said;
use crate::world::*;
use tokio::net::TcpStream;

/// A new certificate for localhost, and its key, as PEM.
pub(crate) fn pair() -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    [made.cert.pem(), made.signing_key.serialize_pem()]
}

/// Puts another file in place of one, with its time.
fn put(from: &Path, to: &Path) {
    let time = std::fs::metadata(to).unwrap().modified().unwrap();
    std::fs::copy(from, to).unwrap();
    File::options().write(true).open(to).unwrap().set_modified(time).unwrap();
}

/// Whether a new connection shows the certificate in this file.
async fn shows(program: &Program, certificate: &Path) -> bool {
    let tls = tokio_rustls::TlsConnector::from(tls(certificate));
    let stream = TcpStream::connect(program.public.address).await.unwrap();
    tls.connect("localhost".try_into().unwrap(), stream).await.is_ok()
}

/// The finding that the certificate was not renewed, of a running service that shows this one.
async fn found(program: &Program, certificate: &Path) -> Option<String> {
    let admin = Endpoint { tls: tls(certificate), ..program.admin.clone() };
    let status = admin.get("/v1/status").await.is(200).json();
    let mut found = status["attention"].as_array().unwrap().iter();
    Some(found.find(|found| found["code"] == "certificate-not-renewed")?["what"].to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_taken_over_and_one_that_is_broken_is_not_and_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for number in ["1", "2"] {
        let [certificate, key] = pair();
        std::fs::write(file(&format!("{number}.pem")), certificate).unwrap();
        std::fs::write(file(&format!("{number}.key")), key).unwrap();
    }
    let [first, second, served, key, log] = ["1.pem", "2.pem", "served.pem", "served.key", "log"].map(&file);
    std::fs::copy(&first, &served).unwrap();
    std::fs::copy(file("1.key"), &key).unwrap();
    let (named, named_key) = (served.to_str().unwrap(), key.to_str().unwrap());
    let variables = [("TREFOIL_TLS_CERTIFICATE", named), ("TREFOIL_TLS_PRIVATE_KEY", named_key)];
    let program = Program::start(&file("data"), File::create(&log).unwrap(), &variables);
    assert!(shows(&program, &first).await && !shows(&program, &second).await);
    assert_eq!(found(&program, &first).await, None);

    program.signal("-HUP");
    said(&log, "certificate=\"the same\"", 1).await;
    // Without its key, and with a key that says nothing of the certificate.
    put(&second, &served);
    program.signal("-HUP");
    said(&log, "the certificate cannot be renewed", 1).await;
    assert!(std::fs::read_to_string(&log).unwrap().contains(&format!("{named_key} is not the key")));
    let finding = found(&program, &first).await.unwrap();
    assert!(finding.contains("is not the key of the certificate"), "{finding}");
    assert!(shows(&program, &first).await && !shows(&program, &second).await);

    // No signal: the files are looked at.
    put(&file("2.key"), &key);
    said(&log, "new connections get the renewed certificate", 1).await;
    assert!(shows(&program, &second).await && !shows(&program, &first).await);
    assert_eq!(found(&program, &second).await, None);
    // A secret volume changes the target of a link.
    for name in ["1.pem", "1.key", "2.pem", "2.key"] {
        assert!(Command::new("touch").args(["-d", "@1"]).arg(file(name)).status().unwrap().success());
    }
    for (link, to) in [(&served, "1.pem"), (&key, "1.key")] {
        std::fs::remove_file(link).unwrap();
        std::os::unix::fs::symlink(file(to), link).unwrap();
    }
    until(async || shows(&program, &first).await).await;
    assert_eq!(program.terminate().code(), Some(0));
}
