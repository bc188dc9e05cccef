//! Why a body in CBOR is refused.

use std::borrow::Cow;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) enum Fault {
    /// Where what is wrong begins, in bytes, and what it is.
    At(usize, Cow<'static, str>),
    /// Its JSON is longer than a body may be.
    TooLong,
}

/// A fault at this offset.
pub(super) fn fault(at: usize, what: impl Into<Cow<'static, str>>) -> Fault {
    Fault::At(at, what.into())
}
