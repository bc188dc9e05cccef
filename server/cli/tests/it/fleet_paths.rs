//! A node of a fleet whose paths to the database and to key-holders are slow, silent or closed.

use crate::fleet::{Fleet, Plan, is_one_log};
use crate::fleet_load::decided;
use crate::proxy::{Proxy, Way};
use crate::world::*;
use rand::RngExt as _;
use tokio::task::{JoinHandle, block_in_place};
use trefoil_attest::{Attestation, Evidence};
use trefoil_testing::Scale;
use trefoil_testing::postgres::Server;

/// What `server/FLEET.md` says of a database that is away, and of a node that hangs in its turn, with the default `store.timeout_ms` of 1 s.
const REFUSED_WITHIN: Duration = Duration::from_secs(2);
const BACK_WITHIN: Duration = Duration::from_secs(5);
const TURN_ENDS_WITHIN: Duration = Duration::from_secs(2);
/// From the end of the turn to the next login that succeeds.
const GOES_ON_WITHIN: Duration = Duration::from_secs(5);

/// `keyholder.timeout_ms`.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(2);
/// `limits.answer_timeout_s`.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Who holds the turn in the log, as the locks of the database have it.
const TURN: &str = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = x'74726566'::int AND objid = x'6f696c02'::int
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Why a node refuses without its database.
const AWAY: [&str; 2] = ["store-unavailable", "unsealed"];

/// A login that is under way: its attestation or why there is none, and when that was known.
type Asked = JoinHandle<(Result<Vec<u8>, String>, Instant)>;

/// A fleet whose first node is on the other side of these proxies.
struct Paths {
    fleet: Fleet,
    people: Vec<Person>,
    database: Proxy,
    key_holders: Vec<Proxy>,
}

impl Paths {
    async fn start(server: &Server) -> Paths {
        let mut plan = Plan::quorum(server);
        let database = Proxy::to(&format!("127.0.0.1:{}", server.port())).await;
        let (mut key_holders, mut quorum) = (Vec::new(), Vec::new());
        for holder in plan.key_holders.iter().map(KeyHolder::url) {
            let (target, fingerprint) = holder.strip_prefix("tls://").unwrap().split_once('#').unwrap();
            let proxy = Proxy::to(target).await;
            quorum.push(format!("tls://{}#{fingerprint}", proxy.address));
            key_holders.push(proxy);
        }
        let url = format!("postgres://trefoil@{}/{}?sslmode=disable", database.address, plan.database);
        plan.first_node("TREFOIL_STORE_URL", &url);
        plan.first_node("TREFOIL_KEYHOLDER_QUORUM", &quorum.join(","));
        let policy = service::with(service::policy(), "attempts", service::unlimited());
        let mut fleet = Fleet::of(plan, policy).await;
        let people = fleet.at(0).people(2, 1, 41).await;
        for person in &people {
            fleet.at(1).welcome(person).await;
        }
        Paths { fleet, people, database, key_holders }
    }

    fn all(&self, way: Way) {
        self.database.set(way);
        self.key_holders.iter().for_each(|path| path.set(way));
    }

    /// One login with the right face or another one. A decision is the right one.
    async fn login(&mut self, node: usize, is_right: bool) -> Result<(), String> {
        let face = self.people[usize::from(!is_right)].face;
        let customer = self.fleet.at(node);
        let request = customer.request(&self.people[0], &face, rand::random());
        let expected = if is_right { Decision::Match } else { Decision::NoMatch };
        decided(&customer.public, &request).await.map(|(decision, _)| assert_eq!(decision, expected))
    }

    /// A login at the first node beside what the test does then; how it went, and when.
    fn asks(&mut self) -> Asked {
        let (customer, person) = (self.fleet.at(0), &self.people[0]);
        let request = customer.request(person, &person.face, rand::random());
        let public = customer.public.clone();
        tokio::spawn(
            async move { (decided(&public, &request).await.map(|(_, bytes)| bytes), Instant::now()) },
        )
    }

    /// Logs in until it succeeds. Returns how long that took.
    async fn goes_on(&mut self, node: usize, within: Duration, what: &str) -> Duration {
        let begun = Instant::now();
        while let Err(reason) = self.login(node, true).await {
            assert!(begun.elapsed() < within, "{what}: node {node} refuses with {reason}");
        }
        begun.elapsed()
    }

    /// Every request is refused in time, for one of these reasons.
    async fn is_refused(&mut self, reasons: &[&str], what: &str) {
        for is_right in [true, false, true] {
            let begun = Instant::now();
            let reason = self.login(0, is_right).await.unwrap_err();
            assert!(reasons.contains(&reason.as_str()), "{what}: {reason}");
            assert!(begun.elapsed() < REFUSED_WITHIN, "{what}: {reason} after {:?}", begun.elapsed());
        }
    }
}

/// Claim V95.
/// Claim V97.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_paths_are_slow_silent_or_closed_refuses_in_time_forks_nothing_and_recovers() {
    let Some(server) = Server::shared() else { return };
    let mut paths = Paths::start(server).await;
    slow(&mut paths).await;
    silent_in_its_turn(&mut paths, server).await;
    stopped_in_its_turn(&mut paths, server).await;
    paths.database.set(Way::Closed);
    paths.is_refused(&AWAY, "a closed path to the database").await;
    paths.database.set(Way::Open);
    let back = paths.goes_on(0, BACK_WITHIN, "the path to the database is open again").await;
    println!("after a closed path to the database: back after {back:?}");
    deaf(&mut paths, server).await;
    for way in [Way::Silent, Way::Closed] {
        without_key_holders(&mut paths, server, way).await;
    }
    block_in_place(|| is_one_log(server, &paths.fleet.plan.database));
}

/// Everything arrives later, at full volume also as from another continent: a login that makes tens of round trips then comes to nothing in time.
async fn slow(paths: &mut Paths) {
    let far: &[u64] = if Scale::of_this_run() == Scale::Soak { &[20, 150] } else { &[20] };
    for delay_ms in far {
        let way = Way::Slow(Duration::from_millis(*delay_ms));
        paths.all(way);
        let (begun, mut refused) = (Instant::now(), Vec::new());
        for is_right in [true, false, true, true] {
            refused.extend(paths.login(0, is_right).await.err());
        }
        println!("{delay_ms} ms each way: four logins in {:?}, refused: {refused:?}", begun.elapsed());
        assert!(*delay_ms > 20 || refused.is_empty(), "{refused:?}");
        paths.goes_on(1, ANSWERED_WITHIN, "another node is far away").await;
    }
    paths.all(Way::Open);
    paths.goes_on(0, BACK_WITHIN, "paths are fast again").await;
}

/// Begins a login at the first node, and returns while that node holds the turn in the log and is cut off.
async fn cut_off_in_its_turn(paths: &mut Paths, server: &Server, cut: fn(&Paths, bool)) -> [Asked; 2] {
    let name = paths.fleet.plan.database.clone();
    let until_turn = format!(
        "DO $$ BEGIN FOR i IN 1..2000 LOOP
             IF EXISTS ({TURN}) THEN RETURN; END IF;
             PERFORM pg_sleep(0.002);
         END LOOP; END $$"
    );
    let is_held = || block_in_place(|| server.sql(&name, &format!("SELECT EXISTS ({TURN})"))) == "t";
    for _ in 0..20 {
        // So slow that the turn is seen in time.
        paths.database.set(Way::Slow(Duration::from_millis(60)));
        let in_turn = paths.asks();
        block_in_place(|| server.sql(&name, &until_turn));
        // Some of its steps later.
        tokio::time::sleep(Duration::from_millis(rand::rng().random_range(0..400))).await;
        cut(paths, true);
        if is_held() {
            return [in_turn, paths.asks()];
        }
        cut(paths, false);
        paths.database.set(Way::Open);
        // On a busy machine a login over this path is refused now and then before it is sealed.
        let _ = in_turn.await.unwrap();
    }
    panic!("20 logins, and the first node was not seen in its turn");
}

/// The path to the database falls silent while the first node holds the turn in the log.
async fn silent_in_its_turn(paths: &mut Paths, server: &Server) {
    let cut = |paths: &Paths, is_cut| paths.database.set(if is_cut { Way::Silent } else { Way::Open });
    let asks = cut_off_in_its_turn(paths, server, cut).await;
    let cut_off = Instant::now();
    others_go_on(paths, server, async |paths| {
        for asked in asks {
            let (outcome, at) = asked.await.unwrap();
            let (reason, after) = (outcome.unwrap_err(), at - cut_off);
            assert!(AWAY.contains(&reason.as_str()), "{reason}");
            assert!(after < REFUSED_WITHIN, "{reason} after {after:?}");
        }
        paths.is_refused(&AWAY, "a silent path to the database").await;
        // What the first node sent in its turn arrives now.
        cut(paths, false);
    })
    .await;
}

/// The first node is stopped while it holds the turn in the log, and goes on with what it was doing when others have taken turns.
async fn stopped_in_its_turn(paths: &mut Paths, server: &Server) {
    let cut = |paths: &Paths, is_cut| paths.fleet.nodes[0].signal(if is_cut { "-STOP" } else { "-CONT" });
    let asks = cut_off_in_its_turn(paths, server, cut).await;
    others_go_on(paths, server, async |paths| {
        paths.database.set(Way::Open);
        cut(paths, false);
    })
    .await;
    let log = block_in_place(|| is_one_log(server, &paths.fleet.plan.database));
    for asked in asks {
        let Ok(attestation) = asked.await.unwrap().0 else { continue };
        let Evidence::Full(seal) = Attestation::decode(&attestation).unwrap().evidence else { continue };
        assert_eq!(
            log[seal.header.seal_number as usize],
            seal.header.digest(),
            "a seal that is not the log's"
        );
    }
}

/// The other nodes extend the log without the one that holds the turn, which changes nothing of that when it is `back`.
async fn others_go_on(paths: &mut Paths, server: &Server, back: impl AsyncFnOnce(&mut Paths)) {
    let (name, begun) = (paths.fleet.plan.database.clone(), Instant::now());
    for node in [1, 2] {
        paths.goes_on(node, TURN_ENDS_WITHIN + GOES_ON_WITHIN, "another node held the turn").await;
    }
    let others = begun.elapsed();
    let before = block_in_place(|| is_one_log(server, &name));
    back(paths).await;
    let back = paths.goes_on(0, BACK_WITHIN, "it is not cut off any more").await;
    println!("a node cut off in its turn: the others went on after {others:?}, and it after {back:?}");
    let after = block_in_place(|| is_one_log(server, &name));
    assert!(after.len() > before.len() && after.starts_with(&before), "the log was changed");
}

/// The second node loses the connection on which it hears of the others, and tells of its keys, and gets no other one, while all its other connections stay.
async fn deaf(paths: &mut Paths, server: &Server) {
    let name = paths.fleet.plan.database.clone();
    let revocation = format!("/v1/subjects/{}/revoke", hex::encode(paths.people[0].handle));
    let templates = service::templates_path(&paths.people[1]);
    let limited = |limit: i32| {
        let role = format!("ALTER ROLE serving_{name} CONNECTION LIMIT {limit}");
        block_in_place(|| server.sql("postgres", &role))
    };
    limited(1);
    let hears = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND application_name LIKE 'trefoil %/{} %'",
        paths.fleet.nodes[1].id()
    );
    let (ended, begun) = (block_in_place(|| server.sql("postgres", &hears)), Instant::now());
    assert_eq!(ended, "1", "connections that hear");
    let customer = paths.fleet.at(1);
    let (public, admin) = (customer.public.clone(), customer.admin.clone());
    while public.get("/v1/subjects").await.status == 200 {
        assert!(begun.elapsed() < REFUSED_WITHIN, "a node that hears nothing lists subjects");
    }
    // Logins too, alone and in a batch, though the session is in its memory and each other connection works.
    let request =
        |customer: &Customer| customer.request(&paths.people[0], &paths.people[0].face, rand::random());
    let (alone, batch) = (request(customer), [request(customer), request(customer)]);
    public
        .post("/v1/authentications", &serde_json::to_value(&alone).unwrap())
        .await
        .problem(503, "store-unavailable");
    let batch = public.post("/v1/authentications/batch", &json!({"authentications": batch})).await;
    batch.problem(503, "store-unavailable");
    for reply in [
        public.get("/v1/subjects").await,
        public.post(&revocation, &json!({})).await,
        public.delete(&templates).await,
        admin.get("/v1/audit").await,
        admin.get("/v1/tenants").await,
        admin.post("/v1/tenants", &json!({"name": "t", "policy": service::policy()})).await,
    ] {
        reply.problem(503, "store-unavailable");
    }
    assert_eq!(paths.fleet.at(2).public.get("/v1/subjects").await.status, 200, "another node");
    limited(-1);
    let back = paths.goes_on(1, BACK_WITHIN, "it may connect again").await;
    println!("after {:?} without news: back after {back:?}", begun.elapsed());
}

/// First one of three paths to key-holders is as given, and then two.
async fn without_key_holders(paths: &mut Paths, server: &Server, way: Way) {
    paths.key_holders[1].set(way);
    for is_right in [true, false, true] {
        let begun = Instant::now();
        let decided = paths.login(0, is_right).await;
        assert!(decided.is_ok(), "one path to a key-holder is {way:?}: {decided:?}");
        assert!(begun.elapsed() < GIVEN_UP_AFTER, "a login waits for the one that is away");
    }
    let name = paths.fleet.plan.database.clone();
    let seals = || block_in_place(|| server.sql(&name, "SELECT max(number) FROM seals"));
    let before = seals();
    paths.key_holders[2].set(way);
    for is_right in [true, false, true] {
        let begun = Instant::now();
        let reason = paths.login(0, is_right).await.unwrap_err();
        assert!(["key-holder-unavailable", "undecided"].contains(&reason.as_str()), "{reason}");
        println!("two paths to key-holders are {way:?}: {reason} after {:?}", begun.elapsed());
    }
    assert_eq!(seals(), before, "something was attested");
    paths.key_holders.iter().for_each(|path| path.set(Way::Open));
    let back = paths.goes_on(0, BACK_WITHIN, "the paths to key-holders are open again").await;
    println!("after two {way:?} paths to key-holders: back after {back:?}");
}
