//! A key-holder that answers another request than the one it got.

use super::*;
use crate::channel::Channel;
use crate::protocol::{reply_frame, request_header};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::net::TcpListener;
use std::time::Duration;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Enrolment, ForKeyHolder, KeyHolder, KeyStructure, Lane,
    MemoryVault, Model, Renewal, TemplateName, TenantId, blind, split, unblind,
};
use trefoil_storage::data_dir::DataDir;
use trefoil_types::Handle;

const TENANT: TenantId = TenantId::new([7; 16]);
const TIME: Duration = Duration::from_secs(60);

const BOUNDS: Bounds = Bounds { timeout: TIME, connections: 1 };

/// A connection to a process that has one answer to everything but pings.
fn connected_to(answer: impl Fn() -> Reply + Clone + Send + 'static) -> Remote {
    let (address, client) = process(answer);
    let remote = Remote::start(&Supervisor::default(), address, client, BOUNDS, None).unwrap();
    remote.wait_until_ready(Instant::now() + TIME).unwrap();
    remote
}

/// The address of such a process, and the client that may connect.
fn process(answer: impl Fn() -> Reply + Clone + Send + 'static) -> (Address, Identity) {
    let folder = tempfile::tempdir().unwrap();
    let identity = |name| Identity::open(&DataDir::open(&folder.path().join(name)).unwrap(), name).unwrap();
    let (server, client) = (identity("server"), identity("client"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tls://{}#{}", listener.local_addr().unwrap(), server.fingerprint());
    let config = tls::server_config(server, [client.fingerprint()].into_iter().collect()).unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (config, answer) = (Arc::clone(&config), answer.clone());
            std::thread::spawn(move || {
                let mut channel = Channel::accept(config, socket.unwrap(), Instant::now() + TIME).unwrap();
                while let Ok(Some(first)) = channel.receive_first() {
                    let header = channel.receive_header(first).unwrap();
                    let (kind, length) = request_header(header).ok().unwrap();
                    channel.receive(&mut vec![0; length - 1]).unwrap();
                    let reply = if kind.name == "ping" { Reply::Done } else { answer() };
                    channel.send(&reply_frame(&Ok(reply))).unwrap();
                }
            });
        }
    });
    (address.parse().unwrap(), client)
}

/// Makes the thread of a handshake panic.
#[derive(Debug)]
struct Sabotage;

impl rustls::KeyLog for Sabotage {
    fn log(&self, _: &str, _: &[u8], _: &[u8]) {
        panic!("this test has the monitor panic");
    }
}

/// Claim V17.
#[test]
fn a_monitor_that_panics_is_named_and_calls_fail_at_once() {
    let (address, client) = process(|| Reply::Done);
    let own = client.fingerprint();
    let mut tls = Arc::unwrap_or_clone(tls::client_config(client, address.fingerprint).unwrap());
    tls.key_log = Arc::new(Sabotage);
    let supervisor = Supervisor::default();
    let (tell, told) = std::sync::mpsc::channel();
    supervisor.on_death(move |death| tell.send(death.thread.clone()).unwrap());
    let line = ConnectionPool::new(address, (Arc::new(tls), own), BOUNDS, None);
    let remote = Remote::over(&supervisor, line).unwrap();
    assert_eq!(told.recv().unwrap(), "key-holder-monitor");
    assert!(matches!(remote.call(Request::Ping), Err(KeyHolderError::Unavailable(_))));
}

#[test]
fn an_answer_to_another_question_is_not_believed() {
    let mut rng = StdRng::seed_from_u64(1);
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, 0).unwrap();
    let [model, other] = [128, 512].map(|numbers| Model::of("model", numbers).unwrap());
    let policy = DecisionPolicy::new(model, 0, AttemptPolicy::default());
    let key = key_holder.create_tenant(TENANT, KeyStructure::PerTenant, policy).unwrap();
    let lane = |index| Lane::new(index).unwrap();
    let name = |handle, generation| TemplateName { tenant: TENANT, handle, generation };
    let mut share = || split(&Embedding::quantise(&[1.0; 128]).unwrap(), &mut rng);
    let (blinded, own) = share();
    let template: ForKeyHolder = blinded.into();
    let enrolled = key_holder.enrol(name(Handle::new([1; 32]), 3), lane(2), model, &template, 0).unwrap();

    let created = connected_to(move || Reply::PublicKeys(vec![key.clone()]));
    let create = |keys| created.create_tenant(TENANT, keys, policy).is_ok();
    assert!(create(KeyStructure::PerTenant) && !create(KeyStructure::PerSubject));

    let answer = enrolled.clone();
    let remote = connected_to(move || Reply::Enrolled(Box::new(answer.clone())));
    let mut enrol = |handle, generation, at, model| {
        let (name, lane) = (name(handle, generation), lane(at));
        remote.enrol(Enrolment { name, lane, model, template: share().0.into() }).is_ok()
    };
    assert!(enrol(Handle::new([1; 32]), 3, 2, model));
    assert!(
        !enrol(Handle::new([2; 32]), 3, 2, model)
            && !enrol(Handle::new([1; 32]), 4, 2, model)
            && !enrol(Handle::new([1; 32]), 3, 5, model)
            && !enrol(Handle::new([1; 32]), 3, 2, other)
    );
    let template = unblind(enrolled, own);
    let mut renew = |to| {
        let (blinded, _) = blind(&template, &mut rng);
        remote.renew(Renewal { name: name(Handle::new([1; 32]), 2), to, blinded }).is_ok()
    };
    assert!(renew(3) && !renew(4));
}
