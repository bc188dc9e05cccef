use super::pem::{certificates, private_key};
use super::*;

#[test]
fn a_file_is_described_by_kind_and_length() {
    let pem = "-----BEGIN PRIVATE KEY-----";
    for (file, expected) in [
        (&b""[..], "an empty file"),
        (b"\xef\xbb\xbf \n", "an empty file"),
        (pem.as_bytes(), "a PEM file of 27 bytes without line breaks"),
        (&[pem.as_bytes(), &[b'a'; 1_677]].concat(), "a PEM file of 1,704 bytes without line breaks"),
        (b"\n-----BEGIN X-----\nA", "a PEM file of 20 bytes"),
        (&[b'\x30'; 1_234_567], "a hexadecimal text of 1,234,567 bytes"),
        (b"{\"a\": 1}", "a JSON file of 8 bytes"),
        (b"hunter2", "a text of 7 bytes"),
        (b"\xff\xfeh\0", "a text in UTF-16 of 4 bytes"),
        (b"h\0u\0", "a binary file of 4 bytes"),
        (b"\x30\x82\x09\x09\x02\x01\x03\x30", "a PKCS#12 file of 8 bytes"),
        (b"\x30\x82\x01\x01\x30\x82\x01", "a DER file of 7 bytes"),
        (b"\x30\x02\x01\n", "a DER file of 4 bytes"),
    ] {
        assert_eq!(described(file), expected);
    }
    assert_eq!(text(b"\xef\xbb\xbfa\r\n"), Ok("a\r\n"));
    assert!(text(b"\xff\xfea\0").unwrap_err().ends_with("; save it in UTF-8"));
}

#[test]
fn an_error_of_a_parser_loses_the_value_and_keeps_the_rest() {
    for (error, expected) in [
        (
            "trust root: invalid type: string \"a, expected b\\\"\", expected struct X at line 1 column 2",
            "trust root: invalid type: string, expected struct X at line 1 column 2",
        ),
        ("invalid value: floating point `0.25`, expected u8", "invalid value: floating point, expected u8"),
        ("invalid type: null, expected a map", "invalid type: null, expected a map"),
        ("unknown variant `hunter2`, expected `a` or `b`", "unknown value, expected `a` or `b`"),
        ("unknown field `concent`, expected `consent`", "unknown field `concent`, expected `consent`"),
        (
            "unknown field `hunter2, my old password`, expected `consent`",
            "unknown field a text of 24 characters, expected `consent`",
        ),
        ("EOF while parsing a value at line 1 column 0", "EOF while parsing a value at line 1 column 0"),
    ] {
        assert_eq!(parse_error(error), expected);
    }
}

/// A certificate and its key, and another certificate.
fn made() -> [String; 3] {
    let [one, other] = [(); 2].map(|()| rcgen::generate_simple_self_signed(vec!["a".to_owned()]).unwrap());
    [one.cert.pem(), one.signing_key.serialize_pem(), other.cert.pem()]
}

/// Claim V173: A chain of certificates is read whole or refused, however its blocks are joined and whichever mark is damaged.
#[test]
fn pem_is_read_as_people_have_it_and_loses_no_certificate() {
    let [one, key, other] = made();
    let chain = format!("{one}{other}");
    let expected = certificates(chain.as_bytes()).unwrap();
    assert_eq!(expected.len(), 2);
    let glued = format!("{}{}", one.trim_end(), other.trim_end());
    for (how, file) in [
        ("byte order mark", format!("\u{feff}{chain}")),
        ("CRLF", chain.replace('\n', "\r\n")),
        ("glued", glued.clone()),
        ("no line breaks", chain.replace('\n', "")),
        ("spaces", chain.replace('\n', " ")),
        ("words around", format!("subject: a\n{one}issuer: b\n{other}end")),
        ("with a key", format!("{one}{key}{other}")),
    ] {
        assert_eq!(certificates(file.as_bytes()).as_ref(), Ok(&expected), "{how}");
    }
    let secret = private_key(key.as_bytes()).unwrap();
    for file in
        [format!("\u{feff}{key}"), key.replace('\n', ""), format!("{glued}{}", key.replace('\n', "\r\n"))]
    {
        assert_eq!(private_key(file.as_bytes()).as_ref(), Ok(&secret));
    }
    // Every mark that loses a letter is noticed.
    for at in chain.match_indices("CERTIFICATE").map(|(at, _)| at) {
        for damaged in [at - 2, at, at + "CERTIFICATE".len() + 2] {
            let file = [&chain[..damaged], &chain[damaged + 1..]].concat();
            let read = certificates(file.as_bytes());
            assert!(read.is_err(), "{damaged}: {} certificates", read.unwrap().len());
        }
    }
}

#[test]
fn a_key_that_cannot_be_used_is_named_with_what_makes_one() {
    let [one, key, _] = made();
    let labelled = |label: &str| key.replace("PRIVATE KEY", &format!("{label}PRIVATE KEY"));
    let encrypted =
        key.replacen("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1);
    // Of the right form with another identifier, as the reader sees it.
    let other_curve = "-----BEGIN PRIVATE KEY-----\nMIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg\n-----END PRIVATE KEY-----\n";
    for (file, kind, cure) in [
        (labelled("ENCRYPTED ").as_bytes(), "encrypted", "openssl pkey -in FILE"),
        (encrypted.as_bytes(), "encrypted", "openssl pkey -in FILE"),
        (labelled("OPENSSH ").as_bytes(), "OpenSSH", "ssh-keygen -p -m PKCS8"),
        (labelled("DSA ").as_bytes(), "DSA", "openssl genpkey"),
        (labelled("ANY ").as_bytes(), "unknown kind", "openssl genpkey"),
        (other_curve.as_bytes(), "secp256k1", "openssl genpkey"),
        (b"\x30\x82\x09\x09\x02\x01\x03\x30", "PKCS#12", "openssl pkcs12 -nodes"),
        (b"\x30\x82\x01\x01\x02\x01\x00\x30", "DER", "openssl pkey -inform DER"),
        (one.as_bytes(), "no private key", "a PEM file of"),
        (b"\xff\xfe-\0", "UTF-16", "save it in UTF-8"),
        (b"", "no private key", "an empty file"),
    ] {
        let said = private_key(file).unwrap_err();
        assert!(said.contains(kind) && said.contains(cure), "{kind}: {said}");
        let body = key.lines().nth(1).unwrap();
        assert!(!said.contains(&body[..12]), "{said}");
    }
    let said = certificates(b"\x30\x82\x01\x01\x30\x82\x01\x01").unwrap_err();
    assert!(said.contains("openssl x509 -inform DER"), "{said}");
}
