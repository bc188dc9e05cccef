//! Rotation of a tenant's keys while its subjects log in.

use crate::gateway::{Gateway, Plan};
use crate::nodes;
use crate::world::*;

/// Subjects at full volume, and how many of them log in.
const SUBJECTS: usize = 352;
const PEOPLE: usize = 6;

/// A service with these subjects.
async fn start(config: Config, policy: Value, subjects: usize) -> (Service, Vec<Person>) {
    let service = Service::with_policy(config, policy).await;
    let people = populate(&service, subjects).await;
    (service, people)
}

/// Enrols this many, and opens the sessions of those who log in.
pub(crate) async fn populate(service: &Customer, subjects: usize) -> Vec<Person> {
    let people = service.welcomed(PEOPLE as u32, 61).await;
    // The others have no sessions; their templates are renewed all the same.
    let others: Vec<(String, [f32; 128])> = (PEOPLE..subjects)
        .map(|i| {
            let mut handle = [0xee; 32];
            handle[..8].copy_from_slice(&(i as u64).to_le_bytes());
            let face = std::array::from_fn(|k| ((i * 131 + k * 7919) % 1009) as f32 - 504.0);
            (hex::encode(handle), face)
        })
        .collect();
    for chunk in others.chunks(32) {
        let enrolled = chunk.iter().map(|(key, face)| {
            let handle = hex::decode(key).unwrap();
            async move { service.public.enrol(handle, face, key).await }
        });
        for reply in join_all(enrolled).await {
            reply.is(201);
        }
    }
    people
}

/// Waits until the rotation of a tenant's keys has ended: its status then.
pub(crate) async fn ended(service: &Customer) -> Value {
    loop {
        let status = status(service).await;
        if idle(&status) {
            return status;
        }
        tokio::task::yield_now().await;
    }
}

async fn status(service: &Customer) -> Value {
    service.admin.get(&service.path("/key-rotation")).await.is(200).json()
}

/// Asks for a rotation.
pub(crate) async fn begin(service: &Customer) -> Value {
    service.admin.post(&service.path("/key-rotation"), &json!({})).await.is(202).json()
}

/// Everybody logs in as themselves and, where the budgets allow it, as somebody else, until `done` says so; every answer is
/// right.
async fn log_in_until(
    service: &Customer,
    people: &[Person],
    strangers: bool,
    first: u64,
    done: impl Fn(&Value) -> bool,
) -> u64 {
    let mut nonce = first;
    loop {
        let stop = done(&status(service).await);
        let mut requests = Vec::new();
        for (i, person) in people.iter().enumerate() {
            for shown in [i, (i + 1) % people.len()].into_iter().take(1 + usize::from(strangers)) {
                nonce += 1;
                requests.push((shown == i, service.request(person, &people[shown].face, nonce)));
            }
        }
        let replies = join_all(requests.iter().map(|(_, request)| service.authenticate(request))).await;
        for ((own, _), reply) in requests.iter().zip(&replies) {
            let wanted = if *own { Decision::Match } else { Decision::NoMatch };
            assert_eq!(reply.decision(), wanted);
        }
        if stop {
            return nonce;
        }
    }
}

fn idle(status: &Value) -> bool {
    assert_ne!(status["state"], "stopped", "{status}");
    status["state"] == "idle"
}

/// Counts rows of the key-holder's vault.
fn rows(vault: &Path, of: &str) -> u64 {
    let connection = rusqlite::Connection::open(vault).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_under_logins_and_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let subjects = volume(SUBJECTS, 60);
    let (service, people) = start(service::config(&data), service::lenient(), subjects).await;
    assert_eq!(status(&service).await["state"], "idle");
    assert_eq!(begin(&service).await["epoch"], 1);
    assert_eq!(begin(&service).await["epoch"], 1, "one at a time");
    // In the middle the process ends; the next one continues the rotation.
    let nonce =
        log_in_until(&service, &people, true, 0, |status| status["renewed"].as_u64().unwrap() >= 20).await;
    let service = service.restart().await;
    let nonce = log_in_until(&service, &people, true, nonce, idle).await;
    let ended = status(&service).await;
    assert_eq!(
        (&ended["epoch"], &ended["renewed"], &ended["left"]),
        (&json!(1), &json!(subjects), &json!(0))
    );
    // Deleted subjects stay deleted, and those enrolled again are under the new keys.
    let deleted = service.public.delete(&templates_path(&people[0])).await;
    assert_eq!(deleted.status, 200);
    service.enrol(&people[0], "anew").await.is(201);
    log_in_until(&service, &people, true, nonce, |_| true).await;
    assert!(service.server.shutdown().await);
    // The old keys are gone: neither the master key nor a salt is left.
    let vault = nodes::vault(&data);
    assert_eq!((rows(&vault, "epochs"), rows(&vault, "epochs WHERE epoch = 1")), (1, 1));
    assert_eq!((rows(&vault, "subjects"), rows(&vault, "subjects WHERE epoch = 0")), (subjects as u64, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_outlives_its_key_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    let subjects = volume(120, 40);
    let (service, people) = start(key_holder.config(&data), service::policy(), subjects).await;
    let nonce = log_in_until(&service, &people, false, 0, |_| true).await;
    begin(&service).await;
    until(async || status(&service).await["renewed"].as_u64().unwrap() >= 5).await;
    key_holder.kill();
    key_holder.again();
    until(async || service.admin.is_ready().await).await;
    log_in_until(&service, &people, false, nonce, idle).await;
    assert_eq!(status(&service).await["renewed"], subjects);
    assert!(service.server.shutdown().await);
    drop(key_holder);
    let vault = keys.join("vault.sqlite");
    assert_eq!((rows(&vault, "epochs"), rows(&vault, "subjects WHERE epoch = 0")), (1, 0));
    assert_eq!(rows(&vault, "subjects"), subjects as u64);
}

/// The secrets of an epoch as they lie in the key-holder's vault: its master key and its subjects' salts, encrypted.
fn secrets(vault: &Path, epoch: u32) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(vault).unwrap();
    let all = "SELECT wrapped_master FROM epochs WHERE epoch = ?1 \
               UNION ALL SELECT wrapped_salt FROM subjects WHERE epoch = ?1";
    let mut statement = connection.prepare(all).unwrap();
    let rows = statement.query_map([epoch], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// How many of these the files of a folder hold.
fn found(folder: &Path, secrets: &[Vec<u8>]) -> usize {
    let files: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    // Encrypted bytes are random: their first eight are enough to look for.
    let heads: std::collections::HashSet<&[u8]> = secrets.iter().map(|secret| &secret[..8]).collect();
    let held: std::collections::HashSet<&[u8]> =
        files.iter().flat_map(|file| file.windows(8)).filter(|bytes| heads.contains(bytes)).collect();
    held.len()
}

/// Ends one process, or both.
type Kill = fn(&mut Option<Gateway>, &mut Option<KeyHolder>);

/// The processes that are killed, and the people who log in meanwhile.
struct Killed {
    clock: Arc<TestClock>,
    plan: Plan,
    gateway: Option<Gateway>,
    key_holder: Option<KeyHolder>,
    customer: Customer,
    people: Vec<Person>,
    nonce: u64,
}

impl Killed {
    /// Everybody logs in while `kill` is under way. Every decision in an answer is right, whenever the kill comes.
    async fn under_logins(&mut self, kill: Kill) {
        // Four failures in a row are within the budget: a kill may leave every attempt counted as one.
        let mut requests = Vec::new();
        for (i, person) in self.people.iter().enumerate() {
            for shown in [i, i, (i + 1) % self.people.len(), i] {
                self.nonce += 1;
                let face = &self.people[shown].face;
                requests.push((shown == i, self.customer.request(person, face, self.nonce)));
            }
        }
        let customer = &self.customer;
        let logins = join_all(requests.iter().map(|(own, request)| async move {
            // A killed process does not answer, or answers that it cannot decide.
            let Ok(reply) = customer.try_authenticate(request).await else { return };
            if reply.status == 200 {
                let wanted = if *own { Decision::Match } else { Decision::NoMatch };
                assert_eq!(reply.decision(), wanted);
            } else {
                assert_eq!(reply.status, 503, "{}", reply.text());
            }
        }));
        let (gateway, key_holder) = (&mut self.gateway, &mut self.key_holder);
        tokio::join!(logins, async { kill(gateway, key_holder) });
    }

    /// Starts what was killed, and has everybody open a session again.
    async fn recover(&mut self, keys: &Path, listen: &str) {
        if self.key_holder.is_none() {
            self.key_holder = Some(KeyHolder::start(keys, listen));
        }
        if self.gateway.is_none() {
            // Requests that the gateway before could have attested are refused.
            self.clock.advance(6);
            let gateway = self.plan.start(&self.clock);
            self.customer.moved(gateway.endpoints());
            self.gateway = Some(gateway);
        }
        until(async || self.customer.admin.get("/readyz").await.status == 200).await;
        for person in &self.people {
            let opened = self.customer.prove(person).await;
            assert!(opened.status.is_success(), "{}", opened.text());
        }
        self.nonce = log_in_until(&self.customer, &self.people, false, self.nonce, |_| true).await;
    }
}

/// Claim I9: After a rotation the old keys are gone, and no login failed.
///
/// Kills of the gateway, of the key-holder and of both in the middle of a rotation: each time the rotation continues without a command, loses no
/// subject and leaves nothing of the old keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_survives_kills_of_either_process_under_logins() {
    let subjects = volume(200, 80);
    let folder = tempfile::tempdir().unwrap();
    let (vault, listen) = (folder.path().join("keys"), listen());
    let (plan, key_holder) = Plan::apart(folder.path(), &vault, &listen);
    let clock = Arc::new(TestClock::default());
    let gateway = plan.start(&clock);
    let customer = gateway.customer(Arc::clone(&clock), service::policy()).await;
    let people = populate(&customer, subjects).await;
    let (gateway, key_holder) = (Some(gateway), Some(key_holder));
    let mut killed = Killed { clock, plan, gateway, key_holder, customer, people, nonce: 0 };
    let old = secrets(&vault.join("vault.sqlite"), 0);
    assert_eq!(old.len(), 1 + subjects);
    assert_eq!(found(&vault, &old), old.len(), "the search finds what is there");

    begin(&killed.customer).await;
    let kills: [Kill; 4] = [
        |gateway, _| gateway.take().unwrap().kill(),
        |_, key_holder| key_holder.take().unwrap().kill(),
        |gateway, key_holder| {
            gateway.take().unwrap().kill();
            key_holder.take().unwrap().kill();
        },
        |gateway, _| gateway.take().unwrap().kill(),
    ];
    let mut interrupted = 0;
    for (kill, twentieths) in kills.into_iter().zip([1, 5, 9, 13]) {
        let renewed = (twentieths * subjects / 20) as u64;
        until(async || status(&killed.customer).await["renewed"].as_u64().unwrap() >= renewed).await;
        killed.under_logins(kill).await;
        killed.recover(&vault, &listen).await;
        interrupted += usize::from(status(&killed.customer).await["state"] == "running");
    }
    assert!(interrupted > 0, "a kill came in the middle");
    let nonce = killed.nonce;
    log_in_until(&killed.customer, &killed.people, false, nonce, idle).await;
    let ended = status(&killed.customer).await;
    let figures = [&ended["epoch"], &ended["renewed"], &ended["left"]];
    assert_eq!(figures, [&json!(1), &json!(subjects), &json!(0)], "nobody is lost");
    killed.gateway.take().unwrap().stop();
    drop(killed.key_holder.take());
    let database = vault.join("vault.sqlite");
    assert_eq!((rows(&database, "epochs"), rows(&database, "subjects WHERE epoch = 0")), (1, 0));
    assert_eq!(rows(&database, "subjects"), subjects as u64);
    assert_eq!(found(&vault, &old), 0, "neither the old master key nor an old salt is in any file");
}
