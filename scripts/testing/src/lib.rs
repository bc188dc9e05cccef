//! Helpers that the tests of several crates share. Only development dependencies may name this crate.

#[cfg(feature = "sqlite")]
mod damage;
#[cfg(feature = "sqlite")]
mod fields;
#[cfg(feature = "postgres")]
pub mod patroni;
#[cfg(feature = "postgres")]
pub mod postgres;
mod search;

#[cfg(feature = "sqlite")]
pub use damage::{copy, damage, rows};
#[cfg(feature = "sqlite")]
pub use fields::{EDITS, edit_fields};
pub use search::{Patterns, contains, search};

use std::sync::LazyLock;

/// The variable that sets the scale: `check`, `test` or `soak`. Unset means `check`.
pub const VARIABLE: &str = "TREFOIL_TEST_SCALE";
/// Set to `absent` where PostgreSQL is not installed: its tests then pass without running, and say so.
pub const POSTGRES: &str = "TREFOIL_TEST_POSTGRES";
/// Set to `absent` where Patroni or etcd is not installed, or where its tests run in a step of their own: they then pass without running, and say so.
pub const PATRONI: &str = "TREFOIL_TEST_PATRONI";

/// How much of its full volume a volume test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A hundredth: `cargo xtask check`, and `cargo test` without the variable.
    Check,
    /// A twentieth: `cargo xtask test`.
    Test,
    /// All of it: `cargo xtask soak`.
    Soak,
}

impl Scale {
    /// From the smallest.
    pub const ALL: [Scale; 3] = [Scale::Check, Scale::Test, Scale::Soak];

    /// The scale of this run.
    ///
    /// # Panics
    /// If the variable holds anything else: a misspelt scale must not pass for a smaller one.
    #[must_use]
    pub fn of_this_run() -> Scale {
        static SCALE: LazyLock<Scale> = LazyLock::new(|| {
            let set = std::env::var_os(VARIABLE);
            let name = set.as_ref().map_or("check", |name| name.to_str().unwrap_or_default());
            Scale::named(name).unwrap_or_else(|| panic!("{VARIABLE} is {set:?}: use check, test or soak"))
        });
        *SCALE
    }

    /// The value of the variable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scale::Check => "check",
            Scale::Test => "test",
            Scale::Soak => "soak",
        }
    }

    fn named(name: &str) -> Option<Scale> {
        Scale::ALL.into_iter().find(|scale| scale.name() == name)
    }

    /// This scale's share of `full`, and never less than `least`: below that the test would show nothing.
    #[must_use]
    pub fn of(self, full: usize, least: usize) -> usize {
        let divisor = match self {
            Scale::Check => 100,
            Scale::Test => 20,
            Scale::Soak => 1,
        };
        (full / divisor).max(least).min(full)
    }
}

/// How many of `full` repetitions to do in this run: never less than `least`.
#[must_use]
pub fn volume(full: usize, least: usize) -> usize {
    Scale::of_this_run().of(full, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_takes_its_share_and_no_less_than_shows_something() {
        assert_eq!(Scale::ALL.map(|scale| scale.of(20_000, 300)), [300, 1_000, 20_000]);
        assert_eq!(Scale::ALL.map(|scale| scale.of(100, 500)), [100; 3]);
    }

    #[test]
    fn a_misspelt_scale_is_none() {
        assert_eq!(["check", "test", "soak"].map(Scale::named), Scale::ALL.map(Some));
        assert_eq!(["", "Soak", "full", "test "].map(Scale::named), [None; 4]);
    }
}
