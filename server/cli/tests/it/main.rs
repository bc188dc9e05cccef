//! The service over real TLS: every refusal, the whole walk of a request, shutdown, slow clients, the command line.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tests count what several threads do"
)]

mod admin;
mod backup;
mod batches;
mod boundary;
mod callers;
mod canary;
mod capture;
mod cli;
mod client;
mod client_certificates;
#[cfg(feature = "otlp")]
mod collector;
mod conditional;
mod connections;
mod crash;
mod credentials;
mod damage;
mod demo;
mod deployment;
mod described;
mod description;
mod disk;
mod distinct_failures;
mod doctor;
mod documents;
mod early;
mod enrolment;
mod erasure;
mod exposition;
mod faces;
mod failover;
mod first_login;
mod fleet;
mod fleet_enrolment;
mod fleet_faults;
mod fleet_load;
mod fleet_outage;
mod fleet_paths;
mod fleet_work;
mod flood;
mod gateway;
mod http;
mod http2;
mod intake;
mod key_holder;
mod key_holder_process;
mod keys;
mod kills;
mod lockouts;
mod log;
mod logging;
mod lost_answers;
mod malformed;
mod members;
mod mistakes;
mod modes;
mod nodes;
mod operators;
mod pages;
mod partitions;
mod plaintext;
mod point_in_time;
mod policies;
mod postgres;
mod program;
mod proxy;
mod quorum;
mod receipts;
mod register;
mod relay;
mod reload;
mod renewal;
mod replacement;
mod reports;
mod retention;
mod revocation;
mod revoked_subjects;
mod rolling;
mod rotation;
#[path = "../../../key-holder/tests/process/scan.rs"]
mod scan;
mod second_look;
mod service;
mod session;
mod sessions;
mod shutdown;
mod siblings;
mod small_disk;
mod started;
mod status;
mod store;
mod subjects;
mod supervision;
mod systemd;
mod theft;
#[cfg(feature = "otlp")]
mod traces;
mod unproven;
mod unverified;
mod usage;
mod vaults;
