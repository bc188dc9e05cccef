//! `trefoil admin` against a service in a process of its own.

use crate::world::*;
use std::os::unix::fs::PermissionsExt as _;

/// An operator at the machine of a service.
struct Operator {
    program: Program,
    url: String,
    data: String,
}

impl Operator {
    fn new() -> Operator {
        let program = Program::own(&[]);
        let url = format!("https://{}", program.admin.address);
        let data = program.data().to_str().unwrap().to_owned();
        Operator { program, url, data }
    }

    fn file(&self, name: &str) -> String {
        self.program.file(name).to_str().unwrap().to_owned()
    }

    /// Exit code, standard output, standard error. Receipts are checked under the service's trust root.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run_under(&format!("{}/trust-root.json", self.data), arguments)
    }

    /// The same with this file for `--trust-root`, where the command changes something.
    fn run_under(&self, root: &str, arguments: &[&str]) -> (i32, String, String) {
        let reads = ["list", "show", "status", "nodes", "usage", "audit", "ready", "--status"];
        let changes = !arguments.iter().any(|argument| reads.contains(argument));
        let place = ["admin", "--admin", &self.url, "--data-dir", &self.data];
        let root = if changes { &["--trust-root", root][..] } else { &[] };
        let output = trefoil(&[&place, root, arguments].concat());
        (code(&output), output.out(), output.err())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (code, out, error) = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(code, 0, "{arguments:?}: {error}");
        serde_json::from_str(&out).unwrap()
    }

    /// What a refusal says.
    fn refused(&self, arguments: &[&str]) -> String {
        let (code, out, error) = self.run(arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments:?}: {error}");
        error
    }
}

const CREATE: [&str; 7] =
    ["tenant", "create", "shop", "--audience", "https://shop.example", "--embedder", "facenet-128"];

#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_api_keys_from_the_command_line() {
    let operator = Operator::new();
    let (code, out, error) = operator.run(&CREATE);
    assert_eq!(code, 0, "{error}");
    let tenant = out.trim().strip_prefix("tenant ").unwrap();
    let file = operator.file("api.key");
    let create = ["api-key", "create", "--tenant", tenant, "--scope", "enrol", "--output", &file];
    let (code, out, error) = operator.run(&create);
    assert_eq!(code, 0, "{error}");
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let id = &key["trefoil_".len()..][..16];
    assert!(out.contains(id) && !out.contains(key.trim()), "{out}");
    assert!(operator.refused(&create).contains("give --output a new file"));
    let issue = "--scope issue --expires 2100-01-01T00:00:00Z --label issuer";
    let made = operator.json(&[&["api-key", "create", "--tenant", tenant][..], &words(issue)].concat());
    let listed = operator.json(&["api-key", "list", "--tenant", tenant]);
    let listed = listed.as_array().unwrap();
    let issuer = listed.iter().find(|key| key["label"] == "issuer").unwrap();
    assert_eq!((listed.len(), &issuer["id"]), (2, &made["id"]));
    assert_eq!(issuer["expires_at"], 4_102_444_800_u64);
    let caller = operator.program.public.with_bearer(key.trim());
    caller.post("/v1/authentications", &json!({})).await.problem(403, "scope-missing");

    let (_, disabled, _) = operator.run(&["tenant", "disable", tenant]);
    assert!(disabled.starts_with("TENANT") && disabled.contains(tenant), "{disabled}");
    caller.post("/v1/authentications", &json!({})).await.problem(403, "tenant-disabled");
    assert_eq!(operator.json(&["tenant", "enable", tenant])["disabled_at"], Value::Null);
    let revoked = operator.json(&["api-key", "revoke", id, "--tenant", tenant]);
    assert_eq!(revoked["state"], "revoked");
    caller.post("/v1/authentications", &json!({})).await.problem(401, "caller-unauthenticated");

    let gone =
        operator.json(&words("tenant create gone --audience https://gone.example --embedder facenet-128"));
    let gone = gone["tenant_id"].as_str().unwrap();
    assert!(operator.refused(&["tenant", "delete", gone]).contains("tenant disable"));
    assert_eq!(operator.run(&["tenant", "disable", gone]).0, 0);
    let receipt = operator.file("deleted.cbor");
    let (_, deleted, _) = operator.run(&["tenant", "delete", gone, "--receipt", &receipt]);
    assert!(deleted.starts_with("deleted, 0 templates") && deleted.contains(&receipt), "{deleted}");
    assert!(operator.refused(&["tenant", "show", gone]).contains("tenant-unknown"));

    let (_, shown, _) = operator.run(&["tenant", "show", tenant]);
    assert!(shown.contains("\"https://shop.example\""), "{shown}");
    assert_eq!(operator.json(&["tenant", "list"])[0]["name"], "shop");
    assert_eq!(operator.run(&["reset-malformed", tenant]).0, 0);
    operators_from_the_command_line(&operator, tenant);
    let rotated = operator.json(&["rotate-keys", tenant]);
    assert_eq!((&rotated["tenant"], &rotated["epoch"]), (&json!(tenant), &json!(1)));
    assert_eq!(operator.run(&["rotate-keys", tenant, "--status"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_believed_only_if_its_receipt_verifies_under_the_pinned_trust_root() {
    let (operator, other) = (Operator::new(), Operator::new());
    let foreign = format!("{}/trust-root.json", other.data);
    let tenant = operator.json(&CREATE);
    let tenant = tenant["tenant_id"].as_str().unwrap();
    let create = ["api-key", "create", "--tenant", tenant, "--scope", "enrol"];
    let (exit, out, error) = operator.run_under(&foreign, &create);
    assert_eq!((exit, out.as_str()), (1, ""), "the key of an answer that must not be believed is not shown");
    assert!(error.contains("do not believe this answer") && error.contains(&foreign), "{error}");
    assert!(error.contains("trefoil admin audit"), "{error}");

    let receipt = operator.file("kept.cbor");
    let kept = ["--receipt", &receipt];
    let (_, _, error) = operator.run_under(&foreign, &[&create[..], &kept].concat());
    assert!(error.contains(&format!("receipt in {receipt}")), "evidence is kept: {error}");
    let own = format!("{}/trust-root.json", operator.data);
    trefoil(&["verify", &receipt, "--trust-root", &own]).done();
    let before = std::fs::read(&receipt).unwrap();
    let again = operator.refused(&[&["tenant", "disable", tenant][..], &kept].concat());
    assert!(again.contains("nothing is changed") && again.contains(&receipt), "{again}");
    assert_eq!(std::fs::read(&receipt).unwrap(), before, "it is not overwritten");
    assert!(operator.json(&["tenant", "show", tenant])["disabled_at"].is_null());
    for flag in [["--receipt", "new.cbor"], ["--trust-root", &own]] {
        let told = operator.refused(&[&["tenant", "list"][..], &flag].concat());
        assert!(told.contains(flag[0]) && told.contains("changes nothing"), "{told}");
    }

    let full = operator.program.file("full.cbor");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let kept = ["--receipt", full.to_str().unwrap()];
    let (exit, out, error) = operator.run(&[&["tenant", "disable", tenant][..], &kept].concat());
    assert!(exit == 3 && out.contains(tenant) && error.contains("the receipt is not kept"), "{out}{error}");
    operator.refused(&[&["tenant", "delete", &"00".repeat(16)][..], &kept].concat());
    assert!(full.symlink_metadata().is_ok(), "a device is not removed where nothing is changed");
    let enabled = operator.json(&["tenant", "enable", tenant]);
    let cut_out = operator.file("receipt.json");
    std::fs::write(&cut_out, enabled["receipt"].to_string()).unwrap();
    trefoil(&["verify", &cut_out, "--trust-root", &own]).done();

    let missing = format!("{}/none.cbor", operator.data);
    let keys = || operator.json(&["api-key", "list", "--tenant", tenant]).as_array().unwrap().len();
    let before = keys();
    let (code, _, error) = operator.run_under(&missing, &create);
    assert!(code == 1 && error.contains(&missing) && keys() == before, "nothing is changed: {error}");

    let file = operator.file("in-file.key");
    let made = operator.json(&[&create[..], &["--output", &file]].concat());
    assert!(made.get("api_key").is_none() && !made["receipt"].is_null(), "{made}");
    assert_eq!(made["output"], file.as_str());
    let id = made["id"].as_str().unwrap().to_owned();
    let revoke = ["api-key", "revoke", &id, "--tenant", tenant];
    assert_eq!(operator.run(&revoke).0, 0);
    let (code, out, error) = operator.run(&revoke);
    assert!(code == 3 && out.contains("revoked") && error.contains("there is no receipt"), "{out}{error}");
}

fn operators_from_the_command_line(owner: &Operator, tenant: &str) {
    let file = owner.file("ann.token");
    let create = words("operator create ann --role viewer --expires 2100-01-01T00:00:00Z");
    let (code, out, error) = owner.run(&[&create[..], &["--output", &file]].concat());
    assert_eq!(code, 0, "{error}");
    let token = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let id = &token["trefoil_operator_".len()..][..16];
    assert!(out.contains(id) && !out.contains(token.trim()), "{out}");
    let ann = ["--admin-token-file", &file];
    assert_eq!(owner.run(&[&["tenant", "list"], &ann[..]].concat()).0, 0);
    let refused = owner.refused(&[&["tenant", "disable", tenant], &ann[..]].concat());
    assert!(refused.contains("role-missing") && refused.contains("operator list"), "{refused}");
    let (_, listed, _) = owner.run(&["operator", "list"]);
    assert!(listed.contains(id) && listed.contains("viewer") && listed.contains("admin.token"), "{listed}");
    let second = owner.json(&["operator", "new-token", id]);
    assert_eq!((&second["number"], &second["expires_at"]), (&json!(2), &Value::Null));
    let (_, shown, _) = owner.run(&["operator", "show", id]);
    assert!(shown.contains("2100-01-01T00:00:00Z") && shown.contains("never"), "{shown}");
    let one = owner.json(&["operator", "revoke", id, "--token", "2"]);
    assert!(one["tokens"][1]["revoked_at"].is_u64() && one["revoked_at"].is_null(), "{one}");
    assert!(owner.json(&["operator", "revoke", id])["revoked_at"].is_u64());
    assert_eq!(owner.run(&[&["tenant", "list"], &ann[..]].concat()).0, 1);
    assert!(owner.refused(&["operator", "revoke", "0000000000000000"]).contains("last-owner"));
    let (_, trail, _) = owner.run(&["audit", "--tenant", tenant]);
    assert!(trail.lines().last().unwrap().contains("tenant_disabled  refused"), "{trail}");
    let trail = owner.json(&["audit"]);
    assert!(trail.as_array().unwrap().iter().all(|entry| entry["receipt"].is_object()), "{trail}");
}

/// A service in this process, so that subjects are enrolled and sessions opened without a wallet for each.
#[tokio::test(flavor = "multi_thread")]
async fn subjects_and_sessions_from_the_command_line() {
    let service = Service::start().await;
    let people = service.welcomed(3, 57).await;
    let file = |name: &str| service.file(name).to_str().unwrap().to_owned();
    let keys =
        [("all", service.public.bearer.clone().unwrap()), ("narrow", service.api_key(&["issue"]).await)];
    for (name, key) in &keys {
        std::fs::write(file(name), format!("{key}\n")).unwrap();
    }
    let url = format!("https://{}", service.public.address);
    let data = service.data().to_str().unwrap().to_owned();
    let run = |key: &str, arguments: &[&str]| {
        let (key, service) = (file(key), url.clone());
        let place = ["--data-dir", &data, "--api-key-file", &key, "--service", &service];
        trefoil(&[&["admin"], arguments, &place[..]].concat())
    };
    let done = |arguments: &[&str]| run("all", arguments).done();
    let (handle, session) = (hex::encode(people[0].handle), hex::encode(people[1].session_id));
    let json = |arguments: &[&str]| serde_json::from_str::<Value>(&done(arguments)).unwrap();
    let listed = json(&["subject", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 3);
    assert!(done(&["subject", "list"]).contains(&handle));
    let shown = json(&["subject", "show", &handle, "--json"]);
    assert!(shown["generation"] == 1 && listed.as_array().unwrap().contains(&shown), "{shown}");

    // Receipts, which `trefoil verify` takes.
    let (erased, ended) = (file("erased.cbor"), file("ended.cbor"));
    let (face, replaced, revoked) = (file("face.json"), file("replaced.cbor"), file("revoked.cbor"));
    std::fs::write(&face, serde_json::to_string(&people[2].face.as_slice()).unwrap()).unwrap();
    let other = ["--embedding", &face, "--embedding", &face, "--consent", "form 8"];
    let replace = [&["subject", "replace", &handle][..], &other, &["--receipt", &replaced]].concat();
    let said = done(&replace);
    let agreement = "smallest cosine of two photographs 1.00";
    assert!(said.contains(&format!("now of generation 2, {agreement}; generation 1 is destroyed")), "{said}");
    assert!(said.contains(&replaced), "{said}");
    let said = done(&["subject", "revoke", &handle, "--receipt", &revoked]);
    assert!(said.starts_with("revoked at") && said.contains("generation 2"), "{said}");
    assert!(said.contains(&revoked), "{said}");
    assert!(done(&["subject", "list"]).contains("revoked"));
    let shown = json(&["subject", "show", &handle, "--json"]);
    assert!(shown["state"] == "revoked" && shown["revoked_at"].is_u64(), "{shown}");
    let said = done(&["subject", "erase", &handle, "--receipt", &erased]);
    assert!(said.contains("generation 2") && said.contains(&erased), "{said}");
    let said = done(&["session", "end", &session, "--receipt", &ended]);
    assert!(said.starts_with("ended") && said.contains(&ended), "{said}");
    let root = service.server.trust_root_path().to_str().unwrap().to_owned();
    let (at, tenant) = (service.clock.unix_s().to_string(), hex::encode(service.tenant));
    let receipts =
        [(&replaced, "replaced", &handle), (&revoked, "revoked", &handle), (&erased, "erased", &handle)];
    for (receipt, kind, of) in receipts.into_iter().chain([(&ended, "session_ended", &session)]) {
        let under = ["--trust-root", &root, "--at", &at, "--tenant", &tenant];
        let text = trefoil(&[&["verify", receipt], &under[..]].concat()).done();
        assert!(text.contains(kind) && text.contains(of), "{text}");
    }
    assert_eq!(json(&["subject", "list", "--json"]).as_array().unwrap().len(), 2);
    let left = json(&["session", "list", "--json"]);
    assert!(left.as_array().unwrap().iter().all(|left| left["session_id"] != session.as_str()), "{left}");
    assert!(!done(&["session", "list"]).contains(&session));

    // Errors name the next step.
    let other = file("other");
    std::fs::write(&other, "trefoil_0011223344556677_x\n").unwrap();
    for (key, arguments, expected) in [
        ("all", vec!["subject", "erase", handle.as_str()], "trefoil admin subject list"),
        ("all", vec!["subject", "revoke", handle.as_str()], "trefoil admin subject list"),
        ("all", vec!["subject", "show", handle.as_str()], "trefoil admin subject list"),
        ("all", vec!["session", "end", session.as_str()], "trefoil admin session list"),
        ("narrow", vec!["subject", "list"], "the scope enrol"),
        ("narrow", vec!["session", "list"], "one with authenticate"),
        ("other", vec!["session", "list"], "trefoil admin api-key list"),
        ("nowhere", vec!["session", "list"], "nowhere"),
    ] {
        let refused = run(key, &arguments);
        assert!(refused.out().is_empty(), "{arguments:?}: {}", refused.out());
        refused.ends(1, expected);
    }
    assert_eq!(code(&run("all", &["subject", "show", "12"])), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_of_a_tenant_without_credentials_is_enrolled_from_the_command_line() {
    let operator = Operator::new();
    let create = "tenant create app --audience https://app.example --embedder facenet-128 --proof none";
    let created = operator.json(&words(create));
    let tenant = created["tenant_id"].as_str().unwrap().to_owned();
    let [key, face, receipt] = ["api.key", "face.json", "enrolled.cbor"].map(|name| operator.file(name));
    let create = ["api-key", "create", "--tenant", &tenant, "--scope", "enrol", "--output", &key];
    assert_eq!(operator.run(&create).0, 0);
    let service = format!("https://{}", operator.program.public.address);
    let handle = "5a".repeat(32);
    let enrol = |idempotency: &str| {
        let files = format!("--embedding {face} --receipt {receipt} --api-key-file {key}");
        let line =
            format!("subject enrol {handle} {files} --service {service} --idempotency-key {idempotency}");
        operator.run(&[&words(&line)[..], &["--consent", "form 7"]].concat())
    };
    let numbers: Vec<f32> = (0..128_u8).map(|at| f32::from(at % 7) - 3.0).collect();
    for (given, expected) in [
        (&numbers[..1], "face.json: a face has 2 to 512 numbers, got 1"),
        (&numbers[..127], "expected 128 numbers, which model facenet-128 gives, got 127"),
    ] {
        std::fs::write(&face, json!(given).to_string()).unwrap();
        let (code, _, error) = enrol("a");
        assert!(code == 1 && error.contains(expected), "{error}");
    }
    std::fs::write(&face, json!(numbers).to_string()).unwrap();
    let (code, out, error) = enrol("a");
    assert!(code == 0 && out.starts_with("enrolled, the template is of generation 1\n"), "{out}{error}");
    let root = format!("{}/trust-root.json", operator.data);
    trefoil(&["verify", &receipt, "--trust-root", &root]).done();
    std::fs::write(&receipt, "").unwrap();
    let (code, _, error) = enrol("b");
    assert!(code == 1 && error.contains("template-exists"), "{error}");
    assert!(!error.contains("--idempotency-key"), "{error}");
    assert!(!Path::new(&receipt).exists(), "no empty file is left for a change that was not made");
    let listed = operator.json(&["subject", "list", "--api-key-file", &key, "--service", &service]);
    assert_eq!((&listed[0]["handle"], &listed[0]["consent_ref"]), (&json!(handle), &json!("form 7")));
}

#[test]
fn arguments_that_are_missing_or_looked_for_elsewhere_come_with_a_hint() {
    for (arguments, hint) in [
        (&["policy", "list"][..], "trefoil admin tenant list"),
        (&["api-key", "list"], "trefoil admin tenant list"),
        (&["subject", "show", "--api-key-file", "k"], "trefoil admin subject list"),
        (&["budget", "show"], "trefoil admin tenant list"),
    ] {
        trefoil(&[&["admin"], arguments].concat()).ends(2, hint);
    }
}
