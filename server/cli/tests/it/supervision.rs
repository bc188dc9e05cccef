//! A panicking thread ends the process with a reason, and no request hangs.

use crate::http::tls;
use crate::siblings;
use crate::world::*;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_pipeline::Clock;
use trefoil_server::process::{Source, run_service};

/// Data directory and victim of the child; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_SUPERVISION";

/// A clock that panics on threads whose name begins like this, once it is armed.
struct Sabotage {
    inner: Arc<TestClock>,
    victim: String,
    armed: AtomicBool,
}

impl Clock for Sabotage {
    fn unix_s(&self) -> u64 {
        self.inner.unix_s()
    }

    fn monotonic_ns(&self) -> u64 {
        let here = std::thread::current().name().is_some_and(|name| name.starts_with(&self.victim));
        assert!(!(here && self.armed.load(Ordering::SeqCst)), "out of luck");
        self.inner.monotonic_ns()
    }
}

/// `trefoil serve` with that clock.
struct Service {
    child: Child,
    arm: ChildStdin,
    log: ChildStderr,
    lines: BufReader<ChildStdout>,
    customer: Customer,
}

impl Service {
    async fn start(data: &Path, victim: &str) -> Service {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "supervision::process", "--nocapture"])
            .env(CHILD, format!("{}\n{victim}", data.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut address = |of: &str| loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it does not start");
            if let Some((_, address)) = line.trim().split_once("https://")
                && line.contains(of)
            {
                return address.parse().unwrap();
            }
        };
        let addresses = [address("public API"), address("admin API")];
        addresses.into_iter().for_each(siblings::alone);
        // The addresses are printed once both files are written.
        let tls = tls(&data.join("tls-certificate.pem"));
        let token = std::fs::read_to_string(data.join("admin.token")).unwrap();
        let [public, admin] =
            addresses.map(|address| Endpoint { address, tls: Arc::clone(&tls), bearer: None });
        let admin = admin.with_bearer(token.trim());
        let customer = Customer::new(public, admin, Arc::default(), policy()).await;
        let (arm, log) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        Service { child, arm, log, lines, customer }
    }

    /// From the return on, the clock panics on threads of the victim.
    fn arms(&mut self) {
        self.arm.write_all(b"now\n").unwrap();
        let mut line = String::new();
        while !line.contains("armed") {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it has ended");
        }
    }

    /// The answer to a request, unless the process ended before it came.
    async fn ask(&self, person: &Person, nonce: u64) -> Option<Reply> {
        let request = self.customer.request(person, &person.face, nonce);
        self.customer.try_authenticate(&request).await.ok()
    }

    /// Waits for the end, and checks how it ended.
    fn ended(mut self, victim: &str) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        assert!(!self.child.wait().unwrap().success());
        assert!(rest.contains("exit code 1"), "{rest}");
        let last = log.lines().last().unwrap();
        let expected = format!("trefoil: the thread `{victim}");
        assert!(last.starts_with(&expected) && last.contains("out of luck"), "{log}");
    }
}

/// Claim V17: If a thread panics, the log names it, the service stops being ready, and the process ends with that reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_thread_ends_the_process_with_a_reason_and_no_request_hangs() {
    for victim in ["dispatcher", "worker", "seal", "proof"] {
        let directory = tempfile::tempdir().unwrap();
        let mut service = Service::start(&directory.path().join("data"), victim).await;
        let people = service.customer.people(2, 1, 31).await;
        let [known, stranger] = &people[..] else { panic!("two people") };
        service.customer.welcome(known).await;
        answer(&service.ask(known, 1).await.unwrap());
        service.arms();
        // One of these reaches the thread that panics; each is answered, or finds the service gone.
        let mut refused = 0;
        for nonce in 2.. {
            let proven = match victim {
                "proof" => service.customer.try_prove(stranger).await.ok(),
                _ => service.ask(known, nonce).await,
            };
            match proven {
                Some(reply) if reply.status == 200 => {}
                Some(reply) if reply.status == 500 => {
                    reply.problem(500, "internal");
                    refused += 1;
                }
                Some(reply) => {
                    reply.problem(503, "draining");
                    refused += 1;
                }
                None => break,
            }
        }
        assert!(refused > 0, "{victim}");
        tokio::task::spawn_blocking(move || service.ended(victim)).await.unwrap();
    }
}

/// Not a test of its own: the child of the one above.
#[test]
fn process() -> ExitCode {
    let Ok(plan) = std::env::var(CHILD) else { return ExitCode::SUCCESS };
    let (data, victim) = plan.split_once('\n').unwrap();
    let mut config = service::config(Path::new(data));
    config.proofs.workers = 1;
    let (inner, victim) = (Arc::default(), victim.to_owned());
    let clock = Arc::new(Sabotage { inner, victim, armed: AtomicBool::new(false) });
    let armed = Arc::clone(&clock);
    std::thread::spawn(move || {
        let told = std::io::stdin().read_line(&mut String::new());
        armed.armed.store(told.unwrap() > 0, Ordering::SeqCst);
        println!("armed");
    });
    let again = config.clone();
    let source = Source::new(None, move || Ok(again.clone()));
    let code = run_service(config, source, clock);
    if format!("{code:?}") == format!("{:?}", ExitCode::from(1)) {
        println!("exit code 1");
    }
    code
}
