//! `trefoil doctor` beside a running service: it holds nothing up, and its exit code says how bad it is.

use crate::world::*;
use trefoil_key_holder::identity::Identity;
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

fn text(output: &Output) -> String {
    output.out()
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_running_service_it_exits_0_1_or_2() {
    let program = Program::own(&[]);
    let data = program.data();
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

/// Claim V126: A service whose first owner is revoked is found well by `trefoil doctor` with a viewer's token and by `trefoil admin ready`
/// without one. Without a token that it accepts, `doctor` says so and does not call it another process.
///
/// As the page on operators says: an owner and a viewer are made, and the first owner is revoked.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_first_owner_doctor_and_a_probe_find_a_service_well() {
    let program = Program::own(&[]);
    let data = program.data();
    let admin = format!("https://{}", program.admin.address);
    let file = |name: &str| program.file(name).to_str().unwrap().to_owned();
    let (ann, nightly) = (file("ann.token"), file("nightly.token"));
    let operator = |arguments: &[&str]| {
        let place = ["admin", "--admin", &admin, "--data-dir", data.to_str().unwrap()];
        let output = crate::cli::trefoil(&[&place, arguments].concat());
        (crate::cli::code(&output), output.err())
    };
    for made in [
        operator(&["operator", "create", "ann", "--role", "owner", "--output", &ann]),
        operator(&["operator", "create", "nightly", "--role", "viewer", "--output", &nightly]),
        operator(&["operator", "revoke", "0000000000000000", "--admin-token-file", &ann]),
    ] {
        assert_eq!(made.0, 0, "{}", made.1);
    }
    let (code, refused) = operator(&["tenant", "list"]);
    assert_eq!(code, 1);
    for words in
        ["caller-unauthenticated", "admin.token is not accepted: it is revoked", "--admin-token-file"]
    {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert!(!refused.contains("Authorization"), "advice for those who send requests: {refused}");

    let with = doctor(&data, &program, &["--admin-token-file", &nightly], &[]);
    assert_eq!(with.status.code(), Some(0), "{}", text(&with));
    assert!(text(&with).contains("runs and takes requests"), "{}", text(&with));
    let without = doctor(&data, &program, &["--json"], &[]);
    assert_eq!(without.status.code(), Some(1), "{}", text(&without));
    let json: Value = serde_json::from_str(&text(&without)).unwrap();
    let found = json["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] != "ok");
    let found: Vec<_> = found.collect();
    let [token] = &found[..] else { panic!("{found:?}") };
    assert_eq!(token["code"], "admin-token-refused");
    assert!(token["place"].as_str().unwrap().ends_with("admin.token"), "{token}");
    assert!(token["remedy"].as_str().unwrap().contains("--admin-token-file"), "{token}");
    let lost = doctor(&data, &program, &["--admin-token-file", "/nowhere/token"], &[]);
    assert!(
        text(&lost).contains("warning  admin-token-unreadable") && text(&lost).contains("/nowhere/token")
    );
    for shown in [&without, &lost] {
        assert!(text(shown).contains("runs and takes requests"), "{}", text(shown));
    }

    let probed = || {
        let output =
            crate::cli::trefoil(&["admin", "ready", "--admin", &admin, "--data-dir", data.to_str().unwrap()]);
        (crate::cli::code(&output), output.text())
    };
    assert_eq!(probed(), (0, "ready\n".to_owned()));
    assert_eq!(program.terminate().code(), Some(0));
    let (code, said) = probed();
    assert!(code == 1 && said.contains("nothing listens there"), "{said}");
}

#[test]
fn a_service_that_is_not_ready_fails_its_probe_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    drop(Identity::open(&DataDir::open(&data).unwrap(), trefoil_key_holder::cli::GATEWAY_IDENTITY).unwrap());
    let away = format!("tls://127.0.0.1:9#{}", "1".repeat(64));
    let away = [("TREFOIL_KEYHOLDER_URL", away.as_str()), ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "10")];
    let program = Program::start(&data, Stdio::null(), &away);
    let url = format!("https://{}", program.admin.address);
    let asked =
        crate::cli::trefoil(&["admin", "ready", "--admin", &url, "--data-dir", data.to_str().unwrap()]);
    let said = asked.err();
    assert!(crate::cli::code(&asked) == 1 && said.contains("key-holder"), "{said}");
    assert_eq!(program.terminate().code(), Some(0));
}
