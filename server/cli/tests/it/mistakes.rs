//! Ordinary mistakes of an operator and of an application engineer. Each error names what is wrong, the place, and the next step, in
//! our own words.

mod calls;
mod commands;
mod key_holders;

use crate::program::Program;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the error of a mistake must contain.
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
        // Names from our code and its libraries mean nothing to a reader.
        let text = text.replace("[::1]", "");
        for foreign in ["::", "struct ", "enum ", "variant index", "panicked", "Err(", "Some(", "called `"] {
            if text.contains(foreign) {
                wrong.push(format!("{mistake}: `{foreign}` in: {text}"));
            }
        }
    }
}

/// A folder with the files that mistakes need.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
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
        // If a mistake goes unnoticed, a service may start.
        let output = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_trefoil")])
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

/// Wrong configurations: the service does not start, whatever else is there.
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
        &["demo", "--people", "1"],
        &[("TREFOIL_SERVER_LISTN", "127.0.0.1:1")],
        says("names no setting", "TREFOIL_SERVER_LISTN", "did you mean TREFOIL_SERVER_LISTEN?"),
    ),
    (
        &["wallet", "show", "--wallet", "none.wallet"],
        &[("TREFOIL_KEY_HOLDER_SERVR_LISTEN", "127.0.0.1:1")],
        says(
            "names no setting",
            "TREFOIL_KEY_HOLDER_SERVR_LISTEN",
            "did you mean TREFOIL_KEY_HOLDER_SERVER_LISTEN?",
        ),
    ),
    (
        &["serve"],
        &[("TREFOIL_PROOFS_CACHE_SAMPLING", "48")],
        says("power of two from 1 to 64", "proofs.cache_sampling", "set by TREFOIL_PROOFS_CACHE_SAMPLING"),
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
        &[("TREFOIL_LOG_FILTER", "inof")],
        says("`inof` is no level", "log.filter", "for a module write NAME=LEVEL"),
    ),
    (
        &["serve"],
        &[("TREFOIL_LISTEN", "127.0.0.1:1")],
        says("names no setting", "TREFOIL_LISTEN", "did you mean TREFOIL_SERVER_LISTEN?"),
    ),
    (
        &["serve", "--data-dir", "broken.toml", "--listen", "127.0.0.1:0"],
        &[],
        says("is a file, not a directory", "broken.toml", "name the directory"),
    ),
    (
        &["backup", "--data-dir", "never-made", "b"],
        &[],
        says("is no data directory", "never-made", "--data-dir"),
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
    (&["serve", "--config", "key.toml"], &[], says("`lisen`", "key.toml", "did you mean `server.listen`?")),
    (
        &["serve", "--config", "type.toml"],
        &[],
        says("is string, expected integer", "`pipeline.workers`", "trefoil serve --print-defaults"),
    ),
    (&["serve", "--config", "word.toml"], &[], says("unknown value", "cadence", "`group` or `per-batch`")),
    (
        &["doctor", "--data-dir", "never-made"],
        &[],
        says("there is no installation", "never-made", "trefoil serve"),
    ),
];

/// Claim I26: Mistakes of a configuration get an error with fault, place and next step.
#[test]
fn a_configuration_that_is_wrong_says_what_where_and_what_to_do() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    folder.file("broken.toml", "[server\nlisten = 1");
    folder.file("section.toml", "[servr]\nlisten = \"127.0.0.1:1\"");
    folder.file("key.toml", "[server]\nlisen = \"127.0.0.1:1\"");
    folder.file("type.toml", "[pipeline]\nworkers = \"2\"");
    folder.file("word.toml", "[pipeline]\ncadence = \"often\"");
    let mut wrong = Vec::new();
    for (line, variables, answer) in CONFIGURATION {
        answer.check(&format!("{line:?} {variables:?}"), &folder.said(line, variables), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CONFIGURATION.len(), 40);
}

/// Somebody who finds keys takes the installation for complete.
#[test]
fn a_first_start_that_finds_a_port_taken_or_no_database_makes_no_keys() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    let (taken, free) = (TcpListener::bind("127.0.0.1:0").unwrap(), "127.0.0.1:0");
    let taken = taken.local_addr().unwrap().to_string();
    let nobody = crate::key_holder_process::listen();
    let database = format!("postgres://trefoil@{nobody}/trefoil?sslmode=disable");
    let data = folder.path("data");
    let mut wrong = Vec::new();
    for (public, admin, store, (thing, place)) in [
        (taken.as_str(), free, "", ("cannot listen", &taken)),
        (free, taken.as_str(), "", ("cannot listen", &taken)),
        (free, free, database.as_str(), ("refused", &nobody)),
    ] {
        let line =
            ["serve", "--data-dir", "data", "--listen", public, "--admin-listen", admin, "--store", store];
        let said = folder.said(&line[..if store.is_empty() { 7 } else { 9 }], &[]);
        says(thing, place, "No keys were made in data: correct this").check(thing, &said, &mut wrong);
        let made = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name());
        let kept = ["lock", "installation.toml", ".gitignore"];
        let made: Vec<_> = made.filter(|name| !kept.iter().any(|kept| name == kept)).collect();
        assert!(made.is_empty(), "{line:?} left {made:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(Program::start(&data, Stdio::null(), &[]).terminate().code(), Some(0));
}

/// Arguments of `trefoil serve` with a damaged data directory.
fn spoiled(folder: &Folder, name: &str, spoil: impl FnOnce(&Path)) -> String {
    let (whole, data) = (folder.path("data"), folder.path(name));
    assert!(Command::new("cp").arg("-a").args([&whole, &data]).status().unwrap().success());
    spoil(&data);
    let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    folder.said(&[&["serve", "--data-dir", data.to_str().unwrap()], &listen[..]].concat(), &[])
}

#[test]
fn an_installation_that_does_not_start_says_what_where_and_what_to_do() {
    let folder = Folder { folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&folder.path("data"), Stdio::null(), &[]);
    assert_eq!(program.terminate().code(), Some(0));
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut answers = |mistake: &str, said: String, answer: Answer<'_>| {
        answer.check(mistake, &said, &mut wrong);
        count += 1;
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let data = folder.text("data");
    let serve = ["serve", "--data-dir", &data];
    let free = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let with = |variables: &[(&str, &str)]| folder.said(&[&serve[..], &free].concat(), variables);
    let [shop, shop_key] = folder.certificate("shop.example");
    let [_, other_key] = folder.certificate("other.example");
    let no_pem = folder.file("no.pem", "x");

    let listen = ["--listen", &taken, "--admin-listen", "127.0.0.1:0"];
    let said = folder.said(&[&serve[..], &listen].concat(), &[]);
    answers("port taken", said, says("cannot listen", &taken, "is another process using it?"));
    let foreign = ["--listen", "203.0.113.9:7001", "--admin-listen", "127.0.0.1:0"];
    let said = folder.said(&[&serve[..], &foreign].concat(), &[]);
    answers("no such address", said, says("has no such address", "203.0.113.9:7001", "give one of its own"));
    let said = folder.said(&[&["serve", "--data-dir", "/dev/null/x"][..], &free].concat(), &[]);
    answers("no directory", said, says("cannot create the directory", "/dev/null/x", "check the path"));
    let said = spoiled(&folder, "open", |data| {
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o755)).unwrap();
    });
    answers("directory open to all", said, says("readable by others", "open", "chmod go="));
    let said = spoiled(&folder, "token", |data| {
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(data.join("admin.token"), mode).unwrap();
    });
    answers("token open to all", said, says("readable by others", "admin.token", "chmod go="));
    let said = spoiled(&folder, "vault", |data| std::fs::remove_file(data.join("vault.sqlite")).unwrap());
    answers("vault gone", said, says("is missing", "vault.sqlite", "one backup"));
    let said = spoiled(&folder, "store", |data| std::fs::remove_file(data.join("store.sqlite")).unwrap());
    answers("store gone", said, says("is missing", "store.sqlite", "one backup"));
    let said = spoiled(&folder, "pepper", |data| std::fs::write(data.join("pepper.key"), [7; 32]).unwrap());
    answers("another pepper", said, says("not the file that was made", "pepper.key", "one backup"));
    let said =
        spoiled(&folder, "tls", |data| std::fs::remove_file(data.join("tls-private-key.pem")).unwrap());
    answers("TLS key gone", said, says("is missing", "tls-private-key.pem", "one backup"));
    let said =
        spoiled(&folder, "damaged", |data| std::fs::write(data.join("store.sqlite"), [7; 9000]).unwrap());
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
    answers("no certificate in it", said, says("there is no certificate in it", &no_pem, "PEM chain"));
    let said = pair(&shop, &other_key);
    answers("another certificate's key", said, says("is not the key of", &other_key, "set tls.private_key"));
    let said = with(&[("TREFOIL_SERVER_ISSUER", "https://other.example")]);
    answers(
        "another issuer",
        said,
        says(
            "the trust root is of issuer https://127.0.0.1",
            "set server.issuer to",
            "If nothing was signed yet",
        ),
    );
    let said = with(&[("TREFOIL_KEYS_PASSPHRASE_FILE", "/nowhere/words")]);
    answers("passphrase file missing", said, says("cannot read", "/nowhere/words", "check the path"));
    let running = Program::start(&folder.path("data"), Stdio::null(), &[]);
    let said = with(&[]);
    answers("started twice", said, says("used by another trefoil process", &data, "stop that one"));
    drop(running);
    let said = folder.said(&["keys", "show", "--data-dir", "nowhere"], &[]);
    answers("keys of nothing", said, says("there is no directory", "nowhere", "--data-dir"));
    let words = folder.file("words", "correct horse battery");
    std::fs::set_permissions(&words, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = folder.said(&["backup", "--data-dir", &data, "b", "--passphrase-file", &words], &[]);
    answers("passphrase open to all", said, says("readable by others", &words, "chmod go="));
    let said = folder.said(&["backup", "--data-dir", &data, "b"], &[("TREFOIL_BACKUP_PASSPHRASE", "short")]);
    answers("short passphrase", said, says("passphrase", "backup", "at least"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 20);
}
