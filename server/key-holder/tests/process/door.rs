//! Which clients are let in, and what they may do.

use crate::world::{
    EMBEDDER, Gateway, House, PATIENCE, Running, TENANT, end_of_log, face, frame, handle, lenient, model,
    named, now, under,
};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trefoil_host::identity::Fingerprint;
use trefoil_key_holder::clients::{CLIENTS_FILE, Clients, Right};
use trefoil_key_holder::{Bounds, Remote, tls};
use trefoil_matching::{
    DecisionPolicy, Enrolment, KeyHolderError, KeyHolding as _, KeyStructure, LANES, Lane, Model, ProbeJob,
    Renewal, Reply, Request, SealedFor, SealedProbe, Share, Status, blind, split,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::supervisor::Supervisor;
use trefoil_types::{BatchId, SessionId, TenantId};

#[derive(Debug)]
struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

fn enrolment(template: trefoil_matching::ForKeyHolder) -> Enrolment {
    Enrolment { name: named(9, 0), lane: Lane::new(9).unwrap(), model: model(), template }
}

/// A handshake with this configuration ends before anything is served.
fn is_refused(running: &Running, config: Arc<rustls::ClientConfig>) -> bool {
    let mut raw = running.raw_with(config);
    // The refusal may come after the client thinks that it is connected.
    let sent = raw.0.write_all(&frame(&Request::Ping)).and_then(|()| raw.0.flush());
    sent.is_err() || raw.is_closed()
}

/// Claim M35.
#[test]
fn only_listed_certificates_are_served() {
    let house = House::new("kill");
    let running = house.start();
    let print = running.address.fingerprint;
    let mut known = running.raw(house.gateway());
    assert!(matches!(known.ask(&Request::Ping), Ok(Reply::Done)));

    assert!(
        is_refused(&running, tls::client_config(house.identity("stranger"), print).unwrap()),
        "a stranger"
    );
    let mut without = rustls::ClientConfig::clone(&tls::client_config(house.gateway(), print).unwrap());
    without.client_auth_cert_resolver = Arc::new(NoCertificate);
    assert!(is_refused(&running, Arc::new(without)), "no certificate");
    let mut other = rustls::ClientConfig::clone(&tls::client_config(house.gateway(), print).unwrap());
    other.alpn_protocols = vec![b"h2".to_vec()];
    assert!(is_refused(&running, Arc::new(other)), "another protocol");
    let mut none = rustls::ClientConfig::clone(&tls::client_config(house.gateway(), print).unwrap());
    none.alpn_protocols = vec![];
    assert!(is_refused(&running, Arc::new(none)), "no protocol");

    // A gateway hangs up on a key-holder with another certificate than the configured one.
    let mut address = running.address.clone();
    address.fingerprint = Fingerprint([1; 32]);
    let bounds = Bounds { timeout: PATIENCE, connections: 1 };
    let misled = Remote::start(&Supervisor::default(), address, house.gateway(), bounds, None).unwrap();
    while misled.unready().is_none_or(|why| why.contains("not connected yet")) {
        std::thread::yield_now();
    }
    let (pinned, why) = (Fingerprint([1; 32]), misled.unready().unwrap());
    assert!(
        why.contains(&format!("expected fingerprint {pinned}, it has {print}. If you replaced")),
        "{why}"
    );
    assert!(matches!(
        misled.create_tenant(TENANT, KeyStructure::PerSubject, lenient(0)),
        Err(KeyHolderError::Unavailable(_))
    ));

    // A gateway that is not listed says so, unless the connection is reset before it has read the alert.
    let stranger = house.identity("stranger");
    let (own, refused) = (stranger.fingerprint(), running.connect(stranger));
    let begun = std::time::Instant::now();
    let told = format!("refuses our certificate: it lists others, and ours has fingerprint {own}");
    while !refused.unready().is_some_and(|why| why.contains(&told)) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", refused.unready());
        std::thread::yield_now();
    }

    // Silent strangers do not keep known clients out.
    let silent: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(&running.address.authority).unwrap()).collect();
    assert!(matches!(known.ask(&Request::Ping), Ok(Reply::Done)));
    running.connected(house.gateway());
    drop(silent);
}

/// Claim M35.
#[test]
fn a_gateway_cannot_weaken_what_protects_against_it_and_an_operator_decides_nothing() {
    let house = House::new("kill");
    let running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let job = gateway.honest(1);
    assert_eq!(gateway.decide(&job).unwrap(), 0b11);
    let forbidden = |outcome: Result<(), KeyHolderError>| {
        assert!(matches!(outcome, Err(KeyHolderError::Forbidden(_))), "{outcome:?}");
    };
    // It may change its own tenant's policy within the operator's limits, as it created the tenant within them.
    gateway.remote.set_policy(TENANT, lenient(32_768)).unwrap();
    assert_eq!(
        gateway.decide(&under(32_768, gateway.honest(5))).unwrap(),
        0,
        "the gateway's threshold is in force"
    );
    let elsewhere = gateway.decide(&gateway.honest(6));
    assert!(matches!(elsewhere, Err(KeyHolderError::OtherThreshold(32_768))), "{elsewhere:?}");
    gateway.remote.set_policy(TENANT, lenient(15_000)).unwrap();
    assert_eq!(gateway.decide(&gateway.honest(7)).unwrap(), 0b11);
    let foreign = gateway.remote.set_policy(TenantId::new([9; 16]), lenient(15_000));
    assert!(matches!(foreign, Err(KeyHolderError::UnknownTenant)), "{foreign:?}");
    forbidden(gateway.remote.forgive_malformed(TENANT));
    // A gateway that could do this would have as many failures a day as it likes.
    forbidden(gateway.remote.reset_attempts(named(0, 0)));
    assert_eq!(gateway.remote.locked_out(TENANT).unwrap(), 0);
    let operator = running.connected(house.operator());
    forbidden(operator.decide(job.clone()).map(drop));
    forbidden(operator.create_tenant(TenantId::new([8; 16]), KeyStructure::PerSubject, lenient(0)).map(drop));
    forbidden(operator.shred(named(0, 0)));
    let (blinded, _) = split(&face(&mut StdRng::seed_from_u64(1)), &mut StdRng::seed_from_u64(1));
    forbidden(operator.enrol(enrolment(blinded.into())).map(drop));

    operator.set_policy(TENANT, lenient(32_768)).unwrap();
    assert_eq!(
        gateway.decide(&under(32_768, gateway.honest(2))).unwrap(),
        0,
        "the operator's threshold is in force"
    );
    let lifted = house.command(&["reset-malformed"], &[&hex::encode(TENANT)]);
    assert!(lifted.status.success(), "{}", String::from_utf8_lossy(&lifted.stderr));
    let name = named(0, 0);
    let (tenant, handle) = (hex::encode(name.tenant), hex::encode(name.handle));
    let reset =
        house.command(&["reset-attempts"], &["--generation", &name.generation.to_string(), &tenant, &handle]);
    assert!(reset.status.success(), "{}", String::from_utf8_lossy(&reset.stderr));
    let stricter = house
        .command(&["set-policy"], &["--embedder", EMBEDDER, "--threshold", "15000", &hex::encode(TENANT)]);
    assert!(stricter.status.success(), "{}", String::from_utf8_lossy(&stricter.stderr));
    assert_eq!(gateway.decide(&gateway.honest(3)).unwrap(), 0b11);
    gateway.remote.shred(named(1, 0)).unwrap();
    let gone = gateway.decide(&gateway.honest(4));
    assert!(matches!(gone, Err(KeyHolderError::UnknownSubjects(lanes)) if lanes.bits() == 0b10), "{gone:?}");
}

/// Claim M35.
#[test]
fn a_tenant_of_another_gateway_looks_like_none() {
    let house = House::new("kill");
    let other = house.identity("other");
    {
        let directory = DataDir::open(&house.data()).unwrap();
        let mut clients = Clients::read(&directory).unwrap();
        clients.authorise(&directory, "other", other.fingerprint(), Right::Match).unwrap();
    }
    let mut running = house.start();
    let gateway = Gateway::new(&running, house.gateway(), lenient(15_000), 2);
    let job = gateway.honest(1);
    let other = running.connected(other);
    let unknown = |outcome: Result<(), KeyHolderError>| {
        assert!(matches!(outcome, Err(KeyHolderError::UnknownTenant)), "{outcome:?}");
    };
    assert_eq!(gateway.decide(&gateway.honest(9)).unwrap(), 0b11);
    let [own, told, all] = [&gateway.remote, &other, &running.connected(house.operator())].map(|client| {
        let Status { attempts, enrolments, tenants, templates, trips, .. } = client.status().unwrap();
        (attempts, enrolments, tenants, templates, trips)
    });
    let counted = (2, 2, 1, 2, vec![(TENANT, 0)]);
    assert_eq!((own, told, all), (counted.clone(), (0, 0, 0, 0, vec![]), counted));
    unknown(other.decide(job.clone()).map(drop));
    unknown(other.shred(named(0, 0)));
    let (blinded, _) = split(&face(&mut StdRng::seed_from_u64(1)), &mut StdRng::seed_from_u64(1));
    unknown(other.enrol(enrolment(blinded.into())).map(drop));
    let template = &gateway.people[0].0;
    let sealed_for = SealedFor { session: SessionId::new([1; 32]), nonce: vec![1; 16], issued_at: now() };
    let context = sealed_for.context(&TENANT, &handle(0));
    let share = Share::random(gateway.model.width(), &mut StdRng::seed_from_u64(1));
    let sealed = other.sealing_key().unwrap().seal(&context, &share);
    let mut probes = [const { None }; LANES];
    probes[0] = Some(SealedProbe { handle: handle(0), generation: 0, sealed, sealed_for });
    let probes =
        ProbeJob { tenant: TENANT, batch_id: BatchId::new([1; 16]), epoch: 0, model: gateway.model, probes };
    unknown(other.encrypt_probes(probes).map(drop));
    unknown(other.public_keys(TENANT).map(drop));
    unknown(other.begin_rotation(TENANT).map(drop));
    let (blinded, _) = blind(template, &mut StdRng::seed_from_u64(1));
    unknown(other.renew(Renewal { name: named(0, 0), to: 1, blinded }).map(drop));
    unknown(other.finish_rotation(TENANT, 0));
    let taken = other.create_tenant(TENANT, KeyStructure::PerSubject, lenient(0));
    assert!(matches!(taken, Err(KeyHolderError::TenantExists)), "{taken:?}");
    assert_eq!(gateway.decide(&job).unwrap(), 0b11);

    // The owner is remembered, and everything is in the log, which verifies.
    running.kill();
    let head = end_of_log(&house.data());
    let running = house.start();
    unknown(running.connected(house.identity("other")).decide(job.clone()).map(drop));
    assert!(end_of_log(&house.data()).next > head.next);
    let shown = house.command(&["check-log"], &[]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains("lines, head"));
}

#[test]
fn a_policy_beyond_the_operators_limits_and_a_list_of_clients_with_a_mistake_are_refused() {
    let house = House::new("kill");
    let config = house.folder.path().join("key-holder.toml");
    let strict =
        std::fs::read_to_string(&config).unwrap().replace("threshold_min = -32768", "threshold_min = 6000");
    std::fs::write(&config, strict).unwrap();
    let mut running = house.start();
    let remote = running.connected(house.gateway());
    let lax = remote.create_tenant(TENANT, KeyStructure::PerSubject, lenient(5999));
    assert!(matches!(lax, Err(KeyHolderError::Forbidden(_))), "{lax:?}");
    // Of neither model.
    let previous = Some((Model::of("another", 512).unwrap(), 5999));
    let lax =
        remote.create_tenant(TENANT, KeyStructure::PerSubject, DecisionPolicy { previous, ..lenient(6000) });
    assert!(matches!(lax, Err(KeyHolderError::Forbidden(_))), "{lax:?}");
    remote.create_tenant(TENANT, KeyStructure::PerSubject, lenient(6000)).unwrap();
    running.kill();
    let list = house.data().join(CLIENTS_FILE);
    let text = std::fs::read_to_string(&list).unwrap();
    for (from, to) in
        [("right", "rihgt"), ("\"match\"", "\"everything\""), ("fingerprint = \"", "fingerprint = \"0")]
    {
        std::fs::write(&list, text.replace(from, to)).unwrap();
        let refused = house.command(&[], &[]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(String::from_utf8(refused.stderr).unwrap().contains(CLIENTS_FILE));
    }
}

#[test]
fn a_caller_waits_no_longer_than_its_time() {
    // A socket that accepts and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::new("kill");
    let address = format!("tls://{}#{}", listener.local_addr().unwrap(), Fingerprint([1; 32]));
    let bounds = Bounds { timeout: Duration::from_millis(50), connections: 1 };
    let remote =
        Remote::start(&Supervisor::default(), address.parse().unwrap(), house.gateway(), bounds, None)
            .unwrap();
    assert!(remote.wait_until_ready(Instant::now() + Duration::from_millis(200)).is_err());
    assert!(matches!(remote.shred(named(0, 0)), Err(KeyHolderError::Unavailable(_))));
}

#[test]
fn a_client_beyond_the_connections_is_hung_up_on_until_there_is_room() {
    let house = House::new("kill");
    let config = house.folder.path().join("key-holder.toml");
    let narrow = std::fs::read_to_string(&config).unwrap().replace("[server]", "[server]\nconnections = 1");
    std::fs::write(&config, narrow).unwrap();
    let running = house.start();
    let mut first = running.raw(house.gateway());
    assert!(matches!(first.ask(&Request::Ping), Ok(Reply::Done)));
    let another = || tls::client_config(house.operator(), running.address.fingerprint).unwrap();
    assert!(is_refused(&running, another()));
    drop(first);
    while is_refused(&running, another()) {}
}
