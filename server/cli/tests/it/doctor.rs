//! `trefoil doctor` beside a running service: it holds nothing up, and its exit code says how bad it is.

use crate::world::*;
use trefoil_host::identity::Identity;
use trefoil_storage::data_dir::DataDir;

pub(crate) fn doctor(data: &Path, program: &Program, rest: &[&str], variables: &[(&str, &str)]) -> Output {
    let [public, admin] = [&program.public, &program.admin].map(|listener| listener.address.to_string());
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["doctor", "--listen", &public, "--admin-listen", &admin, "--data-dir"])
        .arg(data)
        .args(rest)
        .envs(crate::store::database(data).map(|url| ("TREFOIL_STORE_URL", url)))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// `trefoil admin ready` without a token.
fn probed(program: &Program) -> Output {
    let (admin, data) = (format!("https://{}", program.admin.address), program.data());
    trefoil(&["admin", "ready", "--admin", &admin, "--data-dir", data.to_str().unwrap()])
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_running_service_it_exits_0_1_or_2() {
    let program = Program::own(&[]);
    let data = program.data();
    doctor(&data, &program, &[], &[]).ends(0, "runs and takes requests");
    let warned = doctor(&data, &program, &["--json"], &[("TREFOIL_DISK_RESERVE_MIB", "32")]);
    warned.ends(1, "");
    let json: Value = serde_json::from_str(&warned.out()).unwrap();
    assert_eq!(json["status"], "warning");
    let codes = json["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] != "ok");
    assert_eq!(codes.map(|finding| &finding["code"]).collect::<Vec<_>>(), ["disk-reserve"]);
    let broken = doctor(&data, &program, &[], &[("TREFOIL_SERVR_LISTEN", "127.0.0.1:1")]);
    broken.ends(2, "did you mean TREFOIL_SERVER_LISTEN?");
    program.serves(1).await;
    assert_eq!(program.terminate().code(), Some(0));
}

#[test]
fn a_service_without_its_key_holder_is_not_ready_and_fails_its_probe_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    drop(Identity::open(&DataDir::open(&data).unwrap(), trefoil_key_holder::cli::GATEWAY_IDENTITY).unwrap());
    let away = format!("tls://127.0.0.1:9#{}", "1".repeat(64));
    let away = [("TREFOIL_KEYHOLDER_URL", away.as_str()), ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "10")];
    let program = Program::start(&data, Stdio::null(), &away);
    let broken = doctor(&data, &program, &[], &away);
    for code in ["key-holder-away", "service-not-ready"] {
        broken.ends(2, &format!("broken   {code}"));
    }
    probed(&program).ends(1, "key-holder");
    assert_eq!(program.terminate().code(), Some(0));
}

/// Claim V126: A service whose first owner is revoked is found well by `trefoil doctor` with a viewer's token and by `trefoil admin ready`
/// without one. Without a token that it accepts, `doctor` says so and does not call it another process.
///
/// As the page on operators says: an owner and a viewer are made, and the first owner is revoked.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_first_owner_doctor_and_a_probe_find_a_service_well() {
    let mut program = Program::own(&[]);
    let data = program.data();
    let admin = format!("https://{}", program.admin.address);
    let file = |name: &str| program.file(name).to_str().unwrap().to_owned();
    let (ann, nightly) = (file("ann.token"), file("nightly.token"));
    let operator = |arguments: &[&str]| {
        let place = ["admin", "--admin", &admin, "--data-dir", data.to_str().unwrap()];
        trefoil(&[&place, arguments].concat())
    };
    operator(&["operator", "create", "ann", "--role", "owner", "--output", &ann]).done();
    operator(&["operator", "create", "nightly", "--role", "viewer", "--output", &nightly]).done();
    operator(&["operator", "revoke", "0000000000000000", "--admin-token-file", &ann]).done();
    let refused = operator(&["tenant", "list"]).ends(1, "");
    for words in
        ["caller-unauthenticated", "admin.token is not accepted: it is revoked", "--admin-token-file"]
    {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert!(!refused.contains("Authorization"), "advice for those who send requests: {refused}");

    doctor(&data, &program, &["--admin-token-file", &nightly], &[]).ends(0, "runs and takes requests");
    let without = doctor(&data, &program, &["--json"], &[]);
    without.ends(1, "");
    let json: Value = serde_json::from_str(&without.out()).unwrap();
    let found = json["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] != "ok");
    let found: Vec<_> = found.collect();
    let [token] = &found[..] else { panic!("{found:?}") };
    assert_eq!(token["code"], "admin-token-refused");
    assert!(token["place"].as_str().unwrap().ends_with("admin.token"), "{token}");
    assert!(token["remedy"].as_str().unwrap().contains("--admin-token-file"), "{token}");
    let lost = doctor(&data, &program, &["--admin-token-file", "/nowhere/token"], &[]);
    assert!(lost.out().contains("warning  admin-token-unreadable") && lost.out().contains("/nowhere/token"));
    for shown in [&without, &lost] {
        assert!(shown.out().contains("runs and takes requests"), "{}", shown.out());
    }

    assert_eq!(probed(&program).done(), "ready\n");
    program.signal("-TERM");
    assert_eq!(program.wait().code(), Some(0));
    probed(&program).ends(1, "nothing listens there");
}
