//! The log: one line at the start with all settings, and then refusals and failures, without a subject.

use crate::world::*;
use trefoil_client::Admin;
use trefoil_host::identity::Identity;
use trefoil_storage::data_dir::DataDir;

/// The lines of a log in JSON.
fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn with_message<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    lines.iter().map(|line| &line["fields"]).filter(|fields| fields["message"] == message).collect()
}

const JSON: (&str, &str) = ("TREFOIL_LOG_FORMAT", "json");

#[tokio::test(flavor = "multi_thread")]
async fn one_line_at_the_start_says_everything() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let url = ("TREFOIL_SERVER_PUBLIC_URL", "https://auth.example");
    let program = Program::start(&data, File::create(&log).unwrap(), &[JSON, url]);
    program.create_tenant().await.is(201);
    assert_eq!(program.terminate().code(), Some(0));
    // Started again it has a tenant.
    let program = Program::start(&data, File::create(&log).unwrap(), &[JSON, url]);
    let addresses = [&program.public, &program.admin].map(|listener| listener.address.to_string());
    assert_eq!(program.terminate().code(), Some(0));
    let lines = lines(&log);
    let started = with_message(&lines, "started");
    assert_eq!(started.len(), 1);
    let field = |name: &str| match &started[0][name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    assert_eq!(field("version"), env!("CARGO_PKG_VERSION"));
    assert!(!field("commit").is_empty());
    assert_eq!(field("directory"), data.to_str().unwrap());
    assert_eq!(["issuer", "public_url"].map(&field), ["https://auth.example"; 2]);
    assert_eq!(["public", "admin"].map(&field), addresses);
    assert_eq!((field("key_holder"), field("tenants")), ("in this process".to_owned(), "1".to_owned()));
    assert!(["certificate_until", "keys_until"].map(field).iter().all(|until| until.ends_with('Z')));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_logged_each_refusals_sampled_and_the_rest_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // A key-holder that nobody has started.
    drop(Identity::open(&DataDir::open(&data).unwrap(), trefoil_key_holder::cli::GATEWAY_IDENTITY).unwrap());
    let away = format!("tls://127.0.0.1:9#{}", "1".repeat(64));
    let away = [JSON, ("TREFOIL_KEYHOLDER_URL", away.as_str()), ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "10")];
    for access in [false, true] {
        let log = directory.path().join(format!("log-{access}"));
        let access_log = ("TREFOIL_SERVER_ACCESS_LOG", if access { "true" } else { "false" });
        let variables = [&away[..], &[access_log, ("TREFOIL_LOG_FILTER", "info")]].concat();
        let program = Program::start(&data, File::create(&log).unwrap(), &variables);
        let mut failed = Vec::new();
        for _ in 0..3 {
            let reply = program.create_tenant().await;
            assert_eq!(reply.status, 503);
            failed.push(reply.headers["request-id"].to_str().unwrap().to_owned());
        }
        let subject = "ab".repeat(32);
        let path = format!("/v1/subjects/{subject}/templates");
        for _ in 0..20 {
            program.public.delete(&path).await.is(401);
            program.public.get("/v1/fhe/parameters").await.is(200);
        }
        assert_eq!(program.terminate().code(), Some(0));
        let lines = lines(&log);
        let logged: Vec<&str> = with_message(&lines, "request failed")
            .iter()
            .map(|fields| {
                assert_eq!(
                    (&fields["route"], &fields["code"]),
                    (&"/v1/tenants".into(), &"key-holder-unavailable".into())
                );
                fields["request_id"].as_str().unwrap()
            })
            .collect();
        assert_eq!(logged, failed);
        let refused = with_message(&lines, "request refused");
        // The program answers 20 of them in less than 19 seconds.
        assert!((1..20).contains(&refused.len()), "{refused:?}");
        let route = "/v1/subjects/{handle}/templates";
        assert!(refused.iter().all(|fields| fields["route"] == route && fields["status"] == 401));
        let others = with_message(&lines, "request");
        assert_eq!(others.len(), if access { 40 - refused.len() } else { 0 });
        assert!(!std::fs::read_to_string(&log).unwrap().contains(&subject), "no line names a subject");
    }
}

/// A login of a subject that is not enrolled: with a key-holder it is refused, without one it fails.
fn login(handle: &str, nonce: usize) -> Value {
    json!({
        "handle": handle, "audience": service::AUDIENCE, "nonce": format!("{nonce:032x}"),
        "issued_at": trefoil_host::unix_s(), "embedding": Vector::new::<128>(std::array::from_fn(|at| at as f32 - 63.5)),
    })
}

/// Claim V131: Logins of a batch that fail are in the log: one line for each code, with how many they are and no subject.
#[tokio::test(flavor = "multi_thread")]
async fn failed_logins_of_a_batch_share_a_line_that_says_how_many() {
    let directory = tempfile::tempdir().unwrap();
    let [data, log, keys] = ["data", "log", "keys"].map(|name| directory.path().join(name));
    let mut holder = KeyHolder::beside(&keys, &data);
    let url = holder.url().to_owned();
    let variables = [JSON, ("TREFOIL_KEYHOLDER_URL", &url)];
    let program = Program::start(&data, File::create(&log).unwrap(), &variables);
    let public = program.admin.caller(&program.public, &service::unproven(), &["authenticate"]).await;
    let (subject, logins) = ("ab".repeat(32), trefoil_api::BATCH_MAX);
    public.post("/v1/authentications", &login(&subject, 0)).await.problem(404, "subject-unknown");
    holder.kill();
    let mut tries = 0..600;
    while public.post("/v1/authentications", &login(&subject, 0)).await.status != 503 {
        assert!(tries.next().is_some(), "the key-holder is away");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Two of the batch are refused, which is no failure. A refusal with 403 has a line too.
    let mut elsewhere = login(&subject, 1);
    elsewhere["audience"] = json!("https://elsewhere.example");
    let entries = (0..logins).map(|nonce| match nonce {
        0 => json!({}),
        1 => elsewhere.clone(),
        _ => login(&subject, nonce),
    });
    let batch = json!({ "authentications": entries.collect::<Vec<_>>() });
    let batch = public.post("/v1/authentications/batch", &batch).await.is(200);
    assert_eq!(program.terminate().code(), Some(0));
    let lines = lines(&log);
    let failed = with_message(&lines, "logins failed");
    let batch_id = batch.headers["request-id"].to_str().unwrap();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!((&failed[0]["request_id"], &failed[0]["logins"]), (&batch_id.into(), &(logins - 2).into()));
    assert_eq!(
        (&failed[0]["route"], &failed[0]["status"], &failed[0]["code"]),
        (&"/v1/authentications/batch".into(), &503.into(), &"key-holder-unavailable".into())
    );
    let refused = with_message(&lines, "login refused");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        (&refused[0]["request_id"], &refused[0]["route"], &refused[0]["code"]),
        (&batch_id.into(), &"/v1/authentications/batch".into(), &"audience-not-allowed".into())
    );
    assert!(!std::fs::read_to_string(&log).unwrap().contains(&subject), "no line names a subject");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_libraries_are_silent_at_debug_unless_the_filter_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for (filter, speak) in [("debug", false), ("debug,h2=debug", true)] {
        let log = directory.path().join("log");
        let program =
            Program::start(&data, File::create(&log).unwrap(), &[JSON, ("TREFOIL_LOG_FILTER", filter)]);
        // Over HTTP/2.
        let certificate = std::fs::read(data.join("tls-certificate.pem")).unwrap();
        let (url, token) =
            (format!("https://{}", program.admin.address), program.admin.bearer.clone().unwrap());
        Admin::new(&url, &certificate, &token).unwrap().metrics().await.unwrap();
        assert_eq!(program.terminate().code(), Some(0));
        let targets: Vec<String> = lines(&log).iter().map(|line| line["target"].to_string()).collect();
        let of_libraries =
            |target: &String| ["\"h2", "\"hyper", "\"rustls"].iter().any(|name| target.starts_with(name));
        assert_eq!(targets.iter().any(of_libraries), speak, "{filter}: {targets:?}");
    }
}
