//! The queue of traced requests that were answered.

use super::collector::exporter;
use super::counts::Counters;
use super::finished::Finished;
use super::noted::Noted;
use super::sampler::{Sampler, Traced};
use super::writer::Writer;
use crate::capture::Shape;
use crate::config::{ConfigError, Trace};
use crate::problem::Code;
use axum::http::HeaderMap;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::mpsc;

/// Most answered requests that wait to be exported. One takes less than a kilobyte.
const REQUESTS_MAX: usize = 1024;

/// See [the module](super). Nothing is traced without a collector.
pub(crate) struct Traces(Option<Tracer>);

struct Tracer {
    sampler: Sampler,
    queue: mpsc::Sender<Finished>,
    counters: Arc<Counters>,
}

impl Traces {
    /// Starts the thread that exports, if the configuration names a collector.
    pub(crate) fn start(config: &Trace) -> Result<(Traces, Writer), ConfigError> {
        let Some(url) = config.url() else { return Ok((Traces(None), Writer::default())) };
        let refused = |cause: String| ConfigError::Range { key: "trace.endpoint", cause };
        let exporter = exporter(&url, &config.service_name).map_err(refused)?;
        let (queue, answered) = mpsc::channel(REQUESTS_MAX);
        let counters = Arc::<Counters>::default();
        let writer = Writer::start(exporter, answered, Arc::clone(&counters));
        let writer = writer.map_err(|cause| refused(format!("its thread does not start: {cause}")))?;
        let sampler = Sampler { one_in: config.sample, follows_callers: config.follow_callers };
        Ok((Traces(Some(Tracer { sampler, queue, counters })), writer))
    }

    /// Decides whether a request is traced; `request` are the random bytes of its identifier.
    pub(crate) fn begin(&self, request: [u8; 16], headers: &HeaderMap) -> Traced {
        self.0.as_ref().map_or(Traced(None), |tracer| tracer.sampler.sample(request, headers))
    }

    /// A request was answered.
    pub(crate) fn end<'a>(
        &self,
        traced: Traced,
        shape: impl FnOnce() -> Shape<'a>,
        code: Option<Code>,
        noted: Noted,
    ) {
        let (Some(Tracer { queue, counters, .. }), Some(context)) = (&self.0, traced.0) else { return };
        let finished = Finished::new(context, &shape(), code, noted, SystemTime::now());
        let spans = finished.spans();
        if queue.try_send(finished).is_err() {
            counters.crowded_out(spans);
        }
    }

    /// Spans since the start, if requests are traced: exported, dropped because too many requests waited, dropped because the collector did
    /// not take them.
    pub(crate) fn counts(&self) -> Option<[u64; 3]> {
        self.0.as_ref().map(|tracer| tracer.counters.read())
    }
}
