//! What the pages repeat of the program: `cargo xtask pages` writes it between marks, with the variable [`WRITE`].

use crate::deployment;
use crate::exposition::{Whole, samples};
use crate::world::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use trefoil_server::config::DEFAULTS;
use trefoil_server::description;
use trefoil_server::findings::Fault;
use trefoil_server::openapi::Listener;
use trefoil_server::problem::Code;

/// Set: the pages are written, and not compared.
const WRITE: &str = "TREFOIL_TEST_PAGES";

/// Claim V50.
/// Claim V132: OPERATING.md lists each metric of the service with its labels, and no other. Whatever a stranger writes into methods, paths
/// and headers adds no value of a label.
#[tokio::test(flavor = "multi_thread")]
async fn the_generated_blocks_of_the_pages_say_what_the_program_says() {
    let whole = Whole::start().await;
    let api = "server/API.md";
    let (operating, key_holder) = ("server/OPERATING.md", "server/key-holder/OPERATING.md");
    let blocks = [
        (api, "public routes", routes(Listener::Public)),
        (api, "admin routes", routes(Listener::Admin)),
        (api, "problems", problems()),
        (operating, "metrics", metrics(&whole.page().await)),
        (operating, "findings", findings()),
        (operating, "restore", restore()),
        (operating, "settings", format!("```toml\n{DEFAULTS}```\n")),
        (operating, "commands", format!("```text\n{}```\n", commands("trefoil"))),
        (key_holder, "settings", format!("```toml\n{}```\n", trefoil_key_holder::config::DEFAULTS)),
    ];
    assert_eq!(whole.program.terminate().code(), Some(0));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut old = BTreeSet::new();
    for (page, name, block) in blocks {
        let path = root.join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let begin = format!("<!-- BEGIN generated: {name} -->\n");
        let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
        let (shown, after) = rest.split_once("<!-- END generated -->").unwrap();
        if shown != block {
            old.insert(format!("{page}: {name}"));
            if std::env::var_os(WRITE).is_some() {
                std::fs::write(path, format!("{before}{begin}{block}<!-- END generated -->{after}")).unwrap();
            }
        }
    }
    assert!(old.is_empty() || std::env::var_os(WRITE).is_some(), "run `cargo xtask pages`: {old:?} differ");
}

fn problems() -> String {
    let mut block = "| code | status | retry | cause | cure |\n|---|---|---|---|---|\n".to_owned();
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|code| code.status());
    for code in codes.into_iter().map(Code::explain) {
        let (name, status, retry) = (code.code, code.status, code.retry.name());
        writeln!(block, "| `{name}` | {status} | {retry} | {} | {} |", code.cause, code.cure).unwrap();
    }
    block
}

fn findings() -> String {
    let mut block = "| finding | | finds | do |\n|---|---|---|---|\n".to_owned();
    for (code, level, finds, cure) in Fault::ALL.iter().map(|fault| fault.row()) {
        let level = format!("{level:?}").to_lowercase();
        writeln!(block, "| `{code}` | {level} | {finds} | {cure} |").unwrap();
    }
    block.replace("  |", " |")
}

/// The routes of a listener, with who may call and the members of the bodies.
fn routes(listener: Listener) -> String {
    let document = description::of(listener);
    let mut block = "| route | for | | body | answer |\n|---|---|---|---|---|\n".to_owned();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().unwrap();
            let named = |place: &str, required: bool| -> Vec<String> {
                let wanted =
                    parameters.iter().filter(|one| one["in"] == place && one["required"] == required);
                wanted.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
            };
            let query = named("query", false).join("&");
            let query = if query.is_empty() { query } else { format!("?{query}") };
            let caller = match (&operation["x-trefoil-role"], &operation["security"][0]["apiKey"]) {
                (Value::String(role), _) => format!("`{role}`"),
                (_, Value::Array(scopes)) => scopes.first().map_or("any key".to_owned(), code),
                _ => "anyone".to_owned(),
            };
            let mut sent: Vec<String> =
                named("header", true).iter().map(|name| format!("header `{name}`")).collect();
            sent.extend(named("header", false).iter().map(|name| format!("optional header `{name}`")));
            sent.extend(content(&document, &operation["requestBody"]));
            let answers = operation["responses"].as_object().unwrap().iter();
            let (status, answer) = { answers }.find(|(status, _)| status.starts_with('2')).unwrap();
            let answer = content(&document, answer).unwrap_or_default();
            let (method, says) = (method.to_uppercase(), operation["summary"].as_str().unwrap());
            let sent = sent.join("; ");
            writeln!(block, "| `{method} {path}{query}` | {caller} | {says} | {sent} | {status} {answer} |")
                .unwrap();
        }
    }
    block.replace("  |", " |")
}

fn code(name: &Value) -> String {
    format!("`{}`", name.as_str().unwrap())
}

/// What a body has: its members, or its media type.
fn content(document: &Value, body: &Value) -> Option<String> {
    let (media_type, body) = body["content"].as_object()?.iter().next().unwrap();
    let members = members(document, &body["schema"], true);
    Some(if members.is_empty() { format!("`{media_type}`") } else { members })
}

/// The names of an object's members, with those of the objects in a list.
fn members(document: &Value, schema: &Value, lists: bool) -> String {
    let mut found = BTreeMap::<&String, (&Value, usize)>::new();
    let all = cases(document, schema);
    for case in &all {
        for (name, member) in case["properties"].as_object().into_iter().flatten() {
            let required = case["required"].as_array().into_iter().flatten().any(|one| one == name);
            found.entry(name).or_insert((member, 0)).1 += usize::from(required);
        }
    }
    let shown = |wanted: bool| {
        let found = found.iter().filter(|(_, (_, required))| (*required == all.len()) == wanted);
        let shown = found.map(|(name, (member, _))| {
            let mut text = format!("`{name}`");
            for case in cases(document, member) {
                let words = case["enum"].as_array().filter(|words| words.len() < 4);
                let words = words.into_iter().flatten().map(code).collect::<Vec<_>>().join(", ");
                let of_items = if lists { members(document, &case["items"], false) } else { String::new() };
                match (words.as_str(), of_items.as_str()) {
                    ("", "") => {}
                    ("", items) => write!(text, " (each {items})").unwrap(),
                    (words, _) => write!(text, " ({words})").unwrap(),
                }
            }
            text
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    match (shown(true), shown(false)) {
        (required, optional) if optional.is_empty() => required,
        (required, optional) if required.is_empty() => format!("optional {optional}"),
        (required, optional) => format!("{required}; optional {optional}"),
    }
}

/// The schemas that a schema stands for, itself or by reference, without `null`.
fn cases<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(pointer) = schema["$ref"].as_str() {
        return cases(document, document.pointer(&pointer[1..]).unwrap());
    }
    match schema["oneOf"].as_array() {
        Some(of) => of.iter().flat_map(|case| cases(document, case)).collect(),
        None if schema["type"] == "null" => Vec::new(),
        None => vec![schema],
    }
}

/// A command's help.
fn help(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--help"]).collect();
    String::from_utf8(trefoil(&words).stdout).unwrap()
}

/// The commands under this one, a line each.
fn commands(command: &str) -> String {
    let help = help(command);
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, listed)| listed);
    let mut block = String::new();
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        let (name, about) = line.trim().split_once(' ').unwrap();
        if name != "help" {
            let command = format!("{command} {name}");
            write!(block, "{command:36} {}\n{}", about.trim(), commands(&command)).unwrap();
        }
    }
    block
}

/// What a restoration makes somebody repeat.
fn restore() -> String {
    let help = help("trefoil restore");
    let (_, lost) = help.split_once("seal says when").unwrap().1.split_once("\n\n").unwrap();
    format!("```text\n{lost}```\n")
}

/// The families of the page of metrics, with their labels and the alerts that are about them.
fn metrics(page: &str) -> String {
    let rules = deployment::read("prometheus/alerts.yml");
    let mut alerts = Vec::new();
    for rule in rules.split("- alert: ").skip(1) {
        let (alert, rule) = rule.split_once('\n').unwrap();
        let query = rule.split("expr: ").nth(1).unwrap().lines().next().unwrap();
        alerts.push((alert.trim(), deployment::names(query)));
    }
    let mut block = "| metric | | alert |\n|---|---|---|\n".to_owned();
    for line in page.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (family, help) = line.split_once(' ').unwrap();
        let is_own = |name: &str| {
            let part = name.strip_prefix(family);
            part.is_some_and(|part| ["", "_bucket", "_sum", "_count"].contains(&part))
        };
        let labels = samples(page).filter(|(name, _)| is_own(name)).flat_map(|(_, labels)| labels);
        let labels: BTreeSet<&str> =
            labels.map(|(label, _)| label).filter(|label| !["le", "quantile"].contains(label)).collect();
        let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let about = alerts.iter().filter(|(_, names)| names.iter().any(|name| is_own(name)));
        let about: Vec<&str> = about.map(|(alert, _)| *alert).collect();
        let about = about.iter().map(|alert| format!("`{alert}`")).collect::<Vec<_>>().join(", ");
        writeln!(block, "| `{family}{labels}` | {} | {about} |", help.trim_end_matches('.')).unwrap();
    }
    block.replace("  |", " |")
}
