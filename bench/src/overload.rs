//! More logins than the machine can answer, asked of a service in another process.
//!
//! One tenant shows what the service can answer in a closed loop, then asks for twice and for ten times as much, whatever is answered
//! (an open loop, as far as its requests in flight allow). Another tenant logs in 20 times a second through all of it. The service has
//! one half of this machine's processors and the callers the other, because real callers bring their own. The thread of the other tenant
//! goes before the generator's. A login costs its caller as much as the service, so the service has a low priority beside threads that only
//! count: it is a slow machine, and half of this one can ask it for more than it can answer.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_server::client::HolderSession;
use trefoil_server::clock::SystemClock;
use trefoil_server::server::Server;
use trefoil_server::wire::{AttestationForm, Authentication, Decision, Nonce, Vector};

use crate::distribution::{Distribution, rounded};
use crate::failure::Failure;
use crate::flood::world::{Reached, World, config, unix_now};
use crate::record::Report;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    /// Length of a phase.
    pub phase: Duration,
    /// Rounds of all phases.
    pub rounds: usize,
    /// People of the tenant that asks for too much.
    pub people: usize,
    /// Its requests in flight, at most.
    pub in_flight: usize,
}

/// Times the capacity that is asked for.
const FACTORS: [u64; 2] = [2, 10];
/// Requests in flight that show what the service can answer.
const CLOSED_LOOP: usize = 192;
/// Logins of the other tenant.
const OTHERS_INTERVAL: Duration = Duration::from_millis(50);
/// Streams of one connection that a service serves at one time.
const STREAMS: usize = 64;
/// Nice value of the generator's threads.
const GENERATOR_NICE: i32 = 5;
/// And of the service's: beside a thread that only counts it has about a tenth of the processor.
const SERVICE_NICE: i32 = 10;

/// Runs the phases.
///
/// # Errors
/// When the service does not start or a preparation fails. A wrong answer is in the report.
pub fn overload(parameters: Overload) -> Result<Report, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let (service, reached) = Service::start(&directory.path().join("data"))?;
    let counting = Counting::start()?;
    stay_on(Half::Second)?;
    let (generator, other) = (runtime(2, GENERATOR_NICE)?, runtime(1, 0)?);
    let connections = parameters.in_flight.div_ceil(STREAMS);
    let many = World::at(&reached, "many", parameters.people, connections);
    let many = Arc::new(generator.block_on(many)?);
    let few = Arc::new(other.block_on(World::at(&reached, "few", 8, 1))?);
    let mut run = Run { generator, other, many, few, phase: parameters.phase, nonce: Arc::default() };
    // What settles first: connections, the limit, the processor's clock.
    run.load(CLOSED_LOOP, None);
    let mut phases = vec![Phases::default(); 2 + FACTORS.len()];
    let mut recovery_s = Vec::new();
    for _ in 0..parameters.rounds {
        phases[0].push(run.quiet());
        let usual_ms = phases[0].others_ms(0.99);
        let capacity = run.load(CLOSED_LOOP, None);
        let per_s = capacity.per_s();
        phases[1].push(capacity);
        for (factor, phases) in FACTORS.iter().zip(&mut phases[2..]) {
            phases.push(run.load(parameters.in_flight, Some(per_s * *factor as f64)));
            recovery_s.push(run.recovery(usual_ms));
        }
    }
    let shed = ["0.5", "0.99"]
        .map(|q| run.other.block_on(run.few.metric(&format!("trefoil_shed_seconds{{quantile=\"{q}\"}}"))));
    let [shed_p50, shed_p99] = shed;
    let limit = run.other.block_on(run.few.metric("trefoil_in_flight_limit"))?;
    let wrong = phases.iter().flat_map(|phases| &phases.0).map(|phase| phase.wrong).sum::<u64>();
    service.stop()?;
    drop(counting);
    let [quiet, capacity, twice, tenfold] = &phases[..] else {
        return Err(Failure::fault("four kinds of phases"));
    };
    let mut summary = String::new();
    let mut result = serde_json::Map::new();
    for (name, of) in [("quiet", quiet), ("capacity", capacity), ("twice", twice), ("tenfold", tenfold)] {
        let goodput = of.per_s() / capacity.per_s();
        let (p50, p99) = (of.others_ms(0.5), of.others_ms(0.99));
        let p99_ratio = p99 / quiet.others_ms(0.99);
        summary.push_str(&format!(
            "  {name:<9} {:>7.0}/s asked {:>7.0}/s answered (x {goodput:.2} of capacity)   other tenant p50 {p50:>6.1} ms, p99 {p99:>6.1} ms (x {p99_ratio:.2})\n",
            of.asked_per_s(),
            of.per_s()
        ));
        let figures = json!({
            "asked_per_s": rounded(of.asked_per_s()), "answered_per_s": rounded(of.per_s()), "goodput": rounded(goodput),
            "refused": of.0.iter().map(|phase| phase.refused).sum::<u64>(),
            "lost": of.0.iter().map(|phase| phase.lost).sum::<u64>(),
            "others_refused": of.0.iter().map(|phase| phase.others_refused).sum::<u64>(),
            "others_p50_ms": rounded(p50), "others_p99_ms": rounded(p99), "others_p99_ratio": rounded(p99_ratio),
            "answered_per_s_runs": Distribution::new(of.0.iter().map(Phase::per_s).collect()).runs_json(),
        });
        result.insert(name.to_owned(), figures);
    }
    let slowest = recovery_s.iter().copied().fold(0.0, f64::max);
    let (shed_p50, shed_p99) = (shed_p50? * 1e3, shed_p99? * 1e3);
    summary.push_str(&format!(
        "  refusals: {shed_p50:.2} ms p50, {shed_p99:.2} ms p99 in the service; {limit} requests of a tenant in flight; slowest \
         recovery {slowest:.2} s\n"
    ));
    result.insert("refusal_p50_ms".to_owned(), json!(rounded(shed_p50)));
    result.insert("refusal_p99_ms".to_owned(), json!(rounded(shed_p99)));
    result.insert("recovery_s_max".to_owned(), json!(rounded(slowest)));
    result.insert("in_flight_limit".to_owned(), json!(limit));
    result.insert("nice".to_owned(), json!({"generator": GENERATOR_NICE, "service": SERVICE_NICE}));
    result.insert("phase_s".to_owned(), json!(parameters.phase.as_secs_f64()));
    result.insert("rounds".to_owned(), json!(parameters.rounds));
    let problem = (wrong > 0).then(|| format!("{wrong} answers were wrong"));
    Ok(Report { summary, result: result.into(), problem })
}

/// A thread on each processor of the first half that only counts.
struct Counting(Arc<AtomicBool>);

impl Counting {
    fn start() -> Result<Counting, Failure> {
        let counting = Counting(Arc::new(AtomicBool::new(true)));
        for _ in 0..std::thread::available_parallelism().map_or(1, |all| all.get() / 2).max(1) {
            let on = Arc::clone(&counting.0);
            let count = move || {
                // Where it fails the service is faster, which the figures show.
                let _ = stay_on(Half::First);
                while on.load(Relaxed) {
                    std::hint::spin_loop();
                }
            };
            let thread = std::thread::Builder::new().spawn(count);
            thread.map_err(Failure::in_step("a counting thread"))?;
        }
        Ok(counting)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// The service in another process.
struct Service {
    child: Child,
    /// Closing it ends the service.
    input: Option<ChildStdin>,
}

impl Service {
    fn start(data_dir: &Path) -> Result<(Service, Reached), Failure> {
        let step = || Failure::in_step("service process");
        let program = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
        let mut command = Command::new(program);
        command.arg("service").arg("--data-dir").arg(data_dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(step())?;
        let output = child.stdout.take().ok_or_else(|| Failure::fault("the service has no output"))?;
        let input = child.stdin.take();
        let service = Service { child, input };
        let mut lines = BufReader::new(output).lines();
        let mut line = || match lines.next() {
            Some(line) => line.map_err(step()),
            None => Err(Failure::fault(
                "the service ended before it was ready; run `trefoil-bench service` to see why",
            )),
        };
        let mut address = || line()?.parse().map_err(Failure::in_step("the service's address"));
        let (admin, public) = (address()?, address()?);
        let certificate = std::fs::read(line()?).map_err(step())?;
        Ok((service, Reached { admin, public, certificate, token: line()? }))
    }

    fn stop(mut self) -> Result<(), Failure> {
        drop(self.input.take());
        match self.child.wait().map_err(Failure::in_step("service process"))?.success() {
            true => Ok(()),
            false => Err(Failure::fault("the service did not end cleanly")),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Ended already after `stop`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until the standard input ends, and says how it is reached: two addresses, the certificate's file, the operator's token.
///
/// # Errors
/// When the service does not start, or requests were in flight at its end.
pub fn serve(data_dir: &Path) -> Result<(), Failure> {
    stay_on(Half::First)?;
    // Of all threads that it starts, on Linux.
    rustix::process::setpriority_process(None, SERVICE_NICE).map_err(Failure::in_step("priority"))?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::in_step("runtime"))?;
    runtime.block_on(async {
        let server = Server::start(config(data_dir.to_owned()), Arc::new(SystemClock::default())).await;
        let server = server.map_err(Failure::in_step("service"))?;
        println!("{}\n{}", server.admin_address(), server.public_address());
        println!("{}\n{}", server.certificate_path().display(), server.admin_token());
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended
            .await
            .map_err(Failure::in_step("standard input"))?
            .map_err(Failure::in_step("standard input"))?;
        match server.shutdown().await {
            true => Ok(()),
            false => Err(Failure::fault("shutdown: requests were still in flight")),
        }
    })
}

struct Run {
    generator: Runtime,
    other: Runtime,
    many: Arc<World>,
    few: Arc<World>,
    phase: Duration,
    nonce: Arc<AtomicU64>,
}

/// What one phase showed.
#[derive(Clone, Default)]
struct Phase {
    seconds: f64,
    asked: u64,
    answered: u64,
    refused: u64,
    /// Requests whose connection was closed under them.
    lost: u64,
    wrong: u64,
    others_ns: Vec<u64>,
    others_refused: u64,
}

impl Phase {
    fn per_s(&self) -> f64 {
        self.answered as f64 / self.seconds
    }
}

/// All phases of one kind.
#[derive(Clone, Default)]
struct Phases(Vec<Phase>);

impl Phases {
    fn push(&mut self, phase: Phase) {
        self.0.push(phase);
    }

    fn per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.answered).sum::<u64>() as f64 / self.seconds()
    }

    fn asked_per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.asked).sum::<u64>() as f64 / self.seconds()
    }

    fn seconds(&self) -> f64 {
        self.0.iter().map(|phase| phase.seconds).sum()
    }

    fn others_ms(&self, q: f64) -> f64 {
        let mut all: Vec<u64> = self.0.iter().flat_map(|phase| phase.others_ns.iter().copied()).collect();
        all.sort_unstable();
        let rank = ((all.len() as f64 * q).ceil() as usize).max(1) - 1;
        all.get(rank).map_or(f64::NAN, |&ns| ns as f64 / 1e6)
    }
}

impl Run {
    /// The other tenant alone.
    fn quiet(&mut self) -> Phase {
        let began = Instant::now();
        let mut phase = self.other.block_on(others(&self.few, began + self.phase, &self.nonce));
        phase.seconds = began.elapsed().as_secs_f64();
        phase
    }

    /// One tenant asks with so many requests in flight, `per_s` times a second or as fast as it is answered; the other one logs in
    /// all the while.
    fn load(&mut self, in_flight: usize, per_s: Option<f64>) -> Phase {
        let counts: Arc<[AtomicU64; 5]> = Arc::default();
        let began = Instant::now();
        let until = began + self.phase;
        let schedule = Arc::new(Schedule { began, until, per_s, next: AtomicU64::default() });
        let lanes: Vec<_> = (0..in_flight)
            .map(|lane| {
                let (world, counts) = (Arc::clone(&self.many), Arc::clone(&counts));
                let (nonce, schedule) = (Arc::clone(&self.nonce), Arc::clone(&schedule));
                self.generator.spawn(async move { ask(&world, lane, &nonce, &schedule, &counts).await })
            })
            .collect();
        let phase = self.other.block_on(others(&self.few, until, &self.nonce));
        let seconds = began.elapsed().as_secs_f64();
        let [asked, answered, refused, lost, wrong] = counts.each_ref().map(|count| count.load(Relaxed));
        // What is still in flight belongs to no phase.
        self.generator.block_on(async {
            for lane in lanes {
                let _ = lane.await;
            }
        });
        Phase { seconds, asked, answered, refused, lost, wrong: wrong + phase.wrong, ..phase }
    }

    /// Seconds until five logins of the other tenant in a row take no longer than `usual_ms`.
    fn recovery(&mut self, usual_ms: f64) -> f64 {
        let began = Instant::now();
        let mut in_a_row = 0;
        while in_a_row < 5 && began.elapsed() < Duration::from_secs(60) {
            let soon = Instant::now() + OTHERS_INTERVAL;
            let phase = self.other.block_on(others(&self.few, soon, &self.nonce));
            let is_usual =
                phase.others_refused == 0 && phase.others_ns.iter().all(|&ns| ns as f64 / 1e6 <= usual_ms);
            in_a_row = if is_usual { in_a_row + 1 } else { 0 };
        }
        (began.elapsed().saturating_sub(5 * OTHERS_INTERVAL)).as_secs_f64()
    }
}

/// When the next request is to be sent.
struct Schedule {
    began: Instant,
    until: Instant,
    per_s: Option<f64>,
    next: AtomicU64,
}

impl Schedule {
    /// Waits for the turn of the next request; false when the phase is over.
    async fn turn(&self) -> bool {
        if let Some(per_s) = self.per_s {
            let number = self.next.fetch_add(1, Relaxed);
            let at = self.began + Duration::from_secs_f64(number as f64 / per_s);
            if at >= self.until {
                return false;
            }
            tokio::time::sleep_until(at.into()).await;
        }
        Instant::now() < self.until
    }
}

/// One after the other, in turn with all other lanes. What is refused is asked again as it is: its nonce was not spent.
async fn ask(
    world: &World,
    lane: usize,
    nonce: &AtomicU64,
    schedule: &Schedule,
    [asked, answered, refused, lost, wrong]: &[AtomicU64; 5],
) {
    let (client, session, face) = world.person(lane % world.people());
    let mut request = None;
    while schedule.turn().await {
        let sent = request.take().unwrap_or_else(|| login(session, face, nonce));
        asked.fetch_add(1, Relaxed);
        match client.authenticate(&sent).await {
            Ok(answer) if answer.decision == Decision::Match => drop(answered.fetch_add(1, Relaxed)),
            Ok(_) => drop(wrong.fetch_add(1, Relaxed)),
            Err(cause) => match cause.code() {
                Some("quota-exceeded" | "overloaded") => {
                    refused.fetch_add(1, Relaxed);
                    // Fresh for a minute.
                    request = (sent.issued_at + 30 > unix_now()).then_some(sent);
                }
                // A connection that sends into refusals is closed.
                None => drop(lost.fetch_add(1, Relaxed)),
                Some(_) => drop(wrong.fetch_add(1, Relaxed)),
            },
        }
    }
}

/// Logins of the other tenant, each when its time has come, whatever became of the one before.
async fn others(world: &Arc<World>, until: Instant, nonce: &Arc<AtomicU64>) -> Phase {
    let mut logins = JoinSet::new();
    let mut person = 0;
    while Instant::now() < until {
        let (world, nonce) = (Arc::clone(world), Arc::clone(nonce));
        logins.spawn(async move {
            let (client, session, face) = world.person(person % world.people());
            let request = login(session, face, &nonce);
            let sent = Instant::now();
            let answer = client.authenticate(&request).await;
            (sent.elapsed().as_nanos() as u64, answer)
        });
        person += 1;
        tokio::time::sleep(OTHERS_INTERVAL).await;
    }
    let mut phase = Phase::default();
    for (ns, answer) in logins.join_all().await {
        match answer {
            Ok(answer) if answer.decision == Decision::Match => phase.others_ns.push(ns),
            Ok(_) => phase.wrong += 1,
            Err(_) => phase.others_refused += 1,
        }
    }
    phase
}

fn login(session: &HolderSession, face: &Vector, nonce: &AtomicU64) -> Authentication {
    let number = nonce.fetch_add(1, Relaxed);
    let nonce = Nonce::new([number.to_le_bytes(); 2].concat()).expect("16 bytes");
    session.authentication(face.clone(), nonce, unix_now(), AttestationForm::Compact)
}

/// Of the processors that this process may use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Keeps this thread, and those that it starts, on one half of the processors.
fn stay_on(half: Half) -> Result<(), Failure> {
    let allowed = sched_getaffinity(None).map_err(Failure::in_step("processors"))?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let (first, second) = allowed.split_at(allowed.len() / 2);
    let mine = if half == Half::First { first } else { second };
    if mine.is_empty() {
        return Err(Failure::usage("service and callers need a processor each; this machine has one"));
    }
    let mut set = CpuSet::new();
    mine.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(Failure::in_step("processors"))
}

/// A runtime whose threads have this priority.
fn runtime(threads: usize, nice: i32) -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .on_thread_start(move || {
            // Of this thread only, on Linux; elsewhere it competes with the service, which the figures then show.
            rustix::process::setpriority_process(None, nice).unwrap_or_default();
        })
        .build()
        .map_err(Failure::in_step("runtime"))
}
