//! The readers' times for each registry, and the reasons.

use serde_json::{Map, Value, json};

use super::closely::{self, Closely};
use super::runs::Run;
use super::subjects::Registry;
use super::{Compared, ENTRIES, RegistryTimes, WRITE_PERIOD};
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::paired::Interval;

pub(super) fn report(
    parameters: &RegistryTimes,
    locked: &dyn Registry,
    others: &[Box<dyn Registry>],
    cells: &[Compared],
    closely: &[Closely<'_>],
) -> Report {
    let RegistryTimes { threads, repeats, duration } = parameters;
    let runs = || {
        cells
            .iter()
            .flat_map(|cell| cell.rounds.iter().flatten())
            .chain(closely.iter().flat_map(Closely::runs))
    };
    let wrong: u64 = runs().map(|run| run.wrong).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut registries = Map::new();
    registries.insert(locked.name().to_owned(), locked_json(parameters, locked, cells));
    for (index, subject) in others.iter().enumerate() {
        let mut fields = described(subject.as_ref());
        let own = cells.iter().filter(|cell| cell.subject == index);
        fields.extend(own.map(|cell| (format!("t{}", cell.threads), compared_json(cell))));
        registries.insert(subject.name().to_owned(), fields.into());
    }
    for of in closely {
        registries[of.registry.name()][format!("t{}", of.threads)][of.name()] = of.json();
    }
    let result = json!({
        "timed_read_floor_ns": rounded(closely::floor_ns()),
        "threads": threads, "more_threads_than_cpus": threads.iter().any(|&n| n > cores), "repeats": repeats,
        "millis": duration.as_secs_f64() * 1e3, "entries": ENTRIES,
        "write_period_millis": WRITE_PERIOD.as_secs_f64() * 1e3, "time": "processor time of the threads",
        "order": "lock, kind, kind, lock in every round; kinds forwards and backwards in turn",
        "interval": "95 %, Student's t over the logarithms of the rounds' ratios",
        "registries": registries,
        "verified": {
            "reads": runs().map(|run| run.reads).sum::<u64>(), "wrong": wrong,
            "writes": runs().map(|run| run.writes).sum::<u64>(),
        },
    });
    let problem = (wrong > 0).then(|| format!("{wrong} reads found nothing or another entry"));
    let mut summary = summary(parameters, locked, others, cells);
    summary.push_str("Read by read, the reading of the clock included:\n");
    closely.iter().for_each(|of| summary.push_str(&of.line()));
    Report { summary, result, problem }
}

fn described(subject: &dyn Registry) -> Map<String, Value> {
    Map::from_iter([("change".to_owned(), json!(subject.change())), ("why".to_owned(), json!(subject.why()))])
}

fn cpu<'a>(runs: impl Iterator<Item = &'a Run>) -> Distribution {
    Distribution::new(runs.map(Run::cpu_ns_per_read).collect())
}

fn rate<'a>(runs: impl Iterator<Item = &'a Run>) -> Distribution {
    Distribution::new(runs.map(Run::million_per_s).collect())
}

/// The lock's own times: of all its runs, which lie around those of the others.
fn locked_json(parameters: &RegistryTimes, locked: &dyn Registry, cells: &[Compared]) -> Value {
    let mut fields = described(locked);
    for &threads in &parameters.threads {
        let runs = || cells.iter().filter(|cell| cell.threads == threads).flat_map(Compared::locked_runs);
        let cell = json!({
            "cpu_ns_per_read": rounded(cpu(runs()).median()), "million_per_s": rounded(rate(runs()).median()),
        });
        fields.insert(format!("t{threads}"), cell);
    }
    fields.into()
}

/// By the wall clock and by processor time.
fn of_locked(cell: &Compared) -> [Interval; 2] {
    let by_cpu = |run: &Run| 1.0 / run.cpu_ns_per_read();
    [cell.ratios(Run::million_per_s).interval(), cell.ratios(by_cpu).interval()]
}

fn compared_json(cell: &Compared) -> Value {
    let [by_wall, by_cpu] = of_locked(cell).map(Interval::json);
    let (own_cpu, own_rate) = (cpu(cell.runs()), rate(cell.runs()));
    json!({
        "cpu_ns_per_read": rounded(own_cpu.median()), "million_per_s": rounded(own_rate.median()),
        "of_rwlock": by_wall, "of_rwlock_cpu": by_cpu,
        "cpu_ns_per_read_runs": own_cpu.runs_json(), "million_per_s_runs": own_rate.runs_json(),
        "rwlock_cpu_ns_per_read_runs": cpu(cell.locked_runs()).runs_json(),
        "rwlock_million_per_s_runs": rate(cell.locked_runs()).runs_json(),
    })
}

fn summary(
    parameters: &RegistryTimes,
    locked: &dyn Registry,
    others: &[Box<dyn Registry>],
    cells: &[Compared],
) -> String {
    let mut text = "One entry that all threads read: ns of processor time per read, and reads per second over those of the lock with their 95 % interval\n".to_owned();
    let explained = |subject: &dyn Registry| {
        format!("  {}: {}\n      why: {}\n", subject.name(), subject.change(), subject.why())
    };
    text.push_str(&explained(locked));
    for &threads in &parameters.threads {
        let runs = cells.iter().filter(|cell| cell.threads == threads).flat_map(Compared::locked_runs);
        text.push_str(&format!("      {threads:>3} threads {:>9.1} ns\n", cpu(runs).median()));
    }
    for (index, subject) in others.iter().enumerate() {
        text.push_str(&explained(subject.as_ref()));
        for cell in cells.iter().filter(|cell| cell.subject == index) {
            let [Interval { mean, low, high }, _] = of_locked(cell);
            let ns = cpu(cell.runs()).median();
            text.push_str(&format!(
                "      {:>3} threads {ns:>9.1} ns  {mean:>7.2} times [{low:.2}, {high:.2}]\n",
                cell.threads
            ));
        }
    }
    text
}
