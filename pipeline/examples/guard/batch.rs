//! Whole batches of 32 through the steps: verdicts, match, key-holder, statements, digests.

use std::hint::black_box;

use trefoil_kernels::Tier;
use trefoil_pipeline::{Batch, Open};

use crate::world::{self, AUDIENCE, LANES, Still, TENANT};

const BATCHES: usize = 8;

pub(crate) fn guard(tier: Tier) {
    let (pipeline, people) = world::pipeline(tier);
    let requests = || {
        let audience = AUDIENCE.into();
        people.iter().map(|person| person.request(&audience, &person.face, ())).collect::<Vec<_>>()
    };
    let mut worker = pipeline.worker();
    let mut run = |lanes| {
        let outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut worker, &Still, &Open);
        assert_eq!(outcome.lanes.len(), LANES, "everybody is decided");
        black_box(outcome);
    };
    // The first batch finds nothing spare and opens the session.
    run(requests());
    let mut batches: Vec<_> = (0..BATCHES).map(|_| Some(requests())).collect();
    crate::repeat(BATCHES as u64, |n| run(batches[n as usize].take().expect("once")));
}
