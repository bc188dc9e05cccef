//! Logins over HTTPS, to a service in another process: the rate and the latency that a caller sees.
//!
//! A closed loop shows the rate: a number of connections, each with one login in flight at all times. Then half of the best rate arrives at
//! random times, as from independent callers, and a login counts from its intended start, whether a
//! connection was free then or not. So a service that stalls shows it in every login that fell into the stall.
//!
//! Service and generator share the machine. The generator makes its requests before a phase; of an answer it reads status and decision. One
//! login in so many asks for the whole attestation, which is verified offline after its phase.
//!
//! With a batch size each request has so many logins. Rates count logins, times are those of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use trefoil_types::Account;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_api::{
    AttestationForm, Authenticated, AuthenticatedBatch, Authentication, AuthenticationBatch, Nonce, Outcome,
};
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, verify};
use trefoil_client::attested_digest;

use crate::Failure;
use crate::Report;
use crate::apart::{Service, runtime};
use crate::distribution::{Distribution, rounded};
use crate::flood::world::{AUDIENCE, World, unix_now};
use crate::raw::{Answered, Connection, Target, post};

/// What to run.
#[derive(Clone, Debug)]
pub struct Load {
    /// Length of a phase.
    pub phase: Duration,
    /// Rounds of all phases.
    pub rounds: usize,
    /// People who log in, each with a session.
    pub people: usize,
    /// Connections of the closed loops, in the order in which they run.
    pub connections: Vec<usize>,
    /// Logins of a request: one, or a batch.
    pub batch: usize,
    /// Verify one login in this many offline.
    pub verify_every: usize,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// Part of the best rate at which logins arrive in the open loop.
const OPEN_SHARE: f64 = 0.5;
/// Connections for those.
const OPEN_CONNECTIONS: usize = 256;
/// Requests that are made before a phase, for each second of it, before a rate is known; of logins in batches so many.
pub(crate) const FIRST_GUESS_PER_S: f64 = 8_000.0;
const FIRST_GUESS_IN_BATCHES_PER_S: f64 = 60_000.0;
/// Requests say that they were made so long before their intended start. A service takes them until 60 s and from 5 s before, so a phase may
/// be by this much faster or by 35 s slower than its requests were made for.
const AGE_S: f64 = 25.0;
/// Requests that are made to learn how long one takes.
const FIRST_REQUESTS: usize = 64;

/// Runs the phases.
///
/// # Errors
/// When the service does not start or a preparation fails. A wrong answer and an attestation that does not verify are in the report.
pub fn load(parameters: &Load) -> Result<Report, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let (service, reached) = Service::start_on_all(&directory.path().join("data"))?;
    let runtime = runtime(1, 0)?;
    let world = runtime.block_on(World::at(&reached, "load", parameters.people, 2))?;
    let trust_root = runtime.block_on(world.trust_root())?;
    let targets = vec![Target::of(&reached)?];
    let generator = Generator { runtime, targets, world, trust_root, made: AtomicU64::new(0) };
    let most = parameters.connections.iter().copied().max().unwrap_or(1);
    // A warm-up: templates and verdicts settle in memory.
    let guess = if parameters.batch == 1 { FIRST_GUESS_PER_S } else { FIRST_GUESS_IN_BATCHES_PER_S };
    // A first phase may be slow; later phases must not run out of requests because of that.
    let mut per_s = generator.closed(parameters, most, guess)?.per_s().max(guess);
    let mut resident = vec![service.resident_bytes()?];
    let mut closed = vec![Phase::default(); parameters.connections.len()];
    let mut open = Phase::default();
    for round in 0..parameters.rounds {
        for (phase, &connections) in closed.iter_mut().zip(&parameters.connections) {
            let shown = generator.closed(parameters, connections, per_s)?;
            per_s = per_s.max(shown.per_s());
            eprintln!(
                "round {} of {}: {connections} connections, {:.0} logins/s",
                round + 1,
                parameters.rounds,
                shown.per_s()
            );
            phase.add(shown);
        }
        let best = closed.iter().map(Phase::per_s).fold(0.0, f64::max);
        open.add(generator.open(parameters, OPEN_SHARE * best, round as u64)?);
        resident.push(service.resident_bytes()?);
    }
    service.stop()?;
    let mut report = report(parameters, &closed, &open);
    report.result["service_resident_bytes"] =
        json!({"after_warm_up": resident[0], "after_rounds": resident[1..]});
    Ok(report)
}

/// The result of phases of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub(crate) seconds: f64,
    /// Logins that were answered.
    pub(crate) logins: u64,
    /// Of requests.
    latencies_ns: Vec<u64>,
    runs_per_s: Vec<f64>,
    /// Answers that were no match, and connections that broke.
    wrong: u64,
    first_wrong: Option<String>,
    verified: u64,
    unverified: Vec<String>,
}

impl Phase {
    pub(crate) fn per_s(&self) -> f64 {
        self.logins as f64 / self.seconds
    }

    pub(crate) fn add(&mut self, run: Phase) {
        self.runs_per_s.push(run.per_s());
        self.seconds += run.seconds;
        self.logins += run.logins;
        self.latencies_ns.extend(run.latencies_ns);
        self.wrong += run.wrong;
        self.first_wrong = self.first_wrong.take().or(run.first_wrong);
        self.verified += run.verified;
        self.unverified.extend(run.unverified);
    }

    pub(crate) fn json(&self) -> Value {
        let ms = Distribution::new(self.latencies_ns.iter().map(|&ns| ns as f64 / 1e6).collect());
        json!({
            "logins": self.logins, "requests": self.latencies_ns.len(), "logins_per_s": rounded(self.per_s()), "p50_ms": rounded(ms.percentile(50)),
            "p90_ms": rounded(ms.percentile(90)), "p99_ms": rounded(ms.percentile(99)), "max_ms": rounded(ms.percentile(100)),
            "wrong": self.wrong, "verified_offline": self.verified, "unverified": self.unverified.len(),
            "logins_per_s_runs": Distribution::new(self.runs_per_s.clone()).runs_json(),
        })
    }
}

fn report(parameters: &Load, closed: &[Phase], open: &Phase) -> Report {
    let mut summary = String::new();
    let mut line = |name: String, phase: &Value| {
        let value = |name: &str| phase[name].as_f64().unwrap_or(f64::NAN);
        summary.push_str(&format!(
            "  {name:<32} {:>7.0} logins/s   p50 {:>7.2} ms   p90 {:>7.2} ms   p99 {:>7.2} ms   max {:>7.2} ms   verified {}\n",
            value("logins_per_s"), value("p50_ms"), value("p90_ms"), value("p99_ms"), value("max_ms"), value("verified_offline")
        ));
    };
    let in_batches = match parameters.batch {
        1 => String::new(),
        batch => format!(" x {batch}"),
    };
    let mut loops = Vec::new();
    for (phase, connections) in closed.iter().zip(&parameters.connections) {
        let mut figures = phase.json();
        line(format!("closed loop, {connections} connections{in_batches}"), &figures);
        figures["connections"] = json!(connections);
        loops.push(figures);
    }
    let mut half = open.json();
    line("half of the best, at random times".to_owned(), &half);
    half["wanted_per_s"] = json!(rounded(OPEN_SHARE * closed.iter().map(Phase::per_s).fold(0.0, f64::max)));
    let best = closed.iter().map(Phase::per_s).fold(0.0, f64::max);
    let problem = problem(closed.iter().chain([open]));
    let result = json!({
        "closed": loops, "open": half, "best_per_s": rounded(best), "open_share": OPEN_SHARE,
        "phase_s": parameters.phase.as_secs_f64(), "rounds": parameters.rounds, "people": parameters.people,
        "batch": parameters.batch, "verify_every": parameters.verify_every, "seed": parameters.seed,
    });
    Report { summary, result, problem }
}

/// What is wrong with these phases.
pub(crate) fn problem<'a>(phases: impl Iterator<Item = &'a Phase> + Clone) -> Option<String> {
    let wrong: u64 = phases.clone().map(|phase| phase.wrong).sum();
    let unverified = phases.clone().flat_map(|phase| &phase.unverified);
    let in_words = |cause: Option<&String>| cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    match (wrong, unverified.clone().next()) {
        (0, None) => None,
        (wrong, first) => Some(format!(
            "{wrong} answers were wrong{}, {} attestations did not verify{}",
            in_words(phases.clone().find_map(|phase| phase.first_wrong.as_ref())),
            unverified.count(),
            in_words(first)
        )),
    }
}

/// Those of a Poisson process within this time.
fn arrivals(per_s: f64, within: Duration, seed: u64) -> Vec<Duration> {
    let mut rng = StdRng::seed_from_u64(seed);
    let gaps = std::iter::repeat_with(|| -(1.0 - rng.random::<f64>()).ln() / per_s);
    let times = gaps.scan(0.0, |at, gap| {
        *at += gap;
        Some(Duration::from_secs_f64(*at))
    });
    times.take_while(|at| *at < within).collect()
}

pub(crate) struct Generator {
    pub(crate) runtime: Runtime,
    /// Connections take turns with them.
    pub(crate) targets: Vec<Target>,
    pub(crate) world: World,
    pub(crate) trust_root: TrustRoot,
    /// Requests so far: each has its own nonce.
    pub(crate) made: AtomicU64,
}

/// What a phase needs before its time begins.
pub(crate) struct Ready {
    made: Arc<Vec<Made>>,
    opened: Vec<Connection>,
    arrivals: Arrivals,
}

/// What a phase showed, before its attestations are verified.
pub(crate) struct Sent {
    made: Arc<Vec<Made>>,
    seen: Vec<Seen>,
    seconds: f64,
    /// More was answered than was made.
    pub(crate) ran_out: bool,
}

/// A request as it is sent, and the expected contents of the attestations of its fully attested logins.
struct Made {
    bytes: Vec<u8>,
    whole: Vec<Expected>,
}

struct Expected {
    /// Among the logins of the request.
    place: usize,
    nonce: ExpectedNonce,
    account: Account,
    request_digest: [u8; 32],
}

/// When requests begin.
#[derive(Clone)]
enum Arrivals {
    /// As soon as a connection is free.
    AtOnce,
    /// So long after the beginning of the phase.
    At(Arc<[Duration]>),
}

impl Generator {
    /// A phase that answers more requests than were made for it is repeated with more.
    fn closed(&self, parameters: &Load, connections: usize, mut per_s: f64) -> Result<Phase, Failure> {
        loop {
            let sent = self.send(parameters, self.ready_closed(parameters, connections, per_s)?);
            if !sent.ran_out {
                return self.judged(parameters, sent);
            }
            per_s *= 2.0;
        }
    }

    /// Requests for a closed loop of no more than one and a half times this rate.
    pub(crate) fn ready_closed(
        &self,
        parameters: &Load,
        connections: usize,
        per_s: f64,
    ) -> Result<Ready, Failure> {
        let requests_per_s = per_s / parameters.batch as f64;
        let count = (1.5 * requests_per_s * parameters.phase.as_secs_f64()) as usize;
        let starts = |at| at as f64 / requests_per_s;
        self.ready(parameters, connections, (count, &starts), Arrivals::AtOnce)
    }

    fn open(&self, parameters: &Load, per_s: f64, round: u64) -> Result<Phase, Failure> {
        let arrivals: Arc<[Duration]> =
            arrivals(per_s / parameters.batch as f64, parameters.phase, parameters.seed ^ round).into();
        let requests = (arrivals.len(), &|at: usize| arrivals[at].as_secs_f64());
        let ready =
            self.ready(parameters, OPEN_CONNECTIONS, requests, Arrivals::At(Arc::clone(&arrivals)))?;
        self.judged(parameters, self.send(parameters, ready))
    }

    /// Makes `count` requests for these starts, in seconds after the beginning of the phase, and opens the connections.
    fn ready(
        &self,
        parameters: &Load,
        connections: usize,
        (count, starts): (usize, &(impl Fn(usize) -> f64 + Sync)),
        arrivals: Arrivals,
    ) -> Result<Ready, Failure> {
        let makers = std::thread::available_parallelism().map_or(1, usize::from);
        let (began, first) = (Instant::now(), count.min(FIRST_REQUESTS));
        (0..first).try_for_each(|at| self.make(at, unix_now(), parameters).map(drop))?;
        let making_s = began.elapsed().as_secs_f64() / first.max(1) as f64 * (count / makers) as f64;
        let begins = unix_now() as f64 + making_s;
        let make = |at| {
            // A service refuses requests from before it began.
            let made_at = unix_now().max((begins + starts(at) - AGE_S) as u64);
            self.make(at, made_at, parameters)
        };
        let share = count.div_ceil(makers).max(1);
        let make = &make;
        let made = std::thread::scope(|threads| {
            let shares = (0..count).step_by(share).map(|from| {
                let upto = count.min(from + share);
                threads.spawn(move || (from..upto).map(make).collect::<Result<Vec<_>, _>>())
            });
            let threads = shares.collect::<Vec<_>>().into_iter();
            let made =
                threads.map(|thread| thread.join().map_err(|_| Failure::fault("a thread panicked"))?);
            made.collect::<Result<Vec<_>, Failure>>()
        })?;
        let opened = self.runtime.block_on(self.connect(connections))?;
        Ok(Ready { made: Arc::new(made.into_iter().flatten().collect()), opened, arrivals })
    }

    /// Sends requests for as long as a phase takes.
    pub(crate) fn send(&self, parameters: &Load, ready: Ready) -> Sent {
        let Ready { made, opened, arrivals } = ready;
        let (next, began) = (Arc::<AtomicUsize>::default(), Instant::now());
        let until = began + parameters.phase;
        let senders = opened.into_iter().map(|connection| {
            let (made, next, arrivals) = (Arc::clone(&made), Arc::clone(&next), arrivals.clone());
            send(connection, made, next, arrivals, (began, until), parameters.batch)
        });
        let seen = self.runtime.block_on(async { senders.collect::<JoinSet<_>>().join_all().await });
        let ran_out = matches!(arrivals, Arrivals::AtOnce) && next.load(Relaxed) >= made.len();
        Sent { made, seen, seconds: began.elapsed().as_secs_f64(), ran_out }
    }

    /// Verifies the sample.
    pub(crate) fn judged(&self, parameters: &Load, sent: Sent) -> Result<Phase, Failure> {
        let Sent { made, seen, seconds, ran_out: _ } = sent;
        let mut phase = Phase { seconds, ..Phase::default() };
        for seen in seen {
            phase.wrong += seen.wrong;
            phase.first_wrong = phase.first_wrong.or(seen.first_wrong);
            phase.logins += (seen.latencies_ns.len() * parameters.batch) as u64;
            phase.latencies_ns.extend(seen.latencies_ns);
            for (at, body) in seen.whole {
                let answers = answers(&body, parameters.batch);
                for expected in &made[at].whole {
                    match answers.clone().and_then(|answers| self.verified(&answers, expected)) {
                        Ok(()) => phase.verified += 1,
                        Err(cause) => phase.unverified.push(cause),
                    }
                }
            }
        }
        Ok(phase)
    }

    fn make(&self, at: usize, made_at: u64, parameters: &Load) -> Result<Made, Failure> {
        let (mut requests, mut whole) = (Vec::with_capacity(parameters.batch), Vec::new());
        for place in 0..parameters.batch {
            let number = self.made.fetch_add(1, Relaxed);
            let (_, session, face) = self.world.person(number as usize % self.world.people());
            let nonce = [number.to_le_bytes(); 2].concat();
            let wire = Nonce::new(nonce.clone()).ok_or_else(|| Failure::fault("a nonce of 16 bytes"))?;
            let is_whole = (at * parameters.batch + place).is_multiple_of(parameters.verify_every);
            let form = if is_whole { AttestationForm::Full } else { AttestationForm::Compact };
            let request: Authentication = session.authentication(face.clone(), wire, made_at, form);
            whole.extend(is_whole.then(|| Expected {
                place,
                nonce: ExpectedNonce::Exactly(nonce),
                account: session.account(),
                request_digest: attested_digest(&request),
            }));
            requests.push(request);
        }
        let (path, body) = match requests.as_slice() {
            [request] if parameters.batch == 1 => ("/v1/authentications", serde_json::to_vec(request)),
            requests => (
                "/v1/authentications/batch",
                serde_json::to_vec(&AuthenticationBatch { authentications: requests }),
            ),
        };
        let body = body.map_err(Failure::in_step("request"))?;
        Ok(Made { bytes: post(path, self.world.api_key(), &body), whole })
    }

    async fn connect(&self, connections: usize) -> Result<Vec<Connection>, Failure> {
        let mut opened = Vec::new();
        for target in self.targets.iter().cycle().take(connections) {
            opened.push(target.connect(None).await.map_err(Failure::in_step("connection"))?);
        }
        Ok(opened)
    }

    /// Verifies as a relying party does, with the trust root alone.
    fn verified(&self, answers: &[Authenticated], expected: &Expected) -> Result<(), String> {
        let answer = answers.get(expected.place).ok_or("there are fewer answers than requests")?;
        let policy = Policy::new(self.trust_root.clone(), AUDIENCE, expected.nonce.clone())
            .account(expected.account)
            .request_digest(expected.request_digest);
        let attestation = answer.attestation.as_ref().ok_or("an answer has no attestation")?;
        verify(&attestation.0, &policy, unix_now()).map_err(|cause| cause.to_string())?;
        Ok(())
    }
}

/// The answers of a body.
fn answers(body: &[u8], batch: usize) -> Result<Vec<Authenticated>, String> {
    let cause = |cause: serde_json::Error| cause.to_string();
    if batch == 1 {
        return Ok(vec![serde_json::from_slice(body).map_err(cause)?]);
    }
    let answer: AuthenticatedBatch<Value> = serde_json::from_slice(body).map_err(cause)?;
    let each = answer.results.into_iter().map(|outcome| match outcome {
        Outcome::Answered(answer) => Ok(answer),
        Outcome::Refused { problem } => Err(format!("a login was refused: {problem}")),
    });
    each.collect()
}

/// The result of one connection.
#[derive(Default)]
struct Seen {
    latencies_ns: Vec<u64>,
    wrong: u64,
    /// The first answer with a wrong login, or why there was none.
    first_wrong: Option<String>,
    /// Numbers of requests with logins of whole form, and their answers.
    whole: Vec<(usize, Vec<u8>)>,
}

async fn send(
    mut connection: Connection,
    made: Arc<Vec<Made>>,
    next: Arc<AtomicUsize>,
    arrivals: Arrivals,
    (began, until): (Instant, Instant),
    batch: usize,
) -> Seen {
    let mut seen = Seen::default();
    loop {
        let at = next.fetch_add(1, Relaxed);
        let Some(request) = made.get(at) else { return seen };
        let begins = match &arrivals {
            Arrivals::AtOnce => Instant::now(),
            Arrivals::At(arrivals) => began + arrivals[at],
        };
        if begins >= until {
            return seen;
        }
        // The runtime's timers round up to the next millisecond, even for a time that is past.
        if begins > Instant::now() {
            tokio::time::sleep_until(begins.into()).await;
        }
        let answer = match connection.ask(&request.bytes).await {
            Ok(answer) => answer,
            Err(cause) => {
                seen.wrong += batch as u64;
                seen.first_wrong.get_or_insert(cause.to_string());
                return seen;
            }
        };
        seen.latencies_ns.push(begins.elapsed().as_nanos() as u64);
        let matches = if answer.status == 200 { answer.matches } else { 0 };
        if matches != batch {
            seen.wrong += matches.abs_diff(batch) as u64;
            seen.first_wrong.get_or_insert_with(|| refusal(&answer));
        }
        if !request.whole.is_empty() {
            seen.whole.push((at, answer.body));
        }
    }
}

/// What an operator can read of an answer that is no match: its status, and the code of the first problem in it.
fn refusal(answer: &Answered) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let code = body.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next());
    format!("status {}, {}", answer.status, code.unwrap_or("no problem named"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_their_rate_and_no_rhythm() {
        let (per_s, within) = (1_000.0, Duration::from_secs(10));
        let all = arrivals(per_s, within, 1);
        // Five standard deviations of a Poisson count.
        assert!(all.len().abs_diff(10_000) < 500, "{}", all.len());
        assert!(all.is_sorted() && all.iter().all(|at| *at < within));
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * per_s).collect();
        let short = gaps.iter().filter(|gap| **gap < 0.5).count() as f64 / gaps.len() as f64;
        // 1 - exp(-1/2): a clock would have none of these.
        assert!((short - 0.393).abs() < 0.025, "{short}");
    }

    /// Claim B13: Every timed login over HTTPS got the right answer, and every attestation of the sample verified offline. Also:
    /// `bench/records/2026-11-24-epyc-2vcpu/load.json#/open/wrong`, `bench/records/2026-11-24-epyc-2vcpu/load.json#/open/unverified`,
    /// `bench/records/2026-11-25-epyc-zen3-b-2vcpu/load.json#/open/wrong`,
    /// `bench/records/2026-11-25-epyc-zen3-b-2vcpu/load-batches.json#/open/unverified`.
    #[test]
    fn a_wrong_answer_or_an_attestation_that_does_not_verify_fails_the_run() {
        let parameters = Load {
            phase: Duration::from_secs(1),
            rounds: 1,
            people: 1,
            connections: vec![1],
            batch: 1,
            verify_every: 1,
            seed: 1,
        };
        let right =
            Phase { seconds: 1.0, logins: 100, latencies_ns: vec![1; 100], verified: 1, ..Phase::default() };
        let problem = |phase: &Phase| report(&parameters, std::slice::from_ref(&right), phase).problem;
        assert_eq!(problem(&right), None);
        let first_wrong = Some("status 429, overloaded".to_owned());
        let wrong = Phase { wrong: 2, first_wrong, ..right.clone() };
        let expected = "2 answers were wrong (status 429, overloaded), 0 attestations did not verify";
        assert_eq!(problem(&wrong).as_deref(), Some(expected));
        let forged = Phase { unverified: vec!["not signed".to_owned()], ..right.clone() };
        let expected = "0 answers were wrong, 1 attestations did not verify (not signed)";
        assert_eq!(problem(&forged).as_deref(), Some(expected));
    }
}
