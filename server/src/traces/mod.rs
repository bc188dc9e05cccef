//! Traces: sampled requests with their steps, sent to a collector by OTLP over HTTP. Only a program built with the feature `otlp` has them; in
//! another one `absent` is in their place, and its calls do nothing.
//!
//! A span has a method, a route, a status, a code, a tenant, counts and times: nothing else of a request or an answer. So no subject, nonce,
//! face or key can be in one.
//!
//! # Threads
//!
//! A task that answers a traced request puts it into a bounded queue, and drops it if the queue is full. One more thread makes spans of what is
//! in the queue, four times a second, and sends them. A request waits for neither the thread nor the collector. What is not traced reads one
//! random number, which it needs anyway, and one header.

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod collector;
#[cfg(feature = "otlp")]
mod counts;
#[cfg(feature = "otlp")]
mod finished;
#[cfg(feature = "otlp")]
mod noted;
#[cfg(any(feature = "otlp", test))]
mod sampler;
#[cfg(any(feature = "otlp", test))]
mod steps;
#[cfg(any(feature = "otlp", test))]
mod traceparent;
#[cfg(feature = "otlp")]
mod tracer;
#[cfg(feature = "otlp")]
mod writer;

#[cfg(not(feature = "otlp"))]
pub(crate) use absent::{Noted, Traces, Writer, answered, is_of_tenant, noting, submits};
#[cfg(feature = "otlp")]
pub(crate) use {
    noted::{Noted, answered, is_of_tenant, noting, submits},
    tracer::Traces,
    writer::Writer,
};
