//! Batches to run, and their expected outcomes.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::Decision;
use trefoil_matching::{Embedding, LANES};
use trefoil_pipeline::{Backing, Batch, InSession, LaneRequest, Probe, Verdict};

use crate::Failure;
use crate::cache::zipf::Zipf;
use crate::population::{AUDIENCE, TENANT};
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
    /// How many of its lanes must match.
    pub(crate) fn matches(&self) -> u64 {
        self.lanes.iter().filter(|lane| lane.expected == Decision::Match).count() as u64
    }

    /// The people who ask, lane by lane.
    pub(crate) fn people(&self, ground: &Ground) -> impl Iterator<Item = usize> {
        self.lanes.iter().map(|lane| ground.users[lane.user].person)
    }

    /// Whether this lane's request must match.
    pub(crate) fn matches_at(&self, lane: usize) -> bool {
        self.lanes[lane].expected == Decision::Match
    }

    /// The batch to run. Tickets are numbered from `first_ticket`.
    pub(crate) fn batch(
        &self,
        ground: &Ground,
        audience: &Arc<str>,
        first_ticket: u64,
    ) -> Batch<LaneRequest<Ticket>> {
        let requests = (0..self.lanes.len()).zip(first_ticket..);
        let lanes =
            requests.map(|(lane, number)| self.request(lane, ground, audience, number, None)).collect();
        Batch { tenant: TENANT, lanes }
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
                reveal: None,
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

/// Which people's requests to prepare: those whose number, divided by 32, leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Share {
    /// All people.
    pub(crate) const ALL: Share = Share { index: 0, of: 1 };
}

/// Distribution of requests over people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Popularity {
    /// All subjects alike
    Uniform,
    /// Falling with the person's rank, exponent 0.99; a person's templates alike
    Zipf,
}

impl Popularity {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
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
    rows: Vec<usize>,
    /// Rows of people that these belong to, and how popular each of them is; none where all rows are alike.
    ranks: Option<(usize, Zipf)>,
}

impl Rows {
    fn new(ground: &Ground, share: Share, popularity: Popularity) -> Result<Self, Failure> {
        let people_rows = ground.population.people.len() / LANES;
        // User and person share a lane, since the number of people is a multiple of 32: each row of 32 users belongs to
        // one row of 32 people.
        let belongs = |row: &usize| row % people_rows % share.of == share.index;
        let rows: Vec<usize> = (0..ground.users.len() / LANES).filter(belongs).collect();
        if rows.is_empty() {
            return Err(Failure::usage("give at least 32 people and 32 users per worker"));
        }
        let distinct = people_rows.div_ceil(share.of).min(rows.len());
        let ranks = (popularity == Popularity::Zipf).then(|| (distinct, Zipf::new(distinct, ZIPF_EXPONENT)));
        Ok(Rows { rows, ranks })
    }

    fn draw(&self, rng: &mut StdRng) -> usize {
        let Some((distinct, zipf)) = &self.ranks else {
            return self.rows[rng.random_range(0..self.rows.len())];
        };
        let rank = zipf.sample(rng);
        let generations = (self.rows.len() - rank).div_ceil(*distinct);
        self.rows[rank + distinct * rng.random_range(0..generations)]
    }
}

/// Prepares `count` batches of 32 users of `share` drawn at random, one per lane. The same seed gives the same
/// batches.
///
/// # Errors
/// When a probe cannot be quantised.
pub(crate) fn prepare(
    ground: &Ground,
    count: usize,
    seed: u64,
    share: Share,
    popularity: Popularity,
) -> Result<Vec<Prepared>, Failure> {
    let mut rng = StdRng::seed_from_u64(seed);
    let people = ground.population.people.len();
    let rows = Rows::new(ground, share, popularity)?;
    let lane = |lane: usize, rng: &mut StdRng| {
        let user = rows.draw(rng) * LANES + lane;
        let owner = ground.users[user].person;
        let impostor = people > 1 && rng.random_range(0..IMPOSTOR_EVERY) == 0;
        let shown = if impostor { (owner + rng.random_range(1..people)) % people } else { owner };
        let probe = ground.capture(shown, rng)?;
        let matches = ground.users[user].enrolled.dot(&probe) >= ground.faces.threshold();
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
