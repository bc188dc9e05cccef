//! A tenant's logins, quiet and beside something else: another tenant that asks for too much, a flood of invalid proofs, or hostile
//! connections. The kinds of phases alternate, so that a machine that slows down slows all. At the end the service gets SIGTERM while
//! the last kind goes on.
//!
//! In `overload` and `hostile` the service has one half of this machine's processors and the callers the other. Attackers and the greedy
//! tenant come from other addresses, on threads of a lower priority than the tenant's thread.

use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Map, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::attacks::Attack;
use super::generator::{Generator, Pace};
use super::phase::{Phase, problem};
use super::plan::{FIRST_GUESS_PER_S, Load, Profile};
use super::raw::Target;
use super::service::{Half, Service, runtime, stay_on};
use super::world::World;
use crate::distribution::rounded;
use crate::{Failure, Report};

/// What goes on beside the tenant's logins.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Nothing,
    Attack(Attack),
    /// Another tenant in a closed loop: what the service can answer.
    Capacity,
    /// The same tenant at so many times that rate, as far as its connections allow.
    Greedy(f64),
}

/// A service, and the kinds of phases that it goes through, quiet first.
struct Case {
    name: &'static str,
    service: &'static [&'static str],
    kinds: Vec<(&'static str, Beside)>,
    /// The tenant's connections and pace.
    logins: (usize, Pace),
}

/// Logins of the tenant that is not at fault.
const CALM: (usize, Pace) = (16, Pace::Every(20.0));
/// The greedy tenant's requests in flight when the capacity is measured.
const CLOSED_LOOP: usize = 192;
/// Connections from one address: fewer than a service takes of a peer.
const PER_ADDRESS: usize = 512;
/// Nice value of the threads of attackers and of the greedy tenant.
const OTHERS_NICE: i32 = 5;
/// Pause after an attack, in which its connections close.
const PAUSE: Duration = Duration::from_millis(500);
/// How long an attack runs before SIGTERM, at most.
const BEFORE_SIGTERM: Duration = Duration::from_secs(2);

fn cases(profile: Profile) -> Vec<Case> {
    let quiet = ("quiet", Beside::Nothing);
    match profile {
        Profile::Overload => vec![Case {
            name: "overload",
            service: &[],
            kinds: vec![
                quiet,
                ("capacity", Beside::Capacity),
                ("twice", Beside::Greedy(2.0)),
                ("tenfold", Beside::Greedy(10.0)),
            ],
            logins: CALM,
        }],
        Profile::Flood => vec![Case {
            name: "flood",
            service: &["--on-all"],
            kinds: vec![quiet, ("attacked", Beside::Attack(Attack::InvalidProofs))],
            logins: (8, Pace::AtOnce),
        }],
        Profile::Steady | Profile::Fleet | Profile::Hostile => {
            let case = |attack: Attack| Case {
                name: attack.name(),
                service: &[],
                kinds: vec![quiet, ("attacked", Beside::Attack(attack))],
                logins: CALM,
            };
            Attack::HOSTILE.map(case).into()
        }
    }
}

/// Runs every case of the profile.
///
/// # Errors
/// When a service does not start or a preparation fails. A wrong answer and an exit code other than 0 are in the report.
pub(super) fn beside(load: &Load) -> Result<Report, Failure> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).map_err(Failure::in_step("open files"))?;
    let mut report = Report { summary: String::new(), result: json!({}), problem: None };
    for case in cases(load.profile) {
        let stage = Stage::start(load, &case)?;
        report = report.and(case.name, stage.run(load, &case)?);
    }
    report.put(json!({ "others_nice": OTHERS_NICE }));
    Ok(report)
}

/// A service with its callers.
struct Stage {
    service: Service,
    tenant: Generator,
    greedy: Option<Generator>,
    attackers: Runtime,
    target: Target,
    _directory: tempfile::TempDir,
}

/// All phases of one kind: of the tenant, and of the greedy one.
#[derive(Clone, Default)]
struct Kind {
    tenant: Phase,
    greedy: Phase,
    wanted_per_s: f64,
}

impl Stage {
    fn start(load: &Load, case: &Case) -> Result<Stage, Failure> {
        let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
        let (service, reached) = Service::start(&directory.path().join("data"), case.service)?;
        let halved = !case.service.contains(&"--on-all");
        // A thread of its own, because a later service inherits the processors of this one.
        let runtimes = || {
            if halved {
                stay_on(Half::Second)?;
            }
            Ok::<_, Failure>([runtime(1, 0)?, runtime(1, OTHERS_NICE)?, runtime(1, OTHERS_NICE)?])
        };
        let runtimes = std::thread::scope(|scope| scope.spawn(runtimes).join());
        let [tenant, greedy, attackers] = runtimes.map_err(|_| Failure::fault("a thread panicked"))??;
        let target = Target::of(&reached)?;
        let generator = |runtime: Runtime, name: &str, people, targets| -> Result<Generator, Failure> {
            let world = runtime.block_on(World::at(&reached, name, people, load.numbers))?;
            let trust_root = runtime.block_on(world.trust_root())?;
            Ok(Generator::new(runtime, targets, world, trust_root, load))
        };
        let asks_too_much = case.kinds.iter().any(|(_, beside)| matches!(beside, Beside::Capacity));
        let addresses = load.connections[0].div_ceil(PER_ADDRESS);
        let others = (0..addresses).map(|at| target.numbered(2 + at)).collect();
        Ok(Stage {
            service,
            tenant: generator(tenant, "tenant", load.people.min(8), vec![target.clone()])?,
            greedy: asks_too_much.then(|| generator(greedy, "greedy", load.people, others)).transpose()?,
            attackers,
            target,
            _directory: directory,
        })
    }

    fn run(mut self, load: &Load, case: &Case) -> Result<Report, Failure> {
        // A warm-up: templates and verdicts settle in memory, and the rates are known.
        let mut tenant_per_s = self.tenant.phase(case.logins.0, case.logins.1, FIRST_GUESS_PER_S)?.per_s();
        let mut capacity = match &self.greedy {
            Some(greedy) => greedy.phase(CLOSED_LOOP, Pace::AtOnce, FIRST_GUESS_PER_S)?.per_s(),
            None => 0.0,
        };
        let mut kinds = vec![Kind::default(); case.kinds.len()];
        for round in 0..load.rounds {
            for ((name, beside), kind) in case.kinds.iter().zip(&mut kinds) {
                eprintln!("{}: round {} of {}, {name}", case.name, round + 1, load.rounds);
                let (tenant, greedy) = self.phase(load, case, *beside, (tenant_per_s, capacity))?;
                tenant_per_s = tenant_per_s.max(tenant.per_s());
                if let Beside::Greedy(factor) = beside {
                    kind.wanted_per_s = factor * capacity;
                }
                if let (Beside::Capacity, Some(greedy)) = (beside, &greedy) {
                    capacity = greedy.per_s();
                }
                kind.tenant.add(tenant);
                greedy.into_iter().for_each(|greedy| kind.greedy.add(greedy));
            }
        }
        let resident = self.service.resident_bytes()?;
        let attacking = self.attack(load, case.kinds[case.kinds.len() - 1].1);
        std::thread::sleep(BEFORE_SIGTERM.min(load.seconds));
        let (status, took) = self.service.terminate()?;
        drop(attacking);
        let mut report = report(case, &kinds);
        report.summary += &format!("  SIGTERM: exit {:?} after {:.2} s\n", status.code(), took.as_secs_f64());
        report.put(json!({
            "connections": load.connections[0], "exit_code": status.code(), "sigterm_s": rounded(took.as_secs_f64()),
            "service_resident_bytes": resident,
        }));
        if !status.success() {
            report.problem.get_or_insert(format!("{}: SIGTERM ended with {:?}", case.name, status.code()));
        }
        Ok(report)
    }

    fn attack(&self, load: &Load, beside: Beside) -> Option<JoinSet<()>> {
        let Beside::Attack(attack) = beside else { return None };
        let begin = async { attack.begin(&self.target, &self.tenant.world, load.connections[0]) };
        Some(self.attackers.block_on(begin))
    }

    /// One phase of the tenant, and of the greedy one beside it. The attack starts with its phase, so the figures include opening its
    /// connections. A phase that answers more requests than were made for these rates is repeated with more.
    fn phase(
        &self,
        load: &Load,
        case: &Case,
        beside: Beside,
        (mut tenant_per_s, mut capacity): (f64, f64),
    ) -> Result<(Phase, Option<Phase>), Failure> {
        let asked = match beside {
            Beside::Nothing | Beside::Attack(_) => None,
            Beside::Capacity => Some((CLOSED_LOOP, Pace::AtOnce)),
            Beside::Greedy(factor) => Some((load.connections[0], Pace::Every(factor * capacity))),
        };
        let greedy = self.greedy.as_ref().zip(asked);
        loop {
            let ready = greedy.map(|(greedy, (connections, pace))| greedy.ready(connections, pace, capacity));
            let ready = ready.transpose()?;
            let own = self.tenant.ready(case.logins.0, case.logins.1, tenant_per_s)?;
            let attacking = self.attack(load, beside);
            let (sent, other) = std::thread::scope(|scope| {
                let other = greedy.zip(ready).map(|((greedy, _), ready)| scope.spawn(|| greedy.send(ready)));
                (self.tenant.send(own), other.map(|other| other.join()))
            });
            if attacking.is_some() {
                drop(attacking);
                std::thread::sleep(PAUSE);
            }
            let other = other.transpose().map_err(|_| Failure::fault("a thread panicked"))?;
            if !sent.ran_out && other.as_ref().is_none_or(|other| !other.ran_out) {
                let judged = greedy.zip(other).map(|((greedy, _), other)| greedy.judged(other));
                return Ok((self.tenant.judged(sent)?, judged.transpose()?));
            }
            (tenant_per_s, capacity) = (2.0 * tenant_per_s.max(1.0), 2.0 * capacity.max(1.0));
        }
    }
}

fn report(case: &Case, kinds: &[Kind]) -> Report {
    let (mut summary, mut result) = (format!("{}\n", case.name), Map::new());
    let quiet = &kinds[0].tenant;
    let capacity = kinds.get(1).map_or(f64::NAN, |kind| kind.greedy.per_s());
    for ((name, _), Kind { tenant, greedy, wanted_per_s }) in case.kinds.iter().zip(kinds) {
        summary += &tenant.line(name);
        let mut figures = tenant.json();
        figures["p99_ratio"] = json!(rounded(tenant.p99_ms() / quiet.p99_ms()));
        figures["rate_ratio"] = json!(rounded(tenant.per_s() / quiet.per_s()));
        if greedy.asked > 0 {
            let goodput = greedy.per_s() / capacity;
            summary += &greedy.line(&format!("  the greedy tenant, x {goodput:.2} of capacity"));
            let mut other = greedy.json();
            other["goodput"] = json!(rounded(goodput));
            other["wanted_per_s"] = json!(rounded(*wanted_per_s));
            figures["greedy"] = other;
        }
        result.insert((*name).to_owned(), figures);
    }
    let phases = kinds.iter().flat_map(|kind| [&kind.tenant, &kind.greedy]);
    Report { summary, result: result.into(), problem: problem(phases, !matches!(case.name, "flood")) }
}
