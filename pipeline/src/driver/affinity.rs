//! Which CPUs the workers run on: one per physical core of the mask this process was given.
//!
//! The mask is read once, before anything is pinned (a pinned thread only sees its own CPU), and a
//! worker is never pinned outside of it. SMT siblings and CPU quotas are respected: two workers on one
//! core, or pinned workers under a quota smaller than their number, run slower than unpinned ones.
//! This is the only file of the crate that reads the host (`/sys`, `/proc`), once at start.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPU of each worker, decided before the pool starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// CPU of worker `i`, or `None` where it floats. Length = number of workers.
    pub cpus: Vec<Option<usize>>,
    /// Physical cores in this process's mask.
    pub physical_cores: usize,
    /// Whether two busy threads beside the workers cost them little: two cores have no worker, or they are two of many.
    pub spares_two_cores: bool,
    /// Notes for the operator, one sentence each.
    pub warnings: Vec<String>,
}

/// With this many cores, one more is no loss.
const MANY_CORES: f64 = 16.0;

/// How workers are tied to CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// One worker per physical core unless a CPU quota makes that harmful.
    #[default]
    Auto,
    /// Leave placement to the scheduler.
    Off,
}

impl Placement {
    /// Places `workers` (default: one per physical core) on the CPUs this process may use.
    pub fn new(workers: Option<usize>, pin: Pin) -> Self {
        Self::plan(workers, pin, &physical_cores(), cpu_quota())
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.cpus.len()
    }

    /// Threads that seal beside the workers. Two where two cores can be spared: a digest then waits for half of a seal's time and is
    /// released after about one and a half, instead of two. On cores that have workers a second thread would make smaller groups for no
    /// gain.
    pub fn sealers(&self) -> usize {
        1 + usize::from(self.spares_two_cores)
    }

    fn plan(workers: Option<usize>, pin: Pin, cores: &[usize], quota: Option<f64>) -> Self {
        let count = workers.unwrap_or(cores.len()).max(1);
        let mut warnings = Vec::new();
        if count > cores.len() {
            warnings.push(format!(
                "{count} workers on {} physical cores: several share a core, throughput will not rise with them",
                cores.len()
            ));
        }
        let starved = quota.is_some_and(|q| q < count as f64);
        if let (true, Some(q)) = (starved, quota) {
            warnings.push(format!("the CPU quota is {q:.1} for {count} workers: they are not pinned"));
        }
        let float = pin == Pin::Off || starved || cores.is_empty();
        let cpus = (0..count).map(|i| (!float).then(|| cores[i % cores.len()])).collect();
        let usable = quota.unwrap_or(f64::INFINITY).min(cores.len() as f64);
        let spares_two_cores = usable >= MANY_CORES.min((count + 2) as f64);
        Placement { cpus, physical_cores: cores.len(), spares_two_cores, warnings }
    }
}

/// Pins the calling thread to `cpu`; `false` where the system refuses.
pub fn pin_current(cpu: usize) -> bool {
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).is_ok()
}

/// First SMT sibling of every core in the calling thread's mask, ascending.
fn physical_cores() -> Vec<usize> {
    let Ok(mask) = sched_getaffinity(None) else {
        return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    };
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&c| mask.is_set(c)).collect();
    let mut taken: Vec<usize> = Vec::new();
    let mut cores = Vec::new();
    for &cpu in &allowed {
        if taken.contains(&cpu) {
            continue;
        }
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = fs::read_to_string(path).map(|s| parse_cpu_list(&s)).unwrap_or_default();
        taken.extend(siblings);
        cores.push(cpu);
    }
    cores
}

/// Parses the kernel's CPU list format, such as `0-3,8`. Malformed parts are skipped.
fn parse_cpu_list(list: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(from), Ok(to)) = (from.parse::<usize>(), to.parse::<usize>()) {
            cpus.extend(from..=to.min(CpuSet::MAX_CPU));
        }
    }
    cpus
}

/// CPUs' worth of time this cgroup may use (`cpu.max`, cgroup v2), if it is limited.
fn cpu_quota() -> Option<f64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|l| l.strip_prefix("0::"))?;
    parse_cpu_max(&fs::read_to_string(format!("/sys/fs/cgroup{path}/cpu.max")).ok()?)
}

fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_one_worker_per_core() {
        let p = Placement::plan(None, Pin::Auto, &[0, 2, 4], None);
        assert_eq!(p.cpus, [Some(0), Some(2), Some(4)]);
        assert!(p.warnings.is_empty());
    }

    #[test]
    fn more_workers_than_cores_wrap_and_warn() {
        let p = Placement::plan(Some(5), Pin::Auto, &[0, 1], None);
        assert_eq!(p.cpus, [Some(0), Some(1), Some(0), Some(1), Some(0)]);
        assert_eq!(p.warnings.len(), 1);
    }

    #[test]
    fn a_quota_below_the_worker_count_leaves_them_floating() {
        let p = Placement::plan(Some(4), Pin::Auto, &[0, 1, 2, 3], Some(1.5));
        assert_eq!(p.cpus, [None; 4]);
        assert_eq!(p.warnings.len(), 1);
        assert!(Placement::plan(Some(4), Pin::Auto, &[0, 1, 2, 3], Some(4.0)).warnings.is_empty());
    }

    #[test]
    fn cores_are_spared_where_they_have_no_worker_or_are_of_many() {
        let spares = |workers, cores, quota| {
            let cores: Vec<usize> = (0..cores).collect();
            Placement::plan(Some(workers), Pin::Auto, &cores, quota).spares_two_cores
        };
        assert!(spares(1, 3, None) && spares(2, 4, None) && spares(16, 16, None) && spares(96, 96, None));
        assert!(!spares(1, 2, None) && !spares(2, 2, None) && !spares(15, 15, None) && !spares(1, 1, None));
        assert!(!spares(2, 64, Some(3.5)) && spares(2, 64, Some(4.0)) && !spares(64, 64, Some(8.0)));
    }

    #[test]
    fn kernel_formats_parse() {
        assert_eq!(parse_cpu_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(parse_cpu_list("x,3"), [3]);
        assert_eq!(parse_cpu_max("200000 100000\n"), Some(2.0));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        let cpu = physical_cores()[0];
        std::thread::spawn(move || {
            assert!(pin_current(cpu));
            assert_eq!(physical_cores(), [cpu]);
        })
        .join()
        .expect("pinning thread");
        assert!(!pin_current(usize::MAX));
    }
}
