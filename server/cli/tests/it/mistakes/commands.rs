//! Commands that do not reach their service, or that the service refuses.

use super::{Folder, check, columns};
use crate::world::*;
use std::net::TcpListener;

/// Each command, with files and addresses in capitals, and what its error names. HAND_IN, OPERATOR and WALLET are the beginnings of commands.
const COMMANDS: &str = "\
no --ca | log hand-in --service PUBLIC NOTE | certificate | https:// | --ca
--ca missing | HAND_IN PUBLIC --ca /nowhere/c.pem | cannot be read | /nowhere/c.pem | --ca takes a PEM file
--ca no PEM | HAND_IN PUBLIC --ca NO_PEM | certificate | NO_PEM | give a PEM file
another service's | HAND_IN PUBLIC --ca OTHER | neither the expected one | /v1/log | Give its own with --ca
another service's, by file and address | HAND_IN PUBLIC --ca OTHER | certificate | PUBLIC | --ca OTHER: 
another service's, audit | log audit --service PUBLIC --ca OTHER --trust-root ROOT | certificate | PUBLIC | --ca OTHER: 
another service's, registration | issuer register --directory ISSUER --ca OTHER --admin ADMIN --admin-token-file TOKEN | certificate | ADMIN | --ca OTHER: 
another service's, upload | WALLET upload NOTE --service PUBLIC --ca OTHER --wallet FILE | certificate | PUBLIC | --ca OTHER: 
another name's | HAND_IN PUBLIC --ca ELSEWHERE | certificate | /v1/log | --ca
http | HAND_IN http://127.0.0.1:1 --ca OWN | must look like | http://127.0.0.1:1 | https://host:port
no scheme | HAND_IN 127.0.0.1:8443 --ca OWN | must look like | 127.0.0.1:8443 | https://host:port
wrong port | HAND_IN NOBODY --ca OWN | nothing listens there | /v1/log | correct host and port
no TLS | HAND_IN NOT_TLS --ca OWN | does not speak TLS | /v1/log | Check the port
no such name | HAND_IN https://no.such.invalid --ca OWN | cannot be looked up | /v1/log | Correct it in the address
another name | HAND_IN NAMED_AT --ca NAMED_CA | its certificate is for other names | /v1/log | tls.names
expired certificate | HAND_IN ENDED_AT --ca ENDED_CA | its certificate has expired | /v1/log | renew the certificate
admin on the public port | OPERATOR tenant list --admin PUBLIC | route-unknown | PUBLIC | admin API
stopped | OPERATOR tenant list --admin NOBODY | nothing listens there | NOBODY | trefoil serve
wrong token | OPERATOR tenant list --admin ADMIN --admin-token-file NO_PEM | caller-unauthenticated | NO_PEM | --admin-token-file
wrong directory | admin tenant list --data-dir /nowhere | cannot be read | /nowhere/tls-certificate.pem | --data-dir
tenant is no id | OPERATOR tenant show shop | shop | <TENANT> | 32 hexadecimal digits
unknown tenant | OPERATOR tenant show TENANT_ID --admin ADMIN | tenant-unknown | ADMIN | trefoil admin tenant list
unknown scope | OPERATOR api-key create --tenant TENANT_ID --scope all | all | --scope | enrol
time in words | OPERATOR api-key create --tenant TENANT_ID --scope enrol --expires tomorrow | tomorrow | --expires | 2026-11-20T09:47:40Z
unknown class | OPERATOR CREATE --embedder facenet-128 --fmr-class 9 | no calibration | /policy/threshold | known are
no model | OPERATOR CREATE | name the model | /policy/embedder | known are facenet-128 (LFW) 2
another model without a score | OPERATOR CREATE --embedder arcface-128 | no calibration | /policy/threshold | --score S --fmr-class K
a score out of range | OPERATOR CREATE --embedder arcface-128 --score -99999 | -32768 to 32768 | /policy/threshold/calibrated/score | Correct the fields
policy is no JSON | OPERATOR tenant create x --policy NO_PEM | is not a policy | NO_PEM | API.md
another token's file | OPERATOR tenant list --admin ADMIN --admin-token-file /nowhere/t | cannot be read | /nowhere/t | --admin-token-file
verify without a file | verify /nowhere/a --trust-root ROOT | cannot be read | /nowhere/a | check the path
verify with no trust root | verify TOKEN --trust-root NO_PEM | trust root | NO_PEM | export-trust-root
wallet that does not exist | WALLET show --wallet /nowhere/w | No such file | /nowhere/w | trefoil wallet create
wallet that exists | WALLET create --wallet NO_PEM | a secret is not overwritten | NO_PEM | choose another file with --wallet
no credential | WALLET receive NO_PEM --wallet none.wallet | not a credential | NO_PEM | trefoil issuer export
operator by name | OPERATOR operator revoke bob | bob | <OPERATOR> | trefoil admin operator list
issuer made twice | issuer init --directory ISSUER --tenant TENANT_ID --passphrase-file TOKEN | an issuer directory already | ISSUER | --directory";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_reach_its_service_says_what_where_and_what_to_do() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&folder.path("data"), Stdio::null(), &[]);
    let [public, admin] = [&program.public, &program.admin].map(|end| format!("https://{}", end.address));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("https://{}", silent.local_addr().unwrap());
    drop(silent);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let not_tls = format!("https://{}", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in plain.incoming() {
            use std::io::Write as _;
            let _ = connection
                .and_then(|mut connection| connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let ([other, _], [elsewhere, _]) =
        (folder.certificate("localhost"), folder.certificate("elsewhere.example"));
    let [named, ended] = others(&folder).await;
    let names = [
        ("PUBLIC", public),
        ("ADMIN", admin),
        ("NOBODY", nobody),
        ("NOT_TLS", not_tls),
        ("NAMED_AT", named.0),
        ("NAMED_CA", named.1),
        ("ENDED_AT", ended.0),
        ("ENDED_CA", ended.1),
        ("OWN", folder.text("data/tls-certificate.pem")),
        ("OTHER", other),
        ("ELSEWHERE", elsewhere),
        ("ROOT", folder.text("data/trust-root.json")),
        ("TOKEN", folder.text("data/admin.token")),
        ("NO_PEM", folder.file("no.pem", "x")),
        ("NOTE", folder.file("note", "x")),
        ("ISSUER", folder.text("issuer-1")),
        ("FILE", folder.text("w.wallet")),
        ("TENANT_ID", "00".repeat(16)),
    ];
    let named = |row: &str| names.iter().fold(row.to_owned(), |row, (name, is)| row.replace(name, is));
    for made in [
        "issuer init --directory ISSUER --tenant TENANT_ID --passphrase-file TOKEN",
        "wallet create --wallet FILE --passphrase-file TOKEN",
    ] {
        assert_eq!(code(&trefoil(&named(made).split(' ').collect::<Vec<_>>())), 0, "{made}");
    }
    let data = folder.text("data");
    let mut wrong = Vec::new();
    for row in COMMANDS.lines() {
        let [mistake, command, answer] = columns(row);
        // What every command of a kind has, at its end.
        let (beginning, end) = match command.split(' ').next().unwrap() {
            "HAND_IN" => ("log hand-in --service", " NOTE".to_owned()),
            "OPERATOR" => ("admin", format!(" --data-dir {data}")),
            "WALLET" => ("wallet", " --passphrase-file TOKEN".to_owned()),
            other => (other, String::new()),
        };
        let create = if command.contains("CREATE") { " --audience x --admin ADMIN" } else { "" };
        let rest = command.split_once(' ').unwrap().1.replace("CREATE", "tenant create x");
        let line = named(&format!("{beginning} {rest}{create}{end}"));
        let said = folder.said(&line.split(' ').collect::<Vec<_>>(), &[]);
        check(mistake, &said, &named(answer), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(COMMANDS.lines().count(), 37);
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
