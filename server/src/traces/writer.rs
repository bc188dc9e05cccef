//! The thread that exports.

use super::counts::Counters;
use super::finished::Finished;
use opentelemetry::InstrumentationScope;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// How often the queue is emptied.
const EVERY: Duration = Duration::from_millis(250);
/// Most spans that are sent together, or a few more: those of one request stay together.
const SPANS_MAX: usize = 512;
/// How long a service that ends waits for its last spans to be sent.
const LAST_MAX: Duration = Duration::from_secs(2);

/// The thread, if there is one. It ends when this is dropped.
#[derive(Default)]
pub(crate) struct Writer(Option<(watch::Sender<bool>, JoinHandle<()>)>);

impl Writer {
    /// Starts the thread, which sends the spans of requests from this queue.
    pub(super) fn start(
        exporter: SpanExporter,
        queue: mpsc::Receiver<Finished>,
        counters: Arc<Counters>,
    ) -> io::Result<Writer> {
        // Of its own, so that encoding and sending delay no request on the service's.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let scope = InstrumentationScope::builder("trefoil").with_version(env!("CARGO_PKG_VERSION")).build();
        let exporting = Exporting { exporter, queue, counters, scope };
        let run = move || exporting.run(runtime, stopped);
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(run)?;
        Ok(Writer(Some((stop, thread))))
    }

    /// Sends what waits, for [`LAST_MAX`] at most, and ends the thread.
    pub(crate) async fn end(self) {
        let Some((stop, thread)) = self.0 else { return };
        // The thread may be gone after a panic, which is in the log.
        let _ = stop.send(true);
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
}

struct Exporting {
    exporter: SpanExporter,
    queue: mpsc::Receiver<Finished>,
    counters: Arc<Counters>,
    scope: InstrumentationScope,
}

impl Exporting {
    fn run(self, runtime: Runtime, stopped: watch::Receiver<bool>) {
        runtime.block_on(async {
            tokio::select! {
                () = too_late(stopped.clone()) => {
                    tracing::warn!("the collector did not take the last spans in time: they are dropped");
                }
                () = self.export_until(stopped) => {}
            }
        });
        // A look-up of the collector's name may take longer than the service may.
        runtime.shutdown_background();
    }

    async fn export_until(mut self, mut stopped: watch::Receiver<bool>) {
        let mut is_last = false;
        while !is_last {
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => is_last = true,
                () = sleep(EVERY) => {}
            }
            self.export_waiting().await;
        }
    }

    async fn export_waiting(&mut self) {
        let mut spans = Vec::new();
        while let Ok(finished) = self.queue.try_recv() {
            spans.extend(finished.into_spans(&self.scope));
            if spans.len() >= SPANS_MAX {
                self.export(std::mem::take(&mut spans)).await;
            }
        }
        self.export(spans).await;
    }

    async fn export(&self, spans: Vec<SpanData>) {
        let count = spans.len() as u64;
        if count == 0 {
            return;
        }
        match self.exporter.export(spans).await {
            Ok(()) => self.counters.exported(count),
            Err(_) => self.counters.not_taken(count),
        }
    }
}

/// Ends [`LAST_MAX`] after the service does.
async fn too_late(mut stopped: watch::Receiver<bool>) {
    // An error says that the sender was dropped, which is an end too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
    sleep(LAST_MAX).await;
}
