//! The comparison with shared probes: the two roles' arithmetic alone.

use rand::rngs::StdRng;
use trefoil_bfv::{Decryptor, Embedding, LANES, Masker, Share};
use trefoil_dataset::{ScoreMatrix, Trials};
use trefoil_kernels::Tier;

use crate::Failure;
use crate::parallel;
use crate::roles::{SharedStore, quantise, scheme};

/// All encrypted scores of `trials`.
pub(super) fn compare(trials: &Trials, workers: usize, tier: Tier) -> Result<ScoreMatrix, Failure> {
    let scheme = scheme(tier);
    let mut rng: StdRng = rand::make_rng();
    let templates =
        trials.templates.iter().map(|sample| quantise(&sample.vector)).collect::<Result<Vec<_>, _>>()?;
    let store = SharedStore::new(&scheme, templates.into_iter(), &mut rng)?;
    let state = || -> Own {
        let masker = Masker::new(&scheme, rand::random());
        Own { masker, decryptor: Decryptor::new(&scheme), rng: rand::make_rng() }
    };
    let rows = parallel::map_with(workers, trials.probes.len(), "probes", state, |own, probe| {
        own.row(&store, &quantise(&trials.probes[probe].vector)?)
    });
    let scores = rows.into_iter().collect::<Result<Vec<_>, Failure>>()?.concat();
    ScoreMatrix::new(trials.probes.len(), store.len(), scores).map_err(Failure::in_step("scores"))
}

/// One thread's scratch memory and generator.
struct Own {
    masker: Masker,
    decryptor: Decryptor,
    rng: StdRng,
}

impl Own {
    /// The scores of one probe against every template, 32 to a batch.
    fn row(&mut self, store: &SharedStore, probe: &Embedding) -> Result<Vec<i32>, Failure> {
        let mut row = Vec::with_capacity(store.len());
        for first in (0..store.len()).step_by(LANES) {
            let users: Vec<usize> = (first..store.len().min(first + LANES)).collect();
            let shares: Vec<(Share, Share)> =
                users.iter().map(|_| Share::of(probe).split(&mut self.rng)).collect();
            let Own { masker, decryptor, rng } = self;
            let opened = store.scores(masker, decryptor, &users, &shares, rng)?;
            row.extend_from_slice(&opened.scores()[..users.len()]);
        }
        Ok(row)
    }
}
