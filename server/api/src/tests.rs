use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

#[test]
fn a_vector_reads_the_same_from_base64_and_from_numbers() {
    let coordinates: [f32; 128] = std::array::from_fn(|i| (i as f32 - 60.5) / 7.0);
    let vector = Vector::new(coordinates);
    let base64 = serde_json::to_string(&vector).unwrap();
    let numbers = serde_json::to_string(coordinates.as_slice()).unwrap();
    assert_eq!(serde_json::from_str::<Vector>(&base64).unwrap(), vector);
    assert_eq!(serde_json::from_str::<Vector>(&numbers).unwrap(), vector);
    assert_eq!(format!("{vector:?}"), "Vector(..)");
}

#[test]
fn hexadecimal_has_exactly_the_right_length() {
    assert_eq!(Hex::parse("0aFf"), Some(Hex([10, 255])));
    for wrong in ["", "0a", "0aff00", "0afg", "0x0a"] {
        assert_eq!(Hex::<2>::parse(wrong), None, "{wrong}");
    }
    // Every pair of characters reads as another implementation reads it.
    for pair in (0..1 << 14).map(|pair: u16| [(pair >> 7) as u8, (pair & 127) as u8]) {
        let read = Hex::<1>::parse(std::str::from_utf8(&pair).unwrap());
        assert_eq!(read.map(|hex| hex.0.to_vec()), hex::decode(pair).ok(), "{pair:?}");
    }
    assert_eq!(Hex::<1>::parse("\u{e9}"), None);
    assert_eq!(serde_json::from_str::<Hex<1>>(r#""\u0030a""#).unwrap(), Hex([10]), "a digit as an escape");
    let refused = |json: &str| serde_json::from_str::<Hex<2>>(json).unwrap_err().to_string();
    assert!(refused("\"\u{e9}\"").starts_with("expected 4 hexadecimal digits, got 1 characters"));
    assert!(refused("7").starts_with("invalid type: integer `7`, expected a string"));
    assert!(serde_json::from_str::<Nonce>(&format!("\"{}\"", "00".repeat(15))).is_err());
    assert!(serde_json::from_str::<Nonce>(&format!("\"{}\"", "00".repeat(16))).is_ok());
    assert!(serde_json::from_str::<Nonce>(&format!("\"{}\"", "00".repeat(65))).is_err());
}

#[test]
fn base64_is_written_as_a_whole_and_in_parts_the_same() {
    // Longer than the parts in which it is written.
    for length in (0..100).chain(700..800).chain([22_000]) {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
        let json = serde_json::to_string(&Base64(bytes.clone())).unwrap();
        assert_eq!(json, format!("\"{}\"", BASE64.encode(&bytes)), "{length}");
        assert_eq!(serde_json::from_str::<Base64>(&json).unwrap(), Base64(bytes));
    }
    assert!(
        serde_json::from_str::<Base64>("\"_w==\"").unwrap_err().to_string().contains("standard alphabet")
    );
}

#[test]
fn times_and_delays_that_no_store_can_hold_are_refused() {
    let key = |end: u64| {
        serde_json::from_str::<CreateApiKey>(&format!("{{\"scopes\": [\"enrol\"], \"expires_at\": {end}}}"))
    };
    assert_eq!(key(TIME_MAX).unwrap().expires_at, Some(TIME_MAX));
    assert!(key(TIME_MAX + 1).unwrap_err().to_string().contains("the end of the year 9999"));
    let policy = |delay: u64| -> Policy {
        let policy = format!(
            "{{\"embedder\": \"facenet-128\", \"threshold\": {{\"fmr_class\": 3}}, \"audiences\": [\"a\"], \"attempts\": {{\"delay_s\": {delay}}}}}"
        );
        serde_json::from_str(&policy).unwrap()
    };
    assert_eq!(policy(31_536_000).check(), Ok(()));
    assert_eq!(policy(31_536_001).check().unwrap_err().pointer, "/attempts/delay_s");
}

#[test]
fn a_name_with_a_line_break_is_told_what_is_wrong_with_it() {
    let named = |name: &str| {
        let tenant = serde_json::json!({"embeddings": [vec![1; 128]], "consent_ref": name});
        serde_json::from_value::<Enrolment>(tenant).err().map(|cause| cause.to_string()).unwrap_or_default()
    };
    assert_eq!(named("form 7"), "");
    for name in ["form 7\n", "a\tb", "\u{7f}"] {
        assert_eq!(
            named(name),
            "expected one line of text, without line breaks and other control characters"
        );
    }
    assert_eq!(named(""), "expected 1 to 256 bytes of text");
}
