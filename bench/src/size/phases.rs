//! The phases of a run over PostgreSQL, each between two looks at the server's counts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use trefoil_api::RotationState;
use trefoil_service::tenant::Scope;

use super::Size;
use super::caller::{Answered, Caller, call};
use super::counts::Database;
use crate::Failure;
use crate::apart::Service;
use crate::distribution::{Distribution, rounded};
use crate::flood::world::{Reached, World};

/// Usage of API keys is stored every two seconds, receipts of changes by operators within a second.
const SETTLED: Duration = Duration::from_secs(3);
/// Between two logins alone: longer than the minimum time between two seals, which the second would wait for.
pub(super) const PAUSE: Duration = Duration::from_millis(40);
/// Requests in flight together.
pub(super) const TOGETHER: usize = 64;
/// Changes by an operator, of which a short run makes fewer.
const CHANGES: usize = 200;
/// Requests that a process before may have answered are refused for so long after a start.
pub(super) const AFTER_START: Duration = Duration::from_secs(6);

/// See the module.
pub(super) struct Phases<'a> {
    pub(super) database: &'a Database<'a>,
    pub(super) reached: Reached,
    pub(super) runtime: Runtime,
    pub(super) parameters: Size,
}

impl Phases<'_> {
    pub(super) fn tenant(&self) -> Result<Caller, Failure> {
        Caller::new(&self.reached, &self.runtime)
    }

    /// Enrolments of so many people, so many at a time.
    pub(super) fn enrolments(
        &self,
        caller: &mut Caller,
        people: usize,
        in_flight: usize,
    ) -> Result<Value, Failure> {
        let (before, began) = (self.database.counts(), Instant::now());
        self.runtime.block_on(caller.enrol(people, in_flight))?;
        let seconds = began.elapsed().as_secs_f64();
        let mut grown = self.database.counts().since(&before, people as f64);
        grown["per_s"] = json!(rounded(people as f64 / seconds));
        Ok(grown)
    }

    /// Sessions one after the other, with a proof each.
    pub(super) fn sessions(&self) -> Result<Value, Failure> {
        let count = self.parameters.sessions;
        let world = self.runtime.block_on(World::at(&self.reached, "sessions", count, 1))?;
        std::thread::sleep(SETTLED);
        let before = self.database.counts();
        self.runtime.block_on(world.open_all())?;
        Ok(self.database.counts().since(&before, count as f64))
    }

    /// A service that nobody calls, for each second.
    pub(super) fn idle(&self) -> Result<Value, Failure> {
        std::thread::sleep(SETTLED);
        let (before, began) = (self.database.counts(), Instant::now());
        std::thread::sleep(SETTLED);
        Ok(self.database.counts().since(&before, began.elapsed().as_secs_f64()))
    }

    /// Logins with a seal each.
    pub(super) fn logins_alone(
        &self,
        caller: &mut Caller,
        problems: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let before = self.database.counts();
        let mut answered = Vec::new();
        let logins = self.parameters.alone();
        for person in 0..logins {
            std::thread::sleep(PAUSE);
            answered.push(self.runtime.block_on(caller.log_in(person))?);
        }
        let mut grown = self.database.counts().since(&before, logins as f64);
        grown["logins_per_seal"] = json!(rounded(per_seal(&answered)));
        problems.extend(wrong(&answered));
        Ok(grown)
    }

    /// Logins that share seals.
    pub(super) fn logins_together(
        &self,
        caller: &mut Caller,
        problems: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let until = Instant::now() + self.parameters.load;
        let (before, began) = (self.database.counts(), Instant::now());
        let answered = self.runtime.block_on(caller.log_in_all(0.., TOGETHER, until))?;
        let seconds = began.elapsed().as_secs_f64();
        let count = answered.len() as f64;
        let mut grown = self.database.counts().since(&before, count);
        let logins_per_seal = per_seal(&answered);
        grown["logins_per_seal"] = json!(rounded(logins_per_seal));
        grown["logins_per_s"] = json!(rounded(count / seconds));
        grown["wal_bytes_per_seal"] =
            json!(rounded(grown["wal_bytes"].as_f64().unwrap_or(f64::NAN) * logins_per_seal));
        problems.extend(wrong(&answered));
        Ok(grown)
    }

    /// Changes by an operator, each with its entry in the audit trail and the receipt.
    pub(super) fn changes(&self) -> Result<Value, Failure> {
        let caller = self.tenant()?;
        std::thread::sleep(SETTLED);
        let before = self.database.counts();
        let changes = CHANGES.min(self.parameters.subjects);
        for _ in 0..changes {
            let made = caller.admin.create_api_key(caller.tenant, vec![Scope::Enrol]);
            self.runtime.block_on(made).map_err(call("API key"))?.without_verification();
        }
        std::thread::sleep(SETTLED);
        Ok(self.database.counts().since(&before, changes as f64))
    }

    /// First logins of subjects after a start, and the second ones; then the memory that all templates take.
    pub(super) fn cold_and_warm(
        &self,
        caller: &mut Caller,
        service: &Service,
        problems: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        std::thread::sleep(AFTER_START);
        let (people, cold_people) = (caller.people(), self.parameters.cold.min(caller.people() - 1));
        let block = |caller: &mut Caller, person| self.runtime.block_on(caller.log_in(person));
        // The person after the last cold one brings connections and threads up.
        for _ in 0..20 {
            block(caller, cold_people)?;
        }
        let memory = service.resident_bytes()?;
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for answers in [&mut cold, &mut warm] {
            for person in 0..cold_people {
                std::thread::sleep(PAUSE);
                answers.push(block(caller, person)?);
            }
        }
        let far = Instant::now() + Duration::from_secs(600);
        let rest = self.runtime.block_on(caller.log_in_all(0..people, TOGETHER, far))?;
        let grown = service.resident_bytes()?.saturating_sub(memory);
        for person in 0..8 {
            if !self.runtime.block_on(caller.verified(person))? {
                problems.push(format!("person {person} does not match"));
            }
        }
        let ms = |answers: &[Answered]| Distribution::new(answers.iter().map(|one| one.ms).collect());
        problems.extend([&cold, &warm, &rest].into_iter().filter_map(|answers| wrong(answers)));
        let (cold, warm) = (ms(&cold), ms(&warm));
        Ok(json!({
            "logins": cold_people, "cold_p50_ms": rounded(cold.median()), "cold_p99_ms": rounded(cold.percentile(99)),
            "warm_p50_ms": rounded(warm.median()), "warm_p99_ms": rounded(warm.percentile(99)),
            "added_p50_ms": rounded(cold.median() - warm.median()), "templates": people - 1,
            "memory_bytes_per_template": rounded(grown as f64 / (people - 1) as f64),
        }))
    }

    /// New keys for all templates of the tenant, while nobody logs in.
    pub(super) fn rotation(&self, caller: &Caller) -> Result<Value, Failure> {
        let (before, began) = (self.database.counts(), Instant::now());
        let rotation = self.runtime.block_on(caller.admin.rotate_keys(caller.tenant));
        rotation.map_err(call("rotation"))?.without_verification();
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let status = self.runtime.block_on(caller.admin.key_rotation(caller.tenant));
            let status = status.map_err(call("rotation"))?;
            if let Some(why) = status.error {
                return Err(Failure::fault(format!("rotation: {why}")));
            }
            if status.state == RotationState::Idle && status.left == 0 {
                break;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let people = caller.people() as f64;
        let mut grown = self.database.counts().since(&before, people);
        grown["templates_per_s"] = json!(rounded(people / seconds));
        Ok(grown)
    }
}

/// Seal numbers are consecutive.
fn per_seal(answered: &[Answered]) -> f64 {
    let seals = answered.iter().map(|answer| answer.seal);
    let (first, last) = (seals.clone().min().unwrap_or(0), seals.max().unwrap_or(0));
    answered.len() as f64 / (last - first + 1) as f64
}

fn wrong(answered: &[Answered]) -> Option<String> {
    let wrong = answered.iter().filter(|answer| !answer.is_match).count();
    (wrong > 0).then(|| format!("{wrong} of {} logins do not match", answered.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seals_are_counted_by_their_numbers_and_a_denial_is_a_problem() {
        let answer = |seal, is_match| Answered { ms: 1.0, seal, is_match };
        let all = [answer(7, true), answer(7, true), answer(8, true), answer(8, true)];
        assert!((per_seal(&all) - 2.0).abs() < 1e-9 && wrong(&all).is_none());
        assert_eq!(wrong(&[answer(1, false)]).as_deref(), Some("1 of 1 logins do not match"));
    }
}
