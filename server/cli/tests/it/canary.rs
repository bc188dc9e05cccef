//! A gateway and a key-holder under load, each in a process of its own. This process knows the faces and so the scores: no score
//! is found in anything that a gateway shows or remembers, and where probes are shared, no face in either.

mod fields;
mod provoked;

use crate::gateway::Plan;
use crate::modes::Devices;
use crate::scan::{Patterns, face_patterns, memory, patterns, search};
use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use trefoil_attest::Attestation;
use trefoil_matching::Embedding;
use trefoil_testing::contains;

const PEOPLE: usize = 24;

/// Claim M31: No score is in a gateway's memory, files, replies, metrics or log, and none remains in a key-holder's.
#[tokio::test(flavor = "multi_thread")]
async fn no_score_is_in_a_gateways_memory_files_replies_metrics_or_log() {
    watch("plain").await;
}

/// Claim M32: In the `shared` mode neither role has a probe or a template, and the gateway has no score. A probe that is not short gives a
/// random score.
#[tokio::test(flavor = "multi_thread")]
async fn neither_score_nor_face_is_in_either_process_where_probes_are_shared() {
    watch("shared").await;
}

/// What everybody shows: the face of the next one.
fn shown(people: &[Person], index: usize) -> &[f32; 128] {
    &people[(index + 1) % people.len()].face
}

/// Has everybody enrol and log in, in one batch or a few.
async fn log_in(customer: &Customer, people: &[Person], probe: &str) -> Vec<Reply> {
    let devices = Devices::of(customer, probe).await;
    for person in people {
        devices.welcome(customer, person).await;
    }
    let request =
        |index: usize| devices.request(customer, &people[index], shown(people, index), index as u64);
    let requests: Vec<_> = (0..people.len()).map(request).collect();
    join_all(requests.iter().map(|request| customer.authenticate(request))).await
}

/// Everybody's lane, which only the service's own database knows.
fn lanes(data: &Path, people: &[Person]) -> Vec<usize> {
    let store = Connection::open(data.join("store.sqlite")).unwrap();
    let lane = |person: &Person| {
        let sql = "SELECT lane FROM templates WHERE handle = ?";
        store.query_row(sql, [person.handle.as_bytes()], |row| row.get::<_, usize>(0)).unwrap()
    };
    people.iter().map(lane).collect()
}

/// Scores by batch and lane.
fn scores(people: &[Person], lanes: &[usize], replies: &[Reply]) -> BTreeMap<[u8; 16], [i32; 32]> {
    let mut batches: BTreeMap<[u8; 16], [i32; 32]> = BTreeMap::new();
    for (index, reply) in replies.iter().enumerate() {
        let bytes = answer(reply).attestation.unwrap().0;
        let statement = Attestation::decode(&bytes).unwrap().statement;
        let statement = trefoil_attest::Statement::decode(statement).unwrap();
        let embedding = |face: &[f32; 128]| Embedding::quantise(face).unwrap();
        let score = embedding(&people[index].face).dot(&embedding(shown(people, index)));
        batches.entry(statement.batch_id.to_bytes()).or_insert([0; 32])[lanes[index]] = score;
    }
    batches
}

async fn watch(probe: &str) {
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path().join("keys");
    let (mut plan, key_holder) = Plan::apart(folder.path(), &vault, &listen());
    // Long enough for everybody to be in it on most machines; a batch with few lanes is not looked for.
    plan.batch_delay_us = 1_000_000;
    let clock = Arc::new(TestClock::of_machine());
    let gateway = plan.start(&clock);
    let customer = gateway.customer(clock, service::with(service::policy(), "probe", probe)).await;
    let people = customer.people(PEOPLE as u32, 1, 31).await;
    let replies = log_in(&customer, &people, probe).await;
    let metrics = customer.admin.get("/metrics").await;

    let batches = scores(&people, &lanes(&plan.data, &people), &replies);
    // From the first lane in use to the last.
    let rows: Vec<&[i32]> = batches
        .values()
        .filter(|scores| scores.iter().filter(|score| **score != 0).count() >= 5)
        .map(|scores| {
            let used = |score: &i32| *score != 0;
            let (first, last) = (scores.iter().position(used), scores.iter().rposition(used));
            &scores[first.unwrap()..=last.unwrap()]
        })
        .collect();
    assert!(!rows.is_empty(), "a batch has several lanes: {batches:?}");
    let scores = patterns(rows.iter().copied());
    // Everybody's face is enrolled, and shown by somebody else.
    let faces = face_patterns(people.iter().map(|person| &person.face));
    for (process, pid) in [("gateway", gateway.pid()), ("key-holder", key_holder.pid())] {
        let regions = memory(pid);
        // Both keep it; anything that they held only for a moment may be overwritten.
        let known: &[u8] = people[0].handle.as_bytes();
        assert!(regions.iter().any(|region| contains(region, known)));
        for region in &regions {
            assert_eq!(search(region, &scores), Vec::<String>::new(), "{process}");
            if probe == "shared" || process == "key-holder" {
                assert_eq!(search(region, &faces), Vec::<String>::new(), "{process}");
            }
        }
    }
    gateway.stop();
    drop(key_holder);
    for path in [files_below(&plan.data), files_below(&vault), vec![plan.log.clone()]].concat() {
        nothing_in(&std::fs::read(&path).unwrap(), &[&scores, &faces], &path);
    }
    let text: Vec<String> = people.iter().map(|person| in_base64(&person.face)).collect();
    let log = std::fs::read_to_string(&plan.log).unwrap();
    assert!(log.matches("DEBUG").count() > PEOPLE, "everything is logged");
    assert!(!text.iter().any(|face| log.contains(face)));
    // One number may agree by chance; a place that leaks scores has those of a whole batch.
    let scores: BTreeSet<String> = rows.iter().flat_map(|row| row.iter().map(i32::to_string)).collect();
    let replies: String = replies.iter().map(Reply::text).collect();
    for (part, text) in [("replies", replies.as_str()), ("metrics", metrics.text()), ("log", &log)] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"+-/=_.".contains(c));
        let shown: BTreeSet<&str> = words.filter(|word| scores.contains(*word)).collect();
        assert!(shown.len() < 4, "{part}: {shown:?}");
    }
}

fn nothing_in(bytes: &[u8], patterns: &[&Patterns], path: &Path) {
    for patterns in patterns {
        assert_eq!(search(bytes, patterns), Vec::<String>::new(), "{}", path.display());
    }
}

/// The beginning of a face as requests carry it.
fn in_base64(face: &[f32; 128]) -> String {
    let bytes: Vec<u8> = face.iter().flat_map(|x| x.to_le_bytes()).collect();
    BASE64.encode(bytes)[..64].to_owned()
}

/// Every file under `folder`, however deep.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
