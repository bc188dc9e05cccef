//! Processor time.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of processor time that the calling thread has used. This excludes the time of other programs and
/// waiting.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

/// Nanoseconds of processor time that all threads of this process have used, ended ones included.
pub fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

/// The processors that the calling thread may use, in the order of their numbers; none if the system does not report them.
pub fn allowed() -> Vec<usize> {
    let mask = sched_getaffinity(None).ok();
    mask.map_or(Vec::new(), |mask| (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect())
}

/// Pins the calling thread to `cpu`; it stays where it is if the system refuses.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_processor() {
        let cpus = allowed();
        std::thread::scope(|scope| {
            for &cpu in &cpus {
                scope.spawn(move || {
                    pin(cpu);
                    assert_eq!(allowed(), [cpu]);
                });
            }
        });
        assert_eq!(allowed(), cpus, "others are left where they are");
    }
}
