//! The generator of logins: requests made before a phase, sent as soon as a connection is free or at times that do not wait for the service.
//!
//! At times of its own, a login counts from its intended start, whether a connection was free then or not. So a service that stalls shows
//! it in every login that fell into the stall. Of an answer the generator reads status and decision. One login in so many asks for the
//! whole attestation, which is verified offline after its phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use trefoil_api::{
    AttestationForm, Authenticated, AuthenticatedBatch, Authentication, AuthenticationBatch, Nonce, Outcome,
};
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, verify};
use trefoil_client::attested_digest;
use trefoil_types::Account;

use super::phase::Phase;
use super::plan::Load;
use super::raw::{Answered, Connection, Target, post};
use super::world::{AUDIENCE, World, unix_now};
use crate::{Failure, parallel};

/// Requests say that they were made so long before their intended start. A service takes them until 60 s and from 5 s before, so a phase may
/// be by this much faster or by 35 s slower than its requests were made for.
const AGE_S: f64 = 25.0;
/// Requests that are made to learn how long one takes.
const FIRST_REQUESTS: usize = 64;
/// Room for phases that are faster than those before.
const FASTER: f64 = 1.5;
/// Connections that are opened at a time: a service limits concurrent handshakes.
const OPENING: usize = 32;

/// A tenant's logins.
pub(super) struct Generator {
    pub(super) runtime: Runtime,
    /// Connections take turns with them.
    pub(super) targets: Vec<Target>,
    pub(super) world: World,
    trust_root: TrustRoot,
    /// Requests so far: each has its own nonce.
    made: AtomicU64,
    phase: Duration,
    /// Logins of a request: one, or a batch. Rates count logins, times are those of requests.
    batch: usize,
    verify_every: usize,
}

/// When requests begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// As soon as a connection is free: a closed loop.
    AtOnce,
    /// So many logins a second, one after another.
    Every(f64),
    /// So many a second at random times, as from independent callers, by this seed.
    AtRandom(f64, u64),
}

/// What a phase needs before its time begins.
pub(super) struct Ready {
    made: Arc<Vec<Made>>,
    opened: Vec<(Target, Connection)>,
    /// When requests begin, after the beginning of the phase; as soon as a connection is free if there are no times.
    arrivals: Option<Vec<Duration>>,
}

/// What a phase showed, before its attestations are verified.
pub(super) struct Sent {
    made: Arc<Vec<Made>>,
    seen: Vec<Seen>,
    seconds: f64,
    /// More was answered than was made.
    pub(super) ran_out: bool,
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

impl Generator {
    pub(super) fn new(
        runtime: Runtime,
        targets: Vec<Target>,
        world: World,
        trust_root: TrustRoot,
        load: &Load,
    ) -> Generator {
        let Load { seconds: phase, batch, verify_every, .. } = *load;
        Generator { runtime, targets, world, trust_root, made: AtomicU64::new(0), phase, batch, verify_every }
    }

    /// A phase that answers more requests than were made for this rate is repeated with more.
    pub(super) fn phase(&self, connections: usize, pace: Pace, mut per_s: f64) -> Result<Phase, Failure> {
        loop {
            let sent = self.send(self.ready(connections, pace, per_s)?);
            if !sent.ran_out {
                return self.judged(sent);
            }
            per_s = 2.0 * per_s.max(1.0);
        }
    }

    /// Makes requests for a phase in which no more than one and a half times so many logins a second are answered, and opens the
    /// connections.
    pub(super) fn ready(&self, connections: usize, pace: Pace, per_s: f64) -> Result<Ready, Failure> {
        let batch = self.batch as f64;
        let answered = (FASTER * per_s / batch * self.phase.as_secs_f64()) as usize + connections;
        let arrivals = match pace {
            Pace::AtOnce => None,
            Pace::Every(per_s) => {
                let wanted = (per_s / batch * self.phase.as_secs_f64()).ceil() as u32;
                Some((0..wanted).map(|at| Duration::from_secs_f64(f64::from(at) * batch / per_s)).collect())
            }
            Pace::AtRandom(per_s, seed) => Some(arrivals(per_s / batch, self.phase, seed)),
        };
        let count = arrivals.as_ref().map_or(answered, |arrivals| answered.min(arrivals.len()));
        let made = Arc::new(self.make_all(count)?);
        Ok(Ready { made, opened: self.runtime.block_on(self.connect(connections))?, arrivals })
    }

    fn make_all(&self, count: usize) -> Result<Vec<Made>, Failure> {
        let makers = std::thread::available_parallelism().map_or(1, usize::from);
        let (began, first) = (Instant::now(), count.min(FIRST_REQUESTS));
        (0..first).try_for_each(|at| self.make(at, unix_now()).map(drop))?;
        let making_s = began.elapsed().as_secs_f64() / first.max(1) as f64 * (count / makers) as f64;
        let begins = unix_now() as f64 + making_s;
        let make = |at: usize| {
            let starts = at as f64 / count as f64 * self.phase.as_secs_f64();
            // A service refuses requests from before it began.
            self.make(at, unix_now().max((begins + starts - AGE_S) as u64))
        };
        parallel::map_with(makers, count, "requests", || (), |(), at| make(at)).into_iter().collect()
    }

    fn make(&self, at: usize, made_at: u64) -> Result<Made, Failure> {
        let (mut requests, mut whole) = (Vec::with_capacity(self.batch), Vec::new());
        for place in 0..self.batch {
            let number = self.made.fetch_add(1, Relaxed);
            let (session, face) = self.world.person(number as usize);
            let nonce = [number.to_le_bytes(); 2].concat();
            let wire = Nonce::new(nonce.clone()).ok_or_else(|| Failure::fault("a nonce of 16 bytes"))?;
            let is_whole = (at * self.batch + place).is_multiple_of(self.verify_every);
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
            [request] if self.batch == 1 => ("/v1/authentications", serde_json::to_vec(request)),
            requests => (
                "/v1/authentications/batch",
                serde_json::to_vec(&AuthenticationBatch { authentications: requests }),
            ),
        };
        let body = body.map_err(Failure::in_step("request"))?;
        Ok(Made { bytes: post(path, self.world.api_key(), &body), whole })
    }

    async fn connect(&self, connections: usize) -> Result<Vec<(Target, Connection)>, Failure> {
        let (mut opening, mut opened) = (JoinSet::new(), Vec::new());
        for target in self.targets.iter().cycle().take(connections) {
            let target = target.clone();
            opening.spawn(async move { target.connect(None).await.map(|connection| (target, connection)) });
            if opening.len() >= OPENING {
                opened.extend(opening.join_next().await);
            }
        }
        while let Some(next) = opening.join_next().await {
            opened.push(next);
        }
        let each = opened.into_iter().map(|opened| {
            opened.map_err(Failure::in_step("connection"))?.map_err(Failure::in_step("connection"))
        });
        each.collect()
    }

    /// Sends requests for as long as a phase takes.
    pub(super) fn send(&self, ready: Ready) -> Sent {
        let Ready { made, opened, arrivals } = ready;
        let began = Instant::now();
        let (made_here, phase, batch) = (Arc::clone(&made), self.phase, self.batch);
        let (turn, next, ran_out) = Default::default();
        let shared = Arc::new(Shared { made: made_here, arrivals, began, phase, batch, turn, next, ran_out });
        let senders =
            opened.into_iter().map(|(target, connection)| send(target, connection, Arc::clone(&shared)));
        let seen = self.runtime.block_on(async { senders.collect::<JoinSet<_>>().join_all().await });
        Sent { made, seen, seconds: began.elapsed().as_secs_f64(), ran_out: shared.ran_out.load(Relaxed) }
    }

    /// Verifies the sample.
    pub(super) fn judged(&self, sent: Sent) -> Result<Phase, Failure> {
        let Sent { made, seen, seconds, ran_out: _ } = sent;
        let mut phase = Phase { seconds, ..Phase::default() };
        for seen in seen {
            let (mut own, whole) = (seen.phase, seen.whole);
            own.logins = (own.latencies_ns.len() * self.batch) as u64;
            for (at, body) in whole {
                let answers = answers(&body, self.batch);
                for expected in &made[at].whole {
                    match answers.clone().and_then(|answers| self.verified(&answers, expected)) {
                        Ok(()) => own.verified += 1,
                        Err(cause) => own.unverified.push(cause),
                    }
                }
            }
            phase.join(own);
        }
        Ok(phase)
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

/// What the senders of a phase share.
struct Shared {
    made: Arc<Vec<Made>>,
    arrivals: Option<Vec<Duration>>,
    began: Instant,
    phase: Duration,
    batch: usize,
    /// The next time to send, and the next request.
    turn: AtomicUsize,
    next: AtomicUsize,
    ran_out: AtomicBool,
}

impl Shared {
    /// When the request of this turn begins; none if no more do.
    fn begins(&self, turn: usize) -> Option<Instant> {
        match &self.arrivals {
            None => Some(Instant::now()),
            Some(times) => Some(self.began + *times.get(turn)?),
        }
    }
}

/// The result of one connection.
#[derive(Default)]
struct Seen {
    phase: Phase,
    /// Numbers of requests with logins of whole form, and their answers.
    whole: Vec<(usize, Vec<u8>)>,
}

/// Sends one request after another. One that is refused because the service has too much to do is sent again at the next turn: its
/// nonce was not spent.
async fn send(target: Target, connection: Connection, shared: Arc<Shared>) -> Seen {
    let (mut seen, mut connection, mut again) = (Seen::default(), Some(connection), None);
    let until = shared.began + shared.phase;
    loop {
        let turn = shared.turn.fetch_add(1, Relaxed);
        let Some(begins) = shared.begins(turn).filter(|begins| *begins < until) else {
            return seen;
        };
        // The runtime's timers round up to the next millisecond, even for a time that is past.
        if begins > Instant::now() {
            tokio::time::sleep_until(begins.into()).await;
        }
        let number = again.take().unwrap_or_else(|| shared.next.fetch_add(1, Relaxed));
        let Some(request) = shared.made.get(number) else {
            shared.ran_out.store(true, Relaxed);
            return seen;
        };
        seen.phase.asked += 1;
        let opened = match connection.take() {
            Some(connection) => Ok(connection),
            None => target.connect(None).await,
        };
        let answer = match opened {
            Ok(mut opened) => {
                let answer = opened.ask(&request.bytes).await;
                connection = answer.is_ok().then_some(opened);
                answer
            }
            Err(cause) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Err(cause)
            }
        };
        match answer {
            Err(cause) => {
                seen.phase.lost += 1;
                seen.phase.first_wrong.get_or_insert(cause.to_string());
            }
            Ok(answer) if matches!(answer.status, 429 | 503) => {
                seen.phase.refused += 1;
                seen.phase.first_wrong.get_or_insert_with(|| refusal(&answer));
                again = Some(number);
            }
            Ok(answer) => {
                seen.phase.latencies_ns.push(begins.elapsed().as_nanos() as u64);
                let matches = if answer.status == 200 { answer.matches } else { 0 };
                if matches != shared.batch {
                    seen.phase.wrong += matches.abs_diff(shared.batch) as u64;
                    seen.phase.first_wrong.get_or_insert_with(|| refusal(&answer));
                }
                if !request.whole.is_empty() {
                    seen.whole.push((number, answer.body));
                }
            }
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
}
