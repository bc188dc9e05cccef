//! Batches to run, and their expected outcomes.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::Decision;
use trefoil_matching::{Embedding, LANES};
use trefoil_pipeline::{Backing, InSession, LaneRequest, Probe, Verdict};

use crate::Failure;
use crate::cache::zipf::Zipf;
use crate::faces::THRESHOLD;
use crate::population::AUDIENCE;
use crate::world::Ground;

/// One in this many probes shows a different person's face.
const IMPOSTOR_EVERY: u32 = 4;

/// Which request a sealed lane answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Unique in a run; the nonce and the request digest follow from it.
    pub(crate) number: u64,
    /// The person who asked.
    pub(crate) person: usize,
    /// The expected decision.
    pub(crate) expected: Decision,
}

impl Ticket {
    /// The relying party's nonce, as long as the shortest allowed.
    pub(crate) fn nonce(&self) -> Vec<u8> {
        let mut nonce = vec![0; trefoil_attest::NONCE_BYTES_MIN];
        nonce[..8].copy_from_slice(&self.number.to_le_bytes());
        nonce
    }

    /// Stands for the digest of the request, which the service computes before the pipeline.
    pub(crate) fn request_digest(&self) -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&self.number.to_le_bytes());
        digest
    }
}

/// One lane of a prepared batch.
struct PreparedLane {
    user: usize,
    probe: Embedding,
    expected: Decision,
}

/// 32 probes of 32 users, in lane order.
pub(crate) struct Prepared {
    lanes: Vec<PreparedLane>,
}

impl Prepared {
    /// Whether this lane's request must match.
    pub(crate) fn matches_at(&self, lane: usize) -> bool {
        self.lanes[lane].expected == Decision::Match
    }

    /// The request of one lane under the ticket of this number, with its session's verdict where that was read after a miss.
    pub(crate) fn request(
        &self,
        lane: usize,
        ground: &Ground,
        audience: &Arc<str>,
        number: u64,
        revived: Option<Box<Verdict>>,
    ) -> LaneRequest<Ticket> {
        let PreparedLane { user, probe, expected } = &self.lanes[lane];
        let user = &ground.users[*user];
        let ticket = Ticket { number, person: user.person, expected: *expected };
        LaneRequest {
            backing: Backing::Session(InSession {
                id: ground.population.people[user.person].session,
                revived,
            }),
            template: user.template.clone(),
            probe: Probe::Plain(probe.clone()),
            audience: Arc::clone(audience),
            nonce: ticket.nonce(),
            request_digest: ticket.request_digest(),
            reply: ticket,
        }
    }
}

/// Distribution of requests over people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Popularity {
    /// All subjects alike
    Uniform,
    /// Falling with the person's rank, exponent 0.99; a person's templates alike
    Zipf,
}

impl Popularity {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Popularity::Uniform => "uniform",
            Popularity::Zipf => "zipf",
        }
    }
}

/// The exponent of most published request traces.
const ZIPF_EXPONENT: f64 = 0.99;

/// Rows of 32 users to draw from.
struct Rows {
    count: usize,
    /// Rows of people that these belong to, and how popular each of them is; none where all rows are alike.
    ranks: Option<(usize, Zipf)>,
}

impl Rows {
    /// User and person share a lane, since the number of people is a multiple of 32: each row of 32 users belongs to one row of
    /// 32 people.
    fn new(ground: &Ground, popularity: Popularity) -> Self {
        let count = ground.users.len() / LANES;
        let distinct = (ground.population.people.len() / LANES).min(count);
        let ranks = (popularity == Popularity::Zipf).then(|| (distinct, Zipf::new(distinct, ZIPF_EXPONENT)));
        Rows { count, ranks }
    }

    fn draw(&self, rng: &mut StdRng) -> usize {
        let Some((distinct, zipf)) = &self.ranks else {
            return rng.random_range(0..self.count);
        };
        let rank = zipf.sample(rng);
        let generations = (self.count - rank).div_ceil(*distinct);
        rank + distinct * rng.random_range(0..generations)
    }
}

/// Prepares `count` batches of 32 users drawn at random, one per lane. The same seed gives the same
/// batches.
///
/// # Errors
/// When a probe cannot be quantised.
pub(crate) fn prepare(
    ground: &Ground,
    count: usize,
    seed: u64,
    popularity: Popularity,
) -> Result<Vec<Prepared>, Failure> {
    let mut rng = StdRng::seed_from_u64(seed);
    let people = ground.population.people.len();
    let rows = Rows::new(ground, popularity);
    let lane = |lane: usize, rng: &mut StdRng| {
        let user = rows.draw(rng) * LANES + lane;
        let owner = ground.users[user].person;
        let impostor = people > 1 && rng.random_range(0..IMPOSTOR_EVERY) == 0;
        let shown = if impostor { (owner + rng.random_range(1..people)) % people } else { owner };
        let probe = ground.faces.capture(shown, rng)?;
        let matches = ground.users[user].enrolled.dot(&probe) >= THRESHOLD;
        let expected = if matches { Decision::Match } else { Decision::NoMatch };
        Ok(PreparedLane { user, probe, expected })
    };
    (0..count)
        .map(|_| {
            Ok(Prepared { lanes: (0..LANES).map(|l| lane(l, &mut rng)).collect::<Result<_, Failure>>()? })
        })
        .collect()
}

/// The audience as requests carry it.
pub(crate) fn audience() -> Arc<str> {
    AUDIENCE.into()
}
