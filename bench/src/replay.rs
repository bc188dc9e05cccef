//! Replays the shape of captured requests, at a chosen speed, to a service in another process.
//!
//! A capture of `trefoil serve --capture` records when requests began, their routes, how many logins they had, and which of them belong to one
//! tenant and of one subject. Tenants and people of the same pattern are made, and requests of the same routes, batch sizes and forms of
//! answer start at the same intervals, divided by the speed. A request counts from its intended start, whether a
//! connection was free then or not.
//!
//! Data that a capture does not have cannot be sent: faces are synthetic, and all logins show the right face. Requests that need a proof or change
//! other state (sessions, enrolments, roots) are left out and counted.

mod plan;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trefoil_api::{AuthenticationBatch, Nonce};
use trefoil_server::capture::read;

use crate::Failure;
use crate::Report;
use crate::apart::{Service, runtime};
use crate::distribution::{Distribution, rounded};
use crate::flood::world::{World, unix_now};
use crate::raw::{Connection, Target, get, post};
use plan::{Kind, Plan, Planned};

/// What to replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The capture.
    pub file: PathBuf,
    /// Speed-ups; one replay for each.
    pub speeds: Vec<f64>,
    /// Most people that are made; subjects beyond share them.
    pub people: usize,
    /// Connections, with a request in flight each.
    pub connections: usize,
    /// Where the service captures the replay itself, if anywhere.
    pub capture: Option<PathBuf>,
}

/// How long before its time a request is made, because its age is checked.
const MADE_AHEAD: Duration = Duration::from_secs(5);
/// No API key.
const STRANGER: &str = "a-stranger";

/// Replays it.
///
/// # Errors
/// When it is no capture, has nothing that can be replayed, or the service does not start. Wrong answers are in the report.
pub fn replay(parameters: &Replay) -> Result<Report, Failure> {
    let path = parameters.file.display();
    let text =
        fs::read_to_string(&parameters.file).map_err(|why| Failure::usage(format!("{path}: {why}")))?;
    let captured = read(&text).map_err(|why| Failure::usage(format!("{path}: {why}")))?;
    let plan = Arc::new(Plan::new(&captured, parameters.people)?);
    let directory = tempfile::tempdir().map_err(Failure::in_step("temporary directory"))?;
    let data = directory.path().join("data");
    let (service, reached) = Service::start_capturing(&data, parameters.capture.as_deref())?;
    let runtime = runtime(1, 0)?;
    let mut worlds = Vec::new();
    for (number, people) in plan.people.iter().enumerate() {
        let name = format!("replay-{number}");
        worlds.push(runtime.block_on(World::at(&reached, &name, *people, 2))?);
    }
    let maker = Arc::new(Maker { plan, worlds, target: Target::of(&reached)?, made: AtomicU64::new(0) });
    let mut phases = Vec::new();
    for &speed in &parameters.speeds {
        eprintln!("{} requests at {speed} times their speed", maker.plan.requests.len());
        phases.push((speed, runtime.block_on(phase(&maker, speed, parameters.connections))?));
    }
    service.stop()?;
    Ok(report(parameters, &maker.plan, &phases))
}

/// The request maker.
struct Maker {
    plan: Arc<Plan>,
    /// One for each tenant.
    worlds: Vec<World>,
    target: Target,
    /// Logins so far: each has its own nonce.
    made: AtomicU64,
}

/// The result of one replay.
#[derive(Default)]
struct Phase {
    seconds: f64,
    /// From the intended start of each request.
    latencies_ns: BTreeMap<&'static str, Vec<u64>>,
    statuses: BTreeMap<u16, u64>,
    logins: u64,
    /// Requests that were answered well when they were captured, and were not now, and connections that broke.
    wrong: u64,
}

async fn phase(maker: &Arc<Maker>, speed: f64, connections: usize) -> Result<Phase, Failure> {
    let mut opened = Vec::new();
    for _ in 0..connections.min(maker.plan.requests.len()) {
        opened.push(maker.target.connect(None).await.map_err(Failure::in_step("connection"))?);
    }
    let (next, began) = (Arc::<AtomicUsize>::default(), Instant::now());
    let senders = opened
        .into_iter()
        .map(|connection| send(connection, Arc::clone(maker), Arc::clone(&next), (began, speed)));
    let senders = senders.collect::<JoinSet<_>>().join_all().await;
    let mut phase = Phase { seconds: began.elapsed().as_secs_f64(), ..Phase::default() };
    senders.into_iter().for_each(|seen| phase.add(seen));
    Ok(phase)
}

/// One connection: takes the next request, makes it, waits for its time.
async fn send(
    mut connection: Connection,
    maker: Arc<Maker>,
    next: Arc<AtomicUsize>,
    (began, speed): (Instant, f64),
) -> Phase {
    let mut seen = Phase::default();
    loop {
        let Some(planned) = maker.plan.requests.get(next.fetch_add(1, Relaxed)) else { return seen };
        let begins = began + planned.after.div_f64(speed);
        tokio::time::sleep_until((begins - MADE_AHEAD).max(began).into()).await;
        let request = maker.make(planned);
        tokio::time::sleep_until(begins.into()).await;
        let Ok(answer) = connection.ask(&request).await else {
            seen.wrong += 1;
            // Reconnect, or this connection's requests would all be late.
            let Ok(fresh) = maker.target.connect(None).await else { return seen };
            connection = fresh;
            continue;
        };
        let latency = begins.elapsed().as_nanos() as u64;
        seen.latencies_ns.entry(planned.kind.name()).or_default().push(latency);
        *seen.statuses.entry(answer.status).or_default() += 1;
        seen.logins += answer.matches as u64;
        let is_right = answer.status == planned.status
            && (planned.status != 200 || answer.matches == planned.kind.logins());
        seen.wrong += u64::from(planned.is_judged() && !is_right);
    }
}

impl Maker {
    fn make(&self, planned: &Planned) -> Vec<u8> {
        let world = &self.worlds[planned.tenant];
        let key = if planned.status == 401 { STRANGER } else { world.api_key() };
        let login = |person: &usize| {
            let (_, session, face) = world.person(*person);
            let nonce = [self.made.fetch_add(1, Relaxed).to_le_bytes(); 2].concat();
            let nonce = Nonce::new(nonce).expect("a nonce of 16 bytes");
            session.authentication(face.clone(), nonce, unix_now(), planned.form)
        };
        match &planned.kind {
            Kind::Read(path) => get(path),
            Kind::Login(person) => {
                let body = serde_json::to_vec(&login(person)).expect("a request has a JSON form");
                post("/v1/authentications", key, &body)
            }
            Kind::Batch(people) => {
                let authentications: Vec<_> = people.iter().map(login).collect();
                let batch = AuthenticationBatch { authentications: &authentications };
                let body = serde_json::to_vec(&batch).expect("a request has a JSON form");
                post("/v1/authentications/batch", key, &body)
            }
        }
    }
}

impl Phase {
    fn add(&mut self, seen: Phase) {
        for (kind, latencies) in seen.latencies_ns {
            self.latencies_ns.entry(kind).or_default().extend(latencies);
        }
        for (status, count) in seen.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.logins += seen.logins;
        self.wrong += seen.wrong;
    }

    fn answered(&self) -> usize {
        self.latencies_ns.values().map(Vec::len).sum()
    }

    fn json(&self, speed: f64, plan: &Plan) -> Value {
        let kinds = self.latencies_ns.iter().map(|(kind, ns)| ((*kind).to_owned(), percentiles_ms(ns)));
        let statuses: BTreeMap<String, u64> =
            self.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
        let wanted_s = plan.lasts().as_secs_f64() / speed;
        json!({
            "speed": speed, "seconds": rounded(self.seconds), "wanted_seconds": rounded(wanted_s),
            "requests": self.answered(), "logins": self.logins, "wrong": self.wrong, "statuses": statuses,
            "wanted_logins_per_s": rounded(plan.logins() as f64 / wanted_s.max(1e-3)),
            "logins_per_s": rounded(self.logins as f64 / self.seconds), "ms": kinds.collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn percentiles_ms(ns: &[u64]) -> Value {
    let ms = Distribution::new(ns.iter().map(|&ns| ns as f64 / 1e6).collect());
    let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| rounded(ms.percentile(percent)));
    json!({ "requests": ns.len(), "p50": p50, "p90": p90, "p99": p99, "max": max })
}

fn report(parameters: &Replay, plan: &Plan, phases: &[(f64, Phase)]) -> Report {
    let mut summary = format!(
        "{} requests with {} logins of {} subjects of {} tenants in {:.1} s, those of streams sent as single logins; left out: {}\n",
        plan.requests.len(),
        plan.logins(),
        plan.subjects,
        plan.people.len(),
        plan.lasts().as_secs_f64(),
        plan.left_out.values().sum::<u64>()
    );
    let replays: Vec<Value> = phases.iter().map(|(speed, phase)| phase.json(*speed, plan)).collect();
    for replay in &replays {
        let (speed, rate) = (&replay["speed"], replay["logins_per_s"].as_f64().unwrap_or(f64::NAN));
        summary
            .push_str(&format!("  {speed} times as fast: {rate:.1} logins/s, {} wrong\n", replay["wrong"]));
        for (kind, ms) in replay["ms"].as_object().into_iter().flatten() {
            let of = |name: &str| ms[name].as_f64().unwrap_or(f64::NAN);
            summary.push_str(&format!(
                "    {kind:<8} {:>8} requests   p50 {:>8.2} ms   p90 {:>8.2} ms   p99 {:>8.2} ms   max {:>8.2} ms\n",
                ms["requests"].to_string(), of("p50"), of("p90"), of("p99"), of("max")
            ));
        }
    }
    let wrong: u64 = phases.iter().map(|(_, phase)| phase.wrong).sum();
    let problem = (wrong > 0).then(|| format!("{wrong} requests got a different answer than in the capture"));
    let result = json!({
        "requests": plan.requests.len(), "logins": plan.logins(), "subjects": plan.subjects, "tenants": plan.people.len(),
        "people": plan.people.iter().sum::<usize>(), "left_out": plan.left_out, "lasts_seconds": rounded(plan.lasts().as_secs_f64()),
        "captured_ms": plan.captured_ms(), "connections": parameters.connections, "replays": replays,
    });
    Report { summary, result, problem }
}
