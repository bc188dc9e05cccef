//! A node of a fleet, which shares the register of used nonces.

use crate::world::*;
use trefoil_testing::postgres::Server;

/// Claim V130: At a node of a fleet a request that is dated ahead waits until it is at most 1 s ahead, and is then decided. A register that
/// begins anew refuses what is dated up to 3 s later by its clock, so logins are back soon after a start of the database.
///
/// A node alone would refuse all requests that it may have attested before it was killed. One of a fleet knows which were.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_a_fleet_that_was_killed_knows_what_was_used_before() {
    let Some(server) = Server::shared() else { return };
    let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
    let (vault, data) = (folder.path().join("vault"), folder.path().join("one"));
    let key_holder = KeyHolder::beside(&vault, &data);
    let alone = [
        ("TREFOIL_STORE_URL", url.as_str()),
        ("TREFOIL_STORE_TIMEOUT_MS", "10000"),
        ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
    ];
    let fleet = [&alone[..], &[("TREFOIL_STORE_FLEET", "true")]].concat();
    let mut first = Program::start(&data, Stdio::null(), &fleet);
    let mut customer = Customer::of(&first, service::policy()).await;
    let people = customer.welcomed(1, 24).await;
    // A register that is new knows nothing of what was used before it, so it begins some seconds late.
    let begun = Instant::now();
    let used = loop {
        customer.clock = Arc::new(TestClock::of_machine());
        let request = customer.request(&people[0], &people[0].face, begun.elapsed().as_millis() as u64);
        let reply = customer.authenticate(&request).await;
        if reply.status == 200 {
            reply.matches();
            break request;
        }
        reply.problem(503, "before-restart");
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    first.kill();

    let second = Program::start(&data, Stdio::null(), &fleet);
    customer.moved((second.public.clone(), second.admin.clone()));
    let fresh = customer.request(&people[0], &people[0].face, u64::MAX);
    customer.authenticate(&used).await.problem(409, "nonce-replayed");
    customer.authenticate(&fresh).await.matches();
    customer.authenticate(&fresh).await.problem(409, "nonce-replayed");
    // What is dated ahead waits at a node of a fleet.
    let dated = trefoil_host::unix_s() + 4;
    let ahead = service::request_at(dated, &people[0], &people[0].face, u64::MAX - 1);
    customer.authenticate(&ahead).await.matches();
    assert!(trefoil_host::unix_s() + 1 >= dated);
    assert!(second.terminate().success());

    let name = url.split(['/', '?']).nth(3).unwrap();
    let remembers = "SELECT count(*) FROM register";
    assert_eq!(server.sql(name, remembers), "1");
    // A process alone does not note there what it accepts, so no later fleet may believe the register.
    let third = Program::start(&data, Stdio::null(), &alone);
    assert_eq!(server.sql(name, remembers), "0");
    // It takes at once what is dated ahead, and a fleet that follows may not take that again.
    customer.moved((third.public.clone(), third.admin.clone()));
    let begun = Instant::now();
    let used = loop {
        let (dated, nonce) = (trefoil_host::unix_s() + 5, begun.elapsed().as_millis() as u64 + 1_000_000);
        let request = service::request_at(dated, &people[0], &people[0].face, nonce);
        let reply = customer.authenticate(&request).await;
        if reply.status == 200 {
            break request;
        }
        reply.problem(503, "before-restart");
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(third.terminate().success());
    let fourth = Program::start(&data, Stdio::null(), &fleet);
    customer.moved((fourth.public.clone(), fourth.admin.clone()));
    customer.authenticate(&used).await.problem(503, "before-restart");
    assert!(fourth.terminate().success());
}
