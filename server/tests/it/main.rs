//! The service over real TLS: every refusal, the whole walk of a request, shutdown, slow clients, the command line.

mod cli;
mod connections;
mod crash;
mod credentials;
mod enrolment;
mod http;
mod intake;
mod malformed;
mod members;
mod revocation;
mod service;
mod session;
mod shutdown;
