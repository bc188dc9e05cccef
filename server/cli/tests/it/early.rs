//! Refusals that are made before a body is read, as the system's curl sees them over HTTP/2: the answer, and not a broken connection.

use crate::program::Program;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use trefoil_testing::volume;

const BODY_BYTES: usize = 100 << 10;

/// A request that is refused: method, path, media type.
type Call = (&'static str, &'static str, &'static str);

/// Status and HTTP version of each of `calls` in one run of curl, which reuses its connection until the service closes it.
fn statuses(
    url: &str,
    directory: &Path,
    key: &str,
    (method, path, media_type): Call,
    calls: usize,
) -> Vec<String> {
    let call = format!(
        "url = \"{url}{path}\"\nrequest = \"{method}\"\nhttp2\nsilent\nshow-error\noutput = \"/dev/null\"\n\
         write-out = \"%{{http_code}} %{{http_version}}\\n\"\nheader = \"Content-Type: {media_type}\"\n\
         header = \"Authorization: Bearer {key}\"\ncacert = \"{ca}\"\ndata-binary = \"@{body}\"\n",
        ca = directory.join("data/tls-certificate.pem").display(),
        body = directory.join("body").display(),
    );
    let config = directory.join("curl.config");
    std::fs::write(&config, vec![call; calls].join("next\n")).unwrap();
    let output = Command::new("curl").arg("--config").arg(&config).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{method} {path}: {error}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_sees_every_early_refusal_over_http2() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(&directory.path().join("data"), Stdio::null(), &[]);
    let tenant = json!({"name": "shop", "policy": crate::service::policy()});
    let created = program.admin.post("/v1/tenants", &tenant).await;
    let path = format!("/v1/tenants/{}/api-keys", created.json()["tenant_id"].as_str().unwrap());
    let key = program.admin.post(&path, &json!({"scopes": ["issue"]})).await.json();
    let key = key["api_key"].as_str().unwrap();
    std::fs::write(directory.path().join("body"), vec![b' '; BODY_BYTES]).unwrap();
    let url = format!("https://localhost:{}", program.public.address.port());
    let calls: [(Call, &str); 4] = [
        (("POST", "/v1/nothing", "application/json"), "404"),
        (("PUT", "/v1/keys", "application/json"), "405"),
        (("POST", "/v1/credentials/roots", "text/plain"), "415"),
        (("POST", "/v1/authentications", "application/json"), "403"),
    ];
    for (call, status) in calls {
        let count = volume(1_000, 25);
        let seen = statuses(&url, directory.path(), key, call, count);
        assert_eq!(seen, vec![format!("{status} 2"); count], "{call:?}");
    }
    assert_eq!(program.terminate().code(), Some(0));
}
