//! Processor time.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of processor time that the calling thread has used: what other programs take does not count, nor does
/// waiting.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

/// Nanoseconds of processor time that all threads of this process have used, ended ones included.
pub(crate) fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}
