//! The cost of one increment of the engine's frequency sketch.

#[cfg(feature = "cache-engine")]
pub(super) use present::add_ns;

/// Nanoseconds of processor time per increment, over uniformly drawn keys, in each of `repeats` rounds; none where the
/// engine is not in this build.
#[cfg(not(feature = "cache-engine"))]
pub(super) fn add_ns(_repeats: usize) -> Option<crate::distribution::Distribution> {
    None
}

#[cfg(feature = "cache-engine")]
mod present {
    use std::hint::black_box;

    use trefoil_cache::Sketch;

    use crate::distribution::Distribution;
    use crate::processor::thread_cpu_ns;

    /// Of the full size, 512 KiB.
    const CAPACITY: usize = 65_536;
    const HASHES: u64 = 1 << 19;

    /// Nanoseconds of processor time per increment, over uniformly drawn keys, in each of `repeats` rounds.
    pub(crate) fn add_ns(repeats: usize) -> Option<Distribution> {
        let sketch = Sketch::for_capacity(CAPACITY);
        let hashes: Vec<u64> = (1..=HASHES).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let round = |_| {
            // Halved, so that counters do not stay full, where an increment stores nothing.
            sketch.age();
            let began = thread_cpu_ns();
            let sum: u64 = hashes.iter().map(|&hash| u64::from(sketch.add(hash))).sum();
            black_box(sum);
            (thread_cpu_ns() - began) as f64 / HASHES as f64
        };
        Some(Distribution::new((0..repeats).map(round).collect()))
    }
}
