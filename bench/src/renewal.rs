//! Sessions whose proof is verified again after so many requests.

use std::sync::Arc;
use std::time::Instant;

use trefoil_cache::{Cache, Session as _};
use trefoil_pipeline::Verdict;

use crate::clock::WORLD_START_S;
use crate::population::{VERDICT_EXPIRY_S, verdict};
use crate::workload::Prepared;
use crate::world::World;

/// One worker's sessions. No other worker may ask in them: between the removal of a verdict and its return a request
/// of the session would be refused.
pub(crate) struct Renewals<C: Cache<Verdict>> {
    world: Arc<World<C>>,
    session: C::Session,
    every: u32,
    /// Per person, requests until the next verification.
    left: Vec<u32>,
    verified: u64,
}

impl<C: Cache<Verdict>> Renewals<C> {
    /// Verifies once per `every` requests of a session. People are at different points of that cycle.
    pub(crate) fn new(world: &Arc<World<C>>, every: u32) -> Self {
        let people = world.ground.population.people.len() as u64;
        let left = (0..people).map(|person| (person * u64::from(every) / people) as u32 + 1).collect();
        Renewals { world: Arc::clone(world), session: world.cache.session(), every, left, verified: 0 }
    }

    /// Counts the requests of `batch`, and removes, verifies and inserts the due verdicts; returns the time that this took. A proof
    /// that is refused leaves a miss, and the pipeline refuses the request.
    pub(crate) fn before(&mut self, batch: &Prepared) -> u64 {
        let began = Instant::now();
        let world = Arc::clone(&self.world);
        for person in batch.people(&world.ground) {
            self.left[person] -= 1;
            if self.left[person] == 0 {
                self.left[person] = self.every;
                self.renew(person);
            }
        }
        began.elapsed().as_nanos() as u64
    }

    fn renew(&mut self, person: usize) {
        let person = &self.world.ground.population.people[person];
        self.session.remove(person.session.as_bytes());
        let missed = self.session.get(person.session.as_bytes(), WORLD_START_S).is_none();
        if let (true, Ok((session, verdict))) = (missed, verdict(&person.envelope, VERDICT_EXPIRY_S)) {
            self.session.insert(session.to_bytes(), verdict, VERDICT_EXPIRY_S, WORLD_START_S);
            self.verified += 1;
        }
    }

    /// Proofs verified so far.
    pub(crate) fn verified(&self) -> u64 {
        self.verified
    }
}
