//! Batches to run, and what must come of them.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::Decision;
use trefoil_matching::{Embedding, LANES};
use trefoil_pipeline::{Batch, LaneRequest, Probe};

use crate::failure::Failure;
use crate::population::{AUDIENCE, TENANT};
use crate::world::{Ground, THRESHOLD};

/// Of so many probes one shows somebody else's face.
const IMPOSTOR_EVERY: u32 = 4;

/// Which request a sealed lane answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Unique in a run; the nonce and the request digest follow from it.
    pub(crate) number: u64,
    /// The person who asked.
    pub(crate) person: usize,
    /// What must be decided.
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

    /// The batch to run. Tickets are numbered from `first_ticket`.
    pub(crate) fn batch(
        &self,
        ground: &Ground,
        audience: &Arc<str>,
        first_ticket: u64,
    ) -> Batch<LaneRequest<Ticket>> {
        let request = |(lane, number): (&PreparedLane, u64)| {
            let user = &ground.users[lane.user];
            let ticket = Ticket { number, person: user.person, expected: lane.expected };
            LaneRequest {
                reveal: None,
                session: ground.population.people[user.person].session,
                template: user.template.clone(),
                probe: Probe::Plain(lane.probe.clone()),
                audience: Arc::clone(audience),
                nonce: ticket.nonce(),
                request_digest: ticket.request_digest(),
                revived: None,
                reply: ticket,
            }
        };
        Batch { tenant: TENANT, lanes: self.lanes.iter().zip(first_ticket..).map(request).collect() }
    }
}

/// Which people's requests to prepare: those whose number, divided by 32, leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Share {
    /// Everybody.
    pub(crate) const ALL: Share = Share { index: 0, of: 1 };
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
) -> Result<Vec<Prepared>, Failure> {
    let mut rng = StdRng::seed_from_u64(seed);
    let people = ground.population.people.len();
    // User and person share a lane, since the number of people is a multiple of 32: each row of 32 users belongs to
    // one row of 32 people.
    let belongs = |row: &usize| row % (people / LANES) % share.of == share.index;
    let rows: Vec<usize> = (0..ground.users.len() / LANES).filter(belongs).collect();
    if rows.is_empty() {
        return Err(Failure::usage("give at least 32 people and 32 users per worker"));
    }
    let lane = |lane: usize, rng: &mut StdRng| {
        let user = rows[rng.random_range(0..rows.len())] * LANES + lane;
        let owner = ground.users[user].person;
        let impostor = people > 1 && rng.random_range(0..IMPOSTOR_EVERY) == 0;
        let shown = if impostor { (owner + rng.random_range(1..people)) % people } else { owner };
        let probe = ground.capture(shown, rng)?;
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
