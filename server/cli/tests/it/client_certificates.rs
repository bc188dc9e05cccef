//! Client certificates, which the public listener demands where `tls.client_ca` is set.

use crate::reload::said;
use crate::world::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use trefoil_client::{Client, ClientError};

/// An authority that signs the certificates of API clients.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut made = CertificateParams::new(Vec::new()).unwrap();
        made.distinguished_name.push(rcgen::DnType::CommonName, name);
        made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = made.self_signed(&key).unwrap().pem();
        Authority { pem, issuer: Issuer::new(made, key) }
    }

    /// A client's certificate and its key.
    fn client(&self) -> String {
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["client.shop.example".to_owned()]).unwrap();
        made.signed_by(&key, &self.issuer).unwrap().pem() + &key.serialize_pem()
    }
}

struct House {
    program: Program,
    folder: tempfile::TempDir,
    key: String,
}

impl House {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self, identity: Option<&str>) -> Client {
        let url = format!("https://localhost:{}", self.program.public.address.port());
        let certificate = std::fs::read(self.file("data/tls-certificate.pem")).unwrap();
        Client::with_identity(&url, &certificate, identity.map(str::as_bytes), &self.key, 1).unwrap()
    }

    /// Whether a new connection that shows this certificate and key is let in, with a request that is answered.
    async fn lets_in(&self, identity: Option<&str>) -> bool {
        match self.client(identity).usage(trefoil_api::Hex([0; 8])).await {
            Ok(_) => true,
            // The refusal comes after the handshake: the client may see the alert, or only that the connection is gone.
            Err(ClientError::Unreachable { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

async fn house(authority: &Authority) -> House {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("client-ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let log = File::create(folder.path().join("log")).unwrap();
    let variables = [("TREFOIL_TLS_CLIENT_CA", ca.to_str().unwrap())];
    let program = Program::start(&folder.path().join("data"), log, &variables);
    // The admin listener demands none.
    let tenant = program.admin.tenant(&crate::service::policy()).await;
    let key = program.admin.api_key(tenant, &["enrol"]).await;
    House { program, folder, key }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_say_when_the_first_authority_ends() {
    let house = house(&Authority::new("ours")).await;
    let page = house.program.admin.get("/metrics").await.text().to_owned();
    let shown =
        page.lines().find_map(|line| line.strip_prefix("trefoil_client_ca_expiry_timestamp_seconds "));
    // An authority of `rcgen` ends with the year 4095.
    assert_eq!(shown.unwrap().parse::<f64>().unwrap(), 67_090_118_400.0, "{page}");
}

/// Claim I27: With `tls.client_ca` no caller without a certificate is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_shows_a_certificate_of_the_authority_besides_its_api_key() {
    let [ours, others] = ["ours", "others"].map(Authority::new);
    let house = house(&ours).await;
    let identity = ours.client();
    assert!(house.lets_in(Some(&identity)).await);
    assert!(!house.lets_in(None).await && !house.lets_in(Some(&others.client())).await);
    // A certificate is no API key.
    let url = format!("https://localhost:{}", house.program.public.address.port());
    let certificate = std::fs::read(house.file("data/tls-certificate.pem")).unwrap();
    let shown = Some(identity.as_bytes());
    let keyless = Client::with_identity(&url, &certificate, shown, "trefoil_none", 1).unwrap();
    match keyless.usage(trefoil_api::Hex([0; 8])).await {
        Err(ClientError::Problem(problem)) => assert_eq!(problem.code, "caller-unauthenticated"),
        other => panic!("{other:?}"),
    }

    // From the command line: let in, with the answer that this is no checkpoint; or an error that says what is missing.
    let (own, ca, note) = (house.file("own.pem"), house.file("data/tls-certificate.pem"), house.file("note"));
    std::fs::write(&own, &identity).unwrap();
    std::fs::write(&note, "no checkpoint").unwrap();
    let [own, ca, note] = [own, ca, note].map(|path| path.to_str().unwrap().to_owned());
    let hand_in = |more: &[&str]| {
        let output = trefoil(&[&["log", "hand-in", "--service", &url, "--ca", &ca], more, &[&note]].concat());
        assert_ne!(code(&output), 0);
        output.err()
    };
    let (without, with) = (hand_in(&[]), hand_in(&["--identity", &own]));
    assert!(without.contains("--identity"), "{without}");
    assert!(!with.contains("--identity") && with.contains("the service answered"), "{with}");
    let broken = hand_in(&["--identity", &note]);
    assert!(broken.contains("--identity") && broken.contains("its key"), "{broken}");
    assert_eq!(house.program.terminate().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_authority_is_taken_over_while_the_service_runs_and_a_broken_file_is_not() {
    let [first, second] = ["first", "second"].map(Authority::new);
    let house = house(&first).await;
    let (log, ca) = (house.file("log"), house.file("client-ca.pem"));
    let [of_first, of_second] = [first.client(), second.client()];
    assert!(house.lets_in(Some(&of_first)).await && !house.lets_in(Some(&of_second)).await);
    std::fs::write(&ca, "no certificate").unwrap();
    house.program.signal("-HUP");
    said(&log, "the certificate cannot be renewed", 1).await;
    let why = std::fs::read_to_string(&log).unwrap();
    assert!(why.contains("client-ca.pem") && why.contains("tls.client_ca"), "{why}");
    assert!(house.lets_in(Some(&of_first)).await);
    std::fs::write(&ca, &second.pem).unwrap();
    house.program.signal("-HUP");
    said(&log, "new connections get the renewed certificate", 1).await;
    assert!(!house.lets_in(Some(&of_first)).await && house.lets_in(Some(&of_second)).await);
    let page = house.program.admin.get("/v1/status").await.json();
    assert_eq!(page["ready"], true);
    assert_eq!(house.program.terminate().code(), Some(0));
}

#[test]
fn a_file_that_holds_no_authority_is_named_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("nothing.pem");
    std::fs::write(&ca, "").unwrap();
    let started = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(words("serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir"))
        .arg(directory.path().join("data"))
        .env("TREFOIL_TLS_CLIENT_CA", &ca)
        .output()
        .unwrap();
    let error = started.err();
    assert_ne!(started.status.code(), Some(0));
    assert!(error.contains("nothing.pem") && error.contains("tls.client_ca takes"), "{error}");
}
