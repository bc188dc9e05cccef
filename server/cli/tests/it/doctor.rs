//! `trefoil doctor` beside a running service: it holds nothing up, and its exit code says how bad it is.

use crate::program::Program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use trefoil_key_holder::identity::Identity;
use trefoil_storage::data_dir::DataDir;

fn doctor(data: &Path, program: &Program, rest: &[&str], variables: &[(&str, &str)]) -> Output {
    let [public, admin] = [&program.public, &program.admin].map(|listener| listener.address.to_string());
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["doctor", "--listen", &public, "--admin-listen", &admin, "--data-dir"])
        .arg(data)
        .args(rest)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_running_service_it_exits_0_1_or_2() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let program = Program::start(&data, Stdio::null(), &[]);
    let well = doctor(&data, &program, &[], &[]);
    assert_eq!(well.status.code(), Some(0), "{}", text(&well));
    assert!(text(&well).contains("runs and takes requests"), "{}", text(&well));
    let warned = doctor(&data, &program, &["--json"], &[("TREFOIL_DISK_RESERVE_MIB", "32")]);
    assert_eq!(warned.status.code(), Some(1), "{}", text(&warned));
    let json: Value = serde_json::from_str(&text(&warned)).unwrap();
    assert_eq!(json["status"], "warning");
    let codes = json["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] != "ok");
    assert_eq!(codes.map(|finding| &finding["code"]).collect::<Vec<_>>(), ["disk-reserve"]);
    let broken = doctor(&data, &program, &[], &[("TREFOIL_SERVR_LISTEN", "127.0.0.1:1")]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(text(&broken).contains("did you mean TREFOIL_SERVER_LISTEN?"), "{}", text(&broken));
    program.serves(1).await;
    assert_eq!(program.terminate().code(), Some(0));
}

#[test]
fn a_service_without_its_key_holder_is_not_ready() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    drop(Identity::open(&DataDir::open(&data).unwrap(), trefoil_key_holder::cli::GATEWAY_IDENTITY).unwrap());
    let away = format!("tls://127.0.0.1:9#{}", "1".repeat(64));
    let away = [("TREFOIL_KEYHOLDER_URL", away.as_str()), ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "10")];
    let program = Program::start(&data, Stdio::null(), &away);
    let broken = doctor(&data, &program, &[], &away);
    assert_eq!(broken.status.code(), Some(2));
    for code in ["key-holder-away", "service-not-ready"] {
        assert!(text(&broken).contains(&format!("broken   {code}")), "{}", text(&broken));
    }
    assert_eq!(program.terminate().code(), Some(0));
}
