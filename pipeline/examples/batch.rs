//! Runs one batch through the pipeline: 32 people with proofs and encrypted templates, matched in one computation, decided by the
//! key-holder, turned into statements and digests. Signing them is `trefoil-sign`'s example `seal`.
//!
//! ```text
//! cargo run -p trefoil-pipeline --example batch
//! ```

#[path = "guard/world.rs"]
mod world;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_attest::Decision;
use trefoil_kernels::Tier;
use trefoil_pipeline::{Batch, Open};
use world::{AUDIENCE, SEED, Still, TENANT, face};

/// Who shows another face than the enrolled one.
const IMPOSTOR: usize = 5;

fn main() {
    let (pipeline, people) = world::pipeline(Tier::detected());
    let strange = face(&mut StdRng::seed_from_u64(SEED + 1));
    let audience = AUDIENCE.into();
    let lanes = people.iter().enumerate().map(|(reply, person)| {
        let shown = if reply == IMPOSTOR { &strange } else { &person.face };
        person.request(&audience, shown, reply)
    });
    let batch = Batch { tenant: TENANT, lanes: lanes.collect() };
    let outcome = pipeline.run(batch, &mut pipeline.worker(), &Still, &Open);
    for lane in &outcome.lanes {
        println!("person {:2}: {:?}, digest {}", lane.reply, lane.decision, hex::encode(lane.digest));
        assert_eq!(lane.decision == Some(Decision::Match), lane.reply != IMPOSTOR);
    }
    println!("{} decided in one batch, {} refused", outcome.lanes.len(), outcome.refused.len());
}
