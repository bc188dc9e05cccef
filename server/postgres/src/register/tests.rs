//! The register against a real server: from many threads, killed, frozen, restored.

use super::*;
use crate::PasswordFiles;
use std::collections::HashMap;
use std::thread;
use trefoil_attest::{Family, Seal, SealHeader, Suite};
use trefoil_testing::postgres::Server;
use trefoil_types::KeySetId;

const PATIENCE: Duration = Duration::from_secs(10);
const KEEP_S: u64 = 180;
const LINKS_MAX: usize = 3;
const BOUNDS: Bounds = Bounds { links_max: LINKS_MAX, keep_s: KEEP_S, late_s: 0, early_s: 1 << 40 };
/// Of a login's batch.
const LANES: u64 = 32;

fn open_with(url: &str, patience: Duration) -> Result<PostgresRegister, StoreError> {
    let address = Address::read(url, &PasswordFiles::default()).unwrap();
    let opened = PostgresRegister::open(&Supervisor::default(), &address, patience, BOUNDS);
    opened.map(|(register, _)| register)
}

/// The register's time.
fn clock(register: &PostgresRegister) -> u64 {
    register.spend(&[]).unwrap().now
}

fn open(url: &str) -> PostgresRegister {
    open_with(url, PATIENCE).unwrap()
}

fn nonce(number: u64) -> Spending {
    // Not in the order of the numbers.
    let half = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes();
    Spending { nonce: half, issued_at: 1_800_000_000 }
}

fn spend(register: &PostgresRegister, batch: &[Spending]) -> Vec<Spent> {
    register.spend(batch).unwrap().spent
}

/// Spends until the register answers, which may be some time after the server has gone and come back.
fn spend_when_back(register: &PostgresRegister, batch: &[Spending]) -> Registered {
    let begun = Instant::now();
    loop {
        match register.spend(batch) {
            Ok(found) => return found,
            Err(cause) => assert!(begun.elapsed() < PATIENCE, "{cause}"),
        }
        thread::yield_now();
    }
}

fn database_of(url: &str) -> String {
    url.split(['/', '?']).nth(3).unwrap().to_owned()
}

#[test]
fn of_ten_thousand_nonces_at_two_nodes_at_once_each_is_accepted_once() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let nodes = [open(&url), open(&url)];
    let accepted: Vec<u64> = thread::scope(|scope| {
        let of = |node: &'static str, register| {
            // Half of the threads begin at the end, so that each order meets the other.
            (0..4_u64).map(move |part| {
                scope.spawn(move || {
                    let mut batches: Vec<u64> = (0..10_000 / LANES + 1).collect();
                    batches.rotate_left(part as usize * 20);
                    if part % 2 == 1 {
                        batches.reverse();
                    }
                    let mut accepted = Vec::new();
                    for first in batches.into_iter().map(|batch| batch * LANES) {
                        let numbers: Vec<u64> = (first..(first + LANES).min(10_000)).collect();
                        let batch: Vec<Spending> = numbers.iter().copied().map(nonce).collect();
                        let spent = PostgresRegister::spend(register, &batch).expect(node).spent;
                        let new = numbers.iter().zip(spent).filter(|(_, spent)| *spent == Spent::First);
                        accepted.extend(new.map(|(number, _)| *number));
                    }
                    accepted
                })
            })
        };
        let threads: Vec<_> = of("one", &nodes[0]).chain(of("two", &nodes[1])).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut times = HashMap::new();
    accepted.iter().for_each(|number| *times.entry(*number).or_insert(0) += 1);
    assert_eq!(accepted.len(), 10_000);
    assert!(times.len() == 10_000 && times.values().all(|count| *count == 1));
    // Four threads shared them at each node.
    assert!(nodes.iter().all(|node| (1..=LINKS_MAX).contains(&node.idle.len())));
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trefoil' AND datname";
    let open: usize = server.sql("postgres", &format!("{count} = '{}'", database_of(&url))).parse().unwrap();
    assert!(open <= 2 * (LINKS_MAX + 1), "{open} connections");
}

#[test]
fn of_equal_nonces_in_a_batch_one_is_accepted() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let (one, two) = (open(&url), open(&url));
    let batch = [nonce(1), nonce(2), nonce(1), nonce(1)];
    assert_eq!(spend(&one, &batch), [Spent::First, Spent::First, Spent::Repeated, Spent::Repeated]);
    assert_eq!(spend(&two, &batch), [Spent::Repeated; 4]);
    assert_eq!(spend(&two, &[]), []);
}

/// Two batches of the same nonces, in opposite orders and so long that they meet, would wait for each other.
#[test]
fn batches_in_opposite_orders_do_not_wait_for_each_other() {
    const MANY: u64 = 3000;
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let nodes = [open(&url), open(&url)];
    for round in 1..=5 {
        let meet = std::sync::Barrier::new(2);
        let spent: Vec<Vec<Spent>> = thread::scope(|scope| {
            let threads = [0, 1].map(|node| {
                let (register, meet) = (&nodes[node], &meet);
                scope.spawn(move || {
                    let mut batch: Vec<Spending> =
                        (1..=MANY).map(|lane| nonce(round * MANY + lane)).collect();
                    if node == 1 {
                        batch.reverse();
                    }
                    meet.wait();
                    spend(register, &batch)
                })
            });
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let accepted = spent.iter().flatten().filter(|spent| **spent == Spent::First).count();
        assert_eq!(accepted, MANY as usize, "round {round}: each once");
    }
}

/// Claim V112.
#[test]
fn after_a_crash_of_the_server_the_register_says_that_it_forgot() {
    let Some(mut server) = Server::start(&[]) else { return };
    let url = server.database();
    let register = open_with(&url, Duration::from_secs(1)).unwrap();
    let before = register.spend(&[nonce(1)]).unwrap();
    assert_eq!(before.spent, [Spent::First]);
    server.stop("immediate");
    assert!(register.spend(&[nonce(3)]).is_err() && register.unready().is_some());
    server.go();
    let after = spend_when_back(&register, &[nonce(1)]);
    // The nonce is new to it again: so every request of before is refused by its time.
    assert!(after.since >= before.now, "{after:?} {before:?}");
    assert_eq!(after.spent, [Spent::First]);
    assert_eq!(register.since(), after.since);
}

/// What a process of the server does that is killed: all others are started again, and the one that starts them goes on.
#[test]
fn after_a_crash_of_one_session_of_the_server_the_register_says_that_it_forgot() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.database();
    let register = open_with(&url, Duration::from_secs(1)).unwrap();
    let before = register.spend(&[nonce(1)]).unwrap();
    let id = server.sql(
        "postgres",
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'trefoil' ORDER BY pid LIMIT 1",
    );
    let killed = std::process::Command::new("kill").args(["-KILL", &id]).status().unwrap();
    assert!(killed.success());
    let begun = Instant::now();
    let after = loop {
        if let Ok(after) = register.spend(&[nonce(1)])
            && after.spent == [Spent::First]
        {
            break after;
        }
        assert!(begun.elapsed() < PATIENCE, "the server did not start again");
    };
    assert!(after.since >= before.now, "{after:?} {before:?}");
}

#[test]
fn a_copy_that_was_put_back_and_a_table_that_was_emptied_count_as_forgotten() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = database_of(&url);
    let register = open(&url);
    let mut batch = (0..).map(nonce);
    for edit in [
        "TRUNCATE register_nonces",
        "DELETE FROM register",
        "CREATE TABLE kept AS TABLE register_nonces; DROP TABLE register_nonces;
         ALTER TABLE kept RENAME TO register_nonces; ALTER TABLE register_nonces ADD PRIMARY KEY (half)",
        "UPDATE register SET name = '1 ' || name",
    ] {
        spend_when_back(&register, &[batch.next().unwrap()]);
        let before = clock(&register);
        server.sql(&name, "UPDATE register SET since = since - 50");
        server.sql(&name, edit);
        let found = spend_when_back(&register, &[batch.next().unwrap()]);
        assert!(found.since >= before, "{edit}: {found:?} {before}");
    }
}

/// Claim V112: A new installation of a fleet refuses no login as older than its register. Once there was a tenant, a register that begins
/// anew does.
///
/// Of an installation without a tenant no login was ever accepted.
#[test]
fn before_the_first_tenant_nothing_is_forgotten_and_after_it_everything_may_be() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = database_of(&url);
    server.sql(&name, "CREATE TABLE tenants (id bytea)");
    let register = open(&url);
    let found = register.spend(&[nonce(1)]).unwrap();
    assert_eq!((found.since, &found.spent[..]), (0, &[Spent::First][..]));
    assert_eq!(spend(&register, &[nonce(1)]), [Spent::Repeated]);
    // A row that another role could not see, or that is gone, counts too.
    server.sql(&name, "INSERT INTO tenants VALUES ('x'); DELETE FROM tenants; TRUNCATE register_nonces");
    let again = spend_when_back(&register, &[nonce(1)]);
    assert!(again.since >= found.now, "{again:?} {found:?}");
}

#[test]
fn a_server_that_gives_no_answer_is_given_up_in_time_and_found_again() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.database();
    let patience = Duration::from_secs(1);
    let register = open_with(&url, patience).unwrap();
    assert_eq!(spend(&register, &[nonce(0)]), [Spent::First]);
    server.freeze(true);
    for number in 1..4 {
        let begun = Instant::now();
        let outcome = register.spend(&[nonce(number)]);
        assert!(matches!(&outcome, Err(StoreError::Unreachable(_))), "{outcome:?}");
        let bound = if number == 1 { patience + Duration::from_millis(200) } else { patience / 4 };
        assert!(begun.elapsed() < bound, "{number}: {:?}", begun.elapsed());
    }
    assert!(register.unready().unwrap().contains("the register of used nonces"));
    server.freeze(false);
    let begun = Instant::now();
    while register.unready().is_some() {
        assert!(begun.elapsed() < PATIENCE);
        thread::yield_now();
    }
    // The first may have been used, and was refused. What was accepted before is remembered.
    assert_eq!(spend(&register, &[nonce(0), nonce(4)]), [Spent::Repeated, Spent::First]);
}

#[test]
fn a_connection_that_ends_refuses_a_batch_and_the_next_ones_are_answered() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = database_of(&url);
    let register = open(&url);
    let mut accepted = Vec::new();
    for number in 0..200 {
        if number % 50 == 20 {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
            server.sql("postgres", &format!("{end} = '{name}'"));
            assert!(register.spend(&[nonce(number)]).is_err(), "it is not tried again by itself");
            continue;
        }
        spend_when_back(&register, &[nonce(number)]);
        accepted.push(number);
    }
    let again: Vec<Spending> = accepted.iter().copied().map(nonce).collect();
    assert!(spend(&register, &again).iter().all(|spent| *spent == Spent::Repeated));
}

#[test]
fn what_is_old_is_deleted_and_nothing_else() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = database_of(&url);
    let register = open(&url);
    let now = clock(&register);
    spend(&register, &[nonce(1)]);
    let many = 2 * sql::SWEEP_MAX + 5;
    let (old, young) = (now - KEEP_S - 100, now - KEEP_S + 100);
    server.sql(
        &name,
        &format!(
            "INSERT INTO register_nonces SELECT int4send(n::int), {old} FROM generate_series(1, {many}) AS n;
             INSERT INTO register_nonces VALUES ('young', {young})"
        ),
    );
    let mut keeper = Keeper {
        address: Address::read(&url, &PasswordFiles::default()).unwrap(),
        patience: PATIENCE,
        state: Arc::default(),
        bounds: Bounds { links_max: 1, ..BOUNDS },
        swept: 0,
        lend: register.back.clone(),
        idle: register.idle.clone(),
        lent: Arc::default(),
        late: Duration::ZERO,
        link: None,
        look_at: Instant::now(),
        sweep_at: Instant::now(),
    };
    let left = || server.sql(&name, "SELECT count(*) FROM register_nonces");
    // The first sweep says up to when nothing counts any more, and the next ones delete that.
    keeper.look();
    assert_eq!(left(), (many + 2).to_string());
    keeper.sweep_at = Instant::now();
    for expected in [sql::SWEEP_MAX + 7, 7, 2] {
        keeper.look();
        assert_eq!(left(), expected.to_string());
    }
    assert!(keeper.sweep_at > Instant::now() + SWEEP / 2, "and it rests");
    assert_eq!(spend(&register, &[nonce(1)]), [Spent::Repeated]);
    drop(register);
    PostgresRegister::forget(&keeper.address, PATIENCE).unwrap();
    for table in ["register", "register_nonces"] {
        assert_eq!(server.sql(&name, &format!("SELECT count(*) FROM {table}")), "0", "{table}");
    }
}

/// A figure for people, not an assertion.
#[test]
fn a_batch_of_32_takes_this_long() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let port = server.port();
    let loopback = format!("postgres://trefoil@127.0.0.1:{port}/{}?sslmode=disable", database_of(&url));
    let mut number = 0;
    for (way, url) in [("unix socket", url), ("loopback", loopback)] {
        let register = open(&url);
        let mut times: Vec<Duration> = (0..500)
            .map(|_| {
                let batch: Vec<Spending> = (number..number + LANES).map(nonce).collect();
                number += LANES;
                let begun = Instant::now();
                let spent = spend(&register, &batch);
                let took = begun.elapsed();
                assert!(spent.iter().all(|spent| *spent == Spent::First), "{spent:?}");
                took
            })
            .collect();
        times.sort();
        let (median, late) = (times[250], times[495]);
        println!("{way}: median {median:?}, 99% {late:?}, a login {:?}", median / 32);
    }
}

/// Claim V26.
///
/// As the service judges: the database's clock steps, the register is swept and begins anew, and each request is offered at three nodes again and again.
#[test]
fn no_nonce_is_accepted_twice_when_the_databases_clock_steps() {
    const STEPS: [u64; 7] = [1, 20, 61, 300, 3_600, 86_400, 31_536_000];
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let name = database_of(&url);
    server.sql(
        &name,
        &format!(
            "CREATE SCHEMA standing; CREATE TABLE standing.clock AS SELECT 1800000000::bigint AS unix_s;
             CREATE FUNCTION standing.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT to_timestamp(unix_s) FROM standing.clock';
             CREATE TABLE tenants AS SELECT 1 AS id; CREATE TABLE seals (number bigint, bytes bytea);
             CREATE TABLE accepted_clocks (id bigint, first_seal bigint, at bigint);
             ALTER DATABASE {name} SET search_path = public, standing, pg_catalog"
        ),
    );
    let address = Address::read(&url, &PasswordFiles::default()).unwrap();
    let bounds = Bounds { early_s: 2, ..BOUNDS };
    let open = || PostgresRegister::open(&Supervisor::default(), &address, PATIENCE, bounds).unwrap().0;
    let nodes = [open(), open(), open()];
    let mut keeper = Keeper {
        address: address.clone(),
        patience: PATIENCE,
        state: Arc::default(),
        bounds,
        swept: 0,
        lend: nodes[0].back.clone(),
        idle: nodes[0].idle.clone(),
        lent: Arc::default(),
        late: Duration::ZERO,
        link: None,
        look_at: Instant::now(),
        sweep_at: Instant::now(),
    };
    let mut state = 4_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut now, mut sealed) = (1_800_000_000_u64, 0);
    let mut requests: Vec<(u64, u32)> = Vec::new();
    for round in 0..80 {
        let step = STEPS[draw(STEPS.len() as u64) as usize];
        now = match draw(4) {
            0 => now + step,
            1 => now - step,
            _ => now + draw(20),
        };
        server.sql(&name, &format!("UPDATE standing.clock SET unix_s = {now}"));
        match draw(6) {
            0 => drop(server.sql(&name, "TRUNCATE register, register_nonces")),
            1..4 => {
                keeper.sweep_at = Instant::now();
                keeper.look();
            }
            _ => {}
        }
        requests.extend((0..8).map(|_| (now + 2 - draw(60), 0)));
        let mut first = 0;
        for batch in requests.chunks_mut(32) {
            let spending = (first..).zip(batch.iter());
            let spending: Vec<Spending> = spending
                .map(|(number, (issued_at, _))| Spending { issued_at: *issued_at, ..nonce(number) })
                .collect();
            let found = spend_when_back(&nodes[draw(3) as usize], &spending);
            for (number, ((issued_at, times), spent)) in (first..).zip(batch.iter_mut().zip(found.spent)) {
                let is_fresh =
                    issued_at.saturating_sub(found.now) <= 2 && found.now.saturating_sub(*issued_at) <= 117;
                if spent == Spent::First && is_fresh && *issued_at > found.since + 3 {
                    *times += 1;
                    sealed = sealed.max(*issued_at - 2);
                }
                assert!(
                    *times <= 1,
                    "round {round}: request {number} of {issued_at} at {now}: {}",
                    found.since
                );
            }
            first += 32;
        }
        let seal = hex::encode(seal_at(sealed));
        server.sql(&name, &format!("DELETE FROM seals; INSERT INTO seals VALUES ({round}, '\\x{seal}')"));
    }
    assert!(requests.iter().filter(|(_, times)| *times == 1).count() > 40, "{requests:?}");
}

fn seal_at(time: u64) -> Vec<u8> {
    let header = SealHeader {
        issuer: "auth.example".to_owned(),
        key_set_id: KeySetId::new([1; 32]),
        seal_number: 1,
        previous: [2; 32],
        log_root: [3; 32],
        tree_size: 1,
        root: [4; 32],
        time,
        suite: Suite::One,
        vaults: Vec::new(),
        restored: None,
    };
    Seal { header, signatures: Family::ALL.map(|family| vec![0; family.signature_bytes()]) }.encode()
}
