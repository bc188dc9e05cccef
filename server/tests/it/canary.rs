//! A gateway under load in a process of its own, whose scores this process knows: none is found in anything it shows or
//! remembers.

use crate::enrolment::join_all;
use crate::key_holder::{KeyHolder, listen};
use crate::scan::{memory, patterns, search};
use crate::service::{self, Service, answer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trefoil_attest::Attestation;
use trefoil_matching::Embedding;

/// Names the folder and the key-holder's address to the child; absent in an ordinary run.
const CHILD: &str = "TREFOIL_TEST_CANARY_GATEWAY";
const PEOPLE: usize = 24;

/// Not a test of its own: the child of the one below. Everybody shows the face of the next one, in one batch or a few; what
/// it received goes to standard output, and then it waits to be looked at.
#[tokio::test(flavor = "multi_thread")]
async fn canary_gateway() {
    let Ok(text) = std::env::var(CHILD) else { return };
    let (data, url) = text.split_once(' ').unwrap();
    let mut config = service::config(Path::new(data));
    config.keyholder.url = url.to_owned();
    config.keyholder.timeout_ms = 60_000;
    config.limits.answer_timeout_s = 60;
    // Long enough for everybody to be in it on most machines; a batch with few lanes is not looked for.
    config.pipeline.batch_delay_us = 1_000_000;
    let service = Service::new(config).await;
    let people = service.people(PEOPLE as u32, 1, 31).await;
    for person in &people {
        service.welcome(person).await;
    }
    let face = |index: usize| people[(index + 1) % PEOPLE].face;
    let requests: Vec<_> =
        (0..PEOPLE).map(|index| service.request(&people[index], &face(index), index as u64)).collect();
    let replies = join_all(requests.iter().map(|request| service.authenticate(request))).await;
    let mut shown = String::new();
    let lanes: Vec<Value> = replies
        .iter()
        .enumerate()
        .map(|(index, reply)| {
            shown += reply.text();
            let bytes = answer(reply).attestation.0;
            let statement = Attestation::decode(&bytes).unwrap().statement;
            let statement = trefoil_attest::Statement::decode(statement).unwrap();
            json!({
                "batch": hex::encode(statement.batch_id),
                "lane": statement.lane,
                "enrolled": people[index].face.as_slice(),
                "shown": face(index).as_slice(),
            })
        })
        .collect();
    let metrics = service.admin.get("/metrics").await;
    println!("canary {}", json!({"lanes": lanes, "replies": shown, "metrics": metrics.text()}));
    std::io::stdout().flush().unwrap();
    // Until the parent closes the other end.
    let _ = std::io::stdin().read(&mut [0]);
    assert!(service.server.shutdown().await);
}

fn embedding(value: &Value) -> Embedding {
    let face: Vec<f32> = value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
    Embedding::quantise(&face).unwrap()
}

#[test]
fn no_score_is_in_a_gateways_memory_files_replies_metrics_or_log() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data, listen) = (folder.path().join("keys"), folder.path().join("data"), listen());
    KeyHolder::init(&keys, &data, &listen);
    let keyholder = KeyHolder::start(&keys, &listen);
    let log = folder.path().join("gateway.log");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "canary::canary_gateway", "--nocapture"])
        .env(CHILD, format!("{} {}", data.display(), keyholder.url()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    // Kept to the end: the child's last words need a reader.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let report = lines.find_map(|line| line.split_once("canary {").map(|(_, rest)| format!("{{{rest}")));
    let report: Value = serde_json::from_str(&report.expect("the gateway reports")).unwrap();
    let mut batches: BTreeMap<&str, [i32; 32]> = BTreeMap::new();
    for lane in report["lanes"].as_array().unwrap() {
        let scores = batches.entry(lane["batch"].as_str().unwrap()).or_insert([0; 32]);
        scores[lane["lane"].as_u64().unwrap() as usize] =
            embedding(&lane["enrolled"]).dot(&embedding(&lane["shown"]));
    }
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
    let patterns = patterns(rows.iter().copied());
    let regions = memory(child.id());
    let batch = hex::decode(batches.keys().next().unwrap()).unwrap();
    let decided = regions.iter().any(|region| region.windows(16).any(|bytes| bytes == batch));
    assert!(decided, "the batch itself is found in memory");
    for region in &regions {
        assert_eq!(search(region, &patterns), Vec::<String>::new());
    }
    drop(child.stdin.take());
    lines.for_each(drop);
    assert!(child.wait().unwrap().success(), "{}", std::fs::read_to_string(&log).unwrap());

    let files = files_below(&data);
    assert!(!files.is_empty());
    for path in files.iter().chain([&log]) {
        assert_eq!(
            search(&std::fs::read(path).unwrap(), &patterns),
            Vec::<String>::new(),
            "{}",
            path.display()
        );
    }
    // One number may agree by chance; what shows scores shows those of a whole batch.
    let scores: BTreeSet<String> = rows.iter().flat_map(|row| row.iter().map(i32::to_string)).collect();
    for part in ["replies", "metrics"] {
        let text = report[part].as_str().unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"+-/=_.".contains(c));
        let shown: BTreeSet<&str> = words.filter(|word| scores.contains(*word)).collect();
        assert!(shown.len() < 3, "{part}: {shown:?}");
    }
}

/// Every file under `folder`, however deep.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
