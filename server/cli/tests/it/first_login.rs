//! The first login as the pages show it: `trefoil quickstart` and every line that it prints, and the lines of server/API.md.

use crate::world::*;
use std::cell::RefCell;
use trefoil_server::description;
use trefoil_server::openapi::Listener;

const PAGE: &str = include_str!("../../../API.md");
const README: &str = include_str!("../../../../README.md");
/// The page's placeholders for a reader's own values.
const TENANT: &str = "00112233445566778899aabbccddeeff";
const COMMITMENT: &str = "0a1b...";

/// A reader with a terminal beside a running service, whose data is in `trefoil-data`.
struct Reader {
    program: Program,
    directory: tempfile::TempDir,
    /// What was done and how long it took.
    took: RefCell<Vec<(String, Duration)>>,
}

/// Words of a page in a minute: slow, because the pages are technical.
const READ_A_MINUTE: f64 = 200.0;
/// The reader has a built program, and within this time a first login that was verified, with reading.
const FIRST_LOGIN: Duration = Duration::from_secs(300);

impl Reader {
    fn new() -> Reader {
        let directory = tempfile::tempdir().unwrap();
        let begin = Instant::now();
        let program = Program::start(&directory.path().join("trefoil-data"), Stdio::null(), &[]);
        let took = RefCell::new(vec![("trefoil serve".to_owned(), begin.elapsed())]);
        Reader { program, directory, took }
    }

    /// Runs a line as a shell does, with the program on its path and the service's addresses in its environment.
    fn shell(&self, line: &str) -> Output {
        let programs = Path::new(env!("CARGO_BIN_EXE_trefoil")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let run = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.directory.path())
            .env("PATH", path)
            .env("TREFOIL_SERVER_LISTEN", self.program.public.address.to_string())
            .env("TREFOIL_SERVER_ADMIN_LISTEN", self.program.admin.address.to_string())
            .output();
        run.unwrap()
    }

    /// Standard output of a line that succeeds; lines with `curl` need one of version 7.82 or later.
    #[track_caller]
    fn done(&self, line: &str) -> String {
        let begin = Instant::now();
        let output = self.shell(line);
        self.took.borrow_mut().push((line.to_owned(), begin.elapsed()));
        assert!(output.status.success(), "{line}\n{}", output.text());
        output.out()
    }

    /// Prints how long each line took so far, and how long it takes to read the section of README.md that has them and all that
    /// they `printed`. The sum is within the time that README.md promises.
    ///
    /// That is a requirement on the time of people, most of which they read, with a large margin for the machine. It is no measurement of
    /// the program.
    #[track_caller]
    fn took_under_five_minutes(&self, printed: &str) {
        let (_, section) = README.split_once("## Run the service").unwrap();
        let section = section.split_once("\n## ").unwrap().0;
        assert!(
            section.contains("under five minutes, with the time to read"),
            "README.md promises it: {section}"
        );
        let reading = |name: &str, text: &str| {
            let words = text.split_whitespace().count();
            assert!(words > 50, "{name} has {words} words");
            (format!("{words} words of {name}"), Duration::from_secs_f64(60.0 * words as f64 / READ_A_MINUTE))
        };
        let mut rows = self.took.borrow().clone();
        rows.push(reading("README.md, \"Run the service\"", section));
        rows.push(reading("output", printed));
        let sum: Duration = rows.iter().map(|(_, took)| *took).sum();
        rows.push(("in all".to_owned(), sum));
        // The end of a long line says what it is.
        let shown = |what: &str| match what.char_indices().rev().nth(79) {
            Some((at, _)) if at > 0 => {
                format!("{} ... {}", &what[..what.find(' ').unwrap_or(0)], &what[at..])
            }
            _ => what.to_owned(),
        };
        let rows =
            rows.iter().map(|(what, took)| format!("{:>7.1} s  {}\n", took.as_secs_f64(), shown(what)));
        let table: String = rows.collect();
        println!("{table}");
        assert!(sum < FIRST_LOGIN, "{table}");
    }
}

/// The lines that a quickstart printed, by what they begin with.
fn lines_of<'a>(printed: &'a str) -> impl Fn(&str) -> Vec<&'a str> {
    move |program| {
        let lines = printed.lines().filter_map(|line| line.strip_prefix("$ "));
        lines.filter(|line| line.starts_with(program)).collect()
    }
}

/// The commands that a section of README.md shows, with the program that is built.
fn of_the_readme() -> Vec<String> {
    let (_, section) = README.split_once("## Run the service").unwrap();
    let block = section.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    block.lines().map(|line| line.replace("cargo run --release -- ", "trefoil ")).collect()
}

/// Claim V36: The first login works as documented, line by line. From a built program it takes under five minutes, with the time to read at
/// 200 words a minute.
#[test]
fn quickstart_ends_in_a_verified_login_and_prints_lines_that_work() {
    let reader = Reader::new();
    let lines = of_the_readme();
    assert_eq!(lines, ["trefoil serve", "trefoil quickstart"]);
    let printed = reader.done(&lines[1]);
    let verified = printed.split_once("$ trefoil verify").unwrap().1;
    assert!(verified.matches('✓').count() == 3 && verified.contains("decision match"), "{printed}");
    let of = lines_of(&printed);
    assert_eq!((of("trefoil ").len(), of("curl ").len()), (16, 7), "{printed}");
    for line in of("curl ") {
        reader.done(line);
    }
    assert!(reader.done(of("trefoil verify")[0]).contains("decision match"));
    reader.took_under_five_minutes(&printed);
    // The tenants have the class at which strangers' faces read no template: of the command, and of curl.
    let (create, said) =
        printed.split_once("$ trefoil admin tenant create").unwrap().1.split_once('\n').unwrap();
    let tenant = said.split_whitespace().nth(1).unwrap();
    let flags = create.replace("quickstart --audience https://shop.example --embedder facenet-128", tenant);
    let shown: Value =
        serde_json::from_str(&reader.done(&format!("trefoil admin tenant show{flags} --json"))).unwrap();
    assert_eq!(shown["policy"]["threshold"]["fmr_class"], 4, "{shown}");
    assert!(of("curl ")[0].contains(r#""threshold": {"fmr_class": 4}"#), "{printed}");
    // Its files are readable by their owner only, and are not overwritten.
    let open = "find quickstart -perm /077 ! -name '*.credential' ! -name '*.json' ! -path '*/issuer/*'";
    assert_eq!(reader.done(open), "");
    reader.shell("trefoil quickstart").ends(1, "--directory");
}

/// Claim V36.
///
/// An application engineer's first login: no issuer, no wallet, and every call a line of curl.
#[test]
fn quickstart_without_proofs_ends_in_a_verified_login_and_prints_every_call_of_an_application() {
    let reader = Reader::new();
    let printed = reader.done("trefoil quickstart --proof none");
    let verified = printed.split_once("$ trefoil verify").unwrap().1;
    assert!(verified.matches('✓').count() == 3 && verified.contains("decision match"), "{printed}");
    assert!(verified.contains("proof    none") && verified.contains("no credential proof"), "{printed}");
    let of = lines_of(&printed);
    assert_eq!((of("trefoil ").len(), of("curl ").len()), (4, 8), "{printed}");
    // One line each enrols, authenticates and verifies; the others are what came before.
    for line in of("curl ") {
        reader.done(line);
    }
    assert!(reader.done(of("trefoil verify")[0]).contains("decision match"));
    reader.took_under_five_minutes(&printed);
    let login = of("curl ").into_iter().find(|line| line.ends_with("/v1/authentications")).unwrap();
    let again = reader.shell(login);
    assert!(again.out().contains("nonce-replayed"), "it has one nonce");
    assert!(!reader.directory.path().join("quickstart/passphrase").exists(), "nobody has a secret to keep");
}

#[test]
fn quickstart_without_a_service_says_how_to_start_one() {
    let reader = Reader::new();
    let refused = |line: &str| {
        let error = reader.shell(line).ends(1, "");
        assert!(!reader.directory.path().join("quickstart").exists(), "{line}: nothing was made");
        error
    };
    assert!(
        refused("trefoil quickstart --admin https://127.0.0.1:1").contains("start it with `trefoil serve`")
    );
    assert!(refused("trefoil quickstart --data-dir elsewhere").contains("trefoil serve"));
    std::fs::write(reader.directory.path().join("revoked"), "trefoil_admin_0\n").unwrap();
    let without_rights = refused("trefoil quickstart --admin-token-file revoked");
    assert!(without_rights.contains("the token in revoked is not accepted"), "{without_rights}");
}

/// Claim V36.
///
/// The lines of the page with the values that a reader has.
#[test]
fn the_first_login_of_the_api_page_works_line_by_line() {
    let reader = Reader::new();
    let passphrase = reader.directory.path().join("passphrase");
    std::fs::write(&passphrase, "a reader types this\n").unwrap();
    reader.done("chmod 600 passphrase");
    let face: Vec<f32> = (0..128).map(|i| (i as f32 * 0.7).sin()).collect();
    std::fs::write(reader.directory.path().join("face.json"), serde_json::to_string(&face).unwrap()).unwrap();
    let first = PAGE.split_once("## Every call").unwrap().0;
    let (without, with) = first.split_once("## The first login with a credential").unwrap();
    let sh = |section: &'static str| {
        section.split("```sh\n").skip(1).map(|block| block.split_once("```").unwrap().0)
    };
    // Without a credential: calls with curl, and what they answer.
    let (mut tenant, mut api_key) = <(String, String)>::default();
    let blocks = without.split("```text\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let calls: Vec<&str> = blocks.flat_map(|block| block.trim().split("\n\n")).collect();
    assert_eq!(calls.iter().filter(|call| call.starts_with("curl ")).count(), 4);
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| call.starts_with("curl ")) {
        let said = reader.done(&own(&reader, call, &tenant, "").replace("trefoil_...", &api_key));
        let Some(answer) = calls.get(at + 1).filter(|answer| answer.starts_with('{')) else { continue };
        let read = |json: &str| serde_json::from_str::<Value>(json).unwrap().as_object().unwrap().clone();
        let (said, shown) = (read(&said), read(answer));
        assert!(said.keys().eq(shown.keys()), "{call}: {said:?}");
        let text = |name| said.get(name).and_then(Value::as_str).map(str::to_owned);
        tenant = text("tenant_id").unwrap_or(tenant);
        api_key = text("api_key").unwrap_or(api_key);
    }
    let lines: Vec<&str> = sh(without).flat_map(str::lines).filter(|line| !STARTS.contains(line)).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let said: Vec<String> = lines.into_iter().map(|line| reader.done(line)).collect();
    assert!(said[1].contains("decision match") && said[1].contains("no credential proof"), "{said:?}");

    let (mut tenant, mut commitment, mut ran) = (String::new(), String::new(), 0);
    for line in sh(with).flat_map(str::lines).filter(|line| !STARTS.contains(line)) {
        let asks = ["issuer init", "issuer publish", "wallet"];
        let asks = asks.iter().any(|command| line.starts_with(&format!("trefoil {command}")));
        let line = own(&reader, line, &tenant, &commitment);
        let said = reader.done(&(line.clone() + if asks { " --passphrase-file passphrase" } else { "" }));
        let last = said.split_whitespace().last().unwrap_or_default().to_owned();
        match line.split(" --").next().unwrap() {
            "trefoil admin tenant create shop" => tenant = last,
            "trefoil wallet create" => commitment = last,
            _ => {}
        }
        ran += 1;
    }
    assert_eq!(ran, 14, "every line of the page");
}

/// Lines that start what the others need.
const STARTS: [&str; 3] = ["trefoil serve", "trefoil quickstart", "trefoil quickstart --proof none"];

/// A line of the page with the reader's own values; a credential of the page ends in 2027.
fn own(reader: &Reader, line: &str, tenant: &str, commitment: &str) -> String {
    line.replace("127.0.0.1:8443", &reader.program.public.address.to_string())
        .replace("127.0.0.1:9443", &reader.program.admin.address.to_string())
        .replace(TENANT, tenant)
        .replace(COMMITMENT, commitment)
        .replace("2027-01-01", "2032-01-01")
}

#[test]
fn one_call_that_changes_something_answers_without_a_receipt_or_an_attestation() {
    let mut found = Vec::new();
    for document in [Listener::Public, Listener::Admin].map(description::of) {
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if ["post", "put", "delete"].contains(&method.as_str()) {
                    let answers = operation["responses"].as_object().unwrap().iter();
                    let mut answers = answers.filter(|(status, _)| status.starts_with('2'));
                    if !answers.any(|(_, answer)| has_evidence(&document, answer)) {
                        found.push(format!("{} {path}", method.to_uppercase()));
                    }
                }
            }
        }
    }
    assert_eq!(found, ["POST /v1/log/cosignatures"], "API.md, Receipts, says why");
}

/// Whether a part of the description has a member `receipt` or `attestation`, itself or by reference.
fn has_evidence(document: &Value, part: &Value) -> bool {
    match part {
        Value::Object(members) => members.iter().any(|(name, member)| {
            ["receipt", "attestation"].contains(&name.as_str()) || has_evidence(document, member)
        }),
        Value::Array(members) => members.iter().any(|member| has_evidence(document, member)),
        Value::String(text) => match text.strip_prefix('#') {
            Some(pointer) => has_evidence(document, document.pointer(pointer).unwrap()),
            None => text.contains(r#""attestation":"#),
        },
        _ => false,
    }
}
