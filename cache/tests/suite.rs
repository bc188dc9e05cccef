//! One suite for every implementation of [`Cache`]: what the trait promises, checked against a
//! plain map, at expiry boundaries, across sessions and under contention.

#![cfg(any(feature = "engine", feature = "dashmap"))]

mod suite {
    pub(crate) mod checked;
    pub(crate) mod model;
    pub(crate) mod sessions;
    pub(crate) mod stress;
}

use trefoil_cache::PerWorker;

/// Mounts the suite on an implementation, given an expression that makes one of a capacity.
macro_rules! mount {
    ($name:ident, $feature:literal, $make:expr) => {
        #[cfg(feature = $feature)]
        mod $name {
            use super::*;
            use crate::suite::{model, sessions, stress};

            #[test]
            fn agrees_with_a_map_when_nothing_is_evicted() {
                model::exact_below_capacity($make);
            }

            #[test]
            fn never_returns_a_wrong_value_when_full() {
                model::sound_when_full($make);
            }

            #[test]
            fn counts_add_up() {
                model::counts_add_up($make);
            }

            #[test]
            fn expires_at_the_boundary() {
                sessions::expires_at_the_boundary($make);
            }

            /// Claim O4: A removal is visible to the next look-up, and a withdrawn root's verdicts are removed.
            #[test]
            fn removal_is_visible_to_all_sessions() {
                sessions::removal_is_visible_to_all_sessions($make);
            }

            #[test]
            fn sweep_takes_exactly_the_expired() {
                sessions::sweep_takes_exactly_the_expired($make);
            }

            /// Claim O3: A cache hit returns the value last stored under the whole key, also under contention.
            #[test]
            fn keys_that_differ_in_one_bit_are_different() {
                sessions::keys_that_differ_in_one_bit_are_different($make);
            }

            /// Claim O3.
            #[test]
            fn no_torn_or_foreign_value_under_contention() {
                stress::no_torn_or_foreign_value($make);
            }

            #[test]
            fn no_torn_value_beside_busy_writers() {
                stress::no_torn_value_beside_busy_writers($make);
            }

            /// Claim O4.
            #[test]
            fn a_removed_value_stays_away_under_contention() {
                stress::a_removed_value_stays_away($make);
            }
        }
    };
}

mount!(engine, "engine", |capacity| trefoil_cache::Engine::<_, PerWorker>::new(
    trefoil_cache::EngineConfig { capacity }
));
mount!(baseline, "dashmap", trefoil_cache::Baseline::<_, PerWorker>::new);
