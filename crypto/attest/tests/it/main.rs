//! The formats and the verification with public inputs only: vectors, properties, bounds, and inputs that mean harm.

#[cfg(feature = "json")]
mod bounds;
#[cfg(feature = "json")]
mod consistency;
#[cfg(feature = "json")]
mod corpus;
mod history;
mod log;
#[cfg(feature = "json")]
mod mutations;
#[cfg(feature = "json")]
mod shared_vectors;
mod statement;
#[cfg(feature = "json")]
#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "public in the fuzzer's own library")]
mod target;
mod tree;
#[cfg(feature = "json")]
mod vectors;
