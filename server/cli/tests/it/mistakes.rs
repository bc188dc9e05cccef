//! Ordinary mistakes of an operator and of an application engineer. Each error names what is wrong, the place, and the next step, in
//! our own words.

mod calls;
mod commands;
mod key_holders;

use crate::world::*;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

/// Collects what an error lacks of its `thing that is wrong | place where it is | next step`.
fn check(mistake: &str, text: &str, answer: &str, wrong: &mut Vec<String>) {
    let [thing, place, next] = columns(answer);
    let parts = [("thing", thing), ("place", place), ("next step", next)];
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

/// The columns of a row of a table of mistakes.
fn columns<const COUNT: usize>(row: &str) -> [&str; COUNT] {
    let columns: Vec<&str> = row.splitn(COUNT, " | ").collect();
    columns.try_into().unwrap_or_else(|_| panic!("not {COUNT} columns: {row}"))
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
        let said = output.text();
        assert!(!output.status.success(), "{line:?} {variables:?} succeeded: {said}");
        said
    }
}

/// Wrong configurations: the service does not start, whatever else is there. The command, its variable, and what the error names.
const CONFIGURATION: &str = "\
serve --listen localhost:8443 | - | not an IP address with a port | --listen | write it as 127.0.0.1:8443
serve --admin-listen 127.0.0.1 | - | not an IP address with a port | --admin-listen | write it as 127.0.0.1:8443
serve --listen 127.0.0.1:99999 | - | 127.0.0.1:99999 | --listen | write it as 127.0.0.1:8443
serve --listen 127.0.0.1:7001 --admin-listen 127.0.0.1:7001 | - | need different addresses | server.admin_listen | different
serve --listen 0.0.0.0:8443 --data-dir nothing-yet | - | 0.0.0.0:8443 names no machine | server.public_url | --public-url https://auth.example:8443
serve --public-url http://auth.example | - | does not begin with https:// | --public-url | write it as https://auth.example
serve --public-url https://auth.example/login | - | without a path | --public-url | write it as https://auth.example
serve --workers 5000 | - | 5000 is not between 0 and 1024 | pipeline.workers | set by --workers
serve --worker 2 | - | --worker | unexpected argument | --workers
srve | - | srve | unrecognized subcommand | serve
serve --cadence often | - | often | --cadence | possible values: group, per-batch
serve | TREFOIL_SERVR_LISTEN=127.0.0.1:1 | names no setting | TREFOIL_SERVR_LISTEN | did you mean TREFOIL_SERVER_LISTEN?
serve | TREFOIL_SERVER_LISTN=127.0.0.1:1 | names no setting | TREFOIL_SERVER_LISTN | did you mean TREFOIL_SERVER_LISTEN?
serve | TREFOIL_DATA_DIR=/x | names no setting | TREFOIL_DATA_DIR | did you mean TREFOIL_SERVER_DATA_DIR?
key-holder | TREFOIL_KEY_HOLDER_SERVR_LISTEN=127.0.0.1:1 | names no setting | TREFOIL_KEY_HOLDER_SERVR_LISTEN | did you mean TREFOIL_KEY_HOLDER_SERVER_LISTEN?
keys rotate | TREFOIL_KEYS_PASPHRASE_FILE=x | names no setting | TREFOIL_KEYS_PASPHRASE_FILE | did you mean TREFOIL_KEYS_PASSPHRASE_FILE?
demo --people 1 | TREFOIL_SERVER_LISTN=127.0.0.1:1 | names no setting | TREFOIL_SERVER_LISTN | did you mean TREFOIL_SERVER_LISTEN?
wallet show --wallet none.wallet | TREFOIL_KEY_HOLDER_SERVR_LISTEN=127.0.0.1:1 | names no setting | TREFOIL_KEY_HOLDER_SERVR_LISTEN | did you mean TREFOIL_KEY_HOLDER_SERVER_LISTEN?
serve | TREFOIL_PROOFS_CACHE_SAMPLING=48 | power of two from 1 to 64 | proofs.cache_sampling | set by TREFOIL_PROOFS_CACHE_SAMPLING
admin tenant list | TREFOIL_SERVER_ADMIN_LISTN=127.0.0.1:1 | names no setting | TREFOIL_SERVER_ADMIN_LISTN | did you mean TREFOIL_SERVER_ADMIN_LISTEN?
serve | TREFOIL_LIMITS_LATENCY_AIM_MS=1s | `1s` is not a whole number | TREFOIL_LIMITS_LATENCY_AIM_MS | such as 1000
serve | TREFOIL_LIMITS_ANSWER_TIMEOUT_S=90 | 90 is not between 1 and 60 | limits.answer_timeout_s | set by TREFOIL_LIMITS_ANSWER_TIMEOUT_S
serve | TREFOIL_SERVER_PROTECT_MEMORY=yes | `yes` | TREFOIL_SERVER_PROTECT_MEMORY | neither true nor false
serve | TREFOIL_SERVER_LISTEN=here | `here` | TREFOIL_SERVER_LISTEN | write it as 127.0.0.1:8443
serve | TREFOIL_LOG_FILTER=info,=, | is not a filter | log.filter | trefoil_server=debug,warn
serve | TREFOIL_LOG_FILTER=inof | `inof` is no level | log.filter | for a module write NAME=LEVEL
serve | TREFOIL_LISTEN=127.0.0.1:1 | names no setting | TREFOIL_LISTEN | did you mean TREFOIL_SERVER_LISTEN?
serve --data-dir broken.toml --listen 127.0.0.1:0 | - | is a file, not a directory | broken.toml | name the directory
backup --data-dir never-made b | - | is no data directory | never-made | --data-dir
serve | TREFOIL_PROOFS_CIRCUITS=cred/9 | list one or more of | proofs.circuits | cred/2
serve --key-holder 127.0.0.1:7443 | - | tls://HOST:PORT#FINGERPRINT | keyholder.url | set by --key-holder
serve | TREFOIL_RETENTION_OLD_SEALS=archive | archive | retention.archive_dir | set it
serve | TREFOIL_TLS_CERTIFICATE=/nowhere/c.pem | tls.private_key | tls.certificate | set both
serve --config missing.toml | - | No such file | configuration file missing.toml | check the path given with --config
serve --config broken.toml | - | this is not TOML | broken.toml | trefoil serve --print-defaults
serve --config section.toml | - | `servr` | section.toml | did you mean [server]?
serve --config key.toml | - | `lisen` | key.toml | did you mean `server.listen`?
serve --config type.toml | - | is string, expected integer | `pipeline.workers` | trefoil serve --print-defaults
serve --config word.toml | - | unknown value | cadence | `group` or `per-batch`
doctor --data-dir never-made | - | there is no installation | never-made | trefoil serve";

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
    for mistake in CONFIGURATION.lines() {
        let [line, variable, answer] = columns(mistake);
        let line: Vec<&str> = line.split(' ').collect();
        check(mistake, &folder.said(&line, variable.split_once('=').as_slice()), answer, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(CONFIGURATION.lines().count(), 40);
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
    for (public, admin, store, why) in [
        (taken.as_str(), free, "", format!("cannot listen | {taken}")),
        (free, taken.as_str(), "", format!("cannot listen | {taken}")),
        (free, free, database.as_str(), format!("refused | {nobody}")),
    ] {
        let line =
            ["serve", "--data-dir", "data", "--listen", public, "--admin-listen", admin, "--store", store];
        let said = folder.said(&line[..if store.is_empty() { 7 } else { 9 }], &[]);
        check(&why, &said, &format!("{why} | No keys were made in data: correct this"), &mut wrong);
        let made = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name());
        let kept = ["lock", "installation.toml", ".gitignore", "disk.reserve"];
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
    let mut answers = |row: &str, said: String| {
        let [mistake, answer] = columns(row);
        check(mistake, &said, answer, &mut wrong);
        count += 1;
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let data = folder.text("data");
    let run =
        |line: &str, variables: &[(&str, &str)]| folder.said(&line.split(' ').collect::<Vec<_>>(), variables);
    let at = |data: &str, listen: &str| {
        format!("serve --data-dir {data} --listen {listen} --admin-listen 127.0.0.1:0")
    };
    let serve = at(&data, "127.0.0.1:0");
    let row = format!("port taken | cannot listen | {taken} | is another process using it?");
    answers(&row, run(&at(&data, &taken.to_string()), &[]));
    let row = "no such address | has no such address | 203.0.113.9:7001 | give one of its own";
    answers(row, run(&at(&data, "203.0.113.9:7001"), &[]));
    let row = "no directory | cannot create the directory | /dev/null/x | check the path";
    answers(row, run(&at("/dev/null/x", "127.0.0.1:0"), &[]));
    let mode =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let gone = |name: &str| {
        let row = format!("{name} gone | is missing | {name} | one backup");
        (row, spoiled(&folder, &name[..5], |data| std::fs::remove_file(data.join(name)).unwrap()))
    };
    let other = |name: &str, bytes: &[u8]| {
        spoiled(&folder, &name[..3], |data| std::fs::write(data.join(name), bytes).unwrap())
    };
    for name in ["vault.sqlite", "store.sqlite", "tls-private-key.pem"] {
        let (row, said) = gone(name);
        answers(&row, said);
    }
    let row = "directory open to all | readable by others | open | chmod go=";
    answers(row, spoiled(&folder, "open", |data| mode(data, 0o755)));
    let row = "token open to all | readable by others | admin.token | chmod go=";
    answers(row, spoiled(&folder, "token", |data| mode(&data.join("admin.token"), 0o644)));
    let row = "another pepper | not the file that was made | pepper.key | one backup";
    answers(row, other("pepper.key", &[7; 32]));
    let row = "damaged store | damaged | store.sqlite | newest backup";
    answers(row, other("store.sqlite", &[7; 9000]));

    let [shop, shop_key] = folder.certificate("shop.example");
    let [_, other_key] = folder.certificate("other.example");
    let no_pem = folder.file("no.pem", "x");
    for (row, certificate, key) in [
        (
            "certificate missing | No such file | CERTIFICATE | tls.certificate takes a PEM chain",
            "/nowhere/c.pem",
            &*shop_key,
        ),
        ("its key missing | No such file | KEY | tls.private_key a PEM key", &shop, "/nowhere/k.pem"),
        (
            "no certificate in it | there is no certificate in it | CERTIFICATE | PEM chain",
            &no_pem,
            &shop_key,
        ),
        ("another certificate's key | is not the key of | KEY | set tls.private_key", &shop, &other_key),
    ] {
        let pair = [("TREFOIL_TLS_CERTIFICATE", certificate), ("TREFOIL_TLS_PRIVATE_KEY", key)];
        answers(&row.replace("CERTIFICATE", certificate).replace("KEY", key), run(&serve, &pair));
    }
    let row = "another issuer | the trust root is of issuer https://127.0.0.1 | set server.issuer to | If nothing was signed yet";
    answers(row, run(&serve, &[("TREFOIL_SERVER_ISSUER", "https://other.example")]));
    let row = "passphrase file missing | cannot read | /nowhere/words | check the path";
    answers(row, run(&serve, &[("TREFOIL_KEYS_PASSPHRASE_FILE", "/nowhere/words")]));
    let running = Program::start(&folder.path("data"), Stdio::null(), &[]);
    let row = format!("started twice | used by another trefoil process | {data} | stop that one");
    answers(&row, run(&serve, &[]));
    drop(running);
    let row = "keys of nothing | there is no directory | nowhere | --data-dir";
    answers(row, run("keys show --data-dir nowhere", &[]));
    let words = folder.file("words", "correct horse battery");
    mode(Path::new(&words), 0o644);
    let backup = format!("backup --data-dir {data} b");
    let row = format!("passphrase open to all | readable by others | {words} | chmod go=");
    answers(&row, run(&format!("{backup} --passphrase-file {words}"), &[]));
    let row = "short passphrase | passphrase | backup | at least";
    answers(row, run(&backup, &[("TREFOIL_BACKUP_PASSPHRASE", "short")]));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 20);
}
