//! Whether asking for memory ahead of use pays on this machine. Processors of one maker and one family differ in it, some by half of
//! a sum in either direction, so it is measured.

use super::asking::PAYS;
use super::{RESIDUE_BYTES, SOURCES_MAX, sum};
use crate::{Cpu, Tier};
use std::time::{Duration, Instant};

/// Residues of a template: two primes, 4096 of each.
const RESIDUES: usize = 8192;
const TEMPLATE_BYTES: usize = RESIDUE_BYTES * RESIDUES;
const BATCH_BYTES: usize = SOURCES_MAX * TEMPLATE_BYTES;
/// Batches that are summed one way and the other.
const PAIRS: usize = 12;
/// What is written after them, so that they are not in the cache.
const OTHER_BYTES: usize = 48 << 20;

/// Sums templates from main memory asking ahead and not asking, and has each [`Cpu`] from now on do what is faster; true where that is
/// asking. For programs that match, before they make their workers: the first call takes some milliseconds and, meanwhile, 84 MiB.
pub fn calibrate() -> bool {
    let cpu = Cpu::detected();
    *PAYS.get_or_init(|| cpu.tier() == Tier::Portable || median_pays(&mut measured(cpu)))
}

/// Times of sums, asking and not.
fn measured(cpu: Cpu) -> Vec<[Duration; 2]> {
    let memory = vec![1; 2 * PAIRS * BATCH_BYTES + OTHER_BYTES];
    let mut sums = vec![0; RESIDUES];
    let mut time = |batch: &[u8], asks| {
        let sources: [&[u8]; SOURCES_MAX] =
            std::array::from_fn(|i| &batch[i * TEMPLATE_BYTES..][..TEMPLATE_BYTES]);
        let begun = Instant::now();
        sum(cpu.with_asking_ahead(asks), &sources, &mut sums);
        std::hint::black_box(&sums);
        begun.elapsed()
    };
    let pairs = memory.chunks_exact(2 * BATCH_BYTES).take(PAIRS).enumerate();
    pairs
        .map(|(n, pair)| {
            let (first, second) = pair.split_at(BATCH_BYTES);
            // Who comes second may find pages that the first one made known.
            match n % 2 {
                0 => [time(first, true), time(second, false)],
                _ => {
                    let not = time(first, false);
                    [time(second, true), not]
                }
            }
        })
        .collect()
}

/// Whether not asking is faster by less than a tenth, in the median: less is noise, which must not decide otherwise on each start.
fn median_pays(times: &mut [[Duration; 2]]) -> bool {
    let ratio = |[asking, not]: &[Duration; 2]| not.as_secs_f64() / asking.as_secs_f64().max(1e-9);
    times.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    ratio(&times[times.len() / 2]) > 0.9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pays(ratios: &[u64]) -> bool {
        let of = |not| [Duration::from_micros(100), Duration::from_micros(not)];
        median_pays(&mut ratios.iter().map(|not| of(*not)).collect::<Vec<_>>())
    }

    #[test]
    fn asking_is_given_up_where_most_sums_are_clearly_faster_without() {
        assert!(pays(&[150, 160, 155]));
        assert!(pays(&[95, 96, 94]), "noise decides nothing");
        assert!(!pays(&[66, 70, 65]));
        assert!(!pays(&[66, 70, 900]), "one that was interrupted decides nothing");
    }

    #[test]
    fn what_was_measured_is_what_kernels_do() {
        let pays = calibrate();
        assert_eq!(Cpu::detected().asks_ahead(), pays);
        assert_eq!(calibrate(), pays, "it is measured once");
    }
}
