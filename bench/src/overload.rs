//! More logins than the machine can answer, sent to a service in another process.
//!
//! One tenant measures the service's capacity in a closed loop, then sends twice and ten times as much on a schedule, as far as
//! its connections allow: each has one request in flight. Its requests are made before a phase, and it reads only the status of an answer, so
//! that it costs less than the service. Another tenant logs in 20 times a second through all of it. The service has one half of this machine's
//! processors and the callers the other. The thread of the other tenant has priority over the generator's. The service has a low priority beside
//! busy threads. This makes it a slow machine, which half of this one can overload.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
#[expect(clippy::disallowed_types, reason = "of the generator, which has one thread")]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_api::{AttestationForm, Authentication, Decision, Nonce, Vector};
use trefoil_client::HolderSession;

use crate::Failure;
use crate::Report;
use crate::apart::{Counting, Half, SERVICE_NICE, Service, runtime, stay_on};
use crate::distribution::{Distribution, rounded};
use crate::flood::world::{World, unix_now};
use crate::raw::{Connection, Target, post};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    /// Length of a phase.
    pub phase: Duration,
    /// Rounds of all phases.
    pub rounds: usize,
    /// People of the overloading tenant.
    pub people: usize,
    /// Its connections, with a request in flight each.
    pub in_flight: usize,
}

/// Offered load as multiples of the capacity.
const FACTORS: [u64; 2] = [2, 10];
/// Requests in flight when the capacity is measured.
const CLOSED_LOOP: usize = 192;
/// Logins of the other tenant.
const OTHERS_INTERVAL: Duration = Duration::from_millis(50);
/// Connections from one address: fewer than a service takes of a peer.
const PER_ADDRESS: usize = 512;
/// Nice value of the generator's threads.
const GENERATOR_NICE: i32 = 5;

/// Runs the phases.
///
/// # Errors
/// When the service does not start or a preparation fails. A wrong answer is in the report.
pub fn overload(parameters: Overload) -> Result<Report, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let (service, reached) = Service::start(&directory.path().join("data"), true)?;
    let counting = Counting::start()?;
    stay_on(Half::Second)?;
    let (generator, other) = (runtime(1, GENERATOR_NICE)?, runtime(1, 0)?);
    let many = Arc::new(generator.block_on(World::at(&reached, "many", parameters.people, 4))?);
    let few = Arc::new(other.block_on(World::at(&reached, "few", 8, 1))?);
    let target = Target::of(&reached)?;
    let mut callers = Vec::new();
    for caller in 0..parameters.in_flight {
        let last =
            2 + u8::try_from(caller / PER_ADDRESS).map_err(|_| Failure::usage("too many in flight"))?;
        callers.push(Caller { target: target.from(Ipv4Addr::new(127, 0, 0, last)), connection: None });
    }
    let asked = Arc::<Requests>::default();
    let mut run =
        Run { generator, other, many, few, callers, asked, phase: parameters.phase, nonce: Arc::default() };
    run.connect()?;
    // A warm-up: connections, the limit and the processor's clock settle.
    let settled = run.load(CLOSED_LOOP, None)?;
    run.prepare(settled.per_s());
    run.load(parameters.in_flight, None)?;
    let phases = run.rounds(&parameters, settled.per_s())?;
    let limit = run.other.block_on(run.few.metric("trefoil_in_flight_limit"))?;
    service.stop()?;
    drop(counting);
    report(&parameters, &phases, limit)
}

fn report(parameters: &Overload, phases: &[Phases], limit: f64) -> Result<Report, Failure> {
    let wrong = phases.iter().flat_map(|phases| &phases.0).map(|phase| phase.wrong).sum::<u64>();
    let [quiet, capacity, twice, tenfold] = phases else {
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
            "wanted_per_s": rounded(of.wanted_per_s()), "asked_per_s": rounded(of.asked_per_s()), "answered_per_s": rounded(of.per_s()), "goodput": rounded(goodput),
            "refused": of.0.iter().map(|phase| phase.refused).sum::<u64>(),
            "lost": of.0.iter().map(|phase| phase.lost).sum::<u64>(),
            "others_refused": of.0.iter().map(|phase| phase.others_refused).sum::<u64>(),
            "others_p50_ms": rounded(p50), "others_p99_ms": rounded(p99), "others_p99_ratio": rounded(p99_ratio),
            "answered_per_s_runs": Distribution::new(of.0.iter().map(Phase::per_s).collect()).runs_json(),
        });
        result.insert(name.to_owned(), figures);
    }
    summary.push_str(&format!("  {limit} requests of a tenant in flight\n"));
    result.insert("in_flight_limit".to_owned(), json!(limit));
    result.insert("nice".to_owned(), json!({"generator": GENERATOR_NICE, "service": SERVICE_NICE}));
    result.insert("phase_s".to_owned(), json!(parameters.phase.as_secs_f64()));
    result.insert("rounds".to_owned(), json!(parameters.rounds));
    let problem = (wrong > 0).then(|| format!("{wrong} answers were wrong"));
    Ok(Report { summary, result: result.into(), problem })
}

struct Run {
    generator: Runtime,
    other: Runtime,
    many: Arc<World>,
    few: Arc<World>,
    callers: Vec<Caller>,
    asked: Arc<Requests>,
    phase: Duration,
    nonce: Arc<AtomicU64>,
}

/// One connection of the overloading tenant.
struct Caller {
    target: Target,
    connection: Option<Connection>,
}

/// Requests that were made before a phase, and those that were refused.
#[derive(Default)]
struct Requests(
    #[expect(clippy::disallowed_types, reason = "of the generator, which has one thread")]
    Mutex<VecDeque<Vec<u8>>>,
);

impl Requests {
    fn next(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn again(&self, request: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
    }
}

/// The result of one phase.
#[derive(Clone, Default)]
pub(crate) struct Phase {
    seconds: f64,
    /// By the clock; 0 in a closed loop.
    wanted_per_s: f64,
    asked: u64,
    answered: u64,
    refused: u64,
    /// Requests whose connection was closed while they were in flight.
    lost: u64,
    pub(crate) wrong: u64,
    /// Of the other tenant: how long its logins took, and how many failed.
    pub(crate) others_ns: Vec<u64>,
    pub(crate) others_refused: u64,
}

impl Phase {
    fn per_s(&self) -> f64 {
        self.answered as f64 / self.seconds
    }
}

/// All phases of one kind.
#[derive(Clone, Default)]
pub(crate) struct Phases(Vec<Phase>);

impl Phases {
    pub(crate) fn push(&mut self, phase: Phase) {
        self.0.push(phase);
    }

    pub(crate) fn sum(&self, of: impl Fn(&Phase) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    fn per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.answered).sum::<u64>() as f64 / self.seconds()
    }

    fn asked_per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.asked).sum::<u64>() as f64 / self.seconds()
    }

    fn wanted_per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.wanted_per_s).sum::<f64>() / self.0.len().max(1) as f64
    }

    fn seconds(&self) -> f64 {
        self.0.iter().map(|phase| phase.seconds).sum()
    }

    pub(crate) fn others_ms(&self, q: f64) -> f64 {
        let mut all: Vec<u64> = self.0.iter().flat_map(|phase| phase.others_ns.iter().copied()).collect();
        all.sort_unstable();
        let rank = ((all.len() as f64 * q).ceil() as usize).max(1) - 1;
        all.get(rank).map_or(f64::NAN, |&ns| ns as f64 / 1e6)
    }
}

impl Run {
    /// The phases of all rounds.
    fn rounds(&mut self, parameters: &Overload, settled_per_s: f64) -> Result<Vec<Phases>, Failure> {
        let mut phases = vec![Phases::default(); 2 + FACTORS.len()];
        for _ in 0..parameters.rounds {
            phases[0].push(self.quiet());
            self.connect()?;
            self.prepare(settled_per_s);
            let capacity = self.load(CLOSED_LOOP, None)?;
            let per_s = capacity.per_s();
            phases[1].push(capacity);
            for (factor, phases) in FACTORS.iter().zip(&mut phases[2..]) {
                self.connect()?;
                self.prepare(per_s);
                let wanted_per_s = per_s * *factor as f64;
                phases.push(Phase { wanted_per_s, ..self.load(parameters.in_flight, Some(wanted_per_s))? });
            }
        }
        Ok(phases)
    }

    /// The other tenant alone.
    fn quiet(&mut self) -> Phase {
        let began = Instant::now();
        let mut phase = self.other.block_on(others(&self.few, began + self.phase, &self.nonce));
        phase.seconds = began.elapsed().as_secs_f64();
        phase
    }

    /// Reopens all connections: the service closes those that were idle for some seconds, and a phase must not start with handshakes.
    fn connect(&mut self) -> Result<(), Failure> {
        let mut opened = Vec::new();
        for caller in &mut self.callers {
            caller.connection = None;
        }
        self.generator.block_on(async {
            let mut opening = JoinSet::new();
            for (number, caller) in self.callers.iter().enumerate() {
                let target = caller.target.clone();
                opening.spawn(async move { (number, target.connect(None).await) });
                // A few at a time: the service limits concurrent handshakes.
                if opening.len() >= 32
                    && let Some(Ok((number, connection))) = opening.join_next().await
                {
                    opened.push((number, connection));
                }
            }
            opened.extend(opening.join_all().await);
        });
        for (number, connection) in opened {
            self.callers[number].connection = Some(connection.map_err(Failure::in_step("connection"))?);
        }
        Ok(())
    }

    /// Makes the requests of a phase in which this many a second are answered.
    fn prepare(&self, per_s: f64) {
        let count = (1.5 * per_s * self.phase.as_secs_f64()) as usize + self.callers.len();
        let all = (0..count).map(|number| prepared(&self.many, number, &self.nonce)).collect();
        *self.asked.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// One tenant sends with this many requests in flight, `per_s` times a second or in a closed loop; the other one logs in
    /// all the while.
    fn load(&mut self, in_flight: usize, per_s: Option<f64>) -> Result<Phase, Failure> {
        let counts: Arc<[AtomicU64; 5]> = Arc::default();
        let began = Instant::now();
        let until = began + self.phase;
        let schedule = Arc::new(Schedule { began, until, per_s, next: AtomicU64::default() });
        let rest = self.callers.split_off(in_flight.min(self.callers.len()));
        let callers: Vec<_> = self
            .callers
            .drain(..)
            .enumerate()
            .map(|(number, mut caller)| {
                let (world, counts) = (Arc::clone(&self.many), Arc::clone(&counts));
                let (nonce, schedule) = (Arc::clone(&self.nonce), Arc::clone(&schedule));
                let requests = Arc::clone(&self.asked);
                self.generator.spawn(async move {
                    let make = || prepared(&world, number, &nonce);
                    ask(&mut caller, &requests, make, &schedule, &counts).await;
                    caller
                })
            })
            .collect();
        let phase = self.other.block_on(others(&self.few, until, &self.nonce));
        let seconds = began.elapsed().as_secs_f64();
        let [asked, answered, refused, lost, wrong] = counts.each_ref().map(|count| count.load(Relaxed));
        // Requests still in flight belong to no phase.
        for caller in callers {
            self.callers.push(self.generator.block_on(caller).map_err(Failure::in_step("generator"))?);
        }
        self.callers.extend(rest);
        Ok(Phase { seconds, asked, answered, refused, lost, wrong: wrong + phase.wrong, ..phase })
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

/// One after another, alternating with all other callers. A refused request is resent unchanged later, because its nonce was not spent.
async fn ask(
    caller: &mut Caller,
    requests: &Requests,
    make: impl Fn() -> Vec<u8>,
    schedule: &Schedule,
    [asked, answered, refused, lost, wrong]: &[AtomicU64; 5],
) {
    while schedule.turn().await {
        let request = requests.next().unwrap_or_else(&make);
        let connection = match caller.connection.take() {
            Some(connection) => Ok(connection),
            None => caller.target.connect(None).await,
        };
        asked.fetch_add(1, Relaxed);
        let answer = match connection {
            Ok(mut connection) => connection.ask(&request).await.map(|answer| (answer, connection)),
            Err(cause) => Err(cause),
        };
        let Ok((answer, connection)) = answer else {
            // A connection that keeps sending while refused is closed.
            lost.fetch_add(1, Relaxed);
            continue;
        };
        caller.connection = Some(connection);
        match answer.status {
            200 if answer.matches == 1 => drop(answered.fetch_add(1, Relaxed)),
            429 | 503 => {
                refused.fetch_add(1, Relaxed);
                requests.again(request);
            }
            _ => drop(wrong.fetch_add(1, Relaxed)),
        }
    }
}

/// A login as it is sent.
fn prepared(world: &World, number: usize, nonce: &AtomicU64) -> Vec<u8> {
    let (_, session, face) = world.person(number % world.people());
    let body = serde_json::to_vec(&login(session, face, nonce)).expect("a request is JSON");
    post("/v1/authentications", world.api_key(), &body)
}

/// Logins of the other tenant, each at its scheduled time, regardless of the previous one's outcome.
pub(crate) async fn others(world: &Arc<World>, until: Instant, nonce: &Arc<AtomicU64>) -> Phase {
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
        // Only the time and the decision count here.
        match answer.map(|answer| answer.without_verification()) {
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
