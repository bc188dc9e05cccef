//! Processor time.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of processor time that the calling thread has used: what other programs take does not count, nor does
/// waiting.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}
