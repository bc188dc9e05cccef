//! Known answers from RFC 8949, and `ciborium`, which shares no code with this.

use super::{Fault, from_json, to_json};
use crate::api::body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ciborium::Value as Cbor;
use property::{check, form};
use proptest::prelude::*;
use serde_json::{Value, json};
use trefoil_api::{Authentication, Vector};

#[path = "../../../fuzz/src/property.rs"]
mod property;

const BYTES_MAX: usize = 8 * 1024;
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/api/testdata/cbor.json");
const REQUESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/api/testdata/requests.json");
/// Where the fuzzer starts.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/cbor");

/// The JSON of hexadecimal CBOR, or where and why there is none.
fn read(digits: &str) -> Result<String, Fault> {
    to_json(&hex::decode(digits).unwrap(), BYTES_MAX).map(|json| String::from_utf8(json).unwrap())
}

/// `1` to `25`, with commas.
fn to_25() -> String {
    (1..=25).map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

/// RFC 8949 appendix A in preferred serialisation: what has a JSON form, in both directions.
const PREFERRED: [(&str, &str); 48] = [
    ("00", "0"),
    ("01", "1"),
    ("0a", "10"),
    ("17", "23"),
    ("1818", "24"),
    ("1819", "25"),
    ("1864", "100"),
    ("1903e8", "1000"),
    ("1a000f4240", "1000000"),
    ("1b000000e8d4a51000", "1000000000000"),
    ("1bffffffffffffffff", "18446744073709551615"),
    ("20", "-1"),
    ("29", "-10"),
    ("3863", "-100"),
    ("3903e7", "-1000"),
    ("f90000", "0.0"),
    ("f98000", "-0.0"),
    ("f93c00", "1.0"),
    ("fb3ff199999999999a", "1.1"),
    ("f93e00", "1.5"),
    ("f97bff", "65504.0"),
    ("fa47c35000", "100000.0"),
    ("fa7f7fffff", "3.4028234663852886e38"),
    ("fb7e37e43c8800759c", "1.0e300"),
    ("f90001", "5.960464477539063e-8"),
    ("f90400", "0.00006103515625"),
    ("f9c400", "-4.0"),
    ("fbc010666666666666", "-4.1"),
    ("f4", "false"),
    ("f5", "true"),
    ("f6", "null"),
    ("60", "\"\""),
    ("6161", "\"a\""),
    ("6449455446", "\"IETF\""),
    ("62225c", "\"\\\"\\\\\""),
    ("62c3bc", "\"\u{fc}\""),
    ("63e6b0b4", "\"\u{6c34}\""),
    ("64f0908591", "\"\u{10151}\""),
    ("80", "[]"),
    ("83010203", "[1,2,3]"),
    ("8301820203820405", "[1,[2,3],[4,5]]"),
    ("a0", "{}"),
    ("a26161016162820203", "{\"a\":1,\"b\":[2,3]}"),
    ("826161a161626163", "[\"a\",{\"b\":\"c\"}]"),
    (
        "a56161614161626142616361436164614461656145",
        "{\"a\":\"A\",\"b\":\"B\",\"c\":\"C\",\"d\":\"D\",\"e\":\"E\"}",
    ),
    // Not in the appendix: the longest argument of one byte, and a negative one of eight.
    ("18ff", "255"),
    ("3b7fffffffffffffff", "-9223372036854775808"),
    ("a2617a00626161f6", "{\"z\":0,\"aa\":null}"),
];

/// The same appendix: what another encoder may send.
const ACCEPTED: [(&str, &str); 9] = [
    ("3bffffffffffffffff", "-18446744073709551616"),
    ("d74401020304", "\"01020304\""),
    ("7f657374726561646d696e67ff", "\"streaming\""),
    ("9fff", "[]"),
    ("9f018202039f0405ffff", "[1,[2,3],[4,5]]"),
    ("83018202039f0405ff", "[1,[2,3],[4,5]]"),
    ("bf61610161629f0203ffff", "{\"a\":1,\"b\":[2,3]}"),
    ("826161bf61626163ff", "[\"a\",{\"b\":\"c\"}]"),
    ("bf6346756ef563416d7421ff", "{\"Fun\":true,\"Amt\":-2}"),
];

/// Byte strings below a tag.
const TAGGED: [(&str, &str); 7] = [
    ("d64401020304", "\"AQIDBA==\""),
    ("d74401abcdef", "\"01ABCDEF\""),
    ("d640", "\"\""),
    ("d75f42010243030405ff", "\"0102030405\""),
    ("d682410141ff", "[\"AQ==\",\"/w==\"]"),
    // The innermost tag counts, and a text stays what it is.
    ("d683d74101616141ff", "[\"01\",\"a\",\"/w==\"]"),
    ("d7a1616141ff", "{\"a\":\"FF\"}"),
];

/// The value of a JSON text. The JSON parser may be off by the last bit of a number, which the examples show.
fn exact(json: &str) -> Value {
    let number = json.parse::<f64>().ok().filter(|_| json.contains(['.', 'e']));
    number.map_or_else(|| serde_json::from_str(json).unwrap(), Value::from)
}

#[test]
fn the_examples_of_the_rfc_have_their_json_and_their_cbor() {
    for (cbor, json) in PREFERRED {
        let text = read(cbor).unwrap();
        assert_eq!(exact(&text), exact(json), "{cbor}: {text}");
        assert_eq!(text.starts_with('-'), json.starts_with('-'), "{cbor}: {text}");
        assert_eq!(hex::encode(from_json(json.as_bytes()).unwrap()), cbor, "{json}");
    }
    for (cbor, json) in ACCEPTED {
        assert_eq!(read(cbor).unwrap(), json, "{cbor}");
    }
    let numbers = "0102030405060708090a0b0c0d0e0f101112131415161718181819";
    assert_eq!(read(&format!("9819{numbers}")).unwrap(), format!("[{}]", to_25()));
    assert_eq!(read(&format!("9f{numbers}ff")).unwrap(), format!("[{}]", to_25()));
}

#[test]
fn a_tag_says_how_the_byte_strings_below_it_are_written() {
    for (cbor, json) in TAGGED {
        assert_eq!(read(cbor).unwrap(), json, "{cbor}");
    }
}

#[test]
fn what_has_no_json_form_is_named_with_its_offset() {
    for (cbor, at, what) in [
        ("", 0, "ends within"),
        ("f97c00", 0, "inf"),
        ("f97e00", 0, "NaN"),
        ("f9fc00", 0, "-inf"),
        ("82fa7f8000000001", 1, "inf"),
        ("fa7fc00000", 0, "NaN"),
        ("fbfff0000000000000", 0, "-inf"),
        ("f7", 0, "undefined"),
        ("f0", 0, "simple value 16"),
        ("f8ff", 0, "simple value 255"),
        ("c249010000000000000000", 0, "tag 2;"),
        ("c349010000000000000000", 0, "tag 3;"),
        ("c074323031332d30332d32315432303a30343a30305a", 0, "tag 0;"),
        ("d818456449455446", 0, "tag 24;"),
        ("d9d9f7a0", 0, "tag 55799;"),
        ("40", 0, "without a tag; put tag 22 before it"),
        ("a161614401020304", 3, "without a tag"),
        ("d681ff", 2, "a break in place"),
        ("a201020304", 1, "not text"),
        ("a1d7410102", 1, "not text"),
        ("a3616101616202616103", 7, "\"a\" is in this map twice"),
        ("bf616101616202 7f6161ff 03ff", 7, "\"a\" is in this map twice"),
        ("0000", 1, "goes on after"),
        ("a0ff", 1, "goes on after"),
        ("ff", 0, "a break in place"),
        ("82ff01", 1, "a break in place"),
        ("bf6161ff", 3, "a break in place"),
        ("62c328", 0, "not UTF-8"),
        // A character in two chunks.
        ("7f61c361bcff", 1, "not UTF-8"),
        ("7f4161ff", 1, "chunks of a string"),
        ("7f7f6161ffff", 1, "chunks of a string"),
        ("d65f6161ff", 2, "chunks of a string"),
        ("1c", 0, "0x1c, which begins no item"),
        ("1f", 0, "0x1f, which"),
        ("3f", 0, "0x3f, which"),
        ("df00", 0, "0xdf, which"),
        ("f800", 0, "simple value 0,"),
        ("f814", 0, "simple value 20,"),
        ("fe", 0, "0xfe, which"),
        ("18", 1, "ends within"),
        ("1b00", 2, "ends within"),
        ("6261", 2, "ends within"),
        ("7bffffffffffffffff61", 10, "ends within"),
        ("9bffffffffffffffff00", 10, "ends within"),
        ("bbffffffffffffffff", 9, "ends within"),
        ("9f00", 2, "ends within"),
        ("7f6161", 3, "ends within"),
    ] {
        match read(&cbor.replace(' ', "")) {
            Err(Fault::At(offset, why)) => {
                assert!(offset == at && why.contains(what), "{cbor}: at {offset}, {why}");
            }
            other => panic!("{cbor}: {other:?}"),
        }
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |levels: usize| [vec![0x81; levels], vec![0]].concat();
    assert!(to_json(&nested(32), BYTES_MAX).is_ok());
    for opening in [0x81, 0x9f, 0xd6] {
        let deep = vec![opening; 100_000];
        assert!(matches!(to_json(&deep, BYTES_MAX), Err(Fault::At(33, why)) if why.contains("32 deep")));
    }
    // Six bytes of JSON for each control character.
    let controls = [&[0x79, 0x05, 0x00][..], &[1; 0x500]].concat();
    assert_eq!(to_json(&controls, BYTES_MAX).unwrap().len(), 6 * 0x500 + 2);
    assert_eq!(to_json(&controls, 6 * 0x500 + 1), Err(Fault::TooLong));
    let empty = [vec![0x99, 0x10, 0x00], vec![0x80; 0x1000]].concat();
    assert_eq!(to_json(&empty, 3 * 0x1000 + 1).unwrap().len(), 3 * 0x1000 + 1);
    assert_eq!(to_json(&empty, 3 * 0x1000), Err(Fault::TooLong));
}

#[test]
fn every_number_of_16_bits_is_read_and_written_as_another_implementation_does() {
    for bits in 0..=u16::MAX {
        let cbor = [vec![0xf9], bits.to_be_bytes().to_vec()].concat();
        let expected: f64 = ciborium::from_reader(&cbor[..]).unwrap();
        let read = to_json(&cbor, BYTES_MAX);
        assert_eq!(read.is_ok(), expected.is_finite(), "{bits:04x}");
        let Ok(json) = read else { continue };
        let text = std::str::from_utf8(&json).unwrap();
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), expected.to_bits(), "{bits:04x}");
        assert_eq!(from_json(&json).unwrap(), cbor, "{bits:04x}");
    }
}

fn encoded(value: &Cbor) -> Vec<u8> {
    let mut cbor = Vec::new();
    ciborium::into_writer(value, &mut cbor).unwrap();
    cbor
}

/// Mostly values with a JSON form.
fn cbor() -> impl Strategy<Value = Cbor> {
    let leaf = prop_oneof![
        8 => any::<u64>().prop_map(Cbor::from),
        8 => any::<i64>().prop_map(Cbor::from),
        8 => any::<f64>().prop_map(Cbor::from),
        8 => any::<f32>().prop_map(Cbor::from),
        8 => ".{0,12}".prop_map(Cbor::from),
        4 => any::<bool>().prop_map(Cbor::from),
        4 => Just(Cbor::Null),
        8 => (22..24_u64, any::<Vec<u8>>()).prop_map(|(tag, bytes)| Cbor::Tag(tag, Box::new(Cbor::Bytes(bytes)))),
        1 => any::<Vec<u8>>().prop_map(Cbor::Bytes),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop_oneof![30 => "[a-z]{0,3}".prop_map(Cbor::from), 1 => any::<u8>().prop_map(Cbor::from)];
        prop_oneof![
            8 => prop::collection::vec(inner.clone(), 0..6).prop_map(Cbor::Array),
            8 => prop::collection::vec((key, inner.clone()), 0..6).prop_map(Cbor::Map),
            2 => (22..24_u64, inner.clone()).prop_map(|(tag, value)| Cbor::Tag(tag, Box::new(value))),
            1 => (24..90_u64, inner).prop_map(|(tag, value)| Cbor::Tag(tag, Box::new(value))),
        ]
    })
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        ".{0,300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 30, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{0,30}", inner, 0..30)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value for the other implementation, with its keys in deterministic order.
fn of_json(value: &Value) -> Cbor {
    match value {
        Value::Array(items) => Cbor::Array(items.iter().map(of_json).collect()),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (Cbor::from(key.as_str()), of_json(value));
            let mut members: Vec<(Cbor, Cbor)> = members.iter().map(member).collect();
            members.sort_by_key(|(key, _)| encoded(key));
            Cbor::Map(members)
        }
        leaf => Cbor::serialized(leaf).unwrap(),
    }
}

/// Numbers that a face may have, as bits.
fn coordinates() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |x| x.is_finite()), 128)
}

/// An array of these numbers, each `width` bits wide.
fn array(numbers: &[f32], width: usize) -> Vec<u8> {
    let item = |number: &f32| match width {
        32 => [&[0xfa][..], &number.to_be_bytes()].concat(),
        _ => [&[0xfb][..], &f64::from(*number).to_be_bytes()].concat(),
    };
    let items: Vec<u8> = numbers.iter().flat_map(item).collect();
    [&[0x98, numbers.len() as u8][..], &items].concat()
}

fn bits(vector: &Vector) -> [u32; 128] {
    vector.coordinates().map(f32::to_bits)
}

proptest! {
    /// Whatever another implementation writes is taken exactly where it has a JSON form, and as that form.
    #[test]
    fn values_of_another_implementation_have_the_form_that_the_rfc_gives_them(value in cbor()) {
        let read = to_json(&encoded(&value), usize::MAX).ok().map(|json| String::from_utf8(json).unwrap());
        prop_assert_eq!(read, form(&value, 0));
    }

    /// Any bytes are refused, or are what another implementation reads. Most are a value with a few changes.
    #[test]
    fn any_bytes_are_refused_or_read_as_by_another_implementation(
        value in cbor(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        more in prop::collection::vec(any::<u8>(), 0..4),
        alone in any::<bool>(),
    ) {
        let mut bytes = if alone { Vec::new() } else { encoded(&value) };
        bytes.extend(more);
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        check(&bytes);
    }

    /// An answer is byte for byte what another implementation writes, and reads as the same JSON.
    #[test]
    fn answers_are_what_another_implementation_writes(value in json_value()) {
        let text = value.to_string();
        let cbor = from_json(text.as_bytes()).unwrap();
        prop_assert_eq!(hex::encode(&cbor), hex::encode(encoded(&of_json(&value))));
        let back = String::from_utf8(to_json(&cbor, usize::MAX).unwrap()).unwrap();
        prop_assert_eq!(Some(back), form(&of_json(&value), 0));
    }

    /// A face in numbers of 32 bits arrives bit for bit, and one of 64 bits as from JSON.
    #[test]
    fn a_face_in_numbers_is_the_vector_that_was_sent(numbers in coordinates()) {
        let sent: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
        for width in [32, 64] {
            let json = to_json(&array(&numbers, width), BYTES_MAX).unwrap();
            let vector: Vector = body::parse(&json).unwrap();
            prop_assert_eq!(&bits(&vector)[..], &sent[..]);
        }
    }

    /// A number of 64 bits becomes the text that JSON has for it, which is exact.
    #[test]
    fn a_number_of_64_bits_is_its_shortest_decimal(number in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
        let json = to_json(&[&[0xfb][..], &number.to_be_bytes()].concat(), BYTES_MAX).unwrap();
        let text = String::from_utf8(json).unwrap();
        prop_assert_eq!(&text, &json!(number).to_string());
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
    }
}

fn tagged(tag: u64, bytes: Vec<u8>) -> Cbor {
    Cbor::Tag(tag, Box::new(Cbor::Bytes(bytes)))
}

fn face(base64: &str) -> Vec<f32> {
    let bytes = BASE64.decode(base64).unwrap();
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A login with `change` made to the members that are byte strings in another form.
fn login(body: &Value, change: fn(&str, &str) -> Option<Cbor>) -> Cbor {
    let members = body.as_object().unwrap().iter().map(|(name, value)| {
        let changed = value.as_str().and_then(|text| change(name, text));
        (Cbor::from(name.as_str()), changed.unwrap_or_else(|| Cbor::serialized(value).unwrap()))
    });
    Cbor::Map(members.collect())
}

/// Members as byte strings where JSON has them in hexadecimal or base64.
fn in_bytes(name: &str, text: &str) -> Option<Cbor> {
    match name {
        "handle" | "session_id" | "nonce" | "mac" => Some(tagged(23, hex::decode(text).unwrap())),
        "embedding" => Some(tagged(22, BASE64.decode(text).unwrap())),
        _ => None,
    }
}

/// The same, and the face as numbers.
fn in_bytes_and_numbers(name: &str, text: &str) -> Option<Cbor> {
    match name {
        "embedding" => Some(Cbor::Array(face(text).into_iter().map(Cbor::from).collect())),
        _ => in_bytes(name, text),
    }
}

/// The login of the request vectors.
fn login_body() -> Value {
    let requests: Value = serde_json::from_str(&std::fs::read_to_string(REQUESTS).unwrap()).unwrap();
    requests["requests"][0]["body"].clone()
}

fn made() -> String {
    let body = login_body();
    let vector = |name: &str, cbor: &Cbor| json!({ "name": name, "cbor": hex::encode(encoded(cbor)) });
    let answer = json!({ "id": "ab".repeat(32), "decision": "no_match", "seal_number": 4711 });
    let vectors = json!({
        "format": "trefoil:cbor-vectors/1",
        "body": body,
        "logins": [
            vector("text as in JSON", &login(&body, |_, _| None)),
            vector("byte strings", &login(&body, in_bytes)),
            vector("byte strings, and the embedding in numbers of 16 and 32 bits", &login(&body, in_bytes_and_numbers)),
        ],
        "answer": { "json": answer, "cbor": hex::encode(encoded(&of_json(&answer))) },
    });
    serde_json::to_string_pretty(&vectors).unwrap() + "\n"
}

/// The committed vectors, which another implementation wrote, are one login and one answer for the service.
#[test]
fn the_committed_vectors_are_one_login() {
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        std::fs::write(VECTORS, made()).unwrap();
    }
    let committed = std::fs::read_to_string(VECTORS).unwrap();
    assert!(committed == made(), "cbor.json; set TREFOIL_BLESS and look at the difference");
    let vectors: Value = serde_json::from_str(&committed).unwrap();
    let expected: Authentication = serde_json::from_value(vectors["body"].clone()).unwrap();
    for vector in vectors["logins"].as_array().unwrap() {
        let json = to_json(&hex::decode(vector["cbor"].as_str().unwrap()).unwrap(), BYTES_MAX).unwrap();
        let read: Authentication = body::parse(&json).unwrap();
        assert_eq!(json!(read), json!(expected), "{}", vector["name"]);
        assert_eq!(read.probe_digest(), expected.probe_digest(), "{}", vector["name"]);
    }
    let answer = &vectors["answer"];
    assert_eq!(hex::encode(from_json(answer["json"].to_string().as_bytes()).unwrap()), answer["cbor"]);
}

/// What the fuzzer starts from: every kind of item, and a login in each form.
fn made_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let all = |items: &[(&str, &str)]| {
        let bytes: Vec<u8> = items.iter().flat_map(|(cbor, _)| hex::decode(cbor).unwrap()).collect();
        [&[0x98, items.len() as u8][..], &bytes].concat()
    };
    let body = login_body();
    vec![
        ("accepted", all(&ACCEPTED)),
        ("login-bytes", encoded(&login(&body, in_bytes))),
        ("login-numbers", encoded(&login(&body, in_bytes_and_numbers))),
        ("login-text", encoded(&login(&body, |_, _| None))),
        ("nested", [vec![0x81; 32], vec![0]].concat()),
        ("preferred", all(&PREFERRED)),
        ("tagged", all(&TAGGED)),
    ]
}

/// The fuzzer starts inside the reader, and near its seeds nothing is wrong.
#[test]
fn the_seeds_of_the_fuzzer_are_read_and_each_part_of_them_is_refused_or_read() {
    let made = made_seeds();
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        made.iter().for_each(|(name, bytes)| std::fs::write(format!("{SEEDS}/{name}"), bytes).unwrap());
    }
    assert_eq!(std::fs::read_dir(SEEDS).unwrap().count(), made.len(), "{SEEDS}: a file without a seed");
    for (name, bytes) in made {
        let committed = std::fs::read(format!("{SEEDS}/{name}")).unwrap_or_default();
        assert!(committed == bytes, "{name}; set TREFOIL_BLESS and look at the difference");
        assert!(to_json(&bytes, BYTES_MAX).is_ok(), "{name}");
        for end in 0..=bytes.len() {
            check(&bytes[..end]);
        }
    }
}
