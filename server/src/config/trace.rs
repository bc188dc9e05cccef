//! The collector of traces.

use super::ConfigError;
use axum::http::Uri;
use serde::{Deserialize, Serialize};

/// `[trace]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Base address of a collector that takes OTLP over HTTP; empty: no traces.
    pub endpoint: String,
    /// One in this many requests is traced; 0: only those whose caller says so.
    pub sample: u64,
    /// Whether a caller's `traceparent` says if its request is traced.
    pub follow_callers: bool,
    /// The name of this service in traces.
    pub service_name: String,
}

impl Trace {
    /// Where a collector takes spans, below its base address.
    const PATH: &str = "/v1/traces";

    /// The address to which spans are sent, or none for no traces.
    pub fn url(&self) -> Option<String> {
        let base = self.endpoint.trim_end_matches('/');
        (!base.is_empty()).then(|| format!("{base}{}", Self::PATH))
    }

    /// Refuses what is no base address, and any address if this program was built without traces.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refused = |key, cause: String| Err(ConfigError::Range { key, cause });
        if !(1..=255).contains(&self.service_name.len()) {
            return refused("trace.service_name", "a name has 1 to 255 bytes".to_owned());
        }
        if self.endpoint.is_empty() {
            return Ok(());
        }
        if let Err(why) = self.check_endpoint() {
            let cause = format!("`{}` {why}; write it as http://127.0.0.1:4318", self.endpoint);
            return refused("trace.endpoint", cause);
        }
        if cfg!(not(feature = "otlp")) {
            let cause = "this program was built without traces; build it with `cargo build --release --features otlp`, or leave it empty";
            return refused("trace.endpoint", cause.to_owned());
        }
        Ok(())
    }

    fn check_endpoint(&self) -> Result<(), &'static str> {
        let address = self.endpoint.parse::<Uri>().map_err(|_| "is no address")?;
        let authority = address.authority().ok_or("names no machine")?;
        match address.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err("begins with neither http:// nor https://"),
        }
        if authority.host().is_empty() {
            return Err("names no machine");
        }
        // The configuration is printed and logged.
        if authority.as_str().contains('@') {
            return Err("holds a password, which belongs in the variable OTEL_EXPORTER_OTLP_HEADERS");
        }
        if address.query().is_some() || address.path().trim_end_matches('/').ends_with(Self::PATH) {
            return Err("is no base address: leave out /v1/traces and what follows a `?`");
        }
        Ok(())
    }
}
