//! A gateway in a process of its own, which can be killed and inspected. Its clients are in this process.

use crate::http::tls;
use crate::world::*;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout};
use tracing_subscriber::EnvFilter;

/// Tells the child what to be; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_GATEWAY";

/// A gateway process; killed when dropped.
pub(crate) struct Gateway {
    child: Child,
    /// Kept to the end: the child's last output needs a reader.
    _lines: std::io::Lines<BufReader<ChildStdout>>,
    endpoints: (Endpoint, Endpoint),
}

/// How to run it.
pub(crate) struct Plan {
    pub(crate) data: PathBuf,
    /// Where the key-holder is.
    pub(crate) key_holder: String,
    pub(crate) batch_delay_us: u64,
    /// The log file, at the most detailed level.
    pub(crate) log: PathBuf,
}

impl Plan {
    /// With a key-holder process, which is started with the credentials of both sides.
    pub(crate) fn apart(folder: &Path, vault: &Path, listen: &str) -> (Plan, KeyHolder) {
        let (data, log) = (folder.join("data"), folder.join("gateway.log"));
        KeyHolder::init(vault, &data, listen);
        let key_holder = KeyHolder::start(vault, listen);
        (Plan { data, key_holder: key_holder.url().to_owned(), batch_delay_us: 0, log }, key_holder)
    }

    /// Starts the process; its clock begins where this one stands.
    pub(crate) fn start(&self, clock: &TestClock) -> Gateway {
        let plan = json!({
            "data": self.data, "key_holder": self.key_holder, "batch_delay_us": self.batch_delay_us,
            "ahead_s": clock.ahead(),
        });
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "gateway::process", "--nocapture"])
            .env(CHILD, plan.to_string())
            .envs(crate::store::database(&self.data).map(|url| (crate::store::GIVEN, url)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("gateway {").map(|(_, rest)| format!("{{{rest}")));
        let told: Value = serde_json::from_str(&told.expect("the gateway starts")).unwrap();
        let text = |name: &str| told[name].as_str().unwrap();
        let tls = tls(Path::new(text("certificate")));
        let endpoint =
            |name| Endpoint { address: text(name).parse().unwrap(), tls: Arc::clone(&tls), bearer: None };
        let endpoints = (endpoint("public"), endpoint("admin").with_bearer(text("token")));
        Gateway { child, _lines: lines, endpoints }
    }
}

impl Gateway {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn endpoints(&self) -> (Endpoint, Endpoint) {
        self.endpoints.clone()
    }

    /// A new tenant of this service.
    pub(crate) async fn customer(&self, clock: Arc<TestClock>, policy: Value) -> Customer {
        let (public, admin) = self.endpoints();
        Customer::new(public, admin, clock, policy).await
    }

    /// `kill -9`, and waits until the process is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Has it answer what is under way and end.
    pub(crate) fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test of its own: the child of others.
#[tokio::test(flavor = "multi_thread")]
async fn process() {
    let Ok(plan) = std::env::var(CHILD) else { return };
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let everything = EnvFilter::new("trace");
    tracing_subscriber::fmt().with_env_filter(everything).with_writer(std::io::stderr).init();
    let mut config = service::config(Path::new(plan["data"].as_str().unwrap()));
    config.key_holder.url = plan["key_holder"].as_str().unwrap().to_owned();
    // Everybody shows somebody else's face there.
    config.limits.distinct_failures = 0;
    config.key_holder.timeout_ms = 60_000;
    if let Some(delay @ 1..) = plan["batch_delay_us"].as_u64() {
        config.pipeline.batch_delay_us = delay;
    }
    let clock = Arc::new(TestClock::default());
    clock.advance(plan["ahead_s"].as_u64().unwrap());
    let server = service::start(config, &clock).await;
    let told = json!({
        "public": server.public_address().to_string(), "admin": server.admin_address().to_string(),
        "certificate": server.certificate_path(), "token": server.admin_token(),
    });
    println!("gateway {told}");
    std::io::stdout().flush().unwrap();
    // Until the parent closes the other end, or is gone.
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
    assert_eq!(closed.unwrap().unwrap(), 0);
    assert!(server.shutdown().await);
}
