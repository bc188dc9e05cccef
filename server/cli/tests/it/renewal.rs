//! A certificate that is renewed while the service runs.

use crate::http::{Endpoint, tls};
use crate::program::Program;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;

/// A new certificate for localhost, and its key, as PEM.
pub(crate) fn pair() -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    [made.cert.pem(), made.signing_key.serialize_pem()]
}

/// Whether a new connection shows the certificate in this file.
async fn shows(program: &Program, certificate: &Path) -> bool {
    let tls = tokio_rustls::TlsConnector::from(tls(certificate));
    let stream = TcpStream::connect(program.public.address).await.unwrap();
    tls.connect("localhost".try_into().unwrap(), stream).await.is_ok()
}

/// Waits until the log says this so often.
async fn said(log: &Path, what: &str, times: usize) {
    while std::fs::read_to_string(log).unwrap().matches(what).count() < times {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_taken_over_and_one_that_is_broken_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let [(first, key), (second, second_key)] = [("1", "1.key"), ("2", "2.key")].map(|(certificate, key)| {
        let [pem, secret] = pair();
        std::fs::write(file(certificate), pem).unwrap();
        std::fs::write(file(key), secret).unwrap();
        (file(certificate), file(key))
    });
    let (served, served_key, log) = (file("served.pem"), file("served.key"), file("log"));
    std::fs::copy(&first, &served).unwrap();
    std::fs::copy(&key, &served_key).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (named, named_key) = (path(&served), path(&served_key));
    let variables =
        [("TREFOIL_TLS_CERTIFICATE", named.as_str()), ("TREFOIL_TLS_PRIVATE_KEY", named_key.as_str())];
    let program = Program::start(&file("data"), File::create(&log).unwrap(), &variables);
    assert!(shows(&program, &first).await && !shows(&program, &second).await);

    program.signal("-HUP");
    said(&log, "certificate=\"the same\"", 1).await;
    // Its key is not there yet.
    std::fs::copy(&second, &served).unwrap();
    program.signal("-HUP");
    said(&log, "the certificate cannot be renewed", 1).await;
    assert!(std::fs::read_to_string(&log).unwrap().contains(&format!("{named_key} is not the key")));
    assert!(shows(&program, &first).await && !shows(&program, &second).await);

    // No signal: the files are looked at.
    std::fs::copy(&second_key, &served_key).unwrap();
    said(&log, "new connections get the renewed certificate", 1).await;
    assert!(shows(&program, &second).await && !shows(&program, &first).await);
    let Endpoint { address, .. } = program.public;
    let renewed = Endpoint { address, tls: tls(&second), bearer: None };
    assert_eq!(renewed.get("/v1/fhe/parameters").await.status, 200);
    assert_eq!(program.terminate().code(), Some(0));
}
