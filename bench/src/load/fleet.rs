//! What a login costs on one node of a fleet and on three: processor time, statements and write-ahead log.
//!
//! Two installations, each with a PostgreSQL server, a key-holder and its nodes in processes of their own. The same load, with the same number of
//! logins in flight, goes to one installation and then to the other, in an order that changes from round to round, so that both see
//! the same disturbances. The processor time is that of the processes, as the system counts it, so it can be compared where the machine has
//! fewer processors than there are processes, and the rates cannot.

mod counts;
mod installation;
mod spent;

use serde_json::{Map, Value, json};

use super::generator::Pace;
use super::phase::{Phase, problem};
use super::plan::{FIRST_GUESS_PER_S, Load};
use crate::distribution::{Distribution, rounded};
use crate::{Failure, Report};
use installation::Installation;
use spent::{PARTS, Spent};

/// The installations: their names in the record, and their nodes.
const INSTALLATIONS: [(&str, usize); 2] = [("one", 1), ("three", 3)];

/// Measures.
///
/// # Errors
/// When PostgreSQL is missing, or a step fails. A decision that is wrong is in the report.
pub(super) fn fleet(load: &Load) -> Result<Report, Failure> {
    let mut sides = Vec::new();
    for (name, nodes) in INSTALLATIONS {
        let loads = load.connections.iter().map(|_| Loaded::default()).collect();
        let installation = Installation::start(nodes, load)?;
        sides.push(Side { name, installation, loads, per_s: 0.0 });
    }
    for side in &mut sides {
        side.settle(load)?;
    }
    for round in 0..load.rounds {
        for (at, &in_flight) in load.connections.iter().enumerate() {
            for turn in 0..sides.len() {
                let place = (round + turn) % sides.len();
                sides[place].load(at, in_flight)?;
            }
        }
    }
    let report = report(load, &sides)?;
    sides.into_iter().try_for_each(|side| side.installation.stop())?;
    Ok(report)
}

/// An installation and all that it has shown.
struct Side {
    name: &'static str,
    installation: Installation,
    loads: Vec<Loaded>,
    /// The best rate until now.
    per_s: f64,
}

/// All phases with one number of logins in flight.
#[derive(Default)]
struct Loaded {
    phase: Phase,
    spent: Spent,
    /// Of each round, microseconds of the installation's processors for a login.
    us_runs: Vec<f64>,
}

impl Side {
    /// Waits until nothing of the start is left to do, and brings templates, sessions and connections up.
    fn settle(&mut self, load: &Load) -> Result<(), Failure> {
        self.installation.settle()?;
        let most = load.connections.iter().copied().max().unwrap_or(1);
        self.per_s = self.phase(most, FIRST_GUESS_PER_S)?.0.per_s();
        Ok(())
    }

    /// A phase that answers more logins than were made for it is repeated with more.
    fn phase(&self, in_flight: usize, mut per_s: f64) -> Result<(Phase, Spent), Failure> {
        let generator = &self.installation.generator;
        loop {
            let ready = generator.ready(in_flight, Pace::AtOnce, per_s)?;
            let before = self.installation.begin()?;
            let sent = generator.send(ready);
            let spent = self.installation.end(&before)?;
            if !sent.ran_out {
                return Ok((generator.judged(sent)?, spent));
            }
            per_s = 2.0 * per_s.max(1.0);
        }
    }

    fn load(&mut self, at: usize, in_flight: usize) -> Result<(), Failure> {
        let (phase, spent) = self.phase(in_flight, self.per_s)?;
        self.per_s = self.per_s.max(phase.per_s());
        let us = spent.installation_s() * 1e6 / phase.logins as f64;
        eprintln!(
            "{}, {in_flight} in flight: {:.0} logins/s, {us:.0} us of processors each",
            self.name,
            phase.per_s()
        );
        let loaded = &mut self.loads[at];
        loaded.phase.add(phase);
        loaded.spent.add(&spent);
        loaded.us_runs.push(us);
        Ok(())
    }
}

impl Loaded {
    fn json(&self) -> Value {
        let mut figures = self.phase.json();
        let logins = self.phase.logins as f64;
        figures["us_per_login"] = self.spent.processors(1e6 / logins);
        figures["us_per_login_runs"] = Distribution::new(self.us_runs.clone()).runs_json();
        for (name, count) in self.spent.counts() {
            figures[format!("{name}_per_login")] = json!(rounded(count / logins));
        }
        figures["logins_per_seal"] = json!(rounded(logins / self.spent.seals()));
        figures["seals_per_s"] = json!(rounded(self.spent.seals() / self.phase.seconds));
        figures
    }
}

fn report(load: &Load, sides: &[Side]) -> Result<Report, Failure> {
    let mut summary = String::new();
    let mut by_load = Map::new();
    for (at, in_flight) in load.connections.iter().enumerate() {
        let mut figures = Map::new();
        for side in sides {
            let shown = side.loads[at].json();
            summary.push_str(&line(side.name, *in_flight, &shown));
            figures.insert(side.name.to_owned(), shown);
        }
        let ratio = |pointer: &str| {
            let of = |name: &str| figures[name].pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
            rounded(of("three") / of("one"))
        };
        let parts = PARTS.iter().map(|part| (*part).to_owned());
        let cost = parts
            .map(|part| (part.clone(), json!(ratio(&format!("/us_per_login/{part}")))))
            .collect::<Map<_, _>>();
        let ratios = json!({
            "us_per_login": cost, "logins_per_s": ratio("/logins_per_s"), "statements": ratio("/statements_per_login"),
            "wal_bytes": ratio("/wal_bytes_per_login"), "p50_ms": ratio("/p50_ms"), "p99_ms": ratio("/p99_ms"),
        });
        summary.push_str(&format!("  three to one: {ratios}\n"));
        figures.insert("three_to_one".to_owned(), ratios);
        by_load.insert(in_flight.to_string(), figures.into());
    }
    let phases = sides.iter().flat_map(|side| side.loads.iter().map(|loaded| &loaded.phase));
    let problem = problem(phases, false);
    let result = json!({
        "in_flight": by_load, "settings": installation::SETTINGS,
        "postgresql_version": sides.first().map(|side| side.installation.version()),
    });
    Ok(Report { summary, result, problem })
}

fn line(name: &str, in_flight: usize, shown: &Value) -> String {
    let at = |pointer: &str| shown.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    format!(
        "{in_flight:>5} in flight, {name:<5} {:>6.0} logins/s  p50 {:>7.2} ms  p99 {:>7.2} ms  us/login: nodes {:.0}, key-holder {:.0}, PostgreSQL {:.0}, \
         together {:.0}, generator {:.0}  statements {:.2}  WAL {:.0}  logins/seal {:.1}\n",
        at("/logins_per_s"),
        at("/p50_ms"),
        at("/p99_ms"),
        at("/us_per_login/nodes"),
        at("/us_per_login/key_holder"),
        at("/us_per_login/postgresql"),
        at("/us_per_login/installation"),
        at("/us_per_login/generator"),
        at("/statements_per_login"),
        at("/wal_bytes_per_login"),
        at("/logins_per_seal"),
    )
}
