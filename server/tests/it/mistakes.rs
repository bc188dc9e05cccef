//! Ordinary mistakes of an operator and of an application engineer. Each is answered with the thing that is wrong, the place, and the next
//! step, in words of ours.

use crate::program::Program;
use crate::service::{self, Service, unlimited};
use hyper::Method;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use trefoil_pipeline::Clock as _;
use trefoil_server::wire::Vector;

/// What a mistake is answered with.
struct Answer<'a> {
    /// The thing that is wrong.
    thing: &'a str,
    /// Where it is.
    place: &'a str,
    /// What to do.
    next: &'a str,
}

const fn says<'a>(thing: &'a str, place: &'a str, next: &'a str) -> Answer<'a> {
    Answer { thing, place, next }
}

impl Answer<'_> {
    /// Collects what is missing in a text.
    fn check(&self, mistake: &str, text: &str, wrong: &mut Vec<String>) {
        let parts = [("thing", self.thing), ("place", self.place), ("next step", self.next)];
        for (part, words) in parts.iter().filter(|(_, words)| !text.contains(words)) {
            wrong.push(format!("{mistake}: no {part} (`{words}`) in: {text}"));
        }
        // Names of our code and of its libraries tell a reader nothing.
        let text = text.replace("[::1]", "");
        for foreign in ["::", "struct ", "enum ", "variant index", "panicked", "Err(", "Some(", "called `"] {
            if text.contains(foreign) {
                wrong.push(format!("{mistake}: `{foreign}` in: {text}"));
            }
        }
    }
}

/// A folder with what mistakes need.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.text(name)
    }

    /// A certificate and its key.
    fn certificate(&self, name: &str) -> [String; 2] {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let key = self.file(&format!("{name}-key.pem"), &made.signing_key.serialize_pem());
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        [self.file(&format!("{name}.pem"), &made.cert.pem()), key]
    }

    /// What the program says about a mistake; it must fail.
    fn said(&self, line: &[&str], variables: &[(&str, &str)]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_trefoil"))
            .args(line)
            .current_dir(self.folder.path())
            .env("TREFOIL_LOG_FILTER", "off")
            .env("TREFOIL_KEYS_PRECOMPUTE", "brief")
            .env("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success(), "{line:?} {variables:?} succeeded: {said}");
        said
    }
}

type Mistake<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], Answer<'a>);

/// Configuration: nothing of it starts, whatever else is there.
const CONFIGURATION: &[Mistake<'static>] = &[
    (
        &["serve", "--listen", "localhost:8443"],
        &[],
        says("not an IP address with a port", "--listen", "write it as 127.0.0.1:8443"),
    ),
    (
        &["serve", "--admin-listen", "127.0.0.1"],
        &[],
        says("not an IP address with a port", "--admin-listen", "write it as 127.0.0.1:8443"),
    ),
    (
        &["serve", "--listen", "127.0.0.1:99999"],
        &[],
        says("127.0.0.1:99999", "--listen", "write it as 127.0.0.1:8443"),
    ),
    (
        &["serve", "--listen", "127.0.0.1:7001", "--admin-listen", "127.0.0.1:7001"],
        &[],
        says("need different addresses", "server.admin_listen", "different"),
    ),
    (
        &["serve", "--listen", "0.0.0.0:8443", "--data-dir", "nothing-yet"],
        &[],
        says("0.0.0.0:8443 names no machine", "server.public_url", "--public-url https://auth.example:8443"),
    ),
    (
        &["serve", "--public-url", "http://auth.example"],
        &[],
        says("does not begin with https://", "--public-url", "write it as https://auth.example"),
    ),
    (
        &["serve", "--public-url", "https://auth.example/login"],
        &[],
        says("without a path", "--public-url", "write it as https://auth.example"),
    ),
    (
        &["serve", "--workers", "5000"],
        &[],
        says("5000 is not between 0 and 1024", "pipeline.workers", "set by --workers"),
    ),
    (&["serve", "--worker", "2"], &[], says("--worker", "unexpected argument", "--workers")),
    (&["srve"], &[], says("srve", "unrecognized subcommand", "serve")),
    (&["serve", "--cadence", "often"], &[], says("often", "--cadence", "possible values: group, per-batch")),
    (
        &["serve"],
        &[("TREFOIL_SERVR_LISTEN", "127.0.0.1:1")],
        says("names no setting", "TREFOIL_SERVR_LISTEN", "did you mean TREFOIL_SERVER_LISTEN?"),
    ),
    (
        &["serve"],
        &[("TREFOIL_SERVER_LISTN", "127.0.0.1:1")],
        says("names no setting", "TREFOIL_SERVER_LISTN", "did you mean TREFOIL_SERVER_LISTEN?"),
    ),
    (
        &["serve"],
        &[("TREFOIL_DATA_DIR", "/x")],
        says("names no setting", "TREFOIL_DATA_DIR", "did you mean TREFOIL_SERVER_DATA_DIR?"),
    ),
    (
        &["key-holder"],
        &[("TREFOIL_KEY_HOLDER_SERVR_LISTEN", "127.0.0.1:1")],
        says(
            "names no setting",
            "TREFOIL_KEY_HOLDER_SERVR_LISTEN",
            "did you mean TREFOIL_KEY_HOLDER_SERVER_LISTEN?",
        ),
    ),
    (
        &["keys", "rotate"],
        &[("TREFOIL_KEYS_PASPHRASE_FILE", "x")],
        says("names no setting", "TREFOIL_KEYS_PASPHRASE_FILE", "did you mean TREFOIL_KEYS_PASSPHRASE_FILE?"),
    ),
    (
        &["admin", "tenant", "list"],
        &[("TREFOIL_SERVER_ADMIN_LISTN", "127.0.0.1:1")],
        says("names no setting", "TREFOIL_SERVER_ADMIN_LISTN", "did you mean TREFOIL_SERVER_ADMIN_LISTEN?"),
    ),
    (
        &["serve"],
        &[("TREFOIL_LIMITS_LATENCY_AIM_MS", "1s")],
        says("`1s` is not a whole number", "TREFOIL_LIMITS_LATENCY_AIM_MS", "such as 1000"),
    ),
    (
        &["serve"],
        &[("TREFOIL_LIMITS_ANSWER_TIMEOUT_S", "90")],
        says(
            "90 is not between 1 and 60",
            "limits.answer_timeout_s",
            "set by TREFOIL_LIMITS_ANSWER_TIMEOUT_S",
        ),
    ),
    (
        &["serve"],
        &[("TREFOIL_SERVER_PROTECT_MEMORY", "yes")],
        says("`yes`", "TREFOIL_SERVER_PROTECT_MEMORY", "neither true nor false"),
    ),
    (
        &["serve"],
        &[("TREFOIL_SERVER_LISTEN", "here")],
        says("`here`", "TREFOIL_SERVER_LISTEN", "write it as 127.0.0.1:8443"),
    ),
    (
        &["serve"],
        &[("TREFOIL_LOG_FILTER", "info,=,")],
        says("is not a filter", "log.filter", "trefoil_server=debug,warn"),
    ),
    (
        &["serve"],
        &[("TREFOIL_PROOFS_CIRCUITS", "cred/9")],
        says("list one or more of", "proofs.circuits", "cred/2"),
    ),
    (
        &["serve", "--key-holder", "127.0.0.1:7443"],
        &[],
        says("tls://HOST:PORT#FINGERPRINT", "keyholder.url", "set by --key-holder"),
    ),
    (
        &["serve"],
        &[("TREFOIL_RETENTION_OLD_SEALS", "archive")],
        says("archive", "retention.archive_dir", "set it"),
    ),
    (
        &["serve"],
        &[("TREFOIL_TLS_CERTIFICATE", "/nowhere/c.pem")],
        says("tls.private_key", "tls.certificate", "set both"),
    ),
    (
        &["serve", "--config", "missing.toml"],
        &[],
        says("No such file", "configuration file missing.toml", "check the path given with --config"),
    ),
    (
        &["serve", "--config", "broken.toml"],
        &[],
        says("this is not TOML", "broken.toml", "trefoil serve --print-defaults"),
    ),
    (&["serve", "--config", "section.toml"], &[], says("`servr`", "section.toml", "did you mean [server]?")),
    (
        &["serve", "--config", "key.toml"],
        &[],
        says("`server.lisen`", "key.toml", "did you mean `server.listen`?"),
    ),
    (
        &["serve", "--config", "type.toml"],
        &[],
        says("is string, expected integer", "`pipeline.workers`", "trefoil serve --print-defaults"),
    ),
    (&["serve", "--config", "word.toml"], &[], says("often", "cadence", "`group` or `per-batch`")),
    (
        &["doctor", "--data-dir", "never-made"],
        &[],
        says("there is no installation", "never-made", "trefoil serve"),
    ),
];

#[test]
fn a_configuration_that_is_wrong_says_what_where_and_what_to_do() {
    let desk = Desk { folder: tempfile::tempdir().unwrap() };
    desk.file("broken.toml", "[server\nlisten = 1");
    desk.file("section.toml", "[servr]\nlisten = \"127.0.0.1:1\"");
    desk.file("key.toml", "[server]\nlisen = \"127.0.0.1:1\"");
    desk.file("type.toml", "[pipeline]\nworkers = \"2\"");
    desk.file("word.toml", "[pipeline]\ncadence = \"often\"");
    let mut wrong = Vec::new();
    for (line, variables, answer) in CONFIGURATION {
        answer.check(&format!("{line:?} {variables:?}"), &desk.said(line, variables), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CONFIGURATION.len(), 33);
}

/// Arguments of `trefoil serve` in a directory that was spoiled.
fn spoiled(desk: &Desk, name: &str, spoil: impl FnOnce(&Path)) -> String {
    let (whole, data) = (desk.path("data"), desk.path(name));
    assert!(Command::new("cp").arg("-a").args([&whole, &data]).status().unwrap().success());
    spoil(&data);
    let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    desk.said(&[&["serve", "--data-dir", data.to_str().unwrap()], &listen[..]].concat(), &[])
}

#[test]
fn an_installation_that_does_not_start_says_what_where_and_what_to_do() {
    let desk = Desk { folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&desk.path("data"), Stdio::null(), &[]);
    assert_eq!(program.terminate().code(), Some(0));
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut answers = |mistake: &str, said: String, answer: Answer<'_>| {
        answer.check(mistake, &said, &mut wrong);
        count += 1;
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let data = desk.text("data");
    let serve = ["serve", "--data-dir", &data];
    let free = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let with = |variables: &[(&str, &str)]| desk.said(&[&serve[..], &free].concat(), variables);
    let [shop, shop_key] = desk.certificate("shop.example");
    let [_, other_key] = desk.certificate("other.example");
    let no_pem = desk.file("no.pem", "x");

    let listen = ["--listen", &taken, "--admin-listen", "127.0.0.1:0"];
    let said = desk.said(&[&serve[..], &listen].concat(), &[]);
    answers("port taken", said, says("cannot listen", &taken, "is another process using it?"));
    let said = desk.said(&[&["serve", "--data-dir", "/dev/null/x"][..], &free].concat(), &[]);
    answers("no directory", said, says("cannot create the directory", "/dev/null/x", "check the path"));
    let said = spoiled(&desk, "open", |data| {
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o755)).unwrap();
    });
    answers("directory open to all", said, says("readable by others", "open", "chmod go="));
    let said = spoiled(&desk, "token", |data| {
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(data.join("admin.token"), mode).unwrap();
    });
    answers("token open to all", said, says("readable by others", "admin.token", "chmod go="));
    let said = spoiled(&desk, "vault", |data| std::fs::remove_file(data.join("vault.sqlite")).unwrap());
    answers("vault gone", said, says("is missing", "vault.sqlite", "one backup"));
    let said = spoiled(&desk, "store", |data| std::fs::remove_file(data.join("store.sqlite")).unwrap());
    answers("store gone", said, says("is missing", "store.sqlite", "one backup"));
    let said = spoiled(&desk, "pepper", |data| std::fs::write(data.join("pepper.key"), [7; 32]).unwrap());
    answers("another pepper", said, says("not the file that was made", "pepper.key", "one backup"));
    let said = spoiled(&desk, "tls", |data| std::fs::remove_file(data.join("tls-private-key.pem")).unwrap());
    answers("TLS key gone", said, says("is missing", "tls-private-key.pem", "one backup"));
    let said =
        spoiled(&desk, "damaged", |data| std::fs::write(data.join("store.sqlite"), [7; 9000]).unwrap());
    answers("damaged store", said, says("damaged", "store.sqlite", "newest backup"));
    let pair = |certificate: &str, key: &str| {
        with(&[("TREFOIL_TLS_CERTIFICATE", certificate), ("TREFOIL_TLS_PRIVATE_KEY", key)])
    };
    let said = pair("/nowhere/c.pem", &shop_key);
    answers(
        "certificate missing",
        said,
        says("No such file", "/nowhere/c.pem", "tls.certificate takes a PEM chain"),
    );
    let said = pair(&shop, "/nowhere/k.pem");
    answers("its key missing", said, says("No such file", "/nowhere/k.pem", "tls.private_key a PEM key"));
    let said = pair(&no_pem, &shop_key);
    answers("no certificate in it", said, says("holds no certificate", &no_pem, "PEM chain"));
    let said = pair(&shop, &other_key);
    answers("another certificate's key", said, says("is not the key of", &other_key, "set tls.private_key"));
    let said = with(&[("TREFOIL_SERVER_ISSUER", "https://other.example")]);
    answers(
        "another issuer",
        said,
        says("of issuer https://127.0.0.1", "trust root", "set server.issuer to"),
    );
    let said = with(&[("TREFOIL_KEYS_PASSPHRASE_FILE", "/nowhere/words")]);
    answers("passphrase file missing", said, says("cannot read", "/nowhere/words", "check the path"));
    let running = Program::start(&desk.path("data"), Stdio::null(), &[]);
    let said = with(&[]);
    answers("started twice", said, says("used by another trefoil process", &data, "stop that one"));
    drop(running);
    let said = desk.said(&["keys", "show", "--data-dir", "nowhere"], &[]);
    answers("keys of nothing", said, says("cannot be read", "nowhere/trust-root.json", "--data-dir"));
    let words = desk.file("words", "correct horse battery");
    std::fs::set_permissions(&words, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = desk.said(&["backup", "--data-dir", &data, "b", "--passphrase-file", &words], &[]);
    answers("passphrase open to all", said, says("readable by others", &words, "chmod go="));
    let said = desk.said(&["backup", "--data-dir", &data, "b"], &[("TREFOIL_BACKUP_PASSPHRASE", "short")]);
    answers("short passphrase", said, says("passphrase", "backup", "at least"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_reach_its_service_says_what_where_and_what_to_do() {
    let desk = Desk { folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&desk.path("data"), Stdio::null(), &[]);
    let [public, admin] = [&program.public, &program.admin].map(|end| format!("https://{}", end.address));
    let ca = desk.text("data/tls-certificate.pem");
    let token = desk.text("data/admin.token");
    let [other, _] = desk.certificate("localhost");
    let (no_pem, note) = (desk.file("no.pem", "x"), desk.file("note", "x"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = silent.local_addr().unwrap();
    drop(silent);
    let (nobody, plain) = (format!("https://{nobody}"), TcpListener::bind("127.0.0.1:0").unwrap());
    let not_tls = format!("https://{}", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in plain.incoming() {
            use std::io::Write as _;
            let _ = connection
                .and_then(|mut connection| connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let by_name = |host: &str| format!("https://{host}:{}", program.public.address.port());
    let [elsewhere, _] = desk.certificate("elsewhere.example");
    let hand_in = |url: &str, ca: &[&str]| {
        desk.said(&[&["log", "hand-in", "--service", url], ca, &[note.as_str()]].concat(), &[])
    };
    let operator = |arguments: &[&str]| {
        desk.said(&[&["admin", "--data-dir", &desk.text("data")], arguments].concat(), &[])
    };
    let at = ["--admin", admin.as_str()];
    let tenant = "00".repeat(16);
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut answers = |mistake: &str, said: String, answer: Answer<'_>| {
        answer.check(mistake, &said, &mut wrong);
        count += 1;
    };
    answers("no --ca", hand_in(&public, &[]), says("certificate", "", "--ca"));
    answers(
        "--ca missing",
        hand_in(&public, &["--ca", "/nowhere/c.pem"]),
        says("cannot be read", "/nowhere/c.pem", "--ca takes a PEM file"),
    );
    answers(
        "--ca no PEM",
        hand_in(&public, &["--ca", &no_pem]),
        says("certificate", &no_pem, "give a PEM file"),
    );
    answers(
        "another service's",
        hand_in(&public, &["--ca", &other]),
        says("neither the expected one", "/v1/log", "Give its own with --ca"),
    );
    answers(
        "another name's",
        hand_in(&public, &["--ca", &elsewhere]),
        says("certificate", "/v1/log", "--ca"),
    );
    answers(
        "http",
        hand_in("http://127.0.0.1:1", &["--ca", &ca]),
        says("must look like", "http://127.0.0.1:1", "https://host:port"),
    );
    answers(
        "no scheme",
        hand_in("127.0.0.1:8443", &["--ca", &ca]),
        says("must look like", "127.0.0.1:8443", "https://host:port"),
    );
    answers(
        "wrong port",
        hand_in(&nobody, &["--ca", &ca]),
        says("nothing listens there", "/v1/log", "correct host and port"),
    );
    answers(
        "no TLS",
        hand_in(&not_tls, &["--ca", &ca]),
        says("does not speak TLS", "/v1/log", "Check the port"),
    );
    answers(
        "no such name",
        hand_in("https://no.such.invalid", &["--ca", &ca]),
        says("cannot be looked up", "/v1/log", "Correct it in the address"),
    );
    let [named, ended] = others(&desk).await;
    answers(
        "another name",
        hand_in(&named.0, &["--ca", &named.1]),
        says("its certificate is for other names", "/v1/log", "tls.names"),
    );
    answers(
        "expired certificate",
        hand_in(&ended.0, &["--ca", &ended.1]),
        says("its certificate has expired", "/v1/log", "renew the certificate"),
    );
    answers(
        "admin on the public port",
        operator(&["tenant", "list", "--admin", &public]),
        says("route-unknown", &public, "admin API"),
    );
    answers(
        "stopped",
        operator(&["tenant", "list", "--admin", &nobody]),
        says("nothing listens there", &nobody, "trefoil serve"),
    );
    answers(
        "wrong token",
        operator(&[&["tenant", "list", "--admin-token-file", &no_pem], &at[..]].concat()),
        says("caller-unauthenticated", &no_pem, "--admin-token-file"),
    );
    answers(
        "wrong directory",
        desk.said(&["admin", "tenant", "list", "--data-dir", "/nowhere"], &[]),
        says("cannot be read", "/nowhere/tls-certificate.pem", "--data-dir"),
    );
    answers(
        "tenant is no id",
        operator(&["tenant", "show", "shop"]),
        says("shop", "<TENANT>", "32 hexadecimal digits"),
    );
    answers(
        "unknown tenant",
        operator(&[&["tenant", "show", &tenant], &at[..]].concat()),
        says("tenant-unknown", &admin, "trefoil admin tenant list"),
    );
    answers(
        "unknown scope",
        operator(&["api-key", "create", "--tenant", &tenant, "--scope", "all"]),
        says("all", "--scope", "enrol"),
    );
    answers(
        "time in words",
        operator(&["api-key", "create", "--tenant", &tenant, "--scope", "enrol", "--expires", "tomorrow"]),
        says("tomorrow", "--expires", "2026-11-20T09:47:40Z"),
    );
    answers(
        "unknown class",
        operator(&[&["tenant", "create", "x", "--audience", "x", "--fmr-class", "9"], &at[..]].concat()),
        says("no calibration", "/policy/threshold", "known are"),
    );
    answers(
        "policy is no JSON",
        operator(&["tenant", "create", "x", "--policy", &no_pem]),
        says("is not a policy", &no_pem, "API.md"),
    );
    answers(
        "another token's file",
        operator(&[&["tenant", "list", "--admin-token-file", "/nowhere/t"], &at[..]].concat()),
        says("cannot be read", "/nowhere/t", "--admin-token-file"),
    );
    let trust_root = desk.text("data/trust-root.json");
    answers(
        "verify without a file",
        desk.said(&["verify", "/nowhere/a", "--trust-root", &trust_root], &[]),
        says("cannot be read", "/nowhere/a", "check the path"),
    );
    answers(
        "verify with no trust root",
        desk.said(&["verify", &token, "--trust-root", &no_pem], &[]),
        says("trust root", &no_pem, "export-trust-root"),
    );
    answers(
        "wallet that is none",
        desk.said(&["wallet", "show", "--wallet", "/nowhere/w", "--passphrase-file", &token], &[]),
        says("No such file", "/nowhere/w", "trefoil wallet create"),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 26);
}

/// Two services with certificates that no client takes: for another name, and one that has expired. Their addresses and certificates.
async fn others(desk: &Desk) -> [(String, String); 2] {
    let clock = Arc::new(service::TestClock::default());
    let mut named = service::config(&desk.path("named"));
    named.tls.names = vec!["elsewhere.example".to_owned()];
    let mut ended = service::config(&desk.path("ended"));
    let mut parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    ended.tls.certificate = desk.file("ended.pem", &parameters.self_signed(&key).unwrap().pem()).into();
    ended.tls.private_key = desk.file("ended-key.pem", &key.serialize_pem()).into();
    let (named, ended) = (service::start(named, &clock).await, service::start(ended, &clock).await);
    let place = |server: &trefoil_server::server::Server| {
        let certificate = server.certificate_path().to_str().unwrap().to_owned();
        (format!("https://{}", server.public_address()), certificate)
    };
    let places = [place(&named), place(&ended)];
    // They run until the test ends.
    std::mem::forget((named, ended));
    places
}

/// A request and what it is answered with.
struct Call<'a> {
    mistake: &'a str,
    method: Method,
    path: String,
    headers: Vec<(&'a str, &'a str)>,
    body: Vec<u8>,
    code: &'a str,
    answer: Answer<'a>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_wrong_is_answered_with_what_where_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = service::policy();
    policy["attempts"] = unlimited();
    let service = Service::with_policy(service::config(&folder.path().join("data")), policy).await;
    let people = service.people(2, 1, 11).await;
    service.welcome(&people[0]).await;
    let (ann, bob) = (service::templates_path(&people[0]), service::templates_path(&people[1]));
    let tenant = hex::encode(service.tenant);
    let keys = format!("/v1/tenants/{tenant}/api-keys");
    let face = json!(Vector::new(people[1].face));
    let enrolment = json!({"embedding": face, "consent_ref": "form 7"});
    let request = serde_json::to_value(service.request(&people[0], &people[0].face, 1)).unwrap();
    let with = |body: &Value, field: &str, value: Value| {
        let mut body = body.clone();
        body[field] = value;
        body.to_string().into_bytes()
    };
    let numbers = |count: usize| json!((0..count).map(|i| i as f32 * 0.25 - 9.0).collect::<Vec<f32>>());
    let key = ("idempotency-key", "fresh");
    let enrol = |mistake, field: &str, value: Value, code, answer| Call {
        mistake,
        method: Method::POST,
        path: bob.clone(),
        headers: vec![key],
        body: with(&enrolment, field, value),
        code,
        answer,
    };
    let login = |mistake, field: &str, value: Value, code, answer| Call {
        mistake,
        method: Method::POST,
        path: "/v1/authentications".to_owned(),
        headers: vec![],
        body: with(&request, field, value),
        code,
        answer,
    };
    let raw = |mistake,
               method: Method,
               path: &str,
               headers: &[(&'static str, &'static str)],
               body: &str,
               code,
               answer| Call {
        mistake,
        method,
        path: path.to_owned(),
        headers: headers.to_vec(),
        body: body.as_bytes().to_vec(),
        code,
        answer,
    };
    let (post, get, delete) = (Method::POST, Method::GET, Method::DELETE);
    let whole = enrolment.to_string();
    let nan = whole.replacen('[', "[NaN, ", 1).replace("\"embedding\":\"", "\"embedding\":NaN,\"x\":\"");
    let missing = json!({"consent_ref": "form 7"}).to_string();
    let an_hour_ago = json!(service.clock.unix_s() - 3600);
    let in_an_hour = json!(service.clock.unix_s() + 3600);
    let calls = vec![
        raw(
            "no JSON",
            post.clone(),
            &bob,
            &[key],
            "embedding=1",
            "malformed-json",
            says("not JSON", "line 1, column 1", "Send one JSON value"),
        ),
        raw(
            "cut off",
            post.clone(),
            &bob,
            &[key],
            "{\"embedding\": [1,",
            "malformed-json",
            says("not JSON", "line 1, column", "Send one JSON value"),
        ),
        raw(
            "empty",
            post.clone(),
            &bob,
            &[key],
            "",
            "malformed-json",
            says("the body is empty", "body", "Send one JSON value"),
        ),
        raw(
            "NaN",
            post.clone(),
            &bob,
            &[key],
            &nan,
            "malformed-json",
            says("not JSON", "line 1, column", "Send one JSON value"),
        ),
        raw(
            "no embedding",
            post.clone(),
            &bob,
            &[key],
            &missing,
            "probe-mode-mismatch",
            says("plain", "`embedding`", "Send the face in the way"),
        ),
        raw(
            "not an object",
            post.clone(),
            &bob,
            &[key],
            "[1, 2]",
            "field-invalid",
            says("invalid", "", "Correct the fields"),
        ),
        enrol(
            "a number for text",
            "consent_ref",
            json!(7),
            "field-invalid",
            says("integer `7`", "/consent_ref", "expected a string"),
        ),
        enrol(
            "empty text",
            "consent_ref",
            json!(""),
            "field-invalid",
            says("1 to 256 bytes", "/consent_ref", "Correct the fields"),
        ),
        enrol(
            "text too long",
            "consent_ref",
            json!("x".repeat(257)),
            "field-invalid",
            says("1 to 256 bytes", "/consent_ref", "Correct the fields"),
        ),
        enrol(
            "unknown field",
            "consent",
            json!("x"),
            "field-invalid",
            says("unknown field `consent`", "/consent", "`consent_ref`"),
        ),
        enrol(
            "127 numbers",
            "embedding",
            numbers(127),
            "field-invalid",
            says("length 127", "/embedding", "128 numbers"),
        ),
        enrol(
            "129 numbers",
            "embedding",
            numbers(129),
            "field-invalid",
            says("got 129", "/embedding", "expected 128 numbers"),
        ),
        enrol(
            "256 numbers",
            "embedding",
            numbers(256),
            "field-invalid",
            says("got 256", "/embedding", "expected 128 numbers"),
        ),
        enrol(
            "512 numbers",
            "embedding",
            json!(vec![0.123_456_789_012_345_68_f64; 512]),
            "body-too-large",
            says("8192 bytes", "an embedding has 128 numbers", "Send a smaller body"),
        ),
        enrol(
            "words",
            "embedding",
            json!(vec!["x"; 128]),
            "field-invalid",
            says("string", "/embedding/0", "Correct the fields"),
        ),
        enrol(
            "beyond f32",
            "embedding",
            json!(vec![1e39_f64; 128]),
            "field-invalid",
            says("floating point", "/embedding", "a number that fits f32"),
        ),
        enrol(
            "zeros",
            "embedding",
            json!(vec![0; 128]),
            "embedding-invalid",
            says("zero", "/embedding", "128 numbers that the tenant's embedder gives"),
        ),
        enrol(
            "base64 of URLs",
            "embedding",
            json!("_-".repeat(342) + "=="),
            "field-invalid",
            says("standard alphabet", "/embedding", "expected base64"),
        ),
        enrol(
            "base64 of f64",
            "embedding",
            json!("AAAA".repeat(341) + "AA=="),
            "field-invalid",
            says("got 1024", "/embedding", "expected 512 bytes"),
        ),
        enrol(
            "shares where plain",
            "shares",
            json!({"open": "", "sealed": ""}),
            "probe-mode-mismatch",
            says("plain", "`shares`", "send `embedding`"),
        ),
        raw(
            "wrong content type",
            post.clone(),
            &bob,
            &[key, ("content-type", "text/plain")],
            &whole,
            "media-type-unsupported",
            says("text/plain", "Content-Type", "send Content-Type: application/json"),
        ),
        raw(
            "form",
            post.clone(),
            &bob,
            &[key, ("content-type", "application/x-www-form-urlencoded")],
            &whole,
            "media-type-unsupported",
            says("x-www-form-urlencoded", "Content-Type", "application/json"),
        ),
        raw(
            "no idempotency key",
            post.clone(),
            &bob,
            &[],
            &whole,
            "idempotency-key-missing",
            says("Idempotency-Key", "header", "fresh value"),
        ),
        raw(
            "wrong method",
            get.clone(),
            &bob,
            &[],
            "",
            "method-not-allowed",
            says("not allowed", "Allow", "Use a method"),
        ),
        raw(
            "wrong path",
            get.clone(),
            "/v1/login",
            &[],
            "",
            "route-unknown",
            says("no such path", "public listener", "API.md lists the routes"),
        ),
        raw(
            "admin route here",
            get.clone(),
            "/v1/tenants",
            &[],
            "",
            "route-unknown",
            says("no such path", "admin listener", "Correct the path and the listener"),
        ),
        raw(
            "subject is no id",
            post.clone(),
            "/v1/subjects/ann/templates",
            &[key],
            &whole,
            "malformed-request",
            says("64 hexadecimal digits", "path", "Correct what"),
        ),
        raw(
            "no key",
            post.clone(),
            &bob,
            &[key, ("authorization", "")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "another header",
            post.clone(),
            &bob,
            &[key, ("authorization", ""), ("x-api-key", "trefoil_x")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "basic",
            post.clone(),
            &bob,
            &[key, ("authorization", "Basic eDp5")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "unknown key",
            post.clone(),
            &bob,
            &[key, ("authorization", "Bearer trefoil_00")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "trefoil admin api-key list"),
        ),
        raw(
            "unknown subject",
            delete,
            &bob,
            &[],
            "",
            "subject-unknown",
            says("subject", "path", "enrol it first"),
        ),
        raw(
            "enrolled already",
            post.clone(),
            &ann,
            &[("idempotency-key", "other")],
            &whole,
            "template-exists",
            says("active template", "DELETE on this path", "delete it to enrol again"),
        ),
        raw(
            "unknown seal",
            get.clone(),
            "/v1/seals/99999",
            &[],
            "",
            "seal-unknown",
            says("no seal has this number", "seal", "GET /v1/log/head"),
        ),
        raw(
            "seal by name",
            get.clone(),
            "/v1/seals/last",
            &[],
            "",
            "malformed-request",
            says("whole number", "seal", "Correct what"),
        ),
        raw(
            "unknown trust root",
            get.clone(),
            "/v1/keys/9",
            &[],
            "",
            "trust-root-unknown",
            says("newest version is 1", "trust root", "from 1 to the newest"),
        ),
        raw(
            "no proof",
            post.clone(),
            "/v1/proof-sessions",
            &[("content-type", "application/octet-stream")],
            "x",
            "proof-rejected",
            says("shorter", "bytes", "Make a new proof with the wallet"),
        ),
        login(
            "clock behind",
            "issued_at",
            an_hour_ago,
            "request-not-fresh",
            says("the service's clock", "/issued_at", "set the clock"),
        ),
        login(
            "clock ahead",
            "issued_at",
            in_an_hour,
            "request-not-fresh",
            says("the service's clock", "/issued_at", "set the clock"),
        ),
        login(
            "time in words",
            "issued_at",
            json!("2026-11-20T09:47:40Z"),
            "field-invalid",
            says("string", "/issued_at", "expected a whole number"),
        ),
        login(
            "another audience",
            "audience",
            json!("evil.example"),
            "audience-not-allowed",
            says("allows the audiences", service::AUDIENCE, "use one of them"),
        ),
        login(
            "nonce too short",
            "nonce",
            json!("00"),
            "field-invalid",
            says("expected 32 to 128 hexadecimal digits", "/nonce", "Correct the fields"),
        ),
        login(
            "wrong MAC",
            "mac",
            json!("00".repeat(32)),
            "request-mac-invalid",
            says("mac", "session's key", "Compute the MAC over exactly"),
        ),
        login(
            "unknown session",
            "session_id",
            json!("00".repeat(32)),
            "session-unknown",
            says("session", "POST /v1/proof-sessions", "open a proof session first"),
        ),
        login(
            "session is no id",
            "session_id",
            json!("x"),
            "field-invalid",
            says("got 1 characters", "/session_id", "expected 64 hexadecimal digits"),
        ),
        login(
            "another form",
            "attestation",
            json!("short"),
            "field-invalid",
            says("`short`", "/attestation", "`compact`"),
        ),
        login(
            "probe of 127",
            "embedding",
            numbers(127),
            "field-invalid",
            says("length 127", "/embedding", "128 numbers"),
        ),
    ];
    let mut wrong = Vec::new();
    let on_public = calls.len();
    for call in calls {
        let reply = service.public.send(call.method, &call.path, &call.headers, call.body).await;
        check(call.mistake, &reply, call.code, &call.answer, &mut wrong);
    }

    let tenant_of = |policy: Value| json!({"name": "x", "policy": policy});
    let changed = |field: &str, value: Value| {
        let mut policy = service::policy();
        policy[field] = value;
        tenant_of(policy)
    };
    let admin_calls: Vec<(&str, &str, Value, &str, Answer<'_>)> = vec![
        (
            "a number for a threshold",
            "/v1/tenants",
            changed("threshold", json!(0.4)),
            "field-invalid",
            says("", "/policy/threshold", "Correct the fields"),
        ),
        (
            "unknown class",
            "/v1/tenants",
            changed("threshold", json!({"fmr_class": 9})),
            "field-invalid",
            says("no calibration", "/policy/threshold", "known are"),
        ),
        (
            "no audience",
            "/v1/tenants",
            changed("audiences", json!([])),
            "field-invalid",
            says("audiences", "/policy/audiences", "expected 1 to"),
        ),
        (
            "a long life",
            "/v1/tenants",
            changed("attestation_lifetime_s", json!(3600)),
            "field-invalid",
            says("1 to 120 seconds", "/policy/attestation_lifetime_s", "Correct the fields"),
        ),
        (
            "unknown scope",
            keys.as_str(),
            json!({"scopes": ["all"]}),
            "field-invalid",
            says("`all`", "/scopes/0", "`enrol`"),
        ),
        (
            "expired from the start",
            keys.as_str(),
            json!({"scopes": ["enrol"], "expires_at": 1}),
            "field-invalid",
            says("is over", "/expires_at", "the service's clock says"),
        ),
        (
            "login here",
            "/v1/authentications",
            json!({}),
            "route-unknown",
            says("no such path", "public listener", "Correct the path and the listener"),
        ),
    ];
    let on_admin = admin_calls.len();
    for (mistake, path, body, code, answer) in admin_calls {
        check(mistake, &service.admin.post(path, &body).await, code, &answer, &mut wrong);
    }
    let missing = service.admin.get(&format!("/v1/tenants/{}", "00".repeat(16))).await;
    check(
        "unknown tenant",
        &missing,
        "tenant-unknown",
        &says("tenant", "identifier", "trefoil admin tenant list"),
        &mut wrong,
    );
    let stranger = service.admin.with_bearer("x").get("/v1/tenants").await;
    check(
        "wrong token",
        &stranger,
        "caller-unauthenticated",
        &says("token", "admin.token", "Bearer"),
        &mut wrong,
    );
    let narrow = service.public.with_bearer(&service.api_key(&["authenticate"]).await);
    let refused = narrow.send(Method::POST, &bob, &[key], whole.clone()).await;
    check(
        "scope missing",
        &refused,
        "scope-missing",
        &says("scope `enrol`", "API key", "api-key create --scope"),
        &mut wrong,
    );
    let short_lived = json!({"scopes": ["enrol"], "expires_at": service.clock.unix_s() + 5});
    let short_lived =
        service.admin.post(&keys, &short_lived).await.json()["api_key"].as_str().unwrap().to_owned();
    service.clock.advance(6);
    let refused =
        service.public.with_bearer(&short_lived).send(Method::POST, &bob, &[key], whole.clone()).await;
    check(
        "expired key",
        &refused,
        "caller-unauthenticated",
        &says("API key", "Authorization", "trefoil admin api-key list"),
        &mut wrong,
    );
    let disabled = service.admin.post(&format!("/v1/tenants/{tenant}/disable"), &json!({})).await;
    assert_eq!(disabled.status, 200);
    let refused = service.public.send(Method::POST, &bob, &[key], whole).await;
    check(
        "disabled tenant",
        &refused,
        "tenant-disabled",
        &says("disabled", "tenant", "trefoil admin tenant enable"),
        &mut wrong,
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((on_public, on_admin + 5), (47, 12));
    assert!(service.server.shutdown().await);
}

fn check(
    mistake: &str,
    reply: &crate::http::Reply,
    code: &str,
    answer: &Answer<'_>,
    wrong: &mut Vec<String>,
) {
    let text = reply.text();
    if serde_json::from_str::<Value>(text).is_ok_and(|problem| problem["code"] == code) {
        // A JSON text as a person reads it.
        answer.check(mistake, &text.replace("\\\"", "\""), wrong);
    } else {
        wrong.push(format!("{mistake}: not {code}: {text}"));
    }
}
