//! The comparison with shared probes, and with a quorum of three: the roles' arithmetic alone.

use std::sync::Arc;

use rand::rngs::StdRng;
use trefoil_bfv::threshold::{Of, PIECES, PieceMaster};
use trefoil_bfv::{
    Basis, Decryptor, Embedding, Handle, LANES, Masker, MasterKey, Opened, Placed, Salt, Scheme, Share,
    SubjectKey, TemplateCiphertext,
};
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

/// The same with keys in three pieces: the scores are what the three partial decryptions of each batch add up to.
pub(super) fn compare_in_pieces(trials: &Trials, workers: usize, tier: Tier) -> Result<ScoreMatrix, Failure> {
    let scheme = scheme(tier);
    let mut rng: StdRng = rand::make_rng();
    let templates =
        trials.templates.iter().map(|sample| quantise(&sample.vector)).collect::<Result<Vec<_>, _>>()?;
    let store = InPieces::new(&scheme, &templates, &mut rng);
    let state = || (Masker::new(&scheme, rand::random()), Decryptor::new(&scheme));
    let rows = parallel::map_with(workers, trials.probes.len(), "probes", state, |own, probe| {
        store.row(&scheme, own, &quantise(&trials.probes[probe].vector)?)
    });
    let scores = rows.into_iter().collect::<Result<Vec<_>, Failure>>()?.concat();
    ScoreMatrix::new(trials.probes.len(), templates.len(), scores).map_err(Failure::in_step("scores"))
}

/// Templates that three key-holders encrypted together, and their keys by piece.
struct InPieces {
    basis: Basis,
    masters: [PieceMaster; PIECES],
    keys: [Vec<SubjectKey>; PIECES],
    templates: Vec<TemplateCiphertext>,
}

impl InPieces {
    fn new(scheme: &Arc<Scheme>, templates: &[Embedding], rng: &mut StdRng) -> InPieces {
        let basis = Basis::from_seed(scheme, rand::random());
        let names = MasterKey::random(rng);
        let masters = [(); PIECES].map(|()| PieceMaster::random(rng));
        let (mut keys, mut stored) = ([const { Vec::new() }; PIECES], Vec::with_capacity(templates.len()));
        for (i, template) in templates.iter().enumerate() {
            let (lane, width, share) = (i % LANES, template.width(), Share::of(template));
            let mut handle = [0; 32];
            handle[..8].copy_from_slice(&(i as u64).to_le_bytes());
            let name = names.subject_key(&Handle::new(handle), 0, &Salt::random(rng));
            let rho = Share::random(width, rng);
            let blinded = share.plus(&rho);
            let parts: Vec<TemplateCiphertext> = (0..PIECES)
                .map(|piece| {
                    keys[piece].push(masters[piece].key(&name));
                    basis.encrypt_piece(&keys[piece][i], lane, width, (piece == 0).then_some(&blinded))
                })
                .collect();
            let sum = TemplateCiphertext::block(scheme, &parts.iter().collect::<Vec<_>>());
            stored.push(sum.subtract(scheme, lane, &rho));
        }
        InPieces { basis, masters, keys, templates: stored }
    }

    /// The scores of one probe against every template, 32 to a batch.
    fn row(
        &self,
        scheme: &Scheme,
        (masker, decryptor): &mut (Masker, Decryptor),
        probe: &Embedding,
    ) -> Result<Vec<i32>, Failure> {
        let mut row = Vec::with_capacity(self.templates.len());
        for (batch, templates) in self.templates.chunks(LANES).enumerate() {
            let placed: Vec<_> = templates
                .iter()
                .enumerate()
                .map(|(lane, template)| Placed { lane, template, probe })
                .collect();
            let masked = masker.mask(&self.basis, &placed);
            let digest = rand::random();
            let partials = std::array::from_fn::<_, PIECES, _>(|piece| {
                let keys = self.keys[piece][batch * LANES..][..templates.len()].iter().enumerate();
                let [partial] =
                    decryptor.partials(&self.masters[piece], keys, [(Of::Batch, &masked)], &digest);
                partial
            });
            let opened = Opened::combine(scheme, &masked, partials.each_ref());
            if !opened.within_quorum_band() {
                return Err(Failure::fault("the noise of a batch is outside the band of honest roles"));
            }
            row.extend_from_slice(&opened.scores()[..templates.len()]);
        }
        Ok(row)
    }
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
