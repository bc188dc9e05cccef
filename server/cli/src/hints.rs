//! What a mistake in the arguments lacks in the words of the parser: where to find what is missing.

use clap::Error;
use clap::error::{ContextKind, ContextValue};
use trefoil_host::arguments::hidden;

/// Prints the mistake with its hint, and ends the process as the parser would.
pub(super) fn exit(cause: Error) -> ! {
    let mut cause = hidden(cause);
    if let Some(hint) = hint(&cause) {
        cause.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    cause.exit()
}

fn hint(cause: &Error) -> Option<&'static str> {
    let usage = cause.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if !usage.contains("trefoil admin") {
        return None;
    }
    match cause.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => {
            let lacks = |name: &str| missing.iter().any(|argument| argument.contains(name));
            let [tenant, handle] = ["<TENANT>", "<HANDLE>"].map(lacks);
            tenant
                .then_some("`trefoil admin tenant list` shows the tenants")
                .or(handle.then_some("`trefoil admin subject list` shows the subjects"))
        }
        _ => None,
    }
}
