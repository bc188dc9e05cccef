//! The limits in force: `[limits]` of the configuration, which a running service reads again when the configuration file changes, and at SIGHUP.

use crate::config::Limits;
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a request head: path and headers, as HTTP/2 counts them (RFC 9113 section 10.5.1).
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The bounds of a head, also of one that cannot be read.
pub(crate) fn too_large_head() -> String {
    format!(
        "path and headers have more than {HEAD_BYTES_MAX} bytes, or there are more than 100 headers over HTTP/1.1"
    )
}

/// Limits that may change. A connection keeps the limits with which it began; each request reads its own two deadlines.
///
/// The two deadlines are separate, because a request must not count references to the whole: cores would share that counter.
pub(crate) struct LiveLimits {
    all: ArcSwap<Limits>,
    body_timeout_s: AtomicU64,
    answer_timeout_s: AtomicU64,
}

impl LiveLimits {
    pub(crate) fn new(limits: Limits) -> Arc<LiveLimits> {
        Arc::new(LiveLimits {
            body_timeout_s: AtomicU64::new(limits.body_timeout_s),
            answer_timeout_s: AtomicU64::new(limits.answer_timeout_s),
            all: ArcSwap::from_pointee(limits),
        })
    }

    /// The limits now in force, for a new connection.
    pub(crate) fn now(&self) -> Arc<Limits> {
        self.all.load_full()
    }

    /// Replaces them.
    pub(crate) fn set(&self, limits: Limits) {
        self.body_timeout_s.store(limits.body_timeout_s, Ordering::Relaxed);
        self.answer_timeout_s.store(limits.answer_timeout_s, Ordering::Relaxed);
        self.all.store(Arc::new(limits));
    }

    /// Deadline for a body.
    pub(crate) fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_timeout_s.load(Ordering::Relaxed))
    }

    /// Deadline for an answer.
    pub(crate) fn answer_timeout(&self) -> Duration {
        Duration::from_secs(self.answer_timeout_s.load(Ordering::Relaxed))
    }
}
