//! The service over real TLS: every refusal, the whole walk of a request, shutdown, slow clients, the command line.

mod backup;
mod canary;
mod cli;
mod client;
mod connections;
mod crash;
mod credentials;
mod damage;
mod demo;
mod enrolment;
mod faces;
mod flood;
mod gateway;
mod http;
mod http2;
mod intake;
mod key_holder;
mod keys;
mod kills;
mod log;
mod logging;
mod malformed;
mod members;
mod modes;
mod program;
mod quorum;
mod revocation;
mod rotation;
#[path = "../../key-holder/tests/process/scan.rs"]
mod scan;
mod service;
mod session;
mod sessions;
mod shutdown;
mod supervision;
mod vaults;
