//! Processor time of processes, and what the database counted.

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::distribution::rounded;

/// Ticks of `/proc/PID/stat` in a second: 100 on every Linux that Rust supports, whatever the kernel's own frequency is.
const TICKS_PER_S: f64 = 100.0;
/// The processes whose time is counted apart, and the sum of the first three.
pub(super) const PARTS: [&str; 5] = ["nodes", "key_holder", "postgresql", "generator", "installation"];
/// What the database counts.
pub(super) const COUNTS: [&str; 4] = ["transactions", "statements", "rows", "wal_bytes"];

/// What a phase took.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    /// Seconds of processors: the nodes together, the key-holder, PostgreSQL's processes together, the generator.
    pub(super) cpu_s: [f64; 4],
    /// In the order of [`COUNTS`].
    pub(super) counts: [f64; 4],
    pub(super) seals: f64,
}

impl Spent {
    pub(super) fn since(&self, before: &Spent) -> Spent {
        Spent {
            cpu_s: std::array::from_fn(|at| self.cpu_s[at] - before.cpu_s[at]),
            counts: std::array::from_fn(|at| self.counts[at] - before.counts[at]),
            seals: self.seals - before.seals,
        }
    }

    pub(super) fn add(&mut self, more: &Spent) {
        self.cpu_s.iter_mut().zip(more.cpu_s).for_each(|(sum, more)| *sum += more);
        self.counts.iter_mut().zip(more.counts).for_each(|(sum, more)| *sum += more);
        self.seals += more.seals;
    }

    /// Without the generator, which stands for callers.
    pub(super) fn installation_s(&self) -> f64 {
        self.cpu_s[..3].iter().sum()
    }

    pub(super) fn seals(&self) -> f64 {
        self.seals
    }

    /// The time of each part, times this.
    pub(super) fn processors(&self, times: f64) -> Value {
        let all = self.cpu_s.into_iter().chain([self.installation_s()]);
        let named = PARTS.into_iter().zip(all);
        named
            .map(|(name, seconds)| (name.to_owned(), json!(rounded(seconds * times))))
            .collect::<Map<_, _>>()
            .into()
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        COUNTS.into_iter().zip(self.counts)
    }
}

/// Seconds that a process and its threads have had of processors.
pub(super) fn of_process(process: u32) -> Result<f64, Failure> {
    let path = format!("/proc/{process}/stat");
    let stat = std::fs::read_to_string(&path).map_err(Failure::in_step(path))?;
    Ok(Stat::read(&stat).map_or(f64::NAN, |stat| stat.own_s))
}

/// The same of a process, its children, and those children that have ended.
pub(super) fn of_family(process: u32) -> Result<f64, Failure> {
    let entries = std::fs::read_dir("/proc").map_err(Failure::in_step("/proc"))?;
    // A process may end meanwhile; then it is among those that have ended the next time.
    let stats = entries.flatten().filter_map(|entry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = Stat::read(&std::fs::read_to_string(entry.path().join("stat")).ok()?)?;
        match (id == process, stat.parent == process) {
            (true, _) => Some(stat.own_s + stat.ended_s),
            (_, true) => Some(stat.own_s),
            _ => None,
        }
    });
    Ok(stats.sum())
}

/// Some fields of `/proc/PID/stat`.
struct Stat {
    parent: u32,
    own_s: f64,
    /// Of children that have ended and were waited for.
    ended_s: f64,
}

impl Stat {
    /// The second field is a name in parentheses that may contain any characters.
    fn read(stat: &str) -> Option<Stat> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
        let seconds = |user: usize| Some((ticks(user)? + ticks(user + 1)?) / TICKS_PER_S);
        Some(Stat { parent: fields.get(1)?.parse().ok()?, own_s: seconds(11)?, ended_s: seconds(13)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_process_whatever_it_is_called() {
        let stat = "17 (a ) b) S 5 1 1 0 -1 4194560 1 2 3 4 150 50 300 100 20 0 1 0 9";
        let Stat { parent, own_s, ended_s } = Stat::read(stat).unwrap();
        assert_eq!((parent, own_s, ended_s), (5, 2.0, 4.0));
    }

    #[test]
    fn a_busy_process_has_its_time_and_its_parent_has_it_once_it_has_ended() {
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read wait";
        let mut child = std::process::Command::new("sh");
        let mut child = child.args(["-c", spin]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (mine, before) = (std::process::id(), of_family(std::process::id()).unwrap());
        while of_process(child.id()).unwrap() < 0.05 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let while_it_runs = of_family(mine).unwrap();
        assert!(while_it_runs >= before + 0.04, "{before} {while_it_runs}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(of_family(mine).unwrap() >= while_it_runs, "the time of a child that has ended is not lost");
    }

    #[test]
    fn parts_are_named_and_the_installation_is_without_the_generator() {
        let mut spent = Spent { cpu_s: [1.0, 2.0, 3.0, 10.0], counts: [1.0, 2.0, 4.0, 8.0], seals: 5.0 };
        spent.add(&Spent { cpu_s: [1.0; 4], counts: [1.0; 4], seals: 1.0 });
        let each = spent.since(&Spent { seals: 2.0, ..Spent::default() }).processors(0.5);
        let expected = json!({ "nodes": 1.0, "key_holder": 1.5, "postgresql": 2.0, "generator": 5.5, "installation": 4.5 });
        assert_eq!((each, spent.seals()), (expected, 6.0));
    }
}
