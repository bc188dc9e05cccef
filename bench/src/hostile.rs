//! Connections that send nothing, read nothing or are always refused, against a service in another process, while a tenant logs in.
//!
//! Phases with and without the attack alternate. The attack starts with its phase, so the figures include opening its connections.
//! After the last phase the attack starts again, and the service gets SIGTERM. The attackers come from other addresses than the honest
//! tenant, and their thread has a lower priority than its thread: a larger machine would have a processor for each.

mod attacks;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::Failure;
use crate::Report;
use crate::apart::{Half, Service, runtime, stay_on};
use crate::distribution::rounded;
use crate::flood::world::World;
use crate::overload::{Phase, Phases, others};
use crate::raw::Target;
use attacks::Attack;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Hostile {
    /// Length of a phase.
    pub phase: Duration,
    /// Rounds of a phase without and one with the attack.
    pub rounds: usize,
    /// Connections of the attacks that only hold connections open.
    pub connections: usize,
}

/// Nice value of the attackers' threads.
const ATTACKERS_NICE: i32 = 5;
/// Pause between two phases, in which the attackers' connections close.
const PAUSE: Duration = Duration::from_millis(500);
/// How long an attack runs before SIGTERM.
const BEFORE_SIGTERM: Duration = Duration::from_secs(2);

/// Runs every attack.
///
/// # Errors
/// When a service does not start or a preparation fails. A wrong answer and an exit code other than 0 are in the report.
pub fn hostile(parameters: Hostile) -> Result<Report, Failure> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).map_err(Failure::in_step("open files"))?;
    // A thread of its own, because the services inherit the processors of this one and take the first half.
    let callers = || {
        stay_on(Half::Second)?;
        Ok::<_, Failure>((runtime(1, ATTACKERS_NICE)?, runtime(1, 0)?))
    };
    let callers = std::thread::scope(|scope| scope.spawn(callers).join());
    let (attackers, honest) = callers.map_err(|_| Failure::fault("a thread panicked"))??;
    let (mut summary, mut problems, mut attacks) = (String::new(), vec![], serde_json::Map::new());
    let (mut worst_ratio, mut worst_sigterm_s) = (0_f64, 0_f64);
    for attack in Attack::ALL {
        let shown = shown(attack, parameters, &attackers, &honest)?;
        let [quiet, attacked] = &shown.phases;
        let ms =
            [quiet.others_ms(0.5), quiet.others_ms(0.99), attacked.others_ms(0.5), attacked.others_ms(0.99)];
        let ratio = ms[3] / ms[1];
        (worst_ratio, worst_sigterm_s) = (worst_ratio.max(ratio), worst_sigterm_s.max(shown.sigterm_s));
        let failed = attacked.sum(|phase| phase.others_refused);
        let wrong = quiet.sum(|phase| phase.wrong) + attacked.sum(|phase| phase.wrong);
        summary.push_str(&format!(
            "  {:<14} p50 {:>6.1} -> {:>6.1} ms   p99 {:>6.1} -> {:>6.1} ms (x {ratio:.2})   failed {failed}   SIGTERM: exit {:?} after {:.2} s\n",
            attack.name(), ms[0], ms[2], ms[1], ms[3], shown.exit_code, shown.sigterm_s
        ));
        if wrong > 0 {
            problems.push(format!("{}: {wrong} answers were wrong", attack.name()));
        }
        if shown.exit_code != Some(0) {
            problems.push(format!("{}: SIGTERM ended with {:?}", attack.name(), shown.exit_code));
        }
        attacks.insert(
            attack.name().to_owned(),
            json!({
                "quiet_p50_ms": rounded(ms[0]), "quiet_p99_ms": rounded(ms[1]),
                "p50_ms": rounded(ms[2]), "p99_ms": rounded(ms[3]), "p99_ratio": rounded(ratio),
                "logins": attacked.sum(|phase| phase.others_ns.len() as u64), "failed": failed,
                "connections": attack.connections(parameters.connections),
                "exit_code": shown.exit_code, "sigterm_s": rounded(shown.sigterm_s),
            }),
        );
    }
    let result = json!({
        "attacks": attacks, "p99_ratio_max": rounded(worst_ratio), "sigterm_s_max": rounded(worst_sigterm_s),
        "phase_s": parameters.phase.as_secs_f64(), "rounds": parameters.rounds,
    });
    Ok(Report { summary, result, problem: (!problems.is_empty()).then(|| problems.join("; ")) })
}

/// The result of one attack.
struct Outcome {
    /// Without and with it.
    phases: [Phases; 2],
    exit_code: Option<i32>,
    sigterm_s: f64,
}

fn shown(
    attack: Attack,
    parameters: Hostile,
    attackers: &Runtime,
    honest: &Runtime,
) -> Result<Outcome, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let (mut service, reached) = Service::start(&directory.path().join("data"), false)?;
    let world = Arc::new(honest.block_on(World::at(&reached, "honest", 4, 1))?);
    let (target, nonce) = (Target::of(&reached)?, Arc::<AtomicU64>::default());
    let phase = || -> Phase { honest.block_on(others(&world, Instant::now() + parameters.phase, &nonce)) };
    let begin = || attackers.block_on(async { attack.begin(&target, parameters.connections) });
    // A warm-up: templates and verdicts settle in memory.
    phase();
    let mut phases = [Phases::default(), Phases::default()];
    for _ in 0..parameters.rounds {
        phases[0].push(phase());
        let attacking = begin();
        phases[1].push(phase());
        drop(attacking);
        std::thread::sleep(PAUSE);
    }
    let attacking = begin();
    std::thread::sleep(BEFORE_SIGTERM);
    let (status, took) = service.terminate()?;
    drop(attacking);
    Ok(Outcome { phases, exit_code: status.code(), sigterm_s: took.as_secs_f64() })
}
