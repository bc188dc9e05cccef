//! The program: exit codes, checks printed, a service from start to SIGTERM.

use crate::world::*;

#[tokio::test(flavor = "multi_thread")]
async fn verify_exits_0_1_2_or_3() {
    let service = Service::start().await;
    let people = service.people(2, 1, 11).await;
    service.welcome(&people[0]).await;
    let file = |name: &str, bytes: &[u8]| {
        let path = service.file(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let at = service.clock.unix_s().to_string();
    let root = service.server.trust_root_path().to_str().unwrap().to_owned();
    let request = service.request(&people[0], &people[0].face, 1);
    let nonce = hex::encode(request.nonce.as_bytes());
    let matched = service.authenticate(&request).await;
    let answer = service::answer(&matched);
    let full = file("full.cbor", &answer.attestation.as_ref().unwrap().0);
    let json = file("answer.json", &matched.body);
    let verify = |arguments: &[&str]| {
        let rest = ["--trust-root", root.as_str(), "--at", at.as_str()];
        trefoil(&[&["verify"], arguments, &rest].concat())
    };
    let valid = verify(&[&full, "--audience", AUDIENCE, "--nonce", &nonce]);
    let text = valid.out();
    assert_eq!((code(&valid), text.matches('✓').count()), (0, 3), "{text}");
    for name in ["ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128f"] {
        assert!(text.to_lowercase().contains(&name.to_lowercase()), "{name}: {text}");
    }
    let tenant = hex::encode(service.tenant);
    let any = ["--any-audience", "--any-nonce"];
    assert_eq!(code(&verify(&[&json, "--tenant", &tenant, "--json", any[0], any[1]])), 0);

    let mut altered = answer.attestation.unwrap().0;
    *altered.last_mut().unwrap() ^= 1;
    let altered = file("altered.cbor", &altered);
    let invalid: [&[&str]; 2] = [
        &[&altered, any[0], any[1]],
        &[&full, any[0], any[1], "--tenant", "00000000000000000000000000000000"],
    ];
    for arguments in invalid {
        assert_eq!(code(&verify(arguments)), 1, "{arguments:?}");
    }
    let usage: [&[&str]; 4] =
        [&["verify", &full], &["verify", &full, "--trust-root", &root, "--nonce", "0"], &["verfy"], &[]];
    for arguments in usage {
        assert_eq!(code(&trefoil(arguments)), 2, "{arguments:?}");
    }

    let mut request = service.request(&people[0], &people[1].face, 2);
    request.attestation = AttestationForm::Compact;
    let denied = service::answer(&service.authenticate(&request).await);
    let compact = file("compact.cbor", &denied.attestation.as_ref().unwrap().0);
    let seal = service.public.get(&format!("/v1/seals/{}", denied.seal_number)).await;
    let seal = file("seal.cbor", &seal.body);
    let undecided: [&[&str]; 5] = [
        &["verify", &compact, "--trust-root", &root, "--any-decision", "--at", &at, any[0], any[1]],
        &["verify", &full, "--trust-root", "/nonexistent"],
        &["verify", &full, "--trust-root", &full],
        &["verify", "/nonexistent", "--trust-root", &root],
        &["verify", &root, "--trust-root", &root],
    ];
    for arguments in undecided {
        assert_eq!(code(&trefoil(arguments)), 3, "{arguments:?}");
    }
    let sealed = ["--seal", &seal, any[0], any[1]];
    assert_eq!(code(&verify(&[&[compact.as_str()], &sealed[..]].concat())), 1, "a denial is no match");
    assert_eq!(code(&verify(&[&[compact.as_str(), "--any-decision"], &sealed[..]].concat())), 0);
}

#[test]
fn verify_asks_for_audience_and_nonce_and_names_the_check_that_failed() {
    const AUDIENCE: &str = "https://shop.example";
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crypto/attest/testdata");
    let [full, root] =
        ["full.cbor", "trust-root.json"].map(|name| testdata.join(name).to_str().unwrap().to_owned());
    let verify = |at: &str, rest: &[&str]| {
        trefoil(&[&["verify", &full, "--trust-root", &root, "--at", at], rest].concat())
    };
    let (at, nonce) = ("1800000010", "03".repeat(32));
    assert_eq!(code(&verify(at, &["--audience", AUDIENCE, "--nonce", &nonce])), 0);
    // Without one of them nothing looks like a success, and the flags are named.
    let missing: [(&[&str], &[&str]); 5] = [
        (&[], &["--audience", "--nonce", "--any-audience", "--any-nonce"]),
        (&["--audience", AUDIENCE], &["--nonce", "--any-nonce"]),
        (&["--any-audience"], &["--nonce", "--any-nonce"]),
        (&["--nonce", &nonce], &["--audience", "--any-audience"]),
        (&["--any-nonce"], &["--audience", "--any-audience"]),
    ];
    for (given, named) in missing {
        for json in [&[][..], &["--json"]] {
            let refused = verify(at, &[given, json].concat());
            let said = refused.err();
            assert_eq!((code(&refused), refused.stdout.len()), (2, 0), "{given:?}: {said}");
            assert!(named.iter().all(|flag| said.contains(&format!("{flag} "))), "{given:?}: {said}");
        }
    }
    for both in [
        ["--audience", AUDIENCE, "--any-audience", "--any-nonce"],
        ["--nonce", &nonce, "--any-nonce", "--any-audience"],
    ] {
        assert_eq!(code(&verify(at, &both)), 2, "{both:?}");
    }
    let any = ["--any-audience", "--any-nonce", "--json"];
    let json = |output: &Output| -> serde_json::Value { serde_json::from_slice(&output.stdout).unwrap() };
    let waived = verify(at, &any);
    assert_eq!(
        (code(&waived), &json(&waived)["not_checked"]),
        (0, &serde_json::json!(["audience", "nonce"]))
    );
    let waived = String::from_utf8(verify(at, &any[..2]).stdout).unwrap();
    assert!(waived.contains("not checked: audience, nonce; "), "{waived}");

    let other = ["--audience", "https://bank.example", "--nonce", &nonce, "--json"];
    let replayed = ["--audience", AUDIENCE, "--nonce", &"04".repeat(32), "--json"];
    let refused: [(&str, &[&str], &str); 4] = [
        (at, &other, "audience"),
        (at, &replayed, "nonce"),
        ("1900000000", &any, "expired"),
        ("1700000000", &any, "not-yet-valid"),
    ];
    for (at, rest, name) in refused {
        let refused = verify(at, rest);
        let said = json(&refused);
        assert_eq!(
            (code(&refused), &said["valid"], &said["code"]),
            (1, &false.into(), &name.into()),
            "{said}"
        );
        assert!(!said["reason"].as_str().unwrap().contains("18000000"), "{said}");
    }
    let unread = trefoil(&["verify", "/nonexistent", "--trust-root", &root, "--json"]);
    let said = json(&unread);
    assert_eq!((code(&unread), &said["valid"], &said["code"]), (3, &().into(), &().into()), "{said}");
}

/// Claim S9.
///
/// The shared vectors of contradictions, two of them after the other.
#[test]
fn compare_exits_0_1_2_or_3() {
    let directory = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crypto/attest/testdata");
    let vectors = std::fs::read(testdata.join("contradictions.json")).unwrap();
    let vectors: serde_json::Value = serde_json::from_slice(&vectors).unwrap();
    let root = testdata.join("trust-root.json").to_str().unwrap().to_owned();
    let file = |name: &str, digits: &serde_json::Value| {
        let path = directory.path().join(name);
        std::fs::write(&path, hex::decode(digits.as_str().unwrap()).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let attestation = |name: &str| file(name, &vectors["attestations"][name]["bytes"]);
    let seals = [0, 1].map(|number| file(&format!("seal-{number}"), &vectors["seals"][number]));
    let compare = |one: &str, other: &str, rest: &[&str]| {
        trefoil(&[&["compare", one, other, "--trust-root", &root], rest].concat())
    };
    let sealed = ["--seal", seals[0].as_str()];
    for pair in vectors["pairs"].as_array().unwrap() {
        let [one, other] = ["one", "other"].map(|side| pair[side].as_str().unwrap());
        let expect = pair["expect"].as_str().unwrap();
        let output = compare(&attestation(one), &attestation(other), &[&sealed[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        if other == "another issuer" {
            assert_eq!((code(&output), &json["contradiction"]), (3, &serde_json::Value::Null), "{json}");
            continue;
        }
        let contradicts = expect.starts_with("contradiction");
        assert_eq!(code(&output), i32::from(contradicts), "{pair}: {json}");
        assert_eq!((&json["relation"], &json["contradiction"]), (&expect.into(), &contradicts.into()));
    }

    let (matched, denied) = (attestation("match"), attestation("denial"));
    let text = |output: Output| output.out();
    assert!(
        text(compare(&matched, &denied, &sealed)).contains("✗ one request was attested as a match and as")
    );
    assert!(text(compare(&matched, &matched, &sealed)).contains("✓ they attest one and the same statement"));
    // Nothing is printed of a file that does not verify: anybody can write one.
    let mut forged = std::fs::read(&denied).unwrap();
    *forged.last_mut().unwrap() ^= 1;
    let forged = file("forged", &hex::encode(forged).into());
    let undecided: [(&str, &[&str]); 5] = [
        (&denied, &[]),
        (&denied, &["--seal", &seals[1]]),
        (&denied, &["--seal", &matched]),
        (&forged, &sealed),
        ("/nonexistent", &sealed),
    ];
    for (other, rest) in undecided {
        let output = compare(&matched, other, rest);
        assert_eq!(code(&output), 3, "{other} {rest:?}: {}", text(output));
    }
    assert_eq!(code(&trefoil(&["compare", &matched, &denied])), 2);
    assert_eq!(code(&trefoil(&["compare", &matched, "--trust-root", &root])), 2);
}

#[test]
fn output_that_nobody_reads_ends_a_program_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = ["--data-dir", data.to_str().unwrap()];
    let quietly = |output: Output| {
        assert_eq!((code(&output), output.err()), (141, String::new()));
    };
    for arguments in [
        &["serve", "--print-config"][..],
        &["key-holder", "--print-config"],
        // This one prints that it made keys, after it has made them.
        &["keys", "init", "--issuer", "auth.example", data[0], data[1]],
        &["keys", "show", data[0], data[1]],
        &["keys", "export-trust-root", data[0], data[1]],
        &["keys", "export-trust-root", "--format", "cbor", data[0], data[1]],
    ] {
        quietly(unread(arguments).output().unwrap());
    }
    // Nor does anybody read its error message.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    quietly(unread(&["keys", "show", "--data-dir", "/nonexistent"]).stderr(writer).output().unwrap());
}

/// The program, with a standard output whose reader has gone.
fn unread(arguments: &[&str]) -> Command {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    program.args(arguments).stdout(writer);
    program
}
