//! The strategies of a malicious gateway.

use std::sync::Arc;
use std::thread;

use rand::{Rng as _, RngExt as _};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Enrolment, KeyHolderError, KeyHolding, MatchJob, Renewal, TemplateName,
    blind, split, unblind,
};

use super::forge::{FLOOD_MAX, Forgery, delta};
use super::ground::{Ground, Tally, Told, told};
use super::quantiles::Quantiles;
use crate::Failure;

/// One way to lie.
pub(super) struct Strategy {
    pub(super) name: &'static str,
    pub(super) run: fn(Arc<dyn KeyHolding>, DecisionPolicy, usize) -> Result<Tally, Failure>,
}

pub(super) const STRATEGIES: [Strategy; 7] = [
    Strategy { name: "quantiles", run: quantiles },
    Strategy { name: "key_digits", run: key_digits },
    Strategy { name: "unnamed", run: unnamed },
    Strategy { name: "forged_c1", run: forged_c1 },
    Strategy { name: "band_edge", run: band_edge },
    Strategy { name: "at_once", run: at_once },
    Strategy { name: "start_afresh", run: start_afresh },
];

/// Reads the template by shifting its scores, and keeps asking after the attempts are used up.
fn quantiles(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let (mut ground, mut questions) = (Ground::new(role, policy)?, Quantiles::new());
    for _ in 0..jobs {
        let (at, job) = questions.question(&mut ground)?;
        let told = ground.ask(job)?;
        questions.learn(&mut ground, at, told);
    }
    questions.end(&mut ground);
    Ok(ground.end())
}

/// A small `c1`, whose product with the key is one digit of it, and an error at the edge, so that the digit decides between an answer and
/// "malformed". Larger and smaller ones alternate; after a freeze, another person.
fn key_digits(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let mut ground = Ground::new(role, policy)?;
    let face = ground.face()?;
    let mut honest = ground.about_victim(&face)?;
    for turn in 0..jobs {
        let size = 1i128 << [67, 60, 56, 53, 51, 49][turn % 6];
        let mut forgery = Forgery::of(&honest);
        forgery.clear_tag_and_c0();
        forgery.set_c1(turn / 12 % 4096, if turn / 6 % 2 == 0 { size } else { -size });
        forgery.shift(ground.victim.lane, 30_000);
        forgery.add_to_c0(0, FLOOD_MAX - size as u128 / 2);
        if adapt(&mut ground, forgery.job()?)? {
            honest = ground.about_victim(&face)?;
        }
    }
    Ok(ground.end())
}

/// Asks about the person without naming the person: the ciphertext under another's name in the same lane, or added to
/// that of 32 others.
fn unnamed(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let mut ground = Ground::new(role, policy)?;
    let probe = ground.face()?;
    let mut batches = None;
    for turn in 0..jobs {
        let (about, own) = match &batches {
            Some(batches) => batches,
            None => {
                let about = Forgery::of(&ground.about_victim(&probe)?);
                let own = [ground.about_own(1)?, ground.about_own(32)?];
                batches.insert((about, own))
            }
        };
        let mut forgery = Forgery::of(&own[turn % 2]);
        forgery.take(about, turn % 2 == 1);
        if turn % 4 > 1 {
            forgery.shift(ground.victim.lane, 1 + (turn % 30_000) as i32);
        }
        let told = ground.ask_unnamed(forgery.job()?)?;
        if after(&mut ground, told)? {
            batches = None;
        }
    }
    Ok(ground.end())
}

/// Guesses: a `c1` of random residues, or one monomial in place of all.
fn forged_c1(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let mut ground = Ground::new(role, policy)?;
    let face = ground.face()?;
    let mut honest = ground.about_victim(&face)?;
    for turn in 0..jobs {
        let mut forgery = Forgery::of(&honest);
        if turn % 2 == 0 {
            let rng = &mut ground.rng;
            forgery.randomise_c1(|| rng.next_u64());
        } else {
            forgery.clear_tag_and_c0();
            forgery.set_c1(turn / 2 % 4096, delta() as i128 >> (turn / 2 % 8));
        }
        if adapt(&mut ground, forgery.job()?)? {
            honest = ground.about_victim(&face)?;
        }
    }
    Ok(ground.end())
}

/// An honest batch whose error is moved towards the edge of the band, in halves, to read the error's secret part.
fn band_edge(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let mut ground = Ground::new(role, policy)?;
    let face = ground.face()?;
    let mut honest = ground.about_victim(&face)?;
    let (mut low, mut high) = (0, 4 * FLOOD_MAX);
    for turn in 0..jobs {
        let middle = low + (high - low) / 2;
        let mut forgery = Forgery::of(&honest);
        forgery.add_to_c0(turn % 32, middle);
        let told = ground.ask(forgery.job()?)?;
        match told {
            Told::Decided(_) => low = middle,
            Told::Malformed => high = middle,
            _ => (),
        }
        if high - low < 2 {
            (low, high) = (0, 4 * FLOOD_MAX);
        }
        if after(&mut ground, told)? {
            honest = ground.about_victim(&face)?;
        }
    }
    Ok(ground.end())
}

/// The same subject on four connections at the same moment, to be answered more often than is counted.
fn at_once(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let mut ground = Ground::new(Arc::clone(&role), policy)?;
    let face = ground.face()?;
    let honest = Forgery::of(&ground.about_victim(&face)?);
    for turn in 0..jobs / 4 {
        let mut forgery = Forgery::of(&honest.job()?);
        // Mostly yes, or mostly no.
        forgery.shift(ground.victim.lane, if turn % 8 == 0 { -20_000 } else { 20_000 });
        let job = forgery.job()?;
        let answers = thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                let (role, job) = (&role, job.clone());
                scope.spawn(move || told(&**role, job))
            });
            threads.map(|thread| thread.join().map_err(|_| Failure::fault("a thread panicked"))?)
        });
        for answer in answers {
            ground.count(answer?, true);
        }
    }
    Ok(ground.end())
}

/// Asks as [`quantiles`] does, and tries between the questions to have attempts counted from the beginning: a rotation, a
/// policy, a reset, an enrolment of the same name.
fn start_afresh(role: Arc<dyn KeyHolding>, policy: DecisionPolicy, jobs: usize) -> Result<Tally, Failure> {
    let (mut ground, mut questions) = (Ground::new(role, policy)?, Quantiles::new());
    for turn in 0..jobs {
        if turn % 1_000 == 999 {
            reset(&mut ground, turn / 1_000)?;
            questions.forget();
        }
        let (at, job) = questions.question(&mut ground)?;
        let told = ground.ask(job)?;
        questions.learn(&mut ground, at, told);
    }
    questions.end(&mut ground);
    Ok(ground.end())
}

/// One way after another. Forbidden requests are refused, which is just as good.
fn reset(ground: &mut Ground, turn: usize) -> Result<(), Failure> {
    let (role, name) = (Arc::clone(&ground.role), ground.victim_name());
    let tenant = ground.tenant();
    let lax = DecisionPolicy { attempts: AttemptPolicy::UNLIMITED, ..ground.policy() };
    match turn % 4 {
        0 => allowed_or_not(role.set_policy(tenant, lax)),
        1 => allowed_or_not(role.forgive_malformed(tenant)),
        2 => {
            let face = ground.face()?;
            let (template, _) = split(&face, &mut ground.rng);
            let lane = ground.victim.lane;
            allowed_or_not(role.enrol(Enrolment { name, lane, template: template.into() }));
        }
        _ => return rotate(ground, name),
    }
    ground.refetch()
}

fn allowed_or_not<T, E>(_: Result<T, E>) {}

/// An honest rotation of all people: the template's new form gets no more attempts.
fn rotate(ground: &mut Ground, name: TemplateName) -> Result<(), Failure> {
    let role = Arc::clone(&ground.role);
    role.begin_rotation(ground.tenant()).map_err(Failure::in_step("rotation"))?;
    let (blinded, secret) = blind(&ground.victim, &mut ground.rng);
    let to = name.generation + 1 + ground.rng.random_range(0..3);
    let renewed = match role.renew(Renewal { name, to, blinded }) {
        // A template whose attempts are used up permanently is not renewed: the old form stays, as used up as before.
        Err(KeyHolderError::NoAttempts(_)) => return Ok(()),
        other => other.map_err(Failure::in_step("renewal"))?,
    };
    let epoch = ground.victim.epoch;
    ground.victim = unblind(renewed, secret);
    role.finish_rotation(ground.tenant(), epoch).map_err(Failure::in_step("end of rotation"))?;
    ground.refetch()
}

/// Asks, and continues as [`after`] says.
fn adapt(ground: &mut Ground, job: MatchJob) -> Result<bool, Failure> {
    let told = ground.ask(job)?;
    after(ground, told)
}

/// New keys after a malformed job, and another person after a freeze. Returns whether a batch must be masked again.
fn after(ground: &mut Ground, told: Told) -> Result<bool, Failure> {
    match told {
        Told::Malformed | Told::Stale => ground.refetch().map(|()| true),
        Told::Frozen => ground.move_on(),
        _ => Ok(false),
    }
}
