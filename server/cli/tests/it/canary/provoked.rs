//! A canary in every file, variable, argument, address and field that the product reads. Errors about them say what they are, and show none of it.

use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use trefoil_testing::{Patterns, search};

/// Of letters that all of PEM, base64 and JSON may have.
pub(super) const WORD: &str = "Kq7Zp2Xv9Rt4Wb6Nc8Md1Fg3Hj5Ls0Qy";
/// A coordinate of a face.
pub(super) const NUMBER: &str = "0.7319284650917386";
/// Bytes of the canary that are a leak.
const PIECE: usize = 10;

/// Every piece of the canary, as it is and as errors show bytes.
fn pieces() -> Patterns {
    let mut patterns = Patterns::new();
    for piece in [WORD, NUMBER].iter().flat_map(|canary| canary.as_bytes().windows(PIECE)) {
        let decimal: Vec<String> = piece.iter().map(u8::to_string).collect();
        let mut forms = vec![
            ("text", piece.to_vec()),
            ("hexadecimal", hex::encode(piece).into_bytes()),
            ("decimal", decimal.join(",").into_bytes()),
        ];
        for before in 0..3 {
            let encoded = BASE64.encode([&vec![0; before], piece].concat());
            let (from, to) = ((before * 8).div_ceil(6), (before + PIECE) * 8 / 6);
            forms.push(("base64", encoded.as_bytes()[from..to].to_vec()));
        }
        for (form, bytes) in forms {
            let head = bytes[..8].try_into().unwrap();
            patterns.entry(head).or_default().push((bytes, form.to_owned()));
        }
    }
    patterns
}

/// How an output shows the canary, also in UTF-16 and across the ends of lines.
fn shown(output: &[u8], pieces: &Patterns) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(output).replace("\\n", "").replace("\\u0000", "").replace("\\0", "");
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0 || *byte == b'\\' || *byte == b'|';
    let together: Vec<u8> = text.bytes().filter(|byte| !is_between(byte)).collect();
    let lower = together.to_ascii_lowercase();
    let spread = search(&together, pieces).into_iter();
    spread.chain(search(&lower, pieces)).chain(search(output, pieces)).collect()
}

/// What the file is taken for, the arguments and the variables.
type Provocation<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// What a file may hold instead of what belongs there.
fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let values =
        ["format", "issuer", "embedder", "attestation", "receipt", "root", "name", "version", "proof"];
    let fields: serde_json::Map<String, Value> =
        values.iter().map(|name| ((*name).to_owned(), json!(WORD))).collect();
    let twice = serde_json::to_string(&json!({"embedding": [WORD, NUMBER]}).to_string()).unwrap();
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(WORD.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let pem = |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let key = pem("PRIVATE KEY", &WORD.repeat(8));
    let strings = [
        ("the canary alone", WORD.to_owned()),
        ("a JSON string", format!("\"{WORD}\"")),
        ("a JSON key", format!("{{\"{WORD}\": 1}}")),
        ("JSON values", Value::Object(fields).to_string()),
        ("JSON encoded twice", twice),
        ("numbers", format!("[{NUMBER}, {NUMBER}, \"{WORD}\"]")),
        ("a number", format!("{{\"embedder\": {NUMBER}, \"format\": {NUMBER}}}")),
        ("a key without line breaks", key.replace('\n', "")),
        ("a key with spaces", key.replace('\n', " ")),
        ("a key without an end", key.replace("-----END PRIVATE KEY-----", "")),
        ("a key that is no key", key),
        ("an encrypted key", pem("ENCRYPTED PRIVATE KEY", WORD)),
        ("a canary for a label", pem(WORD, WORD)),
        ("no certificate in its PEM block", pem("CERTIFICATE", WORD)),
        (
            "broken base64",
            pem("PRIVATE KEY", &format!("{WORD}*{WORD}")) + &pem("CERTIFICATE", &format!("{WORD}*")),
        ),
        ("a setting", format!("[server]\nlisten = \"{WORD}\"\n")),
        ("a section", format!("[{WORD}]\na = 1\n")),
        ("a name of a setting", format!("[server]\n{WORD} = 1\n")),
        ("TOML that breaks off", format!("[server]\nlisten = \"{WORD}\n")),
        ("hexadecimal", hex::encode(WORD) + "0"),
        ("a table", format!("name,commitment,level,expires,roles\n{WORD},{WORD},{WORD},{WORD},{WORD}\n")),
    ];
    let mut all: Vec<_> = strings.into_iter().map(|(how, text)| (how, text.into_bytes())).collect();
    all.push(("UTF-16", utf16));
    all.push(("bytes", [&[0x30, 0x82, 1, 0, 0xff, 0][..], WORD.as_bytes()].concat()));
    all
}

pub(super) struct Folder {
    folder: tempfile::TempDir,
    pieces: Patterns,
    pub(super) provoked: usize,
    pub(super) leaks: Vec<String>,
}

impl Folder {
    pub(super) fn has_no_leak(&self) {
        let leaks = &self.leaks;
        assert!(leaks.is_empty(), "{} of {}:\n{}", leaks.len(), self.provoked, leaks.join("\n"));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A data directory with keys.
    fn data(&self) -> String {
        let data = self.path("data").to_str().unwrap().to_owned();
        trefoil(&["keys", "init", "--issuer", "https://a.example", "--data-dir", &data]).done();
        data
    }

    /// Runs the program, which must fail, and looks at what it says.
    fn provoke(&mut self, what: &str, line: &[&str], variables: &[(&str, &str)]) {
        let output = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_trefoil")])
            .args(line)
            .current_dir(self.folder.path())
            .env("TREFOIL_LOG_FILTER", "trace")
            .env("TREFOIL_KEYS_PRECOMPUTE", "brief")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&said);
        assert!(!output.status.success() && output.status.code() != Some(124), "{what}: no error: {text}");
        self.look(what, &said);
    }

    pub(super) fn look(&mut self, what: &str, said: &[u8]) {
        self.provoked += 1;
        let shown = shown(said, &self.pieces);
        if !shown.is_empty() {
            self.leaks.push(format!("{what}: {shown:?} in: {}", String::from_utf8_lossy(said)));
        }
    }
}

pub(super) fn folder() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    Folder { folder, pieces: pieces(), provoked: 0, leaks: Vec::new() }
}

#[test]
fn the_canary_is_found_in_every_form() {
    let pieces = pieces();
    let list = |bytes: &[u8]| format!("{bytes:?}").into_bytes();
    for (form, output) in [
        ("text", format!("...{WORD}...").into_bytes()),
        ("decimal", list(WORD.as_bytes())),
        ("hexadecimal", hex::encode_upper(WORD).into_bytes()),
        ("base64", BASE64.encode(format!("a{WORD}")).into_bytes()),
        ("base64", BASE64.encode(WORD).into_bytes()),
        ("text", WORD.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("text", format!("{}\n {}", &WORD[..8], &WORD[8..]).into_bytes()),
        ("text", format!("{:?}", format!("{}\n{}", &WORD[..8], &WORD[8..])).into_bytes()),
        ("text", NUMBER.as_bytes().to_vec()),
    ] {
        assert!(shown(&output, &pieces).contains(form), "{form}");
    }
    assert!(shown(b"a text of 32 characters", &pieces).is_empty());
}

/// Claim V171: Errors, the log at its most detailed level, answers and metrics show no byte of a file, a password, an argument or a
/// request's field that is wrong, be it as text, base64, hexadecimal, a decimal list, UTF-16 or across line ends. They name its kind and
/// length.
///
/// Files that commands read, each with everything that it may hold instead.
#[test]
fn no_error_shows_what_is_in_a_file() {
    let mut folder = folder();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let ca = folder.file("ca.pem", made.cert.pem().as_bytes());
    let note = folder.file("note", b"x");
    let data = folder.data();
    let root = format!("{data}/trust-root.json");
    let (at, handle, new) = ("https://127.0.0.1:1", "00".repeat(32), "new");
    let any = ["--any-audience", "--any-nonce"];
    let address = "postgres://u@127.0.0.1:1/d?sslmode=disable";
    let fresh = ["serve", "--data-dir", new, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let (look, migrate) = (["doctor", "--data-dir", &data], ["store", "migrate"]);
    for (how, bytes) in contents() {
        let f = &folder.file("file", &bytes);
        let rooted = format!("postgres://u@127.0.0.1:1/d?sslrootcert={f}");
        let own_key = [("TREFOIL_TLS_CERTIFICATE", ca.as_str()), ("TREFOIL_TLS_PRIVATE_KEY", f.as_str())];
        let certificate = [("TREFOIL_TLS_CERTIFICATE", f.as_str()), ("TREFOIL_TLS_PRIVATE_KEY", f.as_str())];
        let callers = [("TREFOIL_TLS_CLIENT_CA", f.as_str())];
        let password = [("TREFOIL_STORE_PASSWORD_FILE", f.as_str()), ("TREFOIL_STORE_URL", address)];
        let authorities = [("TREFOIL_STORE_URL", rooted.as_str())];
        let enrol = ["admin", "subject", "enrol", &handle, "--consent", "c", "--service", at, "--ca", &ca];
        let commands: &[Provocation<'_>] = &[
            ("tls.private_key", &fresh, &own_key),
            ("tls.certificate", &look, &certificate),
            ("tls.client_ca", &look, &callers),
            ("store.password_file", &migrate, &password),
            ("sslrootcert", &migrate, &authorities),
            ("tls.private_key, doctor", &look, &own_key),
            ("serve --config", &["serve", "--config", f], &[]),
            ("key-holder --config", &["key-holder", "--config", f], &[]),
            ("--ca", &["log", "hand-in", "--service", at, "--ca", f, &note], &[]),
            ("--identity", &["log", "hand-in", "--service", at, "--ca", &ca, "--identity", f, &note], &[]),
            ("checkpoint", &["log", "hand-in", "--service", at, "--ca", &ca, f], &[]),
            (
                "admin token",
                &["admin", "tenant", "list", "--admin", at, "--ca", &ca, "--admin-token-file", f],
                &[],
            ),
            (
                "API key",
                &["admin", "subject", "list", "--service", at, "--ca", &ca, "--api-key-file", f],
                &[],
            ),
            ("face", &[&enrol[..], &["--api-key-file", &note, "--embedding", f]].concat(), &[]),
            ("policy", &["admin", "tenant", "create", "x", "--policy", f, "--admin", at, "--ca", &ca], &[]),
            ("trust root", &[&["verify", &note, "--trust-root", f], &any[..]].concat(), &[]),
            ("answer", &[&["verify", f, "--trust-root", &root], &any[..]].concat(), &[]),
            ("seal", &[&["verify", &note, "--trust-root", &root, "--seal", f], &any[..]].concat(), &[]),
            ("proof", &["verify", "--proof", f], &[]),
            ("pinned trust root", &["keys", "accept", "--pinned", f, "--next", &root], &[]),
            ("compared", &["compare", f, f, "--trust-root", &root], &[]),
            ("wallet", &["wallet", "show", "--wallet", f, "--passphrase-file", &note], &[]),
            ("credential", &["wallet", "receive", f, "--wallet", "w", "--passphrase-file", &note], &[]),
            (
                "witness key",
                &["log", "cosign", "--name", "w", "--key", f, "--trust-root", &root, "--head", f],
                &[],
            ),
        ];
        for (kind, line, variables) in commands {
            folder.provoke(&format!("{how} as {kind}"), line, variables);
        }
        // The directory's own files.
        for name in ["installation.toml", "trust-root.json", "signing.keys"] {
            let path = Path::new(&data).join(name);
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            folder.provoke(&format!("{how} as {name}"), &["doctor", "--data-dir", &data], &[]);
            std::fs::write(&path, whole).unwrap();
        }
    }
    folder.has_no_leak();
    assert_eq!(folder.provoked, 23 * 27);
}

/// Claim V171.
///
/// Words in the wrong place: passwords in addresses, and anything in arguments and variables.
#[test]
fn no_error_shows_a_password_an_argument_or_a_variable() {
    let mut folder = folder();
    let data = folder.data();
    for (before, after) in
        [("", ""), ("a@", ""), ("a/", ""), ("a?", ""), ("a#", ""), ("a:", ""), ("%zz", ""), ("", "@b")]
    {
        let password = format!("{before}{WORD}{after}");
        // A machine that is missing is what follows the last `@`.
        let alone = password.replace('@', "");
        for url in [
            format!("postgres://u:{password}@127.0.0.1:1/d?sslmode=disable"),
            format!("postgres://u:{alone}"),
            format!("postgres:///d?user=u&password={password}&colour=red"),
            format!("mysql://u:{password}@h/d"),
            format!("host=h user=u password={password}"),
        ] {
            folder.provoke(&url, &["doctor", "--data-dir", &data], &[("TREFOIL_STORE_URL", &url)]);
            folder.provoke(&url, &["store", "migrate", "--store", &url], &[]);
        }
        let url = format!("https://u:{password}@127.0.0.1:1");
        folder.provoke(&url, &["log", "hand-in", "--service", &url, "note"], &[]);
        folder.provoke(&url, &["admin", "tenant", "list", "--admin", &url], &[]);
        folder.provoke(&url, &["serve", "--data-dir", "data", "--public-url", &url], &[]);
    }
    let (flag, assigned) = (format!("--{WORD}"), format!("--token={WORD}"));
    let arguments: &[&[&str]] = &[
        &[WORD],
        &[&flag],
        &["serve", WORD],
        &["serve", &flag],
        &["serve", &assigned],
        &["serve", "--listen", WORD],
        &["serve", "--cadence", WORD],
        &["serve", "--workers", WORD],
        &["serve", "--key-holder", WORD],
        &["key-holder", "--listen", WORD],
        &["key-holder", WORD],
        &["admin", WORD],
        &["admin", "tenant", "show", WORD],
        &["admin", "api-key", "create", "--tenant", "00", "--scope", WORD],
        &["admin", "api-key", "create", "--tenant", "00", "--expires", WORD],
        &["verify", "x", "--trust-root", "x", "--nonce", WORD],
        &["verify", "x", "--trust-root", "x", "--at", WORD],
        &["log", "audit", "--data-dir", "x", "--trust-root", "x", "--pin", WORD],
        &["log", "audit", "--data-dir", "x", "--trust-root", "x", "--witness", WORD],
        &["keys", "revoke", WORD],
        &["wallet", "forget", "--tenant", WORD],
        &["completions", WORD],
    ];
    for line in arguments {
        folder.provoke(&line.join(" "), line, &[]);
    }
    for name in [
        "SERVER_LISTEN",
        "SERVER_PROTECT_MEMORY",
        "SERVER_PUBLIC_URL",
        "LIMITS_BODY_TIMEOUT_S",
        "PIPELINE_CADENCE",
        "PROOFS_CIRCUITS",
        "WITNESSES_KEYS",
        "KEYHOLDER_URL",
        "KEYHOLDER_QUORUM",
        "RETENTION_OLD_SEALS",
        "STORE_URL",
        "LOG_FILTER",
        "LOG_FORMAT",
        "KEY_HOLDER_SERVER_LISTEN",
    ] {
        let name = format!("TREFOIL_{name}");
        folder.provoke(&name, &["serve", "--data-dir", "data"], &[(&name, WORD)]);
        folder.provoke(&name, &["doctor", "--data-dir", "data"], &[(&name, &format!("{WORD},={WORD}"))]);
    }
    folder.has_no_leak();
    assert_eq!(folder.provoked, 8 * 13 + 22 + 28);
}
