//! `GET /v1/status`: the counts of `/metrics`, conditions that need attention, and the page that shows both.

use crate::world::*;

async fn status(service: &Service) -> Value {
    let reply = service.admin.get("/v1/status").await.is(200);
    reply.json()
}

/// The row of a list whose member has this value.
fn row<'a>(rows: &'a Value, member: &str, value: &str) -> &'a Value {
    let found = rows.as_array().unwrap().iter().find(|row| row[member] == value);
    found.unwrap_or_else(|| panic!("no {member} {value} in {rows}"))
}

/// Claim I24: Status and `/metrics` have the same counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_status_has_the_counts_of_the_metrics() {
    let service = Service::start().await.at_one_node();
    let people = service.welcomed(2, 71).await;
    for (nonce, shown, expected) in [(1, 0, Decision::Match), (2, 1, Decision::NoMatch)] {
        assert_eq!(service.login(&people[0], &people[shown].face, nonce).await.decision(), expected);
    }
    service.public.get("/nothing").await.problem(404, "route-unknown");
    let shown = status(&service).await;
    let metric = async |name: &str| service.metric(name).await;
    for (name, value) in [
        ("trefoil_submitted_total", &shown["logins"]["submitted"]),
        ("trefoil_authentications_total{decision=\"match\"}", &shown["logins"]["matched"]),
        ("trefoil_authentications_total{decision=\"no_match\"}", &shown["logins"]["not_matched"]),
        ("trefoil_batches_total", &shown["batches"]["sealed"]),
        ("trefoil_batch_lanes_total", &shown["batches"]["lanes"]),
        ("trefoil_seals_total", &shown["seals"]["stored"]),
        ("trefoil_stage_seconds_count{stage=\"match\"}", &row(&shown["stages"], "stage", "match")["count"]),
        (
            "trefoil_http_problems_total{code=\"route-unknown\",route=\"-\"}",
            &row(&shown["problems"], "code", "route-unknown")["count"],
        ),
        (
            "trefoil_http_request_duration_seconds_count{method=\"POST\",route=\"/v1/authentications\",status=\"200\"}",
            &row(&shown["requests"], "route", "/v1/authentications")["count"],
        ),
        ("trefoil_proofs_total{outcome=\"accepted\"}", &shown["proofs"]["accepted"]),
        ("trefoil_nonces_remembered", &shown["nonces"]["used"]),
        ("trefoil_nonces_limit", &shown["nonces"]["limit"]),
        ("trefoil_disk_low_water_bytes", &shown["disk"]["low_water_bytes"]),
        ("trefoil_tls_certificate_expiry_timestamp_seconds", &shown["certificate_until"]),
    ] {
        let counted = metric(name).await;
        assert!(counted > 0, "{name}");
        assert_eq!(value, counted, "{name}");
    }
    let histogram = row(&shown["stages"], "stage", "match");
    let bounds = shown["stage_bounds_s"].as_array().unwrap().len();
    assert_eq!(histogram["below"].as_array().unwrap().len(), bounds);
    let cache = row(&shown["caches"], "tenant", &hex::encode(service.tenant));
    assert_eq!((&cache["name"], &cache["entries"]), (&"shop".into(), &2.into()));
    let text = shown.to_string();
    for person in &people {
        assert!(
            !text.contains(&hex::encode(person.handle)) && !text.contains(&hex::encode(person.session_id))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_wants_attention_comes_with_the_words_of_doctor() {
    let service = Service::start().await;
    assert_eq!(status(&service).await["attention"], serde_json::json!([]));
    // The keys run out 397 days after they were made.
    service.clock.advance(380 * 86_400);
    let soon = status(&service).await;
    let keys = row(&soon["attention"], "code", "keys-expire");
    assert_eq!(keys["level"], "warning");
    assert!(keys["remedy"].as_str().unwrap().starts_with("`trefoil keys rotate`"), "{keys}");
    service.clock.advance(20 * 86_400);
    assert_eq!(row(&status(&service).await["attention"], "code", "keys-expired")["level"], "broken");

    let mut config = service::config(&service.file("full"));
    config.disk.low_water_mib = 1 << 32;
    let server = service::start(config, &std::sync::Arc::default()).await;
    let certificate = std::fs::read(server.certificate_path()).unwrap();
    let url = format!("https://{}", server.admin_address());
    let admin = trefoil_client::Admin::new(&url, &certificate, server.admin_token()).unwrap();
    let status = admin.status().await.unwrap();
    let codes: Vec<&str> = status.attention.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!((status.ready, codes), (false, vec!["disk-low"]), "{status:?}");
    assert!(server.shutdown().await);

    let service = Service::configured(|config| config.pipeline.nonces = 2).await.at_one_node();
    let person = service.welcomed(1, 74).await.remove(0);
    for nonce in 1..=2 {
        answer(&service.login(&person, &person.face, nonce).await);
    }
    let page = self::status(&service).await;
    let full = row(&page["attention"], "code", "nonces-full-soon");
    assert!(full["remedy"].as_str().unwrap().contains("pipeline.nonces"), "{full}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_for_operators_and_the_command_prints_them() {
    let program = Program::own(&[]);
    let data = program.data();
    let stranger = Endpoint { bearer: None, ..program.admin.clone() };
    program.public.get("/operator").await.problem(404, "route-unknown");
    stranger.get("/v1/status").await.problem(401, "caller-unauthenticated");
    let run = |json: &[&str]| {
        let url = format!("https://{}", program.admin.address);
        let place = ["admin", "--admin", &url, "--data-dir", data.to_str().unwrap(), "status"];
        let output = trefoil(&[&place, json].concat());
        assert_eq!(code(&output), 0);
        output.out()
    };
    let text = run(&[]);
    assert!(text.contains("takes logins") && text.contains("nothing wants attention"), "{text}");
    let json: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert_eq!(json["ready"], true);
    assert_eq!(program.terminate().code(), Some(0));
}
