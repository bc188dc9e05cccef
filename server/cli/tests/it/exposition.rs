//! The page of metrics, and that no stranger adds to it.

use crate::quorum::{Three, start};
use crate::world::*;
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A service with three key-holders, which shows all metrics but has no values of those of a fleet and of callers' certificates.
pub(crate) struct Whole {
    pub(crate) program: Program,
    _three: Three,
    _folder: TempDir,
}

impl Whole {
    pub(crate) async fn start() -> Whole {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let three = Three::beside(&data, start);
        let quorum = three.urls().join(",");
        let variables = [("TREFOIL_KEYHOLDER_QUORUM", &*quorum), ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000")];
        let program = Program::start(&data, Stdio::null(), &variables);
        // A family of problems has samples once there is one, those by tenant once there is a tenant.
        program.public.get("/nothing").await.is(404);
        let tenant = json!({"name": "shop", "policy": service::policy()});
        // Until it has reached all three.
        until(async || {
            let created = program.admin.post("/v1/tenants", &tenant).await;
            assert!([201, 503].contains(&created.status.as_u16()), "{}", created.text());
            created.status == 201
        })
        .await;
        Whole { program, _three: three, _folder: folder }
    }

    /// The page, once it has the key-holders' counts, which are read once a second, and a rate, which a first look does not have.
    pub(crate) async fn page(&self) -> String {
        let mut tries = 0..600;
        loop {
            let page = self.program.admin.get("/metrics").await;
            let late = ["trefoil_budget_trips_total{", "trefoil_verdict_cache_throughput{"];
            if late.iter().all(|sample| page.text().contains(sample)) {
                return page.text().to_owned();
            }
            assert!(tries.next().is_some(), "counts or a rate are not there: {}", page.text());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The name of a sample, and its labels with their values.
fn sample(line: &str) -> (&str, Vec<(&str, &str)>) {
    let Some((name, mut rest)) = line.split_once('{') else {
        return (line.split(' ').next().unwrap(), Vec::new());
    };
    let mut labels = Vec::new();
    while let Some((label, value)) = rest.split_once("=\"") {
        let (value, after) = value.split_once('"').unwrap();
        labels.push((label.trim_start_matches(','), value));
        rest = after;
    }
    (name, labels)
}

pub(crate) fn samples(page: &str) -> impl Iterator<Item = (&str, Vec<(&str, &str)>)> {
    page.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(sample)
}

/// Sends one request, however it looks, and waits until the service has answered or closed.
async fn sent(listener: &Endpoint, request: String) {
    let mut connection = listener.connect().await;
    // The service may close before it has read everything, and answer nothing.
    let _ = connection.write_all(request.as_bytes()).await;
    let _ = connection.read_to_end(&mut Vec::new()).await;
}

/// Requests with this word wherever a stranger may write something.
fn junk(word: &str) -> Vec<String> {
    let request = |method: &str, path: &str, headers: &str| {
        let body = format!("content-length: {}\r\nconnection: close\r\n\r\n{word}", word.len());
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}{body}")
    };
    let mut requests = vec![
        format!("{word} {word} {word}\r\n\r\n"),
        request("GET", &format!("/{word}"), ""),
        request("GET", &format!("/v1/{word}?{word}={word}"), ""),
        request("GET", &format!("/v1/tenants/{word}"), ""),
        request("POST", &format!("/v1/subjects/{word}/templates"), ""),
        request(&word.to_uppercase(), "/v1/authentications", ""),
        request(&word.to_uppercase(), &format!("/{word}"), ""),
    ];
    let names =
        "authorization accept content-type idempotency-key if-none-match origin prefer referer request-id
        user-agent x-forwarded-for x-http-method-override";
    for name in words(names).into_iter().chain([word]) {
        for method in ["GET", "POST"] {
            requests.push(request(method, "/v1/authentications", &format!("{name}: {word}\r\n")));
        }
    }
    let bearer = format!("authorization: Bearer {word}\r\n");
    requests.push(request("POST", "/v1/authentications", &bearer));
    requests.push(request("GET", "/v1/tenants", &bearer));
    requests.push(format!("GET / HTTP/1.1\r\nhost: {word}\r\nconnection: close\r\n\r\n"));
    requests
}

/// The values of each label of each metric.
fn values(page: &str) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut values = BTreeMap::<_, BTreeSet<_>>::new();
    for (name, labels) in samples(page) {
        for (label, value) in labels {
            values.entry((name.to_owned(), label.to_owned())).or_default().insert(value.to_owned());
        }
    }
    values
}

/// Claim V132.
#[tokio::test(flavor = "multi_thread")]
async fn junk_of_strangers_adds_no_value_of_a_label() {
    let program = Program::own(&[]);
    let listeners = [&program.public, &program.admin];
    let page = async || program.admin.get("/metrics").await.text().to_owned();
    let mut seen = Vec::new();
    // The answer to the first one is on the second.
    page().await;
    // The first word shows what such requests are counted as.
    for words in [&["junk-of-one"][..], &["junk-of-two", "junk-of-three", "junk-of-four"]] {
        for word in words {
            for listener in listeners {
                for request in junk(word) {
                    sent(listener, request).await;
                }
            }
        }
        seen.push(values(&page().await));
    }
    let new: Vec<_> = seen[1].iter().filter(|(label, values)| seen[0].get(*label) != Some(*values)).collect();
    assert!(new.is_empty() && seen[0].len() == seen[1].len(), "{new:?}");
    let strange = seen[1].values().flatten().filter(|value| value.to_lowercase().contains("junk"));
    assert_eq!(strange.collect::<Vec<_>>(), Vec::<&String>::new());
    let routes = &seen[1][&("trefoil_http_problems_total".to_owned(), "route".to_owned())];
    assert!(routes.contains("-") && routes.contains("/v1/tenants/{tenant}"), "they were counted: {routes:?}");
    assert_eq!(program.terminate().code(), Some(0));
}
