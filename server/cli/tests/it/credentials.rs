//! Issuer and wallet on the command line against a running service, from the first member to a verified attestation.

use crate::world::*;
use trefoil_api::CreateTenant;
use trefoil_client::{Admin, Client, Unverified};
use trefoil_server::server::Server;
use trefoil_service::login::clock::SystemClock;
use trefoil_service::tenants::tenant::Scope;

const AUDIENCE: &str = "shop.example";
const NONCE: &str = "00112233445566778899aabbccddeeff";

/// A service with a tenant, and a directory with everything that its people have.
struct World {
    server: Server,
    directory: tempfile::TempDir,
    tenant: String,
}

impl World {
    async fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let config = crate::service::config(&directory.path().join("data"));
        // Commands read the machine's clock, so this service does too.
        let server = Server::start(config, Arc::new(SystemClock::default())).await.unwrap();
        let world = World { server, directory, tenant: String::new() };
        let certificate = std::fs::read(world.server.certificate_path()).unwrap();
        let admin = format!("https://{}", world.server.admin_address());
        let admin = Admin::new(&admin, &certificate, world.server.admin_token()).unwrap();
        let policy = serde_json::from_value(policy()).unwrap();
        let shop = CreateTenant { name: "shop".to_owned(), policy };
        let tenant = admin.creating_once("shop").create_tenant(&shop).await.unwrap();
        let again = admin.creating_once("shop").create_tenant(&shop).await.unwrap();
        let [tenant, again] = [tenant, again].map(Unverified::without_verification);
        assert_eq!(again.tenant_id, tenant.tenant_id, "created once");
        let scopes = vec![Scope::Enrol, Scope::Authenticate, Scope::Issue];
        let key = admin.create_api_key(tenant.tenant_id, scopes).await.unwrap().without_verification();
        world.private("api.key", &key.api_key);
        world.private("issuer.pass", "passphrase of the issuer\n");
        world.private("wallet.pass", "passphrase of the wallet\n");
        World { tenant: hex::encode(tenant.tenant_id.0), ..world }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn private(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Runs `trefoil` in the directory; words in capitals are replaced by groups of options.
    fn run(&self, command: &str) -> Output {
        let certificate = self.server.certificate_path();
        let certificate = certificate.to_str().unwrap();
        let public = format!("https://{}", self.server.public_address());
        let mut arguments: Vec<String> = Vec::new();
        for word in command.split_whitespace() {
            match word {
                "SERVICE" => arguments.extend(
                    ["--service", &public, "--ca", certificate, "--api-key-file", "api.key"]
                        .map(str::to_owned),
                ),
                "ISSUER" => arguments.extend(["--directory", "issuer"].map(str::to_owned)),
                "WALLET" => arguments.extend(
                    ["--wallet", "ann.wallet", "--passphrase-file", "wallet.pass"].map(str::to_owned),
                ),
                word => arguments.push(word.to_owned()),
            }
        }
        let mut trefoil = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        trefoil.args(&arguments).current_dir(self.directory.path()).output().unwrap()
    }

    /// Standard output of a command that succeeds.
    #[track_caller]
    fn done(&self, command: &str) -> String {
        let output = self.run(command);
        assert!(output.status.success(), "{command}: {}", output.err());
        output.out()
    }

    /// Standard error of a command that ends with this code.
    #[track_caller]
    fn refused(&self, command: &str, code: i32) -> String {
        let output = self.run(command);
        let error = output.err();
        assert_eq!(output.status.code(), Some(code), "{command}: {error}");
        error
    }

    /// Registers, adds ann, publishes, and gives her the credential.
    fn issue(&self) {
        self.done(&format!("issuer init ISSUER --tenant {} --passphrase-file issuer.pass", self.tenant));
        self.done(&format!(
            "issuer register ISSUER --admin https://{} --ca {} --admin-token-file {}",
            self.server.admin_address(),
            self.server.certificate_path().display(),
            self.server.admin_token_path().display()
        ));
        self.done("wallet create WALLET");
        let commitment = self.done("wallet commitment WALLET");
        self.done(&format!(
            "issuer add ann ISSUER --commitment {} --level 2 --expires 2032-01-01T00:00:00Z",
            commitment.trim()
        ));
        self.done("issuer publish ISSUER --passphrase-file issuer.pass SERVICE");
        self.done("issuer export ann ISSUER --output ann.credential");
        self.done("wallet receive ann.credential WALLET");
    }
}

fn face(path: &Path, frequency: f32) {
    let numbers: Vec<f32> = (0..128).map(|i| (i as f32 * frequency).sin()).collect();
    std::fs::write(path, json!(numbers).to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_first_member_to_a_verified_attestation_and_a_revocation() {
    let world = World::new().await;
    face(&world.path("ann.json"), 0.7);
    face(&world.path("eve.json"), 0.3);
    world.issue();
    world.done("wallet enrol WALLET --embedding ann.json --consent form-7 SERVICE");
    world.done(&format!("wallet open WALLET --audience {AUDIENCE} --record ann.proof SERVICE"));
    let log_in = |face: &str, nonce: &str| {
        format!(
            "wallet authenticate WALLET --audience {AUDIENCE} --embedding {face} --nonce {nonce} --output answer.json SERVICE"
        )
    };
    world.done(&log_in("ann.json", NONCE));
    let root = world.server.trust_root_path();
    let verify =
        format!("verify answer.json --trust-root {} --audience {AUDIENCE} --nonce {NONCE}", root.display());
    let verified = world.done(&verify);
    assert!(verified.contains("match") && verified.contains(&world.tenant), "{verified}");
    // Her device signed it. Its key is the one that her wallet shows, and required from now on.
    let shown = world.done("wallet show WALLET");
    let key = shown.lines().find_map(|line| line.trim().strip_prefix("key ")).unwrap().trim();
    assert!(verified.contains(&format!("signed, account key {key}")), "{verified}");
    assert!(verified.contains("require it with --account-key"), "{verified}");
    let pinned = world.done(&format!("{verify} --account-key {key}"));
    assert!(!pinned.contains("--account-key"), "{pinned}");
    let other = world.run(&format!("{verify} --account-key {} --json", "0".repeat(64)));
    assert_eq!(other.status.code(), Some(1));
    let other: serde_json::Value = serde_json::from_str(&other.out()).unwrap();
    assert_eq!(other["code"], "account-key");
    // The stored proof verifies again, alone and together with the attestation; another session's proof does not support that attestation.
    let alone = world.done("verify --proof ann.proof");
    assert!(alone.contains("cred/2") && alone.contains(&world.tenant), "{alone}");
    let both: serde_json::Value =
        serde_json::from_str(&world.done(&format!("{verify} --proof ann.proof --json"))).unwrap();
    assert_eq!((&both["valid"], &both["proof"]["level"]), (&json!(true), &json!("2")));
    assert_eq!(both["device"], json!({"account_key": key, "pinned": false}));
    assert_eq!(both["proof"]["account_key"], key);
    world.done("wallet prove WALLET --audience bank.example --output other.proof --record other.record");
    assert!(world.run(&format!("{verify} --proof other.record")).status.code() == Some(1));
    let mut damaged = std::fs::read(world.path("ann.proof")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(world.path("damaged.proof"), damaged).unwrap();
    world.refused("verify --proof damaged.proof", 1);
    world.refused("verify --proof missing.proof", 3);
    world.refused("verify", 2);
    world.refused(&log_in("eve.json", &NONCE.replace("00", "01")), 4);
    world.refused(&verify, 1);

    // A proof made ahead of time opens a session as well, once it is uploaded.
    world.done("wallet prove WALLET --audience bank.example --output bank.proof");
    world.done("wallet upload bank.proof WALLET SERVICE");
    let shown = world.done("wallet show WALLET");
    assert!(shown.contains("bank.example until") && shown.contains("shop.example until"), "{shown}");

    let audited = world.done("issuer audit ISSUER SERVICE");
    assert!(audited.starts_with("1 roots in the log"), "{audited}");
    world.done("issuer revoke ann ISSUER");
    let published = world.done("issuer publish ISSUER --passphrase-file issuer.pass SERVICE");
    assert!(published.contains("generation 2, accepted from 2"), "{published}");
    // Her session ended with the root, and the wallet cannot open another.
    let ended = world.refused(&log_in("ann.json", &NONCE.replace("00", "02")), 1);
    assert!(ended.contains("no other could be opened") && ended.contains("proof-stale"), "{ended}");
    assert!(
        world
            .refused(&format!("wallet open WALLET --audience {AUDIENCE} SERVICE"), 1)
            .contains("proof-stale")
    );
    let again = world.done("issuer publish ISSUER --passphrase-file issuer.pass SERVICE");
    assert!(again.starts_with("published already"), "{again}");
    assert!(world.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_opens_the_next_session_when_one_has_ended_and_the_account_stays() {
    let world = World::new().await;
    face(&world.path("ann.json"), 0.7);
    world.issue();
    world.done("wallet enrol WALLET --embedding ann.json --consent form-7 SERVICE");
    let log_in = |nonce: u8| {
        let nonce = hex::encode([nonce; 16]);
        world.run(&format!(
            "wallet authenticate WALLET --audience {AUDIENCE} --embedding ann.json --nonce {nonce} --output {nonce}.json SERVICE"
        ))
    };
    let without = log_in(0);
    assert!(without.err().contains("no session for this audience: open one first"));
    world.done(&format!("wallet open WALLET --audience {AUDIENCE} --level 2 SERVICE"));
    let root = world.server.trust_root_path();
    let attested = |nonce: u8| -> serde_json::Value {
        let nonce = hex::encode([nonce; 16]);
        let verify = format!(
            "verify {nonce}.json --trust-root {} --audience {AUDIENCE} --nonce {nonce} --json",
            root.display()
        );
        serde_json::from_str(&world.done(&verify)).unwrap()
    };
    for nonce in [1, 2] {
        // Her session ends with its root.
        world.done("issuer publish ISSUER --withdraw --passphrase-file issuer.pass SERVICE");
        world.done("issuer export ann ISSUER --output ann.credential");
        world.done("wallet receive ann.credential WALLET");
        let output = log_in(nonce);
        let told = output.err();
        assert!(output.status.success() && told.contains("opened a new session"), "{told}");
    }
    let [first, second] = [attested(1), attested(2)];
    let of = |answer: &serde_json::Value, name: &str| answer["statement"][name].as_str().unwrap().to_owned();
    assert_eq!(of(&first, "account"), of(&second, "account"));
    assert_ne!(of(&first, "session"), of(&second, "session"));
    assert_eq!(first["device"], second["device"]);
    assert!(world.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passphrases_damage_and_mistakes_are_named() {
    let world = World::new().await;
    world.issue();
    world.private("wrong.pass", "another passphrase");
    let wrong = "--wallet ann.wallet --passphrase-file wrong.pass";
    assert!(world.refused(&format!("wallet show {wrong}"), 1).contains("wrong passphrase"));
    let wrong = world.refused("issuer publish ISSUER --withdraw --passphrase-file wrong.pass SERVICE", 1);
    assert!(wrong.contains("issuer.key: wrong passphrase"), "{wrong}");
    assert!(world.refused("wallet create WALLET", 1).contains("a secret is not overwritten"));
    std::fs::write(world.path("open.pass"), "readable by all").unwrap();
    let open = world.refused("wallet show --wallet ann.wallet --passphrase-file open.pass", 1);
    assert!(open.contains("chmod go="), "{open}");
    let again = format!("issuer init ISSUER --tenant {} --passphrase-file issuer.pass", world.tenant);
    assert!(world.refused(&again, 1).contains("already"));
    let code = "00".repeat(32);
    let strange =
        format!("issuer add ann ISSUER --commitment {code} --level 2 --expires 2032-01-01T00:00:00Z");
    assert!(world.refused(&strange, 1).contains("`ann` is a member already"));
    assert!(world.refused("issuer revoke zoe ISSUER", 1).contains("no member is called `zoe`"));
    world.refused("issuer add zoe ISSUER --level 2", 2);
    std::fs::write(world.path("many.csv"), "name,commitment\n").unwrap();
    assert!(world.refused("issuer add --batch many.csv ISSUER", 1).contains("first line must be"));
    let credential = std::fs::read_to_string(world.path("ann.credential")).unwrap();
    let index = credential.replace("\"index\": 0", "\"index\": 1");
    std::fs::write(world.path("moved.credential"), index).unwrap();
    assert!(world.refused("wallet receive moved.credential WALLET", 1).contains("its path is not the one"));

    for (name, command, expected) in [
        ("ann.wallet", "wallet show WALLET", "damaged"),
        ("issuer/journal", "issuer show ISSUER", "damaged at byte"),
        (
            "issuer/issuer.key",
            "issuer publish ISSUER --withdraw --passphrase-file issuer.pass SERVICE",
            "damaged",
        ),
    ] {
        let good = std::fs::read(world.path(name)).unwrap();
        let mut bytes = good.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(world.path(name), &bytes).unwrap();
        let error = world.refused(command, 1);
        assert!(error.contains(expected), "{name}: {error}");
        std::fs::write(world.path(name), &good).unwrap();
    }
    world.done("wallet show WALLET");
    assert!(world.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_shows_other_roots_than_the_issuers_is_found_out() {
    let world = World::new().await;
    world.issue();
    // Another directory of the same tenant, whose key is registered next: a second issuer behind the first one's back.
    let second =
        format!("issuer init --directory second --tenant {} --passphrase-file issuer.pass", world.tenant);
    world.done(&second);
    world.done(&format!(
        "issuer register --directory second --admin https://{} --ca {} --admin-token-file {}",
        world.server.admin_address(),
        world.server.certificate_path().display(),
        world.server.admin_token_path().display()
    ));
    let refused = world.refused("issuer publish --directory second --passphrase-file issuer.pass SERVICE", 1);
    assert!(refused.contains("was not signed here"), "{refused}");
    let refused = world.refused("issuer publish ISSUER --withdraw --passphrase-file issuer.pass SERVICE", 1);
    assert!(refused.contains("root-signature-invalid"), "{refused}");
    assert!(world.done("issuer audit ISSUER SERVICE").contains("1 not yet published"));
    assert!(world.refused("issuer audit --directory second SERVICE", 1).contains("entry 0 of the log"));
    let stranger = Client::new(
        &format!("https://{}", world.server.public_address()),
        &std::fs::read(world.server.certificate_path()).unwrap(),
        "",
        1,
    );
    let log = stranger.unwrap().root_log(trefoil_api::Hex::parse(&world.tenant).unwrap(), 0).await.unwrap();
    assert_eq!((log.issuer_keys.len(), log.roots.len()), (2, 1), "a registered key leaves its trace");
    assert!(world.server.shutdown().await);
}
