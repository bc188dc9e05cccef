//! Text and times in a body, within their bounds.

use super::TIME_MAX;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(time) if time > TIME_MAX => {
            Err(D::Error::custom(format_args!("expected a time until {TIME_MAX}, the end of the year 9999")))
        }
        time => Ok(time),
    }
}

pub(crate) fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    reference(deserializer).map(Some)
}

pub(crate) fn reference<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, 256)
}

pub(crate) fn operator_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, trefoil_attest::OPERATOR_NAME_BYTES_MAX)
}

pub(crate) fn audience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer, 255)
}

pub(crate) fn is_text(text: &str, bytes_max: usize) -> bool {
    (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control)
}

pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D, bytes_max: usize) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_text(&text, bytes_max) {
        return Ok(text);
    }
    let cause = match text.chars().any(char::is_control) {
        true => "expected one line of text, without line breaks and other control characters",
        false => return Err(D::Error::custom(format_args!("expected 1 to {bytes_max} bytes of text"))),
    };
    Err(D::Error::custom(cause))
}
