//! What a gateway and one key-holder of a quorum learn together when both lie: scores of the jobs that they send, and of keys a few bits.
//!
//! The gateway makes up polynomials; an honest key-holder sends its partial decryptions of them to the colluder, flooded. Tags are made
//! under a key that each honest seat has for itself, so the colluder is of no help with them; what a tag tolerates is small beside the
//! flooding of a part. `NOTES.md` of `trefoil-bfv`, section 13, has the bound.

use crate::attacks::{POLYNOMIAL, unit};
use crate::hostile_matcher::{at_minus, write_c1};
use crate::malformed::{C0, MASKED, PRIMES, get, put};
use crate::three::{TAGS, Three, WITNESS, seat_enrolment};
use crate::{ENDS, NOW, TENANT, Width, lane_of, lenient, named, random_face, wide};
use rand::{SeedableRng as _, rngs::StdRng};
use trefoil_bfv::threshold::{Of, Partial, PieceMaster};
use trefoil_bfv::{Decryptor, MaskedBatch, MasterKey, Opened, Salt, Scheme, Shape, SubjectKey};
use trefoil_matching::quorum::{Parts, Seat, SeatJob};
use trefoil_matching::{KeyHolderError, MatchJob, Vault as _, split};

const COLLUDER: usize = 1;
pub(crate) const THRESHOLD: i32 = 15_000;

/// With one person, whose honest seats are the first and the last.
fn quorum(width: Width) -> Three {
    Three::new(wide(width, lenient(THRESHOLD)), 1)
}

impl Three {
    /// An honest batch in which the person logs in.
    fn job(&mut self, batch: u8) -> MatchJob {
        let face = self.people[0].2.clone();
        self.login(batch, 0, &face)
    }

    /// The shape of a batch of that person.
    fn shape(&self) -> Shape {
        Shape::of(self.model.width(), 1)
    }

    /// The digits of the piece that the colluder lacks, as their sums over as many places as a ciphertext has lanes, modulo 2.
    fn parity(&self, honest: Seat, k: usize) -> bool {
        let mut decryptor = Decryptor::new(Scheme::shared());
        let piece = self.missing_piece(honest);
        let key = piece.key(&self.subject_key());
        // Far above the flooding.
        let mut c1 = vec![0; MASKED];
        write_c1(&mut c1, &[at_minus(k, 1 << 80)]);
        let c1 = MaskedBatch::from_bytes(Scheme::shared(), self.shape(), &c1).unwrap();
        let [partial] = decryptor.partials(&piece, [(0, &key)], [(Of::Batch, &c1)], &[0; 32]);
        let digits = coefficients(&partial.to_bytes()).into_iter().map(|value| (value + (1 << 79)) >> 80);
        digits.sum::<i128>().rem_euclid(2) == 1
    }

    /// The master of the piece that the colluder lacks, as an honest seat has it.
    fn missing_piece(&self, honest: Seat) -> PieceMaster {
        let missing = Seat::new(COLLUDER).unwrap().lacks();
        let which = honest.pieces().iter().position(|piece| *piece == missing).unwrap();
        PieceMaster::from_bytes(self.dealt[honest.index()][37 + 32 * which..][..32].try_into().unwrap())
    }

    /// What all seats derive their pieces of the person's key from.
    fn subject_key(&self) -> SubjectKey {
        let tenant = self.vault.tenants().unwrap().remove(0);
        let subject = self.vault.subjects(&TENANT).unwrap().remove(0);
        let master = MasterKey::from_bytes(tenant.epochs[0].master);
        master.subject_key(&subject.handle, subject.generation, &Salt::from_bytes(subject.salt))
    }

    /// The part that an honest seat sends to the colluder: the 32 coefficients for the piece that the colluder lacks, of the batch or of
    /// the colluder's witness, without their flooding, which nobody but its holders can take away.
    fn without_flooding(&self, honest: Seat, digest: &[u8; 32], parts: &Parts, of: Of) -> Vec<i128> {
        let missing = Seat::new(COLLUDER).unwrap().lacks();
        let which = honest.pieces().iter().position(|piece| *piece == missing).unwrap();
        let scheme = Scheme::shared();
        let mut decryptor = Decryptor::new(scheme);
        let piece = self.missing_piece(honest);
        let key = piece.key(&self.subject_key());
        // Of the polynomials 1 and 2: twice the first less the second is what has no key in it.
        let mut of_constant = |constant| {
            let mut c1 = vec![0; MASKED];
            c1[384..].chunks_exact_mut(6).for_each(|residue| residue[0] = constant);
            let c1 = MaskedBatch::from_bytes(scheme, self.shape(), &c1).unwrap();
            let [partial] = decryptor.partials(&piece, [(0, &key)], [(of, &c1)], digest);
            coefficients(&partial.to_bytes())
        };
        let (one, two) = (of_constant(1), of_constant(2));
        let bytes = parts.to_bytes();
        let at = 36 + 384 * if of == Of::Batch { which } else { 2 };
        let flooding: Vec<i128> = one.iter().zip(two).map(|(one, two)| centred(2 * one - two)).collect();
        let part = coefficients(&bytes[at..at + 384]);
        assert!(flooding.iter().any(|f| f.unsigned_abs() > 1 << 67), "the flooding is there");
        part.iter().zip(flooding).map(|(part, flooding)| centred(part - flooding)).collect()
    }
}

fn modulus() -> i128 {
    i128::from(PRIMES[0]) * i128::from(PRIMES[1])
}

fn centred(value: i128) -> i128 {
    let value = value.rem_euclid(modulus());
    if value > modulus() / 2 { value - modulus() } else { value }
}

/// 32 coefficients modulo both primes, put together.
fn coefficients(bytes: &[u8]) -> Vec<i128> {
    let word = |at: usize| {
        let mut word = [0u8; 8];
        word[..6].copy_from_slice(&bytes[6 * at..6 * at + 6]);
        i128::from(u64::from_le_bytes(word))
    };
    let (p, q) = (i128::from(PRIMES[0]), i128::from(PRIMES[1]));
    let mut inverse = 1;
    let (mut base, mut exponent) = (p % q, q - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            inverse = inverse * base % q;
        }
        base = base * base % q;
        exponent >>= 1;
    }
    let join = |m: usize| {
        let (a, b) = (word(m), word(32 + m));
        centred(a + p * ((b - a).rem_euclid(q) * inverse % q))
    };
    (0..32).map(join).collect()
}

/// Where the `c1` of a seat's job end: of the batch, of its own witness, and of those of the other two.
fn ends(bytes: &[u8]) -> [usize; 4] {
    let own = WITNESS + 128 + C0 + POLYNOMIAL;
    [bytes.len(), own, own + POLYNOMIAL, own + 2 * POLYNOMIAL]
}

/// Writes a made-up `c1` over one of the four, and a tag that is zero: the best one for a small polynomial.
fn made_up(job: &MatchJob, seat: Seat, which: usize, c1: &[(usize, i128)]) -> SeatJob {
    let mut bytes = SeatJob::encode(job).unwrap()[seat.index()].clone();
    let end = ends(&bytes)[which];
    write_c1(&mut bytes[..end], c1);
    bytes[TAGS][384 * which..][..384].fill(0);
    SeatJob::from_bytes(&bytes).unwrap()
}

/// Claim M14.
///
/// As many digits of the key at a time as fit: 4^d 2^66 X^-k. This is how ten jobs that match used to read the piece that a colluder lacks,
/// from parts of its own witness.
#[test]
fn a_made_up_polynomial_gets_no_parts_whichever_it_is() {
    let comb: Vec<(usize, i128)> = (0..14).map(|d| at_minus(d, 1 << (66 + 2 * d))).collect();
    ENDS.into_iter().for_each(|width| no_parts_of(&comb, &mut quorum(width)));
}

fn no_parts_of(comb: &[(usize, i128)], quorum: &mut Three) {
    let colluder = Seat::new(COLLUDER).unwrap();
    for honest in colluder.others() {
        let holder_at = honest.index();
        for which in 0..4 {
            let job = quorum.job(which as u8);
            let honest_job = SeatJob::from_bytes(&SeatJob::encode(&job).unwrap()[holder_at]).unwrap();
            assert!(quorum.holders[holder_at].begin(&honest_job, NOW).is_ok());
            let outcome = quorum.holders[holder_at].begin(&made_up(&job, honest, which, comb), NOW);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{which}");
            quorum.holders[holder_at].key_holder().forgive_malformed(TENANT).unwrap();
            quorum.refetch();
        }
        let status = quorum.holders[holder_at].key_holder().status();
        assert_eq!(
            (status.attempts, status.failures),
            (8, 4),
            "each was an attempt, the refused ones failures"
        );
    }
}

/// Half of the modulus on as many coefficients as a ciphertext has lanes, evenly apart from `X^-k` on. With 32, modulo 2 the ring has one maximal
/// ideal, and this is a multiple of (Y + 1)^31 in it, so that in a product with anything these coefficients are one bit: the parity of 32 digits.
pub(crate) fn half_comb(width: Width, k: usize) -> Vec<(usize, i128)> {
    let apart = width.numbers();
    (0..width.lanes()).map(|m| at_minus((k + 4096 - apart * m) % 4096, modulus() / 2)).collect()
}

/// Adds a polynomial to an encoded `c1`.
pub(crate) fn added(c1: &mut [u8], polynomial: &[(usize, i128)]) {
    let mut more = vec![0; c1.len()];
    write_c1(&mut more, polynomial);
    for i in 0..c1.len() / 6 {
        let sum = (get(c1, 6 * i) + get(&more, 6 * i)) % PRIMES[i / 4096];
        put(c1, 6 * i, sum);
    }
}

/// Claim M14: A gateway that colludes with one of three key-holders learns `r` bits of a key with probability at most 3 * 2^-r at each
/// honest seat before it freezes the tenant. It learns exact scores of subjects that it names, at one attempt each.
///
/// What a tag is worth: a polynomial that would tell `r` bits of a key passes with probability 2^-r. Here each tells one, the parity of
/// 32 digits of the missing piece. It passes if the tag key's own parity is guessed, and then for every job under that tag key.
#[test]
fn each_bit_of_a_key_costs_a_guessed_bit_of_the_tag_key_and_a_wrong_guess_a_malformed_job() {
    ENDS.into_iter().for_each(|width| each_bit_costs_a_guess(&mut quorum(width)));
}

fn each_bit_costs_a_guess(quorum: &mut Three) {
    let (colluder, width) = (Seat::new(COLLUDER).unwrap(), quorum.model.width());
    let honest = colluder.others()[0];
    const GUESSES: usize = 96;
    let (mut passed, mut run, mut runs) = (0, 0u32, [0; 8]);
    for k in 0..GUESSES {
        let crafted = made_up(&quorum.job(k as u8), honest, 3, &half_comb(width, k));
        let begin = |quorum: &Three| quorum.holders[honest.index()].begin(&crafted, NOW);
        match begin(quorum) {
            Ok(begun) => {
                passed += 1;
                run += 1;
                let part = begun.parts_for(colluder).to_bytes();
                let part = coefficients(&part[36 + 2 * 384..]);
                // All coefficients are the same bit, far above the flooding.
                let bits: Vec<bool> =
                    part[..width.lanes()].iter().map(|value| value.unsigned_abs() > 1 << 91).collect();
                assert!(bits.iter().all(|bit| *bit == quorum.parity(honest, k)), "{k}");
                assert!(begin(quorum).is_ok(), "known once, it passes again");
            }
            Err(KeyHolderError::Malformed) => {
                (0..8u32).filter(|length| run >= *length).for_each(|length| runs[length as usize] += 1);
                run = 0;
                quorum.holders[honest.index()].key_holder().forgive_malformed(TENANT).unwrap();
                quorum.refetch();
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    // Within four deviations of one half, and of tag keys that told `r` bits before they changed a share of 2^-r.
    assert!((48 - 20..=48 + 20).contains(&passed), "{passed} of {GUESSES} passed");
    let tag_keys = f64::from(runs[0]);
    for (bits, told) in runs.into_iter().enumerate() {
        let expected = tag_keys / f64::from(1 << bits);
        assert!(f64::from(told) <= expected + 4.0 * expected.sqrt(), "{bits}: {told} of {tag_keys}");
    }
}

/// A name that is enrolled anew has another key, and the bytes of an older job pass its tag as before. If the flooding were the same
/// again, the difference of two parts would be a product of the difference of two keys.
#[test]
fn the_same_job_under_another_key_is_flooded_otherwise() {
    let mut quorum = quorum(Width::W512);
    let job = quorum.job(1);
    // Small, so that what is left without the flooding is small too.
    let encoded = made_up(&job, Seat::ALL[0], 0, &[at_minus(5, 1 << 40)]).to_bytes();
    let parts = |quorum: &Three| {
        let begun = quorum.holders[0].begin(&SeatJob::from_bytes(&encoded).unwrap(), NOW).unwrap();
        (begun.digest(), coefficients(&begun.parts_for(Seat::ALL[1]).to_bytes()[36..36 + 384]))
    };
    let (digest, before) = parts(&quorum);
    assert_eq!((digest, before.clone()), parts(&quorum), "sent again, it is the same");
    quorum.holders[0].key_holder().shred(named(0, 0)).unwrap();
    let (blinded, _) = split(
        &random_face(&mut StdRng::seed_from_u64(5), quorum.model.width()),
        &mut StdRng::seed_from_u64(6),
    );
    let contributions = [quorum.holders[0].contribute(named(0, 0), NOW).unwrap(), [2; 32], [3; 32]];
    quorum.holders[0]
        .enrol(&seat_enrolment(named(0, 0), lane_of(0), quorum.model, &blinded, contributions))
        .unwrap();
    let (again, after) = parts(&quorum);
    assert_eq!(digest, again, "to the bytes the same job");
    let differences: Vec<i128> = before.iter().zip(&after).map(|(one, other)| centred(one - other)).collect();
    assert!(differences.iter().filter(|difference| difference.unsigned_abs() > 1 << 66).count() > 4);
}

/// The colluder's own tag key says nothing about those of the others.
#[test]
fn a_tag_for_one_seat_is_none_for_another() {
    let mut quorum = quorum(Width::W512);
    let job = quorum.job(1);
    let encoded = SeatJob::encode(&job).unwrap();
    let mut bytes = encoded[0].clone();
    bytes[TAGS].copy_from_slice(&encoded[COLLUDER][TAGS]);
    let outcome = quorum.holders[0].begin(&SeatJob::from_bytes(&bytes).unwrap(), NOW);
    assert!(matches!(outcome, Err(KeyHolderError::Malformed)));
}

/// Claim M14.
///
/// What a tag lets through is drowned by the flooding of a part: one digit at a time, at every size, either polynomial that the colluder
/// gets a part of. The largest that passes is 2^20 times smaller than its flooding, so a part tells less than 2^-30 bits.
#[test]
fn what_a_tag_tolerates_is_drowned_in_the_parts() {
    ENDS.into_iter().for_each(|width| is_drowned(&mut quorum(width)));
}

fn is_drowned(quorum: &mut Three) {
    let colluder = Seat::new(COLLUDER).unwrap();
    let (mut largest_that_passes, mut smallest_refused) = (0, u32::MAX);
    for bits in (44..68).chain([74, 80, 90]) {
        for (at, of) in [(0, Of::Batch), (3, Of::Witness(colluder))] {
            // Of the first seat's others the colluder is the first, of the last seat's the last.
            let honest = colluder.others()[0];
            assert_eq!(honest.others()[1], colluder);
            let job = quorum.job(bits as u8);
            let crafted = made_up(&job, honest, at, &[at_minus(5, 1 << bits)]);
            match quorum.holders[honest.index()].begin(&crafted, NOW) {
                Ok(begun) => {
                    largest_that_passes = largest_that_passes.max(bits);
                    let parts = begun.parts_for(colluder);
                    let signal = quorum.without_flooding(honest, &begun.digest(), &parts, of);
                    // The digits are there, for who could take the flooding away ...
                    let digit =
                        |value: &i128| [-1, 0, 1].contains(&(value >> bits)) && value % (1 << bits) == 0;
                    assert!(signal.iter().all(digit) && signal.iter().any(|value| *value != 0), "2^{bits}");
                    // ... and 2^20 times smaller than it.
                    assert!(signal.iter().all(|value| value.unsigned_abs() <= 1 << 51), "2^{bits}");
                }
                Err(KeyHolderError::Malformed) => {
                    smallest_refused = smallest_refused.min(bits);
                    quorum.holders[honest.index()].key_holder().forgive_malformed(TENANT).unwrap();
                    quorum.refetch();
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!((49..=50).contains(&largest_that_passes) && smallest_refused > 49, "{largest_that_passes}");
}

/// Claim M14.
///
/// What the documents say that these two learn: exact scores of the jobs that they send, about the subjects that these name, an attempt
/// each at both other seats. As many as it has numbers are a template. A gateway with a key-holder is two machines; the promise is about one.
#[test]
fn together_they_learn_scores_of_those_they_name_for_an_attempt_each() {
    ENDS.into_iter().for_each(|width| learn_scores(&mut quorum(width)));
}

fn learn_scores(quorum: &mut Three) {
    let colluder = Seat::new(COLLUDER).unwrap();
    let ([honest, _], width) = (colluder.others(), quorum.model.width());
    let scheme = Scheme::shared();
    const COORDINATES: usize = 8;
    for k in 0..COORDINATES {
        let job = quorum.login(k as u8, 0, &unit(width, k));
        let masked = job.to_bytes();
        let masked =
            MaskedBatch::from_bytes(scheme, quorum.shape(), &masked[masked.len() - MASKED..]).unwrap();
        let jobs = SeatJob::encode(&job).unwrap().map(|bytes| SeatJob::from_bytes(&bytes).unwrap());
        let theirs = quorum.holders[honest.index()].begin(&jobs[honest.index()], NOW).unwrap();
        let own = quorum.holders[COLLUDER].begin(&jobs[COLLUDER], NOW).unwrap();
        // Two partials of its own and the third from an honest seat.
        let partials = |begun: &trefoil_matching::quorum::Begun, to: Seat| {
            let bytes = begun.parts_for(to).to_bytes();
            [36, 36 + 384].map(|at| Partial::from_bytes(scheme, &bytes[at..at + 384]).unwrap())
        };
        let [a, b] = partials(&own, honest);
        let missing = honest.pieces().iter().position(|piece| *piece == colluder.lacks()).unwrap();
        let c = partials(&theirs, colluder)[missing].clone();
        let opened = Opened::combine(scheme, &masked, [&a, &b, &c]);
        assert_eq!(opened.scores()[0], width.scale() * i32::from(quorum.people[0].2.values()[k]));
    }
    let status = quorum.holders[honest.index()].key_holder().status();
    assert_eq!((status.attempts, status.failures), (COORDINATES as u64, 0));
}
