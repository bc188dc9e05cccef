//! Files that are read again are compared by content: some ways of copying keep the time of the file before.

use crate::http::{Endpoint, tls};
use crate::program::Program;
use crate::renewal::pair;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::net::TcpStream;

/// Puts another file in place of one, with its time.
fn put(from: &Path, to: &Path) {
    let time = std::fs::metadata(to).unwrap().modified().unwrap();
    std::fs::copy(from, to).unwrap();
    File::options().write(true).open(to).unwrap().set_modified(time).unwrap();
}

async fn shows(program: &Program, certificate: &Path) -> bool {
    let tls = tokio_rustls::TlsConnector::from(tls(certificate));
    let stream = TcpStream::connect(program.public.address).await.unwrap();
    tls.connect("localhost".try_into().unwrap(), stream).await.is_ok()
}

/// The findings of a running service that shows this certificate, if they have this code.
async fn findings(program: &Program, certificate: &Path, code: &str) -> Vec<String> {
    let admin = Endpoint { tls: tls(certificate), ..program.admin.clone() };
    let status = admin.get("/v1/status").await;
    assert_eq!(status.status, 200, "{}", status.text());
    let found = status.json()["attention"].as_array().unwrap().clone();
    found.iter().filter(|found| found["code"] == code).map(|found| found["what"].to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_with_the_time_of_the_old_one_is_taken_and_a_wrong_one_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for number in ["1", "2"] {
        let [certificate, key] = pair();
        std::fs::write(file(&format!("{number}.pem")), certificate).unwrap();
        std::fs::write(file(&format!("{number}.key")), key).unwrap();
    }
    let (served, key) = (file("served.pem"), file("served.key"));
    std::fs::copy(file("1.pem"), &served).unwrap();
    std::fs::copy(file("1.key"), &key).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (named, named_key) = (path(&served), path(&key));
    let variables =
        [("TREFOIL_TLS_CERTIFICATE", named.as_str()), ("TREFOIL_TLS_PRIVATE_KEY", named_key.as_str())];
    let program = Program::start(&file("data"), File::create(file("log")).unwrap(), &variables);
    assert!(shows(&program, &file("1.pem")).await);
    assert!(findings(&program, &file("1.pem"), "certificate-not-renewed").await.is_empty());

    // Without its key, and with a key that says nothing of the certificate.
    put(&file("2.pem"), &served);
    while findings(&program, &file("1.pem"), "certificate-not-renewed").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found = findings(&program, &file("1.pem"), "certificate-not-renewed").await;
    assert!(found[0].contains("is not the key of the certificate"), "{found:?}");
    assert!(shows(&program, &file("1.pem")).await);
    put(&file("2.key"), &key);
    while !shows(&program, &file("2.pem")).await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(findings(&program, &file("2.pem"), "certificate-not-renewed").await.is_empty());
    // A secret volume changes the target of a link.
    for name in ["1.pem", "1.key", "2.pem", "2.key"] {
        assert!(Command::new("touch").args(["-d", "@1"]).arg(file(name)).status().unwrap().success());
    }
    for (link, to) in [(&served, "1.pem"), (&key, "1.key")] {
        std::fs::remove_file(link).unwrap();
        std::os::unix::fs::symlink(file(to), link).unwrap();
    }
    while !shows(&program, &file("1.pem")).await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(program.terminate().code(), Some(0));
}
