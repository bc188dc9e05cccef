//! Commands that do not reach their service, or that the service refuses.

use super::{Answer, Folder, says};
use crate::cli::{code, trefoil};
use crate::program::Program;
use crate::service;
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;

#[expect(clippy::too_many_lines, reason = "one table of mistakes")]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_reach_its_service_says_what_where_and_what_to_do() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&folder.path("data"), Stdio::null(), &[]);
    let [public, admin] = [&program.public, &program.admin].map(|end| format!("https://{}", end.address));
    let ca = folder.text("data/tls-certificate.pem");
    let token = folder.text("data/admin.token");
    let [other, _] = folder.certificate("localhost");
    let (no_pem, note) = (folder.file("no.pem", "x"), folder.file("note", "x"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = silent.local_addr().unwrap();
    drop(silent);
    let (nobody, plain) = (format!("https://{nobody}"), TcpListener::bind("127.0.0.1:0").unwrap());
    let not_tls = format!("https://{}", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in plain.incoming() {
            use std::io::Write as _;
            let _ = connection
                .and_then(|mut connection| connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let [elsewhere, _] = folder.certificate("elsewhere.example");
    let hand_in = |url: &str, ca: &[&str]| {
        folder.said(&[&["log", "hand-in", "--service", url], ca, &[note.as_str()]].concat(), &[])
    };
    let operator = |arguments: &[&str]| {
        folder.said(&[&["admin", "--data-dir", &folder.text("data")], arguments].concat(), &[])
    };
    let at = ["--admin", admin.as_str()];
    let tenant = "00".repeat(16);
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut answers = |mistake: &str, said: String, answer: Answer<'_>| {
        answer.check(mistake, &said, &mut wrong);
        count += 1;
    };
    answers("no --ca", hand_in(&public, &[]), says("certificate", "https://", "--ca"));
    answers(
        "--ca missing",
        hand_in(&public, &["--ca", "/nowhere/c.pem"]),
        says("cannot be read", "/nowhere/c.pem", "--ca takes a PEM file"),
    );
    answers(
        "--ca no PEM",
        hand_in(&public, &["--ca", &no_pem]),
        says("certificate", &no_pem, "give a PEM file"),
    );
    answers(
        "another service's",
        hand_in(&public, &["--ca", &other]),
        says("neither the expected one", "/v1/log", "Give its own with --ca"),
    );
    answers(
        "another service's, by file and address",
        hand_in(&public, &["--ca", &other]),
        says("certificate", &public, &format!("--ca {other}: ")),
    );
    let audited = ["log", "audit", "--service", &public, "--ca", &other, "--trust-root"];
    let (directory, wallet) = (folder.text("issuer-1"), folder.text("w.wallet"));
    let issuer_of = ["issuer", "register", "--directory", &directory, "--ca", &other];
    let passphrase = ["--wallet", &wallet, "--passphrase-file", &token];
    for made in [
        &["issuer", "init", "--directory", &directory, "--tenant", &tenant, "--passphrase-file", &token][..],
        &[&["wallet", "create"], &passphrase[..]].concat(),
    ] {
        assert_eq!(code(&trefoil(made)), 0, "{made:?}");
    }
    for (mistake, said, place) in [
        (
            "another service's, audit",
            folder.said(&[&audited[..], &[&folder.text("data/trust-root.json")]].concat(), &[]),
            &public,
        ),
        (
            "another service's, registration",
            folder.said(&[&issuer_of[..], &["--admin", &admin, "--admin-token-file", &token]].concat(), &[]),
            &admin,
        ),
        (
            "another service's, upload",
            folder.said(
                &[&["wallet", "upload", &note, "--service", &public, "--ca", &other], &passphrase[..]]
                    .concat(),
                &[],
            ),
            &public,
        ),
    ] {
        answers(mistake, said, says("certificate", place, &format!("--ca {other}: ")));
    }
    answers(
        "another name's",
        hand_in(&public, &["--ca", &elsewhere]),
        says("certificate", "/v1/log", "--ca"),
    );
    answers(
        "http",
        hand_in("http://127.0.0.1:1", &["--ca", &ca]),
        says("must look like", "http://127.0.0.1:1", "https://host:port"),
    );
    answers(
        "no scheme",
        hand_in("127.0.0.1:8443", &["--ca", &ca]),
        says("must look like", "127.0.0.1:8443", "https://host:port"),
    );
    answers(
        "wrong port",
        hand_in(&nobody, &["--ca", &ca]),
        says("nothing listens there", "/v1/log", "correct host and port"),
    );
    answers(
        "no TLS",
        hand_in(&not_tls, &["--ca", &ca]),
        says("does not speak TLS", "/v1/log", "Check the port"),
    );
    answers(
        "no such name",
        hand_in("https://no.such.invalid", &["--ca", &ca]),
        says("cannot be looked up", "/v1/log", "Correct it in the address"),
    );
    let [named, ended] = others(&folder).await;
    answers(
        "another name",
        hand_in(&named.0, &["--ca", &named.1]),
        says("its certificate is for other names", "/v1/log", "tls.names"),
    );
    answers(
        "expired certificate",
        hand_in(&ended.0, &["--ca", &ended.1]),
        says("its certificate has expired", "/v1/log", "renew the certificate"),
    );
    answers(
        "admin on the public port",
        operator(&["tenant", "list", "--admin", &public]),
        says("route-unknown", &public, "admin API"),
    );
    answers(
        "stopped",
        operator(&["tenant", "list", "--admin", &nobody]),
        says("nothing listens there", &nobody, "trefoil serve"),
    );
    answers(
        "wrong token",
        operator(&[&["tenant", "list", "--admin-token-file", &no_pem], &at[..]].concat()),
        says("caller-unauthenticated", &no_pem, "--admin-token-file"),
    );
    answers(
        "wrong directory",
        folder.said(&["admin", "tenant", "list", "--data-dir", "/nowhere"], &[]),
        says("cannot be read", "/nowhere/tls-certificate.pem", "--data-dir"),
    );
    answers(
        "tenant is no id",
        operator(&["tenant", "show", "shop"]),
        says("shop", "<TENANT>", "32 hexadecimal digits"),
    );
    answers(
        "unknown tenant",
        operator(&[&["tenant", "show", &tenant], &at[..]].concat()),
        says("tenant-unknown", &admin, "trefoil admin tenant list"),
    );
    answers(
        "unknown scope",
        operator(&["api-key", "create", "--tenant", &tenant, "--scope", "all"]),
        says("all", "--scope", "enrol"),
    );
    answers(
        "time in words",
        operator(&["api-key", "create", "--tenant", &tenant, "--scope", "enrol", "--expires", "tomorrow"]),
        says("tomorrow", "--expires", "2026-11-20T09:47:40Z"),
    );
    let model = |name: &'static str| ["tenant", "create", "x", "--audience", "x", "--embedder", name];
    answers(
        "unknown class",
        operator(&[&model("facenet-128")[..], &["--fmr-class", "9"], &at[..]].concat()),
        says("no calibration", "/policy/threshold", "known are"),
    );
    answers(
        "no model",
        operator(&[&["tenant", "create", "x", "--audience", "x"], &at[..]].concat()),
        says("name the model", "/policy/embedder", "known are facenet-128 2"),
    );
    answers(
        "another model without a score",
        operator(&[&model("arcface-128")[..], &at[..]].concat()),
        says("no calibration", "/policy/threshold", "--score S --fmr-class K"),
    );
    answers(
        "a score out of range",
        operator(&[&model("arcface-128")[..], &["--score", "-99999"], &at[..]].concat()),
        says("-32768 to 32768", "/policy/threshold/calibrated/score", "Correct the fields"),
    );
    answers(
        "policy is no JSON",
        operator(&["tenant", "create", "x", "--policy", &no_pem]),
        says("is not a policy", &no_pem, "API.md"),
    );
    answers(
        "another token's file",
        operator(&[&["tenant", "list", "--admin-token-file", "/nowhere/t"], &at[..]].concat()),
        says("cannot be read", "/nowhere/t", "--admin-token-file"),
    );
    let trust_root = folder.text("data/trust-root.json");
    answers(
        "verify without a file",
        folder.said(&["verify", "/nowhere/a", "--trust-root", &trust_root], &[]),
        says("cannot be read", "/nowhere/a", "check the path"),
    );
    answers(
        "verify with no trust root",
        folder.said(&["verify", &token, "--trust-root", &no_pem], &[]),
        says("trust root", &no_pem, "export-trust-root"),
    );
    answers(
        "wallet that does not exist",
        folder.said(&["wallet", "show", "--wallet", "/nowhere/w", "--passphrase-file", &token], &[]),
        says("No such file", "/nowhere/w", "trefoil wallet create"),
    );
    answers(
        "wallet that exists",
        folder.said(&["wallet", "create", "--wallet", &no_pem, "--passphrase-file", &token], &[]),
        says("a secret is not overwritten", &no_pem, "choose another file with --wallet"),
    );
    answers(
        "no credential",
        folder.said(
            &["wallet", "receive", &no_pem, "--wallet", "none.wallet", "--passphrase-file", &token],
            &[],
        ),
        says("not a credential", &no_pem, "trefoil issuer export"),
    );
    answers(
        "operator by name",
        operator(&["operator", "revoke", "bob"]),
        says("bob", "<OPERATOR>", "trefoil admin operator list"),
    );
    let again =
        ["issuer", "init", "--directory", &directory, "--tenant", &tenant, "--passphrase-file", &token];
    answers(
        "issuer made twice",
        folder.said(&again, &[]),
        says("an issuer directory already", &directory, "--directory"),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 37);
}

/// Two services with certificates that no client takes: for another name, and one that has expired. Their addresses and certificates.
async fn others(folder: &Folder) -> [(String, String); 2] {
    let clock = Arc::new(service::TestClock::default());
    let mut named = service::config(&folder.path("named"));
    named.tls.names = vec!["elsewhere.example".to_owned()];
    let mut ended = service::config(&folder.path("ended"));
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    ended.tls.certificate = folder.file("ended.pem", &parameters.self_signed(&key).unwrap().pem()).into();
    ended.tls.private_key = folder.file("ended-key.pem", &key.serialize_pem()).into();
    let (named, ended) = (service::start(named, &clock).await, service::start(ended, &clock).await);
    let place = |server: &trefoil_server::server::Server| {
        let certificate = server.certificate_path().to_str().unwrap().to_owned();
        (format!("https://{}", server.public_address()), certificate)
    };
    let places = [place(&named), place(&ended)];
    // They run until the test ends.
    std::mem::forget((named, ended));
    places
}
