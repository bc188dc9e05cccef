//! A clock that steps or is wrong: no login is accepted twice, and the operator is told.

use crate::service::{unlimited, unproven};
use crate::unproven::{Application, face};
use crate::world::*;
use trefoil_api::UnprovenAuthentication;

const DAY: i64 = 86_400;
const REPLAYS: u64 = 40;
/// Far over the second in which the service looks at its clock.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service with one subject, whose logins need no proof.
struct World {
    service: Service,
    app: Application,
    nonces: u64,
}

impl World {
    async fn new() -> World {
        let service = Service::start().await;
        let app = Application::new(&service, with(unproven(), "attempts", unlimited())).await;
        app.enrol(1, &face(1)).await;
        World { service, app, nonces: 0 }
    }

    fn step(&self, by_s: i64) {
        self.service.clock.step(by_s);
    }

    fn requests(&mut self, count: u64) -> Vec<UnprovenAuthentication> {
        self.nonces += count;
        (self.nonces - count..self.nonces).map(|nonce| self.app.request(1, &face(1), nonce)).collect()
    }

    async fn send(&self, requests: &[UnprovenAuthentication]) -> Vec<Reply> {
        join_all(requests.iter().map(|request| self.app.send(request))).await
    }

    /// How many of them are accepted.
    async fn accepted(&self, requests: &[UnprovenAuthentication]) -> usize {
        self.send(requests).await.iter().filter(|reply| reply.status == 200).count()
    }

    /// Logins that are accepted, for replays.
    async fn logins(&mut self) -> Vec<UnprovenAuthentication> {
        let requests = self.requests(REPLAYS);
        assert_eq!(self.accepted(&requests).await, requests.len());
        requests
    }

    /// Enrols somebody, which makes a seal.
    async fn seal(&mut self) {
        self.nonces += 1;
        let handle = 10 + u8::try_from(self.nonces % 200).unwrap();
        let status = self.app.try_enrol(handle, &face(self.nonces)).await.status;
        assert!(status == 201 || status == 409, "{status}");
    }

    async fn restart(self, accept_clock: bool, by_s: i64) -> World {
        let World { mut service, mut app, nonces } = self;
        service.config.store.accept_clock = accept_clock;
        let service = service.restart_at_once(async |clock| clock.step(by_s)).await;
        app.public = service.public.with_bearer(app.public.bearer.as_deref().unwrap());
        World { service, app, nonces }
    }

    async fn codes(&self) -> Vec<String> {
        let status = self.service.admin.get("/v1/status").await.json();
        let code = |finding: &Value| finding["code"].as_str().unwrap().to_owned();
        status["attention"].as_array().unwrap().iter().map(code).collect()
    }

    /// Waits until the operator's status names this, or no longer does.
    async fn until_told(&self, code: &str, is_told: bool) {
        let begun = Instant::now();
        while self.codes().await.iter().any(|found| found == code) != is_told {
            assert!(begun.elapsed() < PATIENCE, "{code}: {:?}", self.codes().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn ready(&self) -> (u16, String) {
        let reply = self.service.admin.get("/readyz").await;
        (reply.status.as_u16(), reply.text().to_owned())
    }
}

/// Claim V26: A login is attested once, even across restarts, however long it waits, and whatever the clock does: steps by a second to a
/// year, both ways, while the service runs and between two runs, alone and at three nodes.
#[tokio::test(flavor = "multi_thread")]
async fn no_login_is_accepted_twice_when_the_clock_steps_while_the_service_runs() {
    let mut world = World::new().await;
    for by_s in [1, 20, 61, 300, 3_600, DAY, 365 * DAY] {
        for step in [-by_s, by_s] {
            world.step(10);
            let first = world.logins().await;
            world.step(step);
            assert_eq!(world.accepted(&first).await, 0, "after a step by {step} s");
            // What is sealed, decided and swept meanwhile goes by the other time.
            let more = world.requests(5);
            let during = world.accepted(&more).await;
            assert_eq!(during, if step < -2 { 0 } else { 5 }, "during a step by {step} s");
            if step < 0 {
                world.seal().await;
            }
            assert_eq!(world.accepted(&first).await, 0, "during a step by {step} s");
            world.step(-step);
            assert_eq!(world.accepted(&first).await, 0, "after a step by {step} s and back");
            assert!(during + world.accepted(&more).await <= 5);
            if step < 0 {
                // Up to 2 s behind what was sealed nothing is refused.
                world.step(-2);
                let honest = world.requests(5);
                let accepted = world.accepted(&honest).await;
                // A register that was swept meanwhile refuses three seconds more.
                assert!(accepted == 5 || store::is_fleet(), "{accepted}");
                assert_eq!(world.accepted(&first).await + world.accepted(&honest).await, 0);
                world.step(2);
            } else if by_s < 365 * DAY {
                world.step(by_s);
                assert_eq!(world.accepted(&first).await + world.accepted(&more).await, 0);
                world.step(130);
            }
        }
    }
}

/// Claim V26.
#[tokio::test(flavor = "multi_thread")]
async fn no_login_is_accepted_twice_when_the_clock_steps_between_two_runs() {
    let short = [1, 20, 61, 300, 3_600, DAY, 30 * DAY].into_iter().flat_map(|by_s| [-by_s, by_s]);
    restarts(32 * DAY, &short.collect::<Vec<_>>()).await;
    // A start is refused before the keys begin and after they end, so each step by a year has an installation of its own.
    for by_s in [365 * DAY, 366 * DAY] {
        restarts(2 * DAY, &[by_s]).await;
        restarts(by_s + 2 * DAY, &[-by_s]).await;
    }
}

/// Steps between two runs of an installation, from so many seconds after the beginning of its keys on.
async fn restarts(begins_s: i64, steps: &[i64]) {
    let mut world = World::new().await;
    world.step(begins_s);
    for &step in steps {
        let first = world.logins().await;
        if step < 0 {
            // A seal by the clock that was set back.
            world.step(step);
            world.seal().await;
            world = world.restart(false, 0).await;
        } else {
            world = world.restart(false, step).await;
        }
        assert_eq!(world.accepted(&first).await, 0, "after a step by {step} s and a restart");
        for again in [-step - 4, 4, 4] {
            world.step(again);
            let accepted = world.accepted(&first).await;
            assert_eq!(accepted, 0, "after a step by {step} s, a restart, and {again} s");
        }
        world.step(step.abs() + 130);
    }
}

/// Claim V160: A clock that is behind what was sealed, and a seal that is dated far ahead, are named where logins are refused (`/readyz`,
/// status, doctor), and an operator who accepts the clock accepts no replay, then or when that time comes. A clock by which almost all
/// logins are too old or too new is a finding.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_behind_is_named_where_logins_are_refused_and_no_longer_once_it_is_set() {
    let mut world = World::new().await;
    let first = world.logins().await;
    assert_eq!(world.ready().await.0, 200);
    world.step(-3_600);
    let (status, text) = world.ready().await;
    assert!(status == 503 && text.contains("3600 s behind"), "{status} {text}");
    let one = world.requests(1);
    let refused = &world.send(&one).await[0];
    assert_eq!(refused.headers["retry-after"], "30");
    let problem = refused.problem(503, "clock-behind");
    assert!(problem["detail"].as_str().unwrap().contains("3600 s behind"), "{problem}");
    world.until_told("clock-behind", true).await;
    world.until_told("clock-stepped", true).await;
    let codes = world.codes().await;
    assert!(!codes.contains(&"service-not-ready".to_owned()), "one finding for one cause: {codes:?}");
    // It is right again: by a second or two it may differ.
    for behind_s in [2, 1, 0] {
        world.step(3_600 - behind_s);
        assert_eq!(world.ready().await.0, 200, "{behind_s}");
        assert_eq!(world.accepted(&first).await, 0);
        let honest = world.requests(1);
        assert_eq!(world.accepted(&honest).await, 1);
        world.step(behind_s - 3_600);
    }
    world.step(3_600);
    world.until_told("clock-behind", false).await;
}

/// Claim V160.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_seal_that_is_dated_ahead_an_operator_accepts_the_clock_and_no_replay() {
    let mut world = World::new().await;
    let first = world.logins().await;
    // A day ahead for a moment.
    world.step(DAY);
    let ahead = world.logins().await;
    world.seal().await;
    if store::is_fleet() {
        store::sweep_register(&world.service.config.store.url.0, world.service.clock.unix_s());
    }
    world = world.restart(false, -DAY).await;
    let (status, text) = world.ready().await;
    assert!(status == 503 && text.contains("86400 s behind"), "{status} {text}");
    world.until_told("clock-behind", true).await;
    assert_eq!(world.accepted(&first).await, 0);
    // A start with the flag says that the clock is right.
    world = world.restart(true, 0).await;
    let (status, text) = world.ready().await;
    assert_eq!(status, 200, "{text}");
    assert_eq!(world.accepted(&first).await, 0);
    world.step(10);
    assert_eq!(world.accepted(&first).await, 0);
    let honest = world.logins().await;
    // The log goes on from here, also without the flag.
    world = world.restart(false, 10).await;
    let later = world.logins().await;
    for requests in [&first, &honest, &later] {
        assert_eq!(world.accepted(requests).await, 0);
    }
    // When the time comes that was sealed by mistake, what was accepted in it is fresh, and refused; it ends soon.
    world.step(DAY - 20);
    assert_eq!(world.accepted(&ahead).await, 0);
    let one = world.requests(1);
    let refused = &world.send(&one).await[0];
    let problem = refused.problem(422, "request-not-fresh");
    assert!(problem["detail"].as_str().unwrap().contains("clock was wrong"), "{problem}");
    world.step(70);
    world.logins().await;
    assert_eq!(world.accepted(&ahead).await, 0);
}

/// Claim V160.
///
/// Nothing is sealed ahead of it, so only the logins of honest callers can say so.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_is_disputed_by_the_logins_that_it_refuses() {
    let mut world = World::new().await;
    // At each node of a fleet so many of them are expected.
    let honest = world.requests(200);
    world.step(3_600);
    assert_eq!(world.accepted(&honest).await, 0);
    assert_eq!(world.ready().await.0, 200);
    world.until_told("clock-disputed", true).await;
    world.step(-3_600);
    let begun = Instant::now();
    while world.codes().await.contains(&"clock-disputed".to_owned()) {
        assert!(begun.elapsed() < PATIENCE);
        world.logins().await;
    }
}
