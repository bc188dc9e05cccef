//! A gateway with three key-holder processes, of which first one is stopped, and then two.

use crate::key_holder_process::lax;
use crate::world::*;

/// One of three.
pub(crate) fn start(config: &Path) -> KeyHolder {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    KeyHolder::run(program.args(["key-holder", "--config", config.to_str().unwrap()]))
}

/// One of three, which leaves all limits to the tenants' policies.
pub(crate) fn start_lax(config: &Path) -> KeyHolder {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    KeyHolder::run(lax(program.args(["key-holder", "--config", config.to_str().unwrap()])))
}

/// Three key-holders of a gateway.
pub(crate) struct Three {
    pub(crate) configs: [PathBuf; 3],
    pub(crate) holders: [KeyHolder; 3],
    start: fn(&Path) -> KeyHolder,
}

impl Three {
    /// In `three` beside the data directory, each started like this.
    pub(crate) fn beside(data: &Path, start: fn(&Path) -> KeyHolder) -> Three {
        let configs = init(&data.with_file_name("three"), data);
        let holders = configs.each_ref().map(|config| start(config));
        Three { configs, holders, start }
    }

    pub(crate) fn urls(&self) -> [String; 3] {
        self.holders.each_ref().map(|holder| holder.url().to_owned())
    }

    /// A gateway's configuration, with time enough on the busiest machine.
    pub(crate) fn config(&self, data: &Path) -> Config {
        let mut config = service::config(data);
        config.key_holder.quorum = self.urls().to_vec();
        config.key_holder.timeout_ms = 60_000;
        config
    }

    /// Starts one again that was killed.
    pub(crate) fn back(&mut self, seat: usize) {
        self.holders[seat] = (self.start)(&self.configs[seat]);
    }
}

/// As [`made`], with timeouts that are long enough for the busiest machine.
pub(crate) fn init(three: &Path, gateway: &Path) -> [PathBuf; 3] {
    let configs = made(three, gateway);
    for config in &configs {
        let toml = std::fs::read_to_string(config).unwrap() + "timeout_ms = 60000\n";
        std::fs::write(config, toml).unwrap();
    }
    configs
}

/// Makes three key-holders and their gateway; the configurations of the three.
pub(crate) fn made(three: &Path, gateway: &Path) -> [PathBuf; 3] {
    // Three addresses that nobody else has.
    let listen = [(); 3].map(|()| crate::key_holder_process::listen());
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "init-quorum", "--dir", three.to_str().unwrap()])
        .args(["--gateway", gateway.to_str().unwrap(), "--listen"])
        .args(&listen)
        .output()
        .unwrap()
        .done();
    ["1.toml", "2.toml", "3.toml"].map(|name| three.join(name))
}

/// Seats 1 and 2 are listed in each other's place. No login may fail for that, because each one that fails costs an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn key_holders_in_another_order_than_their_seats_are_named_at_a_start_by_readyz_and_by_doctor() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut three = Three::beside(&data, start);
    let [one, two, other] = three.urls();
    let swapped = [two, one, other];
    let (authority, _) = swapped[0].split_once('#').unwrap();
    let named = format!("{authority} is seat 2 and stands in place 1");
    let remedy = "list them in the order of 1.toml, 2.toml, 3.toml";
    for (command, code) in [("serve", 1), ("doctor", 2)] {
        let said = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_trefoil")])
            .args([command, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .args(swapped.iter().flat_map(|url| ["--key-holder", url]))
            .envs([("TREFOIL_KEYS_PRECOMPUTE", "brief"), ("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")])
            .envs(store::database(&data).map(|url| ("TREFOIL_STORE_URL", url)))
            .output()
            .unwrap();
        let text = said.text();
        assert!(text.contains(&named) && text.contains(remedy), "{command}: {text}");
        assert_eq!(said.status.code(), Some(code), "{command}: {text}");
    }

    // They are away while it starts.
    three.holders.iter_mut().for_each(KeyHolder::kill);
    let quorum = [
        ("TREFOIL_KEYHOLDER_QUORUM", swapped.join(",")),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "1000".to_owned()),
    ];
    let quorum = quorum.each_ref().map(|(name, value)| (*name, value.as_str()));
    let program = Program::start(&data, Stdio::null(), &quorum);
    (0..3).for_each(|seat| three.back(seat));
    until_ready(&program.admin, |status, text| {
        status == 503 && text.contains(&named) && text.contains(remedy)
    })
    .await;
    assert!(program.terminate().success());
}

pub(crate) async fn until_ready(admin: &Endpoint, what: impl Fn(u16, &str) -> bool) {
    loop {
        let ready = admin.get("/readyz").await;
        if what(ready.status.as_u16(), ready.text()) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_decides_with_two_of_three_and_names_who_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut three = Three::beside(&data, start);
    let service = Service::new(three.config(&data)).await.at_one_node();
    assert!(!data.join("vault.sqlite").exists(), "the gateway has no keys");
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let policy = service::with(service::policy(), "probe", "shared");
    let tenant = serde_json::json!({"name": "other", "policy": policy});
    let refused = service.admin.post("/v1/tenants", &tenant).await;
    refused.problem(403, "key-holder-forbids");
    assert!(refused.text().contains("use a key-holder that is alone"), "{}", refused.text());
    let mut nonce = 0;
    let mut login = async |service: &Service, face: usize| {
        nonce += 1;
        service.login(&people[0], &people[face].face, nonce).await
    };
    login(&service, 0).await.matches();
    login(&service, 1).await.denies();

    three.holders[1].kill();
    for _ in 0..3 {
        login(&service, 0).await.matches();
        login(&service, 1).await.denies();
        login(&service, 0).await.matches();
    }
    until_ready(&service.admin, |status, text| status == 200 && text.contains("key-holder 2 of 3")).await;
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"2\"}").await, 0);
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"3\"}").await, 1);
    let refused = service.enrol(&people[1], "two-are-too-few").await;
    refused.problem(503, "key-holder-unavailable");
    assert!(refused.text().contains("key-holder 2 of 3 is away"), "{}", refused.text());

    three.holders[0].kill();
    until_ready(&service.admin, |status, _| status == 503).await;
    login(&service, 0).await.problem(503, "key-holder-unavailable");

    three.back(0);
    three.back(1);
    until_ready(&service.admin, |status, text| status == 200 && !text.contains("away")).await;
    login(&service, 0).await.matches();
    service.welcome(&people[1]).await;
}
