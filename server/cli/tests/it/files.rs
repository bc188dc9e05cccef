//! Files as people have them: from Windows programs, wrapped, through a pipe. And directories inside a repository.

use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::io::Write as _;

/// Runs the program with this standard input.
fn fed(line: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that reads nothing has closed it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn a_mark_before_a_file_wrapped_base64_and_a_pipe_are_read() {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let folder = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crypto/attest/testdata");
    let read = |name: &str| std::fs::read(testdata.join(name)).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (full, root) = (read("full.cbor"), read("trust-root.json"));
    let crlf = String::from_utf8(root.clone()).unwrap().replace('\n', "\r\n");
    let base64 = BASE64.encode(&full);
    let wrapped: Vec<String> =
        base64.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let answer = format!(r#"{{"attestation": "{base64}", "id": "{}", "seal_number": 1}}"#, "00".repeat(32));
    let roots = [
        file("root", &root),
        file("marked", &[MARK, &root].concat()),
        file("windows", &[MARK, crlf.as_bytes()].concat()),
    ];
    let [plain, ..] = &roots;
    let rest = ["--at", "1800000010", "--any-audience", "--any-nonce"];
    for root in &roots {
        for (how, bytes) in [
            ("binary", full.clone()),
            ("one line", base64.clone().into_bytes()),
            ("lines", wrapped.join("\n").into_bytes()),
            ("lines of Windows, with a mark", [MARK, wrapped.join("\r\n").as_bytes(), b"\r\n"].concat()),
            ("JSON with a mark", [MARK, answer.as_bytes()].concat()),
        ] {
            let path = file("answer", &bytes);
            let verified = trefoil(&[&["verify", &path, "--trust-root", root], &rest[..]].concat());
            assert!(verified.status.success(), "{how}: {}", text(&verified));
            let piped = fed(&[&["verify", "-", "--trust-root", root], &rest[..]].concat(), &bytes);
            assert!(piped.status.success(), "{how}, piped: {}", text(&piped));
        }
    }
    let piped = fed(&[&["verify", &file("answer", &full), "--trust-root", "-"], &rest[..]].concat(), &root);
    assert!(piped.status.success(), "{}", text(&piped));
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(crlf.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let refused = trefoil(&[&["verify", plain, "--trust-root", &file("utf16", &utf16)], &rest[..]].concat());
    assert!(text(&refused).contains("a text in UTF-16 of"), "{}", text(&refused));
    let none = fed(&[&["verify", "-", "--trust-root", plain], &rest[..]].concat(), b"");
    assert_eq!(none.status.code(), Some(3), "{}", text(&none));
}

/// A certificate, a token, an API key and a face with a mark, and a chain without line breaks.
#[test]
fn a_mark_before_the_files_of_a_call_changes_nothing() {
    let program = Program::own(&[]);
    let data = program.data();
    let marked = |name: &str, text: &str| {
        let path = program.file(name);
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pem = std::fs::read_to_string(data.join("tls-certificate.pem")).unwrap();
    let token = std::fs::read_to_string(data.join("admin.token")).unwrap();
    let (ca, token) =
        (marked("ca.pem", &pem.replace('\n', "")), marked("token", &token.replace('\n', "\r\n")));
    let [admin, public] = [&program.admin, &program.public].map(|end| format!("https://{}", end.address));
    let at = ["--admin", &admin, "--ca", &ca, "--admin-token-file", &token, "--json"];
    let run = |line: &[&str]| {
        let ran = trefoil(&[&["admin"], line, &at[..]].concat());
        assert!(ran.status.success(), "{line:?}: {}", text(&ran));
        serde_json::from_slice::<serde_json::Value>(&ran.stdout).unwrap()
    };
    let mut policy = crate::service::policy();
    policy["proof"] = "none".into();
    policy["level_min"] = 0.into();
    let policy = marked("policy.json", &policy.to_string());
    let tenant = run(&["tenant", "create", "shop", "--policy", &policy]);
    let tenant = tenant["tenant_id"].as_str().unwrap().to_owned();
    let key = run(&["api-key", "create", "--tenant", &tenant, "--scope", "enrol"]);
    let key = marked("api.key", key["api_key"].as_str().unwrap());
    let face: Vec<i32> = (-60..68).collect();
    let face = marked("face.json", &serde_json::json!(face).to_string());
    let handle = "01".repeat(32);
    let caller = ["--service", &public, "--api-key-file", &key];
    run(&[&["subject", "enrol", &handle, "--embedding", &face, "--consent", "form 7"], &caller[..]].concat());
    let listed = run(&[&["subject", "list"], &caller[..]].concat());
    assert!(listed.to_string().contains(&handle), "{listed}");
    assert_eq!(program.terminate().code(), Some(0));
}

#[test]
fn git_ignores_the_directories_that_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let git = |line: &[&str]| {
        let ran = Command::new("git").args(line).current_dir(folder.path()).output().expect("install git");
        assert!(ran.status.success(), "{}", text(&ran));
        text(&ran)
    };
    git(&["init", "--quiet"]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert!(trefoil(&["keys", "init", "--issuer", "a", "--data-dir", &path("data")]).status.success());
    let words = path("words");
    std::fs::write(&words, "correct horse battery staple").unwrap();
    assert!(Command::new("chmod").args(["600", &words]).status().unwrap().success());
    let tenant = "00".repeat(16);
    let issuer =
        ["issuer", "init", "--directory", &path("issuer"), "--tenant", &tenant, "--passphrase-file", &words];
    assert!(trefoil(&issuer).status.success());
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "?? words\n");
    // A directory that was there is the operator's.
    std::fs::create_dir(path("there")).unwrap();
    assert!(Command::new("chmod").args(["700", &path("there")]).status().unwrap().success());
    assert!(trefoil(&["keys", "init", "--issuer", "a", "--data-dir", &path("there")]).status.success());
    assert!(!Path::new(&path("there/.gitignore")).exists());
}
