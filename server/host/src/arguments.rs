//! A mistake in the arguments without what may be a secret in the wrong place: the parser repeats every word that it does not understand.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use trefoil_contents::shown;

/// The error without such words.
pub fn hidden(mut cause: Error) -> Error {
    let kind = match cause.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => ContextKind::InvalidValue,
    };
    if let Some(ContextValue::String(word)) = cause.get(kind) {
        let told = shown(word);
        if !told.contains(word.as_str()) {
            cause.insert(kind, ContextValue::String(told));
            // "to pass ... as a value"
            cause.remove(ContextKind::Suggested);
        }
    }
    cause
}
