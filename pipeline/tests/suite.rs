//! One suite, mounted once per cache: engine and baseline must give identical outcomes.

#[path = "suite/counted.rs"]
mod counted;
#[path = "suite/service.rs"]
mod service;
#[path = "suite/steps.rs"]
mod steps;
#[path = "suite/world.rs"]
mod world;

/// Mounts every case on the cache that `$cache` makes.
macro_rules! mount {
    ($module:ident, $cache:expr) => {
        mod $module {
            use super::{service, steps};

            mount! { @cases $cache, steps:
                full_batch_decides_and_binds,
                places_are_drawn_anew_for_each_batch,
                missing_and_expired_sessions_are_refused,
                withdrawn_root_is_refused_at_the_next_batch,
                session_covers_only_its_subject_audience_and_level,
                a_batch_reads_one_snapshot_and_looks_each_verdict_up_once,
                what_is_not_its_holders_is_refused_and_spends_nothing,
                what_another_node_has_taken_is_refused_and_the_others_are_decided,
                a_tenant_without_proofs_has_no_look_ups_and_says_so_in_each_statement,
                shredded_template_costs_only_its_own_lane,
                lanes_of_two_epochs_are_matched_apart_and_answered_in_order,
                probe_of_another_mode_costs_only_its_own_lane,
                no_decision_without_the_key_holder,
                a_subject_without_attempts_is_denied_and_costs_its_neighbours_nothing,
                public_keys_that_are_out_of_date_are_fetched_again,
                shares_that_were_opened_serve_for_the_second_attempt,
                a_quorum_gets_what_its_seats_check_each_other_with,
                request_that_cannot_be_attested_is_answered_as_a_fault,
                unknown_tenant_is_refused
            }
            mount! { @cases $cache, service:
                every_request_is_answered_once_and_verifies,
                full_intake_refuses_at_the_door,
                no_more_is_computed_than_may_wait_for_a_seal,
                panic_in_a_batch_leaves_the_service_running,
                a_panicking_thread_is_named_and_neither_requests_nor_the_drain_hang,
                a_worker_that_panics_with_a_seal_is_named_and_the_drain_does_not_hang,
                requests_do_not_wake_the_dispatcher_while_others_wait_for_company,
                seals_form_a_chain
            }
        }
    };
    (@cases $cache:expr, $group:ident: $($case:ident),*) => {
        $(#[test]
        fn $case() {
            $group::$case($cache);
        })*
    };
}

#[cfg(feature = "cache-engine")]
mount!(
    engine,
    trefoil_cache::Engine::<trefoil_pipeline::Verdict>::new(trefoil_cache::EngineConfig { capacity: 1024 })
);
#[cfg(feature = "cache-dashmap")]
mount!(baseline, trefoil_cache::Baseline::<trefoil_pipeline::Verdict>::new(1024));
