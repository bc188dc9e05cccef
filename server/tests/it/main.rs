//! The service over real TLS: every refusal, the whole walk of a request, shutdown, slow clients, the command line.

mod cli;
mod connections;
mod crash;
mod enrolment;
mod http;
mod malformed;
mod service;
mod session;
mod shutdown;
