//! Sessions that end, in a cache that is smaller than their number.
//!
//! A login whose session's verdict is not in the cache is refused by the pipeline and retried, as in the service. If the session's
//! row is live, its verdict goes back into the cache and along with the request. If the session has ended, its holder proves
//! again, and the proof is verified. The service keeps rows in its store; here they are in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trefoil_cache::{Cache, Session as _};
use trefoil_pipeline::Verdict;

use crate::clock::WORLD_START_S;
use crate::population::verdict;
use crate::world::World;

/// When each person's session ends.
pub(crate) struct Rows {
    not_after: Vec<AtomicU64>,
    lifetime_s: u64,
}

impl Rows {
    /// Sessions of `lifetime_s` seconds, at least 1, whose ends are spread evenly over the first of these.
    pub(crate) fn new(people: usize, lifetime_s: u64) -> Self {
        let first_end = |person: usize| WORLD_START_S + 1 + lifetime_s * person as u64 / people as u64;
        Rows { not_after: (0..people).map(|person| AtomicU64::new(first_end(person))).collect(), lifetime_s }
    }
}

/// One worker's work for the sessions of its logins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Verdicts that went from their rows back into the cache.
    pub(crate) revived: u64,
    /// Proofs verified because a session had ended.
    pub(crate) proofs: u64,
}

/// One worker's view of the rows.
pub(crate) struct Sessions<C: Cache<Verdict>> {
    world: Arc<World<C>>,
    cache: C::Session,
    rows: Arc<Rows>,
    pub(crate) settled: Settled,
}

impl<C: Cache<Verdict>> Sessions<C> {
    pub(crate) fn new(world: &Arc<World<C>>, rows: &Arc<Rows>) -> Self {
        Sessions {
            world: Arc::clone(world),
            cache: world.cache.session(),
            rows: Arc::clone(rows),
            settled: Settled::default(),
        }
    }

    /// Handles the session of a refused login: the verdict that goes with it, or none after a proof, whose verdict is in
    /// the cache. Two workers may both verify the proof of a session that has just ended, as two logins would of a holder.
    ///
    /// # Errors
    /// When the proof is refused.
    pub(crate) fn settle(&mut self, person: usize, now_s: u64) -> Result<Option<Box<Verdict>>, String> {
        let person_of = &self.world.ground.population.people[person];
        let not_after = &self.rows.not_after[person];
        let ends = not_after.load(Ordering::Relaxed);
        if now_s < ends {
            let mut verdict = person_of.verdict;
            verdict.not_after = ends;
            self.cache.insert(person_of.session.to_bytes(), verdict, ends, now_s);
            self.settled.revived += 1;
            return Ok(Some(Box::new(verdict)));
        }
        let ends = now_s + self.rows.lifetime_s;
        let (session, verdict) = verdict(&person_of.envelope, ends)?;
        not_after.store(ends, Ordering::Relaxed);
        self.cache.insert(session.to_bytes(), verdict, ends, now_s);
        self.settled.proofs += 1;
        Ok(None)
    }
}
