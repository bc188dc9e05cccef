//! The system's effects on this process: threads that lost their processors, and page faults.

use std::fs;

use serde_json::{Value, json};

use crate::distribution::rounded;

/// Counts since the process started, of the threads that it has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disturbances {
    /// A thread waited for something.
    voluntary_switches: u64,
    /// The system gave its processor to another.
    involuntary_switches: u64,
    /// A page was mapped.
    minor_faults: u64,
    /// A page was read from a disk.
    major_faults: u64,
}

impl Disturbances {
    /// The present counts; none if the system does not report them.
    pub(crate) fn read() -> Disturbances {
        let mut sum = Disturbances::default();
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let text = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            sum.add_switches(&text("status"));
            sum.add_faults(&text("stat"));
        }
        sum
    }

    fn add_switches(&mut self, status: &str) {
        let of = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            value.unwrap_or(0u64)
        };
        self.voluntary_switches += of("voluntary_ctxt_switches:");
        self.involuntary_switches += of("nonvoluntary_ctxt_switches:");
    }

    /// The tenth and the twelfth field; the second is a name in parentheses that may contain any characters.
    fn add_faults(&mut self, stat: &str) {
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let of = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        self.minor_faults += of(7);
        self.major_faults += of(9);
    }

    /// The counts since `before`. An ended thread takes its counts with it: it counts as zero, never as negative.
    pub(crate) fn since(&self, before: &Disturbances) -> Disturbances {
        Disturbances {
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }

    /// For the record: of each second.
    pub(crate) fn json(&self, seconds: f64) -> Value {
        let each = |count: u64| rounded(count as f64 / seconds);
        json!({
            "voluntary_switches_per_s": each(self.voluntary_switches),
            "involuntary_switches_per_s": each(self.involuntary_switches),
            "minor_faults_per_s": each(self.minor_faults), "major_faults_per_s": each(self.major_faults),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_whatever_a_thread_is_called() {
        let mut sum = Disturbances::default();
        sum.add_switches("Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n");
        sum.add_faults("17 (a ) b) R 1 2 3 4 5 6 700 8 90 1 2 3");
        let expected = Disturbances {
            voluntary_switches: 12,
            involuntary_switches: 3,
            minor_faults: 700,
            major_faults: 90,
        };
        assert_eq!(sum, expected);
    }

    #[test]
    fn a_thread_that_waits_and_touches_new_pages_is_seen() {
        let before = Disturbances::read();
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let pages = vec![1u8; 8 << 20];
        let since = Disturbances::read().since(&before);
        assert!(since.voluntary_switches >= 20, "{since:?}");
        assert!(since.minor_faults > 0 && pages[4096] == 1, "{since:?}");
    }
}
