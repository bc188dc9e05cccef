//! The files in `scripts/deploy`: units start what they say, and alerts name metrics that exist.

use crate::exposition::Whole;
use crate::http::tls;
use crate::systemd::{Unit, copy, socket};
use crate::world::*;
use std::collections::BTreeSet;
use std::net::TcpListener;
use trefoil_postgres::{CONNECTIONS_BESIDE, CONNECTIONS_OF_A_NODE};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/deploy")
}

pub(crate) fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// The value of the one line `key=` of a unit.
fn value(unit: &str, key: &str) -> String {
    let text = read(&format!("systemd/{unit}"));
    let mut values = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let value = values.next().unwrap_or_else(|| panic!("{unit} has no {key}"));
    assert_eq!(values.next(), None, "{unit}: {key}");
    value.to_owned()
}

/// The arguments of a unit's program, with the configuration of this folder and another data directory.
fn arguments(unit: &str, data: &Path) -> Vec<String> {
    let line = value(unit, "ExecStart");
    let line = line.strip_prefix("/usr/bin/trefoil ").unwrap_or_else(|| panic!("{unit}: {line}"));
    let place = format!("{}/", folder().display());
    let mut arguments: Vec<String> =
        line.split(' ').map(|word| word.replace("/etc/trefoil/", &place)).collect();
    arguments.extend(["--data-dir".to_owned(), data.to_str().unwrap().to_owned()]);
    arguments
}

fn borrowed(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// The setting of a sample configuration.
fn setting(file: &str, key: &str) -> String {
    let text = read(file);
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    line.unwrap_or_else(|| panic!("{file} has no {key}")).trim_matches('"').to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_units_start_the_service_with_the_sample_configuration_and_its_credential() {
    let directory = tempfile::tempdir().unwrap();
    let (data, credentials) = (directory.path().join("data"), directory.path().join("credentials"));
    let credential = value("trefoil.service", "LoadCredential");
    let (name, source) = credential.split_once(':').unwrap();
    assert!(source.starts_with("/etc/trefoil/"), "{source}");
    std::fs::create_dir(&credentials).unwrap();
    std::fs::write(credentials.join(name), "the passphrase of this test\n").unwrap();
    let sockets = ["trefoil-public.socket", "trefoil-admin.socket"];
    assert_eq!(value("trefoil.service", "Requires"), sockets.join(" "));
    for (unit, key) in sockets.into_iter().zip(["listen", "admin_listen"]) {
        assert_eq!(value(unit, "ListenStream"), setting("trefoil.toml", key), "{unit}");
        assert_eq!(value(unit, "Service"), "trefoil.service");
    }
    let names = sockets.map(|unit| value(unit, "FileDescriptorName")).join(":");
    let (public, admin) = (socket(), socket());
    let arguments = arguments("trefoil.service", &data);
    as_the_page_says("keys init", &data, Some(&credentials)).done();
    let unit = Unit::start_with(
        directory.path(),
        vec![copy(&public), copy(&admin)],
        &names,
        &borrowed(&arguments),
        &[("CREDENTIALS_DIRECTORY", &credentials)],
    );
    unit.says("READY=1");
    unit.says("WATCHDOG=1");
    let tls = tls(&data.join("tls-certificate.pem"));
    let endpoint = Endpoint { address: public.local_addr().unwrap(), tls, bearer: None };
    endpoint.get("/v1/fhe/parameters").await.is(200);
    let root = std::fs::read_to_string(data.join("trust-root.json")).unwrap();
    assert!(root.contains(&setting("trefoil.toml", "public_url")), "{root}");
    assert_eq!(unit.terminate().code(), Some(0));
    keys_are_rotated_as_the_page_says(&data, &credential, &credentials);
    // The keys stand under the credential, so no passphrase was generated beside them.
    let generated = std::fs::read_dir(&data).unwrap().filter_map(Result::ok).map(|file| file.file_name());
    let generated: Vec<_> = generated.filter(|name| name.to_string_lossy().contains("passphrase")).collect();
    assert!(generated.is_empty(), "{generated:?}");
}

/// The command line of `systemd-run` in README.md has options that exist, the user and the credential of the unit, and a command that opens the
/// keys with the credential and not without it.
fn keys_are_rotated_as_the_page_says(data: &Path, credential: &str, credentials: &Path) {
    let page = read("README.md");
    let line = page.lines().find(|line| line.starts_with("systemd-run ")).unwrap();
    let (manager, _) = line.split_once(" /usr/bin/trefoil ").unwrap();
    let options: Vec<&str> = manager.split(' ').skip(1).collect();
    if let Ok(help) = Command::new("systemd-run").arg("--help").output() {
        let help = help.out();
        for option in &options {
            let name = option.split('=').next().unwrap();
            assert!(
                help.split([' ', '=', '\n']).any(|word| word == name),
                "systemd-run has no {name}: {help}"
            );
        }
    }
    for option in [
        format!("--uid={}", value("trefoil.service", "User")),
        format!("--gid={}", value("trefoil.service", "Group")),
        format!("--property=UMask={}", value("trefoil.service", "UMask")),
        format!("--property=LoadCredential={credential}"),
    ] {
        assert!(options.contains(&option.as_str()), "{line} lacks {option}");
    }
    for (credentials, code) in [(None, 1), (Some(credentials), 0)] {
        let output = as_the_page_says("keys rotate", data, credentials);
        assert_eq!(output.status.code(), Some(code), "{}", output.err());
    }
}

/// What the line of `systemd-run` in README.md runs, with another command of `keys`.
fn as_the_page_says(keys: &str, data: &Path, credentials: Option<&Path>) -> Output {
    let page = read("README.md");
    let line = page.lines().find(|line| line.starts_with("systemd-run ")).unwrap();
    let (_, command) = line.split_once(" /usr/bin/trefoil ").unwrap();
    let (command, place) = (command.replace("keys rotate", keys), format!("{}/", folder().display()));
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    program.args(command.split(' ').map(|word| word.replace("/etc/trefoil/", &place)));
    program.arg("--data-dir").arg(data).env_remove("CREDENTIALS_DIRECTORY");
    program.envs(credentials.map(|credentials| ("CREDENTIALS_DIRECTORY", credentials))).output().unwrap()
}

#[test]
fn the_unit_starts_the_key_holder_with_the_sample_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys");
    let socket = TcpListener::bind(listen()).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    KeyHolder::init(&keys, &directory.path().join("gateway"), &address);
    let name = value("trefoil-key-holder.socket", "FileDescriptorName");
    let configured = setting("key-holder.toml", "listen");
    assert_eq!(value("trefoil-key-holder.socket", "ListenStream"), configured);
    let arguments = arguments("trefoil-key-holder.service", &keys);
    let unit = Unit::start(directory.path(), vec![copy(&socket)], &name, &borrowed(&arguments));
    unit.says("READY=1");
    unit.says("WATCHDOG=1");
    assert_eq!(unit.terminate().code(), Some(0));
}

/// Names of metrics in a text.
pub(crate) fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("trefoil_") || word.starts_with("process_")).collect()
}

/// Where queries stand that name no metric of ours: its own of Prometheus.
const OF_PROMETHEUS: [&str; 1] = ["TrefoilAway"];

/// Where queries stand whose metric is shown only where callers need certificates, or by a node of a fleet. Their tests are among those of
/// `client_certificates` and of `fleet`.
const ELSEWHERE: [&str; 2] = ["TrefoilClientCaEnds", "TrefoilNewsLate"];

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_alerts_is_on_the_page() {
    let whole = Whole::start().await;
    let page = whole.page().await;
    let samples: String = page.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let shown: BTreeSet<&str> = samples.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let rules = read("prometheus/alerts.yml");
    let all: Vec<(&str, &str)> = rules
        .split("- alert: ")
        .skip(1)
        .map(|rule| {
            let query = rule.lines().find_map(|line| line.trim().strip_prefix("expr: ")).unwrap();
            (rule.lines().next().unwrap(), query)
        })
        .collect();
    assert!(all.len() >= 20, "{all:?}");
    for (place, query) in &all {
        let named = names(query);
        assert_eq!(named.is_empty(), OF_PROMETHEUS.contains(place), "{place}: {query}");
        let missing: Vec<_> = named.difference(&shown).collect();
        let optional = ELSEWHERE.contains(place);
        assert_eq!(
            !missing.is_empty(),
            optional,
            "{place} names metrics that the service does not show: {missing:?}"
        );
    }
    // Plausible Unix times, at most 400 days ahead.
    let year = trefoil_host::unix_s() as f64 + 400.0 * 86_400.0;
    for name in ["trefoil_tls_certificate", "trefoil_signing_keys"] {
        let name = format!("{name}_expiry_timestamp_seconds ");
        let line = samples.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
        let until: f64 = line.parse().unwrap();
        assert!(until > 1.7e9 && until < year, "{name}{line}");
    }
    assert_eq!(whole.program.terminate().code(), Some(0));
}

/// What follows a word in the script, up to the next character that is no digit.
fn number_after(word: &str) -> usize {
    let script = read("fleet/fleet");
    let rest = script.split(word).nth(1).unwrap_or_else(|| panic!("no {word}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|cause| panic!("{word}: {cause}"))
}

#[test]
fn the_sample_fleet_has_as_many_connections_to_the_database_as_its_nodes_take() {
    let workers = number_after("\"$workers\" -le ");
    let limit = number_after("CONNECTION LIMIT ");
    assert!(3 * (workers + CONNECTIONS_OF_A_NODE) + CONNECTIONS_BESIDE <= limit, "{workers}, {limit}");
    // The default of PostgreSQL, which keeps three for its superuser.
    assert!(limit + CONNECTIONS_BESIDE + 3 <= 100, "{limit}");
}
