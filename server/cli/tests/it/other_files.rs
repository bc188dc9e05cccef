//! A file in the place of another: the commands of relying parties say what it is, and which one to give.

use crate::world::*;

#[test]
fn a_file_in_the_place_of_another_is_called_what_it_is() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crypto/attest/testdata/");
    let folder = tempfile::tempdir().unwrap();
    let shared = |name: &str| format!("{vectors}{name}");
    let made = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (root, full, seal) = (shared("trust-root.json"), shared("full.cbor"), shared("seal.cbor"));
    let face = made("face.json", &format!("[{}0.5]", "0.25, ".repeat(127)));
    let refusal = made(
        "answer.json",
        r#"{"type": "/v1/problems/session-expired", "title": "t", "status": 401, "code": "session-expired", "detail": "d"}"#,
    );
    let verify = |file: &str, root: &str, more: &[&str]| {
        let rest = ["verify", file, "--trust-root", root, "--any-audience", "--any-nonce"];
        [&rest[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (line, exit, file, said) in [
        (verify(&root, &root, &[]), 3, &root, "this is a trust root; give the service's answer to a login"),
        (verify(&face, &root, &[]), 3, &face, "this is a face; give the service's answer to a login"),
        (
            verify(&refusal, &root, &[]),
            3,
            &refusal,
            "this is a refusal by the service, which attests nothing; give",
        ),
        (verify(&seal, &root, &[]), 3, &seal, "this is a seal; give"),
        (
            verify(&full, &full, &[]),
            3,
            &full,
            "this is an attestation or a receipt; give the file that `trefoil keys export-trust-root`",
        ),
        (
            verify(&full, &root, &["--seal", &root]),
            3,
            &root,
            "this is a trust root; give the issuer's /v1/seals/{number}",
        ),
        (command(&["compare", &full, &root, "--trust-root", &root]), 3, &root, "this is a trust root; give"),
        (command(&["compare", &full, &full, "--trust-root", &seal]), 3, &seal, "this is a seal; give"),
        (
            command(&["keys", "accept", "--pinned", &root, "--next", &full]),
            1,
            &full,
            "this is an attestation or a receipt; give",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_trefoil")).args(&line).output().unwrap();
        let text = output.text();
        assert_eq!(output.status.code(), Some(exit), "{line:?}: {text}");
        assert!(text.contains(&format!("{file}: {said}")), "{line:?}: {text}");
    }
    // What is like none of ours is still refused as an attestation.
    let output = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(verify(&made("x", "hello"), &root, &[]))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}
