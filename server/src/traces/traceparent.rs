//! The caller's part in a trace: the header `traceparent` of W3C Trace Context.

use axum::http::HeaderMap;

/// `00-`, 32 digits of the trace, `-`, 16 of the caller's span, `-`, 2 of flags.
const BYTES: usize = 55;
const HEADER: &str = "traceparent";
/// The flag of a trace that its caller records.
const SAMPLED: u8 = 1;

/// A caller's trace, and its span in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traceparent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    /// Whether the caller records it.
    pub(super) is_sampled: bool,
}

impl Traceparent {
    /// That of a request, which is ignored if it is malformed or there are two.
    pub(super) fn of(headers: &HeaderMap) -> Option<Traceparent> {
        let mut values = headers.get_all(HEADER).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        Traceparent::parse(value.as_bytes())
    }

    /// Reads the form of version 00. Later versions begin with it and may go on after another `-`.
    fn parse(value: &[u8]) -> Option<Traceparent> {
        let (head, rest) = value.split_at_checked(BYTES)?;
        let [version, trace, span, flags] = fields(head)?;
        let [version] = digits(version)?;
        if version == 0xff || (version == 0 && !rest.is_empty()) || !matches!(rest, [] | [b'-', ..]) {
            return None;
        }
        let ([flags], trace, span) = (digits(flags)?, digits(trace)?, digits(span)?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Traceparent { trace, span, is_sampled: flags & SAMPLED != 0 })
    }
}

fn fields(head: &[u8]) -> Option<[&[u8]; 4]> {
    let fields: Vec<&[u8]> = head.splitn(5, |byte| *byte == b'-').collect();
    fields.try_into().ok()
}

/// Bytes from lower-case hexadecimal digits, exactly `N` of them.
fn digits<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let is_lower = !text.iter().any(u8::is_ascii_uppercase);
    (is_lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the recommendation.
    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parse(text: &str) -> Option<Traceparent> {
        Traceparent::parse(text.as_bytes())
    }

    #[test]
    fn the_example_of_the_recommendation_is_read() {
        let read = parse(EXAMPLE).unwrap();
        assert_eq!(hex::encode(read.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(hex::encode(read.span), "00f067aa0ba902b7");
        assert!(read.is_sampled);
        assert!(!parse(&EXAMPLE.replace("b7-01", "b7-00")).unwrap().is_sampled);
        assert!(parse(&EXAMPLE.replace("b7-01", "b7-03")).unwrap().is_sampled);
    }

    #[test]
    fn a_later_version_may_have_more_and_is_read_like_the_first() {
        let later = EXAMPLE.replacen("00-", "cc-", 1);
        assert_eq!(parse(&later), parse(EXAMPLE));
        assert_eq!(parse(&format!("{later}-what-the-future-will-be-like")), parse(EXAMPLE));
        assert_eq!(parse(&format!("{later}.what-the-future-will-not-be-like")), None);
    }

    #[test]
    fn what_is_malformed_is_ignored() {
        for wrong in [
            String::new(),
            "00".to_owned(),
            EXAMPLE[..54].to_owned(),
            format!("{EXAMPLE}-"),
            format!("{EXAMPLE}0"),
            format!(" {EXAMPLE}"),
            EXAMPLE.to_uppercase(),
            EXAMPLE.replacen("00-", "ff-", 1),
            EXAMPLE.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            EXAMPLE.replace("00f067aa0ba902b7", &"0".repeat(16)),
            EXAMPLE.replace("4bf9", "4bg9"),
            EXAMPLE.replace('-', "_"),
            EXAMPLE.replace("736-00f", "73-600f"),
        ] {
            assert_eq!(parse(&wrong), None, "{wrong}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(Traceparent::of(&headers), None);
        headers.append(HEADER, EXAMPLE.parse().unwrap());
        assert_eq!(Traceparent::of(&headers), parse(EXAMPLE));
        headers.append(HEADER, EXAMPLE.parse().unwrap());
        assert_eq!(Traceparent::of(&headers), None, "two are none");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_ignored(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Traceparent::parse(&bytes);
        }

        #[test]
        fn what_is_read_is_what_was_written(trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), flags in any::<u8>()) {
            let text = format!("00-{}-{}-{flags:02x}", hex::encode(trace), hex::encode(span));
            let is_sampled = flags & 1 == 1;
            let is_valid = trace != [0; 16] && span != [0; 8];
            let written = is_valid.then_some(Traceparent { trace, span, is_sampled });
            prop_assert_eq!(parse(&text), written);
        }

        #[test]
        fn a_changed_byte_gives_other_digits_or_nothing(at in 0..BYTES, byte in any::<u8>()) {
            let mut bytes = EXAMPLE.as_bytes().to_vec();
            bytes[at] = byte;
            let is_digit = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let was_digit = EXAMPLE.as_bytes()[at] != b'-';
            prop_assert!(Traceparent::parse(&bytes).is_none() || is_digit == was_digit);
        }
    }
}
