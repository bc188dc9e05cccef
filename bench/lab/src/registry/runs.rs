//! What one run gives: reads, processor time, switches of threads.

use std::fs;
use std::time::Duration;

/// The entry that all threads read.
pub(super) const WANTED: u64 = 7;

/// Sums over the reading threads of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) reads: u64,
    /// Reads that found nothing or an entry of another key.
    pub(super) wrong: u64,
    pub(super) cpu_ns: u64,
    pub(super) wall: Duration,
    pub(super) writes: u64,
    pub(super) switches: Switches,
}

impl Run {
    pub(super) fn cpu_ns_per_read(&self) -> f64 {
        self.cpu_ns as f64 / self.reads as f64
    }

    pub(super) fn million_per_s(&self) -> f64 {
        self.reads as f64 / self.wall.as_secs_f64() / 1e6
    }
}

/// Entries carry their key in the upper half and their version below.
pub(super) fn is_wanted(entry: Option<u64>) -> bool {
    entry.is_some_and(|entry| entry >> 32 == WANTED)
}

/// How often the system took a processor from the threads of a run, and how often they gave theirs up because they had to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Switches {
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
}

impl Switches {
    /// Of the calling thread so far, as `getrusage` counts them; none if the system does not report them.
    pub(super) fn of_this_thread() -> Switches {
        Switches::of(&fs::read_to_string("/proc/thread-self/status").unwrap_or_default())
    }

    fn of(status: &str) -> Switches {
        let count = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            value.unwrap_or(0)
        };
        Switches {
            voluntary: count("voluntary_ctxt_switches:"),
            involuntary: count("nonvoluntary_ctxt_switches:"),
        }
    }

    pub(super) fn since(self, before: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }

    pub(super) fn add(&mut self, other: Switches) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_from_a_status_and_never_negative() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        let read = Switches::of(status);
        assert_eq!(read, Switches { voluntary: 12, involuntary: 3 });
        assert_eq!(Switches::default().since(read), Switches::default());
        let before = Switches::of_this_thread();
        (0..10).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        assert!(Switches::of_this_thread().since(before).voluntary >= 10);
    }
}
