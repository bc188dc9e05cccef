//! The demonstration from end to end, and the typed client against a real service.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use trefoil_api::{AttestationForm, CreateTenant, CreatedTenant, Decision, Enrolment, Nonce, Vector};
use trefoil_attest::{ExpectedNonce, Policy as Requirements, VerifyError, verify, verify_with_seal};
use trefoil_cli::demo::{Arguments, run};
use trefoil_client::{Admin, Client, ClientError, Holder, Membership, attested_digest};
use trefoil_issuer::{public_key, sign};
use trefoil_pipeline::Clock;
use trefoil_server::config::Config;
use trefoil_server::server::Server;
use trefoil_service::clock::SystemClock;
use trefoil_service::tenant::{AttemptPolicy, Policy, ProbeMode, ProofNeed, Scope, Threshold};
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_types::TenantId;
use trefoil_wallet::credentials::{IssuerPublicKey, RootStatement, SignedRoot};
use trefoil_zkp::{
    Attributes, CredentialTree, Digest, EPOCH_SECONDS, Secret, Witness, commitment, epoch_at, leaf,
};

const AUDIENCE: &str = "shop.example";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/data/lfw_facenet128")
}

fn trefoil(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trefoil")).args(arguments).output().expect("the program runs")
}

#[test]
fn six_people_log_in_and_every_answer_holds() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = Arguments {
        people: Some(6),
        seed: 7,
        concurrency: 64,
        workers: 1,
        data: Some(data()),
        out: folder.path().join("kept"),
        json: true,
    };
    let report = run(&arguments).unwrap();
    assert!(report.holds(), "{report}");
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let count = |pointer: &str| json.pointer(pointer).and_then(Value::as_u64).expect(pointer);
    let probes = count("/probes");
    assert!(probes > 0 && probes.is_multiple_of(2));
    assert_eq!((count("/people"), count("/workers")), (6, 1));
    assert_eq!((count("/decisions_checked"), count("/decisions_differing")), (probes, 0));
    assert_eq!(count("/attestations_verified"), probes);
    assert_eq!(count("/genuine/match") + count("/genuine/no_match"), probes / 2);
    assert_eq!(count("/impostor/match") + count("/impostor/no_match"), probes / 2);
    assert_eq!(json["cache_hit_ratio"], 1.0, "every session was open before the first login");
    assert!(json["auth_per_s"].as_f64().unwrap() > 0.0);
    for stage in ["match", "key_holder", "proof_lookup", "digest", "seal", "total"] {
        assert!(json["stages_us"][stage].as_f64().unwrap() > 0.0, "{stage}");
    }
    assert!(report.to_string().contains("attempt budgets"));
    a_kept_login_verifies_with_the_printed_command_and_no_other(&json["login"]["verify"]);
}

fn a_kept_login_verifies_with_the_printed_command_and_no_other(command: &Value) {
    let command: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let verified = trefoil(&command);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let other = "00".repeat(16);
    let nonce = command.iter().position(|word| *word == "--nonce").unwrap() + 1;
    let replayed: Vec<&str> =
        command.iter().enumerate().map(|(i, word)| if i == nonce { &other } else { *word }).collect();
    assert_eq!(trefoil(&replayed).status.code(), Some(1));
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let refused = |arguments: &[&str], expected: &[&str]| {
        let output = trefoil(&[&["demo"], arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(output.stdout.is_empty());
        for part in expected {
            assert!(text.contains(part), "{part} in {text}");
        }
    };
    refused(&["--people", "1"], &["--people 1", "2 to 352"]);
    refused(&["--people", "353"], &["--people 353", "2 to 352"]);
    refused(&["--people", "many"], &["--people"]);
    refused(&["--concurrency", "0"], &["--concurrency"]);
    refused(&["--workers", "2000"], &["--workers"]);
    refused(&["--data", "no-such-folder"], &["no-such-folder", "--data", "x.npy"]);
}

/// Ten minutes into an hour, so that no epoch ends during a test.
#[derive(Default)]
struct SteadyClock(SystemClock);

impl Clock for SteadyClock {
    fn unix_s(&self) -> u64 {
        1_795_000_000 / EPOCH_SECONDS * EPOCH_SECONDS + 600 + self.0.monotonic_ns() / 1_000_000_000
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.monotonic_ns()
    }
}

struct Service {
    server: Server,
    clock: Arc<SteadyClock>,
    certificate: Vec<u8>,
    _folder: tempfile::TempDir,
}

impl Service {
    async fn start() -> Service {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::embedded();
        config.server.data_dir = folder.path().join("data");
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        config.server.admin_listen = config.server.listen;
        config.server.issuer = "https://auth.example".to_owned();
        config.proofs.cache_capacity = 1000;
        let clock = Arc::new(SteadyClock::default());
        let server = Server::start(config, Arc::clone(&clock) as Arc<dyn Clock>).await.unwrap();
        let certificate = std::fs::read(server.certificate_path()).unwrap();
        Service { server, clock, certificate, _folder: folder }
    }

    fn admin(&self) -> Admin {
        let address = format!("https://{}", self.server.admin_address());
        Admin::new(&address, &self.certificate, self.server.admin_token()).unwrap()
    }

    fn client(&self, certificate: &[u8], api_key: &str) -> Client {
        let address = format!("https://{}", self.server.public_address());
        Client::new(&address, certificate, api_key, 2).unwrap()
    }

    async fn tenant(&self) -> (CreatedTenant, Client) {
        let policy = Policy {
            embedder: "test-128".to_owned(),
            threshold: Threshold::Calibrated { score: 18_000, fmr_class: 3 },
            audiences: vec![AUDIENCE.to_owned()],
            proof: ProofNeed::Credential,
            level_min: 1,
            attempts: AttemptPolicy::default(),
            attestation_lifetime_s: 60,
            dimension: trefoil_api::DIM as u32,
            sessions_in_memory: None,
            probe: ProbeMode::Plain,
        };
        let tenant = CreateTenant { name: "shop".to_owned(), policy };
        let created = self.admin().create_tenant(&tenant).await.unwrap().without_verification();
        let scopes = vec![Scope::Enrol, Scope::Authenticate, Scope::Issue];
        let key =
            self.admin().create_api_key(created.tenant_id, scopes).await.unwrap().without_verification();
        (created, self.client(&self.certificate, &key.api_key))
    }
}

fn face(frequency: f32) -> Vector {
    Vector::new(std::array::from_fn(|i| (i as f32 * frequency).sin()))
}

/// The first root of a tenant, signed by a fresh key.
fn signed(tenant: &CreatedTenant, root: Digest, now: u64) -> (IssuerPublicKey, SignedRoot) {
    let mut key = MlDsa65::generate(&mut rand::rng()).unwrap();
    let issuer = public_key(&key);
    let (tenant, previous, key_id) = (tenant.tenant_id.0, [0; 32], issuer.id());
    let statement = RootStatement {
        tenant: TenantId::new(tenant),
        generation: 1,
        generation_min: 1,
        root,
        issued_at: now,
        previous,
        key_id,
    };
    let signed = sign(&statement, &mut key, &mut rand::rng()).unwrap();
    (issuer, signed)
}

fn credential(tenant: &CreatedTenant, now: u64) -> (Holder, Digest) {
    let rng = &mut rand::rng();
    let secret = Secret::random(rng);
    let attributes = Attributes::new(epoch_at(now) + 1, 1, 0, 0, rng).unwrap();
    let tree = CredentialTree::from_leaves(&[leaf(&commitment(&secret), &attributes)]).unwrap();
    let witness = Witness { secret, attributes, index: 0, path: tree.path(0).unwrap() };
    let (tenant, policy_id) = (tenant.tenant_id.0, tenant.policy_id);
    (
        Holder::new(
            witness,
            Membership { tenant: TenantId::new(tenant), policy_id, root_generation: 1, level: 1 },
        ),
        tree.root(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compact_attestation_verifies_with_the_seal_that_it_names() {
    let service = Service::start().await;
    let (tenant, client) = service.tenant().await;
    let now = service.clock.unix_s();
    let (holder, root) = credential(&tenant, now);
    let (issuer, root) = signed(&tenant, root, now);
    service.admin().register_issuer_key(tenant.tenant_id, &issuer).await.unwrap().without_verification();
    client.publish_root(&root).await.unwrap().without_verification();
    let enrolment = Enrolment {
        embedding: Some(face(0.7)),
        shares: None,
        issued_at: None,
        consent_ref: "form 1".to_owned(),
    };
    let enrolled = client.enrol(holder.handle(), &enrolment, "once").await.unwrap().without_verification();
    assert_eq!(enrolled.handle, holder.handle());
    let again = client.enrol(holder.handle(), &enrolment, "once").await.unwrap().without_verification();
    assert_eq!((again.generation, again.receipt.is_some()), (enrolled.generation, true));

    let request = holder.open(AUDIENCE, now, &mut rand::rng()).unwrap();
    let session = request.session;
    let opened = client.open_session(request.envelope).await.unwrap().without_verification();
    assert_eq!(opened.session_id, session.id());
    let root = client.keys().await.unwrap();
    assert_eq!(root, service.server.trust_root());
    for (probe, decision) in [(face(0.7), Decision::Match), (face(0.3), Decision::NoMatch)] {
        let nonce = Nonce::new(rand::random::<[u8; 16]>().to_vec()).unwrap();
        let login = session.authentication(probe, nonce, service.clock.unix_s(), AttestationForm::Compact);
        let answer = client.authenticate(&login).await.unwrap().without_verification();
        assert_eq!(answer.decision, decision);
        let expected = ExpectedNonce::Exactly(login.nonce.as_bytes().to_vec());
        let requirements = Requirements::new(root.clone(), AUDIENCE, expected)
            .tenant(TenantId::new(tenant.tenant_id.0))
            .account(session.account())
            .request_digest(attested_digest(&login))
            .any_decision();
        let (bytes, now) = (&answer.attestation.as_ref().unwrap().0, service.clock.unix_s());
        assert!(matches!(verify(bytes, &requirements, now), Err(VerifyError::SealNeeded(_))));
        let seal = client.seal(answer.seal_number).await.unwrap();
        let verified = verify_with_seal(bytes, &seal, &requirements, now).unwrap();
        assert_eq!(*verified.statement_digest(), answer.id.0);
    }
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_arrive_as_problems() {
    let service = Service::start().await;
    let stranger = service.client(&service.certificate, "trefoil_0000000000000000_none");
    let (tenant, client) = service.tenant().await;
    let now = service.clock.unix_s();
    let (issuer, root) = signed(&tenant, Digest::ZERO, now);
    let refused = stranger.publish_root(&root).await.unwrap_err();
    assert_eq!(refused.code(), Some("caller-unauthenticated"));
    assert!(matches!(&refused, ClientError::Problem(problem) if problem.status == 401), "{refused}");
    assert_eq!(stranger.seal(99).await.unwrap_err().code(), Some("seal-unknown"));
    assert_eq!(client.publish_root(&root).await.unwrap_err().code(), Some("issuer-key-missing"));
    service.admin().register_issuer_key(tenant.tenant_id, &issuer).await.unwrap().without_verification();
    let published = client.publish_root(&root).await.unwrap().without_verification();
    let again = client.publish_root(&root).await.unwrap().without_verification();
    assert_eq!((again.head, again.generation), (published.head, published.generation), "it may come again");
    let (_, foreign) = signed(&tenant, Digest::ZERO, now);
    assert_eq!(client.publish_root(&foreign).await.unwrap_err().code(), Some("root-signature-invalid"));
    let log = stranger.root_log(tenant.tenant_id, 0).await.unwrap();
    assert_eq!((log.roots.len(), log.roots[0].statement.0.clone(), log.next), (1, root.statement, None));
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_another_certificate_is_not_spoken_to() {
    let (service, other) = (Service::start().await, Service::start().await);
    let refused = service.client(&other.certificate, "key").keys().await.unwrap_err();
    assert!(matches!(&refused, ClientError::Unreachable { .. }), "{refused}");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let no_certificate = Client::new("https://127.0.0.1:1", b"not PEM", "key", 1);
    assert!(matches!(no_certificate, Err(ClientError::Certificate(_))));
    let plain = Client::new("http://127.0.0.1:1", &service.certificate, "key", 1);
    assert!(matches!(plain, Err(ClientError::Argument(_))));
}
